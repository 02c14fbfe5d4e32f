//! Gates whose direction cannot see harm to the group with the lower favourable share: reported
//! by `check` from decisions in the rows, else from labels, and by a run from decisions.
//!
//! A rate of one direction shows harm to one group only: decisions that people would lose as
//! members of the other group show that these people are better off as they are, so a limit on that
//! rate passes a model that is hard on them. A gate is reported if no gate on the same model, set
//! and arm detects harm to the group with the lowest share, and that share and the one of the group
//! that the gate sees differ by more than chance.

use std::collections::BTreeMap;

use crate::job::{FavourableClass, GateBlock, GateDirection, Job};
use crate::metric::MetricFamily;
use crate::metric::catalog::ccm::{HARM, harmed};
use crate::metric::catalog::find;
use crate::metric::evidence::labels::{FavourableShare, GroupShares, LowestShare, shares_differ};
use crate::param::{ColumnName, Name};
use crate::stage::job_warnings::IssueNote;
use crate::table::{GroupRow, MetricRow, unsigned};

/// The code of such an issue.
const BLIND_GATE: &str = "blind-gate";

/// The gates with one direction that a job asks of counterfactuals.
fn directed(gate: &GateBlock) -> Option<(&ColumnName, [&str; 2])> {
    let Some(GateDirection::Pair(map)) = &gate.direction else { return None };
    map.iter().next().map(|(attribute, [from, to])| (attribute, [from.as_str(), to.as_str()]))
}

/// The attribute of a gate that shows harm to one side only.
fn one_sided(gate: &GateBlock, favourable: FavourableClass) -> Option<(&ColumnName, &str)> {
    if let Some((attribute, group)) = gate.harm_to.as_ref().and_then(|map| map.iter().next()) {
        return Some((attribute, group.as_str()));
    }
    let (attribute, [from, to]) = directed(gate)?;
    // A rate that counts both kinds of switches, or neither, shows no harm.
    let original = harmed(find(gate.metric.as_deref()?)?, favourable)?;
    Some((attribute, if original { from } else { to }))
}

/// Whether a gate shows harm to a group of an attribute, among other things.
fn sees_harm(
    gate: &GateBlock,
    attribute: &ColumnName,
    group: &str,
    favourable: FavourableClass,
) -> bool {
    if let Some((asked, told)) = one_sided(gate, favourable) {
        return asked == attribute && told == group;
    }
    let Some(metric) = gate.metric.as_deref().and_then(find) else { return false };
    let is_of_switches = matches!(metric.family, MetricFamily::Ccm | MetricFamily::Eccm);
    let about = gate.sensitive.as_ref().is_none_or(|asked| asked == attribute);
    is_of_switches
        && about
        && directed(gate).is_none_or(|(asked, ends)| asked == attribute && ends.contains(&group))
}

/// The attributes that some gate limits on one side only: shares need be known only for these.
pub(crate) fn attributes(job: &Job) -> Vec<&ColumnName> {
    let Some(favourable) = favourable(job) else { return Vec::new() };
    let mut named: Vec<&ColumnName> = job
        .gates
        .values()
        .filter(|gate| gate.class.is_none())
        .filter_map(|gate| Some(one_sided(gate, favourable)?.0))
        .collect();
    named.sort();
    named.dedup();
    named
}

fn favourable(job: &Job) -> Option<FavourableClass> {
    // With several classes each has a separate favourable side, and amounts are no decisions.
    let decides = job.data.label.classes().is_none() && !job.audits_amounts();
    job.data.favourable_side().filter(|_| decides)
}

/// The shares of a model's favourable decisions: the measured ones of each group, with weights;
/// where performance is not measured, those of the people with a score.
pub(crate) fn decision_shares(
    favours_positive: bool,
    (metrics, groups): (&[MetricRow], &[GroupRow]),
    (model, attribute): (&str, &str),
) -> GroupShares {
    let of = |own: [&str; 3]| own == [model, attribute, ""];
    let favourable = |positive: f64| if favours_positive { positive } else { 1.0 - positive };
    // The number of `all` on the favourable side.
    let people = |group: &str, positive: i64, all: i64| {
        let favourable = if favours_positive { positive } else { all - positive };
        let [favourable, all] = [favourable, all].map(unsigned);
        FavourableShare::of_people(group.to_owned(), favourable, all)
    };
    let is_measured = |row: &&MetricRow| {
        of([&row.key.model, &row.key.sensitive, &row.key.slice])
            && row.metric == "pprev"
            && row.key.scope == "group"
            && row.class.is_empty()
    };
    let measured: Vec<&MetricRow> = metrics.iter().filter(is_measured).collect();
    if !measured.is_empty() {
        let share = |row: &&MetricRow| {
            let (positive, all) = (row.numerator?, row.denominator?);
            let share = favourable(row.value?);
            Some(FavourableShare { share, ..people(&row.key.from_group, positive, all) })
        };
        return measured.iter().filter_map(share).collect();
    }
    // Performance is not measured: people with a score count, without weights.
    let share = |row: &GroupRow| {
        let all = row.n - row.n_missing_score;
        (all > 0).then(|| people(&row.group, row.n_predicted_positive, all))
    };
    groups
        .iter()
        .filter(|row| of([&row.model, &row.sensitive, &row.slice]) && !row.group.is_empty())
        .filter_map(share)
        .collect()
}

/// The gates that cannot see harm to the group with the lowest share. `shares` gives those of an
/// attribute under a model, and what they are shares of, such as `labels`.
pub(crate) fn gates(
    job: &Job,
    shares: impl Fn(&str, &str) -> (GroupShares, &'static str),
) -> Vec<IssueNote> {
    let Some(favourable) = favourable(job) else { return Vec::new() };
    // By model and attribute.
    let mut known: BTreeMap<_, (GroupShares, Option<LowestShare>)> = BTreeMap::new();
    let mut found = Vec::new();
    for (name, gate) in job.gates.iter().filter(|(_, gate)| gate.class.is_none()) {
        let (Some((attribute, told)), Some(model)) =
            (one_sided(gate, favourable), gate.model.as_ref())
        else {
            continue;
        };
        let (shares, low) = known.entry((model.as_str(), attribute)).or_insert_with(|| {
            let (shares, of) = shares(model.as_str(), attribute.as_str());
            let low = LowestShare::of(&shares, of).filter(|lowest| !lowest.is_shared);
            (shares, low)
        });
        let Some(LowestShare { group: low, why, .. }) = low else { continue };
        let people = |group: &str| shares.iter().find(|of| of.group == group).map(|of| of.people);
        // Nothing follows from a difference that may be chance.
        if !people(low).zip(people(told)).is_none_or(|(low, told)| shares_differ(low, told)) {
            continue;
        }
        let same = |other: &&GateBlock| {
            (&other.model, &other.counterfactual, &other.arm)
                == (&gate.model, &gate.counterfactual, &gate.arm)
        };
        if told == low
            || job
                .gates
                .values()
                .filter(same)
                .any(|other| sees_harm(other, attribute, low, favourable))
        {
            continue;
        }
        let place = crate::job::check::path(&["gates", name.as_str()]);
        let text = blind_gate_text(name, gate, (told, low), why);
        let hint = format!("write `harm_to: {{{attribute}: {low}}}`");
        found.push(IssueNote::warning(BLIND_GATE, place, 0, text).with_hint(hint));
    }
    found
}

fn blind_gate_text(name: &Name, gate: &GateBlock, (told, low): (&str, &str), why: &str) -> String {
    let asks = match directed(gate) {
        Some((attribute, [from, to])) => {
            let metric = gate.metric.as_deref().unwrap_or(HARM[0]);
            format!(
                "the gate `{name}` measures `{metric}` of `{attribute}` from `{from}` to `{to}`, \
                 which detects harm to `{told}`"
            )
        }
        None => format!("the gate `{name}` checks harm to `{told}`"),
    };
    format!("{asks}; no gate on this model and set detects harm to `{low}`, {why}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::TextRow;

    /// Groups of four people, this many of them with the favourable side.
    fn of_four(shares: &[(&str, u64)]) -> Vec<FavourableShare> {
        let of = |(group, n): &(&str, u64)| FavourableShare::of_people((*group).to_owned(), *n, 4);
        shares.iter().map(of).collect()
    }

    #[test]
    fn the_lowest_share_is_told_with_the_highest() {
        let lowest = |shares: &[(&str, u64)]| LowestShare::of(&of_four(shares), "labels");
        let found = lowest(&[("b", 2), ("a", 1), ("c", 3)]).unwrap();
        assert_eq!((found.group.as_str(), found.is_shared), ("a", false));
        assert_eq!(
            found.why,
            "the group with the lowest share of favourable labels (`a` 25.0 %, `c` 75.0 %)"
        );
        assert!(lowest(&[("b", 2), ("a", 2)]).unwrap().is_shared);
        assert!(lowest(&[]).is_none());
    }

    /// Of 1000 people 400 have no score: they are neither favoured nor denied.
    #[test]
    fn people_without_a_score_are_not_favoured() {
        let (mut metrics, mut groups) = (Vec::<MetricRow>::new(), Vec::<GroupRow>::new());
        groups.push(GroupRow::of(
            "model=m, sensitive=g, group=A, n=1000, n_predicted_positive=300, n_missing_score=400",
        ));
        let decisions = |favours, metrics: &[MetricRow]| -> Vec<(f64, [u64; 2])> {
            let found = decision_shares(favours, (metrics, &groups), ("m", "g"));
            assert!(found.iter().all(|of| of.group == "A"));
            let people = |of: &FavourableShare| [of.people.numerator, of.people.denominator];
            found.iter().map(|of| (of.share, people(of))).collect()
        };
        assert_eq!(decisions(false, &metrics), [(0.5, [300, 600])]);
        assert_eq!(decisions(true, &metrics), [(0.5, [300, 600])]);
        // What is measured has the weights of people.
        metrics.push(MetricRow::of(
            "model=m, sensitive=g, scope=group, from_group=A, metric=pprev, \
             value=0.25, numerator=200, denominator=500",
        ));
        assert_eq!(decisions(false, &metrics), [(0.75, [300, 500])]);
    }
}
