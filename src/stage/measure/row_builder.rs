//! Writes the values of one part of an audit as rows of tables.

use std::borrow::Cow;

use crate::counterfactual::support::own_bit;
use crate::data::prepare::left_out::first_named;
use crate::data::{Layout, MISSING};
use crate::exec::pieces::WorkerPool;
use crate::metric;
use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::flip_test::FlipTestResult;
use crate::metric::evidence::group_counts::GroupFactualCounts;
use crate::metric::evidence::labels::SELECTIVE_LABELS;
use crate::metric::evidence::person::{CELLS, Eccm, StateCells};
use crate::metric::evidence::score_bins::DrawnBin;
use crate::metric::evidence::shift::{CHANGE_EDGES, SCORE_EDGES, ShiftSums};
use crate::metric::evidence::shift_pass::ShiftEvidence;
use crate::metric::evidence::units::UnitSums;
use crate::metric::missing_interval::MissingInterval;
use crate::metric::noise::placebo::PlaceboEvidence;
use crate::metric::noise::repeats::RepeatSpread;
use crate::metric::rate::{MetricValue, Undefined};
use crate::metric::scope::{GroupSelection, MetricScope, ScopeIndex};
use crate::metric::value::compare::ComparedValue;
use crate::metric::value::measured::{MeasuredValue, PersonBasis, measure_factual};
use crate::metric::value::repeated_values::RepeatedValues;
use crate::metric::value::settings::{FavourableClass, MeasureSettings};
use crate::metric::value::switches::measure_counterfactual;
use crate::metric::{MetricFamily, Reads};
use crate::num::additive::Additive;
use crate::stage::artifact::SmallSlices;
use crate::stage::generate::support::UnsupportedValue;
use crate::stage::measure::counted_audit::CountedAudit;
use crate::stage::measure::labels::SelectiveLabels;
use crate::stage::measure::support::{ranked, with_supported};
use crate::table::population::AUDITED;
use crate::table::support::ALL;
use crate::table::{
    AmountRow, AuditKey, ComparisonRow, CountRow, DRAWN_SIDES, GroupRow, MetricRow, NO_GROUP,
    PopulationRow, ReliabilityRow, ScoreShiftRow, SharedText, SupportCountRow, TransitionRow,
    finite, whole,
};

/// How the table of counts writes unknown, no and yes.
const STATE_WORDS: [&str; 3] = ["", "0", "1"];

/// Tables that are being written.
#[derive(Default)]
pub(crate) struct ResultTables {
    /// `metrics`.
    pub(crate) metrics: Vec<MetricRow>,
    /// `counts`.
    pub(crate) counts: Vec<CountRow>,
    /// `score_shift`.
    pub(crate) shift: Vec<ScoreShiftRow>,
    /// `groups`.
    pub(crate) groups: Vec<GroupRow>,
    /// `population`: the rows of models and sets.
    pub(crate) population: Vec<PopulationRow>,
    /// `transitions`.
    pub(crate) transitions: Vec<TransitionRow>,
    /// Slices with too few people.
    pub(crate) small_slices: SmallSlices,
    /// `amounts`.
    pub(crate) amounts: Vec<AmountRow>,
    /// `reliability`.
    pub(crate) reliability: Vec<ReliabilityRow>,
    /// `support_counts`.
    pub(crate) support_counts: Vec<SupportCountRow>,
    /// The people who lack labels more often than others.
    pub(crate) labels: SelectiveLabels,
}

impl From<AuditKey> for AmountRow {
    /// A row with this key and empty other columns.
    fn from(key: AuditKey) -> Self {
        AmountRow {
            model: key.model,
            counterfactual: key.counterfactual,
            sensitive: key.sensitive,
            from_group: key.from_group,
            to_group: key.to_group,
            ..AmountRow::default()
        }
    }
}

/// The names of an audit and its groups, shared by its rows.
#[derive(Clone)]
pub(crate) struct AuditTexts {
    /// The key without a scope.
    key: AuditKey,
    /// The groups in reference-first order.
    groups: Vec<SharedText>,
}

impl AuditTexts {
    pub(crate) fn new(audit: &CountedAudit, layout: &Layout) -> Self {
        let attribute = &layout.attributes[audit.attribute];
        let ranks = 0..attribute.groups.len();
        AuditTexts {
            key: AuditKey {
                arm: audit.arm.as_str().into(),
                model: audit.model.as_str().into(),
                counterfactual: audit.set.as_deref().unwrap_or_default().into(),
                sensitive: attribute.name.as_str().into(),
                ..AuditKey::default()
            },
            groups: ranks.map(|rank| attribute.name_at_rank(rank).into()).collect(),
        }
    }
}

/// Writes the values of one part of an audit (all people, a slice or a class) as rows of tables.
#[derive(Clone)]
pub(crate) struct RowBuilder<'a> {
    pub(crate) audit: &'a CountedAudit,
    pub(crate) texts: AuditTexts,
    pub(crate) layout: &'a Layout,
    pub(crate) settings: MeasureSettings,
    /// The name of the slice; empty = all rows.
    pub(crate) slice: &'a str,
    /// The class that is compared with the rest; empty for all classes together and for a label of
    /// two sides.
    pub(crate) class: &'a str,
    /// Whether labels are missing for some people more often than for others.
    pub(crate) selective: bool,
}

/// Why a value of an audit is unknown: it needs scores or probabilities that the model does not
/// give, or it is about a group that the strategy could learn nothing about.
fn why_unknown(
    audit: &CountedAudit,
    metric: &metric::Metric,
    scope: MetricScope,
) -> Option<Undefined> {
    let score_families = [MetricFamily::Shift, MetricFamily::Scores];
    let compares = match metric.reads {
        Reads::Scored(reading, _) => reading.needs_probability(),
        _ => false,
    };
    if audit.scoreless && score_families.contains(&metric.family) {
        Some(Undefined::NoScore)
    } else if audit.points && compares {
        Some(Undefined::NoProbability)
    } else {
        audit.lacks_rows(scope).then_some(Undefined::NoTrainingRows)
    }
}

impl RowBuilder<'_> {
    /// Name of a group by its position in reference-first order.
    pub(crate) fn group(&self, rank: usize) -> &str {
        &self.texts.groups[rank]
    }

    /// The name of a group as a text of tables; empty where there is no group.
    fn group_text(&self, rank: Option<usize>) -> SharedText {
        rank.map(|rank| self.texts.groups[rank].clone()).unwrap_or_default()
    }

    /// Units of weight in the unit of the user's column; none if there are no weights.
    pub(crate) fn weight(&self, units: Option<u64>) -> Option<f64> {
        units
            .zip(self.layout.weight.as_ref())
            .and_then(|(units, weight)| finite(units as f64 * weight.unit.value()))
    }

    pub(crate) fn n_groups(&self) -> usize {
        self.layout.attributes[self.audit.attribute].groups.len()
    }

    /// The directions between the groups.
    pub(crate) fn directions(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        ScopeIndex { groups: self.n_groups() }.directions()
    }

    /// Whether this part is measured: all people, or a slice with at least `smallest` people.
    /// Smaller slices are recorded.
    pub(crate) fn is_measured(&self, n: u64, smallest: u64, tables: &mut ResultTables) -> bool {
        let is_measured = self.slice.is_empty() || n >= smallest;
        if !is_measured {
            let attribute = &self.layout.attributes[self.audit.attribute].name;
            let known = tables
                .small_slices
                .entry(attribute.clone())
                .or_default()
                .entry(self.slice.to_owned())
                .or_default();
            *known = n.max(*known);
        }
        is_measured
    }

    /// The key columns, from the arm to the slice.
    pub(crate) fn key(&self, scope: &str, from: Option<usize>, to: Option<usize>) -> AuditKey {
        AuditKey {
            scope: scope.into(),
            from_group: self.group_text(from),
            to_group: self.group_text(to),
            slice: self.slice.into(),
            ..self.texts.key.clone()
        }
    }

    /// The key of a value with this scope.
    pub(crate) fn key_of(&self, scope: MetricScope) -> AuditKey {
        self.key(scope.as_str(), scope.first_group(), scope.second_group())
    }

    /// Adds the values of the factual rows, for a label of two sides or one class against the rest.
    pub(crate) fn rows_measured(
        &self,
        workers: &WorkerPool,
        counts: &FactualCounts,
        flips: Option<&FlipTestResult>,
        trainings: Option<&RepeatedValues>,
        tables: &mut ResultTables,
    ) {
        let measured = workers.within(|| measure_factual(counts, flips, &self.settings));
        tables.metrics.extend(self.metric_rows(measured, [None, trainings], false));
        self.scores_measured(workers, counts, tables);
    }

    /// As [`Self::rows_measured`], for counterfactuals.
    pub(crate) fn switches_measured(
        &self,
        workers: &WorkerPool,
        counts: &CounterfactualCounts,
        (shift, placebo): (Option<&ShiftEvidence>, Option<&PlaceboEvidence>),
        repeats: [Option<&RepeatedValues>; 2],
        tables: &mut ResultTables,
    ) {
        let measure = |counts, (shift, placebo): (_, _)| {
            measure_counterfactual(counts, shift, placebo, &self.settings)
        };
        let measured = workers.within(|| measure(counts, (shift, placebo)));
        let supported = counts.supported().map(|counts| {
            let supported = workers.within(|| measure(counts, (None, None)));
            self.metric_rows(supported, repeats, true)
        });
        let measured = self.metric_rows(measured, repeats, false);
        tables.metrics.extend(with_supported(measured, supported));
    }

    /// The rows of values with the spread over other fits and other trainings, of all people or
    /// only of those with `supported` counterfactuals.
    pub(crate) fn metric_rows(
        &self,
        measured: Vec<MeasuredValue>,
        [fits, trainings]: [Option<&RepeatedValues>; 2],
        supported: bool,
    ) -> Vec<MetricRow> {
        let row = |mut value: MeasuredValue| {
            let spread = |repeats: &RepeatedValues| {
                repeats.spread_of((value.metric, value.scope), supported)
            };
            let spreads = (fits.and_then(spread), trainings.and_then(spread));
            (value.fit, value.training) = spreads;
            self.metric_row(&value)
        };
        measured.into_iter().map(row).collect()
    }

    /// The people with an unsupported value, by label and decisions.
    pub(crate) fn support_counts(
        &self,
        counts: &CounterfactualCounts,
        found: &[UnsupportedValue],
    ) -> Vec<SupportCountRow> {
        let attribute = &self.layout.attributes[self.audit.attribute];
        let order = attribute.reference_first();
        let rank_of =
            |group: usize| order.iter().position(|&ordered| ordered == group).unwrap_or(0);
        let yes = |yes: bool| if yes { "1" } else { "0" };
        let mut rows = Vec::new();
        for (rank, value) in ranked(found) {
            let Some(bit) = own_bit(value.place, value.n_places) else { continue };
            let (from, to) = (rank_of(value.from), rank_of(value.to));
            let key = self.key("direction", Some(from), Some(to));
            let cells = counts.unsupported(from, to).find(|(found, _)| *found == bit);
            let cells = cells.into_iter().flat_map(|(_, cells)| CELLS.iter().zip(cells));
            rows.extend(cells.filter(|(_, n)| **n > 0).map(|(cell, &n)| SupportCountRow {
                model: key.model.clone(),
                counterfactual: key.counterfactual.clone(),
                sensitive: key.sensitive.clone(),
                from_group: key.from_group.clone(),
                to_group: key.to_group.clone(),
                rank,
                label: cell.label.map_or("", yes).into(),
                predicted: yes(cell.predicted).into(),
                predicted_cf: yes(cell.predicted_cf).into(),
                n: whole(n),
            }));
        }
        rows
    }

    /// A row of `metrics`.
    pub(crate) fn metric_row(&self, measured: &MeasuredValue) -> MetricRow {
        let measured = &self.undefined_if_unknown(measured);
        let interval = measured.interval.as_ref();
        let ends = measured.placebo.and_then(|band| band.ends);
        let spread =
            |repeats: Option<RepeatSpread>| repeats.filter(|_| measured.value.is_ok())?.spread;
        let (fit, training) = (spread(measured.fit), spread(measured.training));
        let group = |rank| self.group_text(rank);
        let furthest = measured.furthest;
        MetricRow {
            key: self.key_of(measured.scope),
            class: self.class.into(),
            support: ALL.into(),
            metric: measured.metric.id.into(),
            family: measured.metric.family.as_str().into(),
            value: measured.value.ok().and_then(finite),
            undefined: measured.value.err().map_or("", Undefined::code).into(),
            numerator: measured.numerator.map(whole),
            denominator: measured.denominator.map(whole),
            weight_numerator: self.weight(measured.weights.map(|weights| weights.0)),
            weight_denominator: self.weight(measured.weights.map(|weights| weights.1)),
            n_rows: whole(measured.n_rows),
            n_persons: measured
                .persons
                .filter(|_| self.layout.person.is_some() || self.layout.weight.is_some())
                .map(|persons| whole(persons.n)),
            denominator_persons: measured
                .persons
                .and_then(|persons| persons.denominator)
                .map(whole),
            n_eff: measured.effective.and_then(finite),
            lo: interval.and_then(|i| finite(i.lo)),
            hi: interval.and_then(|i| finite(i.hi)),
            level: interval.and(self.settings.level).map(|l| l.get()),
            interval: interval.map_or("", |i| i.method.as_str()).into(),
            ci_method: measured.ci_method.as_str().into(),
            args: measured
                .flips
                .map_or_else(String::new, |repeats| serde_json::json!(repeats).to_string())
                .into(),
            placebo_lo: ends.and_then(|ends| finite(ends.0)),
            placebo_hi: ends.and_then(|ends| finite(ends.1)),
            placebo_repeats: measured.placebo.map(|band| whole(band.repeats)),
            fit_lo: fit.and_then(|(lo, ..)| finite(lo)),
            fit_hi: fit.and_then(|(_, hi, _)| finite(hi)),
            fit_var: fit.and_then(|(.., variance)| finite(variance)),
            fit_repeats: measured.fit.map(|fit| whole(fit.repeats)),
            training_lo: training.and_then(|(lo, ..)| finite(lo)),
            training_hi: training.and_then(|(_, hi, _)| finite(hi)),
            training_var: training.and_then(|(.., variance)| finite(variance)),
            training_repeats: measured.training.map(|training| whole(training.repeats)),
            ideal: measured.ideal.and_then(finite),
            flags: self.flags(measured).join(",").into(),
            // Without `data.favourable`, no group is called worse off.
            impaired_group: group(measured.impaired.filter(|_| self.settings.favourable_stated)),
            highest_group: group(furthest.and_then(|furthest| furthest.highest)),
            lowest_group: group(furthest.and_then(|furthest| furthest.lowest)),
            groups_undefined: furthest.map(|furthest| whole(furthest.n_undefined)),
            ..MetricRow::default()
        }
    }

    /// The value, or the reason why it is unknown.
    fn undefined_if_unknown<'m>(&self, measured: &'m MeasuredValue) -> Cow<'m, MeasuredValue> {
        let Some(reason) = why_unknown(self.audit, measured.metric, measured.scope) else {
            return Cow::Borrowed(measured);
        };
        Cow::Owned(MeasuredValue {
            value: Err(reason),
            numerator: None,
            denominator: None,
            weights: None,
            persons: measured.persons.map(|persons| PersonBasis { denominator: None, ..persons }),
            interval: None,
            ci_method: MissingInterval::UndefinedValue.words().to_owned(),
            impaired: None,
            placebo: None,
            ..measured.clone()
        })
    }

    fn flags(&self, measured: &MeasuredValue) -> Vec<&'static str> {
        measured.flags.iter().copied().chain(self.selective_labels(measured.metric)).collect()
    }

    /// The flag of a metric that depends on selective labels.
    fn selective_labels(&self, metric: &metric::Metric) -> Option<&'static str> {
        (self.selective && (metric.needs_label || self.audit.by_label)).then_some(SELECTIVE_LABELS)
    }

    /// The comparison with another audit. [`Self::selective`] then says whether the labels of
    /// either audit are selective.
    pub(crate) fn comparison_row(
        &self,
        other: &CountedAudit,
        compared: &ComparedValue,
        trainings: Option<&RepeatedValues>,
    ) -> ComparisonRow {
        let scope = compared.scope;
        let unknown = [self.audit, other].map(|audit| why_unknown(audit, compared.metric, scope));
        let is_known = unknown.iter().all(Option::is_none);
        let interval = compared.interval.as_ref().filter(|_| is_known);
        let known = |value: MetricValue, reasons: &[Option<Undefined>]| {
            reasons.iter().flatten().next().map_or(value, |reason| Err(*reason))
        };
        let difference = known(compared.difference, &unknown);
        let ci_method = match difference {
            Err(_) => MissingInterval::UndefinedValue.words(),
            Ok(_) => compared.ci_method.as_str(),
        };
        let trainings =
            trainings.and_then(|values| values.spread_of((compared.metric, scope), false));
        let training = trainings.filter(|_| difference.is_ok()).and_then(|repeats| repeats.spread);
        let key = self.key_of(scope);
        ComparisonRow {
            arm: key.arm,
            model: key.model,
            against_arm: other.arm.as_str().into(),
            against: other.model.as_str().into(),
            counterfactual: key.counterfactual,
            sensitive: key.sensitive,
            scope: key.scope,
            from_group: key.from_group,
            to_group: key.to_group,
            class: self.class.into(),
            metric: compared.metric.id.into(),
            family: compared.metric.family.as_str().into(),
            difference: difference.ok().and_then(finite),
            undefined: difference.err().map_or("", Undefined::code).into(),
            model_value: known(compared.first, &unknown[..1]).ok().and_then(finite),
            against_value: known(compared.second, &unknown[1..]).ok().and_then(finite),
            lo: interval.map(|i| i.lo).and_then(finite),
            hi: interval.map(|i| i.hi).and_then(finite),
            level: interval.and(self.settings.level).map(|l| l.get()).and_then(finite),
            interval: interval.map_or("", |i| i.method.as_str()).into(),
            ci_method: ci_method.into(),
            training_lo: training.and_then(|(lo, ..)| finite(lo)),
            training_hi: training.and_then(|(_, hi, _)| finite(hi)),
            training_var: training.and_then(|(.., variance)| finite(variance)),
            training_repeats: trainings.map(|spread| whole(spread.repeats)),
            n_rows: whole(compared.n_rows),
            flags: self.selective_labels(compared.metric).unwrap_or_default().into(),
        }
    }

    /// Adds the counts of the factual rows.
    pub(crate) fn factual_counts(&self, counts: &FactualCounts, tables: &mut ResultTables) {
        let mut total = GroupFactualCounts::default();
        for (rank, group) in counts.groups.iter().enumerate() {
            total.absorb(group);
            self.group_row(
                counts,
                (group, group.n_positive(), group.n_predicted_positive()),
                GroupSelection::One(rank),
                tables,
            );
            self.state_rows(
                ("group", Some(rank)),
                counts.states(GroupSelection::One(rank)),
                tables,
            );
        }
        self.group_row(
            counts,
            (&total, total.n_positive(), total.n_predicted_positive()),
            GroupSelection::All,
            tables,
        );
        self.state_rows(("total", None), counts.states(GroupSelection::All), tables);
        // The rows without a word. Undeclared words are not counted here.
        if let Some(missing) = counts.ungrouped.get(&u32::MAX) {
            let weights = self.layout.weight.as_ref().map(|_| missing.weights());
            self.state_rows((NO_GROUP, None), (missing.states(), weights), tables);
        }
        self.population_rows(counts, |count| count(counts), tables);
    }

    /// Adds a row of the table of groups: the counts, the number with the positive label and the
    /// number with the positive prediction.
    pub(crate) fn group_row(
        &self,
        counts: &FactualCounts,
        (c, positive, predicted_positive): (&GroupFactualCounts, u64, u64),
        selection: GroupSelection,
        tables: &mut ResultTables,
    ) {
        let without_stratum = |selection: GroupSelection| {
            let strata = counts.strata.as_ref()?;
            Some(
                selection
                    .groups(counts.groups.len())
                    .map(|group| strata.n_missing(group))
                    .sum::<u64>(),
            )
        };
        tables.groups.push(GroupRow {
            model: self.audit.model.as_str().into(),
            sensitive: self.layout.attributes[self.audit.attribute].name.as_str().into(),
            group: selection.group().map_or("", |rank| self.group(rank)).into(),
            slice: self.slice.into(),
            n: whole(c.n()),
            persons: counts.n_persons(selection).map(whole),
            weight: self.weight(counts.weight(selection)),
            n_positive: self.layout.label.as_ref().map(|_| positive).map(whole),
            n_predicted_positive: whole(predicted_positive),
            n_missing_label: whole(if self.layout.label.is_some() {
                c.n_missing_label()
            } else {
                0
            }),
            n_missing_score: whole(c.n_missing_score()),
            n_missing_counterfactual_score: 0,
            n_scores_equal_threshold: whole(c.at_threshold),
            n_missing_stratum: without_stratum(selection).map(whole),
        });
    }

    /// Adds the cells by label and decision. Cells of people who lack one of the two are written
    /// only if they are not empty.
    fn state_rows(
        &self,
        (scope, group): (&str, Option<usize>),
        (people, weights): (StateCells, Option<StateCells>),
        tables: &mut ResultTables,
    ) {
        let has_label = self.layout.label.is_some();
        for (i, n) in people.into_iter().enumerate() {
            let (label, predicted) = (STATE_WORDS[i / 3], STATE_WORDS[i % 3]);
            let is_whole = !predicted.is_empty() && label.is_empty() != has_label;
            if n == 0 && !(is_whole && scope != NO_GROUP) {
                continue;
            }
            tables.counts.push(CountRow {
                key: self.key(scope, group, None),
                label: label.into(),
                predicted: predicted.into(),
                n: whole(n),
                weight: self.weight(weights.map(|weights| weights[i])),
                ..CountRow::default()
            });
        }
    }

    /// Adds the rows of the table of the population under the model: for each group, each
    /// undeclared word, and the rows without a word. `positive` sums the rows with a positive
    /// decision.
    pub(crate) fn population_rows(
        &self,
        counts: &FactualCounts,
        positive: impl Fn(&dyn Fn(&FactualCounts) -> u64) -> u64,
        tables: &mut ResultTables,
    ) {
        if !self.slice.is_empty() || !self.audit.arm.is_empty() {
            return;
        }
        let settings = &self.settings;
        let favours =
            settings.favourable_stated.then_some(settings.favourable == FavourableClass::Positive);
        let attribute = &self.layout.attributes[self.audit.attribute];
        let levels = &self.layout.features[attribute.feature].levels;
        let row = |group: Option<SharedText>,
                   declared,
                   rows: &GroupFactualCounts,
                   positive: u64| {
            let decided = rows.n() - rows.n_missing_score();
            PopulationRow {
                state: AUDITED.into(),
                sensitive: attribute.name.as_str().into(),
                group,
                declared,
                model: Some(self.audit.model.as_str().into()),
                rows: whole(rows.n()),
                without_label: self.layout.label.as_ref().map(|_| whole(rows.n_missing_label())),
                without_score: Some(whole(rows.n_missing_score())),
                positive: Some(whole(positive)),
                favourable: favours
                    .map(|favours| whole(if favours { positive } else { decided - positive })),
                ..PopulationRow::default()
            }
        };
        for (rank, group) in counts.groups.iter().enumerate() {
            let positive = positive(&|counts| counts.groups[rank].n_predicted_positive());
            tables.population.push(row(
                Some(self.texts.groups[rank].clone()),
                true,
                group,
                positive,
            ));
        }
        let positive = |word: u32| {
            positive(&|counts| {
                counts.ungrouped.get(&word).map_or(0, GroupFactualCounts::n_predicted_positive)
            })
        };
        let undeclared = counts.ungrouped.iter().filter_map(|(&word, ungrouped)| {
            Some((levels.get(word as usize)?.as_str(), (word, ungrouped)))
        });
        let (named, others) = first_named(undeclared);
        for (level, (word, rows)) in named {
            tables.population.push(row(Some(level.into()), false, rows, positive(word)));
        }
        if let Some(missing) = counts.ungrouped.get(&MISSING) {
            tables.population.push(row(None, false, missing, positive(MISSING)));
        }
        if !others.is_empty() {
            let mut sum = GroupFactualCounts::default();
            others.iter().for_each(|(_, rows)| sum.absorb(rows));
            let positive = others.iter().map(|(word, _)| positive(*word)).sum();
            tables.population.push(row(Some("".into()), false, &sum, positive));
        }
    }

    /// Adds the rows of a set to the table of the population: for each group, the number of rows
    /// without a valid counterfactual with a score, in the direction with the largest number.
    pub(crate) fn population_of_set(
        &self,
        n_tested: impl Fn(usize, usize) -> u64,
        tables: &mut ResultTables,
    ) {
        if !self.slice.is_empty() || !self.audit.arm.is_empty() || !self.class.is_empty() {
            return;
        }
        let sensitive = &self.layout.attributes[self.audit.attribute].name;
        for from in 0..self.n_groups() {
            let group = self.group(from);
            let rows = tables.population.iter().find(|row| {
                row.is_of_model(&self.audit.model)
                    && row.sensitive == *sensitive
                    && row.group.as_ref().is_some_and(|name| name == group)
            });
            // The table of groups leaves out rows of weight 0. Amounts have no table of groups, and
            // their rows all have a positive weight.
            let counted = tables.groups.iter().find(|row| {
                row.model == self.audit.model
                    && row.sensitive == *sensitive
                    && row.group == group
                    && row.slice.is_empty()
            });
            let Some(rows) = rows.map(|row| row.rows) else { continue };
            let counted = counted.map_or(rows, |row| row.n);
            let n_tested =
                (0..self.n_groups()).filter(|&to| to != from).map(|to| n_tested(from, to));
            let lacking = n_tested.map(|n| (counted - whole(n)).max(0)).max();
            tables.population.push(PopulationRow {
                state: AUDITED.into(),
                sensitive: sensitive.as_str().into(),
                group: Some(group.into()),
                declared: true,
                model: Some(self.audit.model.as_str().into()),
                counterfactual: self.audit.set.as_deref().map(SharedText::from),
                rows,
                without_counterfactual: lacking,
                ..PopulationRow::default()
            });
        }
    }

    /// Adds the counts of counterfactuals.
    pub(crate) fn counterfactual_counts(
        &self,
        counts: &CounterfactualCounts,
        tables: &mut ResultTables,
    ) {
        let (rows, places) = (counts.cell_profiles(), counts.scope_index());
        let people = |from, to| &rows[places.direction(from, to)];
        let cells = |units: &UnitSums| {
            let weights = counts.is_weighted().then(|| Eccm(units.weight()));
            (units.eccm(), weights)
        };
        for (from, to) in self.directions() {
            let sums = counts.shift(from, to);
            let cells = (cells(people(from, to)), counts.rounded(Some((from, to))));
            self.eccm_rows(cells, sums, "direction", (Some(from), Some(to)), tables);
            if !self.audit.scoreless {
                self.histogram_rows(counts, (from, to), tables);
                if let Some(bins) = &counts.bins {
                    self.shift_rows(DRAWN_SIDES, bins.drawn(from, to), (from, to), tables);
                }
            }
        }
        let total = (cells(&rows[places.total()]), counts.rounded(None));
        self.eccm_rows(total, &counts.shift_total(), "total", (None, None), tables);
        self.missing_scores(counts, tables);
        self.population_of_set(|from, to| people(from, to).n_rows(|_| true), tables);
    }

    /// Adds the number of counterfactuals without a score to the table of groups, over all sets.
    pub(crate) fn missing_scores(&self, counts: &CounterfactualCounts, tables: &mut ResultTables) {
        for from in 0..self.n_groups() {
            let missing = whole(counts.n_missing_score(from));
            let attribute = &self.layout.attributes[self.audit.attribute].name;
            for row in &mut tables.groups {
                let is_own = row.group == self.group(from) || row.group.is_empty();
                let is_here = row.model == self.audit.model && row.sensitive == *attribute;
                if is_here && is_own && row.slice == self.slice {
                    row.n_missing_counterfactual_score += missing;
                }
            }
        }
    }

    /// Adds the cells of people, with the sums of their weights if there are any, and with the
    /// switches that come from rounding.
    fn eccm_rows(
        &self,
        ((people, weights), rounded): ((Eccm, Option<Eccm>), [Eccm; 2]),
        sums: &ShiftSums,
        scope: &str,
        groups: (Option<usize>, Option<usize>),
        tables: &mut ResultTables,
    ) {
        let unlabelled = people.n() > people.n_labelled();
        for (i, cell) in CELLS.iter().enumerate() {
            let label = match (&self.layout.label, cell.label) {
                (None, Some(_)) => continue,
                (Some(_), None) if !unlabelled => continue,
                (_, None) => "",
                (_, Some(true)) => "1",
                (_, Some(false)) => "0",
            };
            let bit = |b: bool| if b { "1" } else { "0" };
            tables.counts.push(CountRow {
                key: self.key(scope, groups.0, groups.1),
                label: label.into(),
                predicted: bit(cell.predicted).into(),
                predicted_cf: bit(cell.predicted_cf).into(),
                n: whole(people.0[i]),
                weight: self.weight(weights.map(|weights| weights.0[i])),
                shift_sq: Some(sums.squared[i].units()),
                n_rounded: Some(whole(rounded[0].0[i])),
                weight_rounded: self.weight(weights.map(|_| rounded[1].0[i])),
            });
        }
    }

    /// Adds histograms of a direction under these names.
    fn shift_rows(
        &self,
        names: [&str; 3],
        sides: [Vec<DrawnBin>; 3],
        (from, to): (usize, usize),
        tables: &mut ResultTables,
    ) {
        let key = self.key("direction", Some(from), Some(to));
        for (name, bins) in names.into_iter().zip(sides) {
            tables.shift.extend(bins.into_iter().map(|(bin_lo, bin_hi, n, weight)| {
                ScoreShiftRow {
                    key: key.clone(),
                    class: self.class.into(),
                    side: name.into(),
                    bin_lo,
                    bin_hi,
                    n: whole(n),
                    weight: self.weight(weight),
                }
            }));
        }
    }

    /// Adds the histograms of a direction, in bins that are the same for all data.
    pub(crate) fn histogram_rows(
        &self,
        counts: &CounterfactualCounts,
        (from, to): (usize, usize),
        tables: &mut ResultTables,
    ) {
        let (people, weights) = (counts.shift(from, to), counts.weight_shift(from, to));
        let side = |bins: fn(&ShiftSums) -> &[u64], edges: &[f64]| {
            let weight = |i: usize| weights.map(|sums| bins(sums)[i]);
            let bin = |(i, &n): (usize, &u64)| (edges[i], edges[i + 1], n, weight(i));
            bins(people).iter().enumerate().map(bin).collect()
        };
        let sides = [
            side(|bins| &bins.before, &SCORE_EDGES),
            side(|bins| &bins.after, &SCORE_EDGES),
            side(|bins| &bins.change, &CHANGE_EDGES),
        ];
        let names = ["original", "counterfactual", "change"];
        self.shift_rows(names, sides, (from, to), tables);
    }
}
