//! What follows from the `data` block: derived columns, the groups of every sensitive attribute,
//! what a model may read.
//!
//! Derived columns are in one order: those of `derive`, then those that sensitive attributes
//! declare in place. Each may be derived from columns of the source and from derived ones above it.
//! All of this also works on jobs that will be refused; it then returns less.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use crate::counterfactual::graph_uncertain::knobs::GraphUncertainBlock;
use crate::data::column::declared::{DeclaredColumn, DeclaredColumns};
use crate::data::prepare::derive::{CrossPart, Derivation, DerivationRecipe, combinations};
use crate::data::prepare::params::KeepStep;
use crate::data::rows::role_counts::HashSplit;
use crate::data::rows::split::Stratification;
use crate::data::spelling::Spelling;
use crate::job::{
    CounterfactualSet, DataBlock, FactualScores, FavourableClass, FeaturesBlock, Job, LabelColumn,
    ModelBlock, SensitiveBlock,
};
use crate::param::{ColumnName, Seed, Word};
use crate::why::knobs::WhyBlock;

/// The most combinations of groups for which a cross is written out; with more it is refused.
pub(crate) const MAX_GROUPS: usize = 65_534;

/// A part of a cross that is a column, whatever it holds.
fn whole(column: &ColumnName) -> CrossPart {
    CrossPart { column: column.clone(), groups: None }
}

/// The names that a derived column can hold; none where only the data can tell.
fn names_held(derivation: &Derivation) -> Vec<Word> {
    derivation.recipe(whole).map_or_else(Vec::new, |recipe| recipe.declared_names())
}

impl SensitiveBlock {
    /// The form in which the attribute is derived in place; empty for an attribute that is an
    /// unchanged column.
    pub fn derivation(&self) -> Derivation {
        Derivation {
            from: self.from.clone(),
            map: self.map.clone(),
            otherwise: self.otherwise.clone(),
            bins: self.bins.clone(),
            levels: self.levels.clone(),
            cross: self.cross.clone(),
            sql: None,
        }
    }

    /// Whether the attribute is derived in place, in whichever form.
    pub fn is_made_here(&self) -> bool {
        self.map.is_some() || self.bins.is_some() || self.levels.is_some() || self.cross.is_some()
    }
}

impl ModelBlock {
    /// The columns of the rows that the model names: scores, thresholds, expected scores.
    pub fn columns<'a>(&'a self) -> impl Iterator<Item = &'a ColumnName> {
        let factual = self.scores.iter().map(|scores| &scores.factual);
        let factual = factual.filter(|factual| factual.parquet.is_none());
        let decision = self.decision.iter().filter(|decision| decision.column.is_none());
        let columns = |scores: &'a FactualScores| scores.columns.iter().flat_map(IndexMap::values);
        factual
            .flat_map(move |scores| scores.column.iter().chain(columns(scores)))
            .chain(decision.flat_map(|decision| &decision.amount))
            .chain(self.threshold.column())
            .chain(self.expect.as_ref().map(|expect| &expect.column))
    }
}

impl CounterfactualSet {
    /// The attributes that it changes, in the job's order.
    pub fn attributes<'a>(&'a self, job: &'a Job) -> impl Iterator<Item = &'a ColumnName> {
        job.data.sensitive.keys().filter(|name| self.changes(name))
    }
}

impl Job {
    /// Whether a counterfactual set has a strategy that is fitted.
    pub fn has_fitted_sets(&self) -> bool {
        self.counterfactuals.values().any(|set| set.knobs().is_some())
    }

    /// Whether the outcomes of its models are amounts.
    pub fn audits_amounts(&self) -> bool {
        self.models.values().any(|model| model.amount().is_some())
    }

    /// The counterfactual sets as tables and gates name them, each with its block: a
    /// graph-uncertain set is one per scenario.
    pub fn sets(&self) -> Vec<(String, &CounterfactualSet)> {
        let named = self.counterfactuals.iter().flat_map(|(name, set)| match set.graphs() {
            None => vec![(name.to_string(), set)],
            Some(graphs) => {
                let scenarios = graphs.knowledge.keys();
                scenarios.map(|scenario| (format!("{name}/{scenario}"), set)).collect()
            }
        });
        named.collect()
    }

    /// Why a block of `why` does not say which features make people switch; none where it does.
    pub(crate) fn lacks_features(&self, block: &WhyBlock) -> Option<FeatureObstacle> {
        let sets = self.sets();
        let set = block.counterfactual.as_ref().filter(|_| !block.metric.is_of_errors());
        let Some((_, set)) = set.and_then(|s| sets.iter().find(|(name, _)| name == s.as_str()))
        else {
            return Some(FeatureObstacle::NothingMoves);
        };
        let model = self.models.get(block.model.as_str());
        if set.sets_attribute_only() {
            return Some(FeatureObstacle::NothingMoves);
        }
        let is_given = model.is_none_or(|model| model.given_scores().is_some());
        is_given.then_some(FeatureObstacle::GivenScores)
    }
}

/// Why a block of `why` says only who switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FeatureObstacle {
    /// It is about wrong predictions, or the set changes the attribute and nothing else.
    NothingMoves,
    /// The scores of the model are given, so it cannot score other rows.
    GivenScores,
}

impl LabelColumn {
    /// Whether the positive side is the one that people want.
    pub fn favours_positive(&self) -> bool {
        self.favourable == FavourableClass::Positive
    }
}

impl DataBlock {
    /// Which prediction people want, as the label or, without one, the job says; none where neither
    /// does.
    pub fn favourable_side(&self) -> Option<FavourableClass> {
        self.label.column().map(|label| label.favourable).or(self.favourable)
    }

    /// Whether the positive side is the one that people want; true where the job does not say.
    pub fn favours_positive(&self) -> bool {
        self.favourable_side() != Some(FavourableClass::Negative)
    }

    /// The strata within which rows are drawn: those of the split, else label and group where there
    /// is a label.
    pub fn strata_of_split(&self) -> Stratification {
        let without = if self.label.column().is_some() {
            Stratification::LabelAndGroup
        } else {
            Stratification::None
        };
        self.split.as_ref().and_then(|split| split.stratify).unwrap_or(without)
    }

    /// The split by the hash of each row, where the job has one.
    pub(crate) fn hash_split(&self, seed: Seed) -> Option<HashSplit> {
        let split = self.split.as_ref().filter(|split| !split.by.is_rank())?;
        Some(HashSplit { audit: split.share?.audit, seed: seed.0 })
    }

    /// The variables of a graph that changes an attribute: those that are named, or
    /// [`DataBlock::graph_columns`].
    pub fn graph_variables(
        &self,
        graphs: &GraphUncertainBlock,
        attribute: &ColumnName,
    ) -> Vec<ColumnName> {
        graphs.variables.clone().unwrap_or_else(|| self.graph_columns(attribute))
    }

    /// The variables of a graph that names none: the attribute's column, then the features of the
    /// source as continuous, ordinal, nominal.
    pub fn graph_columns(&self, attribute: &ColumnName) -> Vec<ColumnName> {
        let own = self.column_of(attribute);
        let features = self.single_features().filter(|c| *c != own && !self.is_derived(c));
        [own].into_iter().chain(features).cloned().collect()
    }

    /// The column of an attribute: the one it is derived into, which has its name, else `from`,
    /// else the one of its name.
    pub fn column_of<'a>(&'a self, name: &'a ColumnName) -> &'a ColumnName {
        match self.sensitive.get(name) {
            Some(attribute) if !attribute.is_made_here() => attribute.from.as_ref().unwrap_or(name),
            _ => name,
        }
    }

    /// Whether setting an attribute sets other columns: it is mapped from one, or a cross of
    /// several.
    pub fn is_written_back(&self, name: &ColumnName) -> bool {
        let column = self.column_of(name);
        self.derived().iter().any(|(derived, recipe)| derived == column && !recipe.is_one_way())
    }

    /// The first column, of the attribute's and those set with it, whose change no model is shown:
    /// it is mapped from a column that is not a feature, or it is binned and its bins are not
    /// features. None where models see every change.
    pub fn first_unseen(&self, name: &ColumnName) -> Option<ColumnName> {
        let ends = self.ends_below(self.column_of(name), &self.inputs());
        ends.into_iter().next().map(|(column, _)| column)
    }

    /// Whether no model is shown any change when an attribute is set: no column that changes with
    /// it, or is derived from one that does, is an input.
    pub fn is_unshown(&self, name: &ColumnName) -> bool {
        let set = self.set_with(name);
        let moves = |input: &&ColumnName| {
            set.contains(*input) || self.roots(input).iter().any(|root| set.contains(root))
        };
        !self.inputs().iter().any(moves)
    }

    /// Whether no model is shown any change where people of one group become members of another:
    /// for a cross, none of the parts in which the two differ is shown.
    pub fn is_direction_unshown(&self, name: &ColumnName, from: &Word, to: &Word) -> bool {
        if self.is_unshown(name) {
            return true;
        }
        let Some(cross) = self.sensitive.get(name).and_then(|attribute| attribute.cross.as_ref())
        else {
            return false;
        };
        let lists: Vec<Vec<Word>> =
            cross.iter().filter_map(|part| self.part(name, part).groups).collect();
        let all = self.possible_groups(name);
        let at = |group: &Word| all.iter().position(|other| other == group);
        let (Some(mut from), Some(mut to)) = (at(from), at(to)) else { return false };
        // Combinations count like digits; the last part changes fastest.
        let mut differs = false;
        for (part, list) in cross.iter().zip(&lists).rev() {
            let (a, b) = (&list[from % list.len()], &list[to % list.len()]);
            (from, to) = (from / list.len(), to / list.len());
            if a != b {
                differs = true;
                let unshown = match self.attribute_above(name, part) {
                    Some(_) => self.is_direction_unshown(part, a, b),
                    None => self.is_unshown(part),
                };
                if !unshown {
                    return false;
                }
            }
        }
        differs
    }

    /// Where the paths from a column down to what is set with it, without those of `stops`, end: at
    /// a column that is binned or computed from others, or at the last one above a column of the
    /// source, each with its recipe; at the column itself where it is one of the source.
    pub(crate) fn ends_below(
        &self,
        column: &ColumnName,
        stops: &[&ColumnName],
    ) -> Vec<(ColumnName, Option<DerivationRecipe>)> {
        let mut ends = Vec::new();
        self.add_ends((column, stops), &mut Vec::new(), &mut ends);
        ends
    }

    fn add_ends(
        &self,
        (column, stops): (&ColumnName, &[&ColumnName]),
        above: &mut Vec<(ColumnName, Option<DerivationRecipe>)>,
        ends: &mut Vec<(ColumnName, Option<DerivationRecipe>)>,
    ) {
        if stops.contains(&column) || above.iter().any(|(other, _)| other == column) {
            return;
        }
        let Some((name, recipe)) = self.derived().into_iter().find(|(name, _)| name == column)
        else {
            ends.push(above.last().cloned().unwrap_or_else(|| (column.clone(), None)));
            return;
        };
        if recipe.is_one_way() {
            ends.push((name, Some(recipe)));
            return;
        }
        let parents: Vec<ColumnName> = recipe.parents().into_iter().cloned().collect();
        above.push((name, Some(recipe)));
        parents.iter().for_each(|parent| self.add_ends((parent, stops), above, ends));
        above.pop();
    }

    /// Whether a column is computed by an expression, and so may hold numbers.
    pub fn is_computed(&self, column: &ColumnName) -> bool {
        self.derive.get(column).is_some_and(|derivation| derivation.sql.is_some())
    }

    /// Whether a column is joined from a side table.
    pub fn is_joined(&self, column: &ColumnName) -> bool {
        self.join.values().any(|join| join.columns.contains(column))
    }

    /// Whether a column is derived.
    pub fn is_derived(&self, column: &ColumnName) -> bool {
        self.derive.contains_key(column)
            || self.sensitive.get(column).is_some_and(SensitiveBlock::is_made_here)
    }

    /// The derived columns in order, with what they are made of; those whose form is incomplete are
    /// left out.
    pub fn derived(&self) -> Vec<(ColumnName, DerivationRecipe)> {
        let columns = self.derive.iter();
        let columns = columns.filter_map(|(name, rule)| Some((name.clone(), rule.recipe(whole)?)));
        let made_here = self.sensitive.iter().filter(|(_, attribute)| attribute.is_made_here());
        let made_here = made_here.filter_map(|(name, attribute)| {
            Some((name.clone(), attribute.derivation().recipe(|p| self.part(name, p))?))
        });
        columns.chain(made_here).collect()
    }

    /// What the name of a part of a crossed attribute represents: an attribute above it, else a
    /// column.
    pub(crate) fn part(&self, crossed: &ColumnName, part: &ColumnName) -> CrossPart {
        match self.attribute_above(crossed, part) {
            Some(_) => CrossPart {
                column: self.column_of(part).clone(),
                groups: Some(self.groups_of(part)),
            },
            None => CrossPart {
                column: part.clone(),
                groups: self.derive.get(part).map(names_held).filter(|names| !names.is_empty()),
            },
        }
    }

    /// The attribute of this name, where it is above another one.
    pub fn attribute_above(
        &self,
        below: &ColumnName,
        name: &ColumnName,
    ) -> Option<&SensitiveBlock> {
        let at = self.sensitive.get_index_of(below)?;
        self.sensitive.get_full(name).filter(|(i, ..)| *i < at).map(|(.., attribute)| attribute)
    }

    /// The groups of an attribute: those written, else every name that its column can hold. Empty
    /// where neither is known.
    pub fn groups_of(&self, name: &ColumnName) -> Vec<Word> {
        match self.sensitive.get(name) {
            None => Vec::new(),
            Some(attribute) if !attribute.groups.is_empty() => attribute.groups.clone(),
            Some(_) => self.possible_groups(name),
        }
    }

    /// Every name that the column of an attribute can hold, whichever groups are written; empty
    /// where only the data determine it.
    pub fn possible_groups(&self, name: &ColumnName) -> Vec<Word> {
        let Some(attribute) = self.sensitive.get(name) else { return Vec::new() };
        if let Some(cross) = &attribute.cross {
            let lists: Vec<Vec<Word>> =
                cross.iter().filter_map(|part| self.part(name, part).groups).collect();
            let product = lists.iter().try_fold(1_usize, |n, list| n.checked_mul(list.len()));
            let known = lists.len() == cross.len() && product.is_some_and(|n| n <= MAX_GROUPS);
            let lists: Vec<&[Word]> = lists.iter().map(Vec::as_slice).collect();
            return if known { combinations(&lists) } else { Vec::new() };
        }
        if attribute.is_made_here() {
            names_held(&attribute.derivation())
        } else {
            self.derive.get(self.column_of(name)).map_or_else(Vec::new, names_held)
        }
    }

    /// The reference of an attribute: the one written, else, of a cross, the cross of the
    /// references of its parts.
    pub fn reference_of(&self, name: &ColumnName) -> Option<Word> {
        let attribute = self.sensitive.get(name)?;
        if attribute.reference.is_some() {
            return attribute.reference.clone();
        }
        let of_part = |part: &ColumnName| {
            self.attribute_above(name, part).and_then(|_| self.reference_of(part))
        };
        let references: Vec<Word> =
            attribute.cross.as_ref()?.iter().map(of_part).collect::<Option<_>>()?;
        combinations(&references.iter().map(std::slice::from_ref).collect::<Vec<_>>()).pop()
    }

    /// The columns whose texts are brought to one spelling, each with its spelling.
    pub fn spellings(&self) -> BTreeMap<String, Spelling> {
        let spellings = self.columns.iter().map(|(name, says)| (name.to_string(), says.spelling()));
        spellings.filter(|(_, spelling)| !spelling.is_plain()).collect()
    }

    /// The columns whose type the job says, each with the texts that mean missing in it.
    pub(crate) fn declared_columns(&self) -> DeclaredColumns {
        let declared = self.columns.iter().filter_map(|(name, says)| {
            let nulls = self.missing.null_values.get(name).into_iter().flatten();
            let nulls = nulls.map(|word| word.as_str().trim().to_owned()).collect();
            Some((name.to_string(), DeclaredColumn { kind: says.kind?, nulls }))
        });
        declared.collect()
    }

    /// The columns of the source that a column is derived from; itself where it is one. Sorted.
    pub fn roots(&self, column: &ColumnName) -> BTreeSet<ColumnName> {
        let mut roots = BTreeSet::from([column.clone()]);
        // Parents come earlier, so one pass from the end replaces every derived column by what it
        // is derived from.
        for (name, recipe) in self.derived().iter().rev() {
            if roots.remove(name) {
                roots.extend(recipe.parents().into_iter().cloned());
            }
        }
        roots
    }

    /// The columns listed as features, by kind in the order of the job.
    pub fn listed_features(&self) -> impl Iterator<Item = &ColumnName> {
        self.single_features().chain(self.features.onehot.values().flatten())
    }

    /// The features that are one column each.
    fn single_features(&self) -> impl Iterator<Item = &ColumnName> {
        let FeaturesBlock { continuous, ordinal, nominal, .. } = &self.features;
        continuous.iter().chain(ordinal.keys()).chain(nominal)
    }

    /// What a model trained here reads before it omits any: sensitive columns that are not derived,
    /// then the listed features.
    pub fn inputs(&self) -> Vec<&ColumnName> {
        let sensitive = self.sensitive.keys().map(|name| self.column_of(name));
        let sensitive = sensitive.filter(|column| !self.is_derived(column));
        sensitive.chain(self.listed_features()).collect()
    }

    /// What strategies may move: features and sensitive columns that are not derived, and one-hot
    /// groups by their names.
    pub fn movable(&self) -> Vec<&ColumnName> {
        let mut columns = self.inputs();
        columns.retain(|column| !self.is_derived(column) && self.onehot_of(column).is_none());
        columns.into_iter().chain(self.features.onehot.keys()).collect()
    }

    /// The one-hot group that a column belongs to.
    pub fn onehot_of(&self, column: &ColumnName) -> Option<&ColumnName> {
        let mut groups = self.features.onehot.iter();
        groups.find(|(_, columns)| columns.contains(column)).map(|(name, _)| name)
    }

    /// The columns that are set when an attribute is: its own, and those that it is mapped or
    /// crossed from.
    pub fn set_with(&self, attribute: &ColumnName) -> BTreeSet<ColumnName> {
        self.below(self.column_of(attribute), DerivationRecipe::is_one_way).0
    }

    /// The numbers that an attribute is binned from, itself or in parts.
    pub fn binned_below(&self, attribute: &ColumnName) -> BTreeSet<ColumnName> {
        self.below(self.column_of(attribute), DerivationRecipe::is_one_way).1
    }

    /// A column with what it is derived from; separately, the parents of a recipe that is an end.
    pub(crate) fn below(
        &self,
        column: &ColumnName,
        is_end: impl Fn(&DerivationRecipe) -> bool,
    ) -> (BTreeSet<ColumnName>, BTreeSet<ColumnName>) {
        let (mut all, mut apart) = (BTreeSet::from([column.clone()]), BTreeSet::new());
        // Parents come earlier, so one pass from the end meets them all.
        for (name, recipe) in self.derived().iter().rev() {
            if !all.contains(name) {
                continue;
            }
            let parents = recipe.parents().into_iter().cloned();
            if is_end(recipe) { apart.extend(parents) } else { all.extend(parents) }
        }
        (all, apart)
    }

    /// The columns of the source by which exact duplicates are found: all that the job names but
    /// the row id and the split column. `more` are those that models name.
    pub fn duplicate_columns<'a>(
        &'a self,
        more: impl IntoIterator<Item = &'a ColumnName>,
    ) -> Vec<ColumnName> {
        let named = (self.keep.iter().flat_map(KeepStep::columns))
            .chain(self.label.named_column())
            .chain(self.sensitive.keys().map(|name| self.column_of(name)))
            .chain(self.listed_features())
            .chain(&self.features.ignore)
            .chain(&self.weight)
            .chain(&self.person)
            .chain(more);
        let mut columns: BTreeSet<ColumnName> =
            named.flat_map(|column| self.roots(column)).collect();
        let apart =
            self.row_id.iter().chain(self.split.iter().filter_map(|split| split.column.as_ref()));
        for column in apart.flat_map(|column| self.roots(column)) {
            columns.remove(&column);
        }
        columns.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(sensitive: &str) -> DataBlock {
        let text = format!(
            "{{rows: {{parquet: x}}, label: none, sensitive: {sensitive}, derive: {{race2: {{from: \
             race, map: {{White: [White]}}, else: Other}}}}}}"
        );
        serde_yaml::from_str(&text).unwrap()
    }

    fn column(name: &str) -> ColumnName {
        ColumnName::new(name).unwrap()
    }

    fn texts(words: &[Word]) -> Vec<&str> {
        words.iter().map(Word::as_str).collect()
    }

    #[test]
    fn a_cross_takes_groups_and_references_of_its_parts() {
        let data = data(
            r#"{gender: {from: sex, groups: [f, m], reference: m}, race2: {reference: White},
            age: {from: years, bins: [17, 30, 45], reference: "[17, 30]"},
            both: {cross: [gender, age]}, all: {cross: [both, race2]}}"#,
        );
        assert_eq!(texts(&data.groups_of(&column("race2"))), ["White", "Other"]);
        assert_eq!(
            texts(&data.groups_of(&column("both"))),
            ["f & [17, 30]", "f & (30, 45]", "m & [17, 30]", "m & (30, 45]"]
        );
        assert_eq!(data.groups_of(&column("all")).len(), 8);
        assert_eq!(data.reference_of(&column("all")).unwrap().as_str(), "m & [17, 30] & White");
        let roots: Vec<String> =
            data.roots(&column("all")).iter().map(ToString::to_string).collect();
        assert_eq!(roots, ["race", "sex", "years"]);
        let inputs: Vec<&str> = data.inputs().iter().map(|c| c.as_str()).collect();
        assert_eq!(inputs, ["sex"], "a rename is declared, the others are derived");
        let DerivationRecipe::Cross { parts } = &data.derived()[2].1 else { panic!() };
        assert_eq!((parts[0].column.as_str(), parts[1].column.as_str()), ("sex", "age"));
    }

    #[test]
    fn circles_end() {
        let data = data("{a: {cross: [b, a]}, b: {cross: [a, b]}}");
        assert!(
            data.groups_of(&column("a")).is_empty() && data.reference_of(&column("b")).is_none()
        );
        assert!(!data.roots(&column("b")).is_empty());
    }
}
