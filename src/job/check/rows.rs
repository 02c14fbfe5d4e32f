//! Checks the `data` block: the source, the roles of columns, groups, splits, generated columns.

use crate::job::messages as m;
use indexmap::IndexMap;

use crate::data::prepare::params::{KeepCondition, KeepStep, MissingRule};
use crate::data::source::catalog::DATA_SETS;
use crate::data::source::csv_import::CsvBlock;
use crate::data::source::synthetic::{Mechanism, SyntheticBlock};
use crate::data::sql;
use crate::job::RowSource;
use crate::job::blocks::data::ROW_SOURCES;
use crate::job::read::nearest::{all, all_or_none, suggest};
use crate::job::read::tree::join;
use crate::param::{ColumnName, Finite, Fraction, Name, Word};

use super::names::{LABEL, NamedColumn, ROW_ID, SOURCE, sensitive_at};
use super::{JobChecker, block_of, path};

/// How far a sum of shares may be from 1.
pub(super) const SUM_SLACK: f64 = 1e-9;

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
            RowSource::Csv(csv) => self.csv("data.rows.csv", csv),
            RowSource::Catalog(rows) => {
                let known = DATA_SETS.iter().map(|set| set.name);
                self.check_known("data set", "data.rows.catalog.name", &rows.name, known);
            }
            RowSource::Synthetic(synthetic) => self.synthetic(synthetic),
            RowSource::Command(program) => {
                self.row_program("data.rows.command", program);
                if !program.watch.is_empty() {
                    self.say("data.rows.command.watch", m::row_program_watch());
                }
            }
        }
    }

    fn synthetic(&mut self, synthetic: &SyntheticBlock) {
        let columns = &synthetic.columns;
        for (i, (name, mechanism)) in columns.iter().enumerate() {
            let at = path(&["data", "rows", "synthetic", "columns", name.as_str()]);
            match mechanism {
                Mechanism::Bernoulli(_) => {}
                Mechanism::Levels(levels) => self.levels(&join(&at, "levels"), levels),
                Mechanism::Linear(linear) => {
                    self.parents(&format!("{at}.linear.effects"), i, &linear.effects, columns);
                }
                Mechanism::Logit(logit) => {
                    self.parents(&format!("{at}.logit.effects"), i, &logit.effects, columns);
                }
            }
        }
    }

    fn levels(&mut self, at: &str, levels: &IndexMap<Word, Fraction>) {
        let sum: f64 = levels.values().map(|p| p.get()).sum();
        if (sum - 1.0).abs() > SUM_SLACK {
            self.say(at, m::probabilities_sum(at, rounded(sum)));
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
                    if levels.keys().any(|known| known.as_str() == level) {
                        continue;
                    }
                    m::effect_level_unknown(
                        name,
                        level,
                        suggest(level, "its levels", levels.keys()),
                    )
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
                (None, Some(csv)) => self.csv(&format!("{at}.csv"), csv),
                (parquet, _) => {
                    let found = if parquet.is_some() { "both" } else { "none" };
                    self.say(at.as_str(), m::join_sources(&at, found));
                }
            }
            if data.is_derived(&join.on) || data.is_joined(&join.on) {
                self.say(format!("{at}.on"), m::join_key_derived(&join.on));
            }
            let here = format!("{at}.columns");
            for (i, column) in join.columns.iter().enumerate() {
                let place = format!("{here}[{i}]");
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

    fn csv(&mut self, at: &str, csv: &CsvBlock) {
        if let Some(problem) = csv.problem() {
            self.say(join(at, problem.key), m::csv_key(problem.what, problem.hint));
        }
    }

    fn label(&mut self) {
        let Some(label) = self.job.data.label.column() else { return };
        if self.job.data.favourable.is_some() {
            self.say("data.favourable", m::favourable_twice());
        }
        self.label_classes(label);
        for (i, word) in label.negative.iter().flatten().enumerate() {
            if label.positive.contains(word) {
                self.say(format!("data.label.negative[{i}]"), m::label_both_sides(word));
            }
        }
    }

    fn attributes(&mut self) {
        for (name, attribute) in &self.job.data.sensitive {
            let at = path(&["data", "sensitive", name.as_str()]);
            self.made_here(&at, name, attribute);
            self.groups(&at, name, attribute);
            let column = self.job.data.column_of(name);
            let other = self
                .job
                .data
                .sensitive
                .keys()
                .take_while(|n| *n != name)
                .find(|n| self.job.data.column_of(n) == column);
            if let Some(other) = other {
                self.say(at.clone(), m::attributes_of_one_column(name, other, column));
            }
            let roles = [
                (LABEL, self.job.data.label.named_column()),
                (ROW_ID, self.job.data.row_id.as_ref()),
            ];
            for (role, taken) in roles {
                let Some(taken) = taken else { continue };
                if taken == column {
                    self.say(at.clone(), m::role_twice("sensitive column", column, role));
                } else if self.job.data.roots(column).contains(taken) {
                    self.say(at.clone(), m::sensitive_of_role(name, taken, role));
                }
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
            match attribute.filter(|_| !may_be_listed && self.is_sound(&["data.sensitive"])) {
                Some(attribute) if is_feature => {
                    self.say(at, m::sensitive_listed(column, attribute));
                    continue;
                }
                Some(attribute) => {
                    self.say(at, m::sensitive_ignored(column, attribute));
                    continue;
                }
                None if is_feature => {}
                None => continue,
            }
            let label = data.label.named_column();
            let below =
                label.filter(|label| *label != column && data.roots(column).contains(*label));
            if let Some(label) = below {
                self.say(at, m::feature_of_label(column, label));
            }
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
                || data.sensitive.keys().any(|of| of == name || data.column_of(of) == name)
        };
        for (name, group) in &data.features.onehot {
            let at = path(&["data", "features", "onehot", name.as_str()]);
            if group.len() < 2 {
                let how_many = if group.is_empty() { "no" } else { "one" };
                self.say(&at, m::onehot_small(name, how_many));
            }
            if is_column(name) {
                self.say(&at, m::onehot_name(name));
            }
            let derived = group.iter().enumerate().filter(|(_, column)| data.is_derived(column));
            for (i, column) in derived {
                self.say(format!("{at}[{i}]"), m::onehot_derived(column));
            }
        }
    }

    fn missing(&mut self) {
        let missing = &self.job.data.missing;
        for (kind, rule) in [("continuous", missing.continuous), ("ordinal", missing.ordinal)] {
            if rule == MissingRule::Level {
                self.say(format!("data.missing.{kind}"), m::missing_level(kind));
            }
        }
    }

    fn keep(&mut self) {
        for (i, step) in self.job.data.keep.iter().enumerate() {
            let at = format!("data.keep[{i}]");
            let conditions = match step {
                KeepStep::Columns(conditions) => conditions,
                KeepStep::Sql(step) => {
                    if let Err(problem) = sql::parse(&step.sql) {
                        self.bad_sql(&format!("{at}.sql"), &problem);
                    }
                    continue;
                }
            };
            if conditions.is_empty() {
                self.say(at.clone(), m::filter_empty());
            }
            for (column, condition) in conditions {
                if let KeepCondition::Between([low, high]) = condition
                    && low.get() > high.get()
                {
                    let here = join(&join(&at, column.as_str()), "between");
                    self.say(here, m::between_order(low.get(), high.get()));
                }
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
        for NamedColumn { at, column, .. } in named.into_iter().chain(strata) {
            if !synthetic.columns.contains_key(&column) && !is_made(&column) {
                let near = suggest(&column, "generated columns", synthetic.columns.keys());
                self.say(at, m::not_generated(column, near));
            }
        }
        for (name, attribute) in &data.sensitive {
            let levels: Vec<&str> = match synthetic.columns.get(data.column_of(name)) {
                _ if data.is_derived(data.column_of(name)) => continue,
                Some(Mechanism::Levels(levels)) => levels.keys().map(Word::as_str).collect(),
                Some(Mechanism::Bernoulli(_) | Mechanism::Logit(_)) => vec!["0", "1"],
                _ => continue,
            };
            for (i, group) in attribute.groups.iter().enumerate() {
                if !levels.contains(&group.as_str()) {
                    let near = suggest(group, "generated levels", &levels);
                    let at = format!("{}.groups[{i}]", sensitive_at(name));
                    self.say(at, m::group_never_generated(group, name, near));
                }
            }
        }
    }
}

/// A sum for people: without the last digits that come from adding.
pub(super) fn rounded(sum: f64) -> f64 {
    (sum * 1e6).round() / 1e6
}
