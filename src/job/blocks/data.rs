//! The block `data`: rows, label, sensitive attributes, features, split.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::column::declared::DeclaredType;
use crate::data::prepare::derive::Derivation;
use crate::data::prepare::params::{DuplicateRule, KeepStep, MissingBlock, OrdinalOrder};
use crate::data::rows::split::{SplitDraw, SplitShares, Stratification};
use crate::data::source::csv_import::CsvBlock;
use crate::data::source::found_files::Arrival;
use crate::data::source::row_program::RowProgramBlock;
pub use crate::data::source::side_table::JoinBlock;
use crate::data::source::synthetic::SyntheticBlock;
use crate::data::spelling::{LetterCase, Spelling};
use crate::job::blocks::words::{CodeNames, DecisionWordsBlock};
pub use crate::metric::value::settings::FavourableClass;
use crate::param::{ColumnName, Count, Finite, Name, Word};
use crate::recourse::knobs::RecourseBins;

/// The rows and the roles of their columns. A column that is not named here, and by no model, never
/// travels on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataBlock {
    /// Where the rows come from.
    pub rows: RowsBlock,
    /// Column that identifies a row (integers or text, unique). Default: the row number of the
    /// source is used.
    pub row_id: Option<ColumnName>,
    /// Column that says whose row it is, where a person may have several (integers or text): an
    /// admission per row, for example. Rows of a person are not independent cases: intervals, gates
    /// and comparisons take the person as their unit, `enough`, `min_group_size` and
    /// `min_denominator` count persons, and splits and folds keep all rows of a person together.
    /// Counts stay counts of rows, with persons next to them; `recourse` and `why` take one row of
    /// each person, drawn by the seed. Default: each row is a person.
    pub person: Option<ColumnName>,
    /// Side tables by name, whose columns are joined to the rows by a key: protected attributes
    /// often are in a separate file. Joined columns behave as columns of the rows.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub join: IndexMap<Name, JoinBlock>,
    /// Columns made of others, in order; each may be made of columns above it. They behave as
    /// columns of the rows in every later role, and are computed again where a counterfactual
    /// changes what they are made of. Their names are new: none is that of a column of the rows.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub derive: IndexMap<ColumnName, Derivation>,
    /// What happens to rows that equal an earlier one in every column that the job names, but for
    /// `row_id` and the column that splits. They are searched after the filters of `keep`.
    #[serde(default)]
    pub duplicates: DuplicateRule,
    /// Filters in order; the report shows the rows lost by each. A missing value fails every
    /// condition but `missing`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<KeepStep>,
    /// The label, or `none`.
    pub label: LabelRole,
    /// Which prediction people want, of a job with `label: none`; of a label its key `favourable`
    /// says so. Default: the job names no side, the report says positive and negative, and
    /// `denied_by_group`, `favoured_by_group` and gates with `harm_to` are not to be asked.
    pub favourable: Option<FavourableClass>,
    /// The rows whose distributions strategies learn. Default: the training rows; where none
    /// does, those that are audited.
    pub reference: Option<ReferenceBlock>,
    /// Column that says how many people a row represents: finite, 0 or above, not 0 everywhere.
    /// Default: one each. Training, metrics, intervals and gates take every person so often;
    /// numbers of people and recourse do not. `min_group_size`, `min_denominator` and `enough`
    /// count people whose weight is above 0, each once.
    pub weight: Option<ColumnName>,
    /// Sensitive attributes by name.
    #[schemars(extend("x-least" = "add one, such as `sex: {groups: [Male, Female], \
        reference: Male}`"))]
    pub sensitive: IndexMap<ColumnName, SensitiveBlock>,
    /// Feature columns by kind.
    #[serde(default)]
    pub features: FeaturesBlock,
    /// What the job says about single columns, by name.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub columns: IndexMap<ColumnName, ColumnBlock>,
    /// What codes mean, by column and code: the page writes `no credits taken` in place of `A30`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(extend("x-filled" = "write the words, or remove the key"))]
    pub names: CodeNames,
    /// What happens to missing values, per kind of column.
    #[serde(default)]
    pub missing: MissingBlock,
    /// Bins of columns of numbers, in which recourse refers to subgroups and actions:
    /// `{age: [17, 26, 34]}`, or named ones. Nothing else reads them.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub bins: IndexMap<ColumnName, RecourseBins>,
    /// Which rows train and which are audited. Default: every row is audited, and no model can be
    /// trained here.
    pub split: Option<SplitBlock>,
}

/// What the job says about one column: its type, or a map.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-short" = "type", "x-is" = "`text`, `number`, `integer`, `boolean`, `percent` \
    or `date`, or a map with `type`"))]
pub struct ColumnBlock {
    /// The type of its values, in the rows, the reference and side tables that have such a column:
    /// `text` (ids of any length and codes such as `01067` stay as they stand), `number`,
    /// `integer`, `boolean`, `percent` (`54.2 %` is 54.2) or `date`. A value that is none of the
    /// type ends the run. Default: of a Parquet column its own type, of a column of text files the
    /// narrowest of integers, numbers and text.
    #[serde(rename = "type")]
    pub kind: Option<DeclaredType>,
    /// Whether only whole numbers make sense in a continuous column, so that counterfactuals hold
    /// no others. Default: where all values are whole, of `data.reference` where the job names
    /// one, else of the rows that are kept.
    pub integer: Option<bool>,
    /// Whether blanks around the texts of the column are taken off as soon as they are read, and
    /// texts of only blanks are missing. Labels, groups, levels and keys are compared without these
    /// blanks in any case; expressions see them unless they are taken off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trim: bool,
    /// `fold`: capital letters become small ones as soon as the column is read, so that `W` is `w`.
    /// Words of the job for this column may be written either way.
    #[serde(default, skip_serializing_if = "LetterCase::is_kept")]
    pub case: LetterCase,
}

impl ColumnBlock {
    /// Whether only whole numbers make sense, as the job says it by itself or by the type.
    pub fn is_integer(&self) -> Option<bool> {
        self.integer.or((self.kind == Some(DeclaredType::Integer)).then_some(true))
    }

    /// How the texts of the column are spelt.
    pub fn spelling(&self) -> Spelling {
        Spelling { trim: self.trim, case: self.case }
    }
}

/// Where the rows come from: exactly one source.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowsBlock {
    /// A Parquet file, a glob, or a folder of `key=value` folders; or a list of files.
    #[schemars(extend("x-filled" = "name a file or a glob", "x-address" = "object"))]
    pub parquet: Option<ParquetRows>,
    /// A text file with one row per line.
    pub csv: Option<CsvBlock>,
    /// A public data set that cfaudit knows: its addresses, checksums, columns and traps.
    pub catalog: Option<CatalogRows>,
    /// Rows made by a seeded generator.
    pub synthetic: Option<SyntheticBlock>,
    /// A program that writes the rows, such as a query of a database. It runs once in each `check`,
    /// `data` and run; its rows are copied into the cache and known by their hash.
    pub command: Option<RowProgramBlock>,
    /// Rows that an engine such as Spark passes to the workers of a plan, part by part; the text
    /// names them, such as table and version, and is in the manifest.
    #[schemars(extend("x-filled" = "name what the engine passes on, such as table and version"))]
    pub stream: Option<String>,
    /// Next to `parquet` or `csv`: a pattern that matches nothing is no error, the run ends with 4
    /// and waits; so it does for a young Parquet file that cannot be read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wait: bool,
    /// Next to `parquet` or `csv`: a file that is written last into the folder of the rows, such
    /// as `_SUCCESS`. As long as it is not there, the run ends with 4 and waits.
    #[schemars(extend("x-filled" = "write `complete: _SUCCESS`"))]
    pub complete: Option<String>,
}

/// A source of rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RowSource<'a> {
    /// Files of Parquet.
    Parquet(&'a ParquetRows),
    /// Text files.
    Csv(&'a CsvBlock),
    /// A public data set.
    Catalog(&'a CatalogRows),
    /// Generated rows.
    Synthetic(&'a SyntheticBlock),
    /// Rows that a program writes.
    Command(&'a RowProgramBlock),
    /// Rows that an engine passes on, by name.
    Stream(&'a str),
}

/// The keys of the sources of rows.
pub(crate) const ROW_SOURCES: &[&str] =
    &["parquet", "csv", "catalog", "synthetic", "command", "stream"];

impl RowsBlock {
    /// Every source that the block names, each with its key; in a checked job there is one.
    pub fn sources(&self) -> Vec<(&'static str, RowSource<'_>)> {
        let RowsBlock { parquet, csv, catalog, synthetic, command, stream, wait: _, complete: _ } =
            self;
        let sources = [
            parquet.as_ref().map(RowSource::Parquet),
            csv.as_ref().map(RowSource::Csv),
            catalog.as_ref().map(RowSource::Catalog),
            synthetic.as_ref().map(RowSource::Synthetic),
            command.as_ref().map(RowSource::Command),
            stream.as_deref().map(RowSource::Stream),
        ];
        let named = ROW_SOURCES.iter().zip(sources);
        named.filter_map(|(key, source)| Some((*key, source?))).collect()
    }

    /// The source of a checked job.
    pub fn source(&self) -> Option<RowSource<'_>> {
        self.sources().into_iter().next().map(|(_, source)| source)
    }
}

/// The blocks whose files may be waited for.
macro_rules! arriving {
    ($($block:ident),+) => {$(impl $block {
        /// When its files are complete.
        pub(crate) fn arrival(&self) -> Arrival<'_> {
            Arrival { wait: self.wait, complete: self.complete.as_deref() }
        }
    })+};
}

arriving!(RowsBlock, JoinBlock, ReferenceBlock);

/// Files of Parquet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("x-is" = "a path or a glob, or a map with `files`"))]
pub enum ParquetRows {
    /// A file, a glob, or a folder of `key=value` folders.
    Pattern(String),
    /// The files that a list names.
    List(FileList),
}

/// A list of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileList {
    /// A text file with one path a line: the files of one snapshot of a table. Blank lines and
    /// lines that begin with `#` are skipped.
    #[schemars(extend("x-address" = "local"))]
    pub files: String,
}

/// A public data set: its name, or a map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-short" = "name",
    "x-is" = "the name of a catalog data set, or a map with `name`"))]
pub struct CatalogRows {
    /// Its name in the catalog.
    pub name: String,
    /// What to do where it is neither in the data folder nor to be downloaded.
    #[serde(default)]
    pub when_unreachable: WhenUnreachable,
}

/// What to do where a catalog data set is neither in the data folder nor to be downloaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenUnreachable {
    /// End with status 3 and say where to put which file.
    #[default]
    Fail,
    /// Go on with the catalog's generated stand-in; every output is marked `stand-in data`.
    StandIn,
}

/// The label, or `none`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend(
    "x-is" = "`none`, `{amount: COLUMN}`, or a map with `column`, `positive` and `favourable`"
))]
pub enum LabelRole {
    /// There is no label: families that need one are refused.
    None,
    /// A column of the amounts that were observed in the end, such as the claims behind a premium,
    /// next to models whose outcome is an amount. They count as positive above
    /// `metrics.clarify.positive_above`. A row without a number there has no label.
    Amount(ColumnName),
    /// A column with its positive values.
    #[serde(untagged)]
    Column(LabelColumn),
}

/// The label column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelColumn {
    /// The column.
    pub column: ColumnName,
    /// Values that count as positive: the P of CP, SN, PSR. All other values are negative. Never
    /// guessed from the order of values. With `classes` they say what is favourable, and what
    /// strategies and strata of the split take for the positive label.
    #[schemars(extend("minItems" = 1, "x-noun" = "value that counts as positive"))]
    pub positive: Vec<Word>,
    /// Values that count as negative. With them the list of values is closed: a row with any other
    /// value ends the run, which names it. Default: all values that are not positive.
    #[schemars(extend("minItems" = 1, "x-noun" = "value that counts as negative"))]
    pub negative: Option<Vec<Word>>,
    /// The values of a label of several classes, each a separate class, as models predict them: a
    /// score per class, of which the highest decides; of equal scores that of the class named
    /// first. The list is closed: a row with any other value ends the run, which names it.
    #[schemars(extend("minItems" = 1, "x-noun" = "class"))]
    pub classes: Option<Vec<Word>>,
    /// Which side people want; decides the words of the report.
    pub favourable: FavourableClass,
    /// What the two decisions are called on the page.
    #[schemars(extend("x-filled" = "write the words, or remove the key"))]
    pub words: Option<DecisionWordsBlock>,
}

impl LabelRole {
    /// The label column, unless there is none.
    pub fn column(&self) -> Option<&LabelColumn> {
        match self {
            LabelRole::None | LabelRole::Amount(_) => None,
            LabelRole::Column(column) => Some(column),
        }
    }

    /// The column that it names, of values or of amounts.
    pub fn named_column(&self) -> Option<&ColumnName> {
        match self {
            LabelRole::None => None,
            LabelRole::Amount(column) => Some(column),
            LabelRole::Column(label) => Some(&label.column),
        }
    }

    /// This block without the words of the page, which change no number.
    #[must_use]
    pub fn without_words(&self) -> LabelRole {
        match self {
            LabelRole::Column(column) => {
                LabelRole::Column(LabelColumn { words: None, ..column.clone() })
            }
            LabelRole::None | LabelRole::Amount(_) => self.clone(),
        }
    }
}

/// Rows whose distributions strategies learn: a file with the columns that the features and the
/// sensitive attributes are derived from. It is taken whole, without the filters of `keep`; the
/// rules for missing values are those of the rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReferenceBlock {
    /// A Parquet file, a glob, or a folder of `key=value` folders.
    #[schemars(extend("x-filled" = "name a file or a glob", "x-address" = "object"))]
    pub parquet: String,
    /// Whether a pattern that matches nothing is waited for, as of `data.rows`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wait: bool,
    /// A file that is written last into the folder, as of `data.rows`.
    #[schemars(extend("x-filled" = "write `complete: _SUCCESS`"))]
    pub complete: Option<String>,
    /// Its label column. Default: that of `data.label`, if there is one.
    pub label: Option<ColumnName>,
    /// The values of its label that count as positive. Default: those of `data.label`; without
    /// one, 1 of a column that holds 0 and 1.
    #[schemars(extend("minItems" = 1, "x-noun" = "value that counts as positive"))]
    pub positive: Option<Vec<Word>>,
}

/// A sensitive attribute: its groups, and which of them the others are compared with. Its groups
/// are values of a column, or they are derived in place by one of `map`, `bins`, `levels` and
/// `cross`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SensitiveBlock {
    /// The column; default: the column named like the attribute. With `map`, `bins` and `levels`
    /// it must be named.
    pub from: Option<ColumnName>,
    /// Groups with the values that belong to each: `{White: [White], Asian: [Chinese, Indian]}`.
    /// Other values belong to no group, and are counted, unless `else` names one.
    #[schemars(extend("x-least" = "name groups with their values, such as `{White: [White]}`"))]
    pub map: Option<IndexMap<Word, Vec<Word>>>,
    /// The group of all values that `map` does not name. A missing value belongs to no group.
    #[serde(rename = "else")]
    pub otherwise: Option<Word>,
    /// Edges of bins, ascending: `[17, 30, 45]` gives the groups `[17, 30]` and `(30, 45]`.
    pub bins: Option<Vec<Finite>>,
    /// Bins with their own names: `{young: [17, 30], old: [30, 120]}`, each `(lo, hi]`, the
    /// lowest with its left edge.
    #[schemars(extend("x-least" = "name bins, such as `{PartTime: [0, 25], FullTime: [25, 60]}`"))]
    pub levels: Option<IndexMap<Word, [Finite; 2]>>,
    /// Attributes above this one whose groups are joined: `[sex, age_band]` gives the groups
    /// `Male & (30, 45]`, ...
    #[schemars(extend("minItems" = 1, "x-noun" = "column to cross"))]
    pub cross: Option<Vec<ColumnName>>,
    /// The groups to compare, at least two. Rows with other values are counted and named, never
    /// dropped in silence. May be left out where the groups are derived: all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("minItems" = 1, "x-noun" = "group to compare with another"))]
    pub groups: Vec<Word>,
    /// The group that differences and ratios start from. May be left out for a cross of attributes:
    /// the cross of their references.
    pub reference: Option<Word>,
    /// What the page calls the attribute, such as `race` for a column `race2`.
    #[schemars(extend("x-filled" = "write the words, or remove the key"))]
    pub called: Option<String>,
    /// What the page calls the people of a group, in the plural: `{Male: men, Female: women}`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(extend("x-filled" = "write the words, or remove the key"))]
    pub words: IndexMap<Word, String>,
}

/// Feature columns by kind; the kind decides how strategies, models and recourse treat a column.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeaturesBlock {
    /// Numbers with distances.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub continuous: Vec<ColumnName>,
    /// Ordered values: `ascending` for numbers, or the list of levels from low to high.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub ordinal: IndexMap<ColumnName, OrdinalOrder>,
    /// Levels without an order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nominal: Vec<ColumnName>,
    /// Groups of 0/1 columns that represent one nominal feature each: a name of yours, and the
    /// columns. Models read the columns; strategies move the group as one feature, so that no row
    /// gets two of its levels, or none.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub onehot: IndexMap<ColumnName, Vec<ColumnName>>,
    /// Columns that are known and left out on purpose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<ColumnName>,
}

/// Which rows train and which are audited: one of `column` with `train` and `audit`, `share`, or
/// `folds`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitBlock {
    /// Column whose values decide.
    pub column: Option<ColumnName>,
    /// Values of `column` that train.
    #[schemars(extend("minItems" = 1, "x-noun" = "value of the column"))]
    pub train: Option<Vec<Word>>,
    /// Values of `column` that are audited.
    #[schemars(extend("minItems" = 1, "x-noun" = "value of the column"))]
    pub audit: Option<Vec<Word>>,
    /// Shares drawn by the seed; they sum to 1.
    pub share: Option<SplitShares>,
    /// How `share` is drawn. Default: `rank`. `hash` has no strata, keeps the side of each row when
    /// rows are added, and works in shards.
    #[serde(default, skip_serializing_if = "SplitDraw::is_rank")]
    pub by: SplitDraw,
    /// Number of folds, at least 2: every row is audited once, by models fitted on the other folds.
    #[schemars(extend("minimum" = 2, "x-code" = "bad-split",
        "x-range" = "a number of folds from 2 on; 5 is usual"))]
    pub folds: Option<Count>,
    /// Within which strata rows are drawn (with `share` and `folds`). Default: `label-and-group`,
    /// or `none` without a label.
    pub stratify: Option<Stratification>,
}
