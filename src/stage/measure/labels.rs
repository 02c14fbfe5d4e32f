//! Selective labels: for which people labels are missing more often than for others, before and
//! after a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::data::{Attribute, Layout};
use crate::job;
use crate::metric::evidence::counts::FactualCounts;
use crate::metric::evidence::group_counts::GroupFactualCounts;
use crate::metric::evidence::labels::{FavourableShare, GroupShares, MissingLabels};
use crate::metric::rate::Rate;
use crate::report::selective::{OwnedShare, SelectiveArgs, ShareOwner};
use crate::stage::job_warnings::IssueNote;

/// The people who lack labels, by attribute.
pub(crate) type SelectiveLabels = BTreeMap<String, SelectiveAttribute>;

/// The counts of the audited rows by attribute, for each model whose scores are in the rows. If no
/// model has its scores there, one entry with the name `""` and without decisions. Empty without a
/// label.
pub(crate) type CountedRows = Vec<(String, Vec<FactualCounts>)>;

/// The people who lack labels, for one attribute.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SelectiveAttribute {
    /// The number of people with a group and without a label; of rows if a person may have several.
    pub n: u64,
    /// The shares that differ from each other.
    pub(crate) args: SelectiveArgs,
}

/// The two kinds of people whose shares are compared, in addition to those of groups.
#[derive(Debug, Clone)]
pub(crate) struct DecisionCases {
    of_rows: bool,
    /// First the people who are predicted negative.
    sides: [ShareOwner; 2],
}

impl DecisionCases {
    /// The people with each of the two decisions of a model; `of_rows` says whether a person may
    /// have several rows.
    pub(crate) fn new(model: &str, favours_positive: bool, of_rows: bool) -> Self {
        let side = |positive: bool| ShareOwner::Decision {
            model: model.to_owned(),
            favourable: positive == favours_positive,
        };
        DecisionCases { of_rows, sides: [false, true].map(side) }
    }

    /// First the people for whom the model predicts another class, then those with this class.
    fn of_class(&self, class: &str) -> Self {
        let model = match &self.sides[0] {
            ShareOwner::Decision { model, .. } => model.as_str(),
            _ => "",
        };
        let side = |other: bool| ShareOwner::Class {
            model: model.to_owned(),
            class: class.to_owned(),
            other,
        };
        DecisionCases { sides: [true, false].map(side), ..self.clone() }
    }
}

/// Adds the differences that the counts of one attribute and model show.
pub(crate) fn add_missing_labels(
    labels: &mut SelectiveLabels,
    attribute: &Attribute,
    found: &MissingLabels,
    cases: &DecisionCases,
) {
    let mut shares = Vec::new();
    if let Some(furthest) = found.widest_groups() {
        let group = |rank: usize| ShareOwner::Group(attribute.name_at_rank(rank).to_owned());
        shares.push(furthest.map(|rank| OwnedShare::new(group(rank), found.groups[rank])));
    }
    if found.decisions_differ() {
        let share = |side: usize| OwnedShare::new(cases.sides[side].clone(), found.decisions[side]);
        shares.push([share(0), share(1)]);
    }
    if shares.is_empty() {
        return;
    }
    let entry = labels.entry(attribute.name.clone()).or_default();
    entry.args.of_rows = cases.of_rows;
    entry.n = entry.n.max(found.groups.iter().map(|group| group.numerator).sum());
    shares.retain(|share| !entry.args.shares.contains(share));
    entry.args.shares.extend(shares);
}

/// As [`add_missing_labels`], for every decision of a model. With several classes it compares the
/// two sides of the label; if these do not differ, it compares each class. `classes` gives the
/// name of each class and whether it is on the positive side.
pub(crate) fn add_all_decisions(
    labels: &mut SelectiveLabels,
    attribute: &Attribute,
    found: &[MissingLabels],
    cases: &DecisionCases,
    classes: Option<&[(&str, bool)]>,
) {
    let Some(classes) = classes else {
        return found.iter().for_each(|found| add_missing_labels(labels, attribute, found, cases));
    };
    let Some(first) = found.first() else { return };
    let mut decisions = [Rate::of(0, 0); 2];
    for ((_, is_positive), found) in classes.iter().zip(found) {
        let side = &mut decisions[usize::from(*is_positive)];
        side.numerator += found.decisions[1].numerator;
        side.denominator += found.decisions[1].denominator;
    }
    let whole = MissingLabels { groups: first.groups.clone(), decisions };
    add_missing_labels(labels, attribute, &whole, cases);
    if !whole.are_selective() {
        for ((class, _), found) in classes.iter().zip(found) {
            add_missing_labels(labels, attribute, found, &cases.of_class(class));
        }
    }
}

/// Warnings about the sets that leave out people without a label. `missing` gives the number of
/// people with a group of an attribute who lack a label.
pub(crate) fn sets_without_labels(job: &job::Job, missing: impl Fn(&str) -> u64) -> Vec<IssueNote> {
    let mut found = Vec::new();
    for (name, set) in job.counterfactuals.iter().filter(|(_, set)| set.conditions_on_label()) {
        let changed = job.data.sensitive.keys().filter(|attribute| set.changes(attribute));
        let n = changed.map(|attribute| missing(attribute.as_str())).max().unwrap_or(0);
        let people = match (job.data.person.is_some(), n) {
            (true, 1) => "row without one has",
            (true, _) => "rows without one have",
            (false, 1) => "person without one has",
            (false, _) => "people without one have",
        };
        let text = format!(
            "set `{name}` conditions on the label: {n} {people} no counterfactual in it, and no \
             gate passes that they could break; write `condition_on: {{prediction: MODEL}}` or \
             `condition_on: none`"
        );
        let issue = || IssueNote::warning("unlabelled-people", name.as_str(), n, text);
        found.extend((n > 0).then(issue));
    }
    found
}

/// The selective labels of the counted rows, by groups and by the decisions of models.
pub(crate) fn selective_labels(
    counted: &CountedRows,
    layout: &Layout,
    favours_positive: bool,
) -> SelectiveLabels {
    let mut labels = SelectiveLabels::new();
    for (model, counts) in counted {
        let cases = DecisionCases::new(model, favours_positive, layout.person.is_some());
        for (attribute, counts) in layout.attributes.iter().zip(counts) {
            add_missing_labels(&mut labels, attribute, &MissingLabels::from_counts(counts), &cases);
        }
    }
    labels
}

/// For each group of an attribute, the share of favourable decisions of a model with its
/// denominator; if the rows hold no decisions of the model, the share of favourable labels. There
/// are no shares of selective labels.
pub(crate) fn favourable_shares(
    counted: &CountedRows,
    layout: &Layout,
    favours_positive: bool,
    (model, attribute): (&str, &str),
) -> (GroupShares, &'static str) {
    let Some(at) = layout.attributes.iter().position(|a| a.name == attribute) else {
        return (Vec::new(), "labels");
    };
    let decided = counted.iter().find(|(name, _)| name == model);
    let is_selective =
        |counts: &[FactualCounts]| MissingLabels::from_counts(&counts[at]).are_selective();
    let counts = match decided.or(counted.first()) {
        Some((_, counts)) => &counts[at],
        None => return (Vec::new(), "labels"),
    };
    if decided.is_none() && counted.iter().any(|(_, counts)| is_selective(counts)) {
        return (Vec::new(), "labels");
    }
    let share = |(group, counts): (usize, &GroupFactualCounts)| {
        let (positive, n) = match decided {
            Some(_) => {
                let people = counts.confusion();
                (people.predicted_as(true), people.predicted())
            }
            None => (counts.n_positive(), counts.n() - counts.n_missing_label()),
        };
        let favourable = if favours_positive { positive } else { n - positive };
        let name = layout.attributes[at].groups[group].clone();
        (n > 0).then(|| FavourableShare::of_people(name, favourable, n))
    };
    let groups = layout.attributes[at].reference_first().into_iter().zip(&counts.groups);
    let shares = groups.filter_map(share);
    (shares.collect(), if decided.is_some() { "decisions" } else { "labels" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::selective::WITHOUT_LABEL;
    use crate::tests::Says;

    fn told(classes: &[(&str, bool)], of: [(u64, u64); 3], of_rows: bool) -> String {
        let attribute = Attribute::of("sex", &["m", "f"], 0);
        let sum = of.iter().fold((0, 0), |sum, (missing, n)| (sum.0 + missing, sum.1 + n));
        let against_others = |(missing, n): (u64, u64)| MissingLabels {
            groups: vec![
                Rate::of(sum.0 / 2, sum.1 / 2),
                Rate::of(sum.0 - sum.0 / 2, sum.1 - sum.1 / 2),
            ],
            decisions: [Rate::of(sum.0 - missing, sum.1 - n), Rate::of(missing, n)],
        };
        let mut all = SelectiveLabels::new();
        add_all_decisions(
            &mut all,
            &attribute,
            &of.map(against_others),
            &DecisionCases::new("m", true, of_rows),
            Some(classes),
        );
        let text =
            |of: &SelectiveAttribute| of.args.issue(WITHOUT_LABEL, "sex", 0).text.to_string();
        all.get("sex").map_or_else(String::new, text)
    }

    /// The favourable class is last, so the first class is another side's: its share is not
    /// printed as that of the favourable decision.
    #[test]
    fn of_several_classes_the_sides_are_told_together() {
        let classes = [("high", false), ("mid", false), ("low", true)];
        let text = told(&classes, [(500, 1000), (300, 1000), (0, 1000)], false);
        let unfavourable = "40.0 % of the people with an unfavourable decision of `m`";
        text.says(&[unfavourable, "0.0 % of the people with a favourable decision of `m`"]);
        // A person may have several rows: the share is one of rows, and is called so.
        let rows = told(&classes, [(500, 1000), (300, 1000), (0, 1000)], true);
        assert!(rows.starts_with("labels are missing for some rows more often"), "{rows}");
        rows.says(&["40.0 % of the rows with an unfavourable decision of `m`"]);
        rows.lacks(&["people"]);
        // Where the two sides are alike the classes that differ say why values carry the flag.
        let text = told(&classes, [(600, 1000), (200, 1000), (400, 1000)], false);
        text.says(&["60.0 % of those with the decision `high`"]);
        text.lacks(&["favourable"]);
        assert_eq!(told(&classes, [(400, 1000); 3], false), "");
    }
}
