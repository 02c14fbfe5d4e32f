//! Turns source rows into `rows.parquet` and its description.
//!
//! It filters, checks kinds, codes levels, and finds groups and labels. Two passes over the source.
//! The first ([`SourceSurvey`]) counts what each filter loses and which values occur, and fails on
//! values that no later stage could handle; the levels, the groups and the label follow from it
//! ([`RowEncoder`]). The second writes numbers. Rows of an undeclared group, of no group or without
//! a label are kept; they are counted as issues.
//!
//! Choice: levels are declared ones in their order, then others in byte order of their words (`10`
//! before `2`). A column that is both sensitive and a feature is the sensitive one; derived and
//! listed as ordinal it keeps its order. Memory: the pieces in work, the levels of coded columns,
//! and the hashes of `duplicates` where exact duplicates are dropped.

pub mod derive;
mod duplicates;
mod encode;
pub mod issues;
pub mod keep;
pub mod params;
mod plan;
pub mod row_id;
mod survey;
mod view;
pub mod weight;

use std::path::Path;

use crate::data::Layout;
use crate::data::prepare::encode::RowEncoder;
use crate::data::prepare::issues::DataIssue;
use crate::data::prepare::params::{FilterStep, PrepareParams};
use crate::data::prepare::plan::PreparePlan;
use crate::data::prepare::survey::SourceSurvey;
use crate::data::prepare::view::SourceView;
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

/// Writes `rows.parquet` in row groups of `batch_rows` and `layout.json` to `out_dir`.
///
/// Each source row is reported to `watch` once per pass: [`PrepareParams::passes`] times.
///
/// # Errors
/// A word of the job that no value can match; values that do not fit their column's kind, or their
/// one-hot group; too many levels; no rows left; a group or label value that never occurs; a row id
/// that is missing or occurs twice; an invalid weight; a file cannot be written.
pub fn prepare(
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
    let pieces = source.pieces();
    let look = |i: usize| {
        let mut seen = SourceSurvey::empty(&plan);
        view.read(&pieces[i], batch_rows, |slice| {
            (watch.check)()?;
            seen.add(&plan, &slice)
        })?;
        Ok::<_, Error>(seen)
    };
    workers.map(pieces.len(), look, |i, seen| {
        survey.merge(&plan, seen)?;
        (watch.progress)(pieces[i].rows() as u64);
        Ok(())
    })?;
    let filters = survey.filters(&plan)?;
    let (encoding, issues) = RowEncoder::new(&plan, &survey)?;

    let rows_path = out_dir.join("rows.parquet");
    let mut rows = RecutWriter::create(&rows_path, encoding.schema(), workers, batch_rows)?;
    let encode = |i: usize| {
        let mut batches = Vec::new();
        view.read(&pieces[i], batch_rows, |slice| {
            (watch.check)()?;
            batches.push(encoding.batch(&plan, &slice)?);
            Ok(())
        })?;
        Ok::<_, Error>(batches)
    };
    workers.map(pieces.len(), encode, |i, batches| {
        batches.into_iter().try_for_each(|batch| rows.push(batch))?;
        (watch.progress)(pieces[i].rows() as u64);
        Ok(())
    })?;
    rows.finish()?;
    let layout = encoding.into_layout();
    if let Some(column) = &params.row_id {
        row_id::check_unique(&rows_path, column.as_str(), source, watch)?;
    }
    files::write_json(&out_dir.join("layout.json"), &layout)?;
    Ok(PrepareFindings { layout, filters, issues })
}
