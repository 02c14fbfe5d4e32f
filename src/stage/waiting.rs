//! A run that waits for scores: it writes the rows to score, and a folder that says what is
//! awaited.
//!
//! | kind | id | what it writes |
//! | --- | --- | --- |
//! | score | `to-score` | `factual/` and `<set>/` with `part-*.parquet`, and what was asked |
//! | report | `report` | the output folder: page, `to-score/`, tables of the rows and of what is measured |
//!
//! Whether to wait is known when the stages are planned, so no result ever depends on a file that
//! is not there. All sets are generated, and those whose scores are awaited are written out. What
//! the available scores allow is measured and judged; the page, the summary and the status say that
//! the rest is awaited, and every gate that needs it is inconclusive.
//!
//! Where the job names a place for them (`run.to_score`), the rows to score are put there, on a
//! disk or in an object store, before the output folder is published, and not into that folder.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data::FeatureRows;
use crate::data::exchange::row_stream::RowSink;
use crate::data::exchange::to_score::{
    PartsWriter, REQUEST, RequestRow, RowsBatch, SentRows, part_name,
};
use crate::data::rows::Projection;
use crate::error::Result;
use crate::exec::StageRecord;
use crate::exec::cancel::CancelFlag;
use crate::exec::files::{self, make_folder, write_json};
use crate::exec::replaced_file::FileAccess;
use crate::exec::shared_folder::SharedFolder;
use crate::folder::manifest::AwaitedScores;
use crate::job::Job;
use crate::stage::input::answer::{awaits_files, folder_of};
use crate::stage::input::request::{
    RequestSource, RowsToScore, recheck_inputs, request_sources, request_unit,
};
use crate::stage::input::score_files::AwaitedFile;
use crate::stage::kinds::{GenerateStage, RequestStage, ToScoreStage};
use crate::stage::plan::StagePlan;
use crate::stage::report;
use crate::stage::report::inputs::{MeasuredParts, OriginInputs};
use crate::stage::row_context::RowContext;
use crate::stage::row_inputs::RowInputs;
use crate::stage::row_parts::{link_parts, write_lists};
use crate::stage::score::join::audited_rows;
use crate::stage::stage_builder::{Planned, Stage, StageBuilder};
use crate::unit::{AuditUnit, UnitKind};

/// What was asked, in addition to the parts.
const REQUESTS: &str = "requests.json";

/// The file of a request that says that all of its rows are there: the last one to be written.
const ALL_THERE: &str = "_SUCCESS";

/// Digits of the id of a request in the name of its folder.
const DIGITS: usize = 12;

/// The rows to score of one set, or the rows as they are.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct WrittenRequest {
    /// The folder, called like the set.
    folder: String,
    /// The id of the rows.
    request: String,
    parts: usize,
}

/// The folder of the rows to score of a request below `run.to_score`: one for each request, so that
/// parts of another one are never among them.
fn folder_of_request(folder: &str, request: &str) -> String {
    format!("{folder}/{}", request.chars().take(DIGITS).collect::<String>())
}

/// Puts the rows to score where the job wants them, unless they are there.
///
/// # Errors
/// The disk or the store refuses.
pub(crate) fn hand_out(stages: &[StageRecord], job: &Job, cancel: &CancelFlag) -> Result<()> {
    let stage = stages.iter().find(|stage| stage.id == UnitKind::ToScore.word());
    let (Some(place), Some(stage)) = (&job.run.to_score, stage) else { return Ok(()) };
    let place = SharedFolder::new(Path::new(place), cancel)?;
    let written: Vec<WrittenRequest> = files::read_json(&stage.folder.join(REQUESTS), &stage.id)?;
    for of in &written {
        let to = folder_of_request(&of.folder, &of.request);
        let last = format!("{to}/{ALL_THERE}");
        let text = format!("{}\n", json!({"request": of.request, "parts": of.parts}));
        if place.read(&last)?.is_some_and(|there| there == text.as_bytes()) {
            continue;
        }
        for part in (0..of.parts).map(part_name) {
            cancel.check()?;
            let from = stage.folder.join(&of.folder).join(&part);
            place.put(&format!("{to}/{part}"), &from, FileAccess::Umask)?;
        }
        place.write(&last, text.into_bytes())?;
    }
    Ok(())
}

impl StagePlan<'_> {
    fn awaits(&self, set: Option<&str>) -> bool {
        self.input.awaited.iter().any(|a| a.set.as_deref() == set)
    }
}

impl Stage for ToScoreStage {
    fn plan<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let rows = RowInputs::of_job(b)?;
        recheck_inputs(b);
        let mut sets: Vec<&'a str> =
            plan.applied_sets().iter().map(|applied| applied.set).collect();
        sets.dedup();
        let mut asked = Vec::new();
        let factual = plan.awaits(None).then_some(None);
        for set in factual.into_iter().chain(sets.into_iter().map(Some)) {
            if set.is_some() && !plan.awaits(set) {
                continue;
            }
            let sources = set.map(|set| request_sources(b, set)).transpose()?;
            asked.push((folder_of(set), b.need::<RequestStage>(&request_unit(set))?, sources));
        }
        let passes = b.passes();
        rows.work(asked.len() as u64, move |ctx, row_context| {
            let opened = asked.iter().map(|(.., sources)| {
                sources.as_ref().map(|sources| sources(row_context)).transpose()
            });
            let opened: Vec<Option<Vec<RequestSource>>> = opened.collect::<Result<_>>()?;
            let part =
                |list: usize, g: usize| request_part(row_context, opened[list].as_deref(), g);
            let schema = |list: usize| {
                let sent = sent_rows(opened[list].as_deref());
                (sent.schema(row_context.rows.layout()), sent.n_keys())
            };
            let writer = |list: usize| {
                let ((folder, request, _), (schema, n_keys)) = (&asked[list], schema(list));
                let (id, to) = (request.open(ctx)?.id, ctx.out().join(folder));
                make_folder(&to)?;
                Ok(PartsWriter::to_score(&to, (&schema, n_keys), &id, row_context.workers))
            };
            let create = |list: usize, path: &Path| RowSink::file(path, &schema(list).0);
            let of = (passes, row_context);
            let Some(parts) = write_lists(of, asked.len(), create, writer, part)? else {
                return Ok(());
            };
            let mut written = Vec::new();
            for ((folder, request, _), parts) in asked.iter().zip(parts) {
                let (folder, request) = (folder.clone(), request.open(ctx)?.id);
                written.push(WrittenRequest { folder, request, parts });
            }
            write_json(&ctx.out().join(REQUESTS), &written)
        })
    }
}

/// The output folder of a run that waits: page, `to-score/`, tables of the rows and of what can be
/// measured. All sets are generated, also those whose scores are there.
pub(crate) fn plan_report<'a>(b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
    let plan = b.plan;
    let origins = OriginInputs::need(b)?;
    let to_score = b.need::<ToScoreStage>(&AuditUnit::default())?;
    // Where no model has scores of the rows as they are, there is nothing to measure.
    let has_scores = plan.job.models.keys().any(|name| !plan.input.awaits(name.as_str(), None));
    let measured = has_scores.then(|| MeasuredParts::need(b)).transpose()?;
    b.value("awaited", &plan.input.awaited);
    let place = plan.job.run.to_score.as_deref();
    b.value("to_score", &place);
    let awaited = plan.input.awaited.iter();
    let asked = awaited.map(|file| (file, request_unit(file.set.as_deref())));
    let asked = b.need_each::<RequestStage, _>(asked)?;
    let awaits = awaits_files(plan.job);
    if awaits.0 {
        b.also::<RequestStage>(&request_unit(None))?;
    }
    for applied in plan.applied_sets() {
        b.also::<GenerateStage>(&applied.unit())?;
        if awaits.1 {
            b.also::<RequestStage>(&request_unit(Some(applied.set)))?;
        }
    }
    origins.work(move |ctx, origins| {
        let requests: Vec<WrittenRequest> = to_score.read(ctx, REQUESTS)?;
        // Elsewhere they are put after the last stage.
        for request in requests.iter().filter(|_| place.is_none()) {
            let to = ctx.out().join("to-score").join(&request.folder);
            link_parts(&to_score.folder(ctx).join(&request.folder), request.parts, &to)?;
        }
        let awaited =
            asked.iter().map(|(file, request)| awaited_scores(file, request.open(ctx)?, place));
        report::assemble_waiting(ctx, origins, awaited.collect::<Result<_>>()?, measured.as_ref())
    })
}

fn awaited_scores(
    awaited: &AwaitedFile,
    asked: RowsToScore,
    place: Option<&str>,
) -> Result<AwaitedScores> {
    let folder = folder_of(awaited.set.as_deref());
    let to_score = match place {
        None => format!("to-score/{folder}"),
        Some(place) => {
            let below = folder_of_request(&folder, &asked.id);
            format!("{}/{below}", place.trim_end_matches('/'))
        }
    };
    let key: &[&str] = if awaited.set.is_some() {
        &["row_id", "sensitive", "to_group", "cf_index"]
    } else {
        &["row_id"]
    };
    Ok(AwaitedScores {
        model: awaited.model.clone(),
        counterfactual: awaited.set.clone().unwrap_or_default(),
        path: awaited.path.clone(),
        columns: key
            .iter()
            .copied()
            .chain([REQUEST])
            .map(str::to_owned)
            .chain(awaited.columns.iter().cloned())
            .collect(),
        to_score,
        request: asked.id,
        rows: asked.rows,
        again: asked.again,
    })
}

/// What is asked of a set; of the rows as they are without one.
fn sent_rows(sources: Option<&[RequestSource]>) -> SentRows {
    if sources.is_some() { SentRows::Counterfactual } else { SentRows::Factual }
}

/// The audited rows of a row group; of a set its counterfactuals over all attributes, and the rows
/// that are asked for again.
fn request_part(
    row_context: RowContext<'_>,
    sources: Option<&[RequestSource]>,
    g: usize,
) -> Result<RowsBatch> {
    let layout = row_context.rows.layout();
    let (batch, ids, roles) = (
        row_context.rows.read(g, Projection::PEOPLE)?,
        row_context.rows.read_ids(g)?,
        row_context.roles.read(g)?,
    );
    let mut asked: Vec<RequestRow> = Vec::new();
    if sources.is_none() {
        asked.extend(audited_rows(&roles));
    }
    // Part 0 holds the rows as they are.
    let mut generated: Vec<FeatureRows> = Vec::new();
    for source in sources.into_iter().flatten() {
        let (keys, rows) = source.counterfactuals.rows(g, layout)?;
        generated.push(rows);
        let attribute = source.attribute;
        asked.extend(RequestRow::of_keys(&keys, attribute, generated.len()));
        if let Some(again) = &source.recheck {
            asked.extend(again.asked(&batch, &roles, attribute));
        }
    }
    asked.sort_unstable();
    let rows: Vec<&FeatureRows> = std::iter::once(&batch.rows).chain(&generated).collect();
    sent_rows(sources).batch(layout, (&ids, &batch.groups), &asked, &rows, None)
}
