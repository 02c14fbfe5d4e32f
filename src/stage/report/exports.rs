//! Results in the formats of others, written next to the page.

use crate::error::Result;
use crate::exec::files;
use crate::folder::manifest::Manifest;
use crate::folder::read;
use crate::job::blocks::gates::OnInconclusive;
use crate::job::{ExportFormat, Job, PrometheusBlock};
use crate::report::{export, model_card};
use crate::stage::report::headline::{HEADLINE, is_headline};
use crate::table::file::read_rows;
use crate::table::{GateRow, MetricRow, MetricTable};
use std::path::Path;

/// A folder whose manifest may not be written yet in the form of another tool.
///
/// # Errors
/// A table cannot be read.
pub(crate) fn export_text(
    folder: &Path,
    form: &ExportFormat,
    manifest: &Manifest,
    inconclusive_fails: bool,
) -> Result<String> {
    let tables = folder.join("tables");
    let (metrics, gates) = (MetricTable::read(&tables)?.all, read_rows::<GateRow>(&tables)?);
    let summary = &read::read_summary(folder)?;
    let audit = export::ExportedAudit {
        manifest,
        summary,
        metrics: &metrics,
        gates: &gates,
        inconclusive_fails,
    };
    Ok(match form {
        ExportFormat::Junit => export::junit(&audit),
        ExportFormat::Prometheus(PrometheusBlock { metrics, gates }) => {
            let takes = |row: &MetricRow| match metrics {
                Some(metrics) => metrics.iter().any(|metric| row.metric.as_str() == metric),
                None => HEADLINE.iter().any(|wanted| is_headline(row, *wanted)),
            };
            export::prometheus(&audit, takes, *gates)
        }
        ExportFormat::ModelCard => model_card::model_card(&audit),
    })
}

/// The name of a form's file in `exports/`.
pub(crate) fn export_file(form: &ExportFormat) -> &'static str {
    match form {
        ExportFormat::Junit => "junit.xml",
        ExportFormat::Prometheus(_) => "cfaudit.prom",
        ExportFormat::ModelCard => "model-card.json",
    }
}

/// Writes the forms that a job asks for into `exports/` of a folder whose tables and summary are
/// there.
///
/// # Errors
/// A table cannot be read, or the disk refuses.
pub(crate) fn write_exports(folder: &Path, job: &Job, manifest: &Manifest) -> Result<()> {
    for form in &job.exports {
        files::make_folder(&folder.join("exports"))?;
        let text =
            export_text(folder, form, manifest, job.on_inconclusive == OnInconclusive::Fail)?;
        files::write(&folder.join("exports").join(export_file(form)), &text)?;
    }
    Ok(())
}
