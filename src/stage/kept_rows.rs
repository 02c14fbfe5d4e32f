//! The stage `kept`: the counterfactuals of a set in the user's own ids and values.
//!
//! | kind | id | what it writes |
//! | --- | --- | --- |
//! | generate | `kept/set=SET` | `part-*.parquet`: key, `valid`, `changed`, features, over all attributes of the set |
//!
//! The rows look like those of the stage `to-score`, without a request and with the counterfactuals
//! that are not valid. A set of causal graphs with `levels: expected` makes numbers and not rows,
//! so it has none.

use serde::{Deserialize, Serialize};

use crate::data::exchange::row_stream::RowSink;
use crate::data::exchange::to_score::{PartsWriter, RequestRow, RowsBatch, SentRows, changes};
use crate::data::rows::Projection;
use crate::data::rows::aligned::CounterfactualReader;
use crate::error::Result;
use crate::exec::files::write_json;
use crate::stage::generate::made_of_set;
use crate::stage::input::answer::folder_of;
use crate::stage::kinds::KeptRowsStage;
use crate::stage::row_context::RowContext;
use crate::stage::row_inputs::RowInputs;
use crate::stage::row_parts::{link_parts, write_lists};
use crate::stage::stage_builder::{Opens, Planned, Stage, StageBuilder};
use crate::unit::AuditUnit;

/// How many parts there are.
const PARTS: &str = "parts.json";

/// The folder below the output folder.
pub(crate) const KEPT: &str = "rows/counterfactuals";

/// How many parts hold the rows of a set.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct KeptParts {
    parts: usize,
}

/// Puts the rows of all sets that make any into the output folder; none where the job keeps none.
pub(crate) fn kept_rows<'a>(b: &mut StageBuilder<'_, 'a>) -> Result<Opens<'a, ()>> {
    let plan = b.plan;
    let mut sets: Vec<&'a str> = Vec::new();
    if plan.job.run.keeps_counterfactuals() {
        let applied_sets =
            plan.applied_sets().into_iter().filter(|applied| !applied.block.makes_no_rows());
        sets.extend(applied_sets.map(|applied| applied.set));
        sets.dedup();
    }
    let unit = |set: &str| AuditUnit { set: set.to_owned(), ..AuditUnit::default() };
    let kept = b.need_each::<KeptRowsStage, _>(sets.into_iter().map(|set| (set, unit(set))))?;
    Ok(Box::new(move |ctx| {
        kept.iter().try_for_each(|(set, stage)| {
            let KeptParts { parts } = stage.read(ctx, PARTS)?;
            let to = ctx.out().join(KEPT).join(folder_of(Some(set)));
            link_parts(stage.folder(ctx), parts, &to)
        })
    }))
}

impl Stage for KeptRowsStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let rows = RowInputs::of_job(b)?;
        let made = made_of_set(b, &unit.set)?;
        let passes = b.passes();
        rows.work(1, move |ctx, row_context| {
            let opened = made(row_context)?;
            let schema = SentRows::Kept.schema(row_context.rows.layout());
            let written = write_lists(
                (passes, row_context),
                1,
                |_, path| RowSink::file(path, &schema),
                |_| Ok(PartsWriter::new(ctx.out(), schema.clone(), row_context.workers)),
                |_, g| kept_part(row_context, &opened, g),
            )?;
            let mut written = written.into_iter().flatten();
            written.try_for_each(|parts| write_json(&ctx.out().join(PARTS), &KeptParts { parts }))
        })
    }
}

/// All counterfactuals of a row group over the attributes of a set.
fn kept_part(
    row_context: RowContext<'_>,
    made: &[(usize, CounterfactualReader)],
    g: usize,
) -> Result<RowsBatch> {
    let layout = row_context.rows.layout();
    let (batch, ids) = (row_context.rows.read(g, Projection::ALL)?, row_context.rows.read_ids(g)?);
    let (mut applied_sets, mut verdicts, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for (part, (attribute, reader)) in made.iter().enumerate() {
        let (keys, valid, rows) = reader.all(g, layout)?;
        kept.extend(RequestRow::of_keys(&keys, *attribute, part));
        applied_sets.push(rows);
        verdicts.push(valid);
    }
    kept.sort_unstable();
    let of = |row: &RequestRow| {
        let (part, k) = row.source;
        (verdicts[part][k], changes(layout, (&batch.rows, row.row), (&applied_sets[part], k)))
    };
    let said = Some(kept.iter().map(of).unzip());
    let rows: Vec<_> = applied_sets.iter().collect();
    SentRows::Kept.batch(layout, (&ids, &batch.groups), &kept, &rows, said)
}
