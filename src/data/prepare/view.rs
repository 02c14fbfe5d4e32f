//! The rows in the job's terms: texts have one spelling, values that mean missing are missing,
//! derived columns are appended.
//!
//! All of this happens directly after reading, so filters, levels, groups and features do not
//! depend on the origin of a column. A derived column may not have the name of a column of the
//! source: every mention of it would silently have another meaning.

use std::borrow::Cow;
use std::collections::HashSet;

use arrow::array::ArrayRef;

use crate::data::prepare::derive::DerivationRule;
use crate::data::prepare::params::PrepareParams;
use crate::data::source::{
    ParquetSource, SourceColumn, SourcePiece, SourceSlice, TextIdentity, hidden_column_fault,
};
use crate::data::sql::{self, ComputedColumn, SqlProgram};
use crate::data::values::{SourceValues, ValueClass};
use crate::error::Result;
use crate::param::Word;

/// A source with the job's missing values and derived columns.
pub(crate) struct SourceView<'a> {
    /// The source itself.
    pub(crate) source: &'a ParquetSource,
    /// The columns of the source, then the derived ones.
    pub(crate) columns: Vec<SourceColumn>,
    /// Positions of the columns that are brought to one spelling.
    pub(crate) spelt: Vec<usize>,
    /// The values that mean missing, by column.
    pub(crate) nulls: Vec<NullValues>,
    derived: Vec<DerivedColumn>,
}

/// The values of one column that mean missing.
pub(crate) struct NullValues {
    /// The column.
    pub(crate) column: usize,
    words: HashSet<String>,
}

/// A derived column; they follow the source's columns, in this order.
pub(crate) struct DerivedColumn {
    /// Positions of the columns that it is derived from.
    pub(crate) parents: Vec<usize>,
    /// The rule.
    pub(crate) rule: DerivationRule,
    /// The rule, where it is an expression.
    program: Option<SqlProgram>,
    /// Every name that it can hold, in declared order; empty where the names depend on the data.
    pub(crate) names: Vec<String>,
}

impl<'a> SourceView<'a> {
    /// The view of a source that was opened with [`PrepareParams::columns`].
    ///
    /// # Errors
    /// A word that no value of its column can match, bins of a column that is not numeric, a column
    /// that was not requested.
    pub(crate) fn new(source: &'a ParquetSource, params: &PrepareParams) -> Result<Self> {
        let mut view = SourceView {
            source,
            columns: source.columns().to_vec(),
            spelt: Vec::new(),
            nulls: Vec::new(),
            derived: Vec::new(),
        };
        for (position, column) in view.columns.iter_mut().enumerate() {
            if let Some(&spelling) = params.spelling.get(&column.name) {
                column.spelling = spelling;
                view.spelt.push(position);
            }
        }
        for (name, words) in &params.missing.null_values {
            // A column that is not read has no values to make missing.
            let Some(column) = view.columns.iter().position(|c| c.name == name.as_str()) else {
                continue;
            };
            // The reader of a declared type knows the words that are none of its values.
            let declared = params.declared.contains_key(name.as_str());
            let is_value = |word: &&Word| {
                !declared || view.columns[column].class.canonical(word.as_str()).is_some()
            };
            let words = words
                .iter()
                .filter(is_value)
                .map(|w| view.columns[column].word("null_values", w.as_str()))
                .collect::<Result<_>>()?;
            view.nulls.push(NullValues { column, words });
        }
        for (name, recipe) in params.derived() {
            if let Some(file) = source.file_with(name.as_str()) {
                return Err(hidden_column_fault(name.as_str(), "derived", file).into());
            }
            let parents = recipe
                .parents()
                .iter()
                .map(|parent| view.position(parent.as_str()))
                .collect::<Result<Vec<_>>>()?;
            let columns: Vec<&SourceColumn> = parents.iter().map(|&p| &view.columns[p]).collect();
            let rule = DerivationRule::new(name, recipe, &columns)?;
            let program = rule.program();
            view.columns.push(SourceColumn {
                name: name.to_string(),
                class: program.as_ref().map_or(ValueClass::Text, |of| of.gives),
                identity: TextIdentity::Exact,
                ..SourceColumn::default()
            });
            let names = recipe.declared_names().into_iter().map(|name| name.0).collect();
            view.derived.push(DerivedColumn { parents, rule, program, names });
        }
        Ok(view)
    }

    /// Whether the job's view of a column may differ from the source.
    pub(crate) fn changes(&self, column: usize) -> bool {
        let of = &self.columns[column];
        let compared = of.class == ValueClass::Text && of.identity != TextIdentity::Exact;
        compared
            || self.spelt.contains(&column)
            || self.nulls.iter().any(|null| null.column == column)
    }

    /// The word in the job's view of a word of the source; none where it means missing.
    pub(crate) fn prepared_word<'w>(&self, column: usize, word: &'w str) -> Option<Cow<'w, str>> {
        let of = &self.columns[column];
        let spelt = match of.class {
            ValueClass::Text => match of.spelling.of(word) {
                Cow::Borrowed(spelt) => of.canonical(spelt),
                Cow::Owned(spelt) => Cow::Owned(of.canonical(&spelt).into_owned()),
            },
            _ => Cow::Borrowed(word),
        };
        let is_null = |null: &NullValues| null.column == column && null.words.contains(&*spelt);
        let missing = of.class == ValueClass::Text && of.spelling.trim && spelt.is_empty();
        (!missing && !self.nulls.iter().any(is_null)).then_some(spelt)
    }

    /// The words of a column that mean missing.
    pub(crate) fn null_words(&self, column: usize) -> impl Iterator<Item = &str> {
        let of_column = self.nulls.iter().filter(move |null| null.column == column);
        of_column.flat_map(|null| null.words.iter().map(String::as_str))
    }

    /// The derived columns with their positions.
    pub(crate) fn derived(&self) -> impl Iterator<Item = (usize, &DerivedColumn)> {
        (self.source.columns().len()..).zip(&self.derived)
    }

    /// The derived column at a position, if it is one.
    pub(crate) fn derived_at(&self, column: usize) -> Option<&DerivedColumn> {
        column.checked_sub(self.source.columns().len()).and_then(|i| self.derived.get(i))
    }

    /// The values of an expression over columns of a slice, and the rows where they are not finite;
    /// `derived` is the column that it makes.
    ///
    /// # Errors
    /// An integer that no float holds, or a text that is too long.
    pub(crate) fn computed(
        &self,
        program: &SqlProgram,
        columns: &[usize],
        slice: &SourceSlice,
        derived: Option<&str>,
    ) -> Result<(ArrayRef, Vec<u32>)> {
        let inputs = columns.iter().map(|&position| {
            sql::column_of(&self.columns[position], &slice.columns[position]).map_err(
                |(fault, i)| self.source.locate_row(*fault, slice.first_row + i as u64).into(),
            )
        });
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        let ComputedColumn { values, not_finite, long } = program.compute(&inputs, slice.rows);
        match long {
            None => Ok((values, not_finite)),
            Some(text) => {
                let row = slice.first_row + text.row as u64;
                let fault = text.fault();
                let fault = match derived {
                    Some(name) => fault.in_column(name),
                    None => fault,
                };
                Err(self.source.locate_row(fault, row).into())
            }
        }
    }

    /// Position of a column.
    ///
    /// # Errors
    /// The column was not requested when the source was opened.
    pub(crate) fn position(&self, name: &str) -> Result<usize> {
        match self.columns.iter().rposition(|c| c.name == name) {
            Some(position) => Ok(position),
            None => self.source.position(name),
        }
    }

    /// Reads a piece in slices of at most `batch_rows` rows and passes each to `each`.
    ///
    /// # Errors
    /// As [`ParquetSource::read`].
    pub(crate) fn read(
        &self,
        piece: &SourcePiece,
        batch_rows: usize,
        mut each: impl FnMut(SourceSlice) -> Result<()>,
    ) -> Result<()> {
        self.source.read(piece, batch_rows, |mut slice| {
            for &position in &self.spelt {
                let spelt = self.columns[position].spelling.values(&slice.columns[position]);
                slice.respelt.push(spelt.as_ref().map_or(0, |(_, n)| *n));
                if let Some((values, _)) = spelt {
                    let read = std::mem::replace(&mut slice.columns[position], values);
                    slice.as_read.push((position, read));
                }
            }
            for null in &self.nulls {
                let values = slice.columns[null.column].clone();
                let of = &self.columns[null.column];
                let (values, n) = values.without(|word| null.words.contains(&*of.canonical(word)));
                if n > 0 {
                    let read = std::mem::replace(&mut slice.columns[null.column], values);
                    if slice.as_read.iter().all(|(column, _)| *column != null.column) {
                        slice.as_read.push((null.column, read));
                    }
                }
                let declared = slice.declared_null.get(null.column).copied().unwrap_or(0);
                slice.made_null.push(n + declared);
            }
            for (position, derived) in self.derived() {
                let (values, not_finite) = match &derived.program {
                    Some(program) => {
                        let (values, rows) = self.computed(
                            program,
                            &derived.parents,
                            &slice,
                            Some(&self.columns[position].name),
                        )?;
                        (sql::source_values(&values), rows)
                    }
                    None => {
                        let parent =
                            |&p: &usize| self.columns[p].canonical_values(&slice.columns[p]);
                        let parents: Vec<Cow<'_, SourceValues>> =
                            derived.parents.iter().map(parent).collect();
                        let parents: Vec<&SourceValues> =
                            parents.iter().map(|values| &**values).collect();
                        (derived.rule.values(&parents, slice.rows), Vec::new())
                    }
                };
                slice.columns.push(values);
                slice.not_finite.push(not_finite);
            }
            each(slice)
        })
    }
}
