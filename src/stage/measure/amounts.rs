//! Models whose outcome is an amount: reads the amounts of all people and of their counterfactuals,
//! and writes what is measured as rows of tables.

use std::collections::BTreeSet;

use crate::data::MISSING_GROUP;
use crate::data::rows::Projection;
use crate::error::{Error, Result};
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::value::amounts::{
    AmountChange, AmountEntry, AmountRule, AmountSample, AmountStep, measure_amount_changes,
    measure_amounts,
};
use crate::model::kind::amount_key::{AmountBlock, MattersFrom};
use crate::model::kind::scale_key::BetterEnd;
use crate::stage::applied_set::AppliedSet;
use crate::stage::count::evidence::{ranks, weight_units};
use crate::stage::kinds::{GenerateStage, ScoreStage};
use crate::stage::measure::counted_audit::{CountedAudit, ranks_without_rows};
use crate::stage::measure::row_builder::{ResultTables, RowBuilder};
use crate::stage::memory;
use crate::stage::memory::refuse_memory;
use crate::stage::row_context::RowContext;
use crate::stage::settings::RunSettings;
use crate::stage::stage_builder::{StageBuilder, StageInput};
use crate::table::population::AUDITED;
use crate::table::{AmountRow, AuditKey, PopulationRow, whole};
use crate::unit::AuditUnit;

/// Bytes that an amount takes while it is measured: itself, its place in order, its share of what
/// is gathered from the threads.
const BYTES_PER_AMOUNT: u64 = 128;

/// The amounts of one model by one attribute: of the rows as they are, or of a set too.
pub(crate) struct AmountInputs {
    /// Whose.
    pub(crate) audit: CountedAudit,
    rule: AmountRule,
    /// Whether the rows are counted too, as positive and not.
    counted: bool,
    amounts: StageInput<ScoreStage>,
    /// The counterfactuals of a set and their amounts.
    set: Option<(StageInput<GenerateStage>, StageInput<ScoreStage>)>,
}

impl AmountInputs {
    /// All that there is to measure of models whose outcome is an amount; what waits for amounts is
    /// left out.
    pub(crate) fn of_job(b: &mut StageBuilder<'_, '_>) -> Result<Vec<Self>> {
        let (plan, mut all) = (b.plan, Vec::new());
        for (name, model) in &plan.job.models {
            let Some(amount) = model.amount() else { continue };
            let rule = rule_of(b.value(&format!("models.{name}.amount"), amount));
            let counted = plan.job.positive_above(model).is_some();
            let unit = AuditUnit::of_model(name.as_str());
            let Some(amounts) = b.want_part(|b| b.need::<ScoreStage>(&unit))? else { continue };
            let of = |attribute: usize, set: Option<&AppliedSet<'_>>| CountedAudit {
                model: name.to_string(),
                set: set.map(|applied| applied.set.to_owned()),
                attribute,
                ..CountedAudit::default()
            };
            for attribute in 0..plan.job.data.sensitive.len() {
                let (audit, amounts) = (of(attribute, None), amounts.clone());
                all.push(AmountInputs { audit, rule, counted, amounts, set: None });
            }
            let sets = plan.applied_sets().into_iter();
            for applied in sets.filter(|_| model.scores_counterfactuals()) {
                let set = b.want_part(|b| {
                    let made = b.need::<GenerateStage>(&applied.unit())?;
                    Ok((made, b.need::<ScoreStage>(&applied.unit_of(name.as_str()))?))
                })?;
                let (audit, amounts) = (of(applied.position, Some(&applied)), amounts.clone());
                let set = set.map(Some);
                all.extend(set.map(|set| AmountInputs { audit, rule, counted, amounts, set }));
            }
        }
        Ok(all)
    }

    /// The audit with the groups of which nothing could be learnt.
    pub(crate) fn with_groups_without_rows(
        &self,
        row_context: RowContext<'_>,
    ) -> Result<CountedAudit> {
        let attribute = &row_context.rows.layout().attributes[self.audit.attribute];
        let named = match &self.set {
            Some((made, _)) => made.effects(row_context.ctx)?.without_rows,
            None => Vec::new(),
        };
        Ok(CountedAudit {
            without_rows: ranks_without_rows(attribute, &named),
            ..self.audit.clone()
        })
    }

    /// Measures them and adds the rows of the tables.
    ///
    /// # Errors
    /// The amounts cannot be read, or the run is to stop.
    pub(crate) fn measure(
        &self,
        row_context: RowContext<'_>,
        builder: &RowBuilder<'_>,
        tables: &mut ResultTables,
    ) -> Result<()> {
        let found = self.gather(row_context)?;
        let settings = &builder.settings;
        let n = builder.n_groups();
        let entry = |of: &FoundAmount, value: f64| AmountEntry {
            value,
            weight: of.weight,
            person: of.person,
        };
        // This many amounts, of which these are known.
        let row = |key: AuditKey, all: usize, known: &[f64]| {
            let n = |holds: fn(f64) -> bool| known.iter().filter(|amount| holds(**amount)).count();
            AmountRow {
                n: whole(known.len() as u64),
                n_missing: whole((all - known.len()) as u64),
                n_zero: whole(n(|amount| amount == 0.0) as u64),
                n_negative: whole(n(|amount| amount < 0.0) as u64),
                ..key.into()
            }
        };
        let of = |from: usize, to: usize| -> Vec<&FoundAmount> {
            let amounts = found.amounts.iter();
            amounts.filter(|entry| (entry.from, entry.to) == (from, to)).collect()
        };
        if self.set.is_none() {
            let mut samples = Vec::new();
            for group in 0..n {
                let own = of(group, group);
                let known: Vec<f64> =
                    own.iter().map(|of| of.amount).filter(|amount| !amount.is_nan()).collect();
                let lacking = whole((own.len() - known.len()) as u64);
                let key = builder.key("group", Some(group), None);
                let population = (!self.counted).then(|| PopulationRow {
                    state: AUDITED.into(),
                    sensitive: key.sensitive.clone(),
                    group: Some(builder.group(group).into()),
                    declared: true,
                    model: Some(self.audit.model.as_str().into()),
                    rows: whole(own.len() as u64),
                    without_score: Some(lacking),
                    ..PopulationRow::default()
                });
                tables.population.extend(population);
                tables.amounts.push(row(key, own.len(), &known));
                let known = own.iter().filter(|of| !of.amount.is_nan());
                let known = known.map(|of| entry(of, of.amount)).collect();
                samples.push(AmountSample::new(found.basis, known));
            }
            let measured = row_context.workers.within(|| measure_amounts(&samples, settings));
            tables.metrics.extend(builder.metric_rows(measured, [None; 2], false));
            return Ok(());
        }
        let mut moved = vec![0; n * n];
        for (from, to) in builder.directions() {
            let own = of(from, to);
            let (known, lacking): (Vec<&FoundAmount>, Vec<&FoundAmount>) =
                own.iter().partition(|of| !of.amount.is_nan() && !of.amount_cf.is_nan());
            // A person who lacks one of several counterfactuals has not been tested.
            let rows = |of: &[&FoundAmount]| of.iter().map(|of| of.row).collect::<BTreeSet<u64>>();
            moved[from * n + to] = rows(&known).difference(&rows(&lacking)).count() as u64;
            let amounts_cf: Vec<f64> = known.iter().map(|of| of.amount_cf).collect();
            let key = builder.key("direction", Some(from), Some(to));
            tables.amounts.push(row(key, own.len(), &amounts_cf));
            let change = |of: &&FoundAmount| (entry(of, of.amount_cf - of.amount), of.amount);
            let changes: Vec<AmountChange> = known.iter().map(change).collect();
            let asked = (found.basis, self.rule);
            let measure = || measure_amount_changes((from, to), &changes, asked, settings);
            let measured = row_context.workers.within(measure);
            tables.metrics.extend(builder.metric_rows(measured, [None; 2], false));
        }
        builder.population_of_set(|from, to| moved[from * n + to], tables);
        Ok(())
    }

    /// The amounts of all audited people with a group and a weight above 0; of a set a line for
    /// each counterfactual.
    fn gather(&self, row_context: RowContext<'_>) -> Result<FoundAmounts> {
        let layout = row_context.rows.layout();
        let (position, ranks) =
            (self.audit.attribute, ranks(&layout.attributes[self.audit.attribute]));
        let amounts = self.amounts.open(row_context)?;
        let opened = match &self.set {
            Some((made, scored)) => Some((made.open(row_context)?, scored.open(row_context)?)),
            None => None,
        };
        let read = |g: usize| {
            let (batch, roles) =
                row_context.read(g, Projection { carried: false, ..Projection::NO_FEATURES })?;
            let amounts = amounts.read(g)?;
            let entry = |i: usize| {
                let own = batch.groups[position][i];
                let weight = weight_units(layout, &batch, i);
                let counts = own != MISSING_GROUP && roles.audited(i).is_some() && weight > 0;
                counts.then(|| FoundAmount {
                    from: ranks[usize::from(own)],
                    to: ranks[usize::from(own)],
                    amount: amounts[i],
                    amount_cf: f64::NAN,
                    weight,
                    person: batch.person.get(i).copied().unwrap_or(batch.row_key[i]),
                    row: batch.row_key[i],
                })
            };
            let mut several = false;
            let found: Vec<FoundAmount> = match &opened {
                None => (0..batch.groups[position].len()).filter_map(entry).collect(),
                Some((made, scored)) => {
                    let (keys, amounts_cf) = (made.keys(g)?, scored.read(g)?);
                    several = keys.cf_index.iter().any(|&index| index > 0);
                    let line = |(k, &parent): (usize, &u32)| {
                        Some(FoundAmount {
                            to: ranks[usize::from(keys.to_group[k])],
                            amount_cf: amounts_cf[k],
                            ..entry(parent as usize)?
                        })
                    };
                    keys.parent.iter().enumerate().filter_map(line).collect()
                }
            };
            Ok::<_, Error>((batch.groups[position].len() as u64, (found, several)))
        };
        let basis =
            CountingUnit { weighted: layout.weight.is_some(), persons: layout.person.is_some() };
        let mut all = FoundAmounts { basis, amounts: Vec::new() };
        row_context.row_groups().in_turn(read, |(found, several)| {
            all.amounts.extend(found);
            all.basis.persons |= several;
        })?;
        Ok(all)
    }
}

fn rule_of(amount: AmountBlock) -> AmountRule {
    AmountRule {
        better_lower: amount.better == BetterEnd::Lower,
        matters_from: match amount.matters_from {
            MattersFrom::Percent(percent) => AmountStep::Share(percent.get() / 100.0),
            MattersFrom::Amount(step) => AmountStep::Absolute(step.get()),
        },
    }
}

/// The amount of a row, and of one of its counterfactuals.
struct FoundAmount {
    from: usize,
    /// The same of a row as it is.
    to: usize,
    amount: f64,
    amount_cf: f64,
    weight: u64,
    person: u64,
    row: u64,
}

struct FoundAmounts {
    basis: CountingUnit,
    amounts: Vec<FoundAmount>,
}

/// Fails where the amounts of all audited people could take more memory than the run may have.
///
/// # Errors
/// They could.
pub(crate) fn check_memory(settings: &RunSettings, row_context: RowContext<'_>) -> Result<()> {
    let groups = row_context.rows.layout().attributes.iter().map(|of| of.groups.len()).max();
    let others = (groups.unwrap_or(0) as u64).saturating_sub(1).max(1);
    let needed = row_context.roles.n_audited().saturating_mul(BYTES_PER_AMOUNT * others);
    let people = row_context.roles.n_audited();
    let what = |needed, allowed| {
        format!("the amounts of {people} people may take {needed}; the run may take {allowed}")
    };
    let hint = "audit fewer rows, or allow more with `--memory`";
    let of = (needed, memory::allowed(settings));
    refuse_memory(of, "too-many-amounts", what, hint)
}
