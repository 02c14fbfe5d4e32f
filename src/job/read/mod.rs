//! From the text of a job file to its types: includes, variables, places of every key.

pub mod decode;
pub mod load;
pub mod nearest;
mod reader;
pub mod tree;
