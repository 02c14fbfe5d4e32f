//! Checks the `data` block: the source, the roles of columns, groups, how rows are divided into
//! those that train and those that are audited, generated columns, and words of the page about
//! groups and columns.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use crate::data::prepare::params::{KeepCondition, KeepStep, MissingRule};
use crate::data::rows::split::Stratification;
use crate::data::source::catalog::DATA_SETS;
use crate::data::source::synthetic::{Mechanism, SyntheticBlock};
use crate::data::sql;
use crate::job::blocks::data::ROW_SOURCES;
use crate::job::messages as m;
use crate::job::read::tree::join;
use crate::job::read::word_lists::{all, all_or_none, suggest};
use crate::job::{RowSource, SplitBlock};
use crate::param::{ColumnName, Finite, Name, Word};

use super::names::{LABEL, NamedColumn, ROW_ID, SOURCE, numbered, sensitive_at};
use super::{JobChecker, block_of, path};

impl JobChecker<'_> {
    /// The whole `data` block.
    pub(super) fn rows(&mut self) {
        self.source();
        self.joins();
        self.label();
        self.derived();
        self.attributes();
        self.roles();
        self.missing();
        self.keep();
        self.split();
        self.generated_columns();
        self.persons();
    }

    fn source(&mut self) {
        let rows = &self.job.data.rows;
        let sources = rows.sources();
        let keys: Vec<&str> = sources.iter().map(|(key, _)| *key).collect();
        let [(key, source)] = sources[..] else {
            return self.say("data.rows", m::rows_sources(all(ROW_SOURCES), all_or_none(&keys)));
        };
        if !matches!(key, "parquet" | "csv") {
            let keys = ["wait", "complete"];
            self.refuse_keys("data.rows", &keys, m::arrival_of_no_file);
        }
        match source {
            RowSource::Parquet(_) | RowSource::Stream(_) => {}
            RowSource::Csv(csv) => self.refused("data.rows.csv", csv.problem()),
            RowSource::Catalog(rows) => {
                let known = DATA_SETS.iter().map(|set| set.name);
                self.check_known("data set", "data.rows.catalog.name", &rows.name, known);
            }
            RowSource::Synthetic(synthetic) => self.synthetic(synthetic),
            RowSource::Command(program) => {
                self.row_program("data.rows.command", program);
                let watches = !program.watch.is_empty();
                self.say("data.rows.command.watch", watches.then(m::row_program_watch));
            }
        }
    }

    fn synthetic(&mut self, synthetic: &SyntheticBlock) {
        for (i, (name, mechanism)) in synthetic.columns.iter().enumerate() {
            let at = path(&["data", "rows", "synthetic", "columns", name.as_str()]);
            let (key, effects) = match mechanism {
                Mechanism::Bernoulli(_) => continue,
                Mechanism::Levels(levels) => {
                    let (at, sum) = (join(&at, "levels"), levels.values().map(|p| p.get()).sum());
                    self.say(&at, is_off(sum).then(|| m::probabilities_sum(&at, rounded(sum))));
                    continue;
                }
                Mechanism::Linear(linear) => ("linear", &linear.effects),
                Mechanism::Logit(logit) => ("logit", &logit.effects),
            };
            self.parents(&join(&join(&at, key), "effects"), i, effects, &synthetic.columns);
        }
    }

    /// What the column at a position depends on.
    fn parents(
        &mut self,
        at: &str,
        position: usize,
        effects: &IndexMap<String, Finite>,
        columns: &IndexMap<ColumnName, Mechanism>,
    ) {
        let Some((child, _)) = columns.get_index(position) else { return };
        for parent in effects.keys() {
            let split = columns.iter().enumerate().find_map(|(i, (name, m))| {
                let rest = parent.strip_prefix(name.as_str())?;
                let level = rest.strip_prefix('=');
                (rest.is_empty() || level.is_some()).then_some((i, name, m, level))
            });
            let said = match split {
                None => {
                    let word = parent.split('=').next().unwrap_or(parent);
                    let near = suggest(word, "columns above it", columns.keys().take(position));
                    m::effect_unknown(child, parent, near)
                }
                Some((i, ..)) if i == position => m::effect_of_itself(child),
                Some((i, name, ..)) if i > position => m::effect_below(child, name),
                Some((_, name, Mechanism::Levels(levels), Some(level))) => {
                    let unknown = |near: String| m::level_unknown(name, level, near);
                    self.one_of(join(at, parent), level, ("its levels", levels.keys()), unknown);
                    continue;
                }
                Some((_, name, Mechanism::Levels(levels), None)) => {
                    let example = levels.keys().next();
                    let example = example.map(|l| format!("\"{name}={l}\": 1.0"));
                    m::effect_without_level(name, example.unwrap_or_default())
                }
                Some((_, name, _, Some(_))) => m::effect_with_level(name),
                Some((_, _, _, None)) => continue,
            };
            self.say(join(at, parent), said);
        }
    }

    fn joins(&mut self) {
        let data = &self.job.data;
        let mut joined: Vec<(&ColumnName, &Name)> = Vec::new();
        for (name, join) in &data.join {
            let at = path(&["data", "join", name.as_str()]);
            match (&join.parquet, &join.csv) {
                (Some(_), None) => {}
                (None, Some(csv)) => self.refused(&format!("{at}.csv"), csv.problem()),
                (Some(_), Some(_)) => self.say(&at, m::join_sources(&at, "both")),
                (None, None) => self.say(&at, m::join_sources(&at, "none")),
            }
            let is_made = data.is_derived(&join.on) || data.is_joined(&join.on);
            self.say(format!("{at}.on"), is_made.then(|| m::join_key_derived(&join.on)));
            for (place, column) in numbered(format!("{at}.columns"), &join.columns) {
                let other = joined.iter().find(|(known, _)| *known == column);
                let said = if *column == join.on {
                    m::joined_key(column)
                } else if let Some((_, other)) = other {
                    m::joined_twice(column, other)
                } else if data.row_id.as_ref() == Some(column) {
                    m::joined_row_id(column)
                } else if data.is_derived(column) {
                    m::joined_derived(column)
                } else {
                    joined.push((column, name));
                    continue;
                };
                self.say(place, said);
            }
        }
    }

    fn label(&mut self) {
        let Some(label) = self.job.data.label.column() else { return };
        self.say("data.favourable", self.job.data.favourable.map(|_| m::favourable_twice()));
        self.label_classes(label);
        let negative = label.negative.iter().flatten();
        for (place, word) in numbered("data.label.negative".to_owned(), negative) {
            self.say(place, label.positive.contains(word).then(|| m::label_both_sides(word)));
        }
    }

    fn attributes(&mut self) {
        for (name, attribute) in &self.job.data.sensitive {
            let at = path(&["data", "sensitive", name.as_str()]);
            self.made_here(&at, name, attribute);
            self.groups(&at, name, attribute);
            let data = &self.job.data;
            let column = data.column_of(name);
            let mut above = data.sensitive.keys().take_while(|other| *other != name);
            let other = above.find(|other| data.column_of(other) == column);
            self.say(&at, other.map(|other| m::attributes_of_one_column(name, other, column)));
            let roles = [(LABEL, data.label.named_column()), (ROW_ID, data.row_id.as_ref())];
            for (role, taken) in roles.into_iter().filter_map(|(role, c)| Some((role, c?))) {
                let said = if taken == column {
                    Some(m::role_twice("sensitive column", column, role))
                } else {
                    let is_root = data.roots(column).contains(taken);
                    is_root.then(|| m::sensitive_of_role(name, taken, role))
                };
                self.say(&at, said);
            }
        }
    }

    /// Every column has one role.
    fn roles(&mut self) {
        let data = &self.job.data;
        let named = data.named_columns();
        let listed = named.iter().filter_map(|named| Some((named.kind()?, named)));
        let listed: Vec<(&str, &NamedColumn)> = listed.collect();
        for (i, (kind, NamedColumn { at, column, .. })) in listed.iter().enumerate() {
            if let Some((earlier, _)) =
                listed[..i].iter().find(|(_, other)| other.column == *column)
            {
                let said = if earlier == kind {
                    m::feature_twice(column, kind)
                } else {
                    m::feature_of_two_kinds(column, earlier, kind)
                };
                self.say(at, said);
                continue;
            }
            let is_feature = *kind != "ignore";
            let attribute = data.sensitive.keys().find(|name| data.column_of(name) == column);
            // A derived column is a feature only where it is listed.
            let may_be_listed = is_feature && data.is_derived(column);
            let own = attribute.filter(|_| !may_be_listed && self.is_sound(&["data.sensitive"]));
            self.say(
                at,
                own.map(|attribute| match is_feature {
                    true => m::sensitive_listed(column, attribute),
                    false => m::sensitive_ignored(column, attribute),
                }),
            );
            if own.is_some() || !is_feature {
                continue;
            }
            let label = data.label.named_column().filter(|label| *label != column);
            let below = label.filter(|label| data.roots(column).contains(*label));
            self.say(at, below.map(|label| m::feature_of_label(column, label)));
            let mut taken = named.iter().filter(|other| other.excludes_features());
            let is_known = |at: &str| self.is_sound(&[block_of(at)]);
            let taken = taken.find(|other| other.column == *column && is_known(&other.at));
            match taken.map(|taken| taken.role) {
                Some(LABEL) => self.say(at, m::feature_is_label(column, LABEL)),
                Some(role) => self.say(at, m::feature_role(column, role)),
                None => {}
            }
        }
        let is_column = |name: &ColumnName| {
            listed.iter().any(|(_, listed)| listed.column == *name)
                || data.sensitive.keys().any(|s| s == name || data.column_of(s) == name)
        };
        for (name, group) in &data.features.onehot {
            let at = path(&["data", "features", "onehot", name.as_str()]);
            let how_many = if group.is_empty() { "no" } else { "one" };
            self.say(&at, (group.len() < 2).then(|| m::onehot_small(name, how_many)));
            self.say(&at, is_column(name).then(|| m::onehot_name(name)));
            for (place, column) in numbered(at, group) {
                self.say(place, data.is_derived(column).then(|| m::onehot_derived(column)));
            }
        }
    }

    fn missing(&mut self) {
        let missing = &self.job.data.missing;
        for (kind, rule) in [("continuous", missing.continuous), ("ordinal", missing.ordinal)] {
            let is_level = rule == MissingRule::Level;
            self.say(format!("data.missing.{kind}"), is_level.then(|| m::missing_level(kind)));
        }
    }

    fn keep(&mut self) {
        for (at, step) in numbered("data.keep".to_owned(), &self.job.data.keep) {
            let conditions = match step {
                KeepStep::Columns(conditions) => conditions,
                KeepStep::Sql(step) => {
                    if let Err(problem) = sql::parse(&step.sql) {
                        self.bad_sql(&join(&at, "sql"), &problem);
                    }
                    continue;
                }
            };
            self.say(&at, conditions.is_empty().then(m::filter_empty));
            for (column, condition) in conditions {
                let KeepCondition::Between([low, high]) = condition else { continue };
                let (low, high) = (low.get(), high.get());
                let here = join(&join(&at, column.as_str()), "between");
                self.say(here, (low > high).then(|| m::between_order(low, high)));
            }
        }
    }

    /// Generated rows have the columns that the job generates, so roles can be checked without
    /// data.
    fn generated_columns(&mut self) {
        let data = &self.job.data;
        let Some(synthetic) = &data.rows.synthetic else { return };
        let mut named = data.named_columns();
        named.retain(|named| named.kind() != Some("ignore"));
        let is_made = |column: &ColumnName| data.is_derived(column) || data.is_joined(column);
        let strata = self.job.strata().map(|column| NamedColumn {
            at: "metrics.clarify.strata".to_owned(),
            role: SOURCE,
            column: column.clone(),
        });
        let columns = ("generated columns", synthetic.columns.keys());
        for NamedColumn { at, column, .. } in named.into_iter().chain(strata) {
            if !is_made(&column) {
                let unknown = |near: String| m::not_generated(&column, near);
                self.one_of(at, &column, columns.clone(), unknown);
            }
        }
        for (name, attribute) in &data.sensitive {
            let levels: Vec<&str> = match synthetic.columns.get(data.column_of(name)) {
                _ if data.is_derived(data.column_of(name)) => continue,
                Some(Mechanism::Levels(levels)) => levels.keys().map(Word::as_str).collect(),
                Some(Mechanism::Bernoulli(_) | Mechanism::Logit(_)) => vec!["0", "1"],
                _ => continue,
            };
            for (at, group) in numbered(join(&sensitive_at(name), "groups"), &attribute.groups) {
                let unknown = |near: String| m::group_never_generated(group, name, near);
                self.one_of(at, group, ("generated levels", &levels), unknown);
            }
        }
    }

    pub(super) fn split(&mut self) {
        let Some(split) = &self.job.data.split else { return };
        let (at, strata) = ("data.split", "data.split.stratify");
        let found = self.written(at, &["column", "share", "folds"]);
        let &[form] = found.as_slice() else {
            return self.say(at, m::split_forms(all_or_none(&found)));
        };
        if split.column.is_some() {
            self.column_split(split);
        } else {
            self.refuse_keys(at, &["train", "audit"], |key| m::split_list_alone(key, form));
        }
        if let Some(share) = split.share {
            let sum = share.train.get() + share.audit.get();
            if is_off(sum) {
                self.say("data.split.share", m::shares_sum(rounded(sum)));
            } else {
                let is_nobody = share.audit.get() == 0.0;
                self.say("data.split.share.audit", is_nobody.then(m::nobody_audited));
            }
        }
        let by_hash = !split.by.is_rank();
        let draws = split.share.is_some();
        self.say("data.split.by", (by_hash && !draws).then(m::hash_without_share));
        let has_strata = split.stratify.is_some_and(|by| by != Stratification::None);
        self.say(strata, (by_hash && draws && has_strata).then(m::strata_of_hash));
        let lacks_label = has_strata && split.column.is_none() && self.lacks_label();
        self.say(strata, lacks_label.then(m::strata_no_label));
    }

    fn column_split(&mut self, split: &SplitBlock) {
        for (key, values) in [("train", &split.train), ("audit", &split.audit)] {
            self.say("data.split", values.is_none().then(|| m::split_list_missing(key)));
        }
        if let (Some(train), Some(audit)) = (&split.train, &split.audit)
            && let Some(i) = audit.iter().position(|value| train.contains(value))
        {
            self.say(format!("data.split.audit[{i}]"), m::split_both_sides(&audit[i]));
        }
        self.say("data.split.stratify", split.stratify.map(|_| m::strata_of_column()));
    }

    /// `data.sensitive.NAME.words` and `data.names`.
    pub(super) fn words(&mut self) {
        let data = &self.job.data;
        for (name, attribute) in &data.sensitive {
            let groups = data.groups_of(name);
            for (i, (group, words)) in attribute.words.iter().enumerate() {
                let at = join(&join(&sensitive_at(name), "words"), group.as_str());
                let is_twice = attribute.words.values().take(i).any(|earlier| earlier == words);
                self.say(&at, is_twice.then(|| m::words_twice(name, words)));
                // For bins without a list of groups only the data determine them.
                if !groups.is_empty() {
                    self.check_known("group", at, group, &groups);
                }
            }
        }
        let mut named = data.named_columns();
        named.retain(NamedColumn::has_values);
        let names = data.sensitive.keys().chain(named.iter().map(|named| &named.column));
        let names = names.chain(data.features.onehot.keys());
        // An attribute and its column mostly share their name.
        let mut names_so_far = BTreeSet::new();
        let known: Vec<_> = names.filter(|name| names_so_far.insert(name.as_str())).collect();
        for column in data.names.keys() {
            let at = path(&["data", "names", column.as_str()]);
            self.check_known("column", at, column, &known);
        }
    }
}

/// Whether a sum of shares is not 1.
pub(super) fn is_off(sum: f64) -> bool {
    (sum - 1.0).abs() > 1e-9
}

/// A sum as people read it: without the last digits, which come from rounding.
pub(super) fn rounded(sum: f64) -> f64 {
    (sum * 1e6).round() / 1e6
}
