//! The output folder: what it holds, and how it is read back.

pub(crate) mod history;
pub(crate) mod manifest;
pub(crate) mod read;
