//! The stage `needed`: the rates of a model across the graphs of a scenario without one of its
//! statements, for each statement, and the verdicts of the gates on them.
//!
//! The graphs of each left-out statement were searched on the bootstraps of the set, so if a
//! verdict differs, the statement is the reason. They are no sets of the job: nothing else measures
//! or shows them. It reads these graphs, and what `linear_rates` reads; nothing is scored. Whether
//! a verdict differs is decided by the rule of the gate itself (`gate::hidden_cause`).

use crate::error::Result;
use crate::exec::internal_error;
use crate::gate::hidden_cause as judging;
use crate::gate::question::GateQuestion;
use crate::gate::reason::GateStatus;
use crate::metric::rate::Undefined;
use crate::metric::value::hidden_cause::{GroupMargins, HiddenPush, HiddenStrength, MovingWorld};
use crate::metric::value::worlds::ATTRIBUTE_FOLLOWS;
use crate::stage::applied_set::AppliedSet;
use crate::stage::discover::tables::GraphSetScenario;
use crate::stage::gate::questions::questions;
use crate::stage::kinds::NeededStage;
use crate::stage::linear_rates::{
    LinearRates, RateNumbers, linear_rates, moved_verdict, rate_folders,
};
use crate::stage::row_context::RowContext;
use crate::stage::stage_builder::{Planned, Stage, StageBuilder, StageFolders};
use crate::table::file::write_rows;
use crate::table::{JudgedRateKey, MetricRow, NeededKnowledgeRow, has_flag};
use crate::unit::AuditUnit;

/// The stages of all models and sets whose statements are left out in turn: of scenarios that state
/// something, and that a gate asks about.
pub(crate) fn needed_folders(b: &mut StageBuilder<'_, '_>) -> Result<StageFolders> {
    let gates = questions(b.plan.checked);
    rate_folders::<NeededStage>(b, |model, applied, graphs| {
        graphs.necessary
            && !graphs.statements(applied.scenario().1).is_empty()
            && gates.iter().any(|of| of.model == model && of.counterfactual == applied.set)
    })
}

impl Stage for NeededStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let graphs = b.plan.set_of(unit)?.its_graphs()?;
        let (rows, rates) = linear_rates(b, unit, AppliedSet::needed_unit)?;
        if !graphs.necessary {
            return Err(internal_error(format!("the set `{}` leaves out no statement", unit.set)));
        }
        let statements = graphs.statements(b.plan.set_of(unit)?.scenario().1).into_keys();
        let statements: Vec<String> = statements.collect();
        b.value("statements", &statements);
        rows.work(1, move |ctx, row_context| {
            let rates = &rates(row_context)?;
            let stated = |row: &MetricRow| {
                let follows = has_flag(&row.flags, ATTRIBUTE_FOLLOWS);
                let verdict = |question: &GateQuestion| judging::verdict(question, row, None);
                let measured = match row.value {
                    Some(_) => Ok(RateNumbers::measured(row)),
                    None => Err(row.undefined.as_str()),
                };
                judged(rates, row, ("", follows), measured, verdict)
            };
            let mut table: Vec<NeededKnowledgeRow> = rates.rows().flat_map(stated).collect();
            // The rows of a set are encoded alike under all knowledge.
            let mut people = None;
            for (i, statement) in statements.iter().enumerate() {
                ctx.check()?;
                let set = rates.scenario(ctx, statement, &i.to_string())?;
                table.extend(without((rates, row_context), &set, &mut people)?);
            }
            write_rows(ctx.out(), &table)
        })
    }
}

/// The rows of all rates in the graphs without the statement after which a set is named. The
/// `people` are kept from the first call.
fn without(
    (rates, row_context): (&LinearRates<'_>, RowContext<'_>),
    set: &GraphSetScenario,
    people: &mut Option<Vec<GroupMargins>>,
) -> Result<Vec<NeededKnowledgeRow>> {
    let (worlds, left_out) = (&set.discovered.worlds, (set.name.as_str(), set.attribute_follows()));
    let (encoded, weights) = match rates.encoded(worlds) {
        Ok(known) => known,
        Err(why) => {
            let open = |_: &GateQuestion| GateStatus::Inconclusive;
            let all = rates.rows().flat_map(|row| judged(rates, row, left_out, Err(why), open));
            return Ok(all.collect());
        }
    };
    let people = match people {
        Some(people) => people,
        none => none.insert(rates.people(row_context, &encoded)?),
    };
    let codes = &rates.attribute.level_of_group;
    let saw: Vec<Vec<bool>> = codes.iter().map(|&code| worlds.saw(code).collect()).collect();
    let mut table = Vec::new();
    for rate in rates.rates(people) {
        let (row, (from, to)) = (rate.row, rate.direction);
        if rates.gates(row).next().is_none() {
            continue;
        }
        let seen = worlds.worlds.iter().enumerate().filter(|(w, _)| saw[from][*w] && saw[to][*w]);
        let moving = seen.map(|(w, world)| {
            let moves = encoded.movement((from, to), w).iter();
            let movement = moves.map(|&(column, x)| weights[column] * x).sum();
            let copies = world.members.len() as u64;
            MovingWorld { copies, movement, regression: 0.0, unit: 0.0 }
        });
        let moving: Vec<MovingWorld> = moving.collect();
        let as_it_is = (HiddenStrength::None, HiddenPush::Highest);
        let numbers = rates.moved(&rate, &moving, as_it_is, true);
        let known = match (row.value, numbers.value) {
            (Some(_), Some(_)) => Ok(numbers),
            (Some(_), None) => Err(Undefined::NoTrainingRows.code()),
            (None, _) => Err(row.undefined.as_str()),
        };
        let verdict = |question: &GateQuestion| moved_verdict(question, &rate, numbers);
        table.extend(judged(rates, row, left_out, known, verdict));
    }
    Ok(table)
}

/// The rows of a rate, gate by gate: its numbers with the verdict on them, or why there are none.
fn judged(
    rates: &LinearRates<'_>,
    row: &MetricRow,
    (statement, follows): (&str, bool),
    known: std::result::Result<RateNumbers, &str>,
    verdict: impl Fn(&GateQuestion) -> GateStatus,
) -> Vec<NeededKnowledgeRow> {
    let RateNumbers { value, graphs, people } = known.unwrap_or_default();
    let of_gate = |question: &GateQuestion| NeededKnowledgeRow {
        key: JudgedRateKey::new(row, &question.name),
        statement: statement.into(),
        verdict: known.map_or("", |_| verdict(question).word()).into(),
        value,
        world_lo: graphs.map(|of| of.0),
        world_hi: graphs.map(|of| of.1),
        lo: people.map(|of| of.0),
        hi: people.map(|of| of.1),
        attribute_follows: follows.into(),
        undefined: known.err().unwrap_or_default().into(),
    };
    rates.gates(row).map(of_gate).collect()
}
