//! Exchange files: rows sent to other programs or platforms, and the scores or counterfactuals that
//! they return.

pub(crate) mod external;
pub mod http;
pub(crate) mod ipc_message;
pub(crate) mod kept_counterfactuals;
pub mod keyed;
pub(crate) mod known_levels;
pub(crate) mod raw;
pub(crate) mod row_answer;
pub(crate) mod row_stream;
pub mod score_stream;
pub(crate) mod to_score;
