//! Counterfactuals that somebody else made: the file of a set, read and compared with the rows.
//!
//! Everybody who is audited has at least one counterfactual in every other group, and every row of
//! the file belongs to somebody of the data: what is missing would be missing from every number,
//! and a row of nobody shows that the file was made of other rows.

use std::path::Path;
use std::sync::Arc;

use crate::counterfactual::engine::FittedKnobs;
use crate::counterfactual::write_back::features_set_with;
use crate::data::MISSING_GROUP;
use crate::data::exchange::external::{ExternalRows, ExternalRules};
use crate::data::exchange::keyed::KeyedFile;
use crate::data::prepare::params::MissingRule;
use crate::error::{Error, Fault, Result};
use crate::exec::misfit;
use crate::folder::manifest::InputFile;
use crate::job::Job;
use crate::stage::applied_set::AppliedSet;
use crate::stage::generate::basis::RowClasses;
use crate::stage::memory;
use crate::stage::plan::StagePlan;
use crate::stage::row_context::RowContext;
use crate::stage::stage_builder::StageBuilder;

impl<'a> StagePlan<'a> {
    /// The file of a set whose counterfactuals somebody else made.
    pub(crate) fn external_file(&self, applied: &AppliedSet<'a>) -> Result<Option<&'a InputFile>> {
        let named = applied.block.knobs().and_then(FittedKnobs::external_file);
        let file = |_| {
            let found = self.input.external_of(applied.set);
            found.ok_or_else(|| misfit(format!("nobody looked for the rows of `{}`", applied.set)))
        };
        named.map(file).transpose()
    }

    /// The counterfactuals of a set that somebody else made, once they were found to fit the rows.
    pub(crate) fn external_rows(
        &self,
        row_context: RowContext<'_>,
        (applied, file): (&AppliedSet<'a>, &Path),
        (classes, needs_class): (&RowClasses, bool),
    ) -> Result<Arc<ExternalRows>> {
        let layout = row_context.rows.layout();
        let of = &layout.attributes[applied.position];
        let file = KeyedFile::open_rows(file, layout.row_id, of, &layout.attributes)?;
        let rules = ExternalRules {
            set_with: &features_set_with(layout, applied.position),
            ignored: &columns_beside(self.job),
            may_lack: may_lack(self.job),
            memory: memory::allowed(self.settings),
        };
        let rows = ExternalRows::read(&file, layout, rules)?;
        check_people(row_context, (&rows, &file), applied.position, (classes, needs_class))?;
        Ok(Arc::new(rows))
    }
}

/// Puts the file of a set, where it has one, into the key of a stage.
pub(crate) fn need_file<'a>(
    b: &mut StageBuilder<'_, 'a>,
    applied: &AppliedSet<'a>,
) -> Result<Option<&'a InputFile>> {
    let file = b.plan.external_file(applied)?;
    file.map(|file| b.file(file));
    Ok(file)
}

/// Columns of the job that are not features and may be in the file.
fn columns_beside(job: &Job) -> Vec<&str> {
    let data = &job.data;
    let ignored = data.features.ignore.iter();
    let label = data.label.column().map(|label| &label.column);
    let named = label.into_iter().chain(&data.row_id).chain(&data.weight).chain(&data.person);
    let split = data.split.as_ref().and_then(|split| split.column.as_ref());
    ignored.chain(named).chain(split).map(|column| column.as_str()).collect()
}

/// Whether a continuous, an ordinal and a nominal feature may be missing.
fn may_lack(job: &Job) -> [bool; 3] {
    let missing = &job.data.missing;
    [missing.continuous, missing.ordinal, missing.nominal]
        .map(|rule| matches!(rule, MissingRule::Keep | MissingRule::Level))
}

/// What the rows of a row group say about the counterfactuals.
#[derive(Default)]
struct FoundPeople {
    /// Positions of keys whose person is there.
    found: Vec<std::ops::Range<usize>>,
    /// People without a counterfactual in a group.
    lacking: u64,
    /// The first of them: position in the row group, and the group.
    first: Option<(usize, usize)>,
}

fn check_people(
    row_context: RowContext<'_>,
    (rows, file): (&ExternalRows, &KeyedFile),
    position: usize,
    (classes, needs_class): (&RowClasses, bool),
) -> Result<()> {
    let of = &row_context.rows.layout().attributes[position];
    let wrong = |what: String, column: &str, file_row: u64, hint: String| {
        Error::from(file.fault(what, column, file_row).hint(hint))
    };
    let mut of_somebody = vec![false; rows.keys().len()];
    let (mut lacking, mut first) = (0, None);
    let look = |g: usize| {
        let (batch, roles) = (row_context.rows.read(g)?, row_context.roles.read(g)?);
        let classes = classes.of_group(g, &batch)?;
        let mut people = FoundPeople::default();
        for (i, &row_key) in batch.row_key.iter().enumerate() {
            let (own, keys) = (batch.groups[position][i], rows.of_row(row_key));
            for key in rows.keys()[keys.clone()].iter().filter(|_| own != MISSING_GROUP) {
                if key.to_group == own {
                    let group = &of.groups[usize::from(own)];
                    let what = format!("this person belongs to `{group}` already");
                    let hint = "write counterfactuals in the other groups alone".to_owned();
                    return Err(wrong(what, "to_group", key.file_row, hint));
                }
                if key.from_group != MISSING_GROUP && key.from_group != own {
                    let what = "this person belongs to another group".to_owned();
                    let hint = format!(
                        "the data have `{}`: make the counterfactuals of the rows that are audited",
                        of.groups[usize::from(own)]
                    );
                    return Err(wrong(what, "from_group", key.file_row, hint));
                }
            }
            let counts = own != MISSING_GROUP && roles.audited(i).is_some();
            if counts && (!needs_class || classes[i].is_some()) {
                let lacks =
                    |to: &usize| *to != usize::from(own) && rows.of(row_key, *to).is_empty();
                if let Some(to) = (0..of.groups.len()).find(lacks) {
                    people.lacking += 1;
                    people.first = people.first.or(Some((i, to)));
                }
            }
            if !keys.is_empty() {
                people.found.push(keys);
            }
        }
        let named = |(i, to): (usize, usize)| -> Result<(String, usize)> {
            Ok((row_context.rows.read_ids(g)?.text(i), to))
        };
        let first = people.first.map(named).transpose()?;
        Ok((batch.row.len() as u64, (people, first)))
    };
    row_context.row_groups().in_order(look, |_, (people, example)| {
        people.found.into_iter().flatten().for_each(|at| of_somebody[at] = true);
        lacking += people.lacking;
        first = first.take().or(example);
        Ok(())
    })?;
    if let Some((id, to)) = first {
        let what = format!(
            "{lacking} people who are audited have no counterfactual in a group, the first of them \
             row_id `{id}` in `{}` of `{}`",
            of.groups[to], of.name
        );
        let hint = "write a row for each person and each other group; leave people out of the \
                    audit by `data.keep`";
        return Err(Fault::new("incomplete-counterfactuals", what)
            .in_file(file.path())
            .hint(hint)
            .into());
    }
    if let Some(at) = of_somebody.iter().position(|found| !found) {
        let row = file.describe_row(rows.keys()[at].file_row);
        let fault = Fault::new("unknown-key", "the data have no such row".to_owned());
        let hint = "make the counterfactuals of the rows of this job: `cfaudit run JOB --until \
                    generate --out DIR` with `run.keep_rows: counterfactuals` writes some of them";
        return Err(fault.in_file(file.path()).at_row(row).hint(hint).into());
    }
    Ok(())
}
