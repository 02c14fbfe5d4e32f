//! The source view of a row: the values as the source holds them, next to the prepared ones.
//!
//! Strategies, metrics and models trained here read prepared values: one spelling for each level,
//! missing values as the job treats them. A model that was trained elsewhere has seen the source
//! itself, so it gets what the source holds; so do files to score, kept counterfactuals and lists
//! of cases. The types and texts of the source are those of [`crate::data::source_form`].
//!
//! Where one prepared value represents several values of the source (two spellings of a level, a
//! word that the job takes for missing), rows carry what the source holds in [`SourceCells`]. A row
//! that was changed is the row of the source under what was changed: a changed level is written in
//! its most frequent spelling, a changed number in the type of the column ([`ViewedColumn`]).

use std::borrow::Cow;

use crate::data::source_form::{SourceKind, SourceValue};
use crate::data::values::{ValueClass, float_text};
use crate::data::{Feature, FeatureColumn, FeatureRows, MISSING, SourceCells};
use crate::num::float_precision::FloatPrecision;

impl Feature {
    /// The type of its values in the source.
    pub(crate) fn source_kind(&self) -> SourceKind {
        self.source.kind.unwrap_or(match self.class {
            ValueClass::Int => SourceKind::Integer,
            ValueClass::Float => SourceKind::Float,
            ValueClass::Bool => SourceKind::Boolean,
            ValueClass::Text => SourceKind::Text,
            ValueClass::Empty if self.kind.is_coded() => SourceKind::Text,
            ValueClass::Empty => SourceKind::Float,
        })
    }

    /// The value of a word of the source.
    pub(crate) fn source_value<'a>(&self, word: &'a str) -> SourceValue<'a> {
        SourceValue::of(self.source_kind(), self.source.read_csv, word)
    }

    /// The word of the source at a position; none where it is [`MISSING`].
    fn word_at(&self, position: u32) -> Option<&str> {
        self.source.words.get(position as usize).map(|word| word.text.as_str())
    }

    /// The word that the source most often has for a level; none where that is a missing value.
    pub(crate) fn spelling_of(&self, level: u32) -> Option<&str> {
        match self.source.spelling.get(level as usize) {
            Some(&position) => self.word_at(position),
            None => self.levels.get(level as usize).map(String::as_str),
        }
    }

    /// Words that name a level, each with the level, [`MISSING`] = missing: those of the source as
    /// it writes them and as values of its type, then the levels.
    pub(crate) fn known_words(&self) -> impl Iterator<Item = (Cow<'_, str>, u32)> {
        let kind = self.source_kind();
        let words = || {
            let levels = (0..).zip(&self.levels).map(|(at, level)| (level.as_str(), at));
            self.source.words.iter().map(|word| (word.text.as_str(), word.level)).chain(levels)
        };
        let typed = move |(word, level)| {
            let text = match self.source_value(word) {
                SourceValue::Boolean(flag) => Cow::Borrowed(if flag { "true" } else { "false" }),
                SourceValue::Float(value) => Cow::Owned(float_text(value)),
                other => other.text(kind)?,
            };
            Some((text, level))
        };
        words().map(|(word, level)| (Cow::Borrowed(word), level)).chain(words().filter_map(typed))
    }
}

impl SourceCells {
    /// Whether row `i` still has the prepared value that was made of the source.
    fn is_unchanged(&self, rows: &FeatureRows, i: usize) -> bool {
        !self.was.differs(i, &rows.columns[self.feature], i)
    }

    /// For each row the bits of what the source holds; none where the row was changed.
    pub(crate) fn bits<'a>(
        &'a self,
        rows: &'a FeatureRows,
    ) -> impl Iterator<Item = Option<u64>> + 'a {
        let bits = |i: usize| match &self.holds {
            FeatureColumn::Number(values) => values[i].to_bits(),
            FeatureColumn::Code(words) => u64::from(words[i]),
        };
        (0..rows.n).map(move |i| self.is_unchanged(rows, i).then(|| bits(i)))
    }
}

/// A feature of some rows in the source view.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ViewedColumn<'a> {
    /// Numbers of the type of the column; NaN is missing.
    Numbers(Cow<'a, [f64]>),
    /// Few different values.
    Coded {
        /// The values; the first is missing.
        table: Vec<SourceValue<'a>>,
        /// For each row the position of its value.
        ids: Vec<u32>,
    },
}

impl<'a> ViewedColumn<'a> {
    /// A feature, given by its position, of the rows at these positions; of all rows without.
    pub(crate) fn new(
        feature: &'a Feature,
        position: usize,
        rows: &'a FeatureRows,
        at: Option<&[usize]>,
    ) -> Self {
        let cells = rows.source.iter().find(|cells| cells.feature == position);
        let n = at.map_or(rows.n, <[usize]>::len);
        let row = |k: usize| at.map_or(k, |at| at[k]);
        let held = |i: usize| cells.filter(|cells| cells.is_unchanged(rows, i));
        let precision = FloatPrecision::single_if(feature.source_kind() == SourceKind::Single);
        match &rows.columns[position] {
            FeatureColumn::Number(values)
                if at.is_none() && cells.is_none() && precision == FloatPrecision::Double =>
            {
                ViewedColumn::Numbers(Cow::Borrowed(values))
            }
            FeatureColumn::Number(values) => {
                let value = |i: usize| match held(i).map(|cells| &cells.holds) {
                    Some(FeatureColumn::Number(source)) => precision.round(source[i]),
                    _ => precision.round(values[i]),
                };
                ViewedColumn::Numbers((0..n).map(|k| value(row(k))).collect())
            }
            FeatureColumn::Code(codes) => {
                let levels = feature.levels.len() as u32;
                let value = |word: Option<&'a str>| {
                    word.map_or(SourceValue::Null, |word| feature.source_value(word))
                };
                let words = cells.map_or(&[][..], |_| feature.source.words.as_slice());
                let table = [SourceValue::Null]
                    .into_iter()
                    .chain((0..levels).map(|level| value(feature.spelling_of(level))))
                    .chain(words.iter().map(|word| value(Some(&word.text))))
                    .collect();
                let id = |i: usize| match held(i).map(|cells| &cells.holds) {
                    Some(FeatureColumn::Code(words)) if words[i] == MISSING => 0,
                    Some(FeatureColumn::Code(words)) => 1 + levels + words[i],
                    _ if codes[i] == MISSING => 0,
                    _ => 1 + codes[i],
                };
                ViewedColumn::Coded { table, ids: (0..n).map(|k| id(row(k))).collect() }
            }
        }
    }

    /// Each value as a number; NaN where it is missing.
    ///
    /// # Errors
    /// The first text that is no number.
    pub(crate) fn numbers(&self) -> Result<Vec<f64>, String> {
        let number = |value: &SourceValue<'a>| match (value.number(), value) {
            (None, SourceValue::Text(text)) => Err((*text).to_owned()),
            (number, _) => Ok(number.unwrap_or(f64::NAN)),
        };
        self.map(number).into_iter().collect()
    }

    /// What `of` makes of each value; of few different ones it is asked once for each.
    pub(crate) fn map<T: Clone>(&self, of: impl Fn(&SourceValue<'a>) -> T) -> Vec<T> {
        match self {
            ViewedColumn::Numbers(values) => {
                values.iter().map(|&x| of(&SourceValue::of_number(x))).collect()
            }
            ViewedColumn::Coded { table, ids } => {
                let made: Vec<T> = table.iter().map(of).collect();
                ids.iter().map(|&id| made[id as usize].clone()).collect()
            }
        }
    }

    /// Each value as a text; none where it is missing.
    pub(crate) fn texts(&self, kind: SourceKind) -> Vec<Option<Cow<'a, str>>> {
        self.map(|value| value.text(kind))
    }
}

/// The word of a feature of a row as the source writes it; none where the value is missing. Numbers
/// are in their plain form: `40`.
pub(crate) fn shown_in_source(
    feature: &Feature,
    position: usize,
    (rows, i): (&FeatureRows, usize),
) -> Option<String> {
    let cells = rows.source.iter().find(|cells| cells.feature == position);
    let held = cells.filter(|cells| cells.is_unchanged(rows, i)).map(|cells| &cells.holds);
    let number = |value: f64| (!value.is_nan()).then(|| float_text(value));
    let word = match (&rows.columns[position], held) {
        (FeatureColumn::Number(_), Some(FeatureColumn::Number(source))) => {
            return number(source[i]);
        }
        (FeatureColumn::Number(values), _) => return number(values[i]),
        (FeatureColumn::Code(_), Some(FeatureColumn::Code(words))) => feature.word_at(words[i]),
        (FeatureColumn::Code(codes), _) => feature.spelling_of(codes[i]),
    }?;
    (feature.source_value(word) != SourceValue::Null).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{ViewedColumn, shown_in_source};
    use crate::data::source_form::{SourceForm, SourceKind, SourceWord};
    use crate::data::{Feature, FeatureColumn, FeatureKind, FeatureRows, MISSING, SourceCells};

    fn feature() -> Feature {
        let word = |text: &str, level| SourceWord { text: text.to_owned(), level };
        Feature {
            source: SourceForm {
                words: vec![word("?", 2), word("DE", 0), word("de ", 0), word("fr", 1)],
                spelling: vec![1, 3, MISSING],
                several: true,
                ..SourceForm::default()
            },
            ..Feature::of("country", FeatureKind::Nominal, &["de", "fr", "missing"])
        }
    }

    /// A model gets the number of 32 bits that the file has, of which rows hold the decimal.
    #[test]
    fn numbers_of_32_bits_are_viewed_as_the_file_has_them() {
        let single = f64::from(0.7_f32);
        for (kind, expected) in [(SourceKind::Single, single), (SourceKind::Float, 0.7)] {
            let source = SourceForm { kind: Some(kind), ..SourceForm::default() };
            let continuous = FeatureKind::Continuous { integer: false };
            let feature = Feature { source, ..Feature::of("x", continuous, &[]) };
            let rows = FeatureRows::of(vec![FeatureColumn::Number(vec![0.7, 0.7])]);
            for at in [None, Some(&[1, 0][..])] {
                let viewed = ViewedColumn::new(&feature, 0, &rows, at);
                assert_eq!(viewed.numbers().unwrap(), [expected; 2], "{kind:?}");
            }
        }
    }

    #[test]
    fn a_changed_row_is_the_row_of_the_source_under_what_was_changed() {
        let feature = feature();
        let was = FeatureColumn::Code(vec![0, 0, 1, 2, 2]);
        let rows = FeatureRows {
            n: 5,
            // The second becomes `fr`, the third `de`, the last `missing` no more.
            columns: vec![FeatureColumn::Code(vec![0, 1, 0, 2, 1])],
            source: vec![SourceCells {
                feature: 0,
                was,
                holds: FeatureColumn::Code(vec![2, 1, 3, 0, MISSING]),
            }],
        };
        let texts = |at: Option<&[usize]>| -> Vec<Option<String>> {
            let viewed = ViewedColumn::new(&feature, 0, &rows, at);
            let texts = viewed.texts(SourceKind::Text).into_iter();
            texts.map(|text| text.map(std::borrow::Cow::into_owned)).collect()
        };
        let of = |texts: &[&str]| texts.iter().map(|t| Some((*t).to_owned())).collect::<Vec<_>>();
        assert_eq!(texts(None), of(&["de ", "fr", "DE", "?", "fr"]));
        assert_eq!(texts(Some(&[3, 0])), of(&["?", "de "]));
        assert_eq!(shown_in_source(&feature, 0, (&rows, 2)).as_deref(), Some("DE"));
        let missing = FeatureRows::of(vec![FeatureColumn::Code(vec![2])]);
        assert_eq!(ViewedColumn::new(&feature, 0, &missing, None).texts(SourceKind::Text), [None]);
        assert_eq!(rows.take(&[4, 1]).source[0].holds, FeatureColumn::Code(vec![MISSING, 1]));
    }

    #[test]
    fn booleans_and_texts_in_inputs_of_numbers() {
        let mut flag = feature();
        flag.levels = ["False", "True"].map(str::to_owned).to_vec();
        flag.source =
            SourceForm { kind: Some(SourceKind::Boolean), read_csv: true, ..SourceForm::default() };
        let rows = FeatureRows::of(vec![FeatureColumn::Code(vec![1, 0, MISSING])]);
        let viewed = ViewedColumn::new(&flag, 0, &rows, None);
        let numbers = viewed.numbers().unwrap();
        assert_eq!(numbers[..2], [1.0, 0.0]);
        assert!(numbers[2].is_nan());
        let texts = viewed.texts(SourceKind::Boolean);
        assert_eq!(texts, [Some("True".into()), Some("False".into()), None]);
        flag.source.kind = None;
        let viewed = ViewedColumn::new(&flag, 0, &rows, None);
        assert_eq!(viewed.numbers(), Err("True".to_owned()));
        let known: Vec<_> =
            feature().known_words().map(|(word, at)| (word.into_owned(), at)).collect();
        assert!(known.contains(&("de ".to_owned(), 0)) && known.contains(&("?".to_owned(), 2)));
    }
}
