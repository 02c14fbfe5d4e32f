//! Turns source rows into `rows.parquet` and its description.
//!
//! It filters, checks kinds, codes levels, and finds groups and labels, all in one pass over the
//! source. [`SourceSurvey`] counts what each filter loses and which values occur, and fails on
//! values that no later stage could handle; the rows are written with the codes of their words in
//! the order in which these occur. The levels, the groups and the label follow at the end
//! ([`RowDescription`]), with a table of what each code means. Rows of an undeclared group, of no
//! group or without a label are kept; they are counted as issues.
//!
//! Choice: levels are declared ones in their order, then others in byte order of their words (`10`
//! before `2`). A column that is both sensitive and a feature is the sensitive one; derived and
//! listed as ordinal it keeps its order. Memory: the pieces in work, the levels of coded columns,
//! and the numbers of repeated rows where exact duplicates are dropped.

pub(crate) mod derive;
mod duplicates;
mod encode;
mod groups;
pub(crate) mod keep_filters;
mod label;
mod layout;
pub(crate) mod left_out;
mod levels;
mod missing_words;
pub(crate) mod params;
mod plan;
mod remaining_rows;
mod repeated;
pub(crate) mod row_id;
pub(crate) mod source_words;
pub(crate) mod survey;
pub(crate) mod tally;
pub(crate) mod view;
mod view_issues;
pub(crate) mod weight;

use std::path::{Path, PathBuf};

use crate::data::prepare::duplicates::find_duplicates;
use crate::data::prepare::encode::RowChunk;
use crate::data::prepare::layout::RowDescription;
use crate::data::prepare::left_out::CountedGroup;
use crate::data::prepare::params::PrepareParams;
use crate::data::prepare::plan::PreparePlan;
use crate::data::prepare::remaining_rows::KeptSlice;
use crate::data::prepare::row_id::IdRun;
use crate::data::prepare::survey::{SourceSurvey, SurveyedRange, SurveyedRows};
use crate::data::prepare::tally::LeftOut;
use crate::data::prepare::view::SourceView;
use crate::data::rows::RowsReader;
use crate::data::rows::stored::STORED;
use crate::data::source::ParquetSource;
use crate::data::source::recut::RecutWriter;
use crate::data::{Layout, RowIdKind};
use crate::error::{Error, Result};
use crate::exec::buckets::MOST_WAITING;
use crate::exec::files;
use crate::exec::pieces::RowBatching;
use crate::table::{FilterRow, IssueRow};

/// The temporary file of rows among which duplicates are looked for.
const SEEN: &str = "seen.tmp";

/// The results of preparing other than `rows.parquet` and `layout.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct PrepareFindings {
    /// The meaning of the columns.
    pub layout: Layout,
    /// The source, and each step that can lose rows, in order.
    pub filters: Vec<FilterRow>,
    /// Problems that did not stop the run.
    pub issues: Vec<IssueRow>,
    /// The rows that are left out, by state and attribute, with their groups.
    pub(crate) left_out: Vec<(LeftOut, String, Vec<CountedGroup>)>,
}

/// Which of the surveyed rows are in the folder.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowsHere<'a> {
    /// All of them.
    All,
    /// Those of a shard, whose words are numbered as they come in it.
    Shard(&'a SurveyedRows),
    /// None: they are in shards.
    None,
}

/// Rows that are being prepared: first gathered, of the whole source or of a shard, then described
/// by the survey of all.
pub(crate) struct Preparation<'p> {
    plan: PreparePlan<'p>,
    batching: RowBatching<'p>,
}

impl<'p> Preparation<'p> {
    /// Makes ready to write row groups; `scratch` is a folder for temporary files.
    ///
    /// # Errors
    /// A word of the job that no value can match; the source cannot be read.
    pub(crate) fn new(
        view: &'p SourceView<'p>,
        params: &'p PrepareParams,
        batching: RowBatching<'p>,
        scratch: &Path,
    ) -> Result<Self> {
        let mut plan = PreparePlan::new(view, params)?;
        if let Some(compared) = &params.drop_duplicates {
            let file = (scratch.join(SEEN), MOST_WAITING);
            plan.repeated = Some(find_duplicates(&plan, compared, batching, file)?);
        }
        Ok(Preparation { plan, batching })
    }

    /// Surveys the rows, and writes them to `rows.parquet` of a folder, if one is named.
    ///
    /// # Errors
    /// Values that do not fit their column's kind, or their one-hot group; too many levels; a row
    /// id that is missing; an invalid weight; a file cannot be written.
    pub(crate) fn gather(&self, out_dir: Option<&Path>) -> Result<SurveyedRows> {
        let (plan, source) = (&self.plan, self.plan.view.source);
        let RowBatching { batch_rows, workers, watch } = self.batching;
        let mut survey = SourceSurvey::empty(plan);
        let (mut ids, mut drawn) = (IdRun::default(), 0);
        let writer = |dir: &Path| {
            RecutWriter::create(&rows_file(dir), encode::schema(plan), &[], workers, batch_rows)
        };
        let mut rows = out_dir.map(writer).transpose()?;
        let pieces = source.pieces();
        let look = |i: usize| {
            let (mut seen, mut chunks) = (SourceSurvey::empty(plan), Vec::new());
            plan.view.read(&pieces[i], batch_rows, |slice| {
                (watch.check)()?;
                let slice = KeptSlice::new(plan, slice)?;
                let codes = seen.add(plan, &slice)?;
                chunks.push(RowChunk::new(plan, &slice, codes));
                Ok(())
            })?;
            Ok::<_, Error>((seen, chunks))
        };
        workers.map(pieces.len(), look, |i, (seen, chunks)| {
            let codes = survey.merge_coded(&seen);
            survey.check_levels(plan)?;
            for mut chunk in chunks {
                ids.append(std::mem::take(&mut chunk.ids));
                drawn += chunk.drawn;
                if let Some(rows) = &mut rows {
                    let n = chunk.n;
                    rows.push_columns(chunk.columns(&codes), n)?;
                }
            }
            (watch.progress)(pieces[i].rows as u64);
            Ok(())
        })?;
        rows.map_or(Ok(()), RecutWriter::finish)?;
        let (first_row, rows) = (source.first_row(), source.n_rows());
        let roles = survey.role_counts(plan, drawn);
        Ok(SurveyedRows::new(survey, SurveyedRange { first_row, rows, roles, ids }))
    }

    /// Writes what the rows mean, `codes.json` and `layout.json`, from the survey of all rows.
    ///
    /// # Errors
    /// A key that a side table must have and lacks; too many levels; no rows left; a group or label
    /// value that never occurs; a row id that occurs twice, or of shards may; a file cannot be
    /// written.
    pub(crate) fn finish(
        &self,
        all: &SurveyedRows,
        here: RowsHere<'_>,
        out_dir: &Path,
    ) -> Result<PrepareFindings> {
        let plan = &self.plan;
        let RowBatching { batch_rows, workers, watch } = self.batching;
        all.survey.check_levels(plan)?;
        all.survey.check_keys(plan)?;
        let filters = all.survey.filters(plan)?;
        let own = if let RowsHere::Shard(own) = here { own } else { all };
        let RowDescription { mut layout, mut stored, issues } =
            RowDescription::new(plan, &all.survey, &own.survey)?;
        stored.first_row = own.first_row();
        stored.is_shard = matches!(here, RowsHere::Shard(_));
        stored.roles = all.roles();
        if let RowsHere::None = here {
            stored.elsewhere = true;
            let (schema, file) = (encode::schema(plan), rows_file(out_dir));
            RecutWriter::create(&file, schema, &[], workers, batch_rows)?.finish()?;
        }
        files::write_json(&out_dir.join(STORED), &stored)?;
        files::write_json(&out_dir.join("layout.json"), &layout)?;
        if layout.person.is_some() {
            let (rows, run) = (RowsReader::open(out_dir)?, (workers, watch));
            let persons = row_id::count_persons(&rows, out_dir, run)?;
            layout.person.iter_mut().for_each(|person| person.persons = persons);
            files::write_json(&out_dir.join("layout.json"), &layout)?;
        }
        let by_key = plan.params.joins_by_key && layout.row_id == RowIdKind::Text;
        let compares = !all.ids_rise() || by_key && matches!(here, RowsHere::All);
        if let Some(column) = plan.params.row_id.as_ref().filter(|_| compares) {
            let (source, column) = (plan.view.source, column.as_str());
            match here {
                RowsHere::All => {
                    let rows = RowsReader::open(out_dir)?;
                    row_id::check_unique(
                        &rows,
                        column,
                        source,
                        (out_dir, by_key),
                        (workers, watch),
                    )?;
                }
                RowsHere::Shard(_) | RowsHere::None => {
                    return Err(row_id::unsorted_fault(column).into());
                }
            }
        }
        Ok(PrepareFindings {
            layout,
            filters,
            issues,
            left_out: all.survey.rows.left_out.groups(plan),
        })
    }
}

/// The file of prepared rows in a folder.
pub(crate) fn rows_file(folder: &Path) -> PathBuf {
    folder.join("rows.parquet")
}

/// Prepares all rows of a source: `rows.parquet`, `codes.json` and `layout.json` in `out_dir`.
///
/// Each source row is reported once per pass: [`PrepareParams::passes`] times.
///
/// # Errors
/// Those of [`Preparation`].
pub(crate) fn prepare(
    source: &ParquetSource,
    params: &PrepareParams,
    out_dir: &Path,
    batching: RowBatching<'_>,
) -> Result<PrepareFindings> {
    let view = SourceView::new(source, params)?;
    let preparation = Preparation::new(&view, params, batching, out_dir)?;
    let all = preparation.gather(Some(out_dir))?;
    preparation.finish(&all, RowsHere::All, out_dir)
}
