//! How many counterfactuals a generator makes per CPU second in memory: no file is read or written
//! while it is timed.
//!
//! Takes the folders of a cache that hold the prepared rows and what a strategy learnt
//! (`bench/generation.py` finds them), and the least number of counterfactuals to make. Each
//! repetition makes the generator again, so that nothing is known from the one before, and goes
//! over all row groups on one thread. Prints the CPU seconds of the fastest repetition as JSON.

#![expect(clippy::print_stdout, reason = "the result goes to the script that asked")]
#![expect(clippy::disallowed_methods, reason = "every call says in its expectation what it needs")]

use std::path::Path;

use cfaudit::counterfactual::map_flip::{FittedStrategy, MapFlipGenerator};
use cfaudit::counterfactual::{Generator, SampleBatch, TargetGroup};
use cfaudit::data::rows::{Projection, RowsReader};

/// CPU seconds of this thread so far, as the kernel counts them in nanoseconds.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")
        .expect("Linux counts the time of threads");
    let nanoseconds: u64 = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .expect("the first number is the time");
    nanoseconds as f64 / 1e9
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let [prepared, fitted, least] = args.as_slice() else {
        panic!("asked with the folders of rows and of what was learnt, and a number")
    };
    let least: u64 = least.parse().expect("a whole number");
    let reader = RowsReader::open(Path::new(prepared)).expect("prepared rows");
    let text =
        std::fs::read_to_string(Path::new(fitted).join("learnt-0.json")).expect("what was learnt");
    let learnt: FittedStrategy =
        serde_json::from_str(&text).expect("greedy or plausible learnt it");
    let batches: Vec<_> = (0..reader.n_groups())
        .map(|group| reader.read(group, Projection::ALL).expect("a row group"))
        .collect();
    let classes: Vec<Vec<_>> = batches
        .iter()
        .map(|batch| batch.label.iter().map(|label| label.map(u32::from)).collect())
        .collect();
    let attribute = &reader.layout().attributes[0];

    let (mut made, mut seconds, mut fitting, mut total) = (0, f64::INFINITY, 0.0, 0);
    while total < least {
        let start = cpu_seconds();
        let mover = MapFlipGenerator::new(learnt.clone());
        let ready = cpu_seconds();
        made = 0;
        for (batch, classes) in batches.iter().zip(&classes) {
            let samples = SampleBatch {
                keys: &batch.row_key,
                rows: &batch.rows,
                groups: &batch.groups[0],
                classes,
            };
            made += (0..attribute.groups.len())
                .map(|group| TargetGroup { attribute, group })
                .map(|to| mover.generate(&samples, to).parent.len() as u64)
                .sum::<u64>();
        }
        let spent = cpu_seconds() - ready;
        if spent < seconds {
            (seconds, fitting) = (spent, ready - start);
        }
        total += made.max(1);
    }
    println!("{{\"made\": {made}, \"cpu\": {seconds}, \"generator\": {fitting}}}");
}
