//! Rows that leave and scores that come back, in the files of others.

pub mod keyed;
pub mod raw;
pub mod row_stream;
pub mod score_stream;
pub mod to_score;
