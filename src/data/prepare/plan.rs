//! The parameters of preparing, with names resolved to columns and words to values of their types.
//!
//! A column derived for a sensitive attribute, and a column that only a cross needs, is a hidden
//! feature: it is kept with the rows, so that counterfactuals can be written back and computed
//! again, and no model reads it. So is the raw label, if it is needed.

use crate::data::prepare::derive::DerivationRule;
use crate::data::prepare::keep_filters::KeepFilter;
use crate::data::prepare::params::{
    MissingRule, OrdinalOrder, PrepareParams, SensitiveParams, SidesParams, SplitColumn,
};
use crate::data::prepare::tally::{ColumnTally, LeftOut};
use crate::data::prepare::view::SourceView;
use crate::data::source::SourceSlice;
use crate::data::source::notation::Numeral;
use crate::data::source::side_table::{SideTable, UnmatchedRule};
use crate::data::values::ValueClass;
use crate::data::{FeatureKind, MISSING_GROUP};
use crate::error::{Error, Fault, Result};
use crate::param::{ColumnName, Word};

/// The resolved parameters: names are columns of the source, words are values of their types.
pub(crate) struct PreparePlan<'a> {
    /// What needs no resolving.
    pub(crate) params: &'a PrepareParams,
    pub(crate) view: &'a SourceView<'a>,
    pub(crate) steps: Vec<KeepFilter>,
    /// Numbers of the rows that pass all filters and repeat an earlier one, ascending.
    ///
    /// `None` where duplicates are kept.
    pub(crate) repeated: Option<Vec<u64>>,
    pub(crate) row_id: Option<usize>,
    pub(crate) person: Option<usize>,
    pub(crate) label: Option<SidesPlan>,
    pub(crate) attributes: Vec<AttributePlan>,
    pub(crate) features: Vec<FeaturePlan>,
    /// The name of each one-hot group, and its columns.
    pub(crate) onehot: Vec<(String, Vec<usize>)>,
    pub(crate) weight: Option<usize>,
    pub(crate) carry: Vec<usize>,
    /// Columns of decisions, carried behind those.
    pub(crate) decisions: Vec<SidesPlan>,
    pub(crate) split: Option<SplitPlan>,
    /// The column of strata, coded as a feature.
    pub(crate) strata: Option<FeaturePlan>,
    pub(crate) slices: Vec<FeaturePlan>,
    /// Source columns whose values are counted, ascending: coded features, the label, the split,
    /// strata.
    pub(crate) coded: Vec<usize>,
}

/// A column whose words are on two sides.
pub(crate) struct SidesPlan {
    pub(crate) column: usize,
    pub(crate) positive: ListedWords,
    /// `None` where all other values are negative.
    pub(crate) negative: Option<ListedWords>,
    /// Empty unless it is a label of more than two classes.
    pub(crate) classes: ListedWords,
}

/// Words of the job, each as written and as the column holds it.
#[derive(Default)]
pub(crate) struct ListedWords(Vec<(String, String)>);

impl ListedWords {
    fn of(view: &SourceView<'_>, column: usize, words: &[Word], asked_by: &str) -> Result<Self> {
        let column = &view.columns[column];
        let pair = |word: &Word| Ok((word.0.clone(), column.word(asked_by, word.as_str())?));
        words.iter().map(pair).collect::<Result<_>>().map(ListedWords)
    }

    /// Each word as written and as the column holds it.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(written, value)| (written.as_str(), value.as_str()))
    }

    /// The words as written.
    pub(crate) fn written(&self) -> Vec<String> {
        self.iter().map(|(written, _)| written.to_owned()).collect()
    }

    /// The words as the column holds them.
    pub(crate) fn values(&self) -> Vec<String> {
        self.iter().map(|(_, value)| value.to_owned()).collect()
    }

    /// Position of a word of the column.
    pub(crate) fn position(&self, word: &str) -> Option<usize> {
        self.iter().position(|(_, value)| value == word)
    }

    /// Whether a word of the column is one of them.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.position(word).is_some()
    }

    /// The words that no row has, as written.
    pub(crate) fn absent<'w>(&'w self, tally: &'w ColumnTally) -> impl Iterator<Item = &'w str> {
        let lacks = |(_, value): &(&str, &str)| !tally.occurrences.contains_key(*value);
        self.iter().filter(lacks).map(|(written, _)| written)
    }
}

pub(crate) struct AttributePlan {
    pub(crate) name: String,
    pub(crate) feature: usize,
    pub(crate) groups: ListedWords,
    pub(crate) reference: usize,
}

pub(crate) struct FeaturePlan {
    pub(crate) name: String,
    pub(crate) column: usize,
    pub(crate) kind: FeatureKind,
    pub(crate) rule: MissingRule,
    /// Declared levels, as words of the column.
    pub(crate) declared: Vec<String>,
    /// Levels that another layout has.
    pub(crate) known: Vec<String>,
    /// Whether no model reads it.
    pub(crate) hidden: bool,
    /// Whether its kind decides if it is whole; otherwise its values do.
    pub(crate) integer_is_known: bool,
}

pub(crate) struct SplitPlan {
    pub(crate) column: usize,
    pub(crate) train: Vec<String>,
    pub(crate) audit: Vec<String>,
}

/// A step that can lose rows.
pub(crate) enum RowLoss<'p> {
    /// A side table, by its position, drops rows whose key it lacks.
    Unmatched(usize, &'p SideTable),
    /// A condition of `keep`.
    Filtered(&'p KeepFilter),
    /// Rows that repeat an earlier one, by their numbers.
    Duplicate(&'p [u64]),
    /// A feature whose missing values drop rows.
    Dropped(&'p FeaturePlan),
}

impl RowLoss<'_> {
    /// The step as the job writes it.
    pub(crate) fn what(&self) -> String {
        match self {
            RowLoss::Unmatched(_, table) => format!("join {}: drop", table.name),
            RowLoss::Filtered(filter) => format!("keep {}", filter.what),
            RowLoss::Duplicate(_) => "duplicates: drop-exact".to_owned(),
            RowLoss::Dropped(feature) => format!("missing {}: drop-row", feature.name),
        }
    }

    /// Why its rows are left out.
    pub(crate) fn state(&self) -> LeftOut {
        match self {
            RowLoss::Unmatched(..) => LeftOut::Unmatched,
            RowLoss::Filtered(_) => LeftOut::Filtered,
            RowLoss::Duplicate(_) => LeftOut::Duplicate,
            RowLoss::Dropped(_) => LeftOut::Dropped,
        }
    }

    /// For each row of a slice whether it stays; nothing where all do.
    ///
    /// # Errors
    /// A filter cannot be applied.
    pub(crate) fn kept(&self, view: &SourceView<'_>, slice: &SourceSlice) -> Result<Vec<bool>> {
        Ok(match self {
            RowLoss::Unmatched(table, _) => slice.matched[*table].clone(),
            RowLoss::Filtered(filter) => filter.passes(view, slice)?,
            RowLoss::Duplicate(repeated) => {
                let (mut kept, first) = (vec![true; slice.rows], slice.first_row);
                let from = repeated.partition_point(|&row| row < first);
                let here = repeated[from..].iter().map(|row| (row - first) as usize);
                here.take_while(|&i| i < slice.rows).for_each(|i| kept[i] = false);
                kept
            }
            RowLoss::Dropped(feature) => {
                let values = &slice.columns[feature.column];
                let n = if values.has_nulls() { slice.rows } else { 0 };
                (0..n).map(|i| !values.is_null(i)).collect()
            }
        })
    }
}

impl<'a> PreparePlan<'a> {
    /// What to do where a column that must hold numbers holds a text.
    pub(crate) fn hint_for_text(&self, column: usize, text: &str) -> String {
        let name = self.name(column);
        let feature = self.features.iter().find(|feature| feature.column == column);
        if Numeral::of(text).is_some() {
            "specify how the file writes numbers, such as `csv: {path: ..., decimal: \",\", \
             thousands: \".\"}`, or write decimal points, without thousands separators"
                .to_owned()
        } else if self.weight == Some(column) {
            "a weight is a number in every row: correct the value, or exclude such rows by `keep`"
                .to_owned()
        } else if feature.is_some_and(|feature| feature.kind == FeatureKind::OrdinalNumber) {
            format!("name its levels from low to high: `ordinal: {{{name}: [LOW, ..., HIGH]}}`")
        } else if feature.is_none() && self.carry.contains(&column) {
            format!(
                "name a column of numbers; decisions in words are a model of their own: \
                 `decision: {{column: {name}, positive: [WORD]}}`"
            )
        } else {
            format!(
                "list it under `nominal`; if the text means missing, say that the others are \
                 numbers: `data.columns: {{{name}: number}}` and `data.missing.null_values: \
                 {{{name}: [\"{text}\"]}}`"
            )
        }
    }

    pub(crate) fn new(view: &'a SourceView<'a>, params: &'a PrepareParams) -> Result<Self> {
        let steps =
            params.keep.iter().map(|entry| KeepFilter::new(entry, view)).collect::<Result<_>>()?;
        let row_id = params.row_id.as_ref();
        let row_id = row_id.map(|name| id_column(view, name, ("rows", "row ids"))).transpose()?;
        let person = params.person.as_ref();
        let person =
            person.map(|name| id_column(view, name, ("persons", "persons"))).transpose()?;
        let label = params.label.as_ref().map(|label| SidesPlan::new(view, label)).transpose()?;
        let (mut features, attributes) = attributes(view, &params.sensitive)?;
        for feature in listed_features(view, params)? {
            match features.iter_mut().find(|f| f.column == feature.column) {
                None => features.push(feature),
                Some(sensitive) => sensitive.also_listed(feature),
            }
        }
        add_parents_of_crosses(view, &mut features);
        if let Some(label) = label.as_ref().filter(|_| params.raw_label) {
            let (kind, rule) = (FeatureKind::Nominal, MissingRule::Keep);
            let own = FeaturePlan::at(view, label.column, kind, rule);
            features.push(FeaturePlan { hidden: true, ..own });
        }
        for feature in &mut features {
            feature.known = params.known_levels.get(&feature.name).cloned().unwrap_or_default();
        }
        let columns = |columns: &[ColumnName]| {
            columns.iter().map(|column| view.position(column.as_str())).collect::<Result<Vec<_>>>()
        };
        let onehot = params
            .onehot
            .iter()
            .map(|(name, group)| Ok::<_, Error>((name.to_string(), columns(group)?)));
        let onehot = onehot.collect::<Result<_>>()?;
        let weight = params.weight.as_ref().map(|name| view.position(name.as_str())).transpose()?;
        let mut carry = columns(&params.carry)?;
        carry.sort_by(|&a, &b| view.columns[a].name.cmp(&view.columns[b].name));
        carry.dedup();
        let decisions = params.decisions.iter().map(|of| SidesPlan::new(view, of));
        let decisions = decisions.collect::<Result<Vec<_>>>()?;
        let split = params.split.as_ref().map(|split| SplitPlan::new(view, split)).transpose()?;
        let slices = params
            .slices
            .iter()
            .map(|(name, rule)| strata(view, name, *rule))
            .collect::<Result<Vec<_>>>()?;
        let strata =
            params.strata.as_ref().map(|(name, rule)| strata(view, name, *rule)).transpose()?;
        let mut coded: Vec<usize> =
            features.iter().filter(|f| f.kind.is_coded()).map(|f| f.column).collect();
        coded.extend(label.iter().map(|l| l.column).chain(split.iter().map(|s| s.column)));
        coded.extend(strata.iter().chain(&slices).map(|s| s.column));
        coded.extend(decisions.iter().map(|d| d.column));
        coded.sort_unstable();
        coded.dedup();
        Ok(PreparePlan {
            params,
            view,
            steps,
            repeated: None,
            row_id,
            person,
            label,
            attributes,
            features,
            onehot,
            weight,
            carry,
            decisions,
            split,
            strata,
            slices,
            coded,
        })
    }

    /// A fault of a column, in its file.
    pub(crate) fn fault(
        &self,
        code: &'static str,
        column: usize,
        what: impl Into<String>,
    ) -> Fault {
        self.view.source.locate_file(Fault::new(code, what).in_column(self.name(column)))
    }

    /// A fault of a column in the row of this number.
    pub(crate) fn fault_in_row(
        &self,
        code: &'static str,
        (column, row): (usize, u64),
        what: impl Into<String>,
    ) -> Fault {
        self.view.source.locate_row(Fault::new(code, what).in_column(self.name(column)), row)
    }

    /// The name of a source column.
    pub(crate) fn name(&self, column: usize) -> &str {
        &self.view.columns[column].name
    }

    /// The type of a feature: programs of the user's get it in this type.
    pub(crate) fn class_of(&self, feature: &FeaturePlan) -> ValueClass {
        let class = self.view.columns[feature.column].class;
        match feature.kind {
            // Counterfactuals may have decimals, and programs get them as such.
            FeatureKind::Continuous { integer: false }
                if feature.integer_is_known && class == ValueClass::Int =>
            {
                ValueClass::Float
            }
            _ => class,
        }
    }

    /// The steps that can lose rows, in order.
    pub(crate) fn losses(&self) -> Vec<RowLoss<'_>> {
        let tables = self.view.source.joined().iter().enumerate();
        let tables = tables.filter(|(_, table)| table.join.missing == UnmatchedRule::Drop);
        let tables = tables.map(|(at, table)| RowLoss::Unmatched(at, table));
        let dropped = self.features.iter().filter(|of| of.rule == MissingRule::DropRow);
        tables
            .chain(self.steps.iter().map(RowLoss::Filtered))
            .chain(self.repeated.as_deref().map(RowLoss::Duplicate))
            .chain(dropped.map(RowLoss::Dropped))
            .collect()
    }

    /// Numeric columns: features that are numbers, the weight, and carried columns, each once.
    pub(crate) fn numbers(&self) -> Vec<usize> {
        let features = self.features.iter().filter(|f| !f.kind.is_coded()).map(|f| f.column);
        let mut numbers: Vec<usize> =
            features.chain(self.weight).chain(self.carry.iter().copied()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

fn strata(view: &SourceView<'_>, name: &ColumnName, rule: MissingRule) -> Result<FeaturePlan> {
    let mut strata = FeaturePlan::new(view, name, FeatureKind::Nominal, rule)?;
    strata.declare(declared_names(view, strata.column));
    Ok(strata)
}

/// The sensitive attributes, and as features the columns they are derived from.
fn attributes(
    view: &SourceView<'_>,
    sensitive: &[SensitiveParams],
) -> Result<(Vec<FeaturePlan>, Vec<AttributePlan>)> {
    let (mut features, mut attributes): (Vec<FeaturePlan>, _) = (Vec::new(), Vec::new());
    for attribute in sensitive {
        let column = view.position(attribute.column.as_str())?;
        let listed = ListedWords::of(view, column, &attribute.groups, "groups")?;
        let groups = &listed.0;
        if groups.len() >= usize::from(MISSING_GROUP) {
            let what = format!("`{}` has {} groups", attribute.name, groups.len());
            return Fault::new("too-many-levels", what).fail("merge groups by `map`");
        }
        if let Some(i) =
            (1..groups.len()).find(|&i| groups[..i].iter().any(|(_, value)| *value == groups[i].1))
        {
            let what =
                format!("the group `{}` of `{}` is declared twice", groups[i].0, attribute.name);
            let hint = "two entries of the list are the same value of the column; keep one of them";
            return Fault::new("duplicate-group", what)
                .in_column(attribute.column.as_str())
                .fail(hint);
        }
        let reference = groups.iter().position(|(written, _)| *written == attribute.reference.0);
        let reference = reference.ok_or_else(|| {
            Fault::new(
                "unknown-group",
                format!(
                    "the reference group `{}` is not among the groups of `{}`",
                    attribute.reference, attribute.name
                ),
            )
            .hint("name one of the groups")
        })?;
        let feature = match features.iter().position(|f| f.column == column) {
            Some(feature) => feature,
            None => {
                let mut feature = FeaturePlan::new(
                    view,
                    &attribute.column,
                    FeatureKind::Sensitive,
                    MissingRule::Keep,
                )?;
                feature.hidden = view.derived_at(column).is_some();
                features.push(feature);
                features.len() - 1
            }
        };
        features[feature].declare(listed.values());
        features[feature].declare(declared_names(view, column));
        attributes.push(AttributePlan {
            name: attribute.name.to_string(),
            feature,
            groups: listed,
            reference,
        });
    }
    Ok((features, attributes))
}

/// The columns that the job lists as features.
fn listed_features(view: &SourceView<'_>, params: &PrepareParams) -> Result<Vec<FeaturePlan>> {
    let missing = &params.missing;
    let mut features = Vec::new();
    for name in &params.continuous {
        // Its values decide whether it is whole, see `encode`.
        let integer = params.integer.get(name.as_str()).copied().unwrap_or_default();
        let mut feature =
            FeaturePlan::new(view, name, FeatureKind::Continuous { integer }, missing.continuous)?;
        // What is computed is not rounded.
        let is_computed = view
            .derived_at(feature.column)
            .is_some_and(|derived| matches!(derived.rule, DerivationRule::Sql { .. }));
        feature.integer_is_known = is_computed || params.integer.contains_key(name.as_str());
        features.push(feature);
    }
    for (name, order) in &params.ordinal {
        let kind = if matches!(order, OrdinalOrder::Numbers(_)) {
            FeatureKind::OrdinalNumber
        } else {
            FeatureKind::OrdinalLevel
        };
        let mut feature = FeaturePlan::new(view, name, kind, missing.ordinal)?;
        if let OrdinalOrder::Levels(levels) = order {
            feature.declared = ListedWords::of(view, feature.column, levels, "ordinal")?.values();
        }
        features.push(feature);
    }
    for name in &params.nominal {
        let mut feature = FeaturePlan::new(view, name, FeatureKind::Nominal, missing.nominal)?;
        feature.declare(declared_names(view, feature.column));
        features.push(feature);
    }
    Ok(features)
}

/// The names that a derived column can hold, in declared order.
///
/// Empty where its rule does not determine them.
fn declared_names(view: &SourceView<'_>, column: usize) -> Vec<String> {
    view.derived_at(column).map_or_else(Vec::new, |derived| derived.names.clone())
}

/// Adds the parents that derived features need to be computed again when one of them changes.
///
/// They are derived parents, because they may change in turn, and every part of a cross or column
/// of an expression, because it is joined with the one that changes.
fn add_parents_of_crosses(view: &SourceView<'_>, features: &mut Vec<FeaturePlan>) {
    let mut next = 0;
    while next < features.len() {
        let derived = view.derived_at(features[next].column);
        for &parent in derived.iter().flat_map(|d| &d.parents) {
            let known = features.iter().any(|f| f.column == parent);
            let several = derived.is_some_and(|d| {
                matches!(d.rule, DerivationRule::Cross(_) | DerivationRule::Sql { .. })
            });
            if !known && (several || view.derived_at(parent).is_some()) {
                let numbers = view.columns[parent].class.is_number();
                let kind = match derived.is_some_and(|d| d.rule.is_one_way()) && numbers {
                    true => FeatureKind::Continuous { integer: false },
                    false => FeatureKind::Nominal,
                };
                features.push(FeaturePlan {
                    declared: declared_names(view, parent),
                    hidden: true,
                    integer_is_known: true,
                    ..FeaturePlan::at(view, parent, kind, MissingRule::Keep)
                });
            }
        }
        next += 1;
    }
}

impl SidesPlan {
    fn new(view: &SourceView<'_>, label: &SidesParams) -> Result<Self> {
        let column = view.position(label.column.as_str())?;
        let words = |list: &[Word], asked_by| ListedWords::of(view, column, list, asked_by);
        let negative = label.negative.as_ref().map(|list| words(list, "negative")).transpose()?;
        let classes = words(&label.classes, "classes")?;
        Ok(SidesPlan { column, positive: words(&label.positive, "positive")?, negative, classes })
    }

    /// Whether the job names a word of the column.
    pub(crate) fn declares(&self, word: &str) -> bool {
        let lists = [Some(&self.positive), self.negative.as_ref(), Some(&self.classes)];
        lists.into_iter().flatten().any(|list| list.has(word))
    }
}

impl FeaturePlan {
    fn new(
        view: &SourceView<'_>,
        name: &ColumnName,
        kind: FeatureKind,
        rule: MissingRule,
    ) -> Result<Self> {
        Ok(FeaturePlan::at(view, view.position(name.as_str())?, kind, rule))
    }

    fn at(view: &SourceView<'_>, column: usize, kind: FeatureKind, rule: MissingRule) -> Self {
        FeaturePlan {
            name: view.columns[column].name.clone(),
            column,
            kind,
            rule,
            declared: Vec::new(),
            known: Vec::new(),
            hidden: false,
            integer_is_known: false,
        }
    }

    /// Appends levels to the declared ones, without duplicates.
    fn declare(&mut self, levels: impl IntoIterator<Item = String>) {
        for level in levels {
            if !self.declared.contains(&level) {
                self.declared.push(level);
            }
        }
    }

    /// Makes the hidden column of a sensitive attribute a listed feature as well.
    ///
    /// Models then read it, under the rules of its kind.
    fn also_listed(&mut self, feature: FeaturePlan) {
        self.hidden = false;
        self.rule = feature.rule;
        if feature.kind == FeatureKind::OrdinalLevel {
            let groups = std::mem::replace(&mut self.declared, feature.declared);
            self.kind = feature.kind;
            self.declare(groups);
        }
    }
}

impl SplitPlan {
    fn new(view: &SourceView<'_>, split: &SplitColumn) -> Result<Self> {
        let column = view.position(split.column.as_str())?;
        let train = ListedWords::of(view, column, &split.train, "split.train")?.values();
        let audit = ListedWords::of(view, column, &split.audit, "split.audit")?.values();
        if let Some(both) = train.iter().find(|value| audit.contains(value)) {
            let what =
                format!("the value `{both}` of the split column is under both `train` and `audit`");
            return Fault::new("overlapping-split", what)
                .in_column(split.column.as_str())
                .fail("put it into one list");
        }
        Ok(SplitPlan { column, train, audit })
    }
}

/// A column that distinguishes `which`, which the hint calls `ids`.
fn id_column(
    view: &SourceView<'_>,
    name: &ColumnName,
    (which, ids): (&str, &str),
) -> Result<usize> {
    let column = view.position(name.as_str())?;
    match view.columns[column].class {
        ValueClass::Int | ValueClass::Text | ValueClass::Empty => Ok(column),
        class => {
            let (holds, hint) = match class {
                ValueClass::Float => (
                    "floats or decimals with a fraction",
                    "pandas makes floats of integers with a missing value: take out the rows \
                     without an id, or convert the column (`astype(\"Int64\")`)",
                ),
                class => (class.name(), "convert other types to one of these"),
            };
            let what = format!("column `{name}` holds {holds} and cannot identify {which}");
            let fault = Fault::new("not-an-id", what).in_column(name.as_str());
            view.source.locate_file(fault).fail(format!(
                "{ids} are integers, decimals without fractional digits (DECIMAL(38, 0)) or \
                     text; {hint}"
            ))
        }
    }
}
