//! Checks derived columns, sensitive attributes that are derived, values that mean missing, and the
//! weight.

use crate::job::messages as m;
use indexmap::IndexMap;

use crate::data::prepare::derive::{Derivation, DerivationRecipe};
use crate::data::prepare::params::OrdinalOrder;
use crate::data::sql::{self, SqlProblem};
use crate::job::read::tree::join;
use crate::job::read::word_lists::{all_or_none, list, suggest};
use crate::job::resolve::roles::MAX_GROUPS;
use crate::job::{CounterfactualSet, DataBlock, SensitiveBlock};
use crate::param::{ColumnName, Finite, Word};

use super::names::numbered;
use super::{JobChecker, path};

/// Where a derived column is declared: it may be derived from what is above it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DerivedIn {
    Derive,
    Sensitive,
}

impl JobChecker<'_> {
    /// The blocks `derive`, `missing.null_values` and `weight`, and derived columns listed as
    /// features.
    pub(super) fn derived(&mut self) {
        if !self.is_sound(&["data.derive", "data.sensitive", "data.features"]) {
            return;
        }
        let data = &self.job.data;
        for (name, derivation) in &data.derive {
            let at = path(&["data", "derive", name.as_str()]);
            if data.sensitive.get(name).is_some_and(SensitiveBlock::is_made_here) {
                self.say(path(&["data", "sensitive", name.as_str()]), m::derived_twice(name));
            }
            self.derivation(DerivedIn::Derive, &at, name, derivation);
        }
        self.derived_features();
        self.null_values();
        self.weight();
    }

    /// The form of an attribute that is derived in place.
    pub(super) fn made_here(&mut self, at: &str, name: &ColumnName, attribute: &SensitiveBlock) {
        if attribute.is_made_here() {
            self.derivation(DerivedIn::Sensitive, at, name, &attribute.derivation());
        } else if attribute.otherwise.is_some() {
            self.say(format!("{at}.else"), m::else_without_map(name));
        }
    }

    fn derivation(&mut self, block: DerivedIn, at: &str, name: &ColumnName, rule: &Derivation) {
        let forms = rule.forms();
        let &[form] = forms.as_slice() else {
            let more = match block {
                DerivedIn::Derive => ", `cross` and `sql`",
                DerivedIn::Sensitive => " and `cross`",
            };
            return self.say(at, m::derived_forms(at, more, all_or_none(&forms)));
        };
        match (&rule.from, form) {
            (Some(_), "cross") => self.say(join(at, "from"), m::cross_from(name)),
            (Some(_), "sql") => self.say(join(at, "from"), m::expression_from(name)),
            (Some(from), _) => self.parent(block, join(at, "from"), name, from),
            (None, "cross" | "sql") => {}
            (None, _) => self.say(at, m::derived_from_missing(at, form)),
        }
        let is_odd = rule.otherwise.is_some() && form != "map";
        self.say(join(at, "else"), is_odd.then(|| m::else_of_bins(name)));
        self.map(at, name, rule);
        if let Some(edges) = &rule.bins {
            self.edges(&join(at, "bins"), edges);
        }
        if let Some(levels) = &rule.levels {
            self.named_bins(&join(at, "levels"), levels);
        }
        self.cross(block, &join(at, "cross"), name, rule);
        if let Some(sql) = &rule.sql {
            let here = join(at, "sql");
            match sql::parse(sql) {
                Ok(tree) => {
                    tree.columns.iter().for_each(|c| self.parent(block, here.clone(), name, c))
                }
                Err(problem) => self.bad_sql(&here, &problem),
            }
        }
    }

    /// Complains about an expression.
    pub(super) fn bad_sql(&mut self, at: &str, problem: &SqlProblem) {
        self.say(at, m::bad_sql(problem.located(), &problem.hint));
    }

    /// Complains about a column that is declared only below one that is derived from it.
    fn parent(&mut self, block: DerivedIn, at: String, name: &ColumnName, parent: &ColumnName) {
        let data = &self.job.data;
        if parent == name {
            return self.say(at, m::derived_of_itself(name));
        }
        let made_for_attribute =
            data.sensitive.get(parent).is_some_and(SensitiveBlock::is_made_here);
        let is_above = match block {
            DerivedIn::Derive => data.derive.get_index_of(parent) < data.derive.get_index_of(name),
            DerivedIn::Sensitive => data.attribute_above(name, parent).is_some(),
        };
        let is_derived = data.derive.contains_key(parent);
        let is_own = if block == DerivedIn::Derive { is_derived } else { made_for_attribute };
        if is_own && !is_above {
            self.say(at, m::derived_below(name, parent));
        } else if block == DerivedIn::Derive && made_for_attribute && !is_derived {
            self.say(at, m::derived_for_attribute(name, parent));
        }
    }

    fn map(&mut self, at: &str, name: &ColumnName, derivation: &Derivation) {
        let Some(map) = &derivation.map else { return };
        let here = join(at, "map");
        let mut values_so_far: Vec<(&Word, &Word)> = Vec::new();
        for (group, values) in map {
            let list_at = join(&here, group.as_str());
            if !self.check_distinct(&list_at, "value of the column", values) {
                continue;
            }
            for (place, value) in numbered(list_at, values) {
                let twice = values_so_far.iter().find(|(v, _)| *v == value);
                self.say(place, twice.map(|(_, other)| m::map_value_twice(value, other, group)));
            }
            values_so_far.extend(values.iter().map(|value| (value, group)));
        }
        let group = derivation.otherwise.as_ref().filter(|other| map.contains_key(*other));
        self.say(join(at, "else"), group.map(m::else_is_group));
        let continuous = |from: &&ColumnName| self.job.data.features.continuous.contains(from);
        let from = derivation.from.as_ref().filter(continuous);
        self.say(here, from.map(|from| m::map_of_numbers(name, from)));
    }

    /// Edges of bins.
    pub(super) fn edges(&mut self, here: &str, edges: &[Finite]) {
        if edges.len() < 2 {
            return self.say(here, m::bins_few());
        }
        if let Some(i) = (1..edges.len()).find(|&i| edges[i].get() <= edges[i - 1].get()) {
            self.say(format!("{here}[{i}]"), m::bins_order(edges[i].get(), edges[i - 1].get()));
        }
    }

    /// Bins with their own names.
    pub(super) fn named_bins(&mut self, here: &str, levels: &IndexMap<Word, [Finite; 2]>) {
        let mut sorted: Vec<(f64, f64, &Word)> =
            levels.iter().map(|(name, [lo, hi])| (lo.get(), hi.get(), name)).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((lo, hi, name)) = sorted.iter().find(|(lo, hi, _)| lo >= hi) {
            return self.say(join(here, name.as_str()), m::level_edges(lo, hi));
        }
        if let Some(pair) = sorted.windows(2).find(|pair| pair[1].0 < pair[0].1) {
            let ((_, end, first), (start, other, second)) = (pair[0], pair[1]);
            let said = m::levels_overlap(first, second, start, end.min(other));
            self.say(join(here, second.as_str()), said);
        }
    }

    fn cross(&mut self, block: DerivedIn, here: &str, name: &ColumnName, derivation: &Derivation) {
        let Some(parts) = &derivation.cross else { return };
        if parts.len() == 1 {
            return self.say(here, m::cross_one(name));
        }
        let features = &self.job.data.features;
        for (place, part) in numbered(here.to_owned(), parts) {
            if block == DerivedIn::Sensitive {
                self.crossed_attribute(place, name, part);
                continue;
            }
            self.parent(block, place.clone(), name, part);
            let numbers = features.continuous.contains(part)
                || matches!(features.ordinal.get(part), Some(OrdinalOrder::Numbers(_)));
            self.say(place, numbers.then(|| m::cross_numbers(name, part)));
        }
    }

    /// A part of a crossed attribute is an attribute above it, or a derived column whose names are
    /// known.
    fn crossed_attribute(&mut self, at: String, name: &ColumnName, part: &ColumnName) {
        let data = &self.job.data;
        let known = data.part(name, part).groups.is_some();
        if data.attribute_above(name, part).is_some() || known {
            return;
        }
        if part == name {
            self.say(at, m::cross_of_itself(name));
        } else if data.sensitive.contains_key(part) {
            self.say(at, m::cross_below(name, part));
        } else {
            let above = data.sensitive.keys().take_while(|n| *n != name).chain(data.derive.keys());
            let near = suggest(part, "attributes and derived columns above it", above);
            self.say(at, m::cross_unknown(name, part, near));
        }
    }

    /// The groups of an attribute: written or derived, at least two, the reference among them.
    pub(super) fn groups(&mut self, at: &str, name: &ColumnName, attribute: &SensitiveBlock) {
        let data = &self.job.data;
        let list_at = format!("{at}.groups");
        let (written, groups) = (!attribute.groups.is_empty(), data.groups_of(name));
        if self.has_problem(&[&list_at]) {
            return;
        }
        if groups.is_empty() {
            let parts = attribute.cross.iter().flatten().map(|part| data.groups_of(part).len());
            match parts.fold(1_usize, usize::saturating_mul) {
                n if attribute.cross.is_some() && n > MAX_GROUPS => {
                    self.say(at, m::cross_large(name, n, MAX_GROUPS));
                }
                _ if attribute.is_made_here() => {}
                _ => self.say(at, m::block_key_missing(at, "groups", "groups: [...]")),
            }
            return;
        }
        if let Some(i) = groups.iter().position(|group| group.as_str().is_empty()) {
            let place = if written { format!("{list_at}[{i}]") } else { at.to_owned() };
            return self.say(place, m::group_no_name(name));
        }
        if groups.len() == 1 {
            return self.say(if written { &list_at } else { at }, m::groups_one(name));
        }
        if let Some(i) = (1..groups.len()).find(|&i| groups[..i].contains(&groups[i])) {
            return self.say(at, m::groups_twice(name, &groups[i]));
        }
        let possible = data.possible_groups(name);
        for (place, group) in numbered(list_at, &attribute.groups).filter(|_| !possible.is_empty())
        {
            let unknown = |near: String| m::group_unknown(name, group, near);
            self.one_of(place, group, ("its groups", &possible), unknown);
        }
        match data.reference_of(name) {
            None if attribute.cross.is_some() => {
                let some = &groups[..groups.len().min(10)];
                self.say(at, m::reference_missing_of_part(at, list(some)));
            }
            None => self.say(at, m::block_key_missing(at, "reference", "reference: GROUP")),
            Some(reference) => {
                let unknown = |near: String| m::reference_unknown(&reference, name, near);
                self.one_of(join(at, "reference"), &reference, ("its groups", &groups), unknown);
            }
        }
    }

    /// Derived columns hold names; listed as ordinal, all of them must be in order.
    fn derived_features(&mut self) {
        let data = &self.job.data;
        let holds_names = |c: &ColumnName| data.is_derived(c) && !data.is_computed(c);
        let said = |c: &ColumnName| holds_names(c).then(|| m::derived_names_as_numbers(c));
        let continuous = path(&["data", "features", "continuous"]);
        for (place, column) in numbered(continuous, &data.features.continuous) {
            self.say(place, said(column));
        }
        for (column, order) in data.features.ordinal.iter().filter(|(c, _)| data.is_derived(c)) {
            let at = path(&["data", "features", "ordinal", column.as_str()]);
            let OrdinalOrder::Levels(levels) = order else {
                self.say(at, said(column));
                continue;
            };
            let recipe = data.derived().into_iter().find(|(name, _)| name == column);
            let names = recipe.map_or_else(Vec::new, |(_, recipe)| recipe.declared_names());
            for (place, level) in numbered(at.clone(), levels).filter(|_| !names.is_empty()) {
                let unknown = |near: String| m::order_level_unknown(column, level, near);
                self.one_of(place, level, ("its names", &names), unknown);
            }
            let missing = names.iter().find(|name| !levels.contains(name));
            self.say(at, missing.map(|name| m::order_level_missing(name, column)));
        }
    }

    fn null_values(&mut self) {
        let data = &self.job.data;
        let known = self.columns_read();
        for (column, words) in &data.missing.null_values {
            let at = path(&["data", "missing", "null_values", column.as_str()]);
            let unused = |near: String| m::column_unused(column, near);
            if data.is_derived(column) {
                let roots = Vec::from_iter(data.roots(column));
                self.say(at, m::nulls_of_derived(column, list(&roots)));
            } else if self.one_of(at.as_str(), column, ("its columns", &known), unused) {
                self.check_distinct(&at, "value that means missing", words);
            }
        }
    }

    /// The columns of the source that some part of the job reads.
    pub(super) fn columns_read(&self) -> Vec<ColumnName> {
        let data = &self.job.data;
        let named = self.job.models.values().flat_map(crate::job::ModelBlock::columns);
        let decided = self.job.models.values().filter_map(crate::job::ModelBlock::decided_column);
        let named = named.chain(decided).chain(self.job.strata()).chain(&self.job.metrics.by);
        let mut known: Vec<ColumnName> = data.duplicate_columns(named);
        let apart =
            data.row_id.iter().chain(data.split.iter().filter_map(|split| split.column.as_ref()));
        let apart = apart.chain(data.join.values().map(|join| &join.on));
        known.extend(apart.flat_map(|column| data.roots(column)));
        known
    }

    fn weight(&mut self) {
        let data = &self.job.data;
        let Some(weight) = &data.weight else { return };
        let said = if data.is_derived(weight) && !data.is_computed(weight) {
            Some(m::weight_of_names(weight))
        } else {
            self.role_of(weight).map(|role| m::role_twice("weight", weight, role))
        };
        self.say("data.weight", said);
    }

    /// The column of persons has one role. It may be the row id: then each row is its own person,
    /// as without `person`.
    pub(super) fn persons(&mut self) {
        let (data, at) = (&self.job.data, "data.person");
        let Some(person) = data.person.as_ref().filter(|p| data.row_id.as_ref() != Some(*p)) else {
            return;
        };
        self.say(at, self.role_of(person).map(|role| m::role_twice("person", person, role)));
    }

    /// Naive changes nothing but the attribute and the columns that it is mapped from. If no model
    /// is shown any of these, every counterfactual looks like its original and nothing could ever
    /// switch; a model that sees the number from which an attribute is binned, and not its bins,
    /// would see no change either.
    pub(super) fn naive_reaches(&mut self, at: &str, set: &CounterfactualSet) {
        let data = &self.job.data;
        if !set.sets_attribute_only() {
            return;
        }
        let changed = |name: &&ColumnName| set.changes(name);
        let run_here = self.job.models.values().any(|model| model.omitted().is_some());
        for name in data.sensitive.keys().filter(changed) {
            let hidden = self.job.models.iter().find_map(|(model, block)| {
                let omit = block.omitted()?;
                let inputs: Vec<&ColumnName> =
                    data.inputs().into_iter().filter(|c| !omit.contains(c)).collect();
                let is_seen = |p: &&ColumnName| inputs.iter().any(|c| data.roots(c).contains(*p));
                let ends = data.ends_below(data.column_of(name), &inputs);
                ends.into_iter().find_map(|(bins, recipe)| {
                    let recipe = recipe.filter(DerivationRecipe::is_one_way)?;
                    Some((bins, recipe.parents().into_iter().find(is_seen)?.clone(), model))
                })
            });
            let said = if let Some((bins, number, model)) = hidden {
                let part = if bins == *name { "it is".to_owned() } else { format!("`{bins}` is") };
                m::naive_binned(name, part, number, model, bins)
            } else if let Some(unseen) = data.first_unseen(name).filter(|_| run_here)
                && !self.has_problem(&["data.derive", "data.sensitive"])
            {
                let part = if unseen == *name {
                    "it is".to_owned()
                } else {
                    format!("it is derived from `{unseen}`, which is")
                };
                let sources = list(&Vec::from_iter(data.roots(&unseen)));
                let add =
                    if is_binned(data, &unseen) { format!("`{unseen}`") } else { sources.clone() };
                m::naive_unseen(name, part, sources, add)
            } else {
                continue;
            };
            let written = set.sensitive.iter().flatten().position(|only| only == name);
            let here = written.map_or_else(|| at.to_owned(), |i| format!("{at}.sensitive[{i}]"));
            self.say(here, said);
        }
    }
}

fn is_binned(data: &DataBlock, column: &ColumnName) -> bool {
    data.derived().iter().any(|(name, recipe)| name == column && recipe.is_one_way())
}
