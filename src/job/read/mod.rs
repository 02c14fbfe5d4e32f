//! From the text of a job file to its types: includes, variables, places of every key.

pub(crate) mod load;
pub(crate) mod shape;
pub(crate) mod synonyms;
pub(crate) mod tree;
pub(crate) mod word_lists;
