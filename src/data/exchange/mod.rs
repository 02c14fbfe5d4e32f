//! Exchange files: rows sent to other programs or platforms, and the scores that they return.

pub mod keyed;
pub mod raw;
pub mod row_stream;
pub mod score_stream;
pub mod to_score;
