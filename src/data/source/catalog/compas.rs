//! The COMPAS two-year data set: reads the published file without names of people; makes a
//! stand-in.
//!
//! Source: ProPublica, repository `propublica/compas-analysis`; the repository states no licence.
//! Traps of the file:
//! - It names real people. `name`, `first`, `last`, `dob` and the case numbers are never imported;
//!   a copy without these columns is accepted as well as the published file.
//! - `decile_score` and `priors_count` occur twice, equal in every row: the second ones are
//!   `decile_score.1`, `priors_count.1`.
//! - Lines end in CRLF, 112 rows have quoted commas, an empty field is missing; `violent_recid` is
//!   empty throughout.
//! - `days_b_screening_arrest` is missing in 307 rows; a missing value must fail ProPublica's
//!   filter, as it does in `keep`.
//! - All 998 people screened after 2014-04-01 have the label 1 (Barenstein 2019): the follow-up of
//!   the others was cut off.
//!
//! Stand-in: `compas_marginals.json` holds counts of the published file. The number of rows of each
//! (race, label, days within 30 of the screening, beyond, or missing) is exact, so ProPublica's
//! filter keeps the published numbers. The other columns are drawn from their counts within (race,
//! label), where races of less than 400 people share one set of counts and rare high values share a
//! band:
//!
//! - sex, c_charge_degree, the three juvenile counts, and (is_recid, is_violent_recid) as pairs:
//!   independently of each other;
//! - age: between 5 % quantiles, whose ends are the 1 % and the 99 % quantile; age_cat follows from
//!   it;
//! - priors_count, decile_score and v_decile_score: at the quantile `Phi(z)` of their counts, with
//!   the linear model `z_priors = 0.26 z_age + e1`, `z_decile = 0.48 z_priors - 0.49 z_age + e2`,
//!   `z_violent = 0.61 z_decile - 0.41 z_age + e3`, where each `z` is standard normal and each `e`
//!   normal with the variance that is left; the coefficients were fitted to normal scores within
//!   (race, label) of the published file. The texts of the scores and the second columns follow
//!   from these.
//!
//! `id` counts from 1. The other columns (days and times, descriptions of charges, custody,
//! survival times) are empty. So a model may learn from it how age, priors and scores are related,
//! and nothing else about people.

use arrow::array::RecordBatch;
use serde::Deserialize;

use super::data_set::{PublicDataSet, catalog_columns, catalog_file};
use super::marginals::{MarginalCounts, assign_cells, interpolate_quantiles};
use super::typed::TypedTable;
use crate::error::Result;
use crate::num::seed::{h, u01};
use crate::num::summary::normal_quantile;

pub(super) const SET: PublicDataSet = PublicDataSet {
    name: "compas",
    title: "COMPAS two-year: 7,214 defendants of Broward County, is there a new arrest within two \
            years?",
    source: "ProPublica, repository propublica/compas-analysis; no licence is stated, so do not \
             pass the file on; it names people, and cfaudit never imports those columns",
    archives: &[],
    members: &[catalog_file! {
        "compas-scores-two-years.csv":
        2_546_489 "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
        // The copy without the columns that name people.
        2_076_659 "a5e5c34bfd2d1f065bb12a44c0323421baf74b98b97d585915a0c2e1513ecaba";
        "https://raw.githubusercontent.com/propublica/compas-analysis/\
         bafff5da3f2e45eca6c2d5055faad269defd135a/compas-scores-two-years.csv",
        "https://raw.githubusercontent.com/propublica/compas-analysis/\
         c062fbb5fa84f6c99d82f432c46b405f3a0ca5ec/compas-scores-two-years.csv",
        "https://raw.githubusercontent.com/propublica/compas-analysis/master/\
         compas-scores-two-years.csv",
    }],
    columns: catalog_columns! {
        Int: "id"; Date: "compas_screening_date"; Text: "sex"; Int: "age"; Text: "age_cat" "race";
        Int: "juv_fel_count" "decile_score" "juv_misd_count" "juv_other_count" "priors_count"
        "days_b_screening_arrest"; Time: "c_jail_in" "c_jail_out"; Date: "c_offense_date"
        "c_arrest_date"; Int: "c_days_from_compas"; Text: "c_charge_degree" "c_charge_desc";
        Int: "is_recid"; Text: "r_charge_degree"; Int: "r_days_from_arrest"; Date: "r_offense_date";
        Text: "r_charge_desc"; Date: "r_jail_in" "r_jail_out"; Text: "violent_recid";
        Int: "is_violent_recid"; Text: "vr_charge_degree"; Date: "vr_offense_date";
        Text: "vr_charge_desc" "type_of_assessment"; Int: "decile_score.1"; Text: "score_text";
        Date: "screening_date"; Text: "v_type_of_assessment"; Int: "v_decile_score";
        Text: "v_score_text"; Date: "v_screening_date" "in_custody" "out_custody";
        Int: "priors_count.1" "start" "end" "event" "two_year_recid";
    },
    push_member: |rows, _, file, bytes| rows.push_csv(file, bytes),
    stand_in: Some(stand_in),
};

/// The seed of the stand-in: the same rows for every job.
const SEED: u64 = 2016;

/// Counts of the published file.
#[derive(Deserialize)]
struct CompasMarginals {
    /// Race, label, and the number of rows with days within 30 of the screening, beyond, and
    /// missing.
    cells: Vec<(String, u8, [usize; 3])>,
    /// (race, label) to which the counts and quantiles below belong, in this order.
    strata: Vec<(String, u8)>,
    columns: CompasColumns,
    /// For days within 30 of the screening, and for those beyond.
    days_b_screening_arrest: MarginalCounts<IntegerBand>,
    #[serde(rename = "age quantiles")]
    age: Vec<Vec<i64>>,
}

/// The integers from the first to the second, drawn evenly.
type IntegerBand = (i64, i64);

#[derive(Deserialize)]
struct CompasColumns {
    sex: MarginalCounts<String>,
    juv_fel_count: MarginalCounts<IntegerBand>,
    juv_misd_count: MarginalCounts<IntegerBand>,
    juv_other_count: MarginalCounts<IntegerBand>,
    priors_count: MarginalCounts<IntegerBand>,
    c_charge_degree: MarginalCounts<String>,
    decile_score: MarginalCounts<i64>,
    v_decile_score: MarginalCounts<i64>,
    #[serde(rename = "is_recid and is_violent_recid")]
    recid: MarginalCounts<(u8, u8)>,
}

/// The rows of the stand-in.
fn stand_in() -> Result<RecordBatch> {
    let marginals: CompasMarginals = serde_json::from_str(include_str!("compas_marginals.json"))
        .expect("the counts in the program are well formed");
    let sizes: Vec<usize> = marginals.cells.iter().flat_map(|(_, _, n)| *n).collect();
    let mut rows = TypedTable::new(SET.columns);
    for (row, cell) in assign_cells(&sizes, SEED, 0).into_iter().enumerate() {
        let (race, label, _) = &marginals.cells[cell / 3];
        let drawn = draw(&marginals, race, *label, cell % 3, row as u64);
        let value = |name: &str| {
            drawn.iter().find(|(column, _)| *column == name).map_or("", |(_, value)| value)
        };
        rows.push(SET.columns.iter().map(|(name, _)| value(name)), |fault| fault)?;
    }
    rows.finish()
}

/// The columns that are not empty.
///
/// `days` is 0 for days within 30 of the screening, 1 for days beyond, 2 for missing.
fn draw(
    marginals: &CompasMarginals,
    race: &str,
    label: u8,
    days: usize,
    row: u64,
) -> Vec<(&'static str, String)> {
    let u = |stream: u64| u01(h(SEED, row, stream));
    // The midpoint of a cell of [0, 1), so that the quantile is finite.
    let normal = |stream: u64| {
        normal_quantile(((h(SEED, row, stream) >> 12) as f64 + 0.5) / (1_u64 << 52) as f64)
    };
    let known = |race: &str| marginals.strata.iter().position(|(r, l)| r == race && *l == label);
    let stratum = known(race).or_else(|| known("any other")).unwrap_or(0);
    let c = &marginals.columns;

    let z_age = normal(1);
    let z_priors = 0.26 * z_age + residual_sd(&[0.26 * 0.26]) * normal(2);
    let z_decile = 0.48 * z_priors - 0.49 * z_age
        + residual_sd(&[0.48 * 0.48, 0.49 * 0.49, -2.0 * 0.48 * 0.49 * 0.26]) * normal(3);
    // The correlation of age and decile score that the lines above imply.
    let r = 0.48 * 0.26 - 0.49;
    let z_violent = 0.61 * z_decile - 0.41 * z_age
        + residual_sd(&[0.61 * 0.61, 0.41 * 0.41, -2.0 * 0.61 * 0.41 * r]) * normal(4);

    let age = (interpolate_quantiles(&marginals.age[stratum], normal_cdf(z_age)) + 0.5) as i64;
    let age_category = match age {
        ..25 => "Less than 25",
        25..45 => "25 - 45",
        45.. => "Greater than 45",
    };
    let drawn = |(from, to): IntegerBand, at: u64| {
        (from + (u(at) * (to - from + 1) as f64) as i64).to_string()
    };
    let priors = drawn(*c.priors_count.draw(stratum, normal_cdf(z_priors)), 5);
    let decile = *c.decile_score.draw(stratum, normal_cdf(z_decile));
    let violent = *c.v_decile_score.draw(stratum, normal_cdf(z_violent));
    let (is_recid, is_violent_recid) = *c.recid.draw(stratum, u(6));
    let window = (days < 2).then(|| drawn(*marginals.days_b_screening_arrest.draw(days, u(7)), 8));
    vec![
        ("id", (row + 1).to_string()),
        ("sex", c.sex.draw(stratum, u(9)).clone()),
        ("age", age.to_string()),
        ("age_cat", age_category.to_owned()),
        ("race", race.to_owned()),
        ("juv_fel_count", drawn(*c.juv_fel_count.draw(stratum, u(10)), 11)),
        ("juv_misd_count", drawn(*c.juv_misd_count.draw(stratum, u(12)), 13)),
        ("juv_other_count", drawn(*c.juv_other_count.draw(stratum, u(14)), 15)),
        ("priors_count", priors.clone()),
        ("priors_count.1", priors),
        ("days_b_screening_arrest", window.unwrap_or_default()),
        ("c_charge_degree", c.c_charge_degree.draw(stratum, u(16)).clone()),
        ("is_recid", is_recid.to_string()),
        ("is_violent_recid", is_violent_recid.to_string()),
        ("type_of_assessment", "Risk of Recidivism".to_owned()),
        ("decile_score", decile.to_string()),
        ("decile_score.1", decile.to_string()),
        ("score_text", score_text(decile).to_owned()),
        ("v_type_of_assessment", "Risk of Violence".to_owned()),
        ("v_decile_score", violent.to_string()),
        ("v_score_text", score_text(violent).to_owned()),
        ("two_year_recid", label.to_string()),
    ]
}

/// The residual standard deviation of a variable with variance 1, given explained parts of it.
fn residual_sd(explained: &[f64]) -> f64 {
    libm::sqrt(1.0 - explained.iter().sum::<f64>())
}

/// The standard normal distribution function, kept below 1.
fn normal_cdf(z: f64) -> f64 {
    (0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)).min(1.0 - f64::EPSILON)
}

fn score_text(decile: i64) -> &'static str {
    match decile {
        ..5 => "Low",
        5..8 => "Medium",
        8.. => "High",
    }
}
