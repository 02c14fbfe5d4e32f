//! The only integration test binary: runs `cfaudit` on small jobs and checks what it wrote.

#![expect(
    clippy::disallowed_methods,
    reason = "a test that cannot read or write its files fails anyway"
)]
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on panics, one that is skipped says so"
)]

mod adult;
mod amounts;
mod augment;
mod batches;
#[cfg(feature = "cloud")]
mod bucket;
mod case_folders;
mod cases;
mod catalog;
mod clarify;
mod classes;
mod clean;
mod command;
mod count;
mod decisions;
mod determinism;
mod diff;
mod direction_ratios;
mod docs;
mod doubts;
mod expect;
mod exports;
mod external;
mod faults;
mod files;
mod frame;
mod fuzz;
mod graph_rows;
mod graphs;
mod harm;
mod hidden_cause;
mod hostile;
mod http;
mod inputs;
mod invariance;
mod judge;
mod kills;
mod layers;
mod lists;
mod manual;
mod models;
mod names;
mod new;
mod objects;
mod oracle;
mod other_versions;
mod page;
mod papers;
mod persons;
mod planted;
mod population;
mod power;
mod privacy;
mod proof;
mod prose;
mod python;
mod python_package;
mod recipes;
mod recourse;
mod refits;
mod repository;
mod roles;
mod rows_guide;
mod rows_out;
mod run;
mod safety;
mod sanity;
mod scales;
mod schedule;
mod scores;
mod server;
mod shard_rows;
mod shards;
mod slices;
mod storage;
mod stories;
mod streams;
mod support;
mod waiting;
mod weights;
mod who_counts;
mod why;
mod words;
mod work;
mod worlds;
