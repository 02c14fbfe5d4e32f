//! The features of rows that a stage gathers from many row groups.

use crate::data::{FeatureColumn, FeatureKind};

/// A column of a kind without rows.
pub(crate) fn empty_column(kind: &FeatureKind) -> FeatureColumn {
    if kind.is_coded() {
        FeatureColumn::Code(Vec::new())
    } else {
        FeatureColumn::Number(Vec::new())
    }
}
