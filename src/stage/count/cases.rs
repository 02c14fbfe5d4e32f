//! The stage `cases`: a few people who switched, row and counterfactual, for a job that wants
//! people on the page (`report.cases`).
//!
//! | kind | id | what it writes |
//! | --- | --- | --- |
//! | count | `cases` | `cf_examples`, over all models, sets and attributes |
//!
//! The people are drawn by a hash: among those who switch under a model in a set by an attribute,
//! those whose h(seed of `cases/MODEL/SET/ATTRIBUTE`, row key, target group) is smallest, so
//! neither threads nor the order of the rows matter. A person is listed once, with the first
//! counterfactual of that group that switches. Sets of causal graphs have none, because a decision
//! there depends on the mean over many worlds.

use std::collections::{BTreeMap, BTreeSet};

use crate::data::rows::Projection;
use crate::data::source_view::shown_in_source;
use crate::data::{FeatureColumn, FeatureRows, MISSING_GROUP};
use crate::error::Result;
use crate::num::seed::{h, named_seed};
use crate::param::Seed;
use crate::stage::count::SetScoreInputs;
use crate::stage::count::switches::{DecidedGroup, ScoredSet};
use crate::stage::kinds::CasesStage;
use crate::stage::row_context::RowContext;
use crate::stage::row_inputs::RowInputs;
use crate::stage::stage_builder::{Planned, Stage, StageBuilder, StageInput};
use crate::table::file::write_rows;
use crate::table::{CfExampleRow, SharedText};
use crate::unit::AuditUnit;

impl StageInput<CasesStage> {
    /// The cases of the job; none if the page shows no cases.
    pub(crate) fn need(b: &mut StageBuilder<'_, '_>) -> Result<Option<Self>> {
        let shown = b.plan.job.report.cases > 0;
        shown.then(|| b.need::<CasesStage>(&AuditUnit::default())).transpose()
    }
}

impl Stage for CasesStage {
    fn plan<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let wanted = b.input("report.cases", |job| job.report.cases);
        let seed = b.seed();
        let (rows, mut parts) = (RowInputs::of_job(b)?, Vec::new());
        for (name, _, applied) in plan.scored_sets().filter(|(.., set)| set.graphs().is_none()) {
            let sources = SetScoreInputs::need(&applied.unit_of(name.as_str()), true, b)?;
            parts.push((name.as_str(), applied.set, sources));
        }
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        rows.work(parts.len() as u64, move |ctx, row_context| {
            let mut found = Vec::new();
            for (model, set, sources) in &parts {
                let drawing = CaseDrawing { context: row_context, model, set, wanted, seed };
                found.extend(drawing.rows(&sources.open_set(row_context)?)?);
            }
            write_rows(ctx.out(), &found)
        })
    }
}

/// Where a person who switches is: row group, row, counterfactual.
type CasePlace = (usize, usize, usize);

/// The places of the drawn people, by hash and row number.
type DrawnCases = BTreeMap<(u64, u64), CasePlace>;

/// The inputs for drawing the people of one model and set.
struct CaseDrawing<'a> {
    context: RowContext<'a>,
    model: &'a str,
    set: &'a str,
    /// The number of people to draw.
    wanted: usize,
    /// The seed of the job.
    seed: Seed,
}

impl CaseDrawing<'_> {
    /// The rows of `cf_examples`: draws the people first, then reads only their features.
    fn rows(&self, scored: &ScoredSet) -> Result<Vec<CfExampleRow>> {
        let drawn = self.draw(scored)?;
        let mut found = Vec::new();
        for (number, &place) in (0_i64..).zip(drawn.values()) {
            found.extend(self.case_rows(scored, number, place)?);
        }
        Ok(found)
    }

    fn draw(&self, scored: &ScoredSet) -> Result<DrawnCases> {
        let row_context = self.context;
        let attribute = &row_context.rows.layout().attributes[scored.attribute()];
        let name = format!("cases/{}/{}/{}", self.model, self.set, attribute.name);
        let seed = named_seed(self.seed.0, &name);
        let mut drawn = DrawnCases::new();
        let draw_group = |g: usize| {
            let group = scored.decided(row_context, g)?;
            let n = group.keys.parent.len() as u64;
            Ok((n, self.of_group(scored.attribute(), seed, g, &group)))
        };
        row_context.row_groups().in_turn(draw_group, |part| {
            drawn.extend(part);
            self.truncate(&mut drawn);
        })?;
        Ok(drawn)
    }

    /// Keeps the people with the smallest hashes.
    fn truncate(&self, drawn: &mut DrawnCases) {
        while drawn.len() > self.wanted {
            drawn.pop_last();
        }
    }

    /// The people of a row group who switch, those with the smallest hashes.
    fn of_group(&self, attribute: usize, seed: u64, g: usize, group: &DecidedGroup) -> DrawnCases {
        let (batch, keys) = (&group.batch, &group.keys);
        let mut smallest: BTreeMap<usize, (u64, usize)> = BTreeMap::new();
        let mut switched: BTreeSet<(usize, u16)> = BTreeSet::new();
        for (k, &parent) in keys.parent.iter().enumerate() {
            let (i, to) = (parent as usize, keys.to_group[k]);
            if batch.groups[attribute][i] == MISSING_GROUP || group.roles.audited(i).is_none() {
                continue;
            }
            // Counterfactuals of a row and group are in the order of their index.
            let decisions = group.predicted[i].zip(group.predicted_cf[k]);
            if decisions.is_some_and(|(own, other)| own != other) && switched.insert((i, to)) {
                let case = (h(seed, batch.row_key[i], u64::from(to)), k);
                let smallest_of_person = smallest.entry(i).or_insert(case);
                *smallest_of_person = case.min(*smallest_of_person);
            }
        }
        let place = |(i, (hash, k)): (usize, (u64, usize))| ((hash, batch.row[i]), (g, i, k));
        let mut drawn: DrawnCases = smallest.into_iter().map(place).collect();
        self.truncate(&mut drawn);
        drawn
    }

    /// The rows of a person, one for each feature.
    fn case_rows(
        &self,
        scored: &ScoredSet,
        number: i64,
        (g, i, k): CasePlace,
    ) -> Result<Vec<CfExampleRow>> {
        let layout = self.context.rows.layout();
        let attribute = &layout.attributes[scored.attribute()];
        let group = scored.decided(self.context, g)?;
        let rows = self.context.rows.read(g, Projection::ALL)?.rows;
        let (keys, rows_cf) = scored.counterfactuals().rows(g, layout)?;
        let from = group.batch.groups[scored.attribute()][i];
        // Every drawn person switches, so both are decided.
        let decisions = [group.predicted[i], group.predicted_cf[k]];
        let names = layout.label.as_ref().map_or(&[][..], |label| &label.classes);
        let class = |of: Option<u32>| {
            of.and_then(|of| names.get(of as usize)).map_or("", String::as_str).into()
        };
        let decision = |of: Option<u32>| of.filter(|_| names.is_empty()).map(|of| of == 1);
        let person = CfExampleRow {
            model: self.model.into(),
            counterfactual: self.set.into(),
            sensitive: attribute.name.as_str().into(),
            from_group: attribute.groups[usize::from(from)].as_str().into(),
            to_group: attribute.groups[usize::from(keys.to_group[k])].as_str().into(),
            example: number,
            score: group.scores.get(i).copied().flatten(),
            score_cf: group.scores_cf.get(k).copied().flatten(),
            decision: decision(decisions[0]),
            decision_cf: decision(decisions[1]),
            class: class(decisions[0]),
            class_cf: class(decisions[1]),
            ..CfExampleRow::default()
        };
        let feature_row = |f: usize| {
            let [value, value_cf] =
                [(&rows, i), (&rows_cf, k)].map(|at| shown_in_source(&layout.features[f], f, at));
            CfExampleRow {
                feature: layout.features[f].name.as_str().into(),
                changed: differ(f, (&rows, i), (&rows_cf, k)),
                value: value.map(SharedText::from),
                value_cf: value_cf.map(SharedText::from),
                ..person.clone()
            }
        };
        Ok(layout.inputs().map(feature_row).collect())
    }
}

/// Whether two values of a feature differ; numbers have to differ by more than a rounding error.
fn differ(f: usize, (old, i): (&FeatureRows, usize), (new, k): (&FeatureRows, usize)) -> bool {
    match (&old.columns[f], &new.columns[f]) {
        (FeatureColumn::Number(old), FeatureColumn::Number(new)) => {
            match (old[i].is_nan(), new[k].is_nan()) {
                (false, false) => (new[k] - old[i]).abs() > 1e-9 * old[i].abs().max(1.0),
                (was_missing, is_missing) => was_missing != is_missing,
            }
        }
        (FeatureColumn::Code(old), FeatureColumn::Code(new)) => old[i] != new[k],
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::differ;
    use crate::data::{FeatureColumn, FeatureRows};

    #[test]
    fn rounding_is_no_change() {
        let rows = |x: f64, code: u32| {
            FeatureRows::of(vec![FeatureColumn::Number(vec![x]), FeatureColumn::Code(vec![code])])
        };
        let (old, same) = (rows(0.3, 1), rows(0.1 + 0.2, 1));
        assert!(!differ(0, (&old, 0), (&same, 0)) && !differ(1, (&old, 0), (&same, 0)));
        let (other, missing) = (rows(0.4, 2), rows(f64::NAN, 1));
        assert!(differ(0, (&old, 0), (&other, 0)) && differ(1, (&old, 0), (&other, 0)));
        assert!(differ(0, (&old, 0), (&missing, 0)) && !differ(0, (&missing, 0), (&missing, 0)));
    }
}
