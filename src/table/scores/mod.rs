//! The tables of scores and amounts as such: rates at every threshold, bins of scores, amounts.

mod amounts;
mod curves;
mod reliability;

pub use amounts::AmountRow;
pub use curves::CurveRow;
pub(crate) use curves::JOB_STEP;
pub use reliability::ReliabilityRow;
