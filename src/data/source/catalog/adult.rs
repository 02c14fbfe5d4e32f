//! The Adult data set (Census Income): the two original files, and a stand-in from published
//! counts.
//!
//! Source: UCI Machine Learning Repository, data set 2, DOI 10.24432/C5XW20; Kohavi and Becker
//! 1996, CC BY 4.0. Traps of the files: fields are separated by a comma and a blank, `?` means
//! missing, the test file begins with a comment line and its labels end in a dot, both files end in
//! an empty line.
//!
//! Stand-in: `adult_marginals.json` holds counts over both files by (sex, income). The number of
//! rows of each (split, sex, income) is exact; the other columns are drawn independently of each
//! other from their counts within (sex, income), except that marital status and relationship are
//! drawn as pairs and education follows education-num. fnlwgt is interpolated between its 5 %
//! quantiles. So what a model learns from it about any two of these columns says nothing about
//! people.

use std::path::Path;

use arrow::array::RecordBatch;
use serde::Deserialize;

use super::data_set::{PublicDataSet, catalog_columns, catalog_file};
use super::marginals::{MarginalCounts, assign_cells, interpolate_quantiles};
use super::typed::TypedTable;
use crate::error::Result;
use crate::num::seed::{h, u01};

pub(super) const SET: PublicDataSet = PublicDataSet {
    name: "adult",
    title: "Adult (Census Income): 48,842 people, is the yearly income above 50,000 dollars?",
    source: "UCI Machine Learning Repository, DOI 10.24432/C5XW20, CC BY 4.0; cite Kohavi and \
             Becker 1996",
    archives: &["https://archive.ics.uci.edu/static/public/2/adult.zip"],
    members: &[
        catalog_file! {
            "adult.data":
            3_974_305 "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d";
            "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data",
        },
        catalog_file! {
            "adult.test":
            2_003_153 "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05";
            "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.test",
        },
    ],
    columns: catalog_columns! {
        Int: "age"; Text: "workclass"; Int: "fnlwgt"; Text: "education"; Int: "education-num";
        Text: "marital-status" "occupation" "relationship" "race" "sex"; Int: "capital-gain"
        "capital-loss" "hours-per-week"; Text: "native-country" "income" "split";
    },
    push_member,
    stand_in: Some(stand_in),
};

/// The seed of the stand-in: the same rows for every job.
const SEED: u64 = 1996;

/// The rows of `adult.data` and `adult.test`, train first; `split` holds the file of a row.
fn push_member(rows: &mut TypedTable, member: usize, file: &Path, bytes: &[u8]) -> Result<()> {
    rows.push_lines(file, bytes, |line| {
        let fields = line.split(',').map(|field| match field.trim() {
            "?" => "",
            field => field.trim_end_matches('.'),
        });
        (!line.starts_with('|')).then(|| fields.chain([["train", "test"][member]]).collect())
    })
}

/// Counts by (sex, income), in the order of `strata`.
#[derive(Deserialize)]
struct AdultMarginals {
    strata: Vec<(String, String)>,
    cells: AdultCells,
    columns: AdultColumns,
    education: Vec<String>,
    #[serde(rename = "fnlwgt quantiles")]
    fnlwgt: Vec<Vec<i64>>,
}

#[derive(Deserialize)]
struct AdultCells {
    train: Vec<usize>,
    test: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct AdultColumns {
    age: MarginalCounts<i64>,
    workclass: MarginalCounts<Option<String>>,
    education_num: MarginalCounts<i64>,
    #[serde(rename = "marital-status and relationship")]
    family: MarginalCounts<(String, String)>,
    occupation: MarginalCounts<Option<String>>,
    race: MarginalCounts<Option<String>>,
    capital_gain: MarginalCounts<i64>,
    capital_loss: MarginalCounts<i64>,
    hours_per_week: MarginalCounts<i64>,
    native_country: MarginalCounts<Option<String>>,
}

/// The rows of the stand-in.
fn stand_in() -> Result<RecordBatch> {
    let marginals: AdultMarginals = serde_json::from_str(include_str!("adult_marginals.json"))
        .expect("the counts in the program are well formed");
    let mut rows = TypedTable::new(SET.columns);
    let mut row = 0;
    for (split, cells) in [("train", &marginals.cells.train), ("test", &marginals.cells.test)] {
        for stratum in assign_cells(cells, SEED, row) {
            let fields = draw(&marginals, stratum, split, row as u64);
            rows.push(fields.iter().map(String::as_str), |fault| fault)?;
            row += 1;
        }
    }
    rows.finish()
}

fn draw(marginals: &AdultMarginals, stratum: usize, split: &str, row: u64) -> [String; 16] {
    let u = |column: u64| u01(h(SEED, row, column));
    let number =
        |counts: &MarginalCounts<i64>, column: u64| counts.draw(stratum, u(column)).to_string();
    let text = |counts: &MarginalCounts<Option<String>>, column: u64| {
        counts.draw(stratum, u(column)).clone().unwrap_or_default()
    };
    let c = &marginals.columns;
    let (sex, income) = marginals.strata[stratum].clone();
    let (marital, relationship) = c.family.draw(stratum, u(1)).clone();
    let education = *c.education_num.draw(stratum, u(2));
    let education_name =
        usize::try_from(education - 1).ok().and_then(|i| marginals.education.get(i)).cloned();
    [
        number(&c.age, 4),
        text(&c.workclass, 5),
        (interpolate_quantiles(&marginals.fnlwgt[stratum], u(3)) as i64).to_string(),
        education_name.unwrap_or_default(),
        education.to_string(),
        marital,
        text(&c.occupation, 6),
        relationship,
        text(&c.race, 7),
        sex,
        number(&c.capital_gain, 8),
        number(&c.capital_loss, 9),
        number(&c.hours_per_week, 10),
        text(&c.native_country, 11),
        income,
        split.to_owned(),
    ]
}
