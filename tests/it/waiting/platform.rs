//! The platform of the user: a day of decisions, and the scores that it gives to the rows of a
//! request.

use std::path::Path;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::compute::take_record_batch;
use arrow::datatypes::{Float64Type, Int64Type};

use super::JOB;
use crate::batches::{answered, read_folder, write};
use crate::work::{Work, column, draw};

pub(super) const DECISIONS: i64 = 400;

pub(super) const REGIONS: [&str; 3] = ["north", "south", "east"];

/// What the platform knows of a row.
struct Applicant<'a> {
    sex: &'a str,
    region: &'a str,
    income: f64,
    utilisation: Option<f64>,
    open_accounts: i64,
    channel: &'a str,
}

/// A scoring platform with one version of its model.
pub(super) struct Platform {
    /// What being male adds to a score.
    pub(super) bonus: f64,
}

/// The model that made the decisions.
pub(super) const LIVE: Platform = Platform { bonus: 0.04 };

impl Platform {
    fn score(&self, a: &Applicant<'_>) -> f64 {
        let mut score = 0.1 + a.income / 100_000.0
            - 0.2 * a.utilisation.unwrap_or(0.5)
            - 0.01 * a.open_accounts as f64;
        score += if a.sex == "male" { self.bonus } else { 0.0 };
        score += if a.region == "east" { -0.03 } else { 0.0 };
        score += if a.channel == "branch" { 0.02 } else { 0.0 };
        score.clamp(0.0, 1.0)
    }

    /// The scores of rows that hold the features.
    pub(super) fn scores(&self, rows: &RecordBatch) -> Vec<f64> {
        let text = |name: &str, i: usize| {
            let array = rows.column_by_name(name).unwrap().as_string::<i32>();
            if array.is_null(i) { "" } else { array.value(i) }
        };
        let real = |name: &str, i: usize| {
            let array = rows.column_by_name(name).unwrap().as_primitive::<Float64Type>();
            (!array.is_null(i)).then(|| array.value(i))
        };
        let score = |i: usize| {
            self.score(&Applicant {
                sex: text("sex", i),
                region: text("region", i),
                income: real("income", i).unwrap(),
                utilisation: real("utilisation", i),
                open_accounts: rows
                    .column_by_name("open_accounts")
                    .unwrap()
                    .as_primitive::<Int64Type>()
                    .value(i),
                channel: text("channel", i),
            })
        };
        (0..rows.num_rows()).map(score).collect()
    }

    /// Reads the rows to score and gives the lines of the file that answers them, last row first:
    /// the order is free.
    pub(super) fn answer(&self, to_score: &Path) -> RecordBatch {
        let rows = read_folder(to_score);
        let lines = answered(&rows, "score", column(self.scores(&rows)));
        take_record_batch(&lines, &Int64Array::from_iter_values((0..lines.num_rows() as i64).rev()))
            .unwrap()
    }
}

/// The applicants, some without a sex or with one that the job does not name, and the scores that
/// decided.
pub(super) fn decisions() -> RecordBatch {
    let rows = || 0..DECISIONS;
    let sex = |i: i64| match i % 40 {
        7 => None,
        8 => Some("diverse"),
        _ if draw(i, 2) < 0.5 => Some("female"),
        _ => Some("male"),
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("application_id", column(rows().map(|i| format!("A-{:05}", 7 * i % 100_000)))),
        ("sex", column(rows().map(sex))),
        ("region", column(rows().map(|i| REGIONS[(draw(i, 3) * 3.0) as usize]))),
        ("age", column(rows().map(|i| 18 + (draw(i, 5) * 60.0) as i64))),
        ("income", column(rows().map(|i| 20_000.0 + 80_000.0 * draw(i, 6)))),
        ("employment_years", column(rows().map(|i| (draw(i, 7) * 30.0).floor()))),
        ("utilisation", column(rows().map(|i| (i % 50 != 3).then(|| draw(i, 8))))),
        ("open_accounts", column(rows().map(|i| (draw(i, 10) * 9.0) as i64))),
        ("channel", column(rows().map(|i| ["web", "branch"][(draw(i, 11) * 2.0) as usize]))),
        ("purpose", column(rows().map(|i| ["car", "home", "other"][(draw(i, 17) * 3.0) as usize]))),
        ("cutoff", column(rows().map(|i| if i % 2 == 0 { 0.4 } else { 0.45 }))),
    ];
    let plain = RecordBatch::try_from_iter_with_nullable(
        columns.iter().map(|(name, array)| (*name, array.clone(), true)),
    )
    .unwrap();
    let score: ArrayRef = column(LIVE.scores(&plain));
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().chain([("score", score)]).map(|(name, array)| (name, array, true)),
    )
    .unwrap()
}

/// What the shipped job has next to the set `flip`.
const WORLD: [(&str, &str); 3] = [
    (
        "  reference: {parquet: \"lake/training/${vars.model_version}.parquet\", label: outcome}   \
         # the distributions that `world` learns\n",
        "",
    ),
    (
        "  world:\n    plausible: {move: [income, employment_years, utilisation], condition_on: \
         {prediction: live}, threshold: 0.5, depth: 1}\n",
        "",
    ),
    ("counterfactual: world", "counterfactual: flip"),
];

/// A working folder with a day of decisions in two files, and the shipped job with only the set
/// `flip`: what is asked and answered is then known without another program.
pub(super) fn lake() -> Work {
    let work = whole_lake();
    work.edit(JOB, JOB, &WORLD);
    work
}

/// A working folder with the shipped job, a day of decisions in two files, and the rows that the
/// model learnt from.
pub(super) fn whole_lake() -> Work {
    let work = Work::with_jobs();
    let learnt = decisions();
    let outcome: ArrayRef = column((0..DECISIONS).map(|i| i64::from(draw(i, 13) < 0.6)));
    let columns = learnt
        .schema()
        .fields()
        .iter()
        .zip(learnt.columns())
        .map(|(f, c)| (f.name().clone(), c.clone()))
        .collect::<Vec<_>>();
    let columns = columns
        .into_iter()
        .chain([("outcome".to_owned(), outcome)])
        .map(|(name, array)| (name, array, true));
    write(
        &work.path("lake/training/7.3.parquet"),
        &RecordBatch::try_from_iter_with_nullable(columns).unwrap(),
    );
    let all = decisions();
    for (name, from, n) in
        [("part-0.parquet", 0, 150), ("part-1.parquet", 150, all.num_rows() - 150)]
    {
        write(&work.path("lake/decisions/asof=2026-11-20").join(name), &all.slice(from, n));
    }
    work
}
