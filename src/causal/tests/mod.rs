//! The chain from rows to graphs as a whole: against what other programs computed, and against what
//! it promises.

mod classes;
pub(crate) mod frame;
mod promises;
mod search;
