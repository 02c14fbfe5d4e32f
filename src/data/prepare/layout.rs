//! The meaning of the prepared rows: levels, groups and label in order, and what each code
//! represents.

use std::collections::HashMap;

use indexmap::IndexMap;

use crate::data::prepare::decision::decision_words;
use crate::data::prepare::derive::DerivedFeature;
use crate::data::prepare::encode::code_column;
use crate::data::prepare::issues::{DataIssue, IssueSeverity, MISSING_VALUES};
use crate::data::prepare::params::{MissingRule, carried_decision};
use crate::data::prepare::plan::{AttributePlan, FeaturePlan, LabelPlan, PreparePlan, SplitPlan};
use crate::data::prepare::survey::{MANY_LEVELS, SourceSurvey, check_decimals};
use crate::data::prepare::tally::ColumnTally;
use crate::data::prepare::view_issues::{MAX_SHOWN, counted, issue, issues_of_view};
use crate::data::prepare::weight::WeightColumn;
use crate::data::rows::split;
use crate::data::rows::stored::{
    CLASS, CodeTable, LABEL, ROLE, STRATUM, StoredRows, feature_name, group_name, slice_name,
};
use crate::data::source::{list_words, nearest_word};
use crate::data::spelling::Spelling;
use crate::data::values::ValueClass;
use crate::data::{
    Attribute, Feature, FeatureKind, LabelDefinition, Layout, MISSING, MISSING_LEVEL, PersonColumn,
    RowIdKind, StrataColumn,
};
use crate::error::{Fault, Result};

/// Largest number of values of a label besides the positive ones.
const MAX_LABELS: usize = 1_000;

/// Largest number of strata of a column.
const MAX_STRATA: usize = 1_000;

/// The meaning of the prepared rows, from the survey of all of them.
pub(crate) struct RowDescription {
    /// The meaning of the columns.
    pub(crate) layout: Layout,
    /// How they are stored in the file.
    pub(crate) stored: StoredRows,
    /// Problems that did not stop the run.
    pub(crate) issues: Vec<DataIssue>,
}

impl RowDescription {
    /// The meaning of the rows of a source, `survey`, and what the codes of those mean that were
    /// seen `here`.
    ///
    /// # Errors
    /// A group, a level or a label value that the data contradict.
    pub(crate) fn new(
        plan: &PreparePlan<'_>,
        survey: &SourceSurvey,
        here: &SourceSurvey,
    ) -> Result<Self> {
        let mut issues = issues_of_view(plan, survey);
        let tally = |column: usize| &survey.tallies[plan.coded_position(column)];
        let label = plan
            .label
            .as_ref()
            .map(|label| label_of(plan, label, tally(label.column), &mut issues))
            .transpose()?;
        let mut features = Vec::new();
        for ((feature, &nulls), &fractional) in
            plan.features.iter().zip(&survey.nulls).zip(&survey.fractional)
        {
            let levels = if feature.kind.is_coded() {
                levels_of(plan, feature, tally(feature.column))?
            } else {
                Vec::new()
            };
            if feature.kind == FeatureKind::Nominal && !feature.hidden && levels.len() > MANY_LEVELS
            {
                check_decimals(plan, &feature.name, tally(feature.column))?;
                let n = levels.len() as u64;
                let text = format!(
                    "the nominal column `{}` has {n} levels: few people share one, and a model \
                     trained here gets a column for each; merge levels by `data.derive` \
                     (`map`), or leave the column out",
                    feature.name
                );
                issues.push(issue("many-levels", IssueSeverity::Warning, &feature.name, n, text));
            }
            if nulls > 0 && feature.kind != FeatureKind::Sensitive && !feature.hidden {
                let then = if feature.rule == MissingRule::Level {
                    "they form the level `missing`"
                } else {
                    "they stay missing"
                };
                issues.push(issue(
                    MISSING_VALUES,
                    IssueSeverity::Info,
                    &feature.name,
                    nulls,
                    format!("{nulls} rows have no value of `{}`: {then}", feature.name),
                ));
            }
            let mut kind = feature.kind.clone();
            if let FeatureKind::Continuous { integer } = &mut kind {
                // The type of the source does not decide: the same numbers are stored as integers
                // in one source and as decimals in another.
                if !feature.integer_is_known {
                    *integer = !fractional && nulls < survey.n_rows;
                }
            }
            let class = plan.class_of(feature);
            features.push(Feature { name: feature.name.clone(), kind, levels, class });
        }
        for (feature, thousands) in
            plan.features.iter().zip(&survey.thousands).filter(|(feature, _)| !feature.hidden)
        {
            if let Some((n, text)) = thousands.told(&feature.name) {
                issues.push(issue(
                    "thousands-sign",
                    IssueSeverity::Warning,
                    &feature.name,
                    n,
                    text,
                ));
            }
        }
        for ((name, columns), broken) in plan
            .onehot
            .iter()
            .zip(&survey.onehot)
            .filter(|(_, broken)| broken.none + broken.several > 0)
        {
            let text = format!(
                "of the {} columns of the one-hot group `{name}`, {} rows have no 1 and {} rows \
                 have several: they count as missing there",
                columns.len(),
                broken.none,
                broken.several
            );
            issues.push(issue(
                "broken-onehot",
                IssueSeverity::Warning,
                name,
                broken.none + broken.several,
                text,
            ));
        }
        let mut attributes = Vec::new();
        for attribute in &plan.attributes {
            let column = plan.features[attribute.feature].column;
            attributes.push(attribute_of(
                plan,
                attribute,
                &features[attribute.feature].levels,
                tally(column),
                &mut issues,
            )?);
        }
        let roles = plan
            .split
            .as_ref()
            .map(|split| roles_of(plan, split, tally(split.column), &mut issues))
            .transpose()?;
        let row_id = match plan.row_id.map(|column| plan.view.columns()[column].class) {
            None => RowIdKind::RowNumber,
            Some(ValueClass::Int) => RowIdKind::Integer,
            Some(_) => RowIdKind::Text,
        };
        let mut carried: Vec<String> =
            plan.carry.iter().map(|&column| plan.name(column).to_owned()).collect();
        let mut decisions = Vec::new();
        for decision in &plan.decisions {
            let name = plan.name(decision.column);
            let counted = tally(decision.column);
            decisions.push(decision_words(decision, name, counted, &mut issues)?);
            carried.push(carried_decision(name));
        }
        // Rows, and their counterfactuals in all other groups.
        let others = attributes.iter().map(|of| of.groups.len().saturating_sub(1)).max();
        let counted = survey.n_rows.saturating_mul(others.unwrap_or(0).max(1) as u64);
        let weight = plan.weight.map(|column| {
            let unit = survey.weights.unit(counted);
            WeightColumn {
                column: plan.name(column).to_owned(),
                unit,
                largest: unit.units_of(survey.weights.largest()),
            }
        });
        if let (Some(column), Some((smallest, left))) =
            (plan.weight, survey.weights.rounding_loss(counted))
        {
            let text = format!(
                "weights are counted in whole units of {}, at least a 2^32nd of the largest: the \
                 smallest, {smallest}, counts as {left}; write weights whose ratios are smaller, or \
                 round them to multiples of one number",
                survey.weights.unit(counted).value()
            );
            issues.push(issue("coarse-weight", IssueSeverity::Warning, plan.name(column), 0, text));
        }
        // How many they are is counted once all rows are written.
        let person = plan
            .person
            .map(|column| PersonColumn { column: plan.name(column).to_owned(), persons: 0 });
        let hidden = (0..plan.features.len()).filter(|&f| plan.features[f].hidden).collect();
        let derived = derived_features(plan);
        let strata = ("missing-stratum", "belong to no stratum and are excluded from CDDPL");
        let of_slice = ("missing-slice", "belong to no slice of it");
        let mut cut = |by: &FeaturePlan, lacking| {
            partition_levels(plan, by, tally(by.column), lacking, &mut issues)
        };
        let strata = plan.strata.as_ref().map(|by| cut(by, strata)).transpose()?;
        let slices = plan.slices.iter().map(|by| cut(by, of_slice)).collect::<Result<Vec<_>>>()?;
        let layout = Layout {
            n_rows: survey.n_rows,
            row_id,
            label,
            person,
            weight,
            attributes,
            features,
            hidden,
            derived,
            carried,
            decisions,
            strata,
            slices,
        };
        let stored = StoredRows {
            rows_follow: here.keeps_all(),
            role_column: plan.hash_split.is_some(),
            tables: code_tables(plan, here, &layout, roles.as_ref()),
            ..StoredRows::default()
        };
        Ok(RowDescription { layout, stored, issues })
    }
}

/// What each column of codes means, by the names under which it is read.
fn code_tables(
    plan: &PreparePlan<'_>,
    survey: &SourceSurvey,
    layout: &Layout,
    roles: Option<&HashMap<String, u8>>,
) -> IndexMap<String, CodeTable> {
    let table = |column: usize, none: u32, code: &dyn Fn(&str) -> Option<u32>| {
        let words = survey.tallies[plan.coded_position(column)].occurrences.keys();
        let codes = words.map(|word| code(word).unwrap_or(none));
        CodeTable {
            column: code_column(plan, column),
            codes: [none].into_iter().chain(codes).collect(),
        }
    };
    let numbered =
        |levels: &[String]| -> HashMap<String, u32> { levels.iter().cloned().zip(0..).collect() };
    let of_levels = |by: &FeaturePlan, levels: &HashMap<String, u32>| {
        let missing = (by.rule == MissingRule::Level).then(|| levels.get(MISSING_LEVEL)).flatten();
        table(by.column, missing.copied().unwrap_or(MISSING), &|word| levels.get(word).copied())
    };
    let mut tables = IndexMap::new();
    if let (Some(split), Some(roles)) = (&plan.split, roles) {
        let role = |word: &str| roles.get(word).map(|&role| u32::from(role));
        tables.insert(ROLE.to_owned(), table(split.column, u32::from(split::NEITHER), &role));
    }
    if let Some(label) = &plan.label {
        let is_positive =
            |word: &str| Some(u32::from(label.positive.iter().any(|(_, value)| value == word)));
        tables.insert(LABEL.to_owned(), table(label.column, MISSING, &is_positive));
        if !label.classes.is_empty() {
            let class = |word: &str| {
                let at = label.classes.iter().position(|(_, value)| value == word);
                at.and_then(|at| u32::try_from(at).ok())
            };
            tables.insert(CLASS.to_owned(), table(label.column, MISSING, &class));
        }
    }
    let levels: Vec<HashMap<String, u32>> =
        layout.features.iter().map(|feature| numbered(&feature.levels)).collect();
    for attribute in &layout.attributes {
        let levels = &levels[attribute.feature];
        let group = |word: &str| {
            let level = levels.get(word)?;
            let at = attribute.level_of_group.iter().rposition(|of_group| of_group == level);
            at.and_then(|at| u32::try_from(at).ok())
        };
        let column = plan.features[attribute.feature].column;
        tables.insert(group_name(attribute), table(column, MISSING, &group));
    }
    let coded = plan.features.iter().zip(&layout.features).zip(&levels);
    for ((by, feature), levels) in coded.filter(|((by, _), _)| by.kind.is_coded()) {
        tables.insert(feature_name(feature), of_levels(by, levels));
    }
    if let (Some(by), Some(strata)) = (&plan.strata, &layout.strata) {
        tables.insert(STRATUM.to_owned(), of_levels(by, &numbered(&strata.levels)));
    }
    for (by, slices) in plan.slices.iter().zip(&layout.slices) {
        tables.insert(slice_name(slices), of_levels(by, &numbered(&slices.levels)));
    }
    tables
}

/// The derived features, in the order of their columns: each comes after the columns it is derived
/// from.
fn derived_features(plan: &PreparePlan<'_>) -> Vec<DerivedFeature> {
    let position = |column: usize| plan.features.iter().position(|f| f.column == column);
    let features = plan.view.derived().filter_map(|(column, derived)| {
        let parents = derived.parents.iter().map(|&parent| position(parent)).collect();
        Some(DerivedFeature { feature: position(column)?, parents, rule: derived.rule.clone() })
    });
    features.collect()
}

/// The values seen, most frequent first.
fn seen_text(tally: &ColumnTally) -> String {
    match tally.occurrences.is_empty() {
        true => "the column has no values".to_owned(),
        false => format!(
            "the values seen are {}",
            list_words(tally.by_count().into_iter().map(counted), MAX_SHOWN)
        ),
    }
}

fn label_of(
    plan: &PreparePlan<'_>,
    label: &LabelPlan,
    tally: &ColumnTally,
    issues: &mut Vec<DataIssue>,
) -> Result<LabelDefinition> {
    let name = plan.name(label.column);
    for (written, _) in
        label.positive.iter().filter(|(_, value)| !tally.occurrences.contains_key(value))
    {
        // In a closed list a positive value that does not occur is not a misspelling: a misspelt
        // value would be missing from the list.
        if label.negative.is_none() {
            let what = format!("the positive value `{written}` never occurs in column `{name}`");
            let fault = Fault::new("unknown-label-value", what).in_column(name);
            let hint =
                format!("{}; if it may be absent, close the list by `negative`", seen_text(tally));
            return Err(plan.view.source().locate_file(fault).hint(hint).into());
        }
        if label.classes.is_empty() {
            let text = format!(
                "no row has the positive value `{written}` of `{name}`; {}",
                seen_text(tally)
            );
            issues.push(issue("absent-label", IssueSeverity::Warning, name, 0, text));
        }
    }
    let words = tally.words();
    let negative: Vec<String> = words
        .into_iter()
        .filter(|word| label.positive.iter().all(|(_, value)| value != word))
        .map(str::to_owned)
        .collect();
    if let Some(declared) = &label.negative {
        let undeclared: Vec<&String> = negative
            .iter()
            .filter(|word| declared.iter().all(|(_, value)| value != *word))
            .collect();
        if let Some(&first) =
            undeclared.iter().min_by_key(|word| tally.occurrences[**word].first_row)
        {
            let (what, rule, mend) = if label.classes.is_empty() {
                let what = format!(
                    "`{first}` is neither among the positive nor among the negative values of the \
                     label `{name}`"
                );
                (
                    what,
                    "if `negative` is given, the two lists must name every value",
                    "; name it, or leave `negative` out",
                )
            } else {
                let mend = "; name it, or leave such rows out by `data.keep`";
                (
                    format!("`{first}` is not a class of the label `{name}`"),
                    "`classes` must name every value",
                    mend,
                )
            };
            let written: Vec<&str> = label
                .positive
                .iter()
                .chain(declared)
                .map(|(written, _)| written.as_str())
                .collect();
            let hint = match nearest_word(first, &written) {
                Some(near) => format!("did you mean `{near}`? {rule}"),
                None => format!("{rule}{mend}"),
            };
            let rows: u64 = undeclared.iter().map(|word| tally.occurrences[*word].n).sum();
            let others = list_words(
                tally
                    .by_count()
                    .into_iter()
                    .filter(|(word, _)| undeclared.iter().any(|u| u == word))
                    .map(counted),
                MAX_SHOWN,
            );
            let fault = Fault::new(
                "undeclared-label",
                format!("{what}; {rows} rows have such a value: {others}"),
            )
            .in_column(name);
            return Err(plan
                .view
                .source()
                .locate_row(fault, tally.occurrences[first].first_row)
                .hint(hint)
                .into());
        }
    }
    if negative.len() > MAX_LABELS {
        let fault = Fault::new(
            "too-many-levels",
            format!("the label column `{name}` has {} negative values", negative.len()),
        )
        .in_column(name);
        return Err(plan
            .view
            .source()
            .locate_file(fault)
            .hint("a label has few values; is this the right column?")
            .into());
    }
    if label.negative.is_none() && negative.len() > 1 {
        let rows = negative.iter().map(|word| tally.occurrences[word].n).sum();
        let others = list_words(
            tally
                .by_count()
                .into_iter()
                .filter(|(word, _)| negative.iter().any(|n| n == word))
                .map(counted),
            MAX_SHOWN,
        );
        let text = format!(
            "several values of `{name}` count as negative because they are not listed as positive: \
             {others}; list them under `negative`"
        );
        issues.push(issue("unlisted-label", IssueSeverity::Warning, name, rows, text));
    }
    if !tally.occurrences.is_empty() && tally.occurrences.len() == negative.len() {
        let text =
            format!("no label in `{name}` is positive: rates over positive labels are undefined");
        issues.push(issue(
            "one-label-value",
            IssueSeverity::Warning,
            name,
            tally.occurrences.values().map(|s| s.n).sum(),
            text,
        ));
    }
    if negative.is_empty() && !tally.occurrences.is_empty() {
        let text = format!(
            "every label in `{name}` is positive: rates over negative labels are undefined"
        );
        issues.push(issue(
            "one-label-value",
            IssueSeverity::Warning,
            name,
            tally.occurrences.values().map(|s| s.n).sum(),
            text,
        ));
    }
    if tally.nulls > 0 {
        let text = match tally.occurrences.is_empty() {
            true => {
                format!("nobody has a label in `{name}`: metrics that need labels are undefined")
            }
            false => format!(
                "{} rows have no label: they count only in metrics that need none, and not in sets \
                 that condition on the label",
                tally.nulls
            ),
        };
        issues.push(issue("missing-label", IssueSeverity::Warning, name, tally.nulls, text));
    }
    for (written, _) in
        label.classes.iter().filter(|(_, value)| !tally.occurrences.contains_key(value))
    {
        let text = format!(
            "no row has the class `{written}` of `{name}`: rates over its labels are undefined"
        );
        issues.push(issue("absent-class", IssueSeverity::Warning, name, 0, text));
    }
    let written =
        |values: &[(String, String)]| values.iter().map(|(written, _)| written.clone()).collect();
    Ok(LabelDefinition {
        column: name.to_owned(),
        positive: written(&label.positive),
        negative,
        classes: written(&label.classes),
    })
}

fn levels_of(
    plan: &PreparePlan<'_>,
    feature: &FeaturePlan,
    tally: &ColumnTally,
) -> Result<Vec<String>> {
    let mut others: Vec<&str> = tally
        .words()
        .into_iter()
        .filter(|word| feature.declared.iter().all(|d| d != word))
        .collect();
    if let (FeatureKind::OrdinalLevel, Some(first)) =
        (&feature.kind, others.iter().min_by_key(|word| tally.occurrences[**word].first_row))
    {
        let fault = Fault::new(
            "undeclared-level",
            format!("`{first}` is not among the levels of the ordinal column `{}`", feature.name),
        )
        .in_column(&feature.name);
        let hint = match nearest_word(
            first,
            &feature.declared.iter().map(String::as_str).collect::<Vec<_>>(),
        ) {
            Some(near) => format!(
                "did you mean `{near}`? the order of an ordinal column must name every level"
            ),
            None => "the order of an ordinal column must name every level".to_owned(),
        };
        return Err(plan
            .view
            .source()
            .locate_row(fault, tally.occurrences[*first].first_row)
            .hint(hint)
            .into());
    }
    let elsewhere = feature
        .known
        .iter()
        .map(String::as_str)
        .filter(|level| feature.declared.iter().all(|d| d != level));
    others.extend(elsewhere);
    others.sort_unstable();
    others.dedup();
    if feature.rule == MissingRule::Level
        && tally.nulls > 0
        && let Some(there) = tally.occurrences.get(MISSING_LEVEL)
    {
        let what = format!(
            "column `{}` has no value in {} rows and the value `{MISSING_LEVEL}` in {}, and \
             `missing: level` would merge them into one level",
            feature.name, tally.nulls, there.n
        );
        let hint = format!(
            "if the word means missing, list it: `missing: {{null_values: {{{}: \
             [{MISSING_LEVEL}]}}}}`; otherwise rename the value by `derive` with `map`, \
             or write `keep` or `drop-row` instead of `level`",
            feature.name
        );
        let fault = Fault::new("ambiguous-missing", what).in_column(&feature.name);
        return Err(plan.view.source().locate_row(fault, there.first_row).hint(hint).into());
    }
    let wanted = feature.rule == MissingRule::Level
        && tally.nulls > 0
        && feature.declared.iter().all(|d| d != MISSING_LEVEL);
    if let (true, Err(position)) = (wanted, others.binary_search(&MISSING_LEVEL)) {
        others.insert(position, MISSING_LEVEL);
    }
    Ok(feature.declared.iter().map(String::as_str).chain(others).map(str::to_owned).collect())
}

/// The levels of a column of strata or slices.
///
/// `lacking` is the code of the issue about rows without a value, and their treatment in words.
fn partition_levels(
    plan: &PreparePlan<'_>,
    strata: &FeaturePlan,
    tally: &ColumnTally,
    lacking: (&'static str, &str),
    issues: &mut Vec<DataIssue>,
) -> Result<StrataColumn> {
    let levels = levels_of(plan, strata, tally)?;
    if levels.len() > MAX_STRATA {
        let what = format!(
            "the column `{}` divides the rows into {} parts; {MAX_STRATA} are allowed",
            strata.name,
            levels.len()
        );
        let hint =
            "merge values by `data.derive` with `map` or `bins`, and name the derived column";
        return Err(plan
            .view
            .source()
            .locate_file(Fault::new("too-many-levels", what).in_column(&strata.name))
            .hint(hint)
            .into());
    }
    if tally.nulls > 0 && strata.rule != MissingRule::Level {
        let text =
            format!("{} rows have no value of `{}`: they {}", tally.nulls, strata.name, lacking.1);
        issues.push(issue(lacking.0, IssueSeverity::Info, &strata.name, tally.nulls, text));
    }
    Ok(StrataColumn { column: strata.name.clone(), levels })
}

/// The only difference between two words, if it is case or blanks.
fn differ_only(a: &str, b: &str) -> Option<&'static str> {
    let bare = |word: &str| word.split_whitespace().collect::<String>();
    let small = |word: &str| word.to_lowercase();
    match () {
        () if a == b => None,
        () if small(a) == small(b) => Some("case"),
        () if bare(a) == bare(b) => Some("blanks"),
        () if small(&bare(a)) == small(&bare(b)) => Some("case and blanks"),
        () => None,
    }
}

/// The value of the data that a word of the job may be a misspelling of.
fn suggested_word(word: &str, values: &[&str]) -> Option<String> {
    let same = values.iter().find_map(|value| Some((value, differ_only(word, value)?)));
    match same {
        Some((value, by)) => {
            Some(format!("the data hold `{value}`, and `{word}` and `{value}` differ only by {by}"))
        }
        None => nearest_word(word, values).map(|near| format!("did you mean `{near}`?")),
    }
}

/// How a job makes one value of each of these pairs.
fn joined_by<'a>(
    plan: &PreparePlan<'_>,
    column: usize,
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> String {
    let spellings: Option<Vec<Spelling>> =
        pairs.into_iter().map(|(a, b)| Spelling::joining(a, b)).collect();
    match spellings.filter(|_| plan.view.derived_at(column).is_none()) {
        Some(of) => {
            let spelling = of.into_iter().fold(Spelling::default(), Spelling::and);
            format!("write `data.columns.{}: {}`", plan.name(column), spelling.in_a_job())
        }
        None => "merge them by `map`".to_owned(),
    }
}

fn attribute_of(
    plan: &PreparePlan<'_>,
    attribute: &AttributePlan,
    levels: &[String],
    tally: &ColumnTally,
    issues: &mut Vec<DataIssue>,
) -> Result<Attribute> {
    let name = &attribute.name;
    let column = plan.features[attribute.feature].column;
    let values: Vec<&str> = tally.by_count().into_iter().map(|(word, _)| word).collect();
    let absent: Vec<&str> = attribute
        .groups
        .iter()
        .filter(|(_, value)| !tally.occurrences.contains_key(value))
        .map(|(written, _)| written.as_str())
        .collect();
    if absent.len() == attribute.groups.len() {
        let fault = Fault::new(
            "unknown-group",
            format!("none of the groups of `{name}` occurs in the data"),
        )
        .in_column(plan.name(plan.features[attribute.feature].column));
        let column = plan.name(plan.features[attribute.feature].column);
        let nameless = issues.iter().find(|issue| {
            issue.place == column && ["outside-bins", "unmapped-value"].contains(&issue.code)
        });
        // The data come first: a word that the data hold in another spelling is the better hint.
        let near =
            || attribute.groups.iter().find_map(|(written, _)| suggested_word(written, &values));
        let hint = nameless.map_or_else(
            || {
                near().map_or_else(
                    || seen_text(tally),
                    |near| format!("{near}; {}", seen_text(tally)),
                )
            },
            |issue| issue.text.clone(),
        );
        return Err(plan.view.source().locate_file(fault).hint(hint).into());
    }
    for group in absent {
        let undeclared: Vec<&str> = values
            .iter()
            .copied()
            .filter(|word| attribute.groups.iter().all(|(_, value)| value != word))
            .collect();
        let near =
            suggested_word(group, &undeclared).map_or(String::new(), |near| format!("; {near}"));
        issues.push(issue(
            "absent-group",
            IssueSeverity::Warning,
            name,
            0,
            format!("the group `{group}` of `{name}` does not occur in the data{near}"),
        ));
    }
    for (i, (one, value)) in attribute.groups.iter().enumerate() {
        let alike = attribute.groups[..i]
            .iter()
            .find_map(|(other, _)| Some((other, differ_only(one, other)?)));
        if let Some((other, by)) = alike {
            let text = format!(
                "the groups `{other}` and `{one}` of `{name}` differ only by {by}, and count as \
                 two; if they are one, {}",
                joined_by(plan, column, [(other.as_str(), one.as_str())])
            );
            let n = tally.occurrences.get(value).map_or(0, |seen| seen.n);
            issues.push(issue("similar-groups", IssueSeverity::Warning, name, n, text));
        }
    }
    if tally.nulls > 0 {
        let text =
            format!("{} rows have no value of `{name}`: they belong to no group", tally.nulls);
        issues.push(issue("missing-group", IssueSeverity::Warning, name, tally.nulls, text));
    }
    let others: Vec<(&str, u64)> = tally
        .by_count()
        .into_iter()
        .filter(|(word, _)| attribute.groups.iter().all(|(_, value)| value != word))
        .collect();
    if !others.is_empty() {
        let n = others.iter().map(|(_, n)| n).sum();
        let group_like = |word: &str| {
            attribute.groups.iter().find_map(|(group, _)| Some((group, differ_only(word, group)?)))
        };
        let one = |(word, n): &(&str, u64)| match group_like(word) {
            Some((group, by)) => format!("`{word}` ({n}; it and `{group}` differ only by {by})"),
            None => format!("`{word}` ({n})"),
        };
        let pairs: Vec<(&str, &str)> = others
            .iter()
            .filter_map(|(word, _)| Some((*word, group_like(word)?.0.as_str())))
            .collect();
        // Probable misspellings come first: the user should correct them.
        let (slips, rest): (Vec<_>, Vec<_>) =
            others.iter().partition(|(word, _)| group_like(word).is_some());
        let list = list_words(slips.into_iter().chain(rest).map(one), MAX_SHOWN);
        let text = format!(
            "{n} rows have a value of `{name}` that is not among its groups: {list}; they belong \
             to no group{}",
            if pairs.is_empty() {
                String::new()
            } else {
                format!("; where they mean a group, {}", joined_by(plan, column, pairs))
            }
        );
        issues.push(issue("undeclared-group", IssueSeverity::Warning, name, n, text));
    }
    let level =
        |value: &String| levels.iter().position(|l| l == value).and_then(|i| u32::try_from(i).ok());
    Ok(Attribute {
        name: name.clone(),
        groups: attribute.groups.iter().map(|(written, _)| written.clone()).collect(),
        reference: attribute.reference,
        feature: attribute.feature,
        // Declared groups are the first levels of their feature, so each of them has a level.
        level_of_group: attribute.groups.iter().filter_map(|(_, value)| level(value)).collect(),
    })
}

fn roles_of(
    plan: &PreparePlan<'_>,
    split: &SplitPlan,
    tally: &ColumnTally,
    issues: &mut Vec<DataIssue>,
) -> Result<HashMap<String, u8>> {
    let name = plan.name(split.column);
    if split.audit.iter().all(|value| !tally.occurrences.contains_key(value)) {
        let fault = Fault::new(
            "no-audit-rows",
            format!(
                "no row is audited: none of the values under \
                 `split.audit` occurs in column `{name}`"
            ),
        )
        .in_column(name);
        return Err(plan.view.source().locate_file(fault).hint(seen_text(tally)).into());
    }
    for value in split
        .train
        .iter()
        .chain(&split.audit)
        .filter(|value| !tally.occurrences.contains_key(*value))
    {
        issues.push(issue(
            "absent-split-value",
            IssueSeverity::Warning,
            name,
            0,
            format!("the split value `{value}` does not occur in column `{name}`"),
        ));
    }
    let known = |word: &str| split.train.iter().chain(&split.audit).any(|value| value == word);
    let others = tally.nulls
        + tally.occurrences.iter().filter(|(word, _)| !known(word)).map(|(_, s)| s.n).sum::<u64>();
    if others > 0 {
        let text = format!(
            "{others} rows have another value of `{name}` than the split names: they are neither \
             training rows nor audited rows"
        );
        issues.push(issue("outside-split", IssueSeverity::Warning, name, others, text));
    }
    let train = split.train.iter().map(|value| (value.clone(), split::TRAIN));
    Ok(train.chain(split.audit.iter().map(|value| (value.clone(), 0))).collect())
}
