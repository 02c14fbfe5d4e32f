//! From evidence to values: measured, compared, the groups furthest apart.

pub(crate) mod ask;
pub mod changes;
pub(crate) mod clarify;
pub mod classes;
pub mod compare;
pub(crate) mod gaps;
pub mod measured;
pub mod settings;
pub mod switches;
pub mod worlds;
mod worst;
