//! The output folder: what it holds, how it is put together and read back.

pub(crate) mod history;
pub(crate) mod manifest;
pub(crate) mod read;
