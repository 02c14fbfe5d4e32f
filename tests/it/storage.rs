//! The same numbers stored in two ways are the same data.

use arrow::array::ArrayRef;
use cfaudit::num::seed::{h, u01};

use crate::work::{Says, Work, assert_same, column};

/// Writes 3,000 people; whole numbers as integers or as decimals.
fn people(work: &Work, name: &str, as_integers: bool) {
    let all = || 0..3000_u64;
    let whole = |of: &dyn Fn(u64) -> i64| -> ArrayRef {
        match as_integers {
            true => column(all().map(of)),
            false => column(all().map(|i| of(i) as f64)),
        }
    };
    let draw = |i: u64, k: u64| u01(h(5, i, k));
    let man = |i: u64| i64::from(draw(i, 1) < 0.5);
    let age = |i: u64| 20 + (draw(i, 2) * 40.0) as i64;
    let children = |i: u64| (draw(i, 3) * 4.0) as i64 + man(i);
    let paid = |i: u64| {
        i64::from(draw(i, 4) < 0.2 + 0.01 * (age(i) - 20) as f64 + 0.05 * children(i) as f64)
    };
    work.parquet(
        &format!("{name}.parquet"),
        vec![
            ("sex", whole(&man)),
            ("age", whole(&age)),
            ("children", whole(&children)),
            ("job", column(all().map(|i| if draw(i, 6) < 0.4 { "a" } else { "b" }))),
            ("grade", whole(&|i| (draw(i, 7) * 5.0) as i64)),
            ("paid", whole(&paid)),
        ],
    );
    work.write(
        &format!("{name}.yaml"),
        &format!(
            "cfaudit: 1\nname: storage\ndata:\n  rows: {{parquet: {name}.parquet}}\n  label: \
             {{column: paid, positive: [1], favourable: positive}}\n  sensitive: {{sex: {{groups: \
             [\"1\", \"0\"], reference: \"1\"}}}}\n  features: {{continuous: [age, children], \
             nominal: [job], ordinal: {{grade: ascending}}}}\n  split: {{share: {{train: 0.5, \
             audit: 0.5}}}}\n\
             counterfactuals:\n  typical: {{greedy: {{condition_on: label}}}}\n  carried: \
             {{transport: {{move: all, condition_on: label, image: barycentre}}}}\n\
             models: {{m: {{logistic: {{l2: 1.0}}}}}}\nmetrics: {{bootstrap: {{samples: 200}}}}\n"
        ),
    );
}

#[test]
fn integers_and_decimals_of_the_same_numbers_give_the_same_tables() {
    let work = Work::new();
    let tables = |name: &str, more: &str| {
        work.cfaudit(0, &format!("run {name}.yaml --out {name} --cache cache {more}"));
        let mut found = crate::work::results(&work.path(name));
        found.retain(|file, _| file.starts_with("tables/"));
        found
    };
    people(&work, "integers", true);
    people(&work, "decimals", false);
    let integers = tables("integers", "");
    assert_same(&integers, &tables("decimals", ""), "stored as integers and as decimals");
    let issues = work.table("decimals/issues");
    let issue = issues.at("code=whole-numbers");
    issue.text("text").says(&["`age`, `children`"]);
    issue.holds("n=2");
    let why = "because all values are whole in the rows from which sets learn; `data.columns.NAME";
    issue.text("text").says(&[why]);
    // Where the job says so they have decimals in both.
    let free = "--set data.columns.children.integer=false";
    let decimals = tables("decimals", free);
    assert_same(&tables("integers", free), &decimals, "with decimals");
    assert_ne!(integers["tables/cf_features.parquet"], decimals["tables/cf_features.parquet"]);
    work.cfaudit(2, "check decimals.yaml --no-data --set data.columns.job.integer=true")
        .says(&["no continuous feature is called `job`"]);
}
