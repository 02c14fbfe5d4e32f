//! The features of rows that a stage gathers from many row groups.

use crate::data::{FeatureColumn, FeatureKind, FeatureRows};

/// A column of a kind without rows.
pub(crate) fn empty_column(kind: &FeatureKind) -> FeatureColumn {
    if kind.is_coded() {
        FeatureColumn::Code(Vec::new())
    } else {
        FeatureColumn::Number(Vec::new())
    }
}

/// Adds rows at the end.
pub(crate) fn append_rows(rows: &mut FeatureRows, part: FeatureRows) {
    rows.n += part.n;
    for (own, more) in rows.columns.iter_mut().zip(part.columns) {
        match (own, more) {
            (FeatureColumn::Number(own), FeatureColumn::Number(more)) => own.extend(more),
            (FeatureColumn::Code(own), FeatureColumn::Code(more)) => own.extend(more),
            // Both are made from the same layout.
            _ => {}
        }
    }
}
