//! Who would be decided otherwise as members of another group: the values that the brief ranks,
//! draws and puts into sentences.
//!
//! Ranked by harm: the lower end of the interval times the people of the denominator. One result
//! speaks for a model, set and attribute: that of the reference group, unless another harms twice
//! as many. A group is called worse off only where the column `impaired_group` of `metrics` names
//! it, which follows from the rule `impaired` of the metric's record
//! ([`ImpairedGroupRule`](crate::metric::ImpairedGroupRule)).

use std::collections::BTreeSet;

use serde::Serialize;

use crate::metric::catalog::ccm::HARM;
use crate::metric::interval::{IntervalProcedure, clopper_pearson_lower};
use crate::metric::value::largest::{joint_ends, joint_level};
use crate::report::brief::voice::{
    AuditVoice, CalledAttribute, CalledGroup, CalledModel, CalledSet, DecisionVoice,
};
use crate::report::draw::panel::SwitchCounts;
use crate::report::draw::plot::{PlotPoint, SwitchSide};
use crate::report::read::audit::AuditFolder;
use crate::report::read::grouped::grouped;
use crate::report::read::judged::JudgedValue;
use crate::report::read::panel::{MetricValues, ResultKey};
use crate::table::MetricRow;
use crate::table::deciding_range::DecidingRange;

/// The share of some people of a group who would be decided otherwise as members of another.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct HarmResult {
    /// Where it is in the tables.
    #[serde(skip)]
    pub(crate) key: ResultKey,
    /// What it is about, as sentences call it.
    pub(crate) model: CalledModel,
    pub(crate) set: CalledSet,
    pub(crate) attribute: CalledAttribute,
    pub(crate) from: CalledGroup,
    pub(crate) to: CalledGroup,
    /// The metric.
    pub(crate) metric: &'static str,
    /// Whether they would lose or gain the favourable decision.
    pub(crate) side: SwitchSide,
    /// The share with its intervals.
    pub(crate) point: PlotPoint,
    /// What its second interval is over; none where it has none.
    pub(crate) second: Option<DecidingRange>,
    /// Who would switch, of how many; none where graphs differ.
    pub(crate) counts: Option<(i64, i64)>,
    /// The number of people.
    pub(crate) whole: i64,
    /// The result of shuffled groups.
    pub(crate) placebo: Option<(f64, f64)>,
    /// The group that is worse off, where the tables name one.
    pub(crate) worse: Option<CalledGroup>,
    /// People harmed at least; 0 where the interval does not leave out what chance gives.
    pub(crate) harmed: f64,
    /// Whether shares are weighted.
    pub(crate) weighted: bool,
    /// Whether no person switches: people without weight may switch although the share is 0.
    pub(crate) nobody: bool,
    /// Level of its interval; none without one.
    level: Option<f64>,
    /// The number of cases of its interval, where it is Wilson's.
    cases: Option<f64>,
    /// Its number in the table of all results of the annex.
    pub(crate) number: usize,
}

impl HarmResult {
    /// Its row in the annex.
    pub(crate) fn anchor(&self) -> String {
        format!("all-{}", self.number)
    }

    /// The value that a limit on it judges.
    pub(crate) fn judged(&self) -> JudgedValue {
        JudgedValue::of(self.key.clone(), self.metric)
    }

    /// How many people would switch; of graphs the mean, rounded as the page prints it.
    pub(crate) fn people(&self) -> i64 {
        let mean = || (self.point.value * self.whole as f64).round() as i64;
        self.counts.map_or_else(mean, |(part, _)| part)
    }

    /// The lower end of its interval as the largest of several results: each of them may be
    /// overestimated, so all must hold together (Bonferroni). None without an interval.
    pub(crate) fn lower_end_of(&self, compared: usize) -> Option<f64> {
        let ((lo, hi), level) = self.point.interval.zip(self.level)?;
        if compared < 2 {
            return Some(lo);
        }
        Some(match self.cases {
            // Far out the tail of Wilson's interval is short.
            Some(cases) => {
                let joint = joint_level(level, compared);
                clopper_pearson_lower(self.point.value, cases, joint).min(lo)
            }
            None => joint_ends(self.point.value, (lo, hi), level, compared).0.max(0.0),
        })
    }

    /// Whether it is beyond what noise gives even as the largest of several results.
    pub(crate) fn is_clear_of(&self, compared: usize) -> bool {
        let noise = self.placebo.map_or(0.0, |(_, hi)| hi);
        self.lower_end_of(compared).is_none_or(|lo| lo > noise)
    }
}

/// What switches of a metric are.
pub(crate) fn side_of(metric: &str) -> SwitchSide {
    match HARM.iter().position(|harm| *harm == metric) {
        Some(0) => SwitchSide::Gained,
        Some(_) => SwitchSide::Lost,
        None => SwitchSide::Either,
    }
}

/// The metrics of switches, with their sides: by the side that people want where the job names it,
/// else by the prediction; of several classes whether the class is another one.
fn metrics(audit: &AuditFolder, voice: &AuditVoice<'_>) -> Vec<(&'static str, SwitchSide)> {
    if audit.classes.are_there() {
        return vec![("sr", SwitchSide::Either)];
    }
    match voice.decision() {
        DecisionVoice::Predicted => vec![("psr", SwitchSide::Gained), ("nsr", SwitchSide::Lost)],
        _ => HARM.map(|metric| (metric, side_of(metric))).to_vec(),
    }
}

/// A value of a metric that is a share, as a result; none where it has no value or no cases.
pub(crate) fn result(
    voice: &AuditVoice<'_>,
    key: &ResultKey,
    (metric, side): (&'static str, SwitchSide),
    measure: &MetricRow,
) -> Option<HarmResult> {
    let point = point(measure)?;
    let has_whole = measure.numerator.is_some() || measure.n_worlds.is_some();
    let whole = measure.denominator.filter(|whole| has_whole && *whole > 0)?;
    let placebo = measure.placebo().filter(|(lo, hi)| lo < hi);
    let least = measure.ends().map_or(0.0, |(lo, _)| lo);
    let noise = placebo.map_or(0.0, |(_, hi)| hi);
    let impaired = measure.impaired_group.as_str();
    let is_named = !impaired.is_empty() && metric != "sr" && !measure.is_small();
    let group = |name: &str| voice.called_group(&key.attribute, name);
    Some(HarmResult {
        model: voice.called_model(&key.model),
        set: voice.called_set(&key.set),
        attribute: voice.called_attribute(&key.attribute),
        from: group(&key.from),
        to: group(&key.to),
        key: key.clone(),
        metric,
        side,
        point,
        second: measure.second().map(|second| second.1),
        counts: measure.counts(),
        whole,
        placebo,
        worse: is_named.then(|| group(impaired)),
        nobody: point.value == 0.0 && measure.counts().is_none_or(|(part, _)| part == 0),
        harmed: if least > noise { least * whole as f64 } else { 0.0 },
        weighted: measure.is_weighted(),
        level: measure.level,
        cases: match measure.interval.as_str() {
            method if method == IntervalProcedure::Wilson.as_str() => {
                measure.counts().map(|(_, whole)| whole as f64)
            }
            method if method == IntervalProcedure::WilsonEffective.as_str() => measure.n_eff,
            _ => None,
        },
        number: 0,
    })
}

/// All results of the plain audit, numbered in the order of the tables: measured for whole classes,
/// where there are any, the metric stands with them.
pub(crate) fn all(audit: &AuditFolder, voice: &AuditVoice<'_>) -> Vec<HarmResult> {
    let mut found = of_measures(voice, &metrics(audit, voice), audit.measures());
    found.iter_mut().zip(0..).for_each(|(result, number)| result.number = number);
    found
}

/// The results of these metrics among some values, in their order.
pub(crate) fn of_measures<'m>(
    voice: &AuditVoice<'_>,
    metrics: &[(&'static str, SwitchSide)],
    measures: impl Iterator<Item = (&'m ResultKey, &'m MetricValues)>,
) -> Vec<HarmResult> {
    let mut found: Vec<HarmResult> = Vec::new();
    for (key, values) in measures.filter(|(key, _)| key.scope == "direction") {
        for of in metrics {
            found.extend(values.get(of.0).and_then(|measure| result(voice, key, *of, measure)));
        }
    }
    found
}

/// A value with its intervals, as it is drawn; none where it is undefined.
pub(crate) fn point(of: &MetricRow) -> Option<PlotPoint> {
    let second = of.second().map(|second| second.0);
    Some(PlotPoint { value: of.value?, interval: of.ends(), second })
}

/// What the second intervals of results are over; empty where none has one.
pub(crate) fn seconds<'r>(results: impl IntoIterator<Item = &'r HarmResult>) -> Vec<&'static str> {
    let seconds = results.into_iter().filter_map(|result| result.second);
    let words: BTreeSet<&str> = seconds.map(|range| range.other).collect();
    words.into_iter().collect()
}

/// The results in order: those that harm most people first, among equals the higher share, then as
/// in the tables.
pub(crate) fn ranked(results: &[HarmResult]) -> Vec<&HarmResult> {
    let mut ranked: Vec<&HarmResult> = results.iter().collect();
    ranked.sort_by(|a, b| {
        b.harmed
            .total_cmp(&a.harmed)
            .then(b.point.value.total_cmp(&a.point.value))
            .then(a.number.cmp(&b.number))
    });
    ranked
}

/// A result of each direction, those that harm most people first.
pub(crate) fn directions(results: &[HarmResult]) -> Vec<&HarmResult> {
    let mut known = BTreeSet::new();
    ranked(results).into_iter().filter(|result| known.insert(&result.key)).collect()
}

/// The result that speaks for each model, set and attribute, worst first.
pub(crate) fn findings<'r>(audit: &AuditFolder, results: &'r [HarmResult]) -> Vec<&'r HarmResult> {
    let of_reference = |result: &&HarmResult| {
        let words = audit.manifest.attribute(&result.key.attribute);
        words.is_some_and(|of| [&result.key.from, &result.key.to].contains(&&of.reference))
    };
    let panel = |key: &'r ResultKey| [&key.model, &key.set, &key.attribute];
    let all = grouped(ranked(results).into_iter().map(|result| (panel(&result.key), result)));
    let speaks = |of: &Vec<&'r HarmResult>| speaks(of, of_reference, |of| of.harmed).copied();
    let mut found: Vec<&HarmResult> = all.iter().filter_map(|(_, of)| speaks(of)).collect();
    found.sort_by(|a, b| b.harmed.total_cmp(&a.harmed));
    found
}

/// The one of several that harm, worst first, that represents all: it is about the reference group,
/// unless another harms twice as many.
pub(super) fn speaks<T>(
    ranked: &[T],
    is_of_reference: impl Fn(&T) -> bool,
    harmed: impl Fn(&T) -> f64,
) -> Option<&T> {
    let worst = ranked.first()?;
    let most = harmed(worst);
    let main = ranked.iter().find(|of| is_of_reference(of));
    Some(main.filter(|of| most < 2.0 * harmed(of) || most <= 0.0).unwrap_or(worst))
}

/// Who keeps, loses and gains the favourable decision in a direction; none without counts.
pub(crate) fn switches(audit: &AuditFolder, key: &ResultKey) -> Option<SwitchCounts> {
    let direction = ResultKey { scope: "direction".to_owned(), ..key.clone() };
    let [[negative, to_positive], [to_negative, positive]] = audit.cells(&direction)?.all();
    Some(if audit.manifest.favourable_is_positive() == Some(false) {
        SwitchCounts {
            keep: negative.n,
            lose: to_positive.n,
            gain: to_negative.n,
            without: positive.n,
        }
    } else {
        SwitchCounts {
            keep: positive.n,
            lose: to_negative.n,
            gain: to_positive.n,
            without: negative.n,
        }
    })
}
