//! Checks derived columns, sensitive attributes that are derived, values that mean missing, and the
//! weight.

use indexmap::IndexMap;

use crate::data::prepare::derive::{Derivation, DerivationRecipe};
use crate::data::prepare::params::OrdinalOrder;
use crate::data::sql::{self, SqlProblem};
use crate::job::read::nearest::{all, list, suggest};
use crate::job::read::tree::join;
use crate::job::resolve::roles::MAX_GROUPS;
use crate::job::{CounterfactualSet, DataBlock, SensitiveBlock};
use crate::param::{ColumnName, Finite, Word};

use super::{JobChecker, path};

/// Where a derived column is declared: it may be made of what is above it.
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
                self.push_problem(
                    "column-twice",
                    path(&["data", "sensitive", name.as_str()]),
                    format!("the column `{name}` is derived here and under `data.derive`"),
                    "derive it in one place: an attribute with that name uses the column",
                );
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
            self.push_problem(
                "bad-value",
                format!("{at}.else"),
                format!("`{name}` has `else` and no `map`"),
                "add `map: {GROUP: [...]}`",
            );
        }
    }

    fn derivation(
        &mut self,
        block: DerivedIn,
        at: &str,
        name: &ColumnName,
        derivation: &Derivation,
    ) {
        let forms = derivation.forms();
        let &[form] = forms.as_slice() else {
            let found = if forms.is_empty() { "none".to_owned() } else { all(&forms) };
            let hint = "write `{from: COLUMN, map: {GROUP: [...]}}`, `{from: COLUMN, bins: \
                        [...]}`, `{from: COLUMN, levels: {NAME: [LO, HI]}}` or `{cross: [A, B]}`";
            self.push_problem(
                "one-of",
                at,
                format!(
                    "`{at}` takes exactly one of `map`, `bins`, `levels`{}, found {found}",
                    if block == DerivedIn::Derive { ", `cross` and `sql`" } else { " and `cross`" }
                ),
                hint,
            );
            return;
        };
        match &derivation.from {
            Some(_) if form == "cross" => {
                self.push_problem(
                    "bad-value",
                    format!("{at}.from"),
                    format!("`{name}` is a cross and has `from`"),
                    "name all its columns under `cross`",
                );
            }
            Some(_) if form == "sql" => {
                self.push_problem(
                    "bad-value",
                    format!("{at}.from"),
                    format!("`{name}` is an expression and has `from`"),
                    "remove it: an expression names its columns itself",
                );
            }
            Some(from) => self.parent(block, format!("{at}.from"), name, from),
            None if form != "cross" && form != "sql" => {
                let hint = format!("add `from: COLUMN`, the column from which `{form}` is derived");
                self.push_problem("missing-key", at, format!("`{at}` has no `from`"), hint);
            }
            None => {}
        }
        if derivation.otherwise.is_some() && form != "map" {
            self.push_problem(
                "bad-value",
                format!("{at}.else"),
                format!("`{name}` has `else` and no `map`"),
                "remove it; values outside the bins are missing",
            );
        }
        self.map(at, name, derivation);
        self.bins(at, derivation);
        self.levels_with_names(at, derivation);
        self.cross(block, at, name, derivation);
        if let Some(sql) = &derivation.sql {
            let here = format!("{at}.sql");
            match sql::parse(sql) {
                Ok(tree) => {
                    tree.columns.iter().for_each(|of| self.parent(block, here.clone(), name, of))
                }
                Err(problem) => self.bad_sql(&here, &problem),
            }
        }
    }

    /// Complains about an expression.
    pub(super) fn bad_sql(&mut self, at: &str, problem: &SqlProblem) {
        self.push_problem("bad-sql", at, problem.located(), problem.hint.clone());
    }

    /// Complains about a column that is not there yet where another is derived from it.
    fn parent(&mut self, block: DerivedIn, at: String, name: &ColumnName, parent: &ColumnName) {
        let data = &self.job.data;
        if parent == name {
            let hint = format!(
                "give the derived column another name, such as `{name}_group`; `{name}` then \
                 stays as it is"
            );
            self.push_problem(
                "bad-order",
                at,
                format!("`{name}` is derived from a column with the same name"),
                hint,
            );
            return;
        }
        let (place, here) = match block {
            DerivedIn::Derive => (data.derive.get_index_of(parent), data.derive.get_index_of(name)),
            DerivedIn::Sensitive => {
                (data.sensitive.get_index_of(parent), data.sensitive.get_index_of(name))
            }
        };
        let made_for_attribute =
            data.sensitive.get(parent).is_some_and(SensitiveBlock::is_made_here);
        let below = match block {
            DerivedIn::Derive => data.derive.contains_key(parent) && place >= here,
            DerivedIn::Sensitive => made_for_attribute && place >= here,
        };
        if below {
            self.push_problem(
                "bad-order",
                at,
                format!("`{name}` is derived from `{parent}`, which is derived after it"),
                "write it above",
            );
        } else if block == DerivedIn::Derive
            && made_for_attribute
            && !data.derive.contains_key(parent)
        {
            let what = format!(
                "`{name}` is derived from `{parent}`, which is derived after it, for a sensitive \
                 attribute"
            );
            self.push_problem(
                "bad-order",
                at,
                what,
                format!("derive `{parent}` under `data.derive`, above `{name}`"),
            );
        }
    }

    fn map(&mut self, at: &str, name: &ColumnName, derivation: &Derivation) {
        let Some(map) = &derivation.map else { return };
        let here = format!("{at}.map");
        if map.is_empty() {
            self.push_problem(
                "empty-list",
                here.clone(),
                format!("`{here}` is empty"),
                "name groups with their values, such as `{White: [White]}`",
            );
        }
        let mut seen: Vec<(&Word, &Word)> = Vec::new();
        for (group, values) in map {
            let list_at = join(&here, group.as_str());
            let words: Vec<&str> = values.iter().map(Word::as_str).collect();
            if !self.check_distinct(&list_at, "value of the column", &words) {
                continue;
            }
            for (i, value) in values.iter().enumerate() {
                if let Some((_, other)) = seen.iter().find(|(v, _)| *v == value) {
                    let what = format!("the value `{value}` belongs to `{other}` and to `{group}`");
                    self.push_problem(
                        "duplicate-value",
                        format!("{list_at}[{i}]"),
                        what,
                        "keep one of them",
                    );
                }
            }
            seen.extend(values.iter().map(|value| (value, group)));
        }
        if let Some(other) = derivation.otherwise.as_ref().filter(|other| map.contains_key(*other))
        {
            let what = format!("`{other}` is a group of the map and the name of all other values");
            self.push_problem(
                "duplicate-value",
                format!("{at}.else"),
                what,
                "give the others another name",
            );
        }
        let continuous = |from: &&ColumnName| self.job.data.features.continuous.contains(from);
        if let Some(from) = derivation.from.as_ref().filter(continuous) {
            let what = format!("`{name}` maps values of `{from}`, which is continuous");
            self.push_problem(
                "bad-value",
                here,
                what,
                "use `bins` or `levels`, or list the column under `ordinal` or `nominal`",
            );
        }
    }

    fn bins(&mut self, at: &str, derivation: &Derivation) {
        if let Some(edges) = &derivation.bins {
            self.edges(&format!("{at}.bins"), edges);
        }
    }

    /// Edges of bins.
    pub(super) fn edges(&mut self, here: &str, edges: &[Finite]) {
        if edges.len() < 2 {
            self.push_problem(
                "bad-value",
                here,
                "fewer than two edges make no bin",
                "name at least two, such as `[17, 30, 45, 62]`",
            );
            return;
        }
        if let Some(i) = (1..edges.len()).find(|&i| edges[i].get() <= edges[i - 1].get()) {
            let what =
                format!("the edge `{}` is not above `{}`", edges[i].get(), edges[i - 1].get());
            self.push_problem(
                "bad-value",
                format!("{here}[{i}]"),
                what,
                "write edges in ascending order, each once",
            );
        }
    }

    fn levels_with_names(&mut self, at: &str, derivation: &Derivation) {
        if let Some(levels) = &derivation.levels {
            self.named_bins(&format!("{at}.levels"), levels);
        }
    }

    /// Bins with their own names.
    pub(super) fn named_bins(&mut self, here: &str, levels: &IndexMap<Word, [Finite; 2]>) {
        if levels.is_empty() {
            self.push_problem(
                "empty-list",
                here,
                format!("`{here}` is empty"),
                "name bins, such as `{PartTime: [0, 25], FullTime: [25, 60]}`",
            );
            return;
        }
        let mut sorted: Vec<(f64, f64, &Word)> =
            levels.iter().map(|(name, [lo, hi])| (lo.get(), hi.get(), name)).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (lo, hi, name) in &sorted {
            if lo >= hi {
                let what = format!("no number is above `{lo}` and at most `{hi}`");
                self.push_problem(
                    "bad-value",
                    join(here, name.as_str()),
                    what,
                    "write the lower edge first",
                );
                return;
            }
        }
        if let Some(pair) = sorted.windows(2).find(|pair| pair[1].0 < pair[0].1) {
            let what = format!(
                "`{}` and `{}` overlap between `{}` and `{}`",
                pair[0].2,
                pair[1].2,
                pair[1].0,
                pair[0].1.min(pair[1].1)
            );
            self.push_problem(
                "bad-value",
                join(here, pair[1].2.as_str()),
                what,
                "start each bin where the previous one ends",
            );
        }
    }

    fn cross(&mut self, block: DerivedIn, at: &str, name: &ColumnName, derivation: &Derivation) {
        let Some(parts) = &derivation.cross else { return };
        let here = format!("{at}.cross");
        if !self.check_distinct(&here, "column to cross", parts) {
            return;
        }
        if parts.len() == 1 {
            self.push_problem(
                "bad-value",
                here,
                format!("`{name}` crosses only one column"),
                "name at least two",
            );
            return;
        }
        for (i, part) in parts.iter().enumerate() {
            let place = format!("{here}[{i}]");
            match block {
                DerivedIn::Derive => {
                    self.parent(block, place.clone(), name, part);
                    let features = &self.job.data.features;
                    let numbers =
                        matches!(features.ordinal.get(part), Some(OrdinalOrder::Numbers(_)));
                    if features.continuous.contains(part) || numbers {
                        let what = format!("`{name}` crosses `{part}`, which is listed as numbers");
                        self.push_problem(
                            "bad-value",
                            place,
                            what,
                            format!("derive bins of `{part}` above `{name}` and cross these"),
                        );
                    }
                }
                DerivedIn::Sensitive => self.crossed_attribute(place, name, part),
            }
        }
    }

    /// A part of a crossed attribute is an attribute above it, or a derived column whose names are
    /// known.
    fn crossed_attribute(&mut self, at: String, name: &ColumnName, part: &ColumnName) {
        let data = &self.job.data;
        let known = data.derive.contains_key(part)
            && data
                .derived()
                .iter()
                .any(|(c, recipe)| c == part && !recipe.declared_names().is_empty());
        if data.attribute_above(name, part).is_some() || known {
            return;
        }
        if part == name {
            self.push_problem(
                "bad-order",
                at,
                format!("`{name}` is crossed with itself"),
                "cross attributes that are declared above it",
            );
        } else if data.sensitive.contains_key(part) {
            self.push_problem(
                "bad-order",
                at,
                format!("`{name}` crosses `{part}`, which is declared after it"),
                format!("write `{part}` above `{name}`"),
            );
        } else {
            let above = data
                .sensitive
                .keys()
                .take_while(|n| *n != name)
                .chain(data.derive.keys())
                .map(ColumnName::as_str);
            let hint = format!(
                "{}; a column is crossed by its groups, so declare it as an attribute first",
                suggest(part.as_str(), "attributes and derived columns above it", above)
            );
            self.push_problem(
                "unknown-name",
                at,
                format!("`{name}` crosses `{part}`, whose groups are not declared"),
                hint,
            );
        }
    }

    /// The groups of an attribute: written or derived, at least two, the reference among them.
    pub(super) fn groups(&mut self, at: &str, name: &ColumnName, attribute: &SensitiveBlock) {
        let data = &self.job.data;
        let list_at = format!("{at}.groups");
        let (written, groups) = (!attribute.groups.is_empty(), data.groups_of(name));
        if !written && self.places.0.contains_key(&list_at) {
            self.check_distinct::<&str>(&list_at, "group to compare with another", &[]);
            return;
        }
        if groups.is_empty() {
            let parts = attribute.cross.iter().flatten().map(|part| data.groups_of(part).len());
            match parts.fold(1_usize, usize::saturating_mul) {
                n if attribute.cross.is_some() && n > MAX_GROUPS => {
                    let what = format!("the cross `{name}` has {n} groups");
                    self.push_problem(
                        "bad-value",
                        at,
                        what,
                        format!("cross fewer groups: at most {MAX_GROUPS} are supported"),
                    );
                }
                _ if attribute.is_made_here() => {}
                _ => self.push_problem(
                    "missing-key",
                    at,
                    format!("`{at}` has no `groups`"),
                    "add `groups: [...]`",
                ),
            }
            return;
        }
        if let Some(i) = groups.iter().position(|group| group.as_str().is_empty()) {
            let place = if written { format!("{list_at}[{i}]") } else { at.to_owned() };
            let hint = "give these rows a named group: `map: {unknown: [\"\"], ...}`";
            self.push_problem(
                "empty-value",
                place,
                format!("a group of `{name}` has an empty name, which means all groups in tables"),
                hint,
            );
            return;
        }
        let words: Vec<&str> = groups.iter().map(Word::as_str).collect();
        let at_groups = if written { list_at.clone() } else { at.to_owned() };
        if words.len() == 1 {
            self.push_problem(
                "too-few-groups",
                at_groups,
                format!("`{name}` has only one group"),
                "name at least two groups: fairness compares them",
            );
            return;
        }
        if !written && let Some(i) = (1..words.len()).find(|&i| words[..i].contains(&words[i])) {
            self.push_problem(
                "duplicate-value",
                at,
                format!("`{name}` has two groups called `{}`", words[i]),
                "give the groups of the parts other names",
            );
            return;
        }
        if written && !self.check_distinct(&list_at, "group to compare with another", &words) {
            return;
        }
        let possible = data.possible_groups(name);
        if !possible.is_empty() {
            for (i, group) in
                attribute.groups.iter().enumerate().filter(|(_, group)| !possible.contains(group))
            {
                let hint = suggest(group.as_str(), "its groups", possible.iter().map(Word::as_str));
                self.push_problem(
                    "unknown-group",
                    format!("{list_at}[{i}]"),
                    format!("`{name}` has no group `{group}`"),
                    hint,
                );
            }
        }
        match data.reference_of(name) {
            None if attribute.cross.is_some() => {
                let hint = format!(
                    "add `reference: GROUP`, one of {}",
                    list(&words[..words.len().min(10)])
                );
                self.push_problem(
                    "missing-key",
                    at,
                    format!("`{at}` has no `reference`, and a part of it has none either"),
                    hint,
                );
            }
            None => self.push_problem(
                "missing-key",
                at,
                format!("`{at}` has no `reference`"),
                "add `reference: GROUP`",
            ),
            Some(reference) if !words.contains(&reference.as_str()) => {
                let what = format!("the reference `{reference}` is not a group of `{name}`");
                self.push_problem(
                    "unknown-group",
                    format!("{at}.reference"),
                    what,
                    suggest(reference.as_str(), "its groups", words),
                );
            }
            Some(_) => {}
        }
    }

    /// Derived columns hold names; listed as ordinal, all of them must be in order.
    fn derived_features(&mut self) {
        let data = &self.job.data;
        let holds_names = |c: &ColumnName| data.is_derived(c) && !data.is_computed(c);
        for (i, column) in
            data.features.continuous.iter().enumerate().filter(|(_, c)| holds_names(c))
        {
            self.holds_names(format!("data.features.continuous[{i}]"), column);
        }
        for (column, order) in data.features.ordinal.iter().filter(|(c, _)| data.is_derived(c)) {
            let at = path(&["data", "features", "ordinal", column.as_str()]);
            let OrdinalOrder::Levels(levels) = order else {
                if holds_names(column) {
                    self.holds_names(at, column);
                }
                continue;
            };
            let names = data
                .derived()
                .into_iter()
                .find(|(name, _)| name == column)
                .map_or_else(Vec::new, |(_, recipe)| recipe.declared_names());
            if names.is_empty() {
                continue;
            }
            for (i, level) in levels.iter().enumerate().filter(|(_, level)| !names.contains(level))
            {
                let hint = suggest(level.as_str(), "its names", names.iter().map(Word::as_str));
                self.push_problem(
                    "unknown-level",
                    format!("{at}[{i}]"),
                    format!("`{column}` is never `{level}`"),
                    hint,
                );
            }
            if let Some(name) = names.iter().find(|name| !levels.contains(name)) {
                let what = format!("`{name}` is missing in the order of `{column}`");
                self.push_problem(
                    "bad-value",
                    at,
                    what,
                    "the order of an ordinal column must name every level",
                );
            }
        }
    }

    fn holds_names(&mut self, at: String, column: &ColumnName) {
        let hint = "list it under `nominal`, or under `ordinal` with its levels from low to high";
        self.push_problem(
            "bad-value",
            at,
            format!("`{column}` is derived and holds names, not numbers"),
            hint,
        );
    }

    fn null_values(&mut self) {
        let data = &self.job.data;
        if !self.is_sound(&["data.missing.null_values"]) {
            return;
        }
        let known = self.columns_read();
        for (column, words) in &data.missing.null_values {
            let at = path(&["data", "missing", "null_values", column.as_str()]);
            if data.is_derived(column) {
                let roots: Vec<ColumnName> = data.roots(column).into_iter().collect();
                let what =
                    format!("`{column}` is derived, and null values are applied before that");
                self.push_problem(
                    "unknown-column",
                    at,
                    what,
                    format!("name the column from which it is derived: {}", list(&roots)),
                );
            } else if !known.contains(column) {
                let what = format!("no part of the job uses the column `{column}`");
                self.push_problem(
                    "unknown-column",
                    at,
                    what,
                    suggest(column.as_str(), "its columns", known.iter().map(ColumnName::as_str)),
                );
            } else {
                let words: Vec<&str> = words.iter().map(Word::as_str).collect();
                self.check_distinct(&at, "value that means missing", &words);
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
        let Some(weight) = data
            .weight
            .as_ref()
            .filter(|_| self.is_sound(&["data.weight", "data.label", "data.row_id", "data.split"]))
        else {
            return;
        };
        if data.is_derived(weight) && !data.is_computed(weight) {
            let hint = "name a column of the rows that holds numbers";
            self.push_problem(
                "bad-value",
                "data.weight",
                format!("the weight `{weight}` is derived and holds names, not numbers"),
                hint,
            );
            return;
        }
        if let Some(role) = self.role_of(weight) {
            self.push_problem(
                "column-twice",
                "data.weight",
                format!("the weight `{weight}` is {role} too"),
                "a column has one role",
            );
        }
    }

    /// What a column is that no feature may be: the label, the row id, the column that splits or a
    /// sensitive column.
    pub(super) fn role_of(&self, column: &ColumnName) -> Option<&'static str> {
        let data = &self.job.data;
        let roles = [
            ("the label", data.label.column().is_some_and(|l| l.column == *column)),
            ("the row id", data.row_id.as_ref() == Some(column)),
            (
                "the column that splits the rows",
                data.split.as_ref().is_some_and(|s| s.column.as_ref() == Some(column)),
            ),
            (
                "a sensitive column",
                data.sensitive.keys().any(|name| data.column_of(name) == column),
            ),
        ];
        roles.into_iter().find(|(_, taken)| *taken).map(|(role, _)| role)
    }

    /// Naive changes nothing but the attribute and the columns that it is mapped from. Where no
    /// model is shown any of these, every counterfactual looks like its original and nothing could
    /// ever switch; where a model sees the number below a binned attribute and not its bins, it
    /// would see no change either.
    pub(super) fn naive_reaches(&mut self, at: &str, set: &CounterfactualSet) {
        let data = &self.job.data;
        if !set.sets_attribute_only() || !self.is_sound(&["data", "models"]) {
            return;
        }
        let changed = |name: &&ColumnName| set.changes(name);
        let run_here = self.job.models.values().any(|model| model.omitted().is_some());
        let mut found: Vec<(ColumnName, String, String)> = Vec::new();
        for name in data.sensitive.keys().filter(changed) {
            let hidden = self.job.models.iter().find_map(|(model, block)| {
                let omit = block.omitted()?;
                let seen: Vec<&ColumnName> =
                    data.inputs().into_iter().filter(|c| !omit.contains(c)).collect();
                hidden_number(data, data.column_of(name), &seen, &mut Vec::new())
                    .map(|(bins, number)| (bins, number, model))
            });
            if let Some((bins, number, model)) = hidden {
                let part = if bins == *name { "it is".to_owned() } else { format!("`{bins}` is") };
                let what = format!(
                    "{part} binned from `{number}`, and the model `{model}` reads `{number}` and \
                     not `{bins}`"
                );
                let hint = format!(
                    "list `{bins}` under `features.nominal` so that a model reads it, `omit` \
                     `{number}` from the model"
                );
                found.push((name.clone(), what, hint));
            } else if let Some(unseen) = data
                .first_unseen(name)
                .filter(|_| run_here && !self.has_problem(&["data.derive", "data.sensitive"]))
            {
                let part = if unseen == *name {
                    "it is".to_owned()
                } else {
                    format!("it is derived from `{unseen}`, which is")
                };
                let sources: Vec<String> =
                    data.roots(&unseen).iter().map(|c| format!("`{c}`")).collect();
                let what = format!(
                    "{part} derived from {}, which is not a feature: no model run here would see a \
                     change",
                    sources.join(", ")
                );
                let add = if is_binned(data, &unseen) {
                    format!("`{unseen}`")
                } else {
                    sources.join(", ")
                };
                found.push((
                    name.clone(),
                    what,
                    format!("list {add} under `features` so that models read it"),
                ));
            }
        }
        for (name, why, hint) in found {
            let what = format!("`naive` cannot set `{name}`: {why}");
            let hint = format!("{hint}, or leave `{name}` out of the set by `sensitive: [...]`");
            let written =
                set.sensitive.as_ref().and_then(|only| only.iter().position(|n| *n == name));
            self.push_problem(
                "cannot-set",
                written.map_or_else(|| at.to_owned(), |i| format!("{at}.sensitive[{i}]")),
                what,
                hint,
            );
        }
    }
}

fn is_binned(data: &DataBlock, column: &ColumnName) -> bool {
    data.derived().iter().any(|(name, recipe)| name == column && recipe.is_one_way())
}

/// The bins below a column, and their number, where the number is seen and no column on the way
/// down is.
fn hidden_number(
    data: &DataBlock,
    column: &ColumnName,
    seen: &[&ColumnName],
    above: &mut Vec<ColumnName>,
) -> Option<(ColumnName, ColumnName)> {
    let (_, recipe) = data.derived().into_iter().find(|(name, _)| name == column)?;
    if above.contains(column) || seen.contains(&column) {
        return None;
    }
    above.push(column.clone());
    let found = match recipe {
        DerivationRecipe::Map { from, .. } => hidden_number(data, &from, seen, above),
        DerivationRecipe::Cross { parts } => {
            parts.iter().find_map(|part| hidden_number(data, &part.column, seen, above))
        }
        DerivationRecipe::Bins { from, .. } => {
            seen.iter().any(|c| data.roots(c).contains(&from)).then(|| (column.clone(), from))
        }
        DerivationRecipe::Sql { parents, .. } => parents
            .into_iter()
            .find(|parent| seen.iter().any(|c| data.roots(c).contains(parent)))
            .map(|parent| (column.clone(), parent)),
    };
    above.pop();
    found
}
