//! Checks the `data` block: the source, the roles of columns, groups, splits, generated columns.

use crate::job::messages as m;
use indexmap::IndexMap;

use crate::data::prepare::derive::DerivationRecipe;
use crate::data::prepare::params::{KeepCondition, KeepStep, MissingRule, OrdinalOrder};
use crate::data::source::csv_import::CsvBlock;
use crate::data::source::found_files::Arrival;
use crate::data::source::synthetic::{Mechanism, MechanismNoise, SyntheticBlock};
use crate::data::sql;
use crate::job::blocks::data::ROW_SOURCES;
use crate::job::read::nearest::{all, suggest};
use crate::job::read::tree::join;
use crate::job::{LabelRole, ParquetRows, RowSource};
use crate::param::{ColumnName, Finite, Fraction, Name, Word};

use super::{JobChecker, path};

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
        if !self.is_sound(&["data.rows"]) {
            return;
        }
        let rows = &self.job.data.rows;
        let sources = rows.sources();
        let [(key, source)] = sources[..] else {
            let found: Vec<&str> = sources.iter().map(|(key, _)| *key).collect();
            let found = if found.is_empty() { "none".to_owned() } else { all(&found) };
            return self.say("data.rows", m::rows_sources(all(ROW_SOURCES), found));
        };
        self.arrival(&["data", "rows"], rows.arrival(), matches!(key, "parquet" | "csv"));
        match source {
            RowSource::Parquet(ParquetRows::Pattern(file)) if file.is_empty() => {
                self.empty_path("data.rows.parquet")
            }
            RowSource::Parquet(ParquetRows::List(list)) if list.files.is_empty() => {
                self.empty_path("data.rows.parquet.files")
            }
            RowSource::Parquet(_) => {}
            RowSource::Stream(name) if name.trim().is_empty() => {
                self.say("data.rows.stream", m::stream_empty())
            }
            RowSource::Stream(_) => {}
            RowSource::Csv(csv) => self.csv("data.rows.csv", csv),
            RowSource::Catalog(rows) => {
                let at = if self.places.0.contains_key("data.rows.catalog.name") {
                    "data.rows.catalog.name"
                } else {
                    "data.rows.catalog"
                };
                self.check_known(
                    "data set",
                    at.to_owned(),
                    &rows.name,
                    self.catalog.data_sets.iter().copied(),
                    "unknown-data-set",
                );
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

    /// How files say that they are complete.
    pub(super) fn arrival(&mut self, at: &[&str], arrival: Arrival<'_>, of_files: bool) {
        let at = |key: &str| path(&[at, &[key]].concat());
        if let Some(name) = arrival.complete.filter(|name| name.is_empty()) {
            self.say(at("complete"), m::complete_empty(name));
        }
        let keys = [("wait", arrival.wait), ("complete", arrival.complete.is_some())];
        for (key, _) in keys.into_iter().filter(|(_, is_given)| *is_given && !of_files) {
            self.say(at(key), m::arrival_of_no_file(key));
        }
    }

    pub(super) fn empty_path(&mut self, at: &str) {
        self.say(at, m::file_empty(at));
    }

    fn synthetic(&mut self, synthetic: &SyntheticBlock) {
        let columns = &synthetic.columns;
        if columns.is_empty() {
            self.say("data.rows.synthetic.columns", m::synthetic_empty());
        }
        for (i, (name, mechanism)) in columns.iter().enumerate() {
            let at = path(&["data", "rows", "synthetic", "columns", name.as_str()]);
            match mechanism {
                Mechanism::Bernoulli(_) => {}
                Mechanism::Levels(levels) => self.levels(&join(&at, "levels"), levels),
                Mechanism::Linear(linear) => {
                    let MechanismNoise::Normal(noise) = &linear.noise;
                    if noise.sd.get() < 0.0 {
                        self.say(
                            format!("{at}.linear.noise.normal.sd"),
                            m::noise_below_zero(noise.sd.get()),
                        );
                    }
                    self.parents(
                        &format!("{at}.linear.effects"),
                        name,
                        &linear.effects,
                        columns,
                        i,
                    );
                }
                Mechanism::Logit(logit) => {
                    self.parents(&format!("{at}.logit.effects"), name, &logit.effects, columns, i)
                }
            }
        }
    }

    fn levels(&mut self, at: &str, levels: &IndexMap<Word, Fraction>) {
        let sum: f64 = levels.values().map(|p| p.get()).sum();
        if levels.is_empty() {
            self.say(at, m::probabilities_empty(at));
        } else if (sum - 1.0).abs() > SUM_SLACK {
            self.say(at, m::probabilities_sum(at, rounded(sum)));
        }
    }

    fn parents(
        &mut self,
        at: &str,
        child: &ColumnName,
        effects: &IndexMap<String, Finite>,
        columns: &IndexMap<ColumnName, Mechanism>,
        position: usize,
    ) {
        for parent in effects.keys() {
            let here = join(at, parent);
            let split = columns.iter().enumerate().find_map(|(i, (name, m))| {
                let rest = parent.strip_prefix(name.as_str())?;
                let level = rest.strip_prefix('=');
                (rest.is_empty() || level.is_some()).then_some((i, name, m, level))
            });
            let Some((i, name, mechanism, level)) = split else {
                let word = parent.split('=').next().unwrap_or(parent);
                self.say(
                    here,
                    m::effect_unknown(
                        child,
                        parent,
                        suggest(
                            word,
                            "columns above it",
                            columns.keys().take(position).map(ColumnName::as_str),
                        ),
                    ),
                );
                continue;
            };
            if i >= position {
                let said = if name == child {
                    m::effect_of_itself(child)
                } else {
                    m::effect_below(child, name)
                };
                self.say(here, said);
                continue;
            }
            match (mechanism, level) {
                (Mechanism::Levels(levels), Some(level))
                    if levels.keys().any(|l| l.as_str() == level) => {}
                (Mechanism::Levels(levels), Some(level)) => {
                    self.say(
                        here,
                        m::effect_level_unknown(
                            name,
                            level,
                            suggest(level, "its levels", levels.keys().map(Word::as_str)),
                        ),
                    );
                }
                (Mechanism::Levels(levels), None) => {
                    let example = levels
                        .keys()
                        .next()
                        .map_or_else(String::new, |l| format!("\"{name}={l}\": 1.0"));
                    self.say(here, m::effect_without_level(name, example));
                }
                (_, Some(_)) => self.say(here, m::effect_with_level(name)),
                (_, None) => {}
            }
        }
    }

    fn joins(&mut self) {
        if !self.is_sound(&["data.join"]) {
            return;
        }
        let data = &self.job.data;
        let mut joined: Vec<(&ColumnName, &Name)> = Vec::new();
        for (name, join) in &data.join {
            let at = path(&["data", "join", name.as_str()]);
            self.arrival(&["data", "join", name.as_str()], join.arrival(), true);
            match (&join.parquet, &join.csv) {
                (Some(file), None) if file.is_empty() => self.empty_path(&format!("{at}.parquet")),
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
            if !self.check_distinct(&here, "column that the rows get", &join.columns) {
                continue;
            }
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
        if csv.path.is_empty() {
            self.empty_path(&format!("{at}.path"));
        }
        if let Some(problem) = csv.problem() {
            let key = format!("{at}.{}", problem.key);
            self.say(&key, m::csv_key(problem.what, problem.hint));
        }
    }

    fn label(&mut self) {
        if self.job.data.favourable.is_some()
            && self.is_sound(&["data.favourable", "data.label"])
            && self.job.data.label.column().is_some()
        {
            self.say("data.favourable", m::favourable_twice());
        }
        if self.is_sound(&["data.label"])
            && let Some(label) = self.job.data.label.column()
        {
            let words: Vec<&str> = label.positive.iter().map(Word::as_str).collect();
            self.check_distinct("data.label.positive", "value that counts as positive", &words);
            self.label_classes(label);
            let negative: Vec<&str> = label.negative.iter().flatten().map(Word::as_str).collect();
            if label.negative.is_some()
                && self.check_distinct(
                    "data.label.negative",
                    "value that counts as negative",
                    &negative,
                )
            {
                for (i, word) in
                    negative.iter().enumerate().filter(|(_, word)| words.contains(word))
                {
                    let said = m::label_both_sides(word);
                    self.say(format!("data.label.negative[{i}]"), said);
                }
            }
        }
    }

    fn attributes(&mut self) {
        if !self.is_sound(&["data.sensitive"]) {
            return;
        }
        if self.job.data.sensitive.is_empty() {
            self.say("data.sensitive", m::attributes_none());
        }
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
                ("the label", "data.label", self.job.data.label.named_column()),
                ("the row id", "data.row_id", self.job.data.row_id.as_ref()),
            ];
            for (role, block, taken) in roles {
                let Some(taken) = taken.filter(|_| self.is_sound(&[block])) else { continue };
                if taken == column {
                    self.say(at.clone(), m::sensitive_role(column, role));
                } else if self.job.data.roots(column).contains(taken) {
                    self.say(at.clone(), m::sensitive_of_role(name, taken, role));
                }
            }
        }
    }

    /// Every column has one role.
    fn roles(&mut self) {
        let data = &self.job.data;
        if !self.is_sound(&["data.features"]) {
            return;
        }
        let features = &data.features;
        let sensitive: Vec<(&ColumnName, &ColumnName)> =
            data.sensitive.keys().map(|n| (data.column_of(n), n)).collect();
        let mut columns: Vec<(String, &str, &ColumnName)> = Vec::new();
        columns.extend(
            features
                .continuous
                .iter()
                .enumerate()
                .map(|(i, c)| (format!("data.features.continuous[{i}]"), "continuous", c)),
        );
        columns.extend(
            features
                .ordinal
                .keys()
                .map(|c| (path(&["data", "features", "ordinal", c.as_str()]), "ordinal", c)),
        );
        columns.extend(
            features
                .nominal
                .iter()
                .enumerate()
                .map(|(i, c)| (format!("data.features.nominal[{i}]"), "nominal", c)),
        );
        for (name, group) in &features.onehot {
            let at = path(&["data", "features", "onehot", name.as_str()]);
            columns
                .extend(group.iter().enumerate().map(|(i, c)| (format!("{at}[{i}]"), "onehot", c)));
        }
        columns.extend(
            features
                .ignore
                .iter()
                .enumerate()
                .map(|(i, c)| (format!("data.features.ignore[{i}]"), "ignore", c)),
        );
        for (i, (at, kind, column)) in columns.iter().enumerate() {
            if let Some((_, earlier, _)) = columns[..i].iter().find(|(_, _, c)| c == column) {
                let said = if earlier == kind {
                    m::feature_twice(column, kind)
                } else {
                    m::feature_of_two_kinds(column, earlier, kind)
                };
                self.say(at.clone(), said);
                continue;
            }
            // A derived column is a feature only where it is listed.
            let may_be_listed = *kind != "ignore" && data.is_derived(column);
            let attribute = sensitive
                .iter()
                .find(|(c, _)| c == column)
                .filter(|_| !may_be_listed && self.is_sound(&["data.sensitive"]));
            if let Some((_, attribute)) = attribute {
                let said = if *kind == "ignore" {
                    m::sensitive_ignored(column, attribute)
                } else {
                    m::sensitive_listed(column, attribute)
                };
                self.say(at.clone(), said);
                continue;
            }
            let roles = [
                ("the label", "data.label", data.label.named_column()),
                ("the row id", "data.row_id", data.row_id.as_ref()),
                (
                    "the column that splits the rows",
                    "data.split",
                    data.split.as_ref().and_then(|s| s.column.as_ref()),
                ),
                ("the weight", "data.weight", data.weight.as_ref()),
                ("the person", "data.person", data.person.as_ref()),
            ];
            let label = roles[0].2.filter(|label| {
                *kind != "ignore" && *label != *column && data.roots(column).contains(*label)
            });
            if let Some(label) =
                label.filter(|_| self.is_sound(&["data.label", "data.derive", "data.sensitive"]))
            {
                self.say(at.clone(), m::feature_of_label(column, label));
            }
            if *kind != "ignore"
                && let Some((role, _, _)) =
                    roles.iter().find(|(_, block, c)| *c == Some(column) && self.is_sound(&[block]))
            {
                self.say(
                    at.clone(),
                    if *role == "the label" {
                        m::feature_is_label(column, role)
                    } else {
                        m::feature_role(column, role)
                    },
                );
            }
        }
        for (name, group) in &features.onehot {
            let at = path(&["data", "features", "onehot", name.as_str()]);
            if group.len() < 2 {
                self.say(
                    at.clone(),
                    m::onehot_small(name, if group.is_empty() { "no" } else { "one" }),
                );
            }
            if columns.iter().any(|(.., column)| *column == name)
                || sensitive.iter().any(|(column, attribute)| *column == name || *attribute == name)
            {
                self.say(at.clone(), m::onehot_name(name));
            }
            for (i, column) in
                group.iter().enumerate().filter(|(_, column)| data.is_derived(column))
            {
                self.say(format!("{at}[{i}]"), m::onehot_derived(column));
            }
        }
        for (column, order) in &features.ordinal {
            if let OrdinalOrder::Levels(levels) = order {
                let words: Vec<&str> = levels.iter().map(Word::as_str).collect();
                self.check_distinct(
                    &path(&["data", "features", "ordinal", column.as_str()]),
                    "level, from low to high",
                    &words,
                );
            }
        }
    }

    fn missing(&mut self) {
        let missing = &self.job.data.missing;
        for (kind, rule) in [("continuous", missing.continuous), ("ordinal", missing.ordinal)] {
            let at = format!("data.missing.{kind}");
            if rule == MissingRule::Level && self.is_sound(&[&at]) {
                self.say(at, m::missing_level(kind));
            }
        }
    }

    fn keep(&mut self) {
        for (i, filter) in self.job.data.keep.iter().enumerate() {
            let at = format!("data.keep[{i}]");
            if !self.is_sound(&[&at]) {
                continue;
            }
            let filter = match filter {
                KeepStep::Columns(filter) => filter,
                KeepStep::Sql(step) => {
                    if let Err(problem) = sql::parse(&step.sql) {
                        self.bad_sql(&format!("{at}.sql"), &problem);
                    }
                    continue;
                }
            };
            if filter.is_empty() {
                self.say(at.clone(), m::filter_empty());
            }
            for (column, condition) in filter {
                let here = join(&at, column.as_str());
                match condition {
                    KeepCondition::In(words) => {
                        let words: Vec<&str> = words.iter().map(Word::as_str).collect();
                        self.check_distinct(&format!("{here}.in"), "value to keep", &words);
                    }
                    KeepCondition::NotIn(words) => {
                        let words: Vec<&str> = words.iter().map(Word::as_str).collect();
                        self.check_distinct(
                            &format!("{here}.not_in"),
                            "value to leave out",
                            &words,
                        );
                    }
                    KeepCondition::Between([low, high]) if low.get() > high.get() => {
                        self.say(
                            format!("{here}.between"),
                            m::between_order(low.get(), high.get()),
                        );
                    }
                    _ => {}
                }
            }
        }
    }

    /// Generated rows have the columns that the job generates, so roles can be checked without
    /// data.
    fn generated_columns(&mut self) {
        let data = &self.job.data;
        let Some(synthetic) = &data.rows.synthetic else { return };
        if !self.is_sound(&["data"]) {
            return;
        }
        let computed = data.derived().into_iter().filter_map(|(name, recipe)| match recipe {
            DerivationRecipe::Sql { parents, .. } => Some((name, parents)),
            _ => None,
        });
        let computed: Vec<(ColumnName, Vec<ColumnName>)> = computed.collect();
        let mut named: Vec<(String, &ColumnName)> = Vec::new();
        named.extend(data.row_id.as_ref().map(|c| ("data.row_id".to_owned(), c)));
        named.extend(data.person.as_ref().map(|c| ("data.person".to_owned(), c)));
        named.extend(data.keep.iter().enumerate().flat_map(|(i, step)| {
            let at = format!("data.keep[{i}]");
            let place = move |column: &ColumnName| match step {
                KeepStep::Columns(_) => join(&at, column.as_str()),
                KeepStep::Sql(_) => format!("{at}.sql"),
            };
            step.columns().into_iter().map(move |column| (place(column), column))
        }));
        let label = match data.label {
            LabelRole::Amount(_) => "data.label.amount",
            _ => "data.label.column",
        };
        named.extend(data.label.named_column().map(|column| (label.to_owned(), column)));
        named.extend(
            data.sensitive
                .keys()
                .map(|name| (path(&["data", "sensitive", name.as_str()]), data.column_of(name))),
        );
        for (name, derivation) in &data.derive {
            let at = path(&["data", "derive", name.as_str()]);
            named.extend(derivation.from.iter().map(|from| (format!("{at}.from"), from)));
            named.extend(
                derivation
                    .cross
                    .iter()
                    .flatten()
                    .enumerate()
                    .map(|(i, part)| (format!("{at}.cross[{i}]"), part)),
            );
        }
        for (name, attribute) in
            data.sensitive.iter().filter(|(_, attribute)| attribute.is_made_here())
        {
            let at = path(&["data", "sensitive", name.as_str(), "from"]);
            named.extend(attribute.from.iter().map(|from| (at.clone(), from)));
        }
        for (name, parents) in &computed {
            let at = path(&["data", "derive", name.as_str(), "sql"]);
            named.extend(parents.iter().map(|parent| (at.clone(), parent)));
        }
        named.extend(data.weight.as_ref().map(|c| ("data.weight".to_owned(), c)));
        named.extend(
            data.features
                .continuous
                .iter()
                .enumerate()
                .map(|(i, c)| (format!("data.features.continuous[{i}]"), c)),
        );
        named.extend(
            data.features
                .ordinal
                .keys()
                .map(|c| (path(&["data", "features", "ordinal", c.as_str()]), c)),
        );
        named.extend(
            data.features
                .nominal
                .iter()
                .enumerate()
                .map(|(i, c)| (format!("data.features.nominal[{i}]"), c)),
        );
        for (name, group) in &data.features.onehot {
            let at = path(&["data", "features", "onehot", name.as_str()]);
            named.extend(group.iter().enumerate().map(|(i, c)| (format!("{at}[{i}]"), c)));
        }
        named.extend(
            data.split
                .as_ref()
                .and_then(|s| s.column.as_ref())
                .map(|c| ("data.split.column".to_owned(), c)),
        );
        named.extend(self.job.strata().map(|c| ("metrics.clarify.strata".to_owned(), c)));
        named.extend(
            data.join
                .iter()
                .map(|(name, join)| (path(&["data", "join", name.as_str(), "on"]), &join.on)),
        );
        let is_made = |column: &ColumnName| data.is_derived(column) || data.is_joined(column);
        for (at, column) in named.into_iter().filter(|(_, column)| !is_made(column)) {
            if !synthetic.columns.contains_key(column) {
                self.say(
                    at,
                    m::not_generated(
                        column,
                        suggest(
                            column.as_str(),
                            "generated columns",
                            synthetic.columns.keys().map(ColumnName::as_str),
                        ),
                    ),
                );
            }
        }
        for (name, attribute) in
            data.sensitive.iter().filter(|(name, _)| !data.is_derived(data.column_of(name)))
        {
            let levels: Vec<&str> = match synthetic.columns.get(data.column_of(name)) {
                Some(Mechanism::Levels(levels)) => levels.keys().map(Word::as_str).collect(),
                Some(Mechanism::Bernoulli(_) | Mechanism::Logit(_)) => vec!["0", "1"],
                _ => continue,
            };
            for (i, group) in attribute
                .groups
                .iter()
                .enumerate()
                .filter(|(_, group)| !levels.contains(&group.as_str()))
            {
                let at = format!("{}.groups[{i}]", path(&["data", "sensitive", name.as_str()]));
                self.say(
                    at,
                    m::group_never_generated(
                        group,
                        name,
                        suggest(group.as_str(), "generated levels", levels.iter().copied()),
                    ),
                );
            }
        }
    }
}

/// A sum for people: without the last digits that come from adding.
pub(super) fn rounded(sum: f64) -> f64 {
    (sum * 1e6).round() / 1e6
}
