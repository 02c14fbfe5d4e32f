//! The meaning of the prepared rows: levels, groups and label in order, and what each code
//! represents.

use std::collections::HashMap;

use indexmap::IndexMap;

use crate::data::prepare::derive::DerivedFeature;
use crate::data::prepare::encode::code_column;
use crate::data::prepare::groups::attribute_of;
use crate::data::prepare::label::{decision_words, label_of};
use crate::data::prepare::levels::{levels_of, partition_levels};
use crate::data::prepare::missing_words::words_of_feature;
use crate::data::prepare::params::{MISSING_VALUES, MissingRule, carried_decision};
use crate::data::prepare::plan::{FeaturePlan, PreparePlan, SplitPlan};
use crate::data::prepare::source_words::form_of;
use crate::data::prepare::survey::{MANY_LEVELS, SourceSurvey, check_decimals};
use crate::data::prepare::tally::ColumnTally;
use crate::data::prepare::view_issues::{issues_of_view, seen_text};
use crate::data::prepare::weight::WeightColumn;
use crate::data::rows::split;
use crate::data::rows::stored::{
    CLASS, CodeTable, LABEL, ROLE, STRATUM, StoredRows, feature_name, group_name, level_name,
    slice_name, source_name,
};
use crate::data::values::ValueClass;
use crate::data::{Feature, FeatureKind, Layout, MISSING, MISSING_LEVEL, PersonColumn, RowIdKind};
use crate::error::Result;
use crate::num::float_precision::FloatPrecision;
use crate::table::{IssueRow, whole};

/// The meaning of the prepared rows, from the survey of all of them.
pub(crate) struct RowDescription {
    /// The meaning of the columns.
    pub(crate) layout: Layout,
    /// How they are stored in the file.
    pub(crate) stored: StoredRows,
    /// Problems that did not stop the run.
    pub(crate) issues: Vec<IssueRow>,
}

impl RowDescription {
    /// The meaning of the rows of a source, from `survey`, and of the codes of the rows that were
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
        let tally = |column: usize| survey.tally(plan, column);
        let label = plan
            .label
            .as_ref()
            .map(|label| label_of(plan, label, &tally(label.column), &mut issues))
            .transpose()?;
        let mut features = Vec::new();
        for (position, (feature, seen)) in plan.features.iter().zip(&survey.features).enumerate() {
            let nulls = seen.nulls;
            let counted = feature.kind.is_coded().then(|| tally(feature.column));
            let levels = match &counted {
                Some(counted) => levels_of(plan, feature, counted)?,
                None => Vec::new(),
            };
            if feature.kind == FeatureKind::Nominal && !feature.hidden && levels.len() > MANY_LEVELS
            {
                // How the source spells them distinguishes thousands from decimals.
                check_decimals(plan, feature.column, survey.as_read(plan, feature.column))?;
                let n = levels.len() as u64;
                let text = format!(
                    "the nominal column `{}` has {n} levels: few people share one, and a model \
                     trained here gets a column for each; merge levels by `data.derive` \
                     (`map`), or leave the column out",
                    feature.name
                );
                issues.push(IssueRow::warning("many-levels", &feature.name, whole(n), text));
            }
            if let Some(counted) = &counted {
                issues.extend(words_of_feature(plan, feature, counted));
            }
            if nulls > 0 && feature.kind != FeatureKind::Sensitive && !feature.hidden {
                let then = if feature.rule == MissingRule::Level {
                    "they form the level `missing`"
                } else {
                    "they stay missing"
                };
                issues.push(IssueRow::info(
                    MISSING_VALUES,
                    &feature.name,
                    whole(nulls),
                    format!("{nulls} rows have no value of `{}`: {then}", feature.name),
                ));
            }
            let mut kind = feature.kind.clone();
            if let FeatureKind::Continuous { integer } = &mut kind {
                // The type of the source does not decide: the same numbers are stored as integers
                // in one source and as decimals in another.
                if !feature.integer_is_known {
                    *integer = !seen.fractional && nulls < survey.rows.n_rows;
                }
            }
            let class = plan.class_of(feature);
            let source = form_of(plan, (position, feature), survey, &levels)?;
            features.push(Feature { name: feature.name.clone(), kind, levels, class, source });
        }
        let listed = plan.features.iter().zip(&survey.features).filter(|(of, _)| !of.hidden);
        for (feature, seen) in listed {
            if let Some((n, text)) = seen.thousands.suspicion(&feature.name) {
                issues.push(IssueRow::warning("thousands-sign", &feature.name, whole(n), text));
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
            issues.push(IssueRow::warning(
                "broken-onehot",
                name,
                whole(broken.none + broken.several),
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
                &tally(column),
                &mut issues,
            )?);
        }
        if let Some(split) = &plan.split {
            check_split(plan, split, &tally(split.column), &mut issues)?;
        }
        let row_id = match plan.row_id.map(|column| plan.view.columns[column].class) {
            None => RowIdKind::RowNumber,
            Some(ValueClass::Int) => RowIdKind::Integer,
            Some(_) => RowIdKind::Text,
        };
        let mut carried: Vec<String> =
            plan.carry.iter().map(|&column| plan.name(column).to_owned()).collect();
        let is_single =
            |column: &&usize| plan.view.columns[**column].precision == FloatPrecision::Single;
        let single = plan
            .carry
            .iter()
            .filter(is_single)
            .map(|&column| plan.name(column).to_owned())
            .collect();
        let mut decisions = Vec::new();
        for decision in &plan.decisions {
            let counted = tally(decision.column);
            decisions.push(decision_words(plan, decision, &counted, &mut issues)?);
            carried.push(carried_decision(plan.name(decision.column)));
        }
        // Rows, and their counterfactuals in all other groups.
        let others = attributes.iter().map(|of| of.groups.len().saturating_sub(1)).max();
        let counted = survey.rows.n_rows.saturating_mul(others.unwrap_or(0).max(1) as u64);
        let weight = plan.weight.map(|column| {
            let unit = survey.weights.unit(counted);
            WeightColumn {
                column: plan.name(column).to_owned(),
                unit,
                largest: unit.units_of(survey.weights.largest),
            }
        });
        if let (Some(column), Some((smallest, left))) =
            (plan.weight, survey.weights.rounding_loss(counted))
        {
            let text = format!(
                "weights are counted in whole units of {}, at least a 2^32nd of the largest: the \
                 smallest, {smallest}, counts as {left}; write weights whose ratios are smaller, \
                 or round them to multiples of one number",
                survey.weights.unit(counted).value()
            );
            issues.push(IssueRow::warning("coarse-weight", plan.name(column), 0, text));
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
            partition_levels(plan, by, &tally(by.column), lacking, &mut issues)
        };
        let strata = plan.strata.as_ref().map(|by| cut(by, strata)).transpose()?;
        let slices = plan.slices.iter().map(|by| cut(by, of_slice)).collect::<Result<Vec<_>>>()?;
        let layout = Layout {
            n_rows: survey.rows.n_rows,
            row_id,
            label,
            person,
            weight,
            attributes,
            features,
            hidden,
            derived,
            carried,
            single,
            decisions,
            strata,
            slices,
        };
        let stored = StoredRows {
            rows_follow: here.keeps_all(),
            tables: code_tables(plan, here, &layout),
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
) -> IndexMap<String, CodeTable> {
    let table = |column: usize, none: u32, code: &dyn Fn(&str) -> Option<u32>| {
        let words = survey.as_read(plan, column).occurrences.keys();
        let codes = words.map(|word| {
            let prepared = plan.view.prepared_word(column, word);
            prepared.and_then(|word| code(&word)).unwrap_or(none)
        });
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
    if let Some(split) = &plan.split {
        let is = |words: &[String], word: &str| words.iter().any(|known| known == word);
        let role = |word: &str| match () {
            () if is(&split.audit, word) => Some(0),
            () => is(&split.train, word).then_some(u32::from(split::TRAIN)),
        };
        tables.insert(ROLE.to_owned(), table(split.column, u32::from(split::NEITHER), &role));
    }
    if let Some(label) = &plan.label {
        let is_positive = |word: &str| Some(u32::from(label.positive.has(word)));
        tables.insert(LABEL.to_owned(), table(label.column, MISSING, &is_positive));
        if label.classes.iter().len() > 0 {
            let class = |word: &str| u32::try_from(label.classes.position(word)?).ok();
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
        let level = |word: &str| levels.get(word).copied();
        tables.insert(level_name(attribute), table(column, MISSING, &level));
    }
    let coded = plan.features.iter().zip(&layout.features).zip(&levels);
    for ((by, feature), levels) in coded.filter(|((by, _), _)| by.kind.is_coded()) {
        tables.insert(feature_name(feature), of_levels(by, levels));
        if feature.source.several {
            let words = feature.source.words.iter().zip(0..);
            let words: HashMap<&str, u32> =
                words.map(|(word, at)| (word.text.as_str(), at)).collect();
            let read = survey.as_read(plan, by.column).occurrences.keys();
            let codes = read.map(|word| words.get(word.as_str()).copied().unwrap_or(MISSING));
            let codes = [MISSING].into_iter().chain(codes).collect();
            let column = code_column(plan, by.column);
            tables.insert(source_name(feature), CodeTable { column, codes });
        }
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

fn check_split(
    plan: &PreparePlan<'_>,
    split: &SplitPlan,
    tally: &ColumnTally,
    issues: &mut Vec<IssueRow>,
) -> Result<()> {
    let name = plan.name(split.column);
    if split.audit.iter().all(|value| !tally.occurrences.contains_key(value)) {
        let what = format!(
            "no row is audited: none of the values under `split.audit` occurs in column `{name}`"
        );
        return plan.fault("no-audit-rows", split.column, what).fail(seen_text(tally));
    }
    for value in split
        .train
        .iter()
        .chain(&split.audit)
        .filter(|value| !tally.occurrences.contains_key(*value))
    {
        issues.push(IssueRow::warning(
            "absent-split-value",
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
        issues.push(IssueRow::warning("outside-split", name, whole(others), text));
    }
    Ok(())
}
