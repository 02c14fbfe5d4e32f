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

/// Bytes that an amount takes while it is measured: its value, its place in the order, and its
/// share of what the threads gather.
const BYTES_PER_AMOUNT: u64 = 128;

/// The amounts of one model by one attribute: of the factual rows, and of a set if there is one.
pub(crate) struct AmountInputs {
    pub(crate) audit: CountedAudit,
    rule: AmountRule,
    /// Whether the rows are also counted as positive and negative.
    counted: bool,
    amounts: StageInput<ScoreStage>,
    /// The counterfactuals of a set and their amounts.
    set: Option<(StageInput<GenerateStage>, StageInput<ScoreStage>)>,
}

impl AmountInputs {
    /// The inputs for all models whose outcome is an amount; those that wait for amounts are left
    /// out.
    pub(crate) fn of_job(b: &mut StageBuilder<'_, '_>) -> Result<Vec<Self>> {
        let (plan, mut inputs) = (b.plan, Vec::new());
        for (name, model) in &plan.job.models {
            let Some(amount) = model.amount() else { continue };
            let rule = rule_of(b.value(&format!("models.{name}.amount"), amount));
            let counted = plan.job.positive_above(model).is_some();
            let unit = AuditUnit::of_model(name.as_str());
            let Some(amounts) = b.want_part(|b| b.need::<ScoreStage>(&unit))? else { continue };
            let audit_of = |attribute: usize, set: Option<&AppliedSet<'_>>| CountedAudit {
                model: name.to_string(),
                set: set.map(|applied| applied.set.to_owned()),
                attribute,
                ..CountedAudit::default()
            };
            for attribute in 0..plan.job.data.sensitive.len() {
                let (audit, amounts) = (audit_of(attribute, None), amounts.clone());
                inputs.push(AmountInputs { audit, rule, counted, amounts, set: None });
            }
            let sets = plan.applied_sets().into_iter();
            for applied in sets.filter(|_| model.scores_counterfactuals()) {
                let set = b.want_part(|b| {
                    let generated = b.need::<GenerateStage>(&applied.unit())?;
                    Ok((generated, b.need::<ScoreStage>(&applied.unit_of(name.as_str()))?))
                })?;
                let (audit, amounts) =
                    (audit_of(applied.position, Some(&applied)), amounts.clone());
                let set = set.map(Some);
                inputs.extend(set.map(|set| AmountInputs { audit, rule, counted, amounts, set }));
            }
        }
        Ok(inputs)
    }

    /// The audit with the groups that the strategy could learn nothing about.
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

    /// Measures the amounts and adds the rows of the tables.
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
        let entry = |amount: &FoundAmount, value: f64| AmountEntry {
            value,
            weight: amount.weight,
            person: amount.person,
        };
        // A row about `n_all` amounts; `known` are those that are not missing.
        let row = |key: AuditKey, n_all: usize, known: &[f64]| {
            let n = |holds: fn(f64) -> bool| known.iter().filter(|amount| holds(**amount)).count();
            AmountRow {
                n: whole(known.len() as u64),
                n_missing: whole((n_all - known.len()) as u64),
                n_zero: whole(n(|amount| amount == 0.0) as u64),
                n_negative: whole(n(|amount| amount < 0.0) as u64),
                ..key.into()
            }
        };
        let of_direction = |from: usize, to: usize| -> Vec<&FoundAmount> {
            let amounts = found.amounts.iter();
            amounts.filter(|entry| (entry.from, entry.to) == (from, to)).collect()
        };
        if self.set.is_none() {
            let mut samples = Vec::new();
            for group in 0..n {
                let amounts = of_direction(group, group);
                let known: Vec<f64> =
                    amounts.iter().map(|a| a.amount).filter(|amount| !amount.is_nan()).collect();
                let lacking = whole((amounts.len() - known.len()) as u64);
                let key = builder.key("group", Some(group), None);
                let population = (!self.counted).then(|| PopulationRow {
                    state: AUDITED.into(),
                    sensitive: key.sensitive.clone(),
                    group: Some(builder.group(group).into()),
                    declared: true,
                    model: Some(self.audit.model.as_str().into()),
                    rows: whole(amounts.len() as u64),
                    without_score: Some(lacking),
                    ..PopulationRow::default()
                });
                tables.population.extend(population);
                tables.amounts.push(row(key, amounts.len(), &known));
                let known = amounts.iter().filter(|a| !a.amount.is_nan());
                let known = known.map(|a| entry(a, a.amount)).collect();
                samples.push(AmountSample::new(found.basis, known));
            }
            let measured = row_context.workers.within(|| measure_amounts(&samples, settings));
            tables.metrics.extend(builder.metric_rows(measured, [None; 2], false));
            return Ok(());
        }
        let mut n_tested = vec![0; n * n];
        for (from, to) in builder.directions() {
            let amounts = of_direction(from, to);
            let (known, lacking): (Vec<&FoundAmount>, Vec<&FoundAmount>) =
                amounts.iter().partition(|a| !a.amount.is_nan() && !a.amount_cf.is_nan());
            // A person is tested only if every counterfactual has an amount.
            let rows =
                |list: &[&FoundAmount]| list.iter().map(|a| a.row).collect::<BTreeSet<u64>>();
            n_tested[from * n + to] = rows(&known).difference(&rows(&lacking)).count() as u64;
            let amounts_cf: Vec<f64> = known.iter().map(|a| a.amount_cf).collect();
            let key = builder.key("direction", Some(from), Some(to));
            tables.amounts.push(row(key, amounts.len(), &amounts_cf));
            let change = |a: &&FoundAmount| (entry(a, a.amount_cf - a.amount), a.amount);
            let changes: Vec<AmountChange> = known.iter().map(change).collect();
            let basis_and_rule = (found.basis, self.rule);
            let measure = || measure_amount_changes((from, to), &changes, basis_and_rule, settings);
            let measured = row_context.workers.within(measure);
            tables.metrics.extend(builder.metric_rows(measured, [None; 2], false));
        }
        builder.population_of_set(|from, to| n_tested[from * n + to], tables);
        Ok(())
    }

    /// The amounts of all audited people with a group and a positive weight; for a set one entry
    /// per counterfactual.
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
                let group = batch.groups[position][i];
                let weight = weight_units(layout, &batch, i);
                let counts = group != MISSING_GROUP && roles.audited(i).is_some() && weight > 0;
                counts.then(|| FoundAmount {
                    from: ranks[usize::from(group)],
                    to: ranks[usize::from(group)],
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
        let mut gathered = FoundAmounts { basis, amounts: Vec::new() };
        row_context.row_groups().in_turn(read, |(found, several)| {
            gathered.amounts.extend(found);
            gathered.basis.persons |= several;
        })?;
        Ok(gathered)
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

/// The amount of a row and of one of its counterfactuals.
struct FoundAmount {
    from: usize,
    /// Equal to `from` for a factual row.
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

/// Fails if the amounts of all audited people could take more memory than the run may use.
///
/// # Errors
/// The amounts could take too much memory.
pub(crate) fn check_memory(settings: &RunSettings, row_context: RowContext<'_>) -> Result<()> {
    let groups = row_context
        .rows
        .layout()
        .attributes
        .iter()
        .map(|needed_and_allowed| needed_and_allowed.groups.len())
        .max();
    let others = (groups.unwrap_or(0) as u64).saturating_sub(1).max(1);
    let needed = row_context.roles.n_audited().saturating_mul(BYTES_PER_AMOUNT * others);
    let people = row_context.roles.n_audited();
    let what = |needed, allowed| {
        format!("the amounts of {people} people may take {needed}; the run may take {allowed}")
    };
    let hint = "audit fewer rows, or allow more with `--memory`";
    let needed_and_allowed = (needed, memory::allowed(settings));
    refuse_memory(needed_and_allowed, "too-many-amounts", what, hint)
}
