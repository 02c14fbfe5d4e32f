//! What a run leaves behind about single people: planted ids and values are looked for in every
//! file of the output folder and the cache of a job that asks for no rows by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::Float64Type;
use arrow::util::display::array_value_to_string;

use crate::batches::read;
use crate::rows_out::{PEOPLE, SETS, applicants, job};
use crate::work::{Work, column, files, root};

/// How many people share the planted level: fewer than the 5 from which a level may be named.
const PLANTED: usize = 4;

const LEVEL: &str = "Planted-Branch";

fn planted_id(k: usize) -> String {
    format!("Planted-Id-{k}")
}

/// A number that nobody else has, in the middle of the others.
fn planted_income(k: usize) -> f64 {
    3_141.592_653 + k as f64
}

/// The applicants, four of whom stand out by id, branch and income.
fn plant(work: &Work) {
    applicants(work);
    let people = read(&work.path("people.parquet"));
    let text = |name: &str, planted: &dyn Fn(usize) -> String| -> ArrayRef {
        let old = people.column_by_name(name).unwrap().as_string::<i32>();
        let new = (0..PEOPLE).map(|i| match planted_at(i) {
            Some(k) => Some(planted(k)),
            None => old.iter().nth(i).unwrap().map(str::to_owned),
        });
        column(new)
    };
    let old = people.column_by_name("income").unwrap().as_primitive::<Float64Type>();
    let income = (0..PEOPLE).map(|i| planted_at(i).map_or(old.value(i), planted_income));
    let other = |name: &str| people.column_by_name(name).unwrap().clone();
    work.parquet(
        "people.parquet",
        vec![
            ("id", text("id", &planted_id)),
            ("sex", other("sex")),
            ("income", column(income)),
            ("hours", other("hours")),
            ("branch", text("branch", &|_| LEVEL.to_owned())),
            ("paid", other("paid")),
        ],
    );
}

/// Which of the planted people a row is.
fn planted_at(i: usize) -> Option<usize> {
    (i % 150 == 75).then_some(i / 150).filter(|&k| k < PLANTED)
}

/// What was found in a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Found {
    id: bool,
    level: bool,
    income: bool,
}

impl Found {
    fn look(&mut self, text: &str) {
        for k in 0..PLANTED {
            self.id |= text.contains(&planted_id(k));
            // As any text writes it, and as a number of few digits would round it.
            self.income |= text.contains(&format!("{}", planted_income(k)))
                || text.contains(&format!("{:.4}", planted_income(k)));
        }
        self.level |= text.contains(LEVEL);
    }

    fn any(self) -> bool {
        self.id || self.level || self.income
    }
}

/// All texts and numbers of a Parquet file with its metadata, or the bytes of any other.
fn look_into(path: &Path, bytes: &[u8]) -> Found {
    let mut found = Found::default();
    // Names of columns and footers are plain in either.
    found.look(&String::from_utf8_lossy(bytes));
    if path.extension().is_some_and(|e| e == "parquet") {
        let batch = read(path);
        for array in batch.columns() {
            for i in 0..batch.num_rows() {
                found.look(&array_value_to_string(array, i).unwrap());
            }
        }
    }
    found
}

/// By the first word of the stage that wrote it, what is found in the cache.
fn in_cache(work: &Work) -> BTreeMap<String, Found> {
    let mut found: BTreeMap<String, Found> = BTreeMap::new();
    for (name, bytes) in files(&work.path("cache")) {
        let path = work.path("cache").join(&name);
        let about = path.ancestors().map(|folder| folder.join("stage.json")).find(|f| f.exists());
        let stage = about.map_or_else(
            || name.split('/').next().unwrap().to_owned(),
            |about| {
                let about: serde_json::Value =
                    serde_json::from_slice(&fs::read(about).unwrap()).unwrap();
                about["id"].as_str().unwrap().split('/').next().unwrap().to_owned()
            },
        );
        let here = look_into(&path, &bytes);
        let all = found.entry(stage).or_default();
        (all.id, all.level, all.income) =
            (all.id | here.id, all.level | here.level, all.income | here.income);
    }
    found
}

/// The stages that the guide names, each with whether it says that ids, or values, are there.
fn documented() -> BTreeMap<String, [bool; 2]> {
    let guide = fs::read_to_string(root().join("docs/privacy.md")).unwrap();
    let table = guide.split("| Stage | Ids of the source | Values |\n").nth(1).unwrap();
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let mut stages = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let has_ids = cells[1].starts_with("yes");
        let has_values = !cells[2].starts_with("as the output") && !cells[2].starts_with("no");
        for word in cells[0].split(", ") {
            stages.insert(word.trim_matches('`').to_owned(), [has_ids, has_values]);
        }
    }
    stages
}

#[test]
fn nothing_of_a_person_is_left_but_where_the_guide_says_so() {
    let work = Work::new();
    plant(&work);
    let sets = format!("{SETS}\n  wide: {{greedy: {{condition_on: label}}}}");
    job(&work, "job.yaml", &sets, "");
    let ran = work.run(0, "job.yaml", "--log json -v");
    let mut in_log = Found::default();
    in_log.look(&(ran.stderr + &ran.stdout));
    assert!(!in_log.any(), "the log: {in_log:?}");
    let mut n = 0;
    for (name, bytes) in files(&work.path("out")) {
        let found = look_into(&work.path("out").join(&name), &bytes);
        assert!(!found.any(), "out/{name}: {found:?}");
        n += 1;
    }
    assert!(n > 10, "{n} files");
    let documented = documented();
    let mut with_ids = BTreeSet::new();
    for (stage, found) in in_cache(&work) {
        if found.any() {
            let says = documented.get(&stage);
            let [ids, values] = *says.unwrap_or_else(|| panic!("`{stage}` is not in the guide"));
            assert!(ids || !found.id, "`{stage}` holds ids");
            assert!(values || !(found.level || found.income), "`{stage}` holds values: {found:?}");
        }
        if found.id {
            with_ids.insert(stage);
        }
    }
    assert_eq!(with_ids, BTreeSet::from(["prepare".to_owned()]), "what the test can see");
    // The search finds what is there: the same run with rows by name.
    job(&work, "job.yaml", &sets, "run: {keep_rows: all}");
    work.run(0, "job.yaml", "");
    let name = "rows/counterfactuals/world/part-00000.parquet";
    let bytes = fs::read(work.path("out").join(name)).unwrap();
    let found = look_into(&work.path("out").join(name), &bytes);
    assert!(found.id && found.level, "{found:?}");
}

/// Levels of few people are one bar, with their number, and the others stand by name.
#[test]
fn levels_of_few_people_are_told_together() {
    let work = Work::new();
    plant(&work);
    job(&work, "job.yaml", "  wide: {greedy: {condition_on: label}}", "");
    work.run(0, "job.yaml", "");
    let table = work.table("cf_distributions");
    let levels: BTreeSet<&str> = table.of("feature=branch").map(|row| row.text("level")).collect();
    assert_eq!(levels, BTreeSet::from(["(rare)", "north", "south"]));
    let rare: i64 = table.of("level=(rare), side=original").map(|row| row.int("n").unwrap()).sum();
    assert!((1..=PLANTED as i64).contains(&rare), "{rare}");
    assert!(!work.read("out/annex.html").contains(LEVEL));
}
