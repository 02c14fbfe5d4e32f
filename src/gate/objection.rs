//! What prevents a gate from being decided: the one mechanism by which a coded objection makes it
//! inconclusive.
//!
//! An objection of a *question* is about its model or its set and holds whatever the verdict: it is
//! found here, in what the folder of a run holds, so that a finished folder is judged as the run
//! was. An objection of a *ruling* withdraws a verdict that the rule gave, see
//! [`GateRuling::object`](crate::gate::question::GateRuling::object). Both carry a code of the
//! column `reason_code`; a job accepts some of them by name (`accept` of a model or a set).

use crate::gate::decide_by::GateDecideBy;
use crate::gate::question::{GateCase, GateQuestion, GateSubject, GateTables};
use crate::gate::reason::{
    CountedUnit, EmptySearch, GateReason, ThresholdsApart, UncertaintySource,
};
use crate::metric::MetricFamily;
use crate::metric::catalog::ccm::SWITCH_RATE;
use crate::metric::catalog::find;
use crate::table::{IssueRow, KnowledgeFitRow, SetPair, UnknownLevelRow};

/// From this share of bootstraps on, graphs that fit worse contradict their statements.
const CONTRADICTED: f64 = 0.95;

/// The measures of the features of a counterfactual that its set could not move as meant: for lack
/// of reference rows, or because none of them has the value of the person.
const UNMOVED: [&str; 2] = ["kept_mean", "unknown_share"];

/// The arm that adds nothing, with which the others are compared.
const BASE: &str = "base";

/// From this share of people on, values that the model does not know, or that the reference rows
/// hardly hold, and features that these rows could not move leave gates on them undecided.
pub(crate) const MANY_PEOPLE: f64 = 0.05;

/// Whether a question is about a group, among others.
fn is_about(question: &GateQuestion, group: &str) -> bool {
    match &question.scope {
        GateSubject::Group(asked) => asked == group,
        // An empty name is all others together.
        GateSubject::Direction(a, b) | GateSubject::Pair(a, b) => {
            [a, b].into_iter().any(|asked| asked == group || asked.is_empty())
        }
        _ => true,
    }
}

/// The objection that many people of a group of a question have values that its model does not
/// know.
fn of_levels(question: &GateQuestion, tables: &GateTables) -> Option<GateReason> {
    let share = |row: &UnknownLevelRow| row.people as f64 / row.audited.max(1) as f64;
    let of_groups = tables.unknown.iter().filter(|row| {
        row.model.as_str() == question.model
            && row.column.is_empty()
            && question.attributes.iter().any(|asked| row.sensitive == *asked)
            && is_about(question, &row.group)
            && share(row) >= MANY_PEOPLE
    });
    let worst = of_groups.max_by(|a, b| share(a).total_cmp(&share(b)))?;
    Some(GateReason::UnknownLevels {
        attribute: worst.sensitive.to_string(),
        group: worst.group.to_string(),
        people: worst.people,
        audited: worst.audited,
    })
}

/// The objection that the arm of a question added no rows, so that its model is the one before.
fn of_arm(question: &GateQuestion, tables: &GateTables) -> Option<GateReason> {
    let (_, arm) = question.arm.split_once('/').filter(|(_, arm)| *arm != BASE)?;
    let mut own = tables.arms.iter().filter(|row| row.arm.as_str() == question.arm).peekable();
    own.peek()?;
    let added: i64 = own.map(|row| row.n_counterfactuals + row.n_synthetic).sum();
    let search = EmptySearch::Arm(arm.to_owned());
    (added == 0).then_some(GateReason::NothingLookedAt { search })
}

/// What prevents a pass: the model of the question decides alike about all counterfactuals of its
/// set, or scores each as its row. A fail stands: what breaks the limit is there.
pub(super) fn alike_for_all(case: GateCase<'_>) -> Option<GateReason> {
    let question = case.question;
    let of_plain_audit = of_model(question, case.tables).filter(|_| question.arm.is_empty());
    let is_asked = |counterfactual: &String, sensitive: &String| {
        *counterfactual == question.counterfactual && question.attributes.contains(sensitive)
    };
    let mut own = of_plain_audit.filter_map(|objection| match objection {
        GateReason::OneCounterfactualDecision { model, mut sets } => {
            sets.retain(|set| is_asked(&set.counterfactual, &set.sensitive));
            (!sets.is_empty()).then_some(GateReason::OneCounterfactualDecision { model, sets })
        }
        GateReason::UnmovedScores { model, mut sets } => {
            sets.retain(|set| is_asked(&set.counterfactual, &set.sensitive));
            (!sets.is_empty()).then_some(GateReason::UnmovedScores { model, sets })
        }
        _ => None,
    });
    own.find(|objection| !question.accepts(objection))
}

/// What prevents a pass: a mean in which few people count as much as all, by their weights or
/// their numbers of rows. It is as precise as that of so many people of equal weight, by the switch
/// rate of the same people; the interval of a mean hardly shows that one of them decides it.
pub(super) fn few_by_weight(case: GateCase<'_>) -> Option<GateReason> {
    let GateCase { question, observed, .. } = case;
    let is_mean = is_of_scores(question) && observed.row.denominator.is_none();
    let equal = |place: [&str; 3]| case.row(SWITCH_RATE, place)?.n_eff.map(f64::round);
    let least = observed.sides().into_iter().filter_map(equal).reduce(f64::min)?;
    (is_mean && least < question.min_cases as f64).then_some(GateReason::TooFew {
        n: least as i64,
        of: CountedUnit::EqualPeople,
        required: question.min_cases,
    })
}

/// What prevents a pass: the set could not move features of many people as meant, for lack of
/// reference rows that know them, so that the decisions about these people are nearly those of
/// their rows.
pub(super) fn unmoved_features(case: GateCase<'_>) -> Option<GateReason> {
    let GateCase { question, observed, tables } = case;
    let of_groups = |[scope, from, to]: [&str; 3]| {
        let groups = if scope == "direction" { [from, to] } else { ["", ""] };
        let (row, mean) = tables.quality.iter().find_map(|row| {
            let SetPair { counterfactual, sensitive, from_group, to_group } = &row.pair;
            let is_asked = UNMOVED.contains(&row.metric.as_str())
                && *counterfactual == question.counterfactual
                && *sensitive == observed.row.key.sensitive
                && [from_group, to_group] == groups;
            let mean = row.value.filter(|mean| is_asked && *mean >= MANY_PEOPLE)?;
            Some((row, mean))
        })?;
        let (counterfactual, unknown) = (question.counterfactual.clone(), row.metric == UNMOVED[1]);
        let groups = groups.map(Into::into);
        Some(GateReason::UnmovedFeatures { counterfactual, groups, mean, unknown })
    };
    let mut found = observed.sides().into_iter().filter_map(of_groups);
    found.find(|objection| !question.accepts(objection))
}

/// What prevents a pass by the interval over people where the job does not say what decides: a
/// range over graphs, fits or trainings that breaks the limit.
pub(super) fn doubt_left_out(case: GateCase<'_>) -> Option<GateReason> {
    let (question, row) = (case.question, &case.observed.row);
    let [fits, trainings] = [row.fit_repeats, row.training_repeats].map(|n| n.unwrap_or(0));
    let ranges = [
        (UncertaintySource::Graphs, row.world_lo.zip(row.world_hi)),
        (UncertaintySource::Fits(fits), row.fit_lo.zip(row.fit_hi)),
        (UncertaintySource::Trainings(trainings), row.training_lo.zip(row.training_hi)),
    ];
    let is_asked = question.asks_all_doubts && question.decide_by == GateDecideBy::Interval;
    let mut told = ranges.into_iter().filter(|_| is_asked && !case.observed.is_change);
    told.find_map(|(over, ends)| {
        let (lo, hi) = ends.filter(|ends| question.limit.is_broken_within(*ends))?;
        Some(GateReason::DoubtLeftOut { over, ends: [lo, hi] })
    })
}

/// What prevents a pass by graphs of a scenario that in nearly all bootstraps fits the rows worse
/// than another one. What graphs themselves are is no matter of that.
pub(super) fn contradicted_knowledge(case: GateCase<'_>) -> Option<GateReason> {
    let GateCase { question, observed, tables } = case;
    let (set, scenario) = question.counterfactual.split_once('/')?;
    let own = tables.knowledge_fit.iter().filter(|_| !question.is_of_graphs()).find(|row| {
        row.counterfactual == *set
            && row.scenario == *scenario
            && row.sensitive == observed.row.key.sensitive
    })?;
    let KnowledgeFitRow { worse_in, bootstraps, .. } = *own;
    let is_worse = bootstraps > 0 && worse_in as f64 >= CONTRADICTED * bootstraps as f64;
    let (scenario, against) = (scenario.to_owned(), own.against.to_string());
    let objection = GateReason::ContradictedKnowledge { scenario, against, worse_in, bootstraps };
    (is_worse && !question.accepts(&objection)).then_some(objection)
}

/// Whether a question is about distances of scores or amounts, which no threshold decides.
fn is_of_scores(question: &GateQuestion) -> bool {
    let family = find(&question.metric).map(|metric| metric.family);
    matches!(family, Some(MetricFamily::Shift | MetricFamily::Amounts))
}

/// The groups with different thresholds that matter to a question: those of rows as they are, and
/// of counterfactuals of other groups and attributes, are right.
fn thresholds_asked(
    question: &GateQuestion,
    mut attributes: Vec<ThresholdsApart>,
) -> Vec<ThresholdsApart> {
    let is_asked = !question.counterfactual.is_empty() && !is_of_scores(question);
    attributes.retain(|of| is_asked && question.attributes.contains(&of.sensitive));
    for of in &mut attributes {
        of.pairs.retain(|pair| pair.iter().all(|group| is_about(question, group)));
    }
    attributes.retain(|of| !of.pairs.is_empty());
    attributes
}

/// The objections to the model of a question, by the issues.
fn of_model<'a>(
    question: &'a GateQuestion,
    tables: &'a GateTables,
) -> impl Iterator<Item = GateReason> + 'a {
    let is_about = |issue: &&IssueRow| issue.r#where.as_str() == question.model;
    let about = tables.issues.iter().filter(|_| !question.model.is_empty());
    about.filter(is_about).filter_map(GateReason::of_issue)
}

/// Why a question cannot be decided, whatever its verdict would be; empty where it can.
pub(super) fn of_question(question: &GateQuestion, tables: &GateTables) -> Vec<GateReason> {
    let of_model = of_model(question, tables).filter_map(|objection| match objection {
        GateReason::OneCounterfactualDecision { .. } | GateReason::UnmovedScores { .. } => None,
        GateReason::ThresholdByGroup { model, attributes } => {
            let attributes = thresholds_asked(question, attributes);
            (!attributes.is_empty()).then_some(GateReason::ThresholdByGroup { model, attributes })
        }
        other => Some(other),
    });
    let of_levels = of_levels(question, tables);
    let all = question.objections.iter().cloned().chain(of_model).chain(of_levels);
    let all = all.chain(of_arm(question, tables));
    all.filter(|objection| !question.accepts(objection)).collect()
}
