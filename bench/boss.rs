//! CPU seconds of the best order score search on a table of numbers, and the score of what it finds
//! next to a graph found elsewhere.
//!
//! Takes a text file of numbers (a row per line, fields by commas, no header), the penalty
//! discount, the number of starts, and a file with edges `from to`, one per line, by position of
//! the columns (or `-`). Prints JSON: seconds of the search alone, its score, and the score of the
//! edges.
//! `bench/boss.py` asks.

#![expect(clippy::print_stdout, reason = "the result goes to the script that asked")]
#![expect(clippy::disallowed_methods, reason = "every call says in its expectation what it needs")]

use cfaudit::causal::bootstrap_draws::BootstrapDraws;
use cfaudit::causal::boss::boss;
use cfaudit::causal::encoding::{GraphEncoding, GraphVariable, MissingRows};
use cfaudit::causal::graph::Dag;
use cfaudit::causal::knowledge::Knowledge;
use cfaudit::causal::moments::EncodedMoments;
use cfaudit::causal::score::GraphScore;
use cfaudit::data::rows::training::{TrainingBatch, TrainingRows};
use cfaudit::data::{FeatureColumn, FeatureRows};
use cfaudit::exec::accumulator::PieceLoop;
use cfaudit::exec::pieces::{StageWatch, WorkerPool};
use cfaudit::num::seed::RandomStream;

/// CPU seconds of this process so far, in hundredths: not every kernel counts threads by the
/// nanosecond.
fn cpu_seconds() -> f64 {
    let text =
        std::fs::read_to_string("/proc/self/stat").expect("Linux counts the time of processes");
    // Behind the name, which may hold blanks, and the letter of the state: the 11th and 12th number
    // are ticks for the user and for the system.
    let numbers: Vec<i64> = text
        .rsplit(')')
        .next()
        .into_iter()
        .flat_map(str::split_whitespace)
        .filter_map(|word| word.parse().ok())
        .collect();
    (numbers[10] + numbers[11]) as f64 / 100.0
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let [table, penalty, starts, edges] = args.as_slice() else {
        panic!("asked with a table, a penalty, a number of starts and a file of edges or `-`")
    };
    let text = std::fs::read_to_string(table).expect("a table");
    let lines: Vec<Vec<f64>> = text
        .lines()
        .map(|line| line.split(',').map(|field| field.parse().expect("a number")).collect())
        .collect();
    let p = lines.first().map_or(0, Vec::len);
    let columns =
        (0..p).map(|c| FeatureColumn::Number(lines.iter().map(|line| line[c]).collect())).collect();
    let rows = FeatureRows { n: lines.len(), columns, source: Vec::new() };
    let rows = TrainingBatch::in_memory(rows, vec![true; lines.len()], Vec::new());
    let workers = WorkerPool::new(1).expect("a thread");
    let pieces = PieceLoop { workers: &workers, watch: StageWatch::SILENT, n: 1 };
    let rows = TrainingRows::of_groups(vec![rows], pieces);
    let variables: Vec<GraphVariable> =
        (0..p).map(|c| GraphVariable { name: format!("v{c}"), feature: c, levels: None }).collect();
    let (encoding, blocks) =
        GraphEncoding::fit(&variables, &rows, MissingRows::Error, None).expect("columns that vary");
    let moments = EncodedMoments::for_replicates(
        &encoding,
        &blocks,
        &rows,
        &BootstrapDraws::seeded(0, 0, &blocks.sizes).with_all_rows(),
    )
    .expect("rows in memory");
    let (penalty, starts): (f64, usize) =
        (penalty.parse().expect("a number"), starts.parse().expect("a whole number"));
    // The clock ticks in hundredths of a second: many searches make one that is long enough.
    let (start, mut n, mut found) = (cpu_seconds(), 0_u32, None);
    while cpu_seconds() - start < 0.5 {
        let score = GraphScore::new(&encoding, &moments[0], penalty);
        let dag = boss(&score, &Knowledge::none(p), starts, &mut RandomStream::new(1, "boss")).dag;
        n += 1;
        found = Some((score, dag));
    }
    let seconds = (cpu_seconds() - start) / f64::from(n);
    let (score, dag) = found.expect("at least one search");
    let other = (edges != "-").then(|| {
        let text = std::fs::read_to_string(edges).expect("edges");
        let pair = |line: &str| {
            let mut ends = line.split_whitespace().map(|end| end.parse().expect("a position"));
            (ends.next().expect("a cause"), ends.next().expect("an effect"))
        };
        let edges: Vec<(usize, usize)> = text.lines().map(pair).collect();
        score.total(&Dag::from_edges(p, &edges).expect("no cycle").parents)
    });
    let result = serde_json::json!({"seconds": seconds, "score": score.total(&dag.parents),
        "edges": dag.edges().len(), "other": other});
    println!("{result}");
}
