//! Columns derived from others: values mapped to groups, numbers in bins, columns crossed,
//! expressions computed.
//!
//! Three types in turn: a [`Derivation`] is what a job writes, a [`DerivationRecipe`] is the same
//! with all defaults resolved, a [`DerivationRule`] is a recipe whose words were converted to the
//! types of the columns. A derived column holds names, and behaves as a source column for every
//! later role.
//!
//! Choice: bins and levels are `(lo, hi]`, the lowest also holds its left edge; a bin is called
//! `(30, 45]`, the lowest `[17, 30]`. A value outside every bin, and one that `map` does not name
//! where there is no `else`, has no name and is counted. A missing value stays missing, also where
//! there is an `else`. The names of a cross are joined by ` & `; where one part is missing the
//! cross is missing.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::source::SourceColumn;
use crate::data::spelling::Spelling;
use crate::data::sql::{self, SqlProgram};
use crate::data::values::{NamedValues, SourceValues, ValueClass, float_text, parse_number};
use crate::error::{Fault, Result};
use crate::num::hash::FastMap;
use crate::param::{ColumnName, Finite, Word};

/// The text between the names of a cross.
pub(crate) const JOINER: &str = " & ";

/// A column derived from others, in exactly one of five forms.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Derivation {
    /// The column that `map`, `bins` or `levels` reads.
    pub from: Option<ColumnName>,
    /// Groups with the values that belong to each: `{White: [White], Asian: [Chinese, Indian]}`.
    /// Other values have no group, and are counted, unless `else` names one.
    #[schemars(extend("x-least" = "name groups with their values, such as `{White: [White]}`"))]
    pub map: Option<IndexMap<Word, Vec<Word>>>,
    /// The group of all values that `map` does not name. A missing value stays missing.
    #[serde(default, rename = "else", skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<Word>,
    /// Edges of bins, ascending: `[17, 30, 45]` gives `[17, 30]` and `(30, 45]`. Numbers outside
    /// are missing, and are counted.
    pub bins: Option<Vec<Finite>>,
    /// Bins with their own names: `{PartTime: [0, 25], FullTime: [25, 60]}`, each `(lo, hi]`,
    /// the lowest with its left edge.
    #[schemars(extend("x-least" = "name bins, such as `{PartTime: [0, 25], FullTime: [25, 60]}`"))]
    pub levels: Option<IndexMap<Word, [Finite; 2]>>,
    /// Columns whose names are joined: `cross: [sex, age_band]` gives `Male & (30, 45]`.
    #[schemars(extend("minItems" = 1, "x-noun" = "column to cross"))]
    pub cross: Option<Vec<ColumnName>>,
    /// An SQL expression over the columns of a row: `debt / income`, `days_late > 90`. Numbers are
    /// 64-bit floats; what is not finite is missing, and is counted. What looks at other rows is an
    /// error.
    pub sql: Option<String>,
}

impl Derivation {
    /// The forms that the job gives, by their keys.
    pub fn forms(&self) -> Vec<&'static str> {
        let forms = [
            ("map", self.map.is_some()),
            ("bins", self.bins.is_some()),
            ("levels", self.levels.is_some()),
            ("cross", self.cross.is_some()),
            ("sql", self.sql.is_some()),
        ];
        forms.into_iter().filter(|(_, there)| *there).map(|(form, _)| form).collect()
    }

    /// The recipe; `part` resolves a column of a cross.
    ///
    /// `None` where the job gives none or several forms, or an incomplete one.
    pub fn recipe(&self, part: impl Fn(&ColumnName) -> CrossPart) -> Option<DerivationRecipe> {
        if self.forms().len() != 1 {
            return None;
        }
        if let Some(cross) = &self.cross {
            return Some(DerivationRecipe::Cross { parts: cross.iter().map(part).collect() });
        }
        if let Some(sql) = &self.sql {
            let parents = sql::parse(sql).ok()?.columns;
            return Some(DerivationRecipe::Sql { sql: sql.clone(), parents });
        }
        let from = self.from.clone()?;
        if let Some(map) = &self.map {
            let groups = map.iter().map(|(name, values)| (name.clone(), values.clone())).collect();
            return Some(DerivationRecipe::Map { from, groups, otherwise: self.otherwise.clone() });
        }
        let bins = match (&self.bins, &self.levels) {
            (Some(edges), _) => bins_of(edges),
            (_, Some(levels)) => levels_of(levels),
            (None, None) => return None,
        };
        Some(DerivationRecipe::Bins { from, bins })
    }
}

/// The bins between edges.
pub(crate) fn bins_of(edges: &[Finite]) -> Vec<DerivedBin> {
    let pairs = edges.windows(2).enumerate();
    pairs
        .map(|(i, pair)| {
            let (lo, hi, closed) = (pair[0].get(), pair[1].get(), i == 0);
            DerivedBin { name: range_text(lo, hi, closed), lo, hi, closed }
        })
        .collect()
}

/// The name of a bin that the job does not name.
fn range_text(lo: f64, hi: f64, closed: bool) -> String {
    let open = if closed { '[' } else { '(' };
    format!("{open}{}, {}]", float_text(lo), float_text(hi))
}

/// The bins that the job names.
pub(crate) fn levels_of(levels: &IndexMap<Word, [Finite; 2]>) -> Vec<DerivedBin> {
    let lowest = levels.values().map(|[lo, _]| lo.get()).fold(f64::INFINITY, f64::min);
    let bin = |(name, [lo, hi]): (&Word, &[Finite; 2])| DerivedBin {
        name: name.as_str().to_owned(),
        lo: lo.get(),
        hi: hi.get(),
        closed: lo.get() == lowest,
    };
    levels.iter().map(bin).collect()
}

/// A derivation with all defaults resolved.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DerivationRecipe {
    /// Values belong to groups.
    Map {
        /// The column.
        from: ColumnName,
        /// The groups in declared order, with their values.
        groups: Vec<(Word, Vec<Word>)>,
        /// The group of all other values.
        otherwise: Option<Word>,
    },
    /// Numbers lie in bins.
    Bins {
        /// The column.
        from: ColumnName,
        /// The bins in declared order; they do not overlap.
        bins: Vec<DerivedBin>,
    },
    /// The names of several columns, joined.
    Cross {
        /// The columns.
        parts: Vec<CrossPart>,
    },
    /// An expression.
    Sql {
        /// The expression.
        sql: String,
        /// The columns that it names, in the order in which it names them first.
        parents: Vec<ColumnName>,
    },
}

/// A column of a cross.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CrossPart {
    /// The column.
    pub column: ColumnName,
    /// Its groups as the job writes them, where it is the column of a sensitive attribute.
    ///
    /// A cross uses these names.
    pub groups: Option<Vec<Word>>,
}

/// Numbers above `lo`, up to `hi`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DerivedBin {
    /// The name of the bin.
    pub name: String,
    /// The left edge.
    pub lo: f64,
    /// The right edge; belongs to the bin.
    pub hi: f64,
    /// Whether the left edge belongs to the bin too.
    pub closed: bool,
}

impl DerivedBin {
    /// Whether its name is its range: the job names it by no word.
    pub(crate) fn is_named_by_range(&self) -> bool {
        self.name == range_text(self.lo, self.hi, self.closed)
    }

    /// Whether the number lies in the bin.
    pub fn contains(&self, x: f64) -> bool {
        (self.lo < x || self.closed && self.lo == x) && x <= self.hi
    }
}

impl DerivationRecipe {
    /// The columns that it is derived from.
    pub fn parents(&self) -> Vec<&ColumnName> {
        match self {
            DerivationRecipe::Map { from, .. } | DerivationRecipe::Bins { from, .. } => vec![from],
            DerivationRecipe::Cross { parts } => parts.iter().map(|part| &part.column).collect(),
            DerivationRecipe::Sql { parents, .. } => parents.iter().collect(),
        }
    }

    /// Whether the column reads what it is derived from without being set with it, see
    /// [`DerivationRule::is_one_way`].
    pub fn is_one_way(&self) -> bool {
        matches!(self, DerivationRecipe::Bins { .. } | DerivationRecipe::Sql { .. })
    }

    /// Every name that the column can hold, in declared order.
    ///
    /// The first part of a cross varies slowest.
    ///
    /// Empty where the names depend on the data: for a cross of columns without declared groups,
    /// and for an expression.
    pub fn declared_names(&self) -> Vec<Word> {
        match self {
            DerivationRecipe::Map { groups, otherwise, .. } => {
                groups.iter().map(|(name, _)| name).chain(otherwise).cloned().collect()
            }
            DerivationRecipe::Bins { bins, .. } => {
                bins.iter().map(|bin| Word(bin.name.clone())).collect()
            }
            DerivationRecipe::Cross { parts } => {
                let groups: Option<Vec<&[Word]>> =
                    parts.iter().map(|part| part.groups.as_deref()).collect();
                groups.map_or_else(Vec::new, |groups| combinations(&groups))
            }
            DerivationRecipe::Sql { .. } => Vec::new(),
        }
    }
}

/// Every combination of one name per list, joined.
pub(crate) fn combinations(lists: &[&[Word]]) -> Vec<Word> {
    let mut names: Vec<Word> = Vec::new();
    for (i, list) in lists.iter().enumerate() {
        names = match i {
            0 => list.to_vec(),
            _ => names
                .iter()
                .flat_map(|head| list.iter().map(move |tail| Word(format!("{head}{JOINER}{tail}"))))
                .collect(),
        };
    }
    names
}

/// A recipe whose words fit the columns: it maps the values of the parents to a name, or to none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DerivationRule {
    /// The name of each word, and of all others.
    Map {
        /// By word.
        names: BTreeMap<String, String>,
        /// The name of all words that `names` lacks.
        otherwise: Option<String>,
    },
    /// The bins.
    Bins(Vec<DerivedBin>),
    /// For each part the names of the words that the job writes differently from the column.
    Cross(Vec<BTreeMap<String, String>>),
    /// An expression, and the classes of its columns.
    Sql {
        /// The expression.
        sql: String,
        /// By the columns in the order in which it names them first.
        classes: Vec<ValueClass>,
    },
}

impl DerivationRule {
    /// The rule for these parents; `column` is the derived column, for messages.
    ///
    /// # Errors
    /// A word that no value of a parent can match; a value in two groups; bins of a column that is
    /// not numeric.
    pub(crate) fn new(
        column: &ColumnName,
        recipe: &DerivationRecipe,
        parents: &[&SourceColumn],
    ) -> Result<DerivationRule> {
        Ok(match recipe {
            DerivationRecipe::Map { from, groups, otherwise } => {
                let mut names: BTreeMap<String, String> = BTreeMap::new();
                for (name, values) in groups {
                    for value in values {
                        let word = parents[0].word("map", value.as_str())?;
                        if let Some(other) = names.insert(word, name.to_string()) {
                            let what = format!(
                                "the value `{value}` of `{from}` occurs twice in the map of \
                                 `{column}`: `{other}` and `{name}`"
                            );
                            return Fault::new("duplicate-group", what)
                                .in_column(from.as_str())
                                .fail("keep one of them");
                        }
                    }
                }
                DerivationRule::Map {
                    names,
                    otherwise: otherwise.as_ref().map(ToString::to_string),
                }
            }
            DerivationRecipe::Bins { from, bins } => {
                let class = parents[0].class;
                if !class.is_number() && class != ValueClass::Empty {
                    let what = format!(
                        "column `{from}` holds {}, and `{column}` needs bins of it",
                        class.name()
                    );
                    return Fault::new("not-numeric", what).in_column(from.as_str()).fail(
                        "group text by `map`; list text that means missing under \
                             `null_values` of a CSV file",
                    );
                }
                DerivationRule::Bins(bins.clone())
            }
            DerivationRecipe::Cross { parts } => {
                let names = parts.iter().zip(parents).map(|(part, parent)| {
                    let groups = part.groups.as_deref().unwrap_or_default();
                    let word = |group: &Word| {
                        Ok((parent.word("groups", group.as_str())?, group.to_string()))
                    };
                    let names: BTreeMap<String, String> =
                        groups.iter().map(word).collect::<Result<_>>()?;
                    Ok(names.into_iter().filter(|(word, name)| word != name).collect())
                });
                DerivationRule::Cross(names.collect::<Result<_>>()?)
            }
            DerivationRecipe::Sql { sql, .. } => {
                let classes: Vec<ValueClass> = parents.iter().map(|parent| parent.class).collect();
                SqlProgram::new(sql, &classes).map_err(|problem| {
                    problem.fault(&format!("the column `{column}`")).in_column(column.as_str())
                })?;
                DerivationRule::Sql { sql: sql.clone(), classes }
            }
        })
    }

    /// The name of a value of the only parent of a map or of bins.
    pub fn name(&self, word: &str) -> Option<&str> {
        match self {
            DerivationRule::Map { names, otherwise } => {
                names.get(word).or(otherwise.as_ref()).map(String::as_str)
            }
            DerivationRule::Bins(_) => self.name_of_number(parse_number(word)?),
            DerivationRule::Cross(_) | DerivationRule::Sql { .. } => None,
        }
    }

    /// Whether it reads what it is derived from without being set with it: numbers in bins stay as
    /// they are where their group changes, and so do the columns of an expression.
    pub fn is_one_way(&self) -> bool {
        matches!(self, DerivationRule::Bins(_) | DerivationRule::Sql { .. })
    }

    /// The expression, ready to be computed; `None` for other rules.
    pub(crate) fn program(&self) -> Option<SqlProgram> {
        let DerivationRule::Sql { sql, classes } = self else { return None };
        SqlProgram::new(sql, classes).ok()
    }

    /// The name of a number of the only parent; `None` for NaN.
    pub fn name_of_number(&self, x: f64) -> Option<&str> {
        match self {
            DerivationRule::Bins(bins) => {
                bins.iter().find(|bin| bin.contains(x)).map(|bin| bin.name.as_str())
            }
            _ if x.is_nan() => None,
            _ => self.name(&float_text(x)),
        }
    }

    /// The name that part `k` of a cross gives to a word.
    pub fn part_name<'a>(&'a self, k: usize, word: &'a str) -> &'a str {
        match self {
            DerivationRule::Cross(names) => {
                names.get(k).and_then(|names| names.get(word)).map_or(word, String::as_str)
            }
            _ => word,
        }
    }

    /// The rows whose text a map lacks, while it has one that differs only by case or blanks.
    pub(crate) fn alike(&self, parent: &SourceValues) -> Vec<u32> {
        let DerivationRule::Map { names, .. } = self else { return Vec::new() };
        if !matches!(parent, SourceValues::Text(_) | SourceValues::Named(_)) {
            return Vec::new();
        }
        let known: HashSet<Cow<'_, str>> =
            names.keys().map(|word| Spelling::LOOSE.of(word)).collect();
        let distinct = parent.distinct();
        let alike = distinct.table(|row| {
            let word = parent.word(row).unwrap_or_default();
            u32::from(!names.contains_key(&*word) && known.contains(&Spelling::LOOSE.of(&word)))
        });
        if !alike.contains(&1) {
            return Vec::new();
        }
        let rows = distinct.ids.iter().zip(0..).filter(|(id, _)| alike[**id as usize] == 1);
        rows.map(|(_, row)| row).collect()
    }

    /// The derived column of some rows of its parents.
    pub(crate) fn values(&self, parents: &[&SourceValues], rows: usize) -> SourceValues {
        SourceValues::Named(match (self, parents) {
            (DerivationRule::Bins(bins), [parent]) => {
                let bin = |x: f64| {
                    bins.iter().zip(1..).find(|(bin, _)| bin.contains(x)).map_or(0, |(_, id)| id)
                };
                let names = bins.iter().map(|bin| bin.name.clone()).collect();
                NamedValues { names, ids: parent.numbers().into_iter().map(bin).collect() }
            }
            (DerivationRule::Map { .. }, [parent]) => parent
                .distinct()
                .named(|i| parent.word(i).and_then(|word| self.name(&word).map(str::to_owned))),
            _ => self.crossed(parents, rows),
        })
    }

    fn crossed(&self, parents: &[&SourceValues], rows: usize) -> NamedValues {
        let mut whole: Option<NamedValues> = None;
        for (k, values) in parents.iter().enumerate() {
            let name = |i: usize| values.word(i).map(|word| self.part_name(k, &word).to_owned());
            let part = values.distinct().named(name);
            whole = Some(match whole {
                None => part,
                Some(head) => joined(&head, &part),
            });
        }
        whole.unwrap_or_else(|| NamedValues { names: Vec::new(), ids: vec![0; rows] })
    }
}

/// Both names of each row, joined; each combination is formed once.
fn joined(head: &NamedValues, tail: &NamedValues) -> NamedValues {
    let mut numbers: FastMap<(u32, u32), u32> = FastMap::default();
    let mut names = Vec::new();
    let ids = head.ids.iter().zip(&tail.ids).map(|(&a, &b)| {
        if a == 0 || b == 0 {
            return 0;
        }
        *numbers.entry((a, b)).or_insert_with(|| {
            let (a, b) = (a as usize - 1, b as usize - 1);
            names.push(format!("{}{JOINER}{}", head.names[a], tail.names[b]));
            names.len() as u32
        })
    });
    let ids = ids.collect();
    NamedValues { names, ids }
}

/// A feature that is derived from others; they are kept in the order in which they can be computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DerivedFeature {
    /// Position of the derived column among the features.
    pub feature: usize,
    /// For each parent its position among the features; `None` for a parent that is not a feature.
    ///
    /// Such a parent never changes.
    pub parents: Vec<Option<usize>>,
    /// The rule that derives it.
    pub rule: DerivationRule,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::source::TextIdentity;
    use crate::num::float_precision::FloatPrecision;
    use crate::tests::Says;

    fn derivation(json: &str) -> Derivation {
        serde_json::from_str(json).unwrap()
    }

    fn whole(column: &ColumnName) -> CrossPart {
        CrossPart { column: column.clone(), groups: None }
    }

    fn parent(class: ValueClass) -> SourceColumn {
        SourceColumn {
            name: "parent".to_owned(),
            class,
            precision: FloatPrecision::Double,
            spelling: Spelling::default(),
            identity: TextIdentity::default(),
            read_csv: false,
            kind: None,
        }
    }

    fn rule(json: &str, class: ValueClass) -> DerivationRule {
        DerivationRule::new(
            &ColumnName::new("made").unwrap(),
            &derivation(json).recipe(whole).unwrap(),
            &[&parent(class), &parent(class)],
        )
        .unwrap()
    }

    #[test]
    fn bins_are_open_on_the_left_but_for_the_lowest() {
        let recipe =
            derivation(r#"{"from": "age", "bins": [17, 30, 45.5]}"#).recipe(whole).unwrap();
        assert_eq!(
            recipe.declared_names().iter().map(Word::as_str).collect::<Vec<_>>(),
            ["[17, 30]", "(30, 45.5]"]
        );
        let rule = DerivationRule::new(
            &ColumnName::new("age_band").unwrap(),
            &recipe,
            &[&parent(ValueClass::Int)],
        )
        .unwrap();
        for (x, name) in [
            (16.999, None),
            (17.0, Some("[17, 30]")),
            (30.0, Some("[17, 30]")),
            (30.5, Some("(30, 45.5]")),
            (45.5, Some("(30, 45.5]")),
            (45.6, None),
            (f64::NAN, None),
        ] {
            assert_eq!(rule.name_of_number(x), name, "{x}");
        }
        assert_eq!(rule.name("17.0"), Some("[17, 30]"));
        assert_eq!(rule.name("x"), None);
    }

    #[test]
    fn levels_keep_their_order_and_the_lowest_holds_its_left_edge() {
        let rule = rule(
            r#"{"from": "hours", "levels": {"full": [25, 60], "part": [0, 25], "rest": [80, 99]}}"#,
            ValueClass::Float,
        );
        for (x, name) in [
            (0.0, Some("part")),
            (25.0, Some("part")),
            (25.5, Some("full")),
            (70.0, None),
            (80.0, None),
            (99.0, Some("rest")),
        ] {
            assert_eq!(rule.name_of_number(x), name, "{x}");
        }
    }

    #[test]
    fn maps_compare_words_by_the_type_of_the_column() {
        let rule =
            rule(r#"{"from": "site", "map": {"a": ["1.0", "2"], "b": ["3"]}}"#, ValueClass::Int);
        assert_eq!((rule.name("1"), rule.name("3"), rule.name("4")), (Some("a"), Some("b"), None));
        assert_eq!((rule.name_of_number(2.0), rule.name_of_number(f64::NAN)), (Some("a"), None));
        let values = SourceValues::Int(vec![Some(1), None, Some(3), Some(4)].into());
        let SourceValues::Named(names) = rule.values(&[&values], 4) else { panic!() };
        assert_eq!(names.iter().collect::<Vec<_>>(), [Some("a"), None, Some("b"), None]);
        let twice = derivation(r#"{"from": "site", "map": {"a": ["1"], "b": ["1.0"]}}"#)
            .recipe(whole)
            .unwrap();
        let fault = DerivationRule::new(
            &ColumnName::new("made").unwrap(),
            &twice,
            &[&parent(ValueClass::Int)],
        )
        .unwrap_err();
        fault.to_string().says(&["duplicate-group"]);
        let words = derivation(r#"{"from": "site", "map": {"a": ["x"]}}"#).recipe(whole).unwrap();
        let fault = DerivationRule::new(
            &ColumnName::new("made").unwrap(),
            &words,
            &[&parent(ValueClass::Int)],
        )
        .unwrap_err();
        fault.to_string().says(&["`x` in `map` is not a number"]);
        let bins = derivation(r#"{"from": "site", "bins": [1, 2]}"#).recipe(whole).unwrap();
        let fault = DerivationRule::new(
            &ColumnName::new("made").unwrap(),
            &bins,
            &[&parent(ValueClass::Text)],
        )
        .unwrap_err();
        fault.to_string().says(&["needs bins"]);
    }

    #[test]
    fn a_missing_value_is_not_something_else() {
        let rule = rule(
            r#"{"from": "race", "map": {"White": ["White"]}, "else": "Other"}"#,
            ValueClass::Text,
        );
        let values = SourceValues::Text(vec![Some("White"), None, Some("Black")].into());
        let SourceValues::Named(names) = rule.values(&[&values], 3) else { panic!() };
        assert_eq!(names.iter().collect::<Vec<_>>(), [Some("White"), None, Some("Other")]);
    }

    #[test]
    fn a_cross_calls_groups_as_the_job_does() {
        let groups =
            |texts: &[&str]| Some(texts.iter().map(|t| Word((*t).to_owned())).collect::<Vec<_>>());
        let column = |name: &str| ColumnName::new(name).unwrap();
        let parts = vec![
            CrossPart { column: column("sex"), groups: groups(&["1.0", "0"]) },
            CrossPart { column: column("race"), groups: groups(&["a", "b"]) },
        ];
        let recipe = DerivationRecipe::Cross { parts };
        assert_eq!(
            recipe.declared_names().iter().map(Word::as_str).collect::<Vec<_>>(),
            ["1.0 & a", "1.0 & b", "0 & a", "0 & b"]
        );
        let rule = DerivationRule::new(
            &column("both"),
            &recipe,
            &[&parent(ValueClass::Int), &parent(ValueClass::Text)],
        )
        .unwrap();
        let sex = SourceValues::Int(vec![Some(1), Some(0), Some(7), None].into());
        let race = SourceValues::Text(vec![Some("a"), Some("b"), Some("a"), Some("a")].into());
        let SourceValues::Named(names) = rule.values(&[&sex, &race], 4) else { panic!() };
        // A value that is not a declared group keeps its own word, so that it can be counted.
        assert_eq!(
            names.iter().collect::<Vec<_>>(),
            [Some("1.0 & a"), Some("0 & b"), Some("7 & a"), None]
        );
    }

    #[test]
    fn exactly_one_form() {
        assert_eq!(
            derivation(r#"{"from": "a", "bins": [1, 2], "cross": ["a", "b"]}"#).recipe(whole),
            None
        );
        assert_eq!(derivation(r#"{"from": "a"}"#).recipe(whole), None);
        assert_eq!(derivation(r#"{"bins": [1, 2]}"#).recipe(whole), None);
    }
}
