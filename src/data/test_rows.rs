//! Small layouts and rows for tests; compiled only for tests.

use super::{
    Attribute, Feature, FeatureColumn, FeatureKind, FeatureRows, Layout, MISSING, RowIdKind,
};
use crate::data::source_form::SourceForm;
use crate::data::values::ValueClass;

impl FeatureKind {
    pub(crate) const REAL: FeatureKind = FeatureKind::Continuous { integer: false };
    pub(crate) const WHOLE: FeatureKind = FeatureKind::Continuous { integer: true };
}

impl Feature {
    /// A feature of numbers, or of texts that are its levels.
    pub(crate) fn of(name: &str, kind: FeatureKind, levels: &[&str]) -> Self {
        let class = if kind.is_coded() { ValueClass::Text } else { ValueClass::Float };
        Feature::typed(name, kind, levels, class)
    }

    pub(crate) fn typed(name: &str, kind: FeatureKind, levels: &[&str], class: ValueClass) -> Self {
        let levels = levels.iter().map(|&level| level.to_owned()).collect();
        Feature { name: name.to_owned(), kind, levels, class, source: SourceForm::default() }
    }

    /// Its column in rows with these words; none where one is missing.
    pub(crate) fn column<'a>(&self, words: impl Iterator<Item = Option<&'a str>>) -> FeatureColumn {
        if self.kind.is_coded() {
            let at =
                |word: Option<&str>| self.levels.iter().position(|of| Some(of.as_str()) == word);
            FeatureColumn::Code(
                words.map(|word| at(word).map_or(MISSING, |at| at as u32)).collect(),
            )
        } else {
            let number = |word: &str| word.parse().unwrap_or(f64::NAN);
            FeatureColumn::Number(words.map(|word| word.map_or(f64::NAN, number)).collect())
        }
    }
}

impl Attribute {
    /// An attribute whose groups are the first levels of its feature, the reference first.
    pub(crate) fn of(name: &str, groups: &[&str], feature: usize) -> Self {
        Attribute {
            name: name.to_owned(),
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
            reference: 0,
            feature,
            level_of_group: (0..groups.len() as u32).collect(),
        }
    }
}

impl Layout {
    /// Rows of these features with numbers as keys, none of them derived or hidden.
    pub(crate) fn of(attributes: Vec<Attribute>, features: Vec<Feature>) -> Self {
        Layout {
            n_rows: 0,
            row_id: RowIdKind::RowNumber,
            label: None,
            person: None,
            weight: None,
            attributes,
            features,
            hidden: Vec::new(),
            derived: Vec::new(),
            carried: Vec::new(),
            single: Vec::new(),
            decisions: Vec::new(),
            strata: None,
            slices: Vec::new(),
        }
    }
}

impl FeatureRows {
    /// Rows that hold in the source what they hold.
    pub(crate) fn of(columns: Vec<FeatureColumn>) -> Self {
        let n = columns.first().map_or(0, |column| match column {
            FeatureColumn::Number(values) => values.len(),
            FeatureColumn::Code(codes) => codes.len(),
        });
        FeatureRows { n, columns, source: Vec::new() }
    }
}
