//! The chain from rows to graphs: compared with other programs, and checked for its invariants.

mod classes;
pub(crate) mod frame;
mod hidden_cause;
mod persons;
mod promises;
mod search;
