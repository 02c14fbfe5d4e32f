//! The stage `gate`: the gates of a job as questions, judged by tables.

pub(crate) mod baseline;
pub(crate) mod blind;
pub(crate) mod model_issues;
pub(crate) mod power;
mod stage;

use std::collections::BTreeMap;
use std::path::Path;

use crate::counterfactual::strategy::AcceptedOfSet;
use crate::diff::DiffResult;
use crate::error::{Exit, Result};
use crate::exec::{StageContext, files};
use crate::gate;
use crate::gate::question::{GateLimit, GateQuantity, GateQuestion, GateSubject, GateTables};
use crate::gate::reason::{GateReason, GateStatus, UnshownChange};
use crate::gate::recourse::{CountedGate, RecourseGateQuestion};
use crate::gate::why::PatternGateQuestion;
use crate::job::check::CheckedJob;
use crate::job::{self, GateBetween, GateDirection, GateLevel, MetricFamily, OnInconclusive};
use crate::metric::catalog::ccm::HARM;
use crate::metric::catalog::find;
use crate::model::kind::accept_key::AcceptedOfModel;
use crate::param::{ColumnName, Name, Word};
use crate::stage::artifact::{GATE_OUTCOME, GateOutcome};
use crate::stage::kinds::{BaselineStage, PopulationStage};
use crate::stage::report::inputs::MeasuredTables;
use crate::stage::stage_builder::StageInput;
use crate::table::file::{read_rows, write_rows};
use crate::table::{
    ArmRow, CountRow, GateRow, GroupRow, HiddenCauseRow, IssueRow, MetricTable, PopulationRow,
    ReasonCode, UnknownLevelRow,
};

/// The gates of a job as questions.
pub(crate) fn questions(checked: &CheckedJob) -> Vec<GateQuestion> {
    let attributes: Vec<String> =
        checked.job.data.sensitive.keys().map(|a| a.to_string()).collect();
    let questions =
        checked.job.gates.iter().filter(|(_, gate)| gate.is_of_metric()).map(|(name, gate)| {
            let mut asked: Option<String> = gate.sensitive.as_ref().map(|s| s.to_string());
            let mut pair = |map: &BTreeMap<ColumnName, [Word; 2]>| {
                let (attribute, [a, b]) = map.iter().next()?;
                asked = Some(attribute.to_string());
                Some((a.to_string(), b.to_string()))
            };
            let mut scope = GateSubject::Total;
            match &gate.direction {
                Some(GateDirection::Any) => scope = GateSubject::AnyDirection,
                Some(GateDirection::Pair(map)) => {
                    if let Some((a, b)) = pair(map) {
                        scope = GateSubject::Direction(a, b);
                    }
                }
                None => {}
            }
            match &gate.between {
                Some(GateBetween::WorstCase) => scope = GateSubject::WorstCase,
                Some(GateBetween::Pair(map)) => {
                    // All others together have no name in the tables.
                    let name = |word: String, attribute: Option<&ColumnName>| {
                        let declared = attribute.is_some_and(|a| {
                            checked.job.data.groups_of(a).iter().any(|group| group.as_str() == word)
                        });
                        if word == "rest" && !declared { String::new() } else { word }
                    };
                    if let Some((a, b)) = pair(map) {
                        let attribute = map.keys().next();
                        scope = GateSubject::Pair(name(a, attribute), name(b, attribute));
                    }
                }
                None => {}
            }
            if let Some((attribute, group)) = gate.harm_to.as_ref().and_then(|m| m.iter().next()) {
                asked = Some(attribute.to_string());
                scope = GateSubject::HarmTo(group.to_string());
            }
            if let Some((attribute, group)) = gate.group.as_ref().and_then(|m| m.iter().next()) {
                asked = Some(attribute.to_string());
                scope = GateSubject::Group(group.to_string());
            }
            // Checked: the gate has one limit, of a change where it asks about one.
            let asks =
                if gate.against.is_some() { GateQuantity::Change } else { GateQuantity::Value };
            let limit = match (gate.at_least, gate.fall_at_most, gate.at_most.or(gate.rise_at_most))
            {
                (Some(limit), ..) => GateLimit::AtLeast(limit.get()),
                (None, Some(fall), _) => GateLimit::AtLeast(0.0 - fall.get()),
                (None, None, limit) => GateLimit::AtMost(limit.map_or(f64::INFINITY, |l| l.get())),
            };
            let attributes = asked.map_or_else(|| attributes.clone(), |a| vec![a]);
            GateQuestion {
                unshown: unshown(checked, gate, &attributes),
                favourable: model_of(checked, gate)
                    .filter(|model| model.amount().is_none() || counts_decisions(gate))
                    .and_then(|_| checked.job.data.favourable_side()),
                objections: Vec::new(),
                accepts: Vec::new(),
                name: name.to_string(),
                metric: gate.metric.clone().unwrap_or_else(|| HARM[0].to_owned()),
                arm: gate.arm.clone().unwrap_or_default(),
                model: gate.model.as_ref().map(ToString::to_string).unwrap_or_default(),
                counterfactual: gate
                    .counterfactual
                    .as_ref()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
                attributes,
                scope,
                class: gate.class.as_ref().map(ToString::to_string).unwrap_or_default(),
                quantity: asks,
                limit,
                decide_by: gate.decide_by,
                bootstraps: bootstraps(checked, gate),
                holm: gate.family_error == Some(job::FamilywiseError::Holm),
                withstands: gate.withstands.map(|strength| strength.get()),
                min_cases: gate.enough.get(),
                warn_only: gate.level == GateLevel::Warn,
                line: line_of(checked, name),
            }
        });
    questions.collect()
}

/// Whether a gate on a model whose outcome is an amount asks about decisions: amounts above a
/// number, as the family clarify counts them.
fn counts_decisions(gate: &job::GateBlock) -> bool {
    let metric = gate.metric.as_deref().and_then(find);
    metric
        .is_some_and(|metric| matches!(metric.family, MetricFamily::Clarify | MetricFamily::Group))
}

/// The set that a gate asks about.
fn set_of<'a>(
    checked: &'a CheckedJob,
    gate: &job::GateBlock,
) -> Option<&'a job::CounterfactualSet> {
    checked.job.counterfactuals.get(gate.counterfactual.as_ref()?.as_str())
}

/// The model that a gate asks about.
fn model_of<'a>(checked: &'a CheckedJob, gate: &job::GateBlock) -> Option<&'a job::ModelBlock> {
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
    let is_scored_elsewhere =
        model_of(checked, gate).is_some_and(|model| model.made_elsewhere().is_some());
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
    asked.filter(|_| is_naive && is_scored_elsewhere).flat_map(of).collect()
}

/// The gates on recourse of a job as questions.
pub(crate) fn recourse_questions(checked: &CheckedJob) -> Vec<RecourseGateQuestion> {
    let question = |(name, gate): (&Name, &job::GateBlock)| {
        let attribute = gate.recourse.as_ref()?;
        let block = checked.job.recourse.get(attribute)?;
        let definition = gate.definition?.definition(block.no_way_costs)?;
        Some(RecourseGateQuestion {
            name: name.to_string(),
            recourse: attribute.to_string(),
            model: block.model.to_string(),
            definition: [
                definition.id().to_owned(),
                definition.parameter(),
                gate.view?.id().to_owned(),
            ],
            score_at_least: gate.score_at_least.map(|score| score.get()),
            min_affected: gate.smallest.map_or(1, |n| n.get()),
            at_most: gate.unfair_subgroups_at_most?,
            warn_only: gate.level == GateLevel::Warn,
            line: line_of(checked, name),
        })
    };
    checked.job.gates.iter().filter_map(question).collect()
}

/// The line of the job file on which a gate is declared; 0 where it is not known.
fn line_of(checked: &CheckedJob, name: &Name) -> u64 {
    checked.places.at(&job::check::path(&["gates", name.as_str()])).map_or(0, |p| p.line)
}

/// The gates on patterns of a job as questions.
pub(crate) fn pattern_questions(checked: &CheckedJob) -> Vec<PatternGateQuestion> {
    let question = |(name, gate): (&Name, &job::GateBlock)| {
        let block = checked.job.why.get(gate.why.as_ref()?)?;
        Some(PatternGateQuestion {
            name: name.to_string(),
            why: gate.why.as_ref()?.to_string(),
            model: block.model.to_string(),
            attribute: block.subject()?.0.to_string(),
            at_most: gate.patterns_at_most?,
            enough: gate.enough.get(),
            warn_only: gate.level == GateLevel::Warn,
            line: line_of(checked, name),
        })
    };
    checked.job.gates.iter().filter_map(question).collect()
}

/// What a stage is about, by name, and its folder.
type NamedFolder<'a> = (&'a str, &'a Path);

/// Judges the gates by the tables of a run; writes their table, what the summary says about them,
/// and the `issues` of models that they were judged by, which the folder of the run holds too.
/// `baseline` is the stage that compared the run with an earlier one, `recourse` the folder of each
/// block by its attribute, `why` that of each block by its name. A run that `waits` for scores
/// lacks some of these; it says whether a baseline is named.
///
/// # Errors
/// A table cannot be read, or the disk refuses.
pub(crate) fn judge(
    ctx: &StageContext<'_>,
    (checked, waits): (&CheckedJob, Option<bool>),
    (measured, everybody): (&MeasuredTables, &StageInput<PopulationStage>),
    baseline: Option<&StageInput<BaselineStage>>,
    (recourse, why): (&[NamedFolder<'_>], &[NamedFolder<'_>]),
    (issues, unknown, hidden): (Vec<IssueRow>, Vec<UnknownLevelRow>, Vec<HiddenCauseRow>),
) -> Result<()> {
    let metrics = MetricTable::read(measured.all.folder(ctx))?;
    // An experiment audits the people of the plain audit.
    let groups = read_rows::<GroupRow>(measured.plain.folder(ctx))?;
    let counts = read_rows::<CountRow>(measured.all.folder(ctx))?;
    let arms = read_rows::<ArmRow>(measured.all.folder(ctx))?;
    let mut population = read_rows::<PopulationRow>(measured.plain.folder(ctx))?;
    population.extend(read_rows::<PopulationRow>(everybody.folder(ctx))?);
    let comparison =
        baseline.map(|stage| baseline::read_comparison(stage.folder(ctx))).transpose()?;
    let mut counted = Vec::new();
    for question in recourse_questions(checked) {
        let made = recourse.iter().find(|(attribute, _)| *attribute == question.recourse);
        // The own folder holds no table yet.
        let gate = gate::recourse::count(&question, made.map_or(ctx.out(), |made| made.1))?;
        counted.push(if made.is_some() { gate } else { gate.objected(GateReason::WaitsForScores) });
    }
    for question in pattern_questions(checked) {
        let made = why.iter().find(|(name, _)| *name == question.why);
        let gate = gate::why::count(&question, made.map_or(ctx.out(), |made| made.1))?;
        counted.push(if made.is_some() { gate } else { gate.objected(GateReason::WaitsForScores) });
    }
    let mut asked = questions(checked);
    let is_there = |question: &GateQuestion| {
        metrics.all.iter().any(|row| {
            row.key.model == question.model
                && row.key.counterfactual == question.counterfactual
                && row.key.arm == question.arm
        })
    };
    let awaits = |question: &GateQuestion| match (question.quantity, waits) {
        (_, None) => false,
        (GateQuantity::Change, Some(names_baseline)) => names_baseline && comparison.is_none(),
        (GateQuantity::Value, Some(_)) => !is_there(question),
    };
    for question in &mut asked {
        if awaits(question) {
            question.objections.push(GateReason::WaitsForScores);
        }
    }
    let (table, outcome) = verdicts(
        checked,
        asked,
        GateTables {
            metrics: &metrics.all,
            supported: &metrics.supported,
            groups: &groups,
            population: &population,
            counts: &counts,
            arms: &arms,
            issues: &issues,
            unknown: &unknown,
            hidden: &hidden,
        },
        comparison.as_ref(),
        counted,
    );
    write_rows(ctx.out(), &table)?;
    write_rows(ctx.out(), &issues)?;
    files::write_json(&ctx.out().join(GATE_OUTCOME), &outcome)
}

/// The objections to the model and the set of a question that the job accepts by name.
fn accepted(job: &job::Job, question: &GateQuestion) -> Vec<ReasonCode> {
    let model = job.models.iter().find(|(name, _)| name.as_str() == question.model);
    let of_model = model.into_iter().flat_map(|(_, model)| &model.accept).map(|code| match code {
        AcceptedOfModel::UnknownLevels => ReasonCode::UnknownLevels,
        AcceptedOfModel::InvertedScores => ReasonCode::InvertedScores,
        AcceptedOfModel::NotRepeatable => ReasonCode::NotRepeatable,
    });
    let sets = job.sets();
    let set = sets.iter().find(|(name, _)| *name == question.counterfactual);
    let of_set = set.into_iter().flat_map(|(_, set)| &set.accept).map(|code| match code {
        AcceptedOfSet::UnsupportedPeople => ReasonCode::UnsupportedPeople,
    });
    of_model.chain(of_set).collect()
}

/// The gates on recourse and on patterns of a finished folder.
///
/// # Errors
/// A table cannot be read.
pub(crate) fn counted_of(
    recourse: &[RecourseGateQuestion],
    patterns: &[PatternGateQuestion],
    folder: &Path,
) -> Result<Vec<CountedGate>> {
    let tables = folder.join("tables");
    let recourse = recourse.iter().map(|question| gate::recourse::count(question, &tables));
    recourse.chain(patterns.iter().map(|question| gate::why::count(question, &tables))).collect()
}

/// The table of gates by those of what was measured, and what the summary says about them: the one
/// judge of `run`, `gate` and `diff`.
pub(crate) fn verdicts(
    checked: &CheckedJob,
    mut questions: Vec<GateQuestion>,
    tables: GateTables<'_>,
    comparison: Option<&DiffResult>,
    mut counted: Vec<CountedGate>,
) -> (Vec<GateRow>, GateOutcome) {
    let baseline = comparison.map(baseline::as_baseline);
    for question in questions.iter_mut().chain(counted.iter_mut().map(CountedGate::question)) {
        question.accepts = accepted(&checked.job, question);
    }
    let judged = gate::judge(&questions, tables, baseline.as_ref(), &counted);
    let crossed = match judged.verdict {
        Some(GateStatus::Fail) => true,
        Some(GateStatus::Inconclusive) => checked.job.on_inconclusive == OnInconclusive::Fail,
        Some(GateStatus::Pass | GateStatus::Skipped) | None => false,
    };
    let word = match judged.verdict {
        Some(verdict @ (GateStatus::Fail | GateStatus::Inconclusive)) => verdict.word(),
        _ if judged.tally.warn > 0 => "warn",
        _ if judged.tally.pass > 0 => GateStatus::Pass.word(),
        _ => "done",
    };
    let outcome = GateOutcome {
        verdict: word.to_owned(),
        exit: if crossed { Exit::GateCrossed.code() } else { Exit::Done.code() },
        tally: judged.tally,
        worst: judged.worst,
    };
    (judged.table, outcome)
}
