//! The gates of a job as questions that its tables answer.

use std::collections::BTreeMap;

use crate::gate::question::{GateLimit, GateQuantity, GateQuestion, GateSubject};
use crate::gate::reason::{GateCount, UnshownChange};
use crate::job::check::CheckedJob;
use crate::job::{self, GateBetween, GateDirection, GateLevel, MetricFamily};
use crate::metric::catalog::ccm::HARM;
use crate::metric::catalog::find;
use crate::param::{ColumnName, Name, Word};

/// The gates of a job as questions.
pub(crate) fn questions(checked: &CheckedJob) -> Vec<GateQuestion> {
    let attributes: Vec<String> =
        checked.job.data.sensitive.keys().map(|a| a.to_string()).collect();
    let questions =
        checked.job.gates.iter().filter(|(_, gate)| gate.is_of_metric()).map(|(name, gate)| {
            let (asked, scope) = subject(checked, gate);
            let asked = asked.or(gate.sensitive.as_ref());
            // Checked before: the gate has one limit, on a change if it is about a change.
            let asks =
                if gate.against.is_some() { GateQuantity::Change } else { GateQuantity::Value };
            let limit = match (gate.at_least, gate.fall_at_most, gate.at_most.or(gate.rise_at_most))
            {
                (Some(limit), ..) => GateLimit::AtLeast(limit.get()),
                (None, Some(fall), _) => GateLimit::AtLeast(0.0 - fall.get()),
                (None, None, limit) => GateLimit::AtMost(limit.map_or(f64::INFINITY, |l| l.get())),
            };
            let attributes = asked.map_or_else(|| attributes.clone(), |a| vec![a.to_string()]);
            // Amounts above a number are decisions, as the family clarify counts them.
            let family = gate.metric.as_deref().and_then(find).map(|metric| metric.family);
            let decides = matches!(family, Some(MetricFamily::Clarify | MetricFamily::Group));
            GateQuestion {
                unshown: unshown(checked, gate, &attributes),
                favourable: model_of(checked, gate)
                    .filter(|model| model.amount().is_none() || decides)
                    .and_then(|_| checked.job.data.favourable_side()),
                name: name.to_string(),
                metric: gate.metric.clone().unwrap_or_else(|| HARM[0].to_owned()),
                arm: gate.arm.clone().unwrap_or_default(),
                model: text(gate.model.as_ref()),
                counterfactual: text(gate.counterfactual.as_ref()),
                attributes,
                scope,
                class: text(gate.class.as_ref()),
                quantity: asks,
                limit,
                decide_by: gate.decides(),
                asks_all_doubts: gate.decide_by.is_none(),
                bootstraps: bootstraps(checked, gate),
                holm: gate.family_error == Some(job::FamilywiseError::Holm),
                withstands: gate.withstands.map(|strength| strength.get()),
                min_cases: gate.enough.get(),
                warn_only: gate.level == GateLevel::Warn,
                line: line_of(checked, name),
                ..GateQuestion::default()
            }
        });
    questions.collect()
}

/// Which rows a gate is about, and the attribute that their groups are of.
fn subject<'a>(
    checked: &CheckedJob,
    gate: &'a job::GateBlock,
) -> (Option<&'a ColumnName>, GateSubject) {
    fn first<V>(map: &BTreeMap<ColumnName, V>) -> Option<(&ColumnName, &V)> {
        map.iter().next()
    }
    if let Some((attribute, group)) = gate.group.as_ref().and_then(first) {
        return (Some(attribute), GateSubject::Group(group.to_string()));
    }
    if let Some((attribute, group)) = gate.harm_to.as_ref().and_then(first) {
        return (Some(attribute), GateSubject::HarmTo(group.to_string()));
    }
    let pair = match (&gate.between, &gate.direction) {
        (Some(GateBetween::WorstCase), _) => return (None, GateSubject::WorstCase),
        (None, Some(GateDirection::Any)) => return (None, GateSubject::AnyDirection),
        (Some(GateBetween::Pair(map)), _) | (None, Some(GateDirection::Pair(map))) => first(map),
        (None, None) => None,
    };
    let Some((attribute, [a, b])) = pair else { return (None, GateSubject::Total) };
    // All others together have no name in the tables.
    let groups = checked.job.data.groups_of(attribute);
    let name = |word: &Word| match groups.iter().any(|group| group.as_str() == word.as_str()) {
        false if word.as_str() == "rest" => String::new(),
        _ => word.to_string(),
    };
    let scope = match gate.between {
        Some(_) => GateSubject::Pair(name(a), name(b)),
        None => GateSubject::Direction(a.to_string(), b.to_string()),
    };
    (Some(attribute), scope)
}

/// A name, empty where there is none.
fn text(name: Option<&impl ToString>) -> String {
    name.map(ToString::to_string).unwrap_or_default()
}

/// The set that a gate asks about.
pub(super) fn set_of<'a>(
    checked: &'a CheckedJob,
    gate: &job::GateBlock,
) -> Option<&'a job::CounterfactualSet> {
    checked.job.counterfactuals.get(gate.counterfactual.as_ref()?.as_str())
}

/// The model that a gate asks about.
pub(super) fn model_of<'a>(
    checked: &'a CheckedJob,
    gate: &job::GateBlock,
) -> Option<&'a job::ModelBlock> {
    checked.job.models.get(gate.model.as_ref()?)
}

/// Bootstraps of the graphs of a gate's set; none where it has no graphs. A scenario is named
/// `SET/SCENARIO`.
fn bootstraps(checked: &CheckedJob, gate: &job::GateBlock) -> Option<u64> {
    let named = gate.counterfactual.as_ref().map(|name| name.as_str());
    let set = named
        .and_then(|name| name.split('/').next())
        .and_then(|set| checked.job.counterfactuals.get(set));
    set.and_then(|set| set.graphs()).map(|graphs| graphs.n_bootstraps())
}

/// What the rows to score of a gate's set do not show: `naive` changes nothing but columns of the
/// attribute, and those that distinguish the groups are not sent to the scorer.
fn unshown(
    checked: &CheckedJob,
    gate: &job::GateBlock,
    attributes: &[String],
) -> Vec<UnshownChange> {
    let job = &checked.job;
    let is_naive = set_of(checked, gate).is_some_and(job::CounterfactualSet::sets_attribute_only);
    let has_given_scores =
        model_of(checked, gate).is_some_and(|model| model.given_scores().is_some());
    let asked = job
        .data
        .sensitive
        .keys()
        .filter(|name| attributes.iter().any(|asked| asked == name.as_str()));
    let of = |name: &ColumnName| {
        let unshown = |direction| UnshownChange { attribute: name.to_string(), direction };
        if job.data.is_unshown(name) {
            return vec![unshown(None)];
        }
        let groups = job.data.groups_of(name);
        let pairs = groups
            .iter()
            .flat_map(|from| groups.iter().filter(move |to| *to != from).map(move |to| (from, to)));
        let hidden = pairs.filter(|(from, to)| job.data.is_direction_unshown(name, from, to));
        hidden.map(|(from, to)| unshown(Some([from.to_string(), to.to_string()]))).collect()
    };
    asked.filter(|_| is_naive && has_given_scores).flat_map(of).collect()
}

/// The gates of a job on numbers in tables of their own, first those on recourse, then those on
/// patterns; nothing is counted yet.
pub(crate) fn counted_questions(checked: &CheckedJob) -> Vec<GateQuestion> {
    let asked =
        |name: &Name, gate: &job::GateBlock, model: &Name, attribute: &ColumnName| GateQuestion {
            name: name.to_string(),
            model: model.to_string(),
            attributes: vec![attribute.to_string()],
            warn_only: gate.level == GateLevel::Warn,
            line: line_of(checked, name),
            ..GateQuestion::default()
        };
    let of_recourse = |(name, gate): (&Name, &job::GateBlock)| {
        let attribute = gate.recourse.as_ref()?;
        let block = checked.job.recourse.get(attribute)?;
        let definition = gate.definition?.definition(block.no_way_costs)?;
        let counted = GateCount::Subgroups {
            definition: definition.id().to_owned(),
            parameter: definition.parameter(),
            view: gate.view?.id().to_owned(),
            score_at_least: gate.score_at_least.map(|score| score.get()),
            min_affected: gate.smallest.map_or(1, |n| n.get()),
        };
        let question = asked(name, gate, &block.model, attribute);
        Some(GateQuestion::of_count(question, gate.unfair_subgroups_at_most?, counted))
    };
    let of_patterns = |(name, gate): (&Name, &job::GateBlock)| {
        let why = gate.why.as_ref()?;
        let block = checked.job.why.get(why)?;
        let question = GateQuestion {
            min_cases: gate.enough.get(),
            arm: block.arm.clone().unwrap_or_default(),
            ..asked(name, gate, &block.model, block.subject()?.0)
        };
        let counted = GateCount::Patterns { metric: None, why: why.to_string() };
        Some(GateQuestion::of_count(question, gate.patterns_at_most?, counted))
    };
    let gates = || checked.job.gates.iter();
    gates().filter_map(of_recourse).chain(gates().filter_map(of_patterns)).collect()
}

/// The line of the job file on which a gate is declared; 0 where it is not known.
fn line_of(checked: &CheckedJob, name: &Name) -> u64 {
    checked.places.at(&job::check::path(&["gates", name.as_str()])).map_or(0, |p| p.line)
}
