//! The verb `power`: how many people would decide the gates of a job, before a run or after it.
//!
//! After a run the table of gates has the answer for the measured rates. Before a run, or for other
//! rates, the rates are assumed, and so is the share of the audited people of a group that a rate
//! counts in its denominator.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::exec::cancel::CancelFlag;
use crate::exec::event::Observer;
use crate::folder::read;
use crate::gate::evidence::GateEvidence;
use crate::gate::power::{NeededPeople, audited_people};
use crate::gate::question::{GateQuantity, GateQuestion, GateSubject};
use crate::job::check::CheckedJob;
use crate::metric::catalog::ccm::HARM;
use crate::metric::catalog::find;
use crate::metric::{GapTransform, GroupValue, Metric, Reads};
use crate::stage::gate::questions;
use crate::stage::preview;
use crate::stage::settings::RunSettings;
use crate::table::file::read_rows;
use crate::table::{GateRow, unsigned};

/// `how` of a gate about which nothing is known before a run, because no rate is assumed.
pub(crate) const NO_RATE: &str = "no_rate";

/// What the verb is asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct PowerAssumptions {
    /// One gate; none: all.
    pub(crate) gate: Option<String>,
    /// The true rate in [0, 1], for a gap the rates of both groups; empty: the rates of the folder.
    pub(crate) rates: Vec<f64>,
    /// The share in [0, 1] of the audited people of a group that is in the denominator of the
    /// value; none: all of them, or in a folder the share found there.
    pub(crate) share: Option<f64>,
}

/// How many people would decide one row of a gate; serializes as `cfaudit power --json` prints it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct GateForecast {
    /// The gate.
    pub(crate) gate: String,
    /// The attribute.
    pub(crate) sensitive: String,
    /// The group, or the first of two.
    pub(crate) from_group: String,
    /// The second group.
    pub(crate) to_group: String,
    /// The metric.
    pub(crate) metric: String,
    /// The verdict of the folder; null before a run.
    pub(crate) verdict: Option<String>,
    /// The limit.
    pub(crate) limit: f64,
    /// The true value that is assumed; null = none.
    pub(crate) value: Option<f64>,
    /// People below the value; null = not known.
    pub(crate) n: Option<u64>,
    /// People below it from which on the row is decided with probability 0.8.
    pub(crate) n_needed_80: Option<u64>,
    /// The same with probability 0.95.
    pub(crate) n_needed_95: Option<u64>,
    /// Audited people needed for `n_needed_80`.
    pub(crate) people_needed_80: Option<u64>,
    /// Audited people needed for `n_needed_95`.
    pub(crate) people_needed_95: Option<u64>,
    /// The smallest true excess over the limit that `n` people show with probability 0.8.
    pub(crate) detectable: Option<f64>,
    /// How the numbers were found, or why there are none.
    pub(crate) how: String,
}

/// People by attribute and group; those of no group are all.
type AuditedPeople = BTreeMap<(String, String), u64>;

/// The gates of a finished folder; with rates those of its job, on its people.
///
/// # Errors
/// The folder cannot be read, its tables are of another version, or a gate or a rate does not fit.
pub(crate) fn of_folder(folder: &Path, asked: &PowerAssumptions) -> Result<Vec<GateForecast>> {
    read::manifest(folder)?;
    let tables = folder.join("tables");
    let rows = read_rows::<GateRow>(&tables)?;
    if asked.rates.is_empty() && asked.share.is_none() {
        check_gate(asked, rows.iter().map(|row| row.gate.to_string()))?;
        let is_asked = |row: &&GateRow| asked.gate.as_ref().is_none_or(|gate| row.gate == *gate);
        return Ok(rows.iter().filter(is_asked).map(of_row).collect());
    }
    let file = folder.join("job.resolved.yaml");
    let checked = crate::job::check::read(&file, &[])?;
    let mut people = AuditedPeople::new();
    for row in read_rows::<crate::table::GroupRow>(&tables)? {
        if row.slice.is_empty() {
            let key = (row.sensitive.to_string(), row.group.to_string());
            people.insert(key, unsigned(row.n));
        }
    }
    forecast(&checked, &people, &rows, asked)
}

/// The gates of a job before a run, from the counts of its data.
///
/// # Errors
/// As [`preview::data`], or a gate or a rate does not fit.
pub(crate) fn of_job(
    checked: &CheckedJob,
    asked: &PowerAssumptions,
    settings: &RunSettings,
    observer: &dyn Observer,
    cancel: &CancelFlag,
) -> Result<Vec<GateForecast>> {
    let data = preview::data(checked, settings, observer, cancel)?;
    let mut people = AuditedPeople::new();
    for attribute in &data.attributes {
        let declared = attribute.groups.iter().filter_map(|g| Some((g.group.clone()?, g.audited)));
        let mut all = 0;
        for (group, n) in declared {
            all += n;
            people.insert((attribute.name.clone(), group), n);
        }
        people.insert((attribute.name.clone(), String::new()), all);
    }
    forecast(checked, &people, &[], asked)
}

fn of_row(row: &GateRow) -> GateForecast {
    let number = |n: Option<i64>| n.and_then(|n| u64::try_from(n).ok());
    GateForecast {
        gate: row.gate.to_string(),
        sensitive: row.sensitive.to_string(),
        from_group: row.from_group.to_string(),
        to_group: row.to_group.to_string(),
        metric: row.metric.to_string(),
        verdict: Some(row.verdict.to_string()),
        limit: row.limit,
        value: row.value,
        n: number(row.denominator),
        n_needed_80: number(row.n_needed_80),
        n_needed_95: number(row.n_needed_95),
        people_needed_80: number(row.people_needed_80),
        people_needed_95: number(row.people_needed_95),
        detectable: row.detectable,
        how: row.needed_how.to_string(),
    }
}

fn check_gate(asked: &PowerAssumptions, names: impl Iterator<Item = String>) -> Result<()> {
    let Some(gate) = &asked.gate else { return Ok(()) };
    let mut known: Vec<String> = names.collect();
    known.dedup();
    if known.contains(gate) {
        return Ok(());
    }
    let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    let hint = if known.is_empty() {
        "it has no gate".to_owned()
    } else {
        format!("known are {}", known.join(", "))
    };
    let what = format!("no gate is called `{gate}`");
    Err(Error::command_line("no-such-gate", "--gate", what, hint))
}

/// The rows of a gate before anything is measured: metric, from, to.
fn rows_of(question: &GateQuestion, groups: &[String]) -> Vec<(String, String, String)> {
    let row =
        |metric: &str, from: &str, to: &str| (metric.to_owned(), from.to_owned(), to.to_owned());
    let metric = question.metric.as_str();
    let others = |group: &str| {
        let group = group.to_owned();
        groups.iter().filter(move |other| **other != group)
    };
    match &question.scope {
        GateSubject::Total | GateSubject::WorstCase => vec![row(metric, "", "")],
        GateSubject::Group(group) => vec![row(metric, group, "")],
        GateSubject::Direction(a, b) => vec![row(metric, a, b)],
        GateSubject::Pair(a, b) => {
            let by = find(metric).and_then(Metric::transform);
            let [from, to] = by.map_or([a.as_str(), b.as_str()], |by| by.row_groups(a, b));
            vec![row(metric, from, to)]
        }
        GateSubject::AnyDirection => {
            groups.iter().flat_map(|from| others(from).map(|to| row(metric, from, to))).collect()
        }
        GateSubject::HarmTo(group) => others(group)
            .flat_map(|other| [row(HARM[0], group, other), row(HARM[1], other, group)])
            .collect(),
    }
}

/// Why assumed rates say nothing about a gate; none where they do.
fn unforeseeable(checked: &CheckedJob, question: &GateQuestion) -> Option<&'static str> {
    if let Some(other) = question.decide_by.beyond_people() {
        return Some(other);
    }
    let of_counts = find(&question.metric).is_some_and(|metric| {
        matches!(
            metric.reads,
            Reads::Group(
                GroupValue::Rate(_),
                None | Some(GapTransform::Difference | GapTransform::Ratio)
            ) | Reads::Group(GroupValue::FavourableRate, Some(GapTransform::Inverse))
                | Reads::SwitchRate(_)
                | Reads::SwitchByFavour { .. }
                | Reads::AnySwitch(_)
                | Reads::SwitchRatio(_)
        )
    });
    // How much the rows of a person agree is not known before a run.
    let weighed = checked.job.data.weight.is_some() || checked.job.data.person.is_some();
    let after = question.quantity == GateQuantity::Change
        || question.scope == GateSubject::WorstCase
        || !of_counts
        || weighed;
    after.then_some("after_a_run")
}

/// The rows of a folder that say how many people stood below each value, and for rates and parts
/// that are assumed how many would decide.
fn forecast(
    checked: &CheckedJob,
    people: &AuditedPeople,
    measured: &[GateRow],
    asked: &PowerAssumptions,
) -> Result<Vec<GateForecast>> {
    let questions = questions(checked);
    check_gate(asked, questions.iter().map(|question| question.name.clone()))?;
    let level = checked.job.metrics.interval.level.get();
    let mut forecasts = Vec::new();
    for question in &questions {
        if asked.gate.as_ref().is_some_and(|gate| question.name != *gate) {
            continue;
        }
        let mut rows = Vec::new();
        for attribute in &question.attributes {
            let of_attribute = people.keys().filter(|(name, _)| name == attribute);
            let groups: Vec<String> =
                of_attribute.map(|(_, group)| group.clone()).filter(|g| !g.is_empty()).collect();
            rows.extend(rows_of(question, &groups).into_iter().map(|row| (attribute.clone(), row)));
        }
        // The most cautious level of Holm's method.
        let m = if question.holm { rows.len().max(1) } else { 1 };
        let level = 1.0 - (1.0 - level) / m as f64;
        for (attribute, (metric, from, to)) in rows {
            let counted = measured.iter().find(|row| {
                let of = [&row.gate, &row.sensitive, &row.metric].map(|text| text.as_str());
                of == [question.name.as_str(), &attribute, &metric]
                    && row.from_group == *from
                    && row.to_group == *to
            });
            let of = |group: &str| {
                let key = |group: &str| (attribute.clone(), group.to_owned());
                people.get(&key(group)).copied().unwrap_or(0)
            };
            let all = of("");
            let part = |n: u64| (asked.share.unwrap_or(1.0) * n as f64).floor() as u64;
            let is_gap = matches!(question.scope, GateSubject::Pair(..));
            let below = counted.filter(|_| asked.share.is_none()).and_then(|row| row.denominator);
            let n = below.and_then(|n| u64::try_from(n).ok()).unwrap_or_else(|| part(of(&from)));
            let rest = |group: &str, other: &str| {
                if group.is_empty() { all.saturating_sub(of(other)) } else { of(group) }
            };
            let (first, second) = match &question.scope {
                GateSubject::Pair(first, second) => (first, second),
                _ => (&from, &to),
            };
            let sizes = [part(rest(first, second)), part(rest(second, first))];
            let is_ratio = find(&metric).is_some_and(Metric::has_order);
            let evidence = match (is_gap, asked.rates.as_slice()) {
                (true, [p, q]) => Some(GateEvidence::pair(is_ratio, [*p, *q], sizes)),
                (false, [rate]) => Some(GateEvidence::share(*rate, n)),
                // The smallest excess of a share that is shown depends on no rate.
                (false, []) => Some(GateEvidence::share(question.limit.number(), n)),
                (true, []) => None,
                (gap, rates) => {
                    return Err(Error::command_line(
                        "rates-do-not-fit",
                        "--assume",
                        format!(
                            "gate `{}` is about {}, and {} given",
                            question.name,
                            if gap { "two rates" } else { "one rate" },
                            if rates.len() == 1 { "one is" } else { "two are" }
                        ),
                        "name one gate by `--gate`, with one rate for a share and two for a \
                         difference or ratio, the first group first",
                    ));
                }
            };
            let beyond = unforeseeable(checked, question);
            let evidence = evidence.filter(|_| beyond.is_none());
            let needed = match (&evidence, beyond) {
                (_, Some(how)) => NeededPeople::none(how),
                (Some(evidence), None) if !asked.rates.is_empty() => {
                    evidence.needed(question.limit, level)
                }
                _ => NeededPeople::none(NO_RATE),
            };
            let enough = needed.n.map(|n| n.map(|n| n.max(question.min_cases)));
            let below = evidence.as_ref().map(GateEvidence::n);
            let audited = enough.map(|n| audited_people(n?, all, below?));
            forecasts.push(GateForecast {
                gate: question.name.clone(),
                sensitive: attribute.clone(),
                from_group: from,
                to_group: to,
                metric,
                verdict: None,
                limit: question.limit.number(),
                value: evidence
                    .as_ref()
                    .filter(|_| !asked.rates.is_empty())
                    .and_then(|e| e.value()),
                n: below,
                n_needed_80: enough[0],
                n_needed_95: enough[1],
                people_needed_80: audited[0],
                people_needed_95: audited[1],
                detectable: evidence.and_then(|e| e.detectable(question.limit, level)),
                how: needed.how.to_owned(),
            });
        }
    }
    Ok(forecasts)
}
