//! What to do next: the reading path, walked over the tables of the run. Each step is a record of
//! [`reading_path`]; here each reads its numbers and says which outcome they are.
//!
//! The path starts from the finding of the page. A step that picks one of m takes the lower end of
//! its interval at the level 1 - alpha / m.

use minijinja::context;
use minijinja::value::Value;

use crate::metric::interval::clopper_pearson_lower;
use crate::metric::reading_path::{self, NO_DATA, ReadingOutcome, ReadingStep, STEPS, experiment};
use crate::metric::value::largest::{joint_ends, joint_level};
use crate::report::brief::harm::{self, HarmResult, findings};
use crate::report::brief::hero::HeroSubject;
use crate::report::brief::inputs::BriefInputs;
use crate::report::brief::limits::{self, AuditLimit};
use crate::report::brief::shares::GroupFavourableShare;
use crate::report::brief::voice::DecisionVoice;
use crate::report::draw::plot::SwitchSide;
use crate::report::evidence::retraining::{self, ArmRateChange, IdleArms};
use crate::report::evidence::why;
use crate::report::page::PageSection;
use crate::report::page::number::{self, NumberFormat, ends_text, value_text};
use crate::report::page::words::short;
use crate::report::read::panel::ResultKey;
use crate::table::MetricRow;
use crate::table::why::SwitchPatternRow;
use crate::text::fact;

/// The outcome of a step, and the facts of its line.
type StepFacts = (&'static str, Value);

/// How different labels are related to the decisions, from the intervals of both gaps between two
/// groups.
fn against_decisions(labels: (f64, f64), decisions: (f64, f64)) -> &'static str {
    let turn = |(lo, hi): (f64, f64)| if labels.0 > 0.0 { (lo, hi) } else { (-hi, -lo) };
    let ((_, widest), (least, most)) = (turn(labels), turn(decisions));
    if most < 0.0 {
        "opposed"
    } else if least > widest {
        "amplified"
    } else {
        "differ"
    }
}

/// A walk over the path.
struct PathWalk<'a> {
    inputs: &'a BriefInputs<'a>,
    /// The finding of the page; none where no counterfactual was scored.
    finding: Option<&'a HarmResult>,
}

/// The function that answers a step.
type StepAnswer = fn(&PathWalk<'_>) -> Option<StepFacts>;

/// What answers each step; none of them knows which one is next.
const ANSWERS: &[(&str, StepAnswer)] = &[
    ("consistency", |walk| walk.consistency()),
    ("lost", |walk| walk.lost()),
    ("right", |walk| walk.right()),
    ("who", |walk| walk.who()),
    ("through", |walk| walk.through()),
    ("labels", |walk| walk.labels()),
    ("arm", |walk| walk.arm()),
    ("gap", |walk| walk.gap()),
    ("base_rates", |walk| walk.base_rates()),
];

/// A number with the ends of its interval, and of how many it is the largest.
fn number(kind: NumberFormat, value: f64, ends: Option<(f64, f64)>, of: usize) -> Value {
    let text = value_text(kind, value, ends);
    context!(value => text, ends => ends.map(|ends| ends_text(kind, ends)), of)
}

/// A share with its lower end as the largest of several.
fn picked(result: &HarmResult, of: usize) -> Value {
    let ends = result.point.interval.zip(result.lower_end_of(of)).map(|((_, hi), lo)| (lo, hi));
    number(NumberFormat::Share, result.point.value, ends, of)
}

impl<'a> PathWalk<'a> {
    fn level(&self) -> f64 {
        self.inputs.audit.manifest.level.get()
    }

    /// Results of the model, set and attribute of a finding.
    fn panel(&self, finding: &'a HarmResult) -> impl Iterator<Item = &'a HarmResult> {
        let ResultKey { model, set, attribute, .. } = &finding.key;
        let results = self.inputs.results.iter();
        results.filter(move |result| result.key.is_about([model, set, attribute]))
    }

    /// The share of decisions that switch, of the largest of all models, sets and attributes.
    fn consistency(&self) -> Option<StepFacts> {
        let (inputs, finding) = (self.inputs, self.finding?);
        let totals = inputs.audit.measures().filter(|(key, values)| {
            let is_there = values.get("sr").is_some_and(|sr| sr.value.is_some());
            key.scope == "total" && !key.set.is_empty() && is_there
        });
        let compared = totals.count();
        let ResultKey { model, set, attribute, .. } = &finding.key;
        let key = ResultKey::new([model, set, attribute], "total", ["", ""]);
        let switched = inputs.audit.measure(&key, "sr")?;
        let all = harm::result(inputs.voice, &key, ("sr", SwitchSide::Either), switched)?;
        let is_kept = |limit: &&AuditLimit| limit.verdict == "pass";
        let kept_by = |of| limits::of_result(inputs.limits, of).filter(is_kept);
        let (of_all, of_finding) = (kept_by(&all), kept_by(finding));
        let (kept, judged) = (of_all.or(of_finding), of_finding.filter(|_| of_all.is_none()));
        // The tables name a group only where enough people switch.
        let names = !matches!(inputs.voice.decision(), DecisionVoice::Predicted { .. });
        let is_named = finding.worse.is_some() || finding.contested;
        let stands_out = all.is_clear_of(compared) && (is_named || !names);
        let code = match (stands_out, kept) {
            (false, _) => "stable",
            (true, Some(_)) => "kept",
            (true, None) => "depends",
        };
        let stays = value_text(NumberFormat::Share, 1.0 - all.point.value, all.point.interval);
        let facts = context! {
            stays, switches => picked(&all, compared), model => fact(&all.model),
            set => fact(&all.set), limit => kept.map(|limit| limit.amount.as_str()),
            judged => judged.map(|_| fact(finding)),
        };
        Some((code, facts))
    }

    /// The direction and the side of the finding.
    fn lost(&self) -> Option<StepFacts> {
        let (voice, finding) = (self.inputs.voice, self.finding?);
        let compared = self.panel(finding).count();
        let code = match finding.side {
            _ if !finding.is_clear_of(compared) => "stable",
            SwitchSide::Gained => "gained",
            SwitchSide::Lost => "lost",
            SwitchSide::Either => "either",
        };
        let clear = self.panel(finding).filter(|result| result.is_clear_of(compared));
        let mut worse = clear.filter_map(|result| result.worse.as_ref());
        let is_only =
            finding.worse.is_some() && worse.all(|group| Some(group) == finding.worse.as_ref());
        let facts = context! {
            finding => fact(finding), share => picked(finding, compared),
            alone => is_only && voice.has_several_others(&finding.key.attribute),
        };
        Some((code, facts))
    }

    /// The two rates at which right and wrong decisions are lost.
    fn right(&self) -> Option<StepFacts> {
        let (inputs, finding) = (self.inputs, self.finding?);
        inputs.audit.manifest.label.as_ref()?;
        let favours = inputs.audit.manifest.favourable_is_positive() != Some(false);
        let loses_positive = match finding.side {
            SwitchSide::Lost => favours,
            SwitchSide::Gained => !favours,
            SwitchSide::Either => return None,
        };
        let ids = if loses_positive { ["tpsr", "fpsr"] } else { ["tnsr", "fnsr"] };
        let rate = |id: &'static str| {
            let measure = inputs.audit.measure(&finding.key, id)?;
            harm::result(inputs.voice, &finding.key, (id, finding.side), measure)
        };
        let (right, wrong) = (rate(ids[0])?, rate(ids[1])?);
        let is_above = |one: &HarmResult, other: &HarmResult| {
            let ends = one.lower_end_of(2).zip(other.point.interval);
            ends.is_some_and(|(lo, (_, hi))| lo > hi)
        };
        let (code, of) = match (is_above(&right, &wrong), is_above(&wrong, &right)) {
            (true, _) => ("right", [2, 1]),
            (_, true) => ("wrong", [1, 2]),
            // The interval of the larger one is that by which it is not above the other.
            _ if right.point.value > wrong.point.value => ("alike", [2, 1]),
            _ => ("alike", [1, 2]),
        };
        let facts = context! {
            right => picked(&right, of[0]), wrong => picked(&wrong, of[1]),
            ids => ids.map(str::to_uppercase).to_vec(),
        };
        Some((code, facts))
    }

    /// Rows of the half of the people that was not searched, of blocks on the finding.
    fn patterns(&self) -> impl Iterator<Item = &'a SwitchPatternRow> {
        let key = self.finding.map(|finding| &finding.key);
        self.inputs.audit.patterns.iter().filter(move |row| {
            let of = [&*row.model, &row.counterfactual, &row.sensitive];
            row.half == "second" && row.arm.is_empty() && key.is_some_and(|key| key.is_about(of))
        })
    }

    /// The trait whose people switch more often than the others.
    fn who(&self) -> Option<StepFacts> {
        let inputs = self.inputs;
        // The one of several blocks that is about what the finding counts.
        let asked = self.finding?.metric;
        let everybody = self.patterns().filter(|row| row.pattern.is_empty());
        let everybody = everybody.min_by_key(|row| row.metric != *asked)?;
        let carried = || {
            let own = self.patterns().filter(|row| row.why == everybody.why);
            own.filter(|row| !row.pattern.is_empty())
        };
        let compared = carried().count();
        let told = carried().filter(|row| row.told.is_some()).min_by_key(|row| row.told);
        let clear = told.and_then(|row| {
            let ends = row.difference_lo.zip(row.difference_hi)?;
            let (lo, _) = joint_ends(row.difference?, ends, self.level(), compared);
            let (rate, hi) = row.rate.zip(row.hi)?;
            let joint = joint_level(self.level(), compared);
            let least = clopper_pearson_lower(rate, row.n as f64, joint).min(row.lo?);
            (lo > 0.0).then_some((row, rate, (least, hi)))
        });
        let of = told.unwrap_or(everybody);
        let people = context! {
            question => why::question(inputs, of), carried => compared,
        };
        let Some((row, rate, ends)) = clear else { return Some(("everybody", people)) };
        let others = row.k_others.zip(row.n_others).filter(|(_, n)| *n > 0);
        let others = others
            .map(|(k, n)| value_text(NumberFormat::Share, k as f64 / n as f64, row.lo.zip(row.hi)));
        let facts = context! {
            traits => fact(&row.listed_traits()), counts => number::of(row.k, row.n),
            share => number(NumberFormat::Share, rate, Some(ends), compared), others, ..people
        };
        Some(("traits", facts))
    }

    /// The feature that adds most to the switches.
    fn through(&self) -> Option<StepFacts> {
        let HarmResult { key, metric, .. } = self.finding?;
        let inputs = self.inputs;
        let rows = inputs.audit.switch_features.iter().filter(|row| {
            row.arm.is_empty() && key.is_about([&row.model, &row.counterfactual, &row.sensitive])
        });
        let block = rows.min_by_key(|row| row.metric != **metric);
        let features = block.map_or_else(Vec::new, |row| why::features(inputs, row.why.as_str()));
        let entry = fact(&inputs.voice.called_attribute(&key.attribute));
        let Some(first) = features.first() else {
            // What such a set changes needs no measuring.
            let is_of_the_entry = inputs.voice.is_of_the_entry(&key.set);
            return is_of_the_entry.then(|| ("entry", context!(entry, share => ())));
        };
        let value = first.decision?;
        let ends = first.decision_lo.zip(first.decision_hi).map(|ends| {
            (joint_ends(value, ends, self.level(), features.len()).0.max(-1.0), ends.1)
        });
        let code = match ends {
            Some((lo, _)) if lo <= 0.0 => "several",
            None => "several",
            Some(_) if first.feature == first.sensitive => "entry",
            Some(_) => "feature",
        };
        let feature = why::feature(inputs, first);
        let share = number(NumberFormat::Share, value, ends, features.len());
        Some((code, context!(entry, feature, share)))
    }

    /// A gap between two groups as they are, by a metric of pairs, where enough people are behind
    /// it.
    fn gap_of(&self, key: &ResultKey, metric: &str) -> Option<(&'a MetricRow, f64)> {
        let measure = self.inputs.audit.measure(key, metric).filter(|of| !of.is_small())?;
        Some((measure, measure.value?))
    }

    /// Whether the labels of a pair of groups differ, as the largest of several.
    fn label_gap(&self, key: &ResultKey, of: usize) -> Option<StepFacts> {
        let (measure, value) = self.gap_of(key, "prev_difference")?;
        let (lo, hi) = joint_ends(value, measure.ends()?, self.level(), of);
        let (voice, attribute) = (self.inputs.voice, &key.attribute);
        let turned = value < 0.0;
        let groups = if turned { [&key.to, &key.from] } else { [&key.from, &key.to] };
        // The inner end is that of the largest of many, the outer one the ordinary one.
        let own = measure.ends()?;
        let ends = if turned { (-hi, -own.0) } else { (lo, own.1) };
        let [more, less] = groups.map(|group| fact(&voice.called_group(attribute, group)));
        let gap = number(NumberFormat::Points, value.abs(), Some(ends), of);
        let code = if lo > 0.0 || hi < 0.0 { "differ" } else { "alike" };
        Some((code, context!(more, less, gap)))
    }

    /// The labels of the two groups of the finding, against their decisions.
    fn labels(&self) -> Option<StepFacts> {
        let finding = &self.finding?.key;
        let pair = |from: &str, to: &str| {
            let of = [finding.model.as_str(), "", finding.attribute.as_str()];
            ResultKey::new(of, "pair", [from, to])
        };
        let both = [pair(&finding.from, &finding.to), pair(&finding.to, &finding.from)];
        let (key, (code, facts)) =
            both.iter().find_map(|key| Some((key, self.label_gap(key, 1)?)))?;
        let decisions = self.gap_of(key, "pprev_difference").and_then(|(of, _)| of.ends());
        let labels = self.gap_of(key, "prev_difference").and_then(|(of, _)| of.ends());
        let code = match labels.zip(decisions).filter(|_| code == "differ") {
            Some((labels, decisions)) => against_decisions(labels, decisions),
            None => code,
        };
        Some((code, facts))
    }

    /// The two groups whose labels differ most.
    fn base_rates(&self) -> Option<StepFacts> {
        let pairs =
            self.inputs.audit.measures().map(|(key, _)| key).filter(|key| key.scope == "pair");
        let pairs: Vec<&ResultKey> =
            pairs.filter(|key| self.gap_of(key, "prev_difference").is_some()).collect();
        // Labels do not depend on the model.
        let own: Vec<_> = pairs.iter().filter(|key| key.model == pairs[0].model).collect();
        let least = |key: &ResultKey| {
            let interval = self.gap_of(key, "prev_difference").and_then(|(of, _)| of.ends());
            interval.map_or(0.0, |(lo, hi)| lo.max(-hi))
        };
        let widest = own.iter().max_by(|a, b| least(a).total_cmp(&least(b)))?;
        self.label_gap(widest, own.len())
    }

    /// The two groups of which one clearly gets the decision less often, the most people harmed.
    fn gap(&self) -> Option<StepFacts> {
        let inputs = self.inputs;
        let compared = inputs.n_gaps();
        let Some((shares, gap)) = inputs.worst_gap(None, compared) else {
            return (compared > 0).then(|| ("alike", context!(pairs => compared)));
        };
        let share = |of: &GroupFavourableShare| {
            number(NumberFormat::Share, of.point.value, of.point.interval, 1)
        };
        let facts = context! {
            low => fact(gap.low), high => fact(gap.high), low_share => share(gap.low),
            high_share => share(gap.high), model => fact(&shares.model),
            pairs => compared,
        };
        Some(("differ", facts))
    }

    /// The arm that lowers the rate of the finding most.
    fn arm(&self) -> Option<StepFacts> {
        let (inputs, finding, level) = (self.inputs, self.finding?, self.level());
        let key = &finding.key;
        let target = inputs.voice.switch_label(finding.side, &key.attribute, (&key.from, &key.to));
        let mut found: Vec<ArmRateChange> = Vec::new();
        for words in &inputs.audit.manifest.experiments {
            if words.model == key.model && words.counterfactual == key.set {
                let idle = IdleArms::of(inputs, words);
                let own = retraining::changes(inputs, words).into_iter();
                let own = own.filter(|change| !idle.contains(&change.arm));
                let several = inputs.audit.manifest.experiments.len() > 1;
                found.extend(own.map(|change| match several {
                    true => change.in_experiment(&words.name),
                    false => change,
                }));
            }
        }
        let of_target = || found.iter().filter(|change| change.label == target);
        let compared = of_target().count();
        if compared == 0 {
            return None;
        }
        let ends = |change: &ArmRateChange| {
            let (own, value) = (change.interval?, change.by);
            Some((own.0, joint_ends(value, own, level, compared).1))
        };
        let helps = |change: &&ArmRateChange| {
            change.is_clear && ends(change).is_some_and(|(_, hi)| hi < 0.0)
        };
        let harms = |change: &ArmRateChange| {
            found.iter().any(|other| other.arm == change.arm && other.is_larger_harm())
        };
        let mut helping: Vec<&ArmRateChange> = of_target().filter(helps).collect();
        helping.sort_by(|a, b| a.worse_by.total_cmp(&b.worse_by));
        let best = helping.iter().find(|change| !harms(change));
        let code = match (best, helping.is_empty()) {
            (Some(_), _) => "helps",
            (None, true) => "none",
            (None, false) => "harms",
        };
        let Some(best) = best.or(helping.first()) else {
            return Some((code, context!(arms => compared)));
        };
        let share = |value: f64| value_text(NumberFormat::Share, value, best.interval);
        let mut accuracy = found.iter().filter(|other| other.arm == best.arm);
        let accuracy = accuracy.find(|other| !other.is_harm);
        let change = |of: &ArmRateChange, ends, m| number(NumberFormat::Points, of.by, ends, m);
        let reversed = found.iter().filter(|of| of.arm == best.arm && of.is_reversed_harm());
        let facts = context! {
            reversed => fact(&reversed.collect::<Vec<_>>()),
            arm => short(&best.arm), rate => best.label.as_str(), before => share(best.before),
            after => share(best.after), change => change(best, ends(best), compared),
            accuracy => accuracy.map(|of| change(of, of.interval, 1)), arms => compared,
        };
        Some((code, facts))
    }

    /// The lines of a job that try remedies on the finding; none where its model or set cannot be
    /// used.
    fn job_lines(&self) -> Option<String> {
        let (manifest, key) = (&self.inputs.audit.manifest, &self.finding?.key);
        let model = manifest.model(&key.model)?;
        let set = self.inputs.voice.set(&key.set)?;
        let conditions_on = set.knob("condition_on").and_then(|of| of.get("prediction"));
        let fits = manifest.label.as_ref().is_some_and(|label| label.classes.is_empty())
            && model.contract.is_none()
            && model.amount.is_none()
            && set.strategy != "graph-uncertain"
            && conditions_on.is_none();
        let lines =
            || format!("experiments:\n  remedy: {}\n", experiment(&key.model, &key.set, false));
        fits.then(lines)
    }
}

/// A step that was taken.
struct TakenStep {
    step: &'static ReadingStep,
    outcome: &'static ReadingOutcome,
    facts: Value,
}

fn walk(walk: &PathWalk<'_>) -> Vec<TakenStep> {
    let mut taken = Vec::new();
    let mut next = Some(&STEPS[0]);
    while let Some(step) = next {
        let answer = ANSWERS.iter().find(|(id, _)| *id == step.id);
        let (code, facts) = answer.and_then(|(_, of)| of(walk)).unwrap_or((NO_DATA, context!()));
        let outcome = step.outcome(code);
        taken.push(TakenStep { step, outcome, facts });
        next = reading_path::find(outcome.next);
    }
    taken
}

/// The section; none where nothing was measured.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<PageSection> {
    let finding = match inputs.choose_hero().subject {
        HeroSubject::Switch(result) => Some(result),
        _ => findings(inputs.audit, inputs.results).into_iter().next(),
    };
    let path = PathWalk { inputs, finding };
    let taken = walk(&path);
    let has_data = |taken: &&TakenStep| taken.outcome.code != NO_DATA;
    if !taken.iter().any(|taken| has_data(&taken)) {
        return None;
    }
    let line = |taken: &TakenStep| {
        let TakenStep { step, outcome, facts } = taken;
        context! {
            at => format!("{}.{}", step.id, outcome.code), question => step.question(),
            act => outcome.act(), f => facts,
        }
    };
    // With several classes no job can add what they need.
    let can_be_added = !inputs.audit.classes.are_there();
    let without = taken.iter().filter(|taken| can_be_added && !has_data(taken));
    let missing = without
        .clone()
        .map(|taken| context!(question => taken.step.question(), needs => taken.step.needs()));
    let lines = without.clone().any(|taken| taken.step.id == "arm").then(|| path.job_lines());
    // The last one first: it is the one before anything is trained again.
    let acts = taken.iter().rev().map(|taken| taken.outcome.act()).filter(|act| !act.is_empty());
    let facts = context! {
        acts => acts.collect::<Vec<_>>(),
        steps => taken.iter().filter(has_data).map(line).collect::<Value>(),
        missing => missing.collect::<Value>(), lines => lines.flatten(),
    };
    Some(PageSection::of_facts("path", "path.html", facts))
}

#[cfg(test)]
mod tests {
    use super::{ANSWERS, STEPS, against_decisions};

    #[test]
    fn labels_may_differ_as_the_decisions_do_less_or_the_other_way_round() {
        for (labels, decisions, expected) in [
            ((0.1, 0.2), (0.15, 0.3), "differ"),
            ((0.1, 0.2), (-0.1, 0.1), "differ"),
            ((0.1, 0.2), (0.21, 0.3), "amplified"),
            ((0.1, 0.2), (-0.3, -0.1), "opposed"),
        ] {
            let turn = |(lo, hi): (f64, f64)| (-hi, -lo);
            for [labels, decisions] in [[labels, decisions], [turn(labels), turn(decisions)]] {
                assert_eq!(against_decisions(labels, decisions), expected, "{labels:?}");
            }
        }
    }

    #[test]
    fn each_step_has_an_answer_and_each_outcome_a_sentence() {
        let ids: Vec<&str> = ANSWERS.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, STEPS.iter().map(|step| step.id).collect::<Vec<_>>());
        let template = include_str!("path.html");
        for step in STEPS {
            for outcome in &step.outcomes[..step.outcomes.len() - 1] {
                let at = format!("\"{}.{}\"", step.id, outcome.code);
                assert!(template.contains(&at), "no sentence for {at}");
            }
        }
    }
}
