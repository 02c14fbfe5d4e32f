//! Rows to score on another platform: `part-*.parquet` of key columns, then the features.
//!
//! The features are in the source view ([`raw`](crate::data::exchange::raw)). Factual rows have the
//! key `row_id`; counterfactuals have `row_id`, `sensitive`, `from_group`, `to_group`, `cf_index`
//! and are in the order of the rows, then of the declared attributes, then of the declared groups,
//! then of `cf_index`. A row in its own group (`from_group` equals `to_group`) is the factual row,
//! sent again as a recheck. A part holds at most [`PART_ROWS`] rows, a row group [`GROUP_ROWS`],
//! for any batches in which the rows arrive, so the bytes depend neither on threads nor on batches.
//! Without rows there is one empty part: its columns show the platform what to expect.
//!
//! After the key comes the column `request`, which is also the metadata `cfaudit.request` of each
//! part: the id of these rows, to be returned with their scores. It is a hash of all of them (see
//! [`RequestDigest`]), so the same rows have the same id on any machine, and whether a source
//! stores whole numbers as integers or as floats.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use sha2::{Digest, Sha256};

use crate::data::exchange::raw::{
    counterfactual_key_fields, raw_arrays, raw_schema, row_id_array, row_id_field, source_note,
};
use crate::data::rows::aligned::CounterfactualKeys;
use crate::data::rows::content::ContentHash;
use crate::data::source::recut::RecutWriter;
use crate::data::source_view::shown_in_source;
use crate::data::values::SourceValues;
use crate::data::{Attribute, FeatureRows, Layout, MISSING_GROUP};
use crate::error::{Error, Result};
use crate::exec::hash::hex;
use crate::exec::pieces::WorkerPool;
use crate::num::seed::{h, named_seed};

/// Largest number of rows of a part.
pub(crate) const PART_ROWS: usize = 1_000_000;

/// Largest number of rows of a row group; divides [`PART_ROWS`].
const GROUP_ROWS: usize = 50_000;

/// The column that names a request.
pub(crate) const REQUEST: &str = "request";

/// The column that says whether a counterfactual that is kept passed all filters and checks.
pub(crate) const VALID: &str = "valid";

/// The column that says what changed in a counterfactual that is kept.
pub(crate) const CHANGED: &str = "changed";

/// The metadata that names a request.
pub(crate) const REQUEST_NOTE: &str = "cfaudit.request";

/// Seed of the hashes of keys.
const KEY_SEED: u64 = 3;

/// A batch of rows to score.
pub(crate) type RowsBatch = RecordBatch;

/// One counterfactual to score, or a row to score again as a recheck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RequestRow {
    /// Position of the row in its row group.
    pub row: usize,
    /// Position of the attribute.
    pub attribute: usize,
    /// Position of the target group.
    pub to_group: u16,
    /// Its number among the counterfactuals of the row and group.
    pub cf_index: u16,
    /// The part and the position in it that hold its features.
    pub source: (usize, usize),
}

impl RequestRow {
    /// The counterfactuals of an attribute with these keys, whose features are in a part.
    pub(crate) fn of_keys(
        keys: &CounterfactualKeys,
        attribute: usize,
        part: usize,
    ) -> impl Iterator<Item = RequestRow> {
        (0..keys.parent.len()).map(move |k| RequestRow {
            row: keys.parent[k] as usize,
            attribute,
            to_group: keys.to_group[k],
            cf_index: keys.cf_index[k],
            source: (part, k),
        })
    }

    /// A row set to a group, as part 0 holds it.
    pub(crate) fn of_row(row: usize, attribute: usize, to_group: u16) -> Self {
        RequestRow { row, attribute, to_group, cf_index: 0, source: (0, row) }
    }
}

/// What the rows of a folder are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SentRows {
    /// Rows as they are.
    Factual,
    /// Counterfactuals to score.
    Counterfactual,
    /// Counterfactuals that are kept: [`VALID`] and [`CHANGED`] follow the key.
    Kept,
}

impl SentRows {
    /// Number of key columns.
    pub(crate) fn n_keys(self) -> usize {
        if self == SentRows::Factual { 1 } else { 5 }
    }

    /// The columns.
    pub(crate) fn schema(self, layout: &Layout) -> Schema {
        let mut fields = vec![row_id_field(layout)];
        fields.extend(counterfactual_key_fields().into_iter().take(self.n_keys() - 1));
        if self == SentRows::Kept {
            fields.push(Field::new(VALID, DataType::Boolean, false));
            fields.push(Field::new(CHANGED, DataType::Utf8, false));
        }
        let features = raw_schema(layout);
        let features = features.fields().iter().map(Arc::clone);
        let all: Vec<FieldRef> = fields.into_iter().map(Arc::new).chain(features).collect();
        Schema::new(all).with_metadata(source_note(&layout.features))
    }

    /// Rows made of a row group, in the order of `asked`.
    ///
    /// `ids` and `groups` (by attribute) are those of the rows; `parts` hold the features, at least
    /// one. For kept ones, `said` holds whether each is valid, and what changed in it.
    ///
    /// # Errors
    /// A number of an integer column is not whole.
    pub(crate) fn batch(
        self,
        layout: &Layout,
        (ids, groups): (&SourceValues, &[Vec<u16>]),
        asked: &[RequestRow],
        parts: &[&FeatureRows],
        said: Option<(Vec<bool>, Vec<String>)>,
    ) -> Result<RecordBatch> {
        // Only rows of a declared group have counterfactuals.
        let name = |attribute: usize, group: u16| {
            layout.attributes[attribute].groups.get(usize::from(group)).map_or("", String::as_str)
        };
        let own = |a: &RequestRow| {
            groups.get(a.attribute).and_then(|g| g.get(a.row)).copied().unwrap_or(MISSING_GROUP)
        };
        let mut arrays = vec![row_id_array(ids, asked.iter().map(|a| a.row))];
        if self != SentRows::Factual {
            let indices = asked.iter().map(|a| i64::from(a.cf_index));
            arrays.extend([
                texts(asked.iter().map(|a| layout.attributes[a.attribute].name.as_str())),
                texts(asked.iter().map(|a| name(a.attribute, own(a)))),
                texts(asked.iter().map(|a| name(a.attribute, a.to_group))),
                Arc::new(Int64Array::from_iter_values(indices)),
            ]);
        }
        if let Some((valid, changed)) = said {
            arrays.push(Arc::new(BooleanArray::from(valid)));
            arrays.push(Arc::new(StringArray::from(changed)));
        }
        let rows = FeatureRows::gather(parts, asked.iter().map(|a| a.source));
        arrays.extend(raw_arrays(layout, &rows)?);
        batch(self.schema(layout), arrays)
    }
}

/// What changed from a row to a counterfactual, in the source view: `hours: 20 -> 40; sex: w -> m`.
pub(crate) fn changes(
    layout: &Layout,
    (before, row): (&FeatureRows, usize),
    (after, k): (&FeatureRows, usize),
) -> String {
    let shown = |f: usize, at: (&FeatureRows, usize)| {
        let value = shown_in_source(&layout.features[f], f, at);
        value.unwrap_or_else(|| "(none)".to_owned())
    };
    let is_changed = |f: &usize| before.columns[*f].differs(row, &after.columns[*f], k);
    let changed = layout.inputs().filter(is_changed).map(|f| {
        let name = &layout.features[f].name;
        format!("{name}: {} -> {}", shown(f, (before, row)), shown(f, (after, k)))
    });
    changed.collect::<Vec<_>>().join("; ")
}

fn texts<'t>(texts: impl Iterator<Item = &'t str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(texts))
}

fn batch(schema: Schema, arrays: Vec<ArrayRef>) -> Result<RecordBatch> {
    let hint = "this is a bug in cfaudit: a column has another length or type than the file";
    RecordBatch::try_new(Arc::new(schema), arrays)
        .map_err(|e| Error::operator("write", "to-score", e, hint))
}

/// The id of rows to score: SHA-256 over the names and types of their columns, then over what
/// [`rows_hash`] gives of the rows.
///
/// Integers and floats are of one type, `number`; the other types have Arrow's names. Byte order is
/// little-endian.
pub(crate) struct RequestDigest(Sha256);

impl RequestDigest {
    /// The digest of no rows, with the features of a layout.
    pub(crate) fn new(layout: &Layout) -> Self {
        let mut digest = RequestDigest(Sha256::new());
        // Digests of another version are never equal by accident.
        digest.text("rows to score, 2");
        for field in raw_schema(layout).fields() {
            digest.text(field.name());
            match field.data_type() {
                DataType::Int64 | DataType::Float64 | DataType::Float32 => digest.text("number"),
                other => digest.text(&other.to_string()),
            }
        }
        digest
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }

    /// Adds rows.
    pub(crate) fn rows(&mut self, rows: &ContentHash) {
        self.0.update(rows.n_rows().to_le_bytes());
        self.text(&rows.hex());
    }

    /// Adds that each row is in every other group of an attribute, with the value of that group in
    /// the column of the attribute and nothing else changed.
    pub(crate) fn every_other_group(&mut self, layout: &Layout, attribute: &Attribute) {
        self.text("every other group");
        for (group, &level) in attribute.groups.iter().zip(&attribute.level_of_group) {
            self.text(group);
            let levels = layout.features.get(attribute.feature).map(|feature| &feature.levels);
            let level = levels.and_then(|levels| levels.get(level as usize));
            self.text(level.map_or("", String::as_str));
        }
    }

    /// The id in hex.
    pub(crate) fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

/// The hash of rows to score: of the features that models read, and of `key`, a hash of the key of
/// each row ([`row_hash`], [`counterfactual_hash`]).
///
/// Rows are joined to their scores by key, so their order does not matter. What the source holds
/// counts as well where the prepared value does not determine it.
pub(crate) fn rows_hash(
    layout: &Layout,
    rows: &FeatureRows,
    key: impl Fn(usize) -> u64,
) -> ContentHash {
    let inputs: Vec<usize> = layout.inputs().collect();
    let mut keys: Vec<u64> = (0..rows.n).map(key).collect();
    for cells in rows.source.iter().filter(|cells| layout.is_input(cells.feature)) {
        let feature = &layout.features[cells.feature];
        let name = named_seed(KEY_SEED, &feature.name);
        let words: Vec<u64> =
            feature.source.words.iter().map(|word| named_seed(name, &word.text)).collect();
        for (key, bits) in keys.iter_mut().zip(cells.bits(rows)) {
            let Some(bits) = bits else { continue };
            let value = usize::try_from(bits).ok().and_then(|at| words.get(at));
            *key = h(*key, name, value.copied().unwrap_or(bits));
        }
    }
    ContentHash::of(&layout.features, &inputs, rows, |i| keys[i])
}

/// The hash of the key of a row, and of the name of its group where it is that of an attribute.
pub(crate) fn row_hash(row_key: u64, group: u64) -> u64 {
    h(KEY_SEED, row_key, group)
}

/// The hash of the key of a counterfactual of a row with this [`row_hash`].
pub(crate) fn counterfactual_hash(row: u64, to_group: u64, cf_index: u16) -> u64 {
    h(row, to_group, u64::from(cf_index) + 1)
}

/// The hash of the name of each group of an attribute.
pub(crate) fn group_hashes(attribute: &Attribute) -> Vec<u64> {
    attribute.groups.iter().map(|name| named_seed(KEY_SEED, name)).collect()
}

/// The name of a part.
pub(crate) fn part_name(part: usize) -> String {
    format!("part-{part:05}.parquet")
}

/// Writes the parts of one folder.
pub(crate) struct PartsWriter<'a> {
    folder: PathBuf,
    schema: Schema,
    /// The id of all rows, and the number of key columns before it; none for rows that are not to
    /// be answered.
    request: Option<(String, usize)>,
    workers: &'a WorkerPool,
    part_rows: usize,
    open: Option<RecutWriter<'a>>,
    n_open: usize,
    n_parts: usize,
}

impl<'a> PartsWriter<'a> {
    /// A writer of rows to score with these columns in an existing folder; the first `n_keys` are
    /// the key.
    ///
    /// `id` is the id of all rows.
    pub(crate) fn to_score(
        folder: &Path,
        (schema, n_keys): (&Schema, usize),
        id: &str,
        workers: &'a WorkerPool,
    ) -> Self {
        let mut fields: Vec<FieldRef> = schema.fields().to_vec();
        fields.insert(n_keys, Arc::new(Field::new(REQUEST, DataType::Utf8, false)));
        let request = Some((id.to_owned(), n_keys));
        let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
        PartsWriter { request, ..PartsWriter::new(folder, schema, workers) }
    }

    /// A writer of parts with these columns in an existing folder.
    pub(crate) fn new(folder: &Path, schema: Schema, workers: &'a WorkerPool) -> Self {
        PartsWriter {
            folder: folder.to_path_buf(),
            schema,
            request: None,
            workers,
            part_rows: PART_ROWS,
            open: None,
            n_open: 0,
            n_parts: 0,
        }
    }

    /// The current part, opened if necessary.
    fn part(&mut self) -> Result<&mut RecutWriter<'a>> {
        let open = match self.open.take() {
            Some(open) => open,
            None => {
                let path = self.folder.join(part_name(self.n_parts));
                self.n_parts += 1;
                let id = self.request.iter();
                let notes = id.map(|(id, _)| (REQUEST_NOTE, id.clone()));
                let about = self.schema.metadata().iter();
                let notes: Vec<(&str, String)> =
                    notes.chain(about.map(|(key, value)| (key.as_str(), value.clone()))).collect();
                RecutWriter::create(&path, self.schema.clone(), &notes, self.workers, GROUP_ROWS)?
            }
        };
        Ok(self.open.insert(open))
    }

    fn close(&mut self) -> Result<()> {
        self.n_open = 0;
        self.open.take().map_or(Ok(()), RecutWriter::finish)
    }

    /// Appends rows.
    ///
    /// # Errors
    /// A part cannot be written.
    pub(crate) fn push(&mut self, rows: &RecordBatch) -> Result<()> {
        let mut columns = rows.columns().to_vec();
        if let Some((id, n_keys)) = &self.request {
            let ids = std::iter::repeat_n(id.as_str(), rows.num_rows());
            columns.insert(*n_keys, Arc::new(StringArray::from_iter_values(ids)));
        }
        let batch = batch(self.schema.clone(), columns)?;
        let mut from = 0;
        while from < batch.num_rows() {
            if self.n_open == self.part_rows {
                self.close()?;
            }
            let n = (batch.num_rows() - from).min(self.part_rows - self.n_open);
            self.part()?.push(batch.slice(from, n))?;
            self.n_open += n;
            from += n;
        }
        Ok(())
    }

    /// Writes the remaining rows and returns the number of parts.
    ///
    /// # Errors
    /// A part cannot be written.
    pub(crate) fn finish(mut self) -> Result<usize> {
        if self.n_parts == 0 {
            self.part()?;
        }
        self.close()?;
        Ok(self.n_parts)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Array, AsArray, Int64Array, RecordBatch};
    use arrow::datatypes::{DataType, Field, Int64Type, Schema};

    use super::{
        PartsWriter, REQUEST, REQUEST_NOTE, RequestDigest, RequestRow, SentRows,
        counterfactual_hash, group_hashes, part_name, row_hash, rows_hash,
    };
    use crate::data::values::SourceValues;
    use crate::data::values::ValueClass;
    use crate::data::{
        Attribute, Feature, FeatureColumn, FeatureKind, FeatureRows, Layout, MISSING, RowIdKind,
    };
    use crate::exec::accumulator::Accumulator;
    use crate::exec::pieces::WorkerPool;
    use crate::table::file::{FileOwner, ParquetFile};

    fn numbers(from: i64, n: i64) -> RecordBatch {
        let schema = Schema::new(vec![Field::new("row_id", DataType::Int64, false)]);
        RecordBatch::try_new(
            Arc::new(schema),
            vec![Arc::new(Int64Array::from_iter_values(from..from + n))],
        )
        .unwrap()
    }

    #[test]
    fn parts_are_full_and_in_order_however_rows_arrive() {
        let workers = WorkerPool::new(2).unwrap();
        let write = |cuts: &[i64]| {
            let folder = tempfile::tempdir().unwrap();
            let schema = numbers(0, 0).schema().as_ref().clone();
            let mut writer = PartsWriter {
                part_rows: 10,
                ..PartsWriter::to_score(folder.path(), (&schema, 1), "the-id", &workers)
            };
            let mut from = 0;
            for &n in cuts {
                writer.push(&numbers(from, n)).unwrap();
                from += n;
            }
            let parts = writer.finish().unwrap();
            let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
            assert_eq!(names.len(), parts);
            (0..parts)
                .map(|part| std::fs::read(folder.path().join(part_name(part))).unwrap())
                .collect::<Vec<_>>()
        };
        let parts = write(&[25]);
        assert_eq!(parts.len(), 3);
        assert_eq!(write(&[3, 0, 7, 1, 14]), parts);
        assert_eq!(write(&[10, 10, 5]), parts);
        assert_eq!(write(&[20]).len(), 2, "a part is begun only when a row needs it");
        assert_eq!(write(&[]).len(), 1, "of no rows there is one empty part");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part");
        std::fs::write(&path, &parts[1]).unwrap();
        let file = ParquetFile::open(&path, FileOwner::Program).unwrap();
        assert_eq!(file.note(REQUEST_NOTE), Some("the-id"));
        assert!(
            file.read_group(0, Some(&[REQUEST]))
                .unwrap()
                .column(0)
                .as_string::<i32>()
                .iter()
                .all(|id| id == Some("the-id"))
        );
        assert_eq!(
            file.read_group(0, Some(&["row_id"]))
                .unwrap()
                .column(0)
                .as_primitive::<Int64Type>()
                .values(),
            &(10..20).collect::<Vec<_>>()[..]
        );
    }

    /// The id depends only on the rows: not on batches, on the order of the rows, on the positions
    /// of levels or on how whole numbers are stored, but on every name, key and value.
    #[test]
    fn an_id_is_that_of_the_rows() {
        /// Rows with a key, a number, a level of `sex` and a group.
        type Row = (u64, f64, u32, usize);
        const ROWS: [Row; 3] = [(1, -0.0, 0, 0), (2, 2.5, 1, 1), (3, f64::NAN, MISSING, 0)];
        let layout = |age: &str, class, levels: [&str; 2]| {
            let age = Feature::typed(age, FeatureKind::OrdinalNumber, &[], class);
            let sex = Feature::of("sex", FeatureKind::Sensitive, &levels);
            Layout { row_id: RowIdKind::Integer, ..Layout::of(vec![], vec![age, sex]) }
        };
        let sex = Attribute::of("sex", &["f", "m"], 1);
        let groups = group_hashes(&sex);
        let hash_of = |layout: &Layout, rows: &[Row], key: &dyn Fn(&Row) -> u64| {
            let columns = vec![
                FeatureColumn::Number(rows.iter().map(|row| row.1).collect()),
                FeatureColumn::Code(rows.iter().map(|row| row.2).collect()),
            ];
            rows_hash(layout, &FeatureRows::of(columns), |i| key(&rows[i]))
        };
        let own = |row: &Row| row_hash(row.0, groups[row.3]);
        let id = |layout: &Layout, rows: &[Row], key: &dyn Fn(&Row) -> u64| {
            let mut digest = RequestDigest::new(layout);
            digest.rows(&hash_of(layout, rows, key));
            digest.finish()
        };
        let plain = layout("age", ValueClass::Float, ["f", "m"]);
        let first = id(&plain, &ROWS, &own);
        // It is in files that wait for scores: an accidental change would refuse them.
        assert_eq!(first, "b03a714496d3980b91932b268cf8081700f22c90603e15852fa6bb711c6f41d8");
        let mut parts = hash_of(&plain, &ROWS[2..], &own);
        parts.merge(hash_of(&plain, &ROWS[..2], &own));
        let mut cut = RequestDigest::new(&plain);
        cut.rows(&parts);
        assert_eq!(cut.finish(), first, "in two parts, in another order");
        let swapped = ROWS.map(|(key, age, sex, group)| {
            (key, age, if sex == MISSING { sex } else { 1 - sex }, group)
        });
        for (layout, rows) in [
            (layout("age", ValueClass::Int, ["f", "m"]), ROWS),
            (layout("age", ValueClass::Float, ["m", "f"]), swapped),
            (plain.clone(), [(1, 0.0, 0, 0), ROWS[1], ROWS[2]]),
        ] {
            assert_eq!(id(&layout, &rows, &own), first, "{layout:?} {rows:?}");
        }
        for (layout, rows) in [
            (layout("years", ValueClass::Float, ["f", "m"]), ROWS),
            (layout("age", ValueClass::Float, ["f", "x"]), ROWS),
            (layout("age", ValueClass::Text, ["f", "m"]), ROWS),
            (plain.clone(), [(4, -0.0, 0, 0), ROWS[1], ROWS[2]]),
            (plain.clone(), [(1, 1.0, 0, 0), ROWS[1], ROWS[2]]),
            (plain.clone(), [(1, -0.0, 1, 0), ROWS[1], ROWS[2]]),
            (plain.clone(), [(1, -0.0, 0, 1), ROWS[1], ROWS[2]]),
            // The values of two rows change places.
            (plain.clone(), [(2, -0.0, 0, 0), (1, 2.5, 1, 1), ROWS[2]]),
        ] {
            assert_ne!(id(&layout, &rows, &own), first, "{layout:?} {rows:?}");
        }
        assert_ne!(id(&plain, &ROWS[..2], &own), first);
        let to = |group: usize, index: u16| {
            let groups = &groups;
            id(&plain, &ROWS, &move |row: &Row| {
                counterfactual_hash(row_hash(row.0, groups[row.3]), groups[group], index)
            })
        };
        let ids = [first, to(0, 0), to(1, 0), to(0, 1)];
        assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), ids.len());

        // What naive counterfactuals are is said, not counted.
        let naive = |layout: &Layout, attribute: &Attribute| {
            let mut digest = RequestDigest::new(layout);
            digest.rows(&hash_of(layout, &ROWS, &own));
            digest.every_other_group(layout, attribute);
            digest.finish()
        };
        let known = naive(&plain, &sex);
        assert!(!ids.contains(&known));
        let other = Attribute { groups: vec!["f".to_owned(), "x".to_owned()], ..sex.clone() };
        assert_ne!(naive(&plain, &other), known);
        let other = Attribute { level_of_group: vec![1, 0], ..sex.clone() };
        assert_ne!(naive(&plain, &other), known);
    }

    #[test]
    fn a_counterfactual_names_its_row_and_both_groups() {
        let feature = |name, levels: &[&str]| Feature::of(name, FeatureKind::Sensitive, levels);
        let layout = Layout {
            row_id: RowIdKind::Text,
            ..Layout::of(
                vec![
                    Attribute::of("sex", &["f", "m"], 0),
                    Attribute::of("area", &["town", "land"], 1),
                ],
                vec![feature("sex", &["f", "m"]), feature("area", &["town", "land"])],
            )
        };
        let rows = |sex: Vec<u32>, area: Vec<u32>| {
            FeatureRows::of(vec![FeatureColumn::Code(sex), FeatureColumn::Code(area)])
        };
        // Row 0 is f of the town, row 1 is m of the land; each in the other group, and row 1 once
        // more as it is.
        let (as_is, other_sex, other_area) = (
            rows(vec![0, 1], vec![0, 1]),
            rows(vec![1, 0], vec![0, 1]),
            rows(vec![0, 1], vec![1, 0]),
        );
        let asked = |row, attribute, to_group, source| RequestRow {
            row,
            attribute,
            to_group,
            cf_index: 0,
            source,
        };
        let asked = [
            asked(0, 0, 1, (1, 0)),
            asked(0, 1, 1, (2, 0)),
            asked(1, 0, 0, (1, 1)),
            asked(1, 0, 1, (0, 1)),
            asked(1, 1, 0, (2, 1)),
        ];
        let ids = SourceValues::Text(vec!["a", "b"].into());
        let groups = [vec![0, 1], vec![0, 1]];
        let parts = [&as_is, &other_sex, &other_area];
        let batch =
            SentRows::Counterfactual.batch(&layout, (&ids, &groups), &asked, &parts, None).unwrap();
        let names: Vec<&str> =
            batch.schema_ref().fields().iter().map(|f| f.name().as_str()).collect();
        assert_eq!(
            names,
            ["row_id", "sensitive", "from_group", "to_group", "cf_index", "sex", "area"]
        );
        let lines: Vec<String> = (0..batch.num_rows())
            .map(|i| {
                [0, 1, 2, 3, 5, 6]
                    .map(|c: usize| batch.column(c).as_string::<i32>().value(i))
                    .join(" ")
            })
            .collect();
        assert_eq!(
            lines,
            [
                "a sex f m m town",
                "a area town land f land",
                "b sex m f f land",
                "b sex m m m land",
                "b area land town m town"
            ]
        );
        assert!(
            batch.column(4).as_primitive::<Int64Type>().values().iter().all(|&i| i == 0)
                && batch.column(4).null_count() == 0
        );
    }
}
