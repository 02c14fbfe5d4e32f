//! The people whom a job shows: who switched, what changed, and what the model said about both.

use crate::table::{CfExampleRow, SharedText};

/// A feature of a case: its name, the value before and after (none = missing), whether they differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CaseFeature {
    /// The feature.
    pub(crate) name: String,
    /// The value in the row as it is.
    pub(crate) before: Option<String>,
    /// The value in the counterfactual.
    pub(crate) after: Option<String>,
    /// Whether they differ.
    pub(crate) changed: bool,
}

/// A person who switched.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReportedCase {
    /// The model.
    pub(crate) model: String,
    /// The counterfactual set.
    pub(crate) set: String,
    /// The sensitive attribute.
    pub(crate) attribute: String,
    /// The factual group.
    pub(crate) from: String,
    /// The counterfactual group.
    pub(crate) to: String,
    /// The number of the person among those who are drawn, from 0.
    number: i64,
    /// The scores as the row is and as its counterfactual, in the numbers of the model.
    pub(crate) scores: Option<(f64, f64)>,
    /// Whether the decisions are positive.
    pub(crate) decisions: (bool, bool),
    /// The features that models read.
    pub(crate) features: Vec<CaseFeature>,
}

/// The cases in the rows of their table, those of a model, set and attribute in the order in which
/// they were drawn.
pub(crate) fn cases_of(rows: &[CfExampleRow]) -> Vec<ReportedCase> {
    let mut cases: Vec<ReportedCase> = Vec::new();
    for row in rows {
        let is_same = |case: &ReportedCase| {
            (case.number, case.model.as_str(), case.set.as_str(), case.attribute.as_str())
                == (row.example, &*row.model, &*row.counterfactual, &*row.sensitive)
        };
        if !cases.last().is_some_and(is_same) {
            cases.push(ReportedCase {
                model: row.model.to_string(),
                set: row.counterfactual.to_string(),
                attribute: row.sensitive.to_string(),
                from: row.from_group.to_string(),
                to: row.to_group.to_string(),
                number: row.example,
                scores: row.score.zip(row.score_cf),
                decisions: (row.decision, row.decision_cf),
                features: Vec::new(),
            });
        }
        let feature = CaseFeature {
            name: row.feature.to_string(),
            before: row.value.as_ref().map(SharedText::to_string),
            after: row.value_cf.as_ref().map(SharedText::to_string),
            changed: row.changed,
        };
        if let Some(case) = cases.last_mut() {
            case.features.push(feature);
        }
    }
    // The table is sorted by groups first.
    cases.sort_by(|a, b| {
        let key = |case: &ReportedCase| {
            (case.model.clone(), case.set.clone(), case.attribute.clone(), case.number)
        };
        key(a).cmp(&key(b))
    });
    cases
}

#[cfg(test)]
mod tests {
    use super::cases_of;
    use crate::table::CfExampleRow;

    #[test]
    fn people_stand_in_the_order_in_which_they_were_drawn() {
        let row = |to: &str, example: i64, feature: &str| CfExampleRow {
            model: "m".into(),
            counterfactual: "flip".into(),
            sensitive: "sex".into(),
            from_group: "x".into(),
            to_group: to.into(),
            example,
            feature: feature.into(),
            decision: true,
            ..CfExampleRow::default()
        };
        let rows = [row("a", 1, "age"), row("a", 1, "job"), row("b", 0, "age"), row("b", 2, "age")];
        let cases = cases_of(&rows);
        let told: Vec<_> = cases.iter().map(|case| (&*case.to, case.features.len())).collect();
        assert_eq!(told, [("b", 1), ("a", 2), ("b", 1)]);
    }
}
