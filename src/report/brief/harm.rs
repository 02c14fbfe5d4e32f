//! Who would be decided otherwise as members of another group: the values that the brief ranks,
//! draws and puts into sentences.
//!
//! Ranked by harm: the lower end of the interval times the people of the denominator. One result
//! speaks for a model, set and attribute: that of the reference group, unless another harms twice
//! as many. A group is called worse off only where the column `impaired_group` of `metrics` names
//! it, which follows from the rule `impaired` of the metric's record
//! ([`ImpairedGroupRule`](crate::metric::ImpairedGroupRule)).

use std::collections::{BTreeMap, BTreeSet};

use minijinja::context;
use minijinja::value::Value;
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
use crate::report::read::tally::WeightedCount;
use crate::table::MetricRow;
use crate::table::deciding_range::DecidingRange;
use crate::text::fact;

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
    /// The group that is worse off, where the tables name one and no other result speaks against
    /// it.
    pub(crate) worse: Option<CalledGroup>,
    /// Whether the tables name a group, but another one by other results of the same test.
    pub(crate) contested: bool,
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

/// Of the shares who are harmed in slices the one whose interval begins highest, and of how many it
/// was chosen; none where it may be 0 by chance.
pub(crate) fn in_slices(audit: &AuditFolder, voice: &AuditVoice<'_>) -> Option<Value> {
    let slices = audit.without_arms().filter(|(key, _)| !key.slice.is_empty());
    let slices = slices.filter(|(key, _)| key.class.is_empty() && key.scope == "direction");
    let rates = slices.flat_map(|(key, values)| {
        HARM.iter().filter_map(move |metric| Some((key, *metric, values.get(*metric)?)))
    });
    let sure: Vec<_> =
        rates.filter_map(|(key, metric, of)| Some((key, metric, of, of.ends()?.0))).collect();
    let (key, metric, measure, _) =
        sure.iter().copied().reduce(|worst, next| if next.3 > worst.3 { next } else { worst })?;
    let (level, value) = (audit.manifest.level.get(), measure.value?);
    if joint_ends(value, measure.ends()?, level, sure.len()).0 <= 0.0 {
        return None;
    }
    let pair = (key.from.as_str(), key.to.as_str());
    let who = voice.switch_label(side_of(metric), &key.attribute, pair);
    Some(context! {
        slice => key.slice.as_str(), who, value, ends => fact(&measure.ends()),
        counts => fact(&measure.counts()), model => fact(&voice.called_model(&key.model)),
        set => fact(&voice.called_set(&key.set)), of => sure.len(),
    })
}

/// The metrics of switches, with their sides: by the side that people want where the job names it,
/// else by the prediction; of several classes whether the class is another one.
fn metrics(classes: bool, voice: &AuditVoice<'_>) -> Vec<(&'static str, SwitchSide)> {
    if classes {
        return vec![("sr", SwitchSide::Either)];
    }
    match voice.decision() {
        DecisionVoice::Predicted { .. } => {
            vec![("psr", SwitchSide::Gained), ("nsr", SwitchSide::Lost)]
        }
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
        contested: false,
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
    let mut found =
        of_measures(voice, &metrics(audit.classes.are_there(), voice), audit.measures());
    found.iter_mut().zip(0..).for_each(|(result, number)| result.number = number);
    let mut pairs: BTreeMap<ResultKey, Vec<&HarmResult>> = BTreeMap::new();
    let pair = |key: &ResultKey| key.clone().min(opposite(key));
    found.iter().for_each(|result| pairs.entry(pair(&result.key)).or_default().push(result));
    let contested = pairs.values().flat_map(|pair| {
        pair.iter().filter(|own| is_contested(audit, pair, own)).map(|own| own.number)
    });
    let contested: BTreeSet<usize> = contested.collect();
    for result in found.iter_mut().filter(|result| contested.contains(&result.number)) {
        (result.worse, result.contested) = (None, true);
    }
    found
}

/// The difference of a metric between the direction of a result and the opposite one, and the sign
/// that it has seen from this direction.
pub(crate) fn difference<'a>(
    audit: &'a AuditFolder,
    direction: &ResultKey,
    metric: &str,
) -> Option<(&'a MetricRow, f64)> {
    let key = ResultKey { scope: "difference".to_owned(), ..direction.clone() };
    let turned = opposite(&key);
    [(key, 1.0), (turned, -1.0)]
        .iter()
        .find_map(|(key, sign)| Some((audit.measure(key, metric)?, *sign)))
}

/// Whether other results of the test name the other of its two groups, and the differences
/// between the directions do not say that they weigh less: people of either group would then gain
/// as members of the other, which shows no group that is treated worse.
fn is_contested(audit: &AuditFolder, pair: &[&HarmResult], own: &HarmResult) -> bool {
    let Some(worse) = &own.worse else { return false };
    let differences = pair.iter().filter_map(|other| difference(audit, &own.key, other.metric));
    let named = differences.map(|(measure, _)| measure.impaired_group.as_str());
    let named: BTreeSet<&str> = named.filter(|group| !group.is_empty()).collect();
    let speaks_against = |other: &&HarmResult| other.worse.as_ref().is_some_and(|of| of != worse);
    pair.iter().any(speaks_against) && named != BTreeSet::from([worse.name.as_str()])
}

/// The key of the opposite direction.
fn opposite(key: &ResultKey) -> ResultKey {
    ResultKey { from: key.to.clone(), to: key.from.clone(), ..key.clone() }
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
    let [keep, lose, gain, without] = switch_cells(audit, key)?.map(|cell| cell.n);
    Some(SwitchCounts { keep, lose, gain, without })
}

/// Who keeps, loses, gains and never has the favourable decision in a direction.
pub(crate) fn switch_cells(audit: &AuditFolder, key: &ResultKey) -> Option<[WeightedCount; 4]> {
    let direction = ResultKey { scope: "direction".to_owned(), ..key.clone() };
    let [[negative, to_positive], [to_negative, positive]] = audit.cells(&direction)?.all();
    Some(match audit.manifest.favourable_is_positive() {
        Some(false) => [negative, to_positive, to_negative, positive],
        _ => [positive, to_negative, to_positive, negative],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::manifest::{AttributeWords, LabelWords, Manifest};
    use crate::tests::TextRow;

    /// A manifest whose job says, or does not, that people want the positive decision.
    fn manifest(says: bool) -> Manifest {
        let label = LabelWords { favourable_is_positive: true, ..LabelWords::default() };
        let attribute = AttributeWords { name: "sex".to_owned(), ..AttributeWords::default() };
        let label = says.then_some(label);
        Manifest { label, attributes: vec![attribute], ..Manifest::default() }
    }

    /// A value of women as men by these cells.
    fn of(metric: &'static str, cells: &str) -> Option<HarmResult> {
        let manifest = manifest(true);
        let voice = AuditVoice::new(&manifest, false);
        let key = ResultKey::new(["m", "flip", "sex"], "direction", ["F", "M"]);
        result(&voice, &key, (metric, side_of(metric)), &MetricRow::of(cells))
    }

    /// What a result is, in words.
    fn told(of: Option<HarmResult>) -> String {
        let Some(of) = of else { return "none".to_owned() };
        let counts = of.counts.map_or_else(String::new, |(n, all)| format!(" {n}/{all}"));
        let nobody = if of.nobody { " nobody" } else { "" };
        let worse = of.worse.as_ref().map_or("nobody named", |group| group.name.as_str());
        let noise = of.placebo.map_or_else(String::new, |(_, hi)| format!(" noise {hi}"));
        let low = |n| of.lower_end_of(n).map_or_else(|| "-".to_owned(), |lo| format!("{lo:.4}"));
        let clear: Vec<usize> = (1..=3).filter(|n| of.is_clear_of(*n)).collect();
        let (people, all, harmed) = (of.people(), of.whole, of.harmed);
        format!(
            "{:?}: {people} of {all}{counts}{nobody}{noise}; {worse}; harmed {harmed:.2}; from {} \
             {} {}; clear {clear:?}",
            of.side,
            low(1),
            low(2),
            low(3)
        )
    }

    /// Cells of a value, and what the result is: people, who is worse off, how many are harmed at
    /// least, the lower end as the largest of 1, 2 and 3, and among how many it is clear. The ends
    /// of 10 of 40 (0.1140 at 97.5 %) and 5 of 20 (0.0727) follow from the binomial distribution.
    #[test]
    fn what_a_value_says_of_harm() {
        let part = "value=0.25, numerator=10, denominator=40";
        let ends = "lo=0.14, hi=0.4, level=0.95";
        let named = "impaired_group=F, interval=wilson";
        for (metric, cells, expected) in [
            (
                HARM[0],
                format!("{part}, {ends}, {named}"),
                "Gained: 10 of 40 10/40; F; harmed 5.60; from 0.1400 0.1140 0.1074; clear [1, 2, 3]",
            ),
            // The other side, noise between the ends, and a normal interval.
            (
                HARM[1],
                format!("{part}, {ends}, impaired_group=M, placebo_lo=0.01, placebo_hi=0.125"),
                "Lost: 10 of 40 10/40 noise 0.125; M; harmed 5.60; from 0.1400 0.1242 0.1156; \
                 clear [1]",
            ),
            // As much as chance gives is no harm; a band without width is no noise.
            (
                HARM[0],
                format!("{part}, {ends}, placebo_lo=0.01, placebo_hi=0.14"),
                "Gained: 10 of 40 10/40 noise 0.14; nobody named; harmed 0.00; from 0.1400 0.1242 \
                 0.1156; clear []",
            ),
            (
                HARM[0],
                format!("{part}, {ends}, placebo_lo=0.2, placebo_hi=0.2"),
                "Gained: 10 of 40 10/40; nobody named; harmed 5.60; from 0.1400 0.1242 0.1156; \
                 clear [1, 2, 3]",
            ),
            // Of weights the effective number of cases counts.
            (
                HARM[0],
                format!("{part}, {ends}, interval=wilson-eff, n_eff=20"),
                "Gained: 10 of 40 10/40; nobody named; harmed 5.60; from 0.1400 0.0727 0.0659; \
                 clear [1, 2, 3]",
            ),
            // A normal end is not below 0; without an interval nothing speaks against it.
            (
                HARM[0],
                "value=0.1, numerator=4, denominator=40, lo=0.001, hi=0.2, level=0.95".to_owned(),
                "Gained: 4 of 40 4/40; nobody named; harmed 0.04; from 0.0010 0.0000 0.0000; clear \
                 [1]",
            ),
            (
                HARM[0],
                part.to_owned(),
                "Gained: 10 of 40 10/40; nobody named; harmed 0.00; from - - -; clear [1, 2, 3]",
            ),
            // No group is named by a small one, and by all switches of several classes.
            (
                HARM[0],
                format!("{part}, {ends}, {named}, flags=small_denominator"),
                "Gained: 10 of 40 10/40; nobody named; harmed 5.60; from 0.1400 0.1140 0.1074; \
                 clear [1, 2, 3]",
            ),
            (
                "sr",
                format!("{part}, {ends}, {named}"),
                "Either: 10 of 40 10/40; nobody named; harmed 5.60; from 0.1400 0.1140 0.1074; \
                 clear [1, 2, 3]",
            ),
            // Of graphs the mean, rounded; people without weight switch.
            (
                HARM[0],
                "value=0.163, denominator=40, n_worlds=5, lo=0.1, hi=0.2".to_owned(),
                "Gained: 7 of 40; nobody named; harmed 4.00; from - - -; clear [1, 2, 3]",
            ),
            (
                HARM[0],
                "value=0, numerator=2, denominator=40".to_owned(),
                "Gained: 2 of 40 2/40; nobody named; harmed 0.00; from - - -; clear [1, 2, 3]",
            ),
            (
                HARM[0],
                "value=0, numerator=0, denominator=40".to_owned(),
                "Gained: 0 of 40 0/40 nobody; nobody named; harmed 0.00; from - - -; clear [1, 2, \
                 3]",
            ),
            (
                HARM[0],
                "value=0, denominator=40, n_worlds=5".to_owned(),
                "Gained: 0 of 40 nobody; nobody named; harmed 0.00; from - - -; clear [1, 2, 3]",
            ),
            // No value, no cases, and a value that is no share.
            (HARM[0], "numerator=1, denominator=40".to_owned(), "none"),
            (HARM[0], "value=0.5, numerator=0, denominator=0".to_owned(), "none"),
            (HARM[0], "value=0.5, denominator=40".to_owned(), "none"),
        ] {
            assert_eq!(told(of(metric, &cells)), expected, "{cells}");
        }
    }

    /// Without a favourable side the prediction names the sides.
    #[test]
    fn sides_are_those_that_people_want_or_of_the_prediction() {
        assert_eq!(HARM.map(side_of), [SwitchSide::Gained, SwitchSide::Lost]);
        assert_eq!(side_of("psr"), SwitchSide::Either);
        let told = |says: bool, classes: bool| {
            let manifest = manifest(says);
            metrics(classes, &AuditVoice::new(&manifest, classes))
        };
        use SwitchSide::{Gained, Lost};
        assert_eq!(told(true, false), [(HARM[0], Gained), (HARM[1], Lost)]);
        assert_eq!(told(false, false), [("psr", Gained), ("nsr", Lost)]);
        assert_eq!(told(true, true), [("sr", SwitchSide::Either)]);
    }

    /// Most harm first, then the higher share, then the order of the tables; of each direction the
    /// first.
    #[test]
    fn results_are_ranked_by_harm() {
        let one = |number: usize, harmed: f64, value: f64, from: &str| {
            let cells = format!("value={value}, numerator=1, denominator=40");
            let mut of = of(HARM[0], &cells).unwrap();
            from.clone_into(&mut of.key.from);
            HarmResult { number, harmed, ..of }
        };
        let all = [
            one(3, 2.0, 0.1, "a"),
            one(2, 2.0, 0.3, "b"),
            one(1, 2.0, 0.1, "b"),
            one(0, 5.0, 0.0, "a"),
        ];
        let numbers = |of: Vec<&HarmResult>| of.iter().map(|of| of.number).collect::<Vec<_>>();
        assert_eq!(numbers(ranked(&all)), [0, 2, 1, 3]);
        assert_eq!(numbers(directions(&all)), [0, 2]);
    }

    /// The reference speaks unless another harms twice as many.
    #[test]
    fn the_reference_speaks() {
        let of = |ranked: &[(f64, bool)]| speaks(ranked, |of| of.1, |of| of.0).copied();
        assert_eq!(of(&[(10.0, false), (5.0, true)]), Some((10.0, false)));
        assert_eq!(of(&[(9.9, false), (5.0, true)]), Some((5.0, true)));
        assert_eq!(of(&[(0.0, false), (0.0, true)]), Some((0.0, true)));
        assert_eq!(of(&[(3.0, false), (2.0, false)]), Some((3.0, false)));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn second_intervals_are_said_once() {
        let one = |cells: &str| {
            let of = of(HARM[0], &format!("value=0.1, numerator=4, denominator=40, {cells}"));
            of.unwrap()
        };
        let fits = "fit_lo=0.05, fit_hi=0.2, fit_repeats=20";
        let all = [one(fits), one(fits), one("lo=0.1")];
        assert_eq!(seconds(&all), [DecidingRange::FITS.other]);
        assert_eq!(all[0].point.second, Some((0.05, 0.2)));
    }
}
