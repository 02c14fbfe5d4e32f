//! The Adult data set (Census Income): reads the two original files, and makes a stand-in from published counts.
//!
//! Source: UCI Machine Learning Repository, data set 2, DOI 10.24432/C5XW20; Kohavi and Becker 1996, CC BY 4.0. Traps of the files:
//! fields are separated by a comma and a blank, `?` means missing, the test file begins with a comment line and its labels end in a
//! dot, both files end in an empty line.
//!
//! Stand-in: `adult_marginals.json` holds counts over both files by (sex, income). The number of rows of each (split, sex, income) is
//! exact; the other columns are drawn independently of each other from their counts within (sex, income), except that marital status
//! and relationship are drawn as pairs and education follows education-num. fnlwgt is interpolated between its 5 % quantiles.
//! So what a model learns from it about any two of these columns is no finding about people.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use serde::Deserialize;

use crate::error::{Error, Fault, Result};
use crate::num::seed::{h, u01};

/// The columns of the files, as UCI names them, and whether they hold integers. `split` is added.
const COLUMNS: [(&str, bool); 16] = [
    ("age", true),
    ("workclass", false),
    ("fnlwgt", true),
    ("education", false),
    ("education-num", true),
    ("marital-status", false),
    ("occupation", false),
    ("relationship", false),
    ("race", false),
    ("sex", false),
    ("capital-gain", true),
    ("capital-loss", true),
    ("hours-per-week", true),
    ("native-country", false),
    ("income", false),
    ("split", false),
];

/// The seed of the stand-in: the same rows for every job.
const SEED: u64 = 1996;

#[derive(Debug)]
enum Values {
    Int(Vec<i64>),
    Text(Vec<Option<String>>),
}

fn empty() -> Vec<Values> {
    COLUMNS.iter().map(|&(_, integer)| if integer { Values::Int(Vec::new()) } else { Values::Text(Vec::new()) }).collect()
}

fn batch(columns: Vec<Values>) -> Result<RecordBatch> {
    let array = |values: Values| -> ArrayRef {
        match values {
            Values::Int(values) => Arc::new(Int64Array::from(values)),
            Values::Text(values) => Arc::new(StringArray::from(values)),
        }
    };
    let columns = COLUMNS.iter().zip(columns).map(|(&(name, _), values)| (name, array(values), true));
    RecordBatch::try_from_iter_with_nullable(columns)
        .map_err(|e| Error::from(Fault::new("unreadable-value", format!("the rows of `adult` do not fit together: {e}"))))
}

/// The rows of `adult.data` and `adult.test`, train first.
///
/// # Errors
/// A line that is no record of the data set, which a verified checksum rules out.
pub(super) fn read(folder: &Path, data: &[u8], test: &[u8]) -> Result<RecordBatch> {
    let mut columns = empty();
    for (name, bytes, split) in [("adult.data", data, "train"), ("adult.test", test, "test")] {
        let path = folder.join(name);
        for (i, line) in bytes.split(|&b| b == b'\n').enumerate() {
            let wrong =
                || Fault::new("ragged-row", "the line is no record of the data set").in_file(&path).at_row(format!("line {}", i + 1));
            let line = std::str::from_utf8(line).map_err(|_| wrong())?.trim();
            if line.is_empty() || line.starts_with('|') {
                continue;
            }
            let fields: Vec<&str> = line.split(',').map(str::trim).chain([split]).collect();
            if fields.len() != COLUMNS.len() {
                return Err(wrong().into());
            }
            for ((values, &(name, _)), field) in columns.iter_mut().zip(&COLUMNS).zip(fields) {
                let field = if name == "income" { field.trim_end_matches('.') } else { field };
                match values {
                    Values::Int(values) => values.push(field.parse().map_err(|_| wrong().in_column(name))?),
                    Values::Text(values) => values.push((field != "?").then(|| field.to_owned())),
                }
            }
        }
    }
    batch(columns)
}

/// Counts by (sex, income), in the order of `strata`.
#[derive(Deserialize)]
struct Marginals {
    strata: Vec<(String, String)>,
    cells: Cells,
    columns: Columns,
    education: Vec<String>,
    #[serde(rename = "fnlwgt quantiles")]
    fnlwgt: Vec<Vec<i64>>,
}

#[derive(Deserialize)]
struct Cells {
    train: Vec<usize>,
    test: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Columns {
    age: Counts<i64>,
    workclass: Counts<Option<String>>,
    education_num: Counts<i64>,
    #[serde(rename = "marital-status and relationship")]
    family: Counts<(String, String)>,
    occupation: Counts<Option<String>>,
    race: Counts<Option<String>>,
    capital_gain: Counts<i64>,
    capital_loss: Counts<i64>,
    hours_per_week: Counts<i64>,
    native_country: Counts<Option<String>>,
}

#[derive(Deserialize)]
struct Counts<T> {
    values: Vec<T>,
    counts: Vec<Vec<u64>>,
}

impl<T: Clone> Counts<T> {
    /// The value on which `u` falls when the values of a stratum lie side by side, as wide as they are frequent.
    fn draw(&self, stratum: usize, u: f64) -> T {
        let counts = &self.counts[stratum];
        let target = (u * counts.iter().sum::<u64>() as f64) as u64;
        let mut sum = 0;
        let position = counts.iter().position(|&n| {
            sum += n;
            target < sum
        });
        self.values[position.unwrap_or(0)].clone()
    }
}

/// The rows of the stand-in.
///
/// # Errors
/// None that an input could cause.
pub(super) fn stand_in() -> Result<RecordBatch> {
    let marginals: Marginals =
        serde_json::from_str(include_str!("adult_marginals.json")).expect("the counts in the program are well formed");
    let mut columns = empty();
    let mut first = 0;
    for (split, cells) in [("train", &marginals.cells.train), ("test", &marginals.cells.test)] {
        let n: usize = cells.iter().sum();
        // Which rows belong to which (sex, income): in order of their hashes.
        let mut order: Vec<usize> = (first..first + n).collect();
        order.sort_unstable_by_key(|&row| (h(SEED, row as u64, 0), row));
        let mut stratum_of = vec![0; n];
        let strata = cells.iter().enumerate().flat_map(|(stratum, &n)| std::iter::repeat_n(stratum, n));
        order.iter().zip(strata).for_each(|(&row, stratum)| stratum_of[row - first] = stratum);
        for (i, &stratum) in stratum_of.iter().enumerate() {
            let row = draw(&marginals, stratum, split, (first + i) as u64);
            for (values, cell) in columns.iter_mut().zip(row) {
                match (values, cell) {
                    (Values::Int(values), Cell::Int(value)) => values.push(value),
                    (Values::Text(values), Cell::Text(value)) => values.push(value),
                    (Values::Int(_), Cell::Text(_)) | (Values::Text(_), Cell::Int(_)) => unreachable!("`draw` follows `COLUMNS`"),
                }
            }
        }
        first += n;
    }
    batch(columns)
}

enum Cell {
    Int(i64),
    Text(Option<String>),
}

fn draw(marginals: &Marginals, stratum: usize, split: &str, row: u64) -> [Cell; 16] {
    let u = |column: u64| u01(h(SEED, row, column));
    let c = &marginals.columns;
    let (sex, income) = marginals.strata[stratum].clone();
    let (marital, relationship) = c.family.draw(stratum, u(1));
    let education = c.education_num.draw(stratum, u(2));
    let education_name = usize::try_from(education - 1).ok().and_then(|i| marginals.education.get(i)).cloned();
    let quantiles = &marginals.fnlwgt[stratum];
    let at = u(3) * (quantiles.len() - 1) as f64;
    let (lo, share) = (at as usize, at.fract());
    let fnlwgt = quantiles[lo] as f64 + share * (quantiles[lo + 1] - quantiles[lo]) as f64;
    [
        Cell::Int(c.age.draw(stratum, u(4))),
        Cell::Text(c.workclass.draw(stratum, u(5))),
        Cell::Int(fnlwgt as i64),
        Cell::Text(education_name),
        Cell::Int(education),
        Cell::Text(Some(marital)),
        Cell::Text(c.occupation.draw(stratum, u(6))),
        Cell::Text(Some(relationship)),
        Cell::Text(c.race.draw(stratum, u(7))),
        Cell::Text(Some(sex)),
        Cell::Int(c.capital_gain.draw(stratum, u(8))),
        Cell::Int(c.capital_loss.draw(stratum, u(9))),
        Cell::Int(c.hours_per_week.draw(stratum, u(10))),
        Cell::Text(c.native_country.draw(stratum, u(11))),
        Cell::Text(Some(income)),
        Cell::Text(Some(split.to_owned())),
    ]
}
