//! From the text of a job file to its types: includes, variables, places of every key.

pub(crate) mod decode;
pub(crate) mod load;
pub(crate) mod nearest;
mod reader;
pub(crate) mod synonyms;
pub(crate) mod tree;
