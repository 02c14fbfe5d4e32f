//! Checks the `data` block: the source, the roles of columns, groups, splits, generated columns.

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
use crate::job::{ParquetRows, RowSource};
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
            let what =
                format!("`data.rows` needs exactly one of {}, found {found}", all(ROW_SOURCES));
            return self.push_problem("one-of", "data.rows", what, "write `rows: {parquet: FILE}`");
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
            RowSource::Stream(name) if name.trim().is_empty() => self.push_problem(
                "empty-value",
                "data.rows.stream",
                "`data.rows.stream` is empty",
                "name what the engine passes on, such as table and version",
            ),
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
                    self.push_problem(
                        "not-offered",
                        "data.rows.command.watch",
                        "the program of the rows runs each time, whatever changed",
                        "remove `watch`: the rows are known by what the program writes",
                    );
                }
            }
        }
    }

    /// How files say that they are complete.
    pub(super) fn arrival(&mut self, at: &[&str], arrival: Arrival<'_>, of_files: bool) {
        let at = |key: &str| path(&[at, &[key]].concat());
        if let Some(name) = arrival.complete.filter(|name| name.is_empty()) {
            let what = format!("`{name}` is no name of a file");
            self.push_problem("empty-value", at("complete"), what, "write `complete: _SUCCESS`");
        }
        let keys = [("wait", arrival.wait), ("complete", arrival.complete.is_some())];
        for (key, _) in keys.into_iter().filter(|(_, is_given)| *is_given && !of_files) {
            let what = format!("`{key}` is about files, and these rows come from none");
            self.push_problem("not-offered", at(key), what, format!("remove `{key}`"));
        }
    }

    pub(super) fn empty_path(&mut self, at: &str) {
        self.push_problem("empty-value", at, format!("`{at}` is empty"), "name a file or a glob");
    }

    fn synthetic(&mut self, synthetic: &SyntheticBlock) {
        let columns = &synthetic.columns;
        if columns.is_empty() {
            self.push_problem(
                "empty-list",
                "data.rows.synthetic.columns",
                "no column is generated",
                "declare at least the sensitive column and one feature",
            );
        }
        for (i, (name, mechanism)) in columns.iter().enumerate() {
            let at = path(&["data", "rows", "synthetic", "columns", name.as_str()]);
            match mechanism {
                Mechanism::Bernoulli(_) => {}
                Mechanism::Levels(levels) => self.levels(&join(&at, "levels"), levels),
                Mechanism::Linear(linear) => {
                    let MechanismNoise::Normal(noise) = &linear.noise;
                    if noise.sd.get() < 0.0 {
                        let what =
                            format!("a standard deviation of `{}` is below 0", noise.sd.get());
                        self.push_problem(
                            "bad-value",
                            format!("{at}.linear.noise.normal.sd"),
                            what,
                            "write 0 or more",
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
            self.push_problem(
                "empty-list",
                at,
                format!("`{at}` is empty"),
                "name levels with their probabilities, such as `{a: 0.4, b: 0.6}`",
            );
        } else if (sum - 1.0).abs() > SUM_SLACK {
            self.push_problem(
                "bad-sum",
                at,
                format!("the probabilities of `{at}` sum to {}, not to 1", rounded(sum)),
                "change one of them",
            );
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
                let hint = suggest(
                    word,
                    "columns above it",
                    columns.keys().take(position).map(ColumnName::as_str),
                );
                self.push_problem(
                    "unknown-column",
                    here,
                    format!("`{child}` depends on `{parent}`, which is not generated"),
                    hint,
                );
                continue;
            };
            if i >= position {
                let what = if name == child {
                    format!("`{child}` depends on itself")
                } else {
                    format!("`{child}` depends on `{name}`, which is generated after it")
                };
                self.push_problem("bad-order", here, what, "write causes before effects");
                continue;
            }
            match (mechanism, level) {
                (Mechanism::Levels(levels), Some(level))
                    if levels.keys().any(|l| l.as_str() == level) => {}
                (Mechanism::Levels(levels), Some(level)) => {
                    let hint = suggest(level, "its levels", levels.keys().map(Word::as_str));
                    self.push_problem(
                        "unknown-level",
                        here,
                        format!("`{name}` has no level `{level}`"),
                        hint,
                    );
                }
                (Mechanism::Levels(levels), None) => {
                    let example = levels
                        .keys()
                        .next()
                        .map_or_else(String::new, |l| format!("\"{name}={l}\": 1.0"));
                    self.push_problem(
                        "bad-value",
                        here,
                        format!("`{name}` has levels, so its effect needs one of them"),
                        format!("write an effect per level, such as `{example}`"),
                    );
                }
                (_, Some(_)) => self.push_problem(
                    "bad-value",
                    here,
                    format!("`{name}` is a number and has no levels"),
                    format!("write `{name}: ...`"),
                ),
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
                    let what = format!("`{at}` takes one of `parquet` and `csv`, found {found}");
                    let hint = "name the file: `parquet: FILE` or `csv: {path: FILE}`";
                    self.push_problem("one-of", at.as_str(), what, hint);
                }
            }
            if data.is_derived(&join.on) || data.is_joined(&join.on) {
                let what = format!("the key `{}` is no column of the rows themselves", join.on);
                let hint = "rows are joined as soon as they are read: name a column of their file";
                self.push_problem("bad-value", format!("{at}.on"), what, hint);
            }
            let here = format!("{at}.columns");
            if !self.check_distinct(&here, "column that the rows get", &join.columns) {
                continue;
            }
            for (i, column) in join.columns.iter().enumerate() {
                let place = format!("{here}[{i}]");
                let other = joined.iter().find(|(known, _)| *known == column);
                let (what, hint) = if *column == join.on {
                    (format!("`{column}` is the key, and the rows have it"), "remove it")
                } else if let Some((_, other)) = other {
                    (format!("`{column}` is joined from `{other}` too"), "keep one of them")
                } else if data.row_id.as_ref() == Some(column) {
                    let what = format!("`{column}` is the row id, which the rows themselves hold");
                    (what, "remove it, or name another row id")
                } else if data.is_derived(column) {
                    let what = format!("a derived column is called `{column}` too");
                    (what, "give the derived column a name of its own")
                } else {
                    joined.push((column, name));
                    continue;
                };
                self.push_problem("column-twice", place, what, hint);
            }
        }
    }

    fn csv(&mut self, at: &str, csv: &CsvBlock) {
        if csv.path.is_empty() {
            self.empty_path(&format!("{at}.path"));
        }
        if let Some(problem) = csv.problem() {
            let key = format!("{at}.{}", problem.key);
            self.push_problem("bad-value", &key, problem.what, problem.hint);
        }
    }

    fn label(&mut self) {
        if self.job.data.favourable.is_some()
            && self.is_sound(&["data.favourable", "data.label"])
            && self.job.data.label.column().is_some()
        {
            let what = "the label has its own key `favourable`";
            self.push_problem(
                "bad-value",
                "data.favourable",
                what,
                "remove `data.favourable`: it is for jobs with `label: none`",
            );
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
                    let (what, hint) = (
                        format!("`{word}` is listed as positive and as negative"),
                        "keep it in one of the two lists",
                    );
                    self.push_problem(
                        "duplicate-value",
                        format!("data.label.negative[{i}]"),
                        what,
                        hint,
                    );
                }
            }
        }
    }

    fn attributes(&mut self) {
        if !self.is_sound(&["data.sensitive"]) {
            return;
        }
        if self.job.data.sensitive.is_empty() {
            self.push_problem(
                "empty-list",
                "data.sensitive",
                "no sensitive attribute is declared",
                "add one, such as `sex: {groups: [Male, Female], reference: Male}`",
            );
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
                self.push_problem(
                    "column-twice",
                    at.clone(),
                    format!("`{name}` and `{other}` are both derived from the column `{column}`"),
                    "keep one of the two attributes",
                );
            }
            let roles = [
                ("the label", "data.label", self.job.data.label.column().map(|l| &l.column)),
                ("the row id", "data.row_id", self.job.data.row_id.as_ref()),
            ];
            for (role, block, taken) in roles {
                let Some(taken) = taken.filter(|_| self.is_sound(&[block])) else { continue };
                if taken == column {
                    self.push_problem(
                        "column-twice",
                        at.clone(),
                        format!("the sensitive column `{column}` is {role} too"),
                        "a column has one role",
                    );
                } else if self.job.data.roots(column).contains(taken) {
                    self.push_problem(
                        "column-twice",
                        at.clone(),
                        format!(
                            "the sensitive attribute `{name}` is derived from `{taken}`, which \
                             is {role}"
                        ),
                        "a column has one role",
                    );
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
                let what = if earlier == kind {
                    format!("the column `{column}` is listed twice under `{kind}`")
                } else {
                    format!("the column `{column}` is listed under both `{earlier}` and `{kind}`")
                };
                self.push_problem(
                    "column-twice",
                    at.clone(),
                    what,
                    "keep one: a column has one kind",
                );
                continue;
            }
            // A derived column is a feature only where it is listed.
            let may_be_listed = *kind != "ignore" && data.is_derived(column);
            let attribute = sensitive
                .iter()
                .find(|(c, _)| c == column)
                .filter(|_| !may_be_listed && self.is_sound(&["data.sensitive"]));
            if let Some((_, attribute)) = attribute {
                let hint = if *kind == "ignore" {
                    "remove it from `ignore`, or do not declare it as sensitive"
                } else {
                    "remove it: a sensitive column is already a feature"
                };
                self.push_problem(
                    "column-twice",
                    at.clone(),
                    format!("`{column}` is the column of the sensitive attribute `{attribute}`"),
                    hint,
                );
                continue;
            }
            let roles = [
                ("the label", "data.label", data.label.column().map(|l| &l.column)),
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
                self.push_problem(
                    "column-twice",
                    at.clone(),
                    format!("the feature `{column}` is derived from the label `{label}`"),
                    "remove it: a model must not read the label",
                );
            }
            if *kind != "ignore"
                && let Some((role, _, _)) =
                    roles.iter().find(|(_, block, c)| *c == Some(column) && self.is_sound(&[block]))
            {
                self.push_problem(
                    "column-twice",
                    at.clone(),
                    format!("the feature `{column}` is {role}"),
                    if *role == "the label" {
                        "remove it: a model must not read the label"
                    } else {
                        "remove it: a column has one role"
                    },
                );
            }
        }
        for (name, group) in &features.onehot {
            let at = path(&["data", "features", "onehot", name.as_str()]);
            if group.len() < 2 {
                let what = format!(
                    "the one-hot group `{name}` has {} column",
                    if group.is_empty() { "no" } else { "one" }
                );
                self.push_problem(
                    "empty-list",
                    at.clone(),
                    what,
                    "name the columns of all its levels; a single 0/1 column is nominal",
                );
            }
            if columns.iter().any(|(.., column)| *column == name)
                || sensitive.iter().any(|(column, attribute)| *column == name || *attribute == name)
            {
                let what = format!("the one-hot group `{name}` has the name of a column");
                self.push_problem("column-twice", at.clone(), what, "give it another name");
            }
            for (i, column) in
                group.iter().enumerate().filter(|(_, column)| data.is_derived(column))
            {
                let what = format!(
                    "`{column}` is derived, but a one-hot group consists of columns of the source"
                );
                self.push_problem(
                    "derived-column",
                    format!("{at}[{i}]"),
                    what,
                    "list it under `nominal`",
                );
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
                let what = format!("missing values of {kind} columns cannot become a level");
                self.push_problem(
                    "bad-value",
                    at,
                    what,
                    "use `keep`, `drop-row` or `error`; only \
                     nominal columns can have a level `missing`",
                );
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
                self.push_problem(
                    "empty-list",
                    at.clone(),
                    "the filter has no condition",
                    "write `{COLUMN: {in: [...]}}`, or remove it",
                );
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
                        let what =
                            format!("no number is between `{}` and `{}`", low.get(), high.get());
                        self.push_problem(
                            "bad-value",
                            format!("{here}.between"),
                            what,
                            "write the lower number first",
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
        named.extend(data.label.column().map(|l| ("data.label.column".to_owned(), &l.column)));
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
                let hint = suggest(
                    column.as_str(),
                    "generated columns",
                    synthetic.columns.keys().map(ColumnName::as_str),
                );
                self.push_problem(
                    "unknown-column",
                    at,
                    format!("the column `{column}` is not generated"),
                    hint,
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
                self.push_problem(
                    "unknown-group",
                    at,
                    format!("no generated row has `{group}` in `{name}`"),
                    suggest(group.as_str(), "generated levels", levels.iter().copied()),
                );
            }
        }
    }
}

/// A sum for people: without the last digits that come from adding.
pub(super) fn rounded(sum: f64) -> f64 {
    (sum * 1e6).round() / 1e6
}
