//! The main sentence of the page as facts, worded in `hero.html`;
//! [`hero_chart`](crate::report::brief::hero_chart) draws it.
//!
//! It is about the worst finding among those that a broken limit judges; if no limit is broken, the
//! worst of all. That rows are made up, or scores awaited, is said first. A group is said to be
//! treated worse only where the tables name it, and *treats* is said only of sets that change
//! nothing but the entry.
//!
//! This finding is chosen as the largest of m compared values, and the largest is overestimated
//! most. So its lower end is the one at the level 1 - alpha / m, and the sentence says so; without
//! a limit there is no such sentence if that end is within what chance gives. With 40 independent
//! results and no difference the ordinary interval of the largest misses in 62 % of audits.

use std::collections::BTreeSet;

use minijinja::context;
use minijinja::value::Value;

use crate::report::brief::harm::{HarmResult, difference, findings, ranked};
use crate::report::brief::inputs::BriefInputs;
use crate::report::brief::limit_part::LimitPart;
use crate::report::brief::limits::{self, AuditLimit};
use crate::report::brief::shares::{ClearGap, GroupFavourableShare, ModelShares, error_gap};
use crate::report::brief::voice::CalledGroup;
use crate::report::page::number::NumberFormat;
use crate::report::read::judged::JudgedValue;
use crate::report::read::panel::ResultKey;
use crate::report::read::quality::FeatureQuality;
use crate::report::section::graphs::knowledge::stated_knowledge;
use crate::report::section::recourse;
use crate::table::deciding_range::DecidingRange;
use crate::table::recourse::UNFAIR_SUBGROUPS;
use crate::text::fact;

/// Below this many people of a group the page says how few they are.
const FEW_PEOPLE: i64 = 50;

/// What the page says first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeroFinding<'a> {
    /// What was found.
    pub(crate) subject: HeroSubject<'a>,
    /// The limit that judges it.
    pub(crate) limit: Option<&'a AuditLimit>,
    /// The number of values of which it is the largest.
    compared: usize,
}

/// What a finding is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum HeroSubject<'a> {
    /// Who would be decided otherwise.
    Switch(&'a HarmResult),
    /// Two groups of which one clearly gets the favourable decision less often.
    Gap(&'a ModelShares, ClearGap<'a>),
    /// Everybody who would be decided otherwise, where a limit judges it.
    Total,
    /// What a limit judges otherwise.
    Limit,
    /// No decision would change in any test.
    Nobody,
    /// No difference is clear.
    NothingClear,
    /// Nothing was measured that could be a finding.
    Nothing,
}

impl HeroFinding<'_> {
    /// Whether it is clear also where it is the largest of several values.
    fn is_clear_of(&self, compared: usize) -> bool {
        match &self.subject {
            HeroSubject::Switch(result) => result.is_clear_of(compared),
            HeroSubject::Gap(_, gap) => gap.is_clear_of(compared),
            _ => true,
        }
    }

    /// How many people it harms at least.
    fn harmed(&self) -> f64 {
        match &self.subject {
            HeroSubject::Switch(result) => result.harmed,
            HeroSubject::Gap(_, gap) => gap.harmed,
            // For all people together no group is called worse off.
            _ => -1.0,
        }
    }
}

impl<'a> BriefInputs<'a> {
    /// What a limit judges: the part that decides. For a broken gate on harm also the other part,
    /// if it breaks the limit too and its group is named: a part that keeps the limit would say the
    /// opposite next to a broken one.
    fn judged(&self, limit: &'a AuditLimit) -> Vec<HeroFinding<'a>> {
        let mut found: Vec<HeroSubject<'a>> = Vec::new();
        let plain = limit.arm.is_empty() && limit.class.is_empty() && !limit.of_change;
        for (i, part) in limit.parts.iter().enumerate().filter(|_| plain) {
            let JudgedValue { key, metric } = &part.judged;
            let result = self.results.iter().find(|result| result.judged() == part.judged);
            if i > 0 {
                let broken = limit.verdict == "fail" && part.breaks;
                let other = result.filter(|result| broken && result.worse.is_some());
                found.extend(other.map(HeroSubject::Switch));
            } else if let Some(result) = result {
                found.push(HeroSubject::Switch(result));
            } else if metric == "di" || metric == "demp_difference" {
                let shares = self.shares.iter().find(|shares| {
                    (&shares.model.name, &shares.attribute.name) == (&key.model, &key.attribute)
                });
                let gap = shares.and_then(|shares| {
                    let gap = shares.clear_gap(self.audit)?;
                    let names = [gap.low, gap.high].map(GroupFavourableShare::name);
                    let same = [&key.from, &key.to].iter().all(|of| names.contains(&of.as_str()));
                    same.then_some(HeroSubject::Gap(shares, gap))
                });
                found.extend(gap);
            } else if metric == "sr" && key.from.is_empty() && part.counts.is_some() {
                found.push(HeroSubject::Total);
            }
        }
        if found.is_empty() {
            found.push(HeroSubject::Limit);
        }
        let finding = |subject| HeroFinding { subject, limit: Some(limit), compared: 1 };
        found.into_iter().map(finding).collect()
    }

    /// The worst of some findings; of equals the first.
    fn worst(&self, found: impl Iterator<Item = HeroFinding<'a>>) -> Option<HeroFinding<'a>> {
        found.fold(None, |worst, next| match worst {
            Some(worst) if worst.harmed() >= next.harmed() => Some(worst),
            _ => Some(next),
        })
    }

    /// What the page says first.
    pub(crate) fn choose_hero(&self) -> HeroFinding<'a> {
        for verdict in ["fail", "inconclusive"] {
            let of = self.limits.iter().filter(|limit| limit.verdict == verdict);
            let found: Vec<HeroFinding<'a>> = of.flat_map(|limit| self.judged(limit)).collect();
            if let Some(worst) = self.worst(found.iter().copied()) {
                // One that is not clear as the largest of several is what its limit says.
                let compared = found.len();
                let is_clear = worst.is_clear_of(compared);
                let subject = if is_clear { worst.subject } else { HeroSubject::Limit };
                return HeroFinding { subject, compared, ..worst };
            }
        }
        self.worst_of_all()
    }

    /// The worst finding, whether a limit judges it or not.
    pub(crate) fn worst_of_all(&self) -> HeroFinding<'a> {
        let compared = self.results.len();
        let switches = findings(self.audit, self.results).into_iter().filter(|r| r.harmed > 0.0);
        let switches = switches.map(|result| {
            let limit = limits::of_result(self.limits, result);
            HeroFinding { subject: HeroSubject::Switch(result), limit, compared }
        });
        // A switch is preferred to a gap, which has many causes.
        if let Some(worst) = self.worst(switches).filter(|worst| worst.is_clear_of(compared)) {
            return worst;
        }
        let compared = self.n_gaps();
        let subject = match self.worst_gap(None, compared) {
            _ if !self.results.is_empty() && self.results.iter().all(|result| result.nobody) => {
                HeroSubject::Nobody
            }
            Some((shares, gap)) => HeroSubject::Gap(shares, gap),
            None if self.results.is_empty() && self.shares.is_empty() => HeroSubject::Nothing,
            None => HeroSubject::NothingClear,
        };
        HeroFinding { subject, limit: None, compared }
    }

    /// Whether some gate judges a result: also a part of a gate on harm that is folded.
    fn is_judged(&self, result: &HarmResult) -> bool {
        let value = result.judged();
        self.limits.iter().any(|limit| limit.judges(&value))
    }

    /// From how many results one was chosen, whether it is the largest of all, and the largest
    /// where that is another one: of groups the reference is preferred, and of shares the people.
    fn chosen(&self, result: &HarmResult, compared: usize) -> Value {
        let highest = self.results.iter().map(|of| of.point.value).fold(0.0, f64::max);
        let is_largest = result.point.value >= highest;
        // A limit compares what it judges, all else all results.
        let are_all = compared == self.results.len() && !self.is_judged(result);
        let highest = Some(highest).filter(|_| are_all && !is_largest);
        context!(of => compared, is_largest, highest)
    }

    /// A result, and from how many it was chosen: the lower end is that of the largest.
    fn switch(&self, result: &HarmResult, compared: usize) -> Value {
        let ends = result.point.interval;
        let ends = ends.map(|(lo, hi)| (result.lower_end_of(compared).unwrap_or(lo), hi));
        context! {
            result => fact(result), ends => fact(&ends), chosen => self.chosen(result, compared),
        }
    }

    /// The facts of the sentence of the page.
    fn sentence(&self, finding: &HeroFinding<'_>) -> Value {
        let broken = self.limits.iter().any(|limit| limit.verdict == "fail");
        let none_broken = !broken && !self.limits.is_empty();
        let told = match (finding.subject, finding.limit) {
            (HeroSubject::Switch(result), limit) => context! {
                kind => "switch", switch => self.switch(result, finding.compared),
                opening => match limit {
                    Some(limit) if limit.verdict == "inconclusive" => undecided(limit, result),
                    _ if none_broken => "none_broken",
                    _ => "plain",
                },
                // Though there are limits.
                no_limit => !self.limits.is_empty() && !self.is_judged(result),
            },
            (HeroSubject::Gap(shares, gap), limit) => {
                let of_ratio = limit.filter(|limit| limit.kind == NumberFormat::Plain);
                let ratio = of_ratio.and_then(|limit| limit.parts.first());
                let ratio = ratio.filter(|part| part.value.is_some());
                let [low, high] = [gap.low, gap.high].map(fact);
                let (model, ratio) = (fact(&shares.model), fact(&ratio));
                context!(kind => "gap", model, low, high, ratio)
            }
            (HeroSubject::Total, _) => context!(kind => "total"),
            (HeroSubject::Limit, limit) => {
                let furthest = limit.and_then(|limit| self.furthest(limit));
                context!(kind => "limit", furthest)
            }
            (HeroSubject::Nobody, _) => self.nobody(),
            (HeroSubject::NothingClear, _) => {
                context!(kind => "nothing_clear", shares => fact(&self.unclear_shares()))
            }
            (HeroSubject::Nothing, _) => context!(kind => "nothing"),
        };
        let HeroFinding { limit, compared, .. } = *finding;
        let chosen = context!(of => compared, is_largest => false, highest => ());
        context!(limit => fact(&limit), none_broken, chosen, ..told)
    }

    /// Whether every test changes only the entry of the attribute: by its set, or because its set
    /// found no feature to change for anybody.
    fn only_entry(&self) -> bool {
        let keeps_all =
            |result: &HarmResult| self.unmoved(&result.key).is_some_and(|(same, all)| same >= all);
        self.results.iter().all(|result| result.set.only_entry || keeps_all(result))
    }

    fn nobody(&self) -> Value {
        let totals = || {
            let totals = self.audit.measures().filter(|(key, _)| key.scope == "total");
            totals.filter_map(|(key, values)| Some((key, values.get("sr")?)))
        };
        let whole = totals().filter_map(|(_, of)| of.counts()).map(|(_, whole)| whole).max();
        let all = || self.results.iter().map(|result| result.whole).max();
        let of_sets = totals().filter(|(key, _)| !key.set.is_empty());
        let ends = of_sets.filter_map(|(_, of)| of.ends());
        // What all people together leave open is far less than what a small group does.
        let end = |of: &HarmResult| of.point.interval.map_or(0.0, |(_, end)| end);
        let widest = self.results.iter().max_by(|a, b| end(a).total_cmp(&end(b)));
        context! {
            kind => "nobody", widest => fact(&widest.filter(|of| end(of) > 0.0)),
            whole => whole.or_else(all).unwrap_or(0),
            attribute => fact(&self.results.first().map(|result| &result.attribute)),
            highest => ends.map(|ends| ends.1).fold(0.0, f64::max), only_entry => self.only_entry(),
        }
    }

    /// The shares of two groups that do not clearly differ, where nothing else was measured.
    fn unclear_shares(&self) -> Option<&'a [GroupFavourableShare; 2]> {
        let [ModelShares { groups, .. }] = self.shares else { return None };
        groups.as_slice().try_into().ok().filter(|_| self.results.is_empty())
    }

    /// For a limit on the groups that are furthest apart, the highest and the lowest, and of what;
    /// none of others.
    fn furthest(&self, limit: &AuditLimit) -> Option<Value> {
        let JudgedValue { key, metric } = &limit.parts.first()?.judged;
        let measure = self.audit.measure(key, metric).filter(|_| key.scope == "worst_case")?;
        let ends = [&measure.highest_group, &measure.lowest_group];
        let named = ends.iter().all(|group| !group.is_empty());
        let groups = ends.map(|group| self.voice.called_group(&key.attribute, group));
        let measured = fact(&self.voice.rate_behind(metric));
        named.then(|| context!(groups => fact(&groups), measured))
    }

    /// People who keep all their features in a set that moves features, of how many: for them the
    /// test is the one that changes the entry. None where nearly all change, and of other sets.
    fn unmoved(&self, key: &ResultKey) -> Option<(i64, i64)> {
        let (of, quality) = (key.of_any_model(), &self.audit.quality);
        let n = quality.value(&of, "n_pairs_valid")?;
        let share = quality.value(&of, "unchanged_share")?;
        // Counts of rows are far below the end of exact whole numbers.
        let (all, same) = (n.round() as i64, (n * share).round() as i64);
        // The share is one of counterfactuals, of which a person may have several.
        let least = if self.voice.called_set(&key.set).several { 1.0 } else { 0.1 };
        (all > 0 && share >= least).then_some((same, all))
    }

    /// The features that the set of a result may change and that no counterfactual of its direction
    /// changes; empty where none changes.
    fn still(&self, result: &HarmResult) -> Vec<String> {
        let features = self.audit.quality.features(&result.key.of_any_model());
        let is_named =
            |of: &&FeatureQuality| result.set.moved.iter().flatten().any(|f| *f == of.name);
        let (moved, still): (Vec<_>, Vec<_>) = features
            .into_iter()
            .filter(|of| of.n() > 0 && of.value("dist_before").is_none_or(|before| before > 0.0))
            .filter(is_named)
            .partition(|of| of.moved());
        let still = still.iter().map(|of| of.name.clone());
        still.filter(|_| !moved.is_empty()).collect()
    }

    /// A group of a comparison that has few people, and how many; none where both have enough.
    fn few_people(&self, key: &ResultKey) -> Option<(CalledGroup, i64)> {
        let n = |group: &String| {
            let row = self.audit.group_rows(&key.attribute, group).next();
            row.map(|row| row.persons.unwrap_or(row.n)).filter(|n| *n < FEW_PEOPLE)
        };
        let few =
            |group: &String| Some((self.voice.called_group(&key.attribute, group), n(group)?));
        [&key.from, &key.to].into_iter().find_map(few)
    }

    /// Whether the sentence of a finding holds an interval of people.
    fn shows_range(&self, finding: &HeroFinding<'_>) -> bool {
        let of_limit = |limit: &AuditLimit| {
            let part = limit.parts.first().filter(|part| part.judged.metric != UNFAIR_SUBGROUPS);
            part.is_some_and(|part| part.value.is_some() && part.interval.is_some())
        };
        let limit = finding.limit;
        match finding.subject {
            HeroSubject::Switch(result) => result.point.interval.is_some(),
            HeroSubject::Gap(..) => {
                limit.is_some_and(|of| of.kind == NumberFormat::Plain && of_limit(of))
            }
            HeroSubject::Total | HeroSubject::Limit => limit.is_some_and(of_limit),
            HeroSubject::Nobody => true,
            HeroSubject::NothingClear => self
                .unclear_shares()
                .is_some_and(|both| both.iter().any(|group| group.point.interval.is_some())),
            HeroSubject::Nothing => false,
        }
    }

    /// A result that names who is worse off minus that of the opposite direction, where graphs, fits
    /// or trainings give it either sign: which of the two groups is worse off turns with them.
    fn turns(&self, own: &HarmResult) -> Option<Value> {
        own.worse.as_ref()?;
        let (measure, sign) = difference(self.audit, &own.key, own.metric)?;
        let turns = |((lo, hi), _): &((f64, f64), DecidingRange)| *lo < 0.0 && *hi > 0.0;
        let ((lo, hi), range) = measure.doubts().into_iter().flatten().find(turns)?;
        let ends = if sign > 0.0 { (lo, hi) } else { (-hi, -lo) };
        Some(context!(value => sign * measure.value?, ends => fact(&ends), range => fact(&range)))
    }

    /// The lines below the sentence: what the test changes, a finding that no limit judges where it
    /// harms more people, and what the intervals are about.
    fn test(&self, finding: &HeroFinding<'_>) -> Value {
        let own = match finding.subject {
            HeroSubject::Switch(result) => Some(result),
            _ => None,
        };
        let mine = finding.harmed();
        let more = ranked(self.results).into_iter().find(|other| {
            other.harmed > mine
                && other.harmed > 0.0
                && !self.is_judged(other)
                && own.is_none_or(|own| own.number != other.number && own.people() < other.people())
        });
        let more = more.filter(|_| !self.limits.is_empty());
        // A limit that another doubt than that of people decides.
        let is_first = matches!(finding.subject, HeroSubject::Total | HeroSubject::Limit);
        let decided_by = finding.limit.and_then(|limit| {
            let of = |part: &&LimitPart| own.is_some_and(|own| part.judged == own.judged());
            let part = limit.parts.iter().find(of).or(limit.parts.first())?;
            let (range, ends) = (limit.range?, part.interval?);
            let kind = fact(&limit.kind);
            Some(context!(range => fact(&range), kind, ends => fact(&ends), is_first))
        });
        let has_range = self.shows_range(finding)
            || more.is_some_and(|more| more.point.interval.is_some())
            || decided_by.is_some();
        let knowledge = own.and_then(|own| stated_knowledge(self.audit, &own.set.name));
        // That nobody switches is about all sets.
        let is_nobody = matches!(finding.subject, HeroSubject::Nobody);
        let tested = own.into_iter().chain(self.results.iter().filter(|_| is_nobody));
        let still: BTreeSet<String> = tested.clone().flat_map(|of| self.still(of)).collect();
        let unmoved = tested.filter_map(|result| self.unmoved(&result.key));
        let share = |(same, all): &(i64, i64)| *same as f64 / *all as f64;
        let unmoved = unmoved.max_by(|a, b| share(a).total_cmp(&share(b)));
        let is_clear_of_harm = is_nobody || matches!(finding.subject, HeroSubject::NothingClear);
        let errors = is_clear_of_harm.then(|| error_gap(self.audit, self.voice)).flatten();
        context! {
            result => fact(&own), knowledge, decided_by, errors,
            unsupported => own.and_then(|own| self.unsupported(own)),
            unmoved => fact(&unmoved), still => fact(&still),
            few => fact(&own.and_then(|own| self.few_people(&own.key))),
            turns => own.and_then(|own| self.turns(own)),
            // Whether no person switches in tests that change one entry.
            only_entry => is_nobody && self.only_entry(),
            by_graphs => is_nobody && self.results.iter().any(|result| result.set.is_of_graphs()),
            more => more.map(|more| self.switch(more, 1)),
            unsupported_of_more => more.and_then(|more| self.unsupported(more)),
            level => has_range.then_some(self.audit.manifest.level.get()),
        }
    }

    /// Who can change the decision, where nothing else was tested; a limit on recourse has said for
    /// whom it is harder.
    fn recourse(&self, finding: &HeroFinding<'_>) -> Value {
        // Without counterfactuals the sentence is about shares alone.
        if !self.results.is_empty() {
            return Value::from(());
        }
        let is_limit = matches!(finding.subject, HeroSubject::Limit);
        let said = finding.limit.filter(|limit| is_limit && limit.counted.is_some());
        context! {
            first => recourse::first(self.audit, self.voice, self.limits, said),
            persons => recourse::persons_judged(self.audit),
        }
    }

    /// The sentence of the page and what is below it.
    pub(crate) fn hero_facts(&self, finding: &HeroFinding<'_>) -> Value {
        context! {
            sentence => self.sentence(finding), test => self.test(finding),
            recourse => self.recourse(finding),
        }
    }
}

/// Why a limit is undecided.
fn undecided(limit: &AuditLimit, result: &HarmResult) -> &'static str {
    let straddles = |(lo, hi): (f64, f64)| lo <= limit.limit && limit.limit < hi;
    let people = result.point.interval.is_some_and(straddles);
    let second = result.second.filter(|_| result.point.second.is_some_and(straddles));
    match (limit.decides.as_str(), second) {
        ("worlds" | "all", Some(DecidingRange::GRAPHS)) => "graphs_disagree",
        ("fit" | "all", Some(DecidingRange::FITS)) => "depends_on_rows",
        ("training" | "all", Some(DecidingRange::TRAININGS)) => "depends_on_training",
        ("worlds" | "fit" | "training", _) => "undecided",
        _ if people => "too_few",
        _ => "undecided",
    }
}
