//! External counterfactuals: the same numbers as from a set of the program, values that are copied
//! where the file has no column, and each mistake with its file and row.

use std::collections::BTreeMap;
use std::fs::{self, File};

use arrow::array::{
    ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray,
};
use arrow::datatypes::{Float64Type, Schema};
use arrow::ipc::reader::StreamReader;

use crate::batches::{read, write, write_stream};
use crate::rows_out::{PEOPLE, SETS, applicants, draw, job};
use crate::work::{Rows, Says, Work, array, column, documented};

const WORLD: &str = "out/rows/counterfactuals/world/part-00000.parquet";

/// The file that a set of the program writes gives the same tables as an external set.
#[test]
fn our_own_set_brought_back_gives_the_same_metrics() {
    for keep_within in ["", "\n      keep_within: {centroid_sd: 1.5}"] {
        let work = Work::new();
        applicants(&work);
        let families = "  families: [performance, group, ccm, eccm, shift, clarify, cf_quality]\n";
        let rest = format!("{families}run: {{keep_rows: all}}");
        job(&work, "ours.yaml", &format!("{SETS}{keep_within}"), &rest);
        work.run(0, "ours.yaml", "");
        let ours = work.results();
        fs::copy(work.path(WORLD), work.path("mine.parquet")).unwrap();
        let sets = format!(
            "  flip: {{naive: {{}}}}\n  world:\n    external:\n      parquet: mine.parquet\n      \
             condition_on: label{keep_within}"
        );
        job(&work, "theirs.yaml", &sets, &rest);
        work.run(0, "theirs.yaml", "");
        let theirs = work.results();
        for table in ["metrics", "counts", "score_shift", "groups"] {
            let name = format!("tables/{table}.parquet");
            assert!(ours[&name] == theirs[&name], "{table}");
        }
        for name in ["rows/outcomes.parquet", &WORLD[4..]] {
            assert!(ours[name] == theirs[name], "{name}");
        }
        let page = String::from_utf8(theirs["annex.html"].clone()).unwrap();
        page.says(&["Takes the counterfactuals that the job brings with it"]);
    }
}

/// Rows and counterfactuals of 32 bits give the tables of those of 64: a value that the file repeats
/// has not moved, and lies in the bin of its person.
#[test]
fn values_of_32_bits_are_those_of_the_rows() {
    let value = |i: i64| [0.1, 0.3, 0.7][(i % 3) as usize];
    let group = |i: i64| if i % 2 == 0 { "a" } else { "b" };
    let people = Rows::of(0..90_i64).with("id", |i| i).with("g", group).with("y", |i| i % 5 / 3);
    let made = Rows::of(0..90_i64).with("row_id", |i| i).with("to_group", |i| group(i + 1));
    let job = "cfaudit: 1\nname: ext\ndata:\n  rows: {parquet: people.parquet}\n  row_id: id\n  \
               split: {share: {train: 0.5, audit: 0.5}}\n  label: {column: y, positive: [1], \
               favourable: positive}\n  derive: {band: {from: x, bins: [0, 0.1, 0.3, 1]}}\n  \
               sensitive: {g: {groups: [a, b], reference: a}}\n  features: {continuous: [x], \
               nominal: [band]}\ncounterfactuals: {mine: {external: {parquet: mine.parquet, \
               direction: {x: up}}}}\nmodels: {m: {logistic: {l2: 1.0}}}\nmetrics: {families: [ccm, \
               cf_quality]}\n";
    let results = |people: Rows<i64>, made: Rows<i64>| {
        let work = Work::new();
        people.write(&work, "people.parquet");
        made.write(&work, "mine.parquet");
        work.write("job.yaml", job);
        work.run(0, "job.yaml", "");
        let metrics = work.table("metrics");
        assert_eq!(metrics.at("metric=sr, scope=total, support=all").int("denominator"), Some(45));
        ["metrics", "cf_quality", "cf_features"].map(|name| work.table(name).list("", "value"))
    };
    let double = results(people.clone().with("x", value), made.clone().with("x", value));
    let single = |rows: Rows<i64>| rows.with("x", |i| value(i) as f32);
    assert_eq!(results(single(people), single(made)), double);
}

/// A file of counterfactuals of all people in the other group: what it holds about people is what
/// the columns say.
struct Brought {
    columns: BTreeMap<&'static str, ArrayRef>,
}

impl Brought {
    /// One for each person: women get 500 more as men, men 500 less as women.
    fn new(work: &Work) -> Self {
        let people = read(&work.path("people.parquet"));
        let text = |name: &str| people.column_by_name(name).unwrap().as_string::<i32>().clone();
        let (ids, sex) = (text("id"), text("sex"));
        let income = people.column_by_name("income").unwrap().as_primitive::<Float64Type>().clone();
        let other = |i: usize| if sex.value(i) == "w" { "m" } else { "w" };
        let sign = |i: usize| if sex.value(i) == "w" { 500.0 } else { -500.0 };
        let moved = (0..PEOPLE).map(|i| income.value(i) + sign(i));
        let columns = BTreeMap::from([
            ("row_id", array(ids)),
            ("to_group", column((0..PEOPLE).map(other))),
            ("income", column(moved)),
        ]);
        Brought { columns }
    }

    fn with(mut self, name: &'static str, array: ArrayRef) -> Self {
        self.columns.insert(name, array);
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.columns.remove(name);
        self
    }

    /// The same with one text changed.
    fn changed(self, name: &'static str, row: usize, to: &str) -> Self {
        let texts = self.columns[name].as_string::<i32>().clone();
        let texts =
            texts.iter().enumerate().map(|(i, text)| if i == row { Some(to) } else { text });
        let array = column(texts);
        self.with(name, array)
    }

    fn write(&self, work: &Work) {
        let columns = self.columns.iter().map(|(name, array)| (*name, array.clone()));
        let columns: Vec<(&str, ArrayRef)> = columns.collect();
        work.parquet("mine.parquet", columns);
    }
}

const MINE: &str = "  mine: {external: {parquet: mine.parquet}}";

#[test]
fn what_the_file_does_not_say_is_copied() {
    let work = Work::new();
    applicants(&work);
    Brought::new(&work).write(&work);
    job(&work, "job.yaml", MINE, "run: {keep_rows: counterfactuals}");
    work.run(0, "job.yaml", "");
    let people = read(&work.path("people.parquet"));
    let income = |batch: &RecordBatch| {
        batch.column_by_name("income").unwrap().as_primitive::<Float64Type>().clone()
    };
    let same = |batch: &RecordBatch, i: usize, row: usize| {
        ["hours", "branch"].iter().all(|name| {
            let at = |batch: &RecordBatch, i: usize| {
                batch.column_by_name(name).unwrap().slice(i, 1).to_data()
            };
            at(batch, i) == at(&people, row)
        })
    };
    let kept = read(&work.path(&WORLD.replace("world", "mine")));
    let text = |name: &str, i: usize| {
        kept.column_by_name(name).unwrap().as_string::<i32>().value(i).to_owned()
    };
    for i in 0..kept.num_rows() {
        let row: usize = text("row_id", i)[2..].parse().unwrap();
        let change = income(&kept).value(i) - income(&people).value(row);
        assert_eq!(change, if text("to_group", i) == "m" { 500.0 } else { -500.0 });
        assert_eq!(text("sex", i), text("to_group", i));
        assert!(same(&kept, i, row), "row {i}");
    }
    assert_eq!(kept.num_rows(), 300);
    // A range makes counterfactuals invalid and clips none, and so does the file.
    let valid = (0..PEOPLE).map(|i| Some(draw(i, 6) < 700)).collect::<BooleanArray>();
    Brought::new(&work).with("valid", array(valid)).write(&work);
    let ranged = "  mine: {external: {parquet: mine.parquet, range: {income: [2000, 5000]}}}";
    job(&work, "job.yaml", ranged, "run: {keep_rows: counterfactuals}");
    work.run(0, "job.yaml", "");
    let kept = read(&work.path(&WORLD.replace("world", "mine")));
    let valid = kept.column_by_name("valid").unwrap().as_boolean().clone();
    for i in 0..kept.num_rows() {
        let row: usize = text("row_id", i)[2..].parse().unwrap();
        let inside = (2000.0..=5000.0).contains(&income(&kept).value(i));
        assert_eq!(valid.value(i), inside && draw(row, 6) < 700, "row {i}");
    }
    assert!(valid.true_count() > 50 && valid.false_count() > 50);
}

/// Two counterfactuals of a person in a group are two cases of one person.
#[test]
fn a_person_may_have_several() {
    let work = Work::new();
    applicants(&work);
    let twice =
        |array: &ArrayRef| arrow::compute::concat(&[array.as_ref(), array.as_ref()]).unwrap();
    let mut brought = Brought::new(&work);
    for array in brought.columns.values_mut() {
        *array = twice(array);
    }
    let index = (0..2 * PEOPLE).map(|i| i64::from(i >= PEOPLE)).collect::<Int64Array>();
    brought.with("cf_index", array(index)).write(&work);
    job(&work, "job.yaml", MINE, "run: {keep_rows: all}");
    work.run(0, "job.yaml", "");
    assert_eq!(read(&work.path(&WORLD.replace("world", "mine"))).num_rows(), 600);
}

#[test]
fn each_mistake_is_told_with_its_row() {
    let work = Work::new();
    applicants(&work);
    job(&work, "job.yaml", MINE, "");
    let say = |brought: Brought, words: &[&str]| {
        brought.write(&work);
        work.run(3, "job.yaml", "").says(&[&["mine.parquet", "hint: "][..], words].concat());
    };
    let new = || Brought::new(&work);
    say(new().without("to_group"), &["missing-column", "has no column `to_group`"]);
    say(
        new().changed("to_group", 7, "x"),
        &["bad-counterfactuals", "`x` is not a group of `sex`", "row 7 (row_id `A-0007`"],
    );
    let own = read(&work.path("people.parquet")).column(1).as_string::<i32>().value(9).to_owned();
    say(new().changed("to_group", 9, &own), &["belongs to", "already", "row 9 (row_id `A-0009`"]);
    say(new().changed("row_id", 3, "A-0004"), &["duplicate-key", "occurs twice", "A-0004"]);
    say(
        new().changed("row_id", 3, "B-1"),
        &["incomplete-counterfactuals", "1 person who is audited has no", "`A-0003`"],
    );
    let text = |i: usize| Some(if i == 11 { "east" } else { "north" });
    let branch = (0..PEOPLE).map(text).collect::<StringArray>();
    say(
        new().with("branch", array(branch)),
        &["`east` is no level of `branch`", "row 11 (row_id", "its levels are"],
    );
    let half = (0..PEOPLE).map(|i| if i == 5 { 20.5 } else { 20.0 }).collect::<Float64Array>();
    say(new().with("hours", array(half)), &["`20.5` is no whole number", "row 5 (row_id"]);
    let huge = (0..PEOPLE).map(|i| if i == 6 { f64::INFINITY } else { 2.0 });
    say(new().with("income", column(huge)), &["`inf` is not a finite number", "row 6 (row_id"]);
    let word = (0..PEOPLE).map(|_| Some("much")).collect::<StringArray>();
    say(
        new().with("income", array(word)),
        &["the column holds texts, such as `much`", "row 0 (row_id"],
    );
    let misspelt = (0..PEOPLE).map(|_| 1.0).collect::<Float64Array>();
    say(new().with("incme", array(misspelt)), &["no feature is called `incme`", "`income`"]);
    let group = new().columns["to_group"].clone();
    say(new().with("from_group", group.clone()), &["belongs to another group", "row 0 (row_id"]);
    let wrong = new().with("sex", group).changed("sex", 2, "x");
    say(wrong, &["set to another group", "here stands `x`", "row 2 (row_id"]);
    let words = (0..PEOPLE).map(|_| Some("yes")).collect::<StringArray>();
    say(new().with("valid", array(words)), &["column `valid` holds no booleans"]);
    let index = (0..PEOPLE).map(|i| if i == 4 { -1 } else { 0 }).collect::<Int64Array>();
    say(new().with("cf_index", array(index)), &["`cf_index` is not a number", "from 0"]);
    // A row of nobody, with everybody there.
    let mut more = new();
    let extra: [(&str, ArrayRef); 3] = [
        ("row_id", column(vec!["Z-9"])),
        ("to_group", column(vec!["m"])),
        ("income", column(vec![1.0])),
    ];
    for (name, value) in extra {
        let both = arrow::compute::concat(&[more.columns[name].as_ref(), value.as_ref()]).unwrap();
        more.columns.insert(name, both);
    }
    say(more, &["unknown-key", "the data have no such row", "row 600 (row_id `Z-9`"]);
    // Where nobody may lack a value, no counterfactual may.
    let none = (0..PEOPLE).map(|i| (i != 8).then_some(3000.0)).collect::<Float64Array>();
    work.edit("job.yaml", "job.yaml", &[("  split:", "  missing: {continuous: error}\n  split:")]);
    say(new().with("income", array(none)), &["a value is missing", "row 8 (row_id"]);
    // No file, and one that is no Parquet.
    fs::remove_file(work.path("mine.parquet")).unwrap();
    work.run(3, "job.yaml", "").says(&["missing-file", "mine.parquet", "job.yaml:15"]);
    work.write("mine.parquet", "row_id,to_group\n");
    work.run(3, "job.yaml", "").says(&["unreadable-file", "mine.parquet"]);
}

/// A program that writes what it got to `got.arrow`, counts how often it was asked in `asked.txt`,
/// and answers with `answer.arrow`.
const ASK: &str = "  mine:
    external:
      command:
        run: [sh, -c, 'cat > got.arrow; echo >> asked.txt; cat answer.arrow']
        watch: [generator.txt]
        time_limit: 2m";

/// Writes the rows of a Parquet file as the stream `answer.arrow`.
fn answer_with(work: &Work, rows: &RecordBatch) {
    write_stream(&work.path("answer.arrow"), std::slice::from_ref(rows));
}

/// A program that is asked gives the same tables as its answer in a file.
#[test]
fn a_program_makes_the_counterfactuals() {
    let work = Work::new();
    applicants(&work);
    let brought = Brought::new(&work);
    // Only those who are audited are asked for: the answer is cut to them.
    brought.write(&work);
    job(&work, "file.yaml", MINE, "run: {keep_rows: counterfactuals}");
    work.run(0, "file.yaml", "");
    let metrics = work.results().remove("tables/metrics.parquet").unwrap();
    let kept = read(&work.path(&WORLD.replace("world", "mine")));
    let columns = ["row_id", "to_group", "cf_index", "income"];
    let positions = columns.map(|name| kept.schema().index_of(name).unwrap());
    let answer = kept.project(&positions).unwrap();
    answer_with(&work, &answer);
    work.write("generator.txt", "first");
    job(&work, "job.yaml", ASK, "run: {keep_rows: counterfactuals}");
    let times = || work.read("asked.txt").lines().count();
    work.run(0, "job.yaml", "--threads 2");
    assert!(work.results()["tables/metrics.parquet"] == metrics);
    // Before the program ran, `check` has found it.
    assert_eq!(times(), 1);
    work.cfaudit(0, "check job.yaml --cache cache");
    work.run(0, "job.yaml", "");
    assert_eq!(times(), 1, "the answer is kept");
    work.write("generator.txt", "second");
    work.run(0, "job.yaml", "");
    assert_eq!(times(), 2, "a watched file has changed");

    let got = StreamReader::try_new(File::open(work.path("got.arrow")).unwrap(), None).unwrap();
    let names: Vec<String> =
        got.schema().fields().iter().map(|field| field.name().clone()).collect();
    let keys = ["row_id", "sensitive", "from_group", "to_group", "cf_index"];
    assert_eq!(names, [&keys[..], &["sex", "income", "hours", "branch"]].concat());
    let got: Vec<RecordBatch> = got.map(Result::unwrap).collect();
    let [got] = got.as_slice() else { panic!("{} batches", got.len()) };
    assert_eq!(got.num_rows(), 300, "everybody who is audited, once for the other group");
    let people = read(&work.path("people.parquet"));
    for i in 0..got.num_rows() {
        let text = |name: &str| {
            let array = got.column_by_name(name).unwrap();
            arrow::util::display::array_value_to_string(array, i).unwrap()
        };
        let row: usize = text("row_id")[2..].parse().unwrap();
        let person = |name: &str| {
            let array = people.column_by_name(name).unwrap();
            arrow::util::display::array_value_to_string(array, row).unwrap()
        };
        assert_eq!(text("from_group"), person("sex"));
        assert_ne!(text("to_group"), person("sex"));
        assert_eq!((text("sensitive"), text("cf_index")), ("sex".to_owned(), "0".to_owned()));
        for name in ["sex", "income", "hours", "branch"] {
            assert_eq!(text(name), person(name), "{name} of row {row}");
        }
    }
}

/// A program that fails, or answers with something else, is reported with its line of the job.
#[test]
fn a_program_that_goes_wrong_is_told() {
    let work = Work::new();
    applicants(&work);
    let ask = |script: &str| {
        let sets = format!("  mine: {{external: {{command: [sh, -c, '{script}']}}}}");
        job(&work, "job.yaml", &sets, "");
        work.run(3, "job.yaml", "")
    };
    let name = "the command of the set `mine`";
    ask("echo no model >&2; exit 7").says(&[
        "command-failed",
        name,
        "failed with exit status 7",
        "| no model",
        "job.yaml:14",
    ]);
    ask("cat > /dev/null; echo row_id,to_group").says(&[
        "bad-output",
        name,
        "begins with `row_id,to_group\\n`",
        "job.yaml:14",
    ]);
    ask("cat > /dev/null").says(&["bad-output", name, "wrote nothing to its standard output"]);
    let rows = Brought::new(&work);
    rows.write(&work);
    let all = read(&work.path("mine.parquet"));
    answer_with(&work, &all.slice(0, 0));
    ask("cat > /dev/null; cat answer.arrow").says(&["bad-output", name, "wrote no counterfactual"]);
    answer_with(&work, &all.slice(0, 20));
    ask("cat > /dev/null; cat answer.arrow").says(&[
        "incomplete-counterfactuals",
        "people who are audited have no counterfactual",
        "job.yaml:14",
    ]);
    rows.changed("to_group", 7, "x").write(&work);
    answer_with(&work, &read(&work.path("mine.parquet")));
    // Another command: the answer to the last one is kept.
    ask("cat answer.arrow").says(&["`x` is not a group of `sex`", "row 7 (row_id `A-0007`"]);
    job(&work, "job.yaml", "  mine: {external: {command: [./none.sh]}}", "");
    work.cfaudit(3, "check job.yaml").says(&["command-not-started", "./none.sh", name]);
}

/// Rows in any order and any cut of row groups are the same counterfactuals.
#[test]
fn the_order_of_the_file_does_not_matter() {
    let work = Work::new();
    applicants(&work);
    Brought::new(&work).write(&work);
    job(&work, "job.yaml", MINE, "");
    work.run(0, "job.yaml", "");
    let metrics = work.results().remove("tables/metrics.parquet").unwrap();
    let rows = read(&work.path("mine.parquet"));
    let back = Int64Array::from_iter_values((0..PEOPLE as i64).rev());
    let turned = arrow::compute::take_record_batch(&rows, &back).unwrap();
    assert_eq!(Schema::new(turned.schema().fields().clone()).fields().len(), 3);
    write(&work.path("mine.parquet"), &turned);
    work.run(0, "job.yaml", "--threads 3");
    assert!(work.results()["tables/metrics.parquet"] == metrics);
}

/// The example of the guide is a set that holds, on the rows of this test.
#[test]
fn the_example_of_the_guide_is_a_set() {
    let sets = documented("counterfactuals.md", "## Importing counterfactuals: external");
    let sets = sets.strip_prefix("counterfactuals:\n").unwrap().trim_end();
    let work = Work::new();
    applicants(&work);
    Brought::new(&work).write(&work);
    fs::rename(work.path("mine.parquet"), work.path("gan.parquet")).unwrap();
    let kept = documented("counterfactuals.md", "## Exporting counterfactual rows");
    job(&work, "job.yaml", sets, kept.trim_end());
    work.run(0, "job.yaml", "");
    assert!(work.path(&WORLD.replace("world", "gan")).exists());
}
