//! The types that `pandas.read_csv` would give the columns of a text file: found while the file is
//! imported, and a note of the imported file.

use std::collections::BTreeMap;

use crate::data::canonical::boolean;
use crate::data::source_form::{self, SourceKind};
use crate::data::values::ValueClass;
use crate::table::file::ParquetFile;

/// The note of an imported file that holds [`csv_kinds`].
pub(super) const CSV_KINDS: &str = "cfaudit.csv-kinds";

/// The note of an imported file that names the columns of its text files, needed or not, each with
/// the first file that has it.
pub(super) const CSV_NAMES: &str = "cfaudit.csv-names";

/// The columns of an imported text file, each with its type in the source view, where its class
/// does not determine it; none of another file.
pub(crate) fn csv_kinds(file: &ParquetFile) -> Option<BTreeMap<String, Option<SourceKind>>> {
    serde_json::from_str(file.note(CSV_KINDS)?).ok()
}

/// The type that `pandas.read_csv` gives to the fields of a column.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldKinds {
    /// Whether any is missing, and whether any is not.
    pub(super) missing: bool,
    present: bool,
    /// Whether all that are not missing are booleans, whole numbers, numbers.
    booleans: bool,
    integers: bool,
    floats: bool,
}

impl Default for FieldKinds {
    fn default() -> Self {
        FieldKinds { missing: false, present: false, booleans: true, integers: true, floats: true }
    }
}

impl FieldKinds {
    /// Adds a field that is not missing; the column then has a class.
    pub(super) fn add(&mut self, class: ValueClass, field: &str) {
        match class {
            ValueClass::Int | ValueClass::Float => {
                (self.present, self.booleans) = (true, false);
                self.integers &= class == ValueClass::Int;
            }
            _ if !(self.booleans || self.integers || self.floats) => {}
            _ if source_form::is_missing_word(field) => self.missing = true,
            _ => {
                self.present = true;
                self.booleans &= boolean(field).is_some();
                self.integers &= source_form::integer(field).is_some();
                self.floats &= source_form::float(field).is_some();
            }
        }
    }

    /// The type of the column; none where it is that of its class. Whole numbers of which some are
    /// missing are floats.
    pub(super) fn kind(&self, class: ValueClass) -> Option<SourceKind> {
        match class {
            ValueClass::Int => self.missing.then_some(SourceKind::Float),
            ValueClass::Float | ValueClass::Bool => None,
            ValueClass::Empty => Some(SourceKind::Float),
            ValueClass::Text if !self.present => Some(SourceKind::Float),
            ValueClass::Text if self.booleans => Some(SourceKind::Boolean),
            ValueClass::Text if self.integers && !self.missing => Some(SourceKind::Integer),
            ValueClass::Text if self.integers || self.floats => Some(SourceKind::Float),
            ValueClass::Text => None,
        }
    }
}
