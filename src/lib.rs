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
//! A module imports only what its row in `tests/it/layers.rs` allows.

#![cfg_attr(
    test,
    expect(
        clippy::disallowed_methods,
        reason = "a test that cannot read or write its files fails anyway"
    )
)]

pub mod error;
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
