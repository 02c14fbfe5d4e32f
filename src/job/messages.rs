//! The messages of job files: a function for each of `messages.txt`, made by `build.rs`, so that a
//! name or a word to fill in that is not in the file does not compile.

use std::fmt::Display;

/// A message with its words filled in.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: &'static str,
    /// Parts of the job that it depends on besides the block that it is about.
    pub(crate) reads: &'static [&'static str],
    pub(crate) what: String,
    pub(crate) hint: String,
}

include!(concat!(env!("OUT_DIR"), "/messages.rs"));
