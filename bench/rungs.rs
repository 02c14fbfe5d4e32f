//! What each step of the metrics costs at least: a plain loop over the same columns, step by step.
//!
//! `rungs STEP PEOPLE MOVED GROUPS` does all steps up to STEP (see [`STEPS`]) on one thread, over
//! the rows of PEOPLE and the scores of their counterfactuals in MOVED, in the same order. Nothing
//! is checked but the keys. Prints the number of pairs. `bench/rungs.py` times it from outside.

#![expect(clippy::print_stdout, reason = "the result goes to the script that asked")]
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark without its files ends"
)]

use std::fs::File;
use std::hint::black_box;
use std::io::Read;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int64Type};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use sha2::{Digest, Sha256};

/// The steps, in their order.
const STEPS: [&str; 8] =
    ["decode", "digest", "codes", "keys", "cells", "sums", "divergences", "moments"];

const BATCH_ROWS: usize = 65_536;
const BINS: usize = 50;
const CELLS: usize = 8;

fn reader(path: &str, columns: [&str; 4]) -> ParquetRecordBatchReader {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let schema = builder.parquet_schema();
    let columns = ProjectionMask::columns(schema, columns);
    builder.with_projection(columns).with_batch_size(BATCH_ROWS).build().unwrap()
}

/// Columns of people or of pairs; what a step does not need is empty.
#[derive(Default)]
struct Columns {
    key: Vec<i64>,
    group: Vec<u8>,
    label: Vec<bool>,
    score: Vec<f64>,
}

impl Columns {
    fn of(batch: &RecordBatch, id: &str, group: &str) -> Self {
        let numbers = |name: &str| Some(batch.column_by_name(name)?.as_primitive::<Int64Type>());
        let words = batch.column_by_name(group).unwrap().as_string::<i32>();
        // `g07` is the group 6.
        let code = |word: &str| {
            let digits = word.as_bytes();
            (digits[1] - b'0') * 10 + digits[2] - b'0' - 1
        };
        let scores = batch.column_by_name("score").unwrap().as_primitive::<Float64Type>();
        let label = numbers("label").map(|of| of.values().iter().map(|of| *of == 1).collect());
        Columns {
            key: numbers(id).unwrap().values().to_vec(),
            group: (0..words.len()).map(|i| code(words.value(i))).collect(),
            label: label.unwrap_or_default(),
            score: scores.values().to_vec(),
        }
    }
}

/// What is added up for a direction.
#[derive(Clone)]
struct Sums {
    cells: [u64; CELLS],
    totals: [f64; 4],
    bins: [[u64; BINS]; 3],
    divergences: [f64; 2],
    moments: [f64; 21],
}

impl Sums {
    const NONE: Sums = Sums {
        cells: [0; CELLS],
        totals: [0.0; 4],
        bins: [[0; BINS]; 3],
        divergences: [0.0; 2],
        moments: [0.0; 21],
    };

    #[inline]
    fn add(&mut self, step: usize, label: bool, s: f64, c: f64) {
        if step >= 4 {
            let cell = 4 * usize::from(label) + 2 * usize::from(s >= 0.5) + usize::from(c >= 0.5);
            self.cells[cell] += 1;
        }
        let d = c - s;
        if step >= 5 {
            for (total, term) in self.totals.iter_mut().zip([s, c, d.abs(), d * d]) {
                *total += term;
            }
            for (bins, x) in self.bins.iter_mut().zip([s, c, (d + 1.0) / 2.0]) {
                bins[((x * BINS as f64) as usize).min(BINS - 1)] += 1;
            }
        }
        if step < 6 {
            return;
        }
        let middle = (s + c) / 2.0;
        let jensen = s * libm::log(s / middle) + c * libm::log(c / middle);
        self.divergences[0] += s * libm::log(s / c);
        self.divergences[1] += jensen;
        if step >= 7 {
            // The monomials of three numbers up to the fourth power of one and the second of two.
            let parts = [jensen, s, c];
            let mut moments = self.moments.iter_mut();
            for (i, &x) in parts.iter().enumerate() {
                for power in [x, x * x, x * x * x, x * x * x * x] {
                    *moments.next().unwrap() += power;
                }
                for &y in &parts[i + 1..] {
                    for product in [x * y, x * x * y, x * y * y] {
                        *moments.next().unwrap() += product;
                    }
                }
            }
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let [step, people, moved, groups] = args.as_slice() else {
        panic!("asked with STEP PEOPLE MOVED GROUPS")
    };
    let step = STEPS.iter().position(|known| known == step).unwrap();
    let groups: usize = groups.parse().unwrap();
    if step >= 1 {
        for path in [people, moved] {
            let (mut file, mut hash) = (File::open(path).unwrap(), Sha256::new());
            let mut bytes = vec![0; 1 << 20];
            while let n @ 1.. = file.read(&mut bytes).unwrap() {
                hash.update(&bytes[..n]);
            }
            black_box(hash.finalize());
        }
    }
    let mut rows = reader(people, ["id", "group", "label", "score"]);
    let mut sums = vec![Sums::NONE; groups * groups];
    let (mut own, mut at, mut pairs) = (Columns::default(), 0, 0);
    for batch in reader(moved, ["row_id", "to_group", "score", "score"]) {
        let batch = black_box(batch.unwrap());
        pairs += batch.num_rows();
        if step < 2 {
            continue;
        }
        let cfs = black_box(Columns::of(&batch, "row_id", "to_group"));
        for (i, &key) in cfs.key.iter().enumerate().filter(|_| step >= 3) {
            while own.key.get(at) != Some(&key) {
                at += 1;
                if at >= own.key.len() {
                    let batch = rows.next().expect("a row of each pair").unwrap();
                    (own, at) = (Columns::of(&batch, "id", "group"), 0);
                }
            }
            let to = usize::from(cfs.group[i]);
            let direction = usize::from(own.group[at]) * groups + to;
            sums[direction].add(step, own.label[at], own.score[at], cfs.score[i]);
        }
    }
    for batch in rows {
        black_box(batch.unwrap());
    }
    black_box(&sums);
    println!("{{\"pairs\": {pairs}}}");
}
