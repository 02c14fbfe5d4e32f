//! Audits classifiers for counterfactual fairness: would this person have received a different
//! decision as a member of another group?
//!
//! The map of this crate, in reading order. A job file ([`job`]) is read and checked; [`stage`]
//! turns it into stages; [`exec`] runs those that are stale. Stages meet only in Parquet files
//! ([`table`]): [`data`] prepares rows, [`causal`] finds the graphs that they allow,
//! [`counterfactual`] writes what people would be in the other groups, [`model`] scores both,
//! [`metric`] counts and measures, [`augment`] chooses rows to train on again, [`recourse`] finds
//! what people would have to change, [`why`] who switches, [`gate`] judges, [`diff`] compares two
//! runs, [`report`] writes the page.
//!
//! To read results, start at [`folder`], the output folder, which needs no stage; [`rejudge`]
//! judges a finished folder again; [`explain`] knows every word that an output holds. [`cli`] is
//! the command line, and is the only module that writes to the terminal.
//!
//! Below all of these are [`num`] (sums, hashes, seeds and distributions with the same bits on
//! every machine), [`param`] (types of a job's values), [`unit`] (what a stage is about), [`text`]
//! (templates) and [`error`] (faults and exit statuses); [`proof`] packs and verifies a folder.
//!
//! Where to look when the module is not obvious:
//!
//! | Question | File |
//! | --- | --- |
//! | which stages a run has, the seed of a stage | `stage/stage_builder.rs`, `num/seed.rs` |
//! | why a stage is stale, and the sentence | `exec/fingerprint.rs` |
//! | pass, fail or inconclusive | `gate/verdict.rs`, on the rows of `gate/observe.rs` |
//! | whether a value keeps a limit | `gate/question.rs` |
//! | the verdict and exit status of a run | `stage/gate/mod.rs` (`verdicts`), `error.rs` |
//! | Ctrl-C | `cli/signals.rs`; stages check `exec/cancel.rs` |
//! | the text of a problem of a job | `job/messages.txt`; examples of keys: `job/read/shape.rs` |
//! | how an error is printed, with line and column | `error.rs` |
//! | the comments of a new job | `job/new/*.txt`, `job/new/mod.rs` |
//! | how a program is started and ended | `exec/child` |
//! | the type of a text column | `data/source/notation.rs` |
//! | which columns are no features | `data/column/roles.rs`, `data/column/leaks.rs` |
//! | two attributes as one (sex and race) | `data/prepare/derive.rs` |
//! | what an external model gets and gives | `model/contract.rs`; in batches: `data/exchange` |
//! | which rows must have a score | `stage/score/join.rs`, `stage/input/request.rs` |
//! | the distance of plausible counterfactuals | `counterfactual/plausibility_filter.rs` |
//! | which causal graphs are possible | `causal/search.rs`, `causal/class.rs` |
//! | how a graph moves a person | `causal/scm.rs`, `counterfactual/graph_uncertain/rows.rs` |
//! | what counts as one independent observation | `metric/evidence/units.rs` |
//! | the formula of an interval | `metric/interval.rs`; which one: `metric/estimate` |
//! | why a value is null | `metric/rate.rs`; why it has no interval: `metric/estimate` |
//! | which group is worse off | `metric/catalog`; in a headline: `report/brief/harm.rs` |
//! | better or worse than an earlier run | `diff/change.rs`, `report/shown_changes.rs` |
//! | why people of two runs are not paired | `diff/paired.rs` |
//! | how many rows a table of the page shows | a constant of the section, `*_AT_MOST` |
//! | the order of the page | `report/brief/mod.rs`, `report/evidence/mod.rs` |
//! | the order of limits on the page | `report/brief/limits.rs` |
//! | the order of the annex | `report/section/mod.rs` |
//! | how a number is written on the page | `report/page/number.rs` |
//!
//! A module imports only what its row in `tests/it/layers.rs` allows.

#![cfg_attr(
    test,
    expect(
        clippy::disallowed_methods,
        reason = "a test that cannot read or write its files fails anyway"
    )
)]

mod control_characters;
pub mod error;
mod nearest;
pub mod num;
mod param;
mod text;
mod unit;

pub mod job;

pub mod stage;

pub mod exec;
pub mod table;

mod augment;
pub mod causal;
pub mod counterfactual;
pub mod data;
mod model;

mod diff;
mod gate;
pub mod metric;
pub mod recourse;
mod report;
mod why;

mod folder;
mod proof;
mod rejudge;

pub mod explain;

pub mod cli;

#[cfg(test)]
mod tests;
