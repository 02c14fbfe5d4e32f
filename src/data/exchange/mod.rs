//! Exchange files: rows sent to other programs or platforms, and the scores that they return.

pub mod http;
pub mod keyed;
pub(crate) mod raw;
pub(crate) mod row_stream;
pub mod score_stream;
pub(crate) mod to_score;
