//! Names that a job uses, each resolved in one place: models, counterfactual sets, sensitive
//! attributes with their groups, columns with their roles.

use crate::data::prepare::derive::Derivation;
use crate::data::prepare::params::KeepStep;
use crate::data::sql;
use crate::error::FilePlace;
use crate::job::messages::{self as m, Said};
use crate::job::read::tree::join;
use crate::job::read::word_lists::suggest;
use crate::job::{CounterfactualSet, DataBlock, LabelRole, ModelBlock};
use crate::metric::Metric;
use crate::metric::catalog::{catalog, find};
use crate::param::{ColumnName, Name, SetName, Word};

use super::{CheckedJob, JobChecker, path};

/// The word that represents all other groups.
pub(super) const REST: &str = "rest";

/// A column that the block `data` names.
pub(super) struct NamedColumn {
    /// Where it is named.
    pub(super) at: String,
    /// What it is named as, in words.
    pub(super) role: &'static str,
    pub(super) column: ColumnName,
}

pub(super) const LABEL: &str = "the label";
pub(super) const ROW_ID: &str = "the row id";
const SPLIT: &str = "the column that splits the rows";
const SENSITIVE: &str = "a sensitive column";
const FEATURE: &str = "a feature";
/// What a column is derived from, a key of a side table, a column of a filter.
pub(super) const SOURCE: &str = "named by a rule";

impl NamedColumn {
    /// Whether no feature has the role.
    pub(super) fn excludes_features(&self) -> bool {
        ![SENSITIVE, FEATURE, SOURCE].contains(&self.role)
    }

    /// For a feature the key of its kind, or `ignore`.
    pub(super) fn kind(&self) -> Option<&str> {
        self.at.strip_prefix("data.features.")?.split(['.', '[']).next()
    }

    /// Whether the page may say what values of the column are called.
    pub(super) fn has_values(&self) -> bool {
        match self.kind() {
            Some(kind) => !matches!(kind, "ignore" | "onehot"),
            None => [LABEL, SENSITIVE].contains(&self.role),
        }
    }
}

impl<'a> JobChecker<'a> {
    /// Complains about a word that is none of the known ones, which are called `what`, with the
    /// nearest of them; returns whether it is one.
    pub(super) fn one_of<T: AsRef<str>>(
        &mut self,
        at: impl Into<String>,
        word: impl AsRef<str>,
        (what, known): (&str, impl IntoIterator<Item = T>),
        said: impl FnOnce(String) -> Said,
    ) -> bool {
        let (word, known): (&str, Vec<T>) = (word.as_ref(), known.into_iter().collect());
        let is_known = known.iter().any(|known| known.as_ref() == word);
        self.say(at, (!is_known).then(|| said(suggest(word, what, known))));
        is_known
    }

    /// Complains about a name that the job does not declare; gives back whether it does.
    pub(super) fn check_known<T: AsRef<str>>(
        &mut self,
        noun: &str,
        at: impl Into<String>,
        name: impl AsRef<str>,
        names: impl IntoIterator<Item = T>,
    ) -> bool {
        let (name, names): (&str, Vec<T>) = (name.as_ref(), names.into_iter().collect());
        let (code, declared) = match noun {
            "group" => ("unknown-group", "data.sensitive"),
            "column" => ("unknown-column", "data.features"),
            "data set" => ("unknown-data-set", "data.rows"),
            "sensitive attribute" => ("unknown-name", "data.sensitive"),
            "model" => ("unknown-name", "models"),
            "counterfactual set" => ("unknown-name", "counterfactuals"),
            "arm" => ("unknown-name", "experiments"),
            "recourse block" => ("unknown-name", "recourse"),
            "why block" => ("unknown-name", "why"),
            _ => ("unknown-name", ""),
        };
        let columns = ["data.features", "data.sensitive", "data.derive"];
        if !self.are_names_sound(declared) || noun == "column" && !self.is_sound(&columns) {
            return names.iter().any(|known| known.as_ref() == name);
        }
        let unknown = |near: String| Said { code, ..m::name_unknown(noun, name, near) };
        self.one_of(at, name, (&format!("known {noun}s"), names), unknown)
    }

    /// Complains about a list that is empty or names something twice.
    pub(super) fn check_distinct(
        &mut self,
        at: &str,
        what: &str,
        items: &[impl AsRef<str>],
    ) -> bool {
        self.say(at, items.is_empty().then(|| m::list_empty(at, what)));
        let is_earlier =
            |i: &usize| items[..*i].iter().any(|other| other.as_ref() == items[*i].as_ref());
        let twice = (1..items.len()).find(is_earlier);
        if let Some(i) = twice {
            self.say(format!("{at}[{i}]"), m::listed_twice(items[i].as_ref(), at));
        }
        !items.is_empty() && twice.is_none()
    }

    /// Whether all keys of a map of names are known: none was refused.
    pub(super) fn are_names_sound(&self, map: &str) -> bool {
        !self.damaged.iter().any(|d| {
            let rest = d.strip_prefix(map).and_then(|rest| rest.strip_prefix('.'));
            d == map
                || d == "data"
                || rest.is_some_and(|rest| rest.starts_with('"') || !rest.contains('.'))
        })
    }

    /// The model of a name; none where there is none, or models could not be read.
    pub(super) fn model_named(
        &mut self,
        at: impl Into<String>,
        name: &Name,
    ) -> Option<&'a ModelBlock> {
        let models = &self.job.models;
        if !models.is_empty() {
            self.check_known("model", at, name, models.keys());
        }
        models.get(name)
    }

    /// Whether the job has no label of classes, as far as is known.
    pub(super) fn lacks_label(&self) -> bool {
        self.job.data.label.column().is_none() && self.is_sound(&["data.label"])
    }

    /// Whether no rows train, as far as is known.
    pub(super) fn lacks_split(&self) -> bool {
        self.job.data.split.is_none() && self.is_sound(&["data.split"])
    }

    /// Whether the job does not say which prediction people want, as far as is known.
    pub(super) fn lacks_favourable(&self) -> bool {
        self.job.data.favourable_side().is_none()
            && self.is_sound(&["data.label", "data.favourable"])
    }

    /// The set of a name, which a scenario may follow; none where there is none.
    pub(super) fn set_of(&self, name: &SetName) -> Option<&'a CounterfactualSet> {
        self.job.sets().into_iter().find(|(known, _)| known == name.as_str()).map(|(_, set)| set)
    }

    /// As [`JobChecker::set_of`], with a complaint where there is none, and where the model next to
    /// it does not score it.
    pub(super) fn set_named(
        &mut self,
        at: &str,
        name: &SetName,
        model: Option<&Name>,
    ) -> Option<&'a CounterfactualSet> {
        let names: Vec<String> = self.job.sets().into_iter().map(|(name, _)| name).collect();
        self.check_known("counterfactual set", at, name, names);
        let set = self.set_of(name)?;
        let unasked = model.filter(|model| !set.asks(model));
        self.say(at, unasked.map(|model| m::set_asked_not(name, model)));
        Some(set)
    }

    /// Complains about a sensitive attribute that is not declared.
    pub(super) fn attribute(&mut self, at: impl Into<String>, name: &ColumnName) -> bool {
        self.check_known("sensitive attribute", at, name, self.job.data.sensitive.keys())
    }

    /// The metric of an id; none where there is none.
    pub(super) fn metric_named(&mut self, at: String, id: &str) -> Option<&'static Metric> {
        let mut ids: Vec<&str> = catalog().map(|known| known.id).collect();
        ids.sort_unstable();
        self.one_of(at, id, ("known metrics", ids), |near| m::metric_unknown(id, near));
        find(id)
    }

    /// Complains about groups that an attribute does not have, each at its place; for an attribute
    /// whose groups only the data determine, none is wrong.
    pub(super) fn groups_named<'w>(
        &mut self,
        attribute: &ColumnName,
        named: impl IntoIterator<Item = (String, &'w Word)>,
    ) {
        let declared = self.job.data.groups_of(attribute);
        for (at, group) in named.into_iter().filter(|_| declared.len() > 1) {
            let unknown = |near: String| m::group_unknown(attribute, group, near);
            self.one_of(at, group, ("its groups", &declared), unknown);
        }
    }

    /// What a column is that excludes another role next to it.
    pub(super) fn role_of(&self, column: &ColumnName) -> Option<&'static str> {
        let excludes = [LABEL, ROW_ID, SPLIT, SENSITIVE];
        let named = self.job.data.named_columns();
        let mut taken = named.iter().filter(|named| excludes.contains(&named.role));
        taken.find(|named| named.column == *column).map(|named| named.role)
    }
}

impl DataBlock {
    /// The columns that the block `data` names, each with its place and role.
    pub(super) fn named_columns(&self) -> Vec<NamedColumn> {
        let mut all: Vec<NamedColumn> = Vec::new();
        let mut add = |at: String, role: &'static str, column: &ColumnName| {
            all.push(NamedColumn { at, role, column: column.clone() });
        };
        let label = match self.label {
            LabelRole::Amount(_) => "label.amount",
            _ => "label.column",
        };
        let single = [
            (label, LABEL, self.label.named_column()),
            ("row_id", ROW_ID, self.row_id.as_ref()),
            ("split.column", SPLIT, self.split.as_ref().and_then(|s| s.column.as_ref())),
            ("weight", "the weight", self.weight.as_ref()),
            ("person", "the person", self.person.as_ref()),
        ];
        for (key, role, column) in single {
            column.into_iter().for_each(|column| add(format!("data.{key}"), role, column));
        }
        for name in self.sensitive.keys() {
            add(sensitive_at(name), SENSITIVE, self.column_of(name));
        }
        let features = &self.features;
        let of_kind = |kind| path(&["data", "features", kind]);
        let ordinal = features.ordinal.keys();
        let ordinal = ordinal.map(|name| (join(&of_kind("ordinal"), name.as_str()), name));
        let onehot = features.onehot.iter();
        let onehot = onehot
            .flat_map(|(name, group)| numbered(join(&of_kind("onehot"), name.as_str()), group));
        let listed = numbered(of_kind("continuous"), &features.continuous)
            .chain(ordinal)
            .chain(numbered(of_kind("nominal"), &features.nominal))
            .chain(onehot)
            .chain(numbered(of_kind("ignore"), &features.ignore));
        listed.for_each(|(at, column)| add(at, FEATURE, column));
        for (i, step) in self.keep.iter().enumerate() {
            let at = format!("data.keep[{i}]");
            for column in step.columns() {
                let key = if matches!(step, KeepStep::Sql(_)) { "sql" } else { column.as_str() };
                add(join(&at, key), SOURCE, column);
            }
        }
        for (name, join) in &self.join {
            let here = path(&["data", "join", name.as_str(), "on"]);
            add(here, SOURCE, &join.on);
        }
        let derive = self.derive.iter().map(|(name, derivation)| {
            (path(&["data", "derive", name.as_str()]), derivation.clone())
        });
        let made = self.sensitive.iter().filter(|(_, attribute)| attribute.is_made_here());
        let made = made.map(|(name, attribute)| {
            // Parts of crossed attributes are attributes.
            (sensitive_at(name), Derivation { cross: None, ..attribute.derivation() })
        });
        for (at, derivation) in derive.chain(made) {
            derivation.from.iter().for_each(|c| add(join(&at, "from"), SOURCE, c));
            for (i, part) in derivation.cross.iter().flatten().enumerate() {
                add(format!("{at}.cross[{i}]"), SOURCE, part);
            }
            let tree = derivation.sql.as_deref().and_then(|text| sql::parse(text).ok());
            for column in tree.iter().flat_map(|tree| &tree.columns) {
                add(join(&at, "sql"), SOURCE, column);
            }
        }
        all
    }
}

/// Where the cause of a warning is written, which names a path of the job, or what the data call
/// it: a column, an attribute or a set.
impl CheckedJob {
    /// The place of the key that a warning is about: that of the rows, if it is about one of their
    /// columns that no key names directly, as in an expression.
    pub(crate) fn place_of_issue(&self, subject: &str) -> Option<&FilePlace> {
        let paths = self.paths_of_issue(subject);
        paths.iter().find_map(|path| self.places.written(path)).or(self.places.at("data.rows"))
    }

    /// The paths that may be its place, the most specific first.
    fn paths_of_issue(&self, subject: &str) -> Vec<String> {
        let mut paths = vec![subject.to_owned()];
        for block in ["data.sensitive", "counterfactuals", "models", "data.derive", "data.join"] {
            let mut steps: Vec<&str> = block.split('.').collect();
            steps.push(subject);
            paths.push(path(&steps));
        }
        let named = self.job.data.named_columns().into_iter();
        paths.extend(named.filter(|named| named.column.as_str() == subject).map(|named| named.at));
        paths.push(path(&["data", "features", "onehot", subject]));
        paths.push(path(&["data", "columns", subject]));
        paths
    }
}

/// The items of a list, each with its place.
pub(super) fn numbered<T>(
    at: String,
    items: impl IntoIterator<Item = T>,
) -> impl Iterator<Item = (String, T)> {
    items.into_iter().enumerate().map(move |(i, item)| (format!("{at}[{i}]"), item))
}

/// The path of an attribute.
pub(super) fn sensitive_at(name: &ColumnName) -> String {
    path(&["data", "sensitive", name.as_str()])
}
