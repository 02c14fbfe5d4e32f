//! The parameters of preparation, as a job states them.

use crate::counterfactual::short_forms::ConditionOn;
use crate::data::canonical::means_missing;
use crate::data::prepare::params::{
    DuplicateRule, MissingRule, PrepareParams, SensitiveParams, SidesParams, SplitColumn,
};
use crate::job::{CounterfactualSet, Job};
use crate::model::kind::ModelBlock;
use crate::param::{ColumnName, Word};
use indexmap::IndexMap;
use std::collections::BTreeMap;

/// What preparing needs to know of the job. Without `features` those are left out that no rule for
/// missing values needs: which rows are audited must not depend on the readers of the features.
pub(crate) fn prepare_params(job: &Job, features: bool) -> PrepareParams {
    let data = &job.data;
    let mut carry: Vec<ColumnName> =
        job.models.values().flat_map(ModelBlock::columns).cloned().collect();
    let mut decisions: Vec<SidesParams> = Vec::new();
    for knobs in job.models.values().filter_map(|m| m.decision.as_ref()) {
        let Some(column) = &knobs.column else { continue };
        // `check` refuses two lists of words for one column.
        if decisions.iter().all(|known| known.column != *column) {
            decisions.push(SidesParams {
                column: column.clone(),
                positive: knobs.positive.clone(),
                negative: knobs.negative.clone(),
                classes: Vec::new(),
            });
        }
    }
    carry.sort();
    carry.dedup();
    let decides =
        |rule: MissingRule| features || matches!(rule, MissingRule::DropRow | MissingRule::Error);
    let mut features = data.features.clone();
    if !decides(data.missing.continuous) {
        features.continuous.clear();
        features.onehot.clear();
    }
    if !decides(data.missing.ordinal) {
        features.ordinal.clear();
    }
    if !decides(data.missing.nominal) {
        features.nominal.clear();
    }
    // A column whose missing values become a level has that level for everybody.
    let missing = |name: &ColumnName| {
        if data.features.nominal.contains(name) { data.missing.nominal } else { MissingRule::Keep }
    };
    PrepareParams {
        joins: data.join.clone(),
        derive: data.derived(),
        row_id: data.row_id.clone(),
        joins_by_key: {
            let mut files = job.models.values().filter_map(ModelBlock::given_scores);
            let mut sets = job.counterfactuals.values().filter_map(CounterfactualSet::knobs);
            files.any(|of| of.factual.parquet.is_some() || of.counterfactual.is_some())
                || sets.any(|knobs| knobs.external().is_some())
        },
        person: data.person.clone(),
        keep: data.keep.clone(),
        label: data.label.column().map(|l| SidesParams {
            column: l.column.clone(),
            positive: l.positive.clone(),
            negative: l.closed_negative(),
            classes: l.classes.clone().unwrap_or_default(),
        }),
        raw_label: job
            .counterfactuals
            .values()
            .filter_map(CounterfactualSet::knobs)
            .any(|knobs| *knobs.condition_on == ConditionOn::RawLabel),
        known_levels: BTreeMap::new(),
        known_spelling: BTreeMap::new(),
        sensitive: data
            .sensitive
            .keys()
            .map(|name| SensitiveParams {
                name: name.clone(),
                column: data.column_of(name).clone(),
                groups: data.groups_of(name),
                // `check` refuses an attribute without a reference; preparing would refuse the
                // empty one.
                reference: data.reference_of(name).unwrap_or_else(|| Word(String::new())),
            })
            .collect(),
        // The columns of a one-hot group are numbers to everybody but strategies.
        continuous: features
            .continuous
            .into_iter()
            .chain(features.onehot.values().flatten().cloned())
            .collect(),
        onehot: features.onehot.into_iter().collect(),
        ordinal: features.ordinal.into_iter().collect(),
        nominal: features.nominal,
        integer: data
            .columns
            .iter()
            .filter_map(|(name, says)| Some((name.to_string(), says.is_integer()?)))
            .collect(),
        declared: data.declared_columns(),
        named_words: named_words(job),
        spelling: data.spellings(),
        missing: data.missing.clone(),
        weight: data.weight.clone(),
        drop_duplicates: (data.duplicates == DuplicateRule::DropExact).then(|| {
            let decided = decisions.iter().map(|of| &of.column);
            data.duplicate_columns(
                carry.iter().chain(decided).chain(job.strata()).chain(&job.metrics.by),
            )
        }),
        carry,
        decisions,
        strata: job.strata().map(|name| (name.clone(), missing(name))),
        slices: job.metrics.by.iter().map(|name| (name.clone(), missing(name))).collect(),
        hash_split: data.hash_split(job.run.seed),
        split: data.split.as_ref().and_then(|s| {
            Some(SplitColumn {
                column: s.column.clone()?,
                train: s.train.clone()?,
                audit: s.audit.clone()?,
            })
        }),
    }
}

/// The words that usually mean missing and that the job gives a meaning.
fn named_words(job: &Job) -> BTreeMap<String, Vec<String>> {
    let of = |codes: &IndexMap<Word, String>| -> Vec<String> {
        codes.keys().filter(|word| means_missing(word.as_str())).map(ToString::to_string).collect()
    };
    let named = job.data.names.iter().map(|(name, codes)| (name.to_string(), of(codes)));
    named.filter(|(_, words)| !words.is_empty()).collect()
}
