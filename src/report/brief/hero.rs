//! The sentence of the page; [`hero_chart`](crate::report::brief::hero_chart) draws it.
//!
//! It is the worst finding among those that a broken limit judges; with no limit broken, the worst
//! of all. Rows that are made up, or scores that are awaited, come first. A group is said to be
//! treated worse only where the tables name it, and *treats* is said only of sets that change
//! nothing but the entry.
//!
//! It is picked because it is the largest of m values that were compared, and the largest is
//! overestimated most. So its lower end is that at the level 1 - alpha / m, the sentence says so,
//! and without a limit there is no such sentence where that end is within what chance gives. With
//! 40 independent results and no difference the ordinary interval of the largest misses in 62 % of
//! audits.

use crate::gate::reason::GateCount;
use crate::report::brief::digits::{counts_text, ends_text, value_text};
use crate::report::brief::harm::{HarmResult, findings, ranked};
use crate::report::brief::inputs::BriefInputs;
use crate::report::brief::limits::{self, AuditLimit, LimitPart};
use crate::report::brief::shares::{ClearGap, GroupFavourableShare, ModelShares};
use crate::report::brief::voice::{AuditVoice, DecisionVoice, capital};
use crate::report::draw::plot::SwitchSide;
use crate::report::page::number::{self, NumberFormat, count};
use crate::report::page::terms::PageGlossary;
use crate::report::page::words::RichText;
use crate::report::read::judged::JudgedValue;
use crate::report::read::panel::ResultKey;
use crate::report::read::quality::QualityKey;
use crate::report::read::words::{LARGEST_BY_CHANCE, people};
use crate::report::section::{graphs, recourse};
use crate::table::deciding_range::{OTHER_FITS, OTHER_GRAPHS, OTHER_TRAININGS};
use crate::table::recourse::UNFAIR_SUBGROUPS;

/// Below so many people of a group the page says how few they are.
const FEW_PEOPLE: i64 = 50;

/// What the page says first.
#[derive(Debug, Clone, Copy)]
pub(crate) enum HeroFinding<'a> {
    /// Who would be decided otherwise, the limit that judges it, and of how many results it is the
    /// largest.
    Switch(&'a HarmResult, Option<&'a AuditLimit>, usize),
    /// Two groups of which one clearly gets the favourable decision less often, and of how many
    /// gaps theirs is the largest.
    Gap(&'a ModelShares, ClearGap<'a>, Option<&'a AuditLimit>, usize),
    /// Everybody who would be decided otherwise, where a limit judges it.
    Total(&'a AuditLimit),
    /// What a limit judges otherwise.
    Limit(&'a AuditLimit),
    /// No decision would change in any test.
    Nobody,
    /// No difference is clear.
    NothingClear,
    /// Nothing was measured that a finding could depend on.
    Nothing,
}

impl HeroFinding<'_> {
    /// The same where it is the largest of so many values that limits judge. One that is not clear
    /// then is what its limit says.
    fn picked_from(self, compared: usize) -> Self {
        match self {
            HeroFinding::Switch(result, Some(limit), _) if !result.is_clear_of(compared) => {
                HeroFinding::Limit(limit)
            }
            HeroFinding::Gap(_, gap, Some(limit), _) if !gap.is_clear_of(compared) => {
                HeroFinding::Limit(limit)
            }
            HeroFinding::Switch(result, limit, _) => HeroFinding::Switch(result, limit, compared),
            HeroFinding::Gap(shares, gap, limit, _) => {
                HeroFinding::Gap(shares, gap, limit, compared)
            }
            other => other,
        }
    }
}

impl<'a> BriefInputs<'a> {
    /// What a limit judges: the part that decides. Of a broken gate on harm also the other part,
    /// where it breaks the limit too and its group is named: a part that keeps the limit would say
    /// the opposite next to a broken one.
    fn judged(&self, limit: &'a AuditLimit) -> Vec<HeroFinding<'a>> {
        let mut found: Vec<HeroFinding<'a>> = Vec::new();
        let plain = limit.arm.is_empty() && limit.class.is_empty() && !limit.is_of_change();
        for (i, part) in limit.parts.iter().enumerate().filter(|_| plain) {
            let of = |result: &&HarmResult| result.key == part.key && result.metric == part.metric;
            let result = self.results.iter().find(of);
            if i > 0 {
                let broken = limit.verdict == "fail" && limit.breaks(part);
                let other = result.filter(|result| broken && result.worse.is_some());
                found.extend(other.map(|result| HeroFinding::Switch(result, Some(limit), 1)));
            } else if let Some(result) = result {
                found.push(HeroFinding::Switch(result, Some(limit), 1));
            } else if part.metric == "di" || part.metric == "demp_difference" {
                let shares = self.shares.iter().find(|shares| {
                    shares.model == part.key.model && shares.attribute == part.key.attribute
                });
                let gap = shares.and_then(|shares| {
                    let gap = shares.clear_gap(self.audit)?;
                    let names = [&gap.low.key.from, &gap.high.key.from];
                    let same = names.contains(&&part.key.from) && names.contains(&&part.key.to);
                    same.then_some(HeroFinding::Gap(shares, gap, Some(limit), 1))
                });
                found.extend(gap);
            } else if part.metric == "sr" && part.key.from.is_empty() && part.counts.is_some() {
                found.push(HeroFinding::Total(limit));
            }
        }
        if found.is_empty() {
            found.push(HeroFinding::Limit(limit));
        }
        found
    }

    /// The worst of some findings; of equals the first.
    fn worst(&self, found: impl Iterator<Item = HeroFinding<'a>>) -> Option<HeroFinding<'a>> {
        found.fold(None, |worst, next| match worst {
            Some(worst) if harmed(&worst) >= harmed(&next) => Some(worst),
            _ => Some(next),
        })
    }

    /// What the page says first.
    pub(crate) fn choose_hero(&self) -> HeroFinding<'a> {
        for verdict in ["fail", "inconclusive"] {
            let of = self.limits.iter().filter(|limit| limit.verdict == verdict);
            let found: Vec<HeroFinding<'a>> = of.flat_map(|limit| self.judged(limit)).collect();
            if let Some(worst) = self.worst(found.iter().copied()) {
                return worst.picked_from(found.len());
            }
        }
        self.worst_of_all()
    }

    /// The worst finding, whether a limit judges it or not.
    pub(crate) fn worst_of_all(&self) -> HeroFinding<'a> {
        let switch = findings(self.audit, self.results).into_iter().filter(|r| r.harmed > 0.0);
        let compared = self.results.len();
        let switch = switch.map(|result| {
            HeroFinding::Switch(result, limits::of_result(self.limits, result), compared)
        });
        let n_gaps: usize = self.shares.iter().map(ModelShares::n_pairs).sum();
        let gaps = self.shares.iter().filter_map(|shares| {
            let gap = shares.clear_gap(self.audit).filter(|gap| gap.is_clear_of(n_gaps))?;
            Some(HeroFinding::Gap(shares, gap, None, n_gaps))
        });
        // A switch says more than a gap, which has many causes.
        let clear = |worst: &HeroFinding<'_>| match worst {
            HeroFinding::Switch(result, _, of) => result.is_clear_of(*of),
            _ => true,
        };
        if let Some(worst) = self.worst(switch).filter(clear) {
            return worst;
        }
        if !self.results.is_empty() && self.results.iter().all(HarmResult::is_nobody) {
            return HeroFinding::Nobody;
        }
        self.worst(gaps).unwrap_or(if self.results.is_empty() && self.shares.is_empty() {
            HeroFinding::Nothing
        } else {
            HeroFinding::NothingClear
        })
    }

    /// Whether some gate judges a result: also a part of a gate on harm that is folded.
    fn is_judged(&self, result: &HarmResult) -> bool {
        let value = JudgedValue::plain(&result.key, result.metric);
        self.limits.iter().any(|limit| limit.judges(&value))
    }

    /// A result as a sentence without its end, and what a broken limit says about a group; of how
    /// many results it is the largest.
    fn switch_words(&self, result: &HarmResult, opens: bool, compared: usize) -> RichText {
        let (voice, key) = (self.voice, &result.key);
        let attribute = key.attribute.as_str();
        let of_entry = voice.is_of_the_entry(&key.set);
        let from = voice.people(attribute, &key.from);
        let opening = match (&result.worse, of_entry) {
            (Some(worse), true) => {
                let model = capital(&voice.model(&key.model));
                format!("{model} treats {} worse: ", voice.people(attribute, worse))
            }
            (Some(worse), false) if *worse == key.from => {
                let other = voice.people(attribute, &key.to);
                format!("Compared with similar {other}, {from} are worse off: ")
            }
            (Some(worse), false) => {
                let worse = voice.people(attribute, worse);
                format!("Compared with similar {from}, {worse} are worse off: ")
            }
            (None, true) => String::new(),
            (None, false) => "Compared with similar people of the other group: ".to_owned(),
        };
        let counts = counts_text(result.counts, result.point.value, result.whole);
        let counts = format!("{counts} {}", voice.of_cases());
        let share = self.share_text(result, compared);
        let words = RichText::new();
        let words = if opens { words.text(opening) } else { words };
        let words = match (&voice.decision, result.side) {
            (DecisionVoice::Named { .. }, SwitchSide::Lost) => {
                words.strong(format!("{counts}{from}")).text(format!(" who {} ", voice.get_it()))
            }
            _ => words
                .strong(format!("{counts}{}", voice.switchable(result.side, attribute, &key.from)))
                .text(" "),
        };
        words.soft(share).text(format!(
            " {} {}{}",
            voice.would(result.side),
            voice.as_group(attribute, &key.to),
            if of_entry {
                String::new()
            } else {
                format!(", {}", voice.set_clause(&key.set, attribute))
            }
        ))
    }

    /// `(46 %; 44 to 48)`, with the lower end of the largest of so many: `(46 %; 43 to 48; the
    /// largest of 12)`.
    fn share_text(&self, result: &HarmResult, compared: usize) -> String {
        let kind = NumberFormat::Share;
        let weighted = if result.weighted { "weighted " } else { "" };
        let value = value_text(kind, result.point.value, result.point.interval);
        match result.point.interval {
            Some((_, hi)) if result.is_nobody() => {
                format!("(at most {weighted}{})", value_text(kind, hi, Some((0.0, hi))))
            }
            Some((lo, hi)) => {
                let ends = (result.lower_end_of(compared).unwrap_or(lo), hi);
                format!("({weighted}{value}; {}{})", ends_text(kind, ends), largest_of(compared))
            }
            None => format!("({weighted}{value}{})", largest_of(compared)),
        }
    }

    /// The sentence of the page.
    pub(crate) fn hero_sentence(
        &self,
        finding: &HeroFinding<'_>,
        glossary: &mut PageGlossary<'_>,
    ) -> RichText {
        let limit_words = |limit: Option<&AuditLimit>| {
            limit.map_or_else(String::new, |limit| format!(" Limit: {}.", limit.limit_text()))
        };
        let broken = self.limits.iter().any(|limit| limit.verdict == "fail");
        let judged = |limit: Option<&AuditLimit>, verdict: &str| {
            limit.is_some_and(|limit| limit.verdict == verdict)
        };
        match finding {
            HeroFinding::Switch(result, limit, compared) => {
                let open = limit.filter(|limit| limit.verdict == "inconclusive");
                let words = if let Some(limit) = open {
                    // Who is worse off is said here, too; only whether the limit is kept is open.
                    let opens = result.worse.is_some();
                    let why = undecided(limit, result);
                    let start = format!("{why}{}", if opens { ". " } else { ": " });
                    RichText::from(start).and(self.switch_words(result, opens, *compared))
                } else if !broken && !self.limits.is_empty() && !judged(*limit, "fail") {
                    // Who is worse off is said here, too: those who switch are often not they.
                    let opens = result.worse.is_some();
                    let start = if opens {
                        "No limit is broken. "
                    } else {
                        "No limit is broken. The result that affects the most people: "
                    };
                    RichText::from(start).and(self.switch_words(result, opens, *compared))
                } else {
                    self.switch_words(result, true, *compared)
                };
                let no_limit = !self.limits.is_empty() && !self.is_judged(result);
                words
                    .text(if no_limit { ". No limit is set for this." } else { "." })
                    .text(limit_words(*limit))
            }
            HeroFinding::Gap(shares, gap, limit, compared) => {
                let voice = self.voice;
                let name = |share: &crate::report::brief::shares::GroupFavourableShare| {
                    voice.people(&shares.attribute, &share.key.from)
                };
                let counts =
                    |(part, whole): (i64, i64)| format!("{} of {}", count(part), count(whole));
                let share = |of: &crate::report::brief::shares::GroupFavourableShare| {
                    value_text(NumberFormat::Share, of.point.value, of.point.interval)
                };
                let words = if broken || self.limits.is_empty() {
                    RichText::new()
                } else {
                    RichText::from("No limit is broken. ")
                };
                let ratio = limit
                    .filter(|limit| limit.kind() == NumberFormat::Plain)
                    .and_then(|limit| limit.parts.first())
                    .and_then(|part| Some((part.value?, part.interval)))
                    .map_or_else(String::new, |(value, interval)| {
                        let ends = interval.map_or_else(String::new, |ends| {
                            format!("; {}", ends_text(NumberFormat::Plain, ends))
                        });
                        format!(
                            "; ratio {}{ends}",
                            value_text(NumberFormat::Plain, value, interval)
                        )
                    });
                words
                    .text(format!(
                        "By {} the share of {} who {} is lower than that of {}: ",
                        voice.model(&shares.model),
                        name(gap.low),
                        voice.get_it(),
                        name(gap.high)
                    ))
                    .strong(counts(gap.low.counts))
                    .text(" against ")
                    .text(counts(gap.high.counts))
                    .text(" ")
                    .soft(format!(
                        "({} against {}{ratio}{})",
                        share(gap.low),
                        share(gap.high),
                        largest_of(*compared)
                    ))
                    .text(".")
                    .text(limit_words(*limit))
            }
            HeroFinding::Total(limit) => {
                let part = limit.parts.first();
                let (part_n, whole) = part.and_then(|part| part.counts).unwrap_or((0, 0));
                let clause = part.map_or_else(String::new, |part| {
                    self.voice.set_clause(&part.key.set, &part.key.attribute)
                });
                let value = part.and_then(|part| part.value).unwrap_or(0.0);
                let interval = part.and_then(|part| part.interval);
                let ends = interval.map_or_else(String::new, |ends| {
                    format!("; {}", ends_text(NumberFormat::Share, ends))
                });
                let share = value_text(NumberFormat::Share, value, interval);
                let words = if limit.verdict == "inconclusive" { "Cannot tell: " } else { "" };
                let attribute = part.map_or("", |part| part.key.attribute.as_str());
                RichText::from(words)
                    .strong(format!("{} of {}", count(part_n), self.judged_cases(attribute, whole)))
                    .text(" ")
                    .soft(format!("({share}{ends})"))
                    .quote(format!(" would be {} {clause}.", self.different(attribute)))
                    .text(limit_words(Some(*limit)))
            }
            HeroFinding::Limit(limit) => {
                let ahead = limit
                    .who_is_ahead(self.voice)
                    .map_or_else(RichText::new, |ahead| RichText::from(" ").quote(ahead));
                limit_sentence(limit, self.voice, glossary).and(ahead).and(self.furthest(limit))
            }
            HeroFinding::Nobody => self.nobody(),
            HeroFinding::NothingClear => {
                let words =
                    if self.limits.is_empty() || broken { "" } else { "No limit is broken. " };
                RichText::from(words)
                    .text("The data cannot tell whether the groups differ")
                    .and(self.unclear_shares())
                    .text(".")
            }
            HeroFinding::Nothing => {
                RichText::from("No measure of how groups are treated was computed.")
            }
        }
    }

    fn nobody(&self) -> RichText {
        let sum = |of: &dyn Fn(&HarmResult) -> bool| {
            self.results.iter().filter(|r| of(r)).map(|r| r.whole).max().unwrap_or(0)
        };
        let total = self.audit.measures.iter().filter(|(key, _)| key.scope == "total");
        let whole = total
            .filter_map(|(_, values)| values.get("sr")?.counts)
            .map(|(_, whole)| whole)
            .max()
            .unwrap_or_else(|| sum(&|_| true));
        let highest = self
            .audit
            .measures
            .iter()
            .filter(|(key, _)| key.scope == "total" && !key.set.is_empty())
            .filter_map(|(_, values)| values.get("sr")?.interval)
            .map(|(_, hi)| hi)
            .fold(0.0, f64::max);
        let only_entry = self.results.iter().all(|r| self.voice.is_of_the_entry(&r.key.set));
        let attribute = self.results.first().map_or("", |r| r.key.attribute.as_str());
        let clause = if only_entry {
            format!(" when only the entry for {} changes", self.voice.attribute(attribute))
        } else {
            " in any test".to_owned()
        };
        let at_most = if highest > 0.0 {
            format!("(at most {})", value_text(NumberFormat::Share, highest, Some((0.0, highest))))
        } else {
            String::new()
        };
        let nobody = match self.voice.decision {
            DecisionVoice::Amounts { .. } => "Nobody would have another amount that matters: ",
            _ => "Nobody would be decided differently: ",
        };
        RichText::from(nobody)
            .strong(format!("0 of {}", self.judged_cases(attribute, whole)))
            .text(" ")
            .soft(at_most)
            .text(format!("{clause}."))
    }

    /// What the total of an attribute counts: people, or where each has several other groups their
    /// decisions as members of these.
    fn judged_cases(&self, attribute: &str, n: i64) -> String {
        if self.voice.has_several_others(attribute) {
            format!("{} as members of another group", number::count_of(n, "decision", "decisions"))
        } else {
            people(self.audit, n)
        }
    }

    /// What such a case would be otherwise.
    fn different(&self, attribute: &str) -> &'static str {
        if self.voice.has_several_others(attribute) { "different" } else { "decided differently" }
    }

    /// The shares of two groups that do not clearly differ, where nothing else was measured.
    fn unclear_shares(&self) -> RichText {
        let [ModelShares { attribute, groups, .. }] = self.shares else { return RichText::new() };
        let [first, second] = groups.as_slice() else { return RichText::new() };
        if !self.results.is_empty() {
            return RichText::new();
        }
        let kind = NumberFormat::Share;
        let ends = |of: &GroupFavourableShare| {
            let ends = of.point.interval;
            ends.map_or_else(String::new, |ends| format!(" ({})", ends_text(kind, ends)))
        };
        let words =
            [first, second].into_iter().enumerate().fold(RichText::from(": "), |words, (i, of)| {
                words
                    .text(if i > 0 { " and " } else { "" })
                    .strong(value_text(kind, of.point.value, of.point.interval))
                    .soft(ends(of))
                    .quote(format!(" of {}", self.voice.people(attribute, &of.key.from)))
            });
        words.text(format!(" {}", self.voice.get_it()))
    }

    /// Of a limit on the groups that are furthest apart, which they are; empty of others.
    fn furthest(&self, limit: &AuditLimit) -> RichText {
        let part = limit.parts.first().filter(|part| part.key.scope == "worst_case");
        let measure = part.and_then(|part| self.audit.measure(&part.key, &part.metric));
        match (part, measure) {
            (Some(part), Some(measure))
                if !measure.highest.is_empty() && !measure.lowest.is_empty() =>
            {
                let group = |name: &str| self.voice.people(&part.key.attribute, name);
                RichText::from(" ")
                    .quote(format!(
                        "Highest: {}; lowest: {}.",
                        group(&measure.highest),
                        group(&measure.lowest)
                    ))
                    .text(" ")
                    .text(LARGEST_BY_CHANCE)
            }
            _ => RichText::new(),
        }
    }

    /// How many people keep all their features in a set that moves features: for them the test is
    /// the one that changes the entry. None where nearly all change.
    fn unmoved(&self, key: &ResultKey) -> Option<RichText> {
        let of = QualityKey {
            set: key.set.clone(),
            attribute: key.attribute.clone(),
            from: key.from.clone(),
            to: key.to.clone(),
        };
        let values = self.audit.quality.values(&of)?;
        let value = |measure: &str| values.get(measure).copied().flatten();
        let (n, share) = (value("n_pairs_valid")?, value("unchanged_share")?);
        // Counts of rows are far below the end of exact whole numbers.
        let (all, same) = (n.round() as i64, (n * share).round() as i64);
        let words = if same >= all {
            "But it found no feature to change for anybody here: the result is that of the test \
             that changes only the entry."
                .to_owned()
        } else {
            format!(
                "For {} of {} it changes no feature: their result is that of the test that \
                 changes only the entry.",
                count(same),
                people(self.audit, all)
            )
        };
        (all > 0 && share >= 0.1).then(|| words.into())
    }

    /// That a group of a comparison has few people; none where both have enough.
    fn few_people(&self, key: &ResultKey) -> Option<RichText> {
        let n = |group: &String| {
            let row = self.audit.groups.iter().find(|row| {
                row.sensitive.as_str() == key.attribute
                    && row.group.as_str() == group
                    && row.slice.is_empty()
            });
            row.map(|row| row.persons.unwrap_or(row.n)).filter(|n| *n < FEW_PEOPLE)
        };
        let (few, group) =
            [&key.from, &key.to].into_iter().find_map(|group| Some((n(group)?, group)))?;
        Some(RichText::new().quote(format!(
            "Group {}: only {} in this audit. The intervals do not show how little can be learned \
             from so few.",
            self.voice.group(&key.attribute, group),
            match self.audit.manifest.person {
                Some(_) => number::count_of(few, "person", "persons"),
                None => people(self.audit, few),
            }
        )))
    }

    /// Whether the sentence of a finding holds an interval of people.
    fn shows_range(&self, finding: &HeroFinding<'_>) -> bool {
        let of_limit = |limit: &AuditLimit| {
            let part = limit.parts.first().filter(|part| part.metric != UNFAIR_SUBGROUPS);
            part.is_some_and(|part| part.value.is_some() && part.interval.is_some())
        };
        match finding {
            HeroFinding::Switch(result, ..) => result.point.interval.is_some(),
            HeroFinding::Gap(_, _, limit, _) => {
                limit.is_some_and(|of| of.kind() == NumberFormat::Plain && of_limit(of))
            }
            HeroFinding::Total(limit) | HeroFinding::Limit(limit) => of_limit(limit),
            HeroFinding::Nobody => true,
            HeroFinding::NothingClear => match self.shares {
                [ModelShares { groups, .. }] if self.results.is_empty() && groups.len() == 2 => {
                    groups.iter().any(|group| group.point.interval.is_some())
                }
                _ => false,
            },
            HeroFinding::Nothing => false,
        }
    }

    /// What is below the sentence: what the test changes, a finding that no limit judges where
    /// it harms more people, and what the intervals are about.
    pub(crate) fn hero_test(&self, finding: &HeroFinding<'_>) -> RichText {
        let mut parts: Vec<RichText> = Vec::new();
        let own = match finding {
            HeroFinding::Switch(result, ..) => {
                let words = self.voice.set_sentence(&result.key.set, &result.key.attribute);
                parts.extend((!words.is_empty()).then(|| RichText::new().quote(words)));
                parts.extend(graphs::knowledge::stated_knowledge(self.audit, &result.key.set));
                parts.extend(self.unsupported(result));
                parts.extend(self.unmoved(&result.key));
                parts.extend(self.few_people(&result.key));
                Some(*result)
            }
            HeroFinding::Nobody => {
                let only_entry =
                    self.results.iter().all(|r| self.voice.is_of_the_entry(&r.key.set));
                if only_entry {
                    parts.push(
                        "This does not show fairness: a test that changes one entry does not \
                         detect effects through other columns."
                            .into(),
                    );
                }
                None
            }
            _ => None,
        };
        let mine = harmed(finding);
        let more = ranked(self.results).into_iter().find(|other| {
            other.harmed > mine
                && other.harmed > 0.0
                && !self.is_judged(other)
                && own.is_none_or(|own| own.number != other.number && own.people() < other.people())
        });
        let mut has_range = self.shows_range(finding);
        if let Some(more) = more.filter(|_| !self.limits.is_empty()) {
            has_range |= more.point.interval.is_some();
            parts.push(
                RichText::from(format!(
                    "A result about more {} has no limit. ",
                    self.voice.counted()
                ))
                .and(self.switch_words(more, true, 1))
                .text("."),
            );
        }
        // A limit that another doubt than that of people decides.
        let (judged, is_first) = match finding {
            HeroFinding::Switch(_, limit, _) | HeroFinding::Gap(_, _, limit, _) => (*limit, false),
            HeroFinding::Total(limit) | HeroFinding::Limit(limit) => (Some(*limit), true),
            _ => (None, false),
        };
        let over = judged.and_then(|limit| {
            let of = |part: &&LimitPart| {
                own.is_some_and(|own| part.key == own.key && part.metric == own.metric)
            };
            let part = limit.parts.iter().find(of).or(limit.parts.first())?;
            Some((limit.range()?.other, limit.kind(), part.interval?))
        });
        if let Some((over, kind, ends)) = over {
            parts.push(if is_first {
                format!("The first range is over {over}.").into()
            } else {
                format!("The range over {over} decides: {}.", ends_text(kind, ends)).into()
            });
        }
        // Without counterfactuals the sentence above is about shares alone.
        if self.results.is_empty() {
            let limits = self.limits;
            let told = recourse::evidence(self.audit, self.voice, limits).into_iter().next();
            // A limit on recourse has said for whom it is harder.
            let is_said = match finding {
                HeroFinding::Limit(limit) => limit.counted_subgroups().is_some(),
                _ => false,
            };
            if let Some(told) = told {
                parts.push(match told.people {
                    Some(people) if is_said => people,
                    None if is_said => told.answer,
                    people => {
                        let words = RichText::from("Who can change the decision? ");
                        let words = words.and(told.answer);
                        people.into_iter().fold(words, |words, people| words.text(" ").and(people))
                    }
                });
            }
            parts.extend(recourse::persons_judged(self.audit));
        }
        let level = self.audit.manifest.level.filter(|_| has_range || over.is_some());
        if let Some(level) = level {
            let which = if over.is_some() { "Other ranges" } else { "Ranges" };
            parts.push(
                format!(
                    "{which} are {} intervals: results that other people of the same kind could \
                     give.",
                    number::level(level).replace('\u{202f}', "\u{a0}")
                )
                .into(),
            );
        }
        let mut words = RichText::new();
        for (i, part) in parts.into_iter().enumerate() {
            words = if i > 0 { words.text(" ") } else { words }.and(part);
        }
        words
    }
}

/// That a value was picked because it is the largest of so many; empty where there is no other.
fn largest_of(compared: usize) -> String {
    if compared > 1 { format!("; the largest of {compared}") } else { String::new() }
}

/// How many people a finding harms at least.
fn harmed(finding: &HeroFinding<'_>) -> f64 {
    match finding {
        HeroFinding::Switch(result, ..) => result.harmed,
        HeroFinding::Gap(_, gap, ..) => gap.harmed,
        // Of everybody nobody says who is worse off.
        _ => -1.0,
    }
}

/// Why a limit is undecided, as a sentence without its end.
fn undecided(limit: &AuditLimit, result: &HarmResult) -> &'static str {
    let straddles = |(lo, hi): (f64, f64)| lo <= limit.limit && limit.limit < hi;
    let people = result.point.interval.is_some_and(straddles);
    let second = result.point.second.is_some_and(straddles);
    match limit.decides.as_str() {
        "worlds" | "all" if second && result.second == OTHER_GRAPHS => {
            "Possible causal graphs disagree on whether the limit is kept"
        }
        "fit" | "all" if second && result.second == OTHER_FITS => {
            "Whether the limit is kept depends on the rows that the set learns from"
        }
        "training" | "all" if second && result.second == OTHER_TRAININGS => {
            "Whether the limit is kept depends on the training of the model"
        }
        "worlds" | "fit" | "training" => "Whether the limit is kept cannot be decided",
        _ if people => "Too few people to decide whether the limit is kept",
        _ => "Whether the limit is kept cannot be decided",
    }
}

fn limit_sentence(
    limit: &AuditLimit,
    voice: &AuditVoice<'_>,
    glossary: &mut PageGlossary<'_>,
) -> RichText {
    let kind = limit.kind();
    let answer = match limit.verdict.as_str() {
        "fail" => "The limit is broken. ",
        "inconclusive" => "Cannot tell. ",
        _ => "",
    };
    let part = limit.parts.first();
    if let Some((part, (_, all))) = part.and_then(|part| Some((part, part.counts?)))
        && part.metric == UNFAIR_SUBGROUPS
        && let Some((of_a, of_b)) = part.unfair
    {
        let [a, b] =
            [&part.key.from, &part.key.to].map(|group| voice.people(&part.key.attribute, group));
        let size = limit.counted_subgroups().and_then(GateCount::size);
        let size = size.map_or_else(String::new, |size| format!(" ({size})"));
        let of_all = format!(
            " of the {} subgroups that the limit counts{size}, the favourable decision is harder \
             to reach for ",
            count(all)
        );
        let limit = format!("Limit for both together: {}.", limit.limit_text());
        // The group with more of them first.
        let [(first, n), (second, m)] =
            if of_a >= of_b { [(a, of_a), (b, of_b)] } else { [(b, of_b), (a, of_a)] };
        let other = format!("in {} for {second} than for {first}", count(m));
        return RichText::from("In ")
            .strong(count(n))
            .quote(format!("{of_all}{first} than for {second}; {other}. {limit}"));
    }
    let words = RichText::new().quote(limit.question(voice, glossary)).text(" ").text(answer);
    // Of harm each part that breaks the limit, with whom it counts; else the part that decides.
    let of_harm = limit.protected().is_some();
    let broken = limit.parts.iter().skip(1).filter(|part| of_harm && limit.breaks(part));
    let said = part.into_iter().chain(broken.filter(|_| limit.verdict == "fail"));
    let said: Vec<_> = said.filter_map(|part| Some((part, part.value?))).collect();
    if said.is_empty() {
        return words.quote(capital(&limit.reason)).text(".");
    }
    said.into_iter().enumerate().fold(words, |words, (i, (part, value))| {
        let ends = part.interval.map(|ends| format!("; {}", ends_text(kind, ends)));
        let value = value_text(kind, value, part.interval);
        let words = words.text(if i > 0 { " " } else { "" });
        let words = if of_harm {
            words.quote(format!("{}: ", capital(&limit.label(part, voice))))
        } else {
            words.text("The value is ")
        };
        words
            .strong(if limit.is_count() { value.trim_end_matches(".00").to_owned() } else { value })
            .text(" ")
            .soft(format!("(limit {}{})", limit.limit_text(), ends.unwrap_or_default()))
            .text(".")
    })
}
