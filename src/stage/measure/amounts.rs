//! Models whose outcome is an amount: reads the amounts of all people and of their
//! counterfactuals, and writes what is measured of them as rows of tables.

use std::collections::BTreeSet;

use crate::data::MISSING_GROUP;
use crate::error::{Error, Result};
use crate::exec::StageContext;
use crate::metric::evidence::counting_unit::SampleBasis;
use crate::metric::value::amounts::{
    AmountChanges, AmountEntry, AmountRule, AmountSample, AmountStep, measure_amount_changes,
    measure_amounts,
};
use crate::metric::value::measured::MeasuredValue;
use crate::model::kind::amount_key::{AmountBlock, MattersFrom};
use crate::model::kind::scale_key::BetterEnd;
use crate::stage::applied_set::AppliedSet;
use crate::stage::count::evidence::{ranks, weight_units};
use crate::stage::kinds::{GenerateStage, ScoreStage};
use crate::stage::measure::counted_audit::{CountedAudit, untaught_ranks};
use crate::stage::measure::row_builder::{ResultTables, RowBuilder};
use crate::stage::memory;
use crate::stage::row_context::RowContext;
use crate::stage::settings::RunSettings;
use crate::stage::stage_builder::{StageBuilder, StageInput};
use crate::stage::train::trainer::refuse_memory;
use crate::table::population::AUDITED;
use crate::table::{AmountRow, PopulationRow, whole};
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
    /// Of a set its counterfactuals and their amounts.
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
    pub(crate) fn with_untaught(
        &self,
        ctx: &StageContext<'_>,
        row_context: RowContext<'_>,
    ) -> Result<CountedAudit> {
        let attribute = &row_context.rows.layout().attributes[self.audit.attribute];
        let named = match &self.set {
            Some((made, _)) => made.effects(ctx)?.untaught,
            None => Vec::new(),
        };
        Ok(CountedAudit { untaught: untaught_ranks(attribute, &named), ..self.audit.clone() })
    }

    /// Measures them and adds the rows of the tables.
    ///
    /// # Errors
    /// The amounts cannot be read, or the run is to stop.
    pub(crate) fn measure(
        &self,
        ctx: &StageContext<'_>,
        row_context: RowContext<'_>,
        builder: &RowBuilder<'_>,
        tables: &mut ResultTables,
    ) -> Result<()> {
        let found = self.gather(ctx, row_context)?;
        let settings = &builder.settings;
        let n = builder.n_groups();
        let of = |entry: &FoundAmount| AmountEntry {
            value: entry.amount,
            weight: entry.weight,
            person: entry.person,
        };
        if self.set.is_none() {
            let mut samples = Vec::new();
            for group in 0..n {
                let own = || found.amounts.iter().filter(move |entry| entry.from == group);
                let known: Vec<AmountEntry> =
                    own().filter(|entry| !entry.amount.is_nan()).map(of).collect();
                let zero = known.iter().filter(|entry| entry.value == 0.0).count();
                let negative = known.iter().filter(|entry| entry.value < 0.0).count();
                tables.amounts.push(AmountRow {
                    n: whole(known.len() as u64),
                    n_missing: whole((own().count() - known.len()) as u64),
                    n_zero: whole(zero as u64),
                    n_negative: whole(negative as u64),
                    ..builder.key("group", Some(group), None).into()
                });
                let lacking = own().count() - known.len();
                let population = (!self.counted).then(|| PopulationRow {
                    state: AUDITED.into(),
                    sensitive: builder.key("group", None, None).sensitive,
                    group: Some(builder.group(group).into()),
                    declared: true,
                    model: Some(self.audit.model.as_str().into()),
                    rows: whole(own().count() as u64),
                    without_score: Some(whole(lacking as u64)),
                    ..PopulationRow::default()
                });
                tables.population.extend(population);
                samples.push(AmountSample::new(found.basis, known));
            }
            let measured = row_context.workers.within(|| measure_amounts(&samples, settings));
            push(builder, &measured, tables);
            return Ok(());
        }
        let mut moved = vec![0; n * n];
        for (from, to) in (0..n).flat_map(|from| (0..n).map(move |to| (from, to))) {
            if from == to {
                continue;
            }
            let own =
                || found.amounts.iter().filter(move |entry| (entry.from, entry.to) == (from, to));
            let both = |entry: &&FoundAmount| !entry.amount.is_nan() && !entry.amount_cf.is_nan();
            let mut changes = AmountChanges { changes: Vec::new(), amounts: Vec::new() };
            let (mut zero, mut negative) = (0, 0);
            for entry in own().filter(both) {
                zero += u64::from(entry.amount_cf == 0.0);
                negative += u64::from(entry.amount_cf < 0.0);
                let value = entry.amount_cf - entry.amount;
                changes.changes.push(AmountEntry { value, ..of(entry) });
                changes.amounts.push(entry.amount);
            }
            // A person who lacks one of several counterfactuals has not been tested.
            let rows = |complete: bool| -> BTreeSet<u64> {
                own().filter(|entry| both(entry) == complete).map(|entry| entry.row).collect()
            };
            moved[from * n + to] = rows(true).difference(&rows(false)).count() as u64;
            let pairs = changes.changes.len();
            tables.amounts.push(AmountRow {
                n: whole(pairs as u64),
                n_missing: whole((own().count() - pairs) as u64),
                n_zero: whole(zero),
                n_negative: whole(negative),
                ..builder.key("direction", Some(from), Some(to)).into()
            });
            let asked = (found.basis, self.rule);
            let measured = row_context
                .workers
                .within(|| measure_amount_changes((from, to), &changes, asked, settings));
            push(builder, &measured, tables);
        }
        builder.population_of_set(|from, to| moved[from * n + to], tables);
        Ok(())
    }

    /// The amounts of all audited people with a group and a weight above 0; of a set a line for
    /// each counterfactual.
    fn gather(&self, ctx: &StageContext<'_>, row_context: RowContext<'_>) -> Result<FoundAmounts> {
        let layout = row_context.rows.layout();
        let (position, ranks) =
            (self.audit.attribute, ranks(&layout.attributes[self.audit.attribute]));
        let amounts = self.amounts.open(ctx, row_context)?;
        let opened = match &self.set {
            Some((made, scored)) => {
                Some((made.open(ctx, row_context)?, scored.open(ctx, row_context)?))
            }
            None => None,
        };
        let read = |g: usize| {
            let (batch, roles) =
                (row_context.rows.read_counted(g, false)?, row_context.roles.read(g)?);
            let amounts = amounts.read(g)?;
            let entry = |i: usize| {
                let own = batch.groups[position][i];
                let weight = weight_units(layout, &batch, i);
                let counts = own != MISSING_GROUP && roles.audited(i).is_some() && weight > 0;
                counts.then(|| FoundAmount {
                    from: ranks[usize::from(own)],
                    to: 0,
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
            SampleBasis { weighted: layout.weight.is_some(), persons: layout.person.is_some() };
        let mut all = FoundAmounts { basis, amounts: Vec::new() };
        row_context.row_groups().in_order(read, |_, (found, several)| {
            all.amounts.extend(found);
            all.basis.persons |= several;
            Ok(())
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

fn push(builder: &RowBuilder<'_>, measured: &[MeasuredValue], tables: &mut ResultTables) {
    tables.metrics.extend(measured.iter().map(|of| builder.metric_row(of)));
}

/// The amount of a row, and of one of its counterfactuals.
struct FoundAmount {
    from: usize,
    to: usize,
    amount: f64,
    amount_cf: f64,
    weight: u64,
    person: u64,
    row: u64,
}

struct FoundAmounts {
    basis: SampleBasis,
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
