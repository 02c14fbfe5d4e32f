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
//! and the hashes of `duplicates` where exact duplicates are dropped.

mod decision;
pub(crate) mod derive;
mod duplicates;
mod encode;
pub(crate) mod issues;
pub(crate) mod keep;
mod layout;
pub(crate) mod params;
mod plan;
pub(crate) mod row_id;
pub(crate) mod survey;
mod view;
pub(crate) mod weight;

use std::path::Path;

use crate::data::Layout;
use crate::data::prepare::encode::RowChunk;
use crate::data::prepare::issues::DataIssue;
use crate::data::prepare::layout::RowDescription;
use crate::data::prepare::params::{FilterStep, PrepareParams};
use crate::data::prepare::plan::PreparePlan;
use crate::data::prepare::row_id::KeyRun;
use crate::data::prepare::survey::{KeptSlice, SourceSurvey};
use crate::data::prepare::view::SourceView;
use crate::data::rows::RowsReader;
use crate::data::rows::stored::STORED;
use crate::data::source::ParquetSource;
use crate::data::source::recut::RecutWriter;
use crate::error::{Error, Result};
use crate::exec::files;
use crate::exec::pieces::{StageWatch, WorkerPool};

/// The results of preparing other than `rows.parquet` and `layout.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct PrepareFindings {
    /// The meaning of the columns.
    pub layout: Layout,
    /// Each step that can lose rows, in order.
    pub filters: Vec<FilterStep>,
    /// Problems that did not stop the run.
    pub issues: Vec<DataIssue>,
}

/// Writes `rows.parquet` in row groups of `batch_rows`, `codes.json` and `layout.json` to
/// `out_dir`.
///
/// Each source row is reported to `watch` once per pass: [`PrepareParams::passes`] times.
///
/// # Errors
/// A key that a side table must have and lacks; a word of the job that no value can match; values
/// that do not fit their column's kind, or their one-hot group; too many levels; no rows left; a
/// group or label value that never occurs; a row id that is missing or occurs twice; an invalid
/// weight; a file cannot be written.
pub(crate) fn prepare(
    source: &ParquetSource,
    params: &PrepareParams,
    out_dir: &Path,
    batch_rows: usize,
    workers: &WorkerPool,
    watch: StageWatch<'_>,
) -> Result<PrepareFindings> {
    let view = SourceView::new(source, params)?;
    let mut plan = PreparePlan::new(&view, params)?;
    if let Some(compared) = &params.drop_duplicates {
        plan.repeated =
            Some(duplicates::find_duplicates(&plan, compared, batch_rows, workers, watch)?);
    }
    let plan = plan;
    let mut survey = SourceSurvey::empty(&plan);
    let mut keys = KeyRun::default();
    let rows_path = out_dir.join("rows.parquet");
    let mut rows = RecutWriter::create(&rows_path, encode::schema(&plan), workers, batch_rows)?;
    let pieces = source.pieces();
    let look = |i: usize| {
        let (mut seen, mut chunks) = (SourceSurvey::empty(&plan), Vec::new());
        view.read(&pieces[i], batch_rows, |slice| {
            (watch.check)()?;
            let slice = KeptSlice::new(&plan, slice)?;
            let codes = seen.add(&plan, &slice)?;
            chunks.push(RowChunk::new(&plan, &slice, codes));
            Ok(())
        })?;
        Ok::<_, Error>((seen, chunks))
    };
    workers.map(pieces.len(), look, |i, (seen, chunks)| {
        let codes = survey.merge_coded(&seen);
        survey.check_levels(&plan)?;
        for mut chunk in chunks {
            chunk.recode(&codes);
            keys.append(chunk.keys);
            rows.push(chunk)?;
        }
        (watch.progress)(pieces[i].rows() as u64);
        Ok(())
    })?;
    survey.check_keys(&plan)?;
    let filters = survey.filters(&plan)?;
    let RowDescription { mut layout, stored, issues } = RowDescription::new(&plan, &survey)?;
    rows.finish()?;
    files::write_json(&out_dir.join(STORED), &stored)?;
    files::write_json(&out_dir.join("layout.json"), &layout)?;
    if layout.person.is_some() {
        let persons = row_id::count_persons(&RowsReader::open(out_dir)?, watch)?;
        layout.person.iter_mut().for_each(|person| person.persons = persons);
        files::write_json(&out_dir.join("layout.json"), &layout)?;
    }
    if let Some(column) = params.row_id.as_ref().filter(|_| !keys.rises()) {
        row_id::check_unique(&RowsReader::open(out_dir)?, column.as_str(), source, watch)?;
    }
    Ok(PrepareFindings { layout, filters, issues })
}
