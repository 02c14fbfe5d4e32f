//! The output folder: what it holds, how it is put together and read back.

pub mod manifest;
pub mod read;
