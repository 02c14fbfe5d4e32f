//! Everybody is counted: the table `population` adds up, and no gate passes that the people who
//! were not measured could break.
//!
//! Both are tried on generated jobs: groups, labels, scores and weights are missing at random, rows
//! are filtered, dropped, repeated and split. What the unmeasured people could do is enumerated
//! person by person, with values and intervals that are computed here again.

use std::collections::BTreeMap;

use cfaudit::num::seed::h;

use crate::frame::read_frame;
use crate::work::{Rows, Work, patched};

/// A number in [0, n) that follows from a job and a place.
fn draw(job: u64, place: u64, n: u64) -> u64 {
    h(977, job, place) % n
}

/// One row of the source.
#[derive(Debug, Clone, PartialEq)]
struct Person {
    group: Option<&'static str>,
    label: Option<u8>,
    score: Option<u8>,
    income: Option<u64>,
    age: u64,
    weight: u64,
    side: &'static str,
}

fn person(job: u64, i: u64) -> Person {
    let at = |place: u64, n: u64| draw(job, 100 * i + place, n);
    Person {
        group: [Some("a"), Some("a"), Some("b"), Some("b"), Some("x"), None][at(0, 6) as usize],
        label: [Some(0), Some(1), Some(1), None][at(1, 4) as usize],
        score: if at(2, 8) == 0 { None } else { Some(at(3, 2) as u8) },
        income: if at(4, 6) == 0 { None } else { Some(at(5, 3)) },
        age: 20 + at(6, 3),
        weight: at(7, 3),
        side: ["audit", "audit", "audit", "train", "other"][at(8, 5) as usize],
    }
}

fn cell<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Rows of the generated job: the first two make sure that both groups and labels are audited.
fn people(job: u64) -> Vec<Person> {
    let n = 12 + draw(job, 1, 40);
    let mut all: Vec<Person> = (0..n).map(|i| person(job, i + 1)).collect();
    for (i, group) in [Some("a"), Some("b")].into_iter().enumerate() {
        all[i] = Person {
            group,
            label: Some(i as u8),
            score: Some(i as u8),
            income: Some(7 + i as u64),
            age: 25,
            weight: 1,
            side: "audit",
        };
    }
    all
}

const POPULATION: &str = "\
cfaudit: 1
name: population
data:
  rows: {csv: {path: people.csv}}
  label: {column: y, positive: [1], favourable: positive}
  sensitive: {g: {groups: [a, b], reference: a}}
  missing: {continuous: drop-row}
";

/// A side table without people of 22.
const BY_AGE: &str = "age,band\n20,low\n21,low\n25,high\n";

/// The state of each row of the source by the rules of the job, computed independently.
fn states(job: u64, all: &[Person]) -> Vec<&'static str> {
    let (filters, repeats, splits) = (draw(job, 2, 2), draw(job, 3, 2), draw(job, 4, 2));
    let joins = draw(job, 6, 2);
    let mut people: Vec<&Person> = Vec::new();
    all.iter()
        .map(|person| {
            if joins == 1 && person.age == 22 {
                return "unmatched";
            }
            if filters == 1 && person.age < 21 {
                return "filtered";
            }
            // Every column is compared but for the one that splits.
            let same = |other: &&Person| {
                Person { side: "", ..(*other).clone() } == Person { side: "", ..person.clone() }
            };
            if repeats == 1 && people.iter().any(same) {
                return "duplicate";
            }
            people.push(person);
            if person.income.is_none() {
                return "dropped";
            }
            if splits == 1 && person.side != "audit" { "other_side" } else { "audited" }
        })
        .collect()
}

fn check_population(job: u64) {
    let work = Work::new();
    let all = people(job);
    let mut csv = "g,y,score,income,age,w,side\n".to_owned();
    for Person { group, label, score, income, age, weight, side } in &all {
        csv.push_str(&format!(
            "{},{},{},{},{age},{weight},{side}\n",
            cell(*group),
            cell(*label),
            cell(*score),
            cell(*income)
        ));
    }
    work.write("people.csv", &csv);
    let asks = |place: u64| draw(job, place, 2) == 1;
    let weighed = asks(5);
    work.write("by_age.csv", BY_AGE);
    let ignored =
        format!("age{}{}", if weighed { "" } else { ", w" }, if asks(6) { ", band" } else { "" });
    let mut text = POPULATION.to_owned();
    let join = "{by_age: {csv: {path: by_age.csv}, on: age, columns: [band], missing: drop}}";
    for (asked, line) in [
        (weighed, "weight: w"),
        (asks(2), "keep: [{age: {at_least: 21}}]"),
        (asks(3), "duplicates: drop-exact"),
        (asks(6), &format!("join: {join}")),
        (true, &format!("features: {{continuous: [income], ignore: [{ignored}]}}")),
        (asks(4), "split: {column: side, train: [train], audit: [audit]}"),
    ] {
        text += &if asked { format!("  {line}\n") } else { String::new() };
    }
    text += "models:\n  m: {scores: {factual: {column: score}}, threshold: 0.5}\n\
             metrics: {families: [performance, group]}\n";
    work.write("job.yaml", &text);
    work.run(0, "job.yaml", "--gates report");
    let table = work.table("population");
    // By state, group and whether it is declared: rows, and what they weigh.
    let mut found: BTreeMap<(String, String, bool), (i64, f64)> = BTreeMap::new();
    for row in table.of("model=") {
        let group = if row.is_some("group") { row.text("group").to_owned() } else { "-".into() };
        let key = (row.text("state").to_owned(), group, row.int("declared") == Some(1));
        found.insert(key, (row.int("rows").unwrap(), row.real("weight").unwrap_or(0.0)));
    }
    let mut expected: BTreeMap<(String, String, bool), (i64, f64)> = BTreeMap::new();
    let mut counting: BTreeMap<(String, bool), i64> = BTreeMap::new();
    for (person, state) in all.iter().zip(states(job, &all)) {
        let group = person.group.unwrap_or("-").to_owned();
        let declared = ["a", "b"].contains(&group.as_str());
        if state == "audited" && (!weighed || person.weight > 0) {
            *counting.entry((group.clone(), declared)).or_default() += 1;
        }
        let of = expected.entry((state.to_owned(), group, declared)).or_default();
        of.0 += 1;
        of.1 += if weighed { person.weight as f64 } else { 0.0 };
    }
    found.retain(|_, of| of.0 > 0);
    assert_eq!(found, expected, "job {job}\n{text}\n{csv}");
    assert_eq!(found.values().map(|of| of.0).sum::<i64>(), all.len() as i64, "job {job}");
    // Who is audited is so under the model too, but for rows of weight 0.
    for row in table.of("model!=") {
        let group = if row.is_some("group") { row.text("group").to_owned() } else { "-".into() };
        let rows = counting.get(&(group, row.int("declared") == Some(1))).unwrap_or(&0);
        row.holds(&format!("rows={rows}"));
    }
}

#[test]
fn the_population_of_generated_jobs_adds_up() {
    (0..30).for_each(check_population);
}

#[test]
#[ignore = "slow, `make test-slow` runs it: 300 generated jobs"]
fn the_population_of_300_generated_jobs_adds_up() {
    (0..300).for_each(check_population);
}

/// The words that are named are the first hundred in byte order, whatever the order of the levels
/// and whether the rows are those of a model.
#[test]
fn rows_of_a_model_name_the_same_undeclared_groups() {
    let work = Work::new();
    let lines: String =
        (0..488).map(|i| format!("{},{},{},{}\n", i % 122, i % 5, i % 2, i % 3 % 2)).collect();
    work.write("people.csv", &format!("g,x,y,s\n{lines}"));
    let words = |of: fn(i32) -> String| (0..122).rev().map(of).collect::<Vec<_>>().join(", ");
    let (map, order) = (words(|i| format!("w{i}: [\"{i}\"]")), words(|i| format!("w{i}")));
    let steps = format!(
        "~  sensitive: {{h: {{groups: [w0, w1], reference: w0}}}}
-  missing
~  features: {{ordinal: {{h: [{order}]}}, continuous: [x]}}
+  derive: {{h: {{from: g, map: {{{map}}}}}}}"
    );
    let model = "models:\n  m: {scores: {factual: {column: s}}, threshold: 0.5}\n\
                 metrics: {families: [performance, group]}\n";
    work.write("job.yaml", &(patched(&format!("{POPULATION}  features: none\n"), &steps) + model));
    work.run(0, "job.yaml", "--gates report");
    let table = work.table("population");
    let found = table.list("model!=", "group rows");
    assert_eq!(found, table.list("model=", "group rows"));
    // Two that are declared, a hundred, and the other twenty together.
    assert_eq!(found.len(), 103);
    assert!(["w10 | 4", " | 80"].iter().all(|row| found.contains(&(*row).to_owned())), "{found:?}");
}

/// Runs a shipped job, on stand-in rows where its own are downloaded: for each attribute every row
/// of the source has a state.
fn check_shipped(job: &str) {
    let work = Work::with_jobs();
    let rows = if job.contains("demo") { "--set data.rows.synthetic.rows=600" } else { "" };
    let args = format!("--data-dir empty --gates report {rows}");
    work.run(0, &format!("jobs/{job}.yaml"), &args);
    let filters = work.table("filters");
    let source = filters.at("step=0");
    let table = work.table("population");
    let mut sums: BTreeMap<String, i64> = BTreeMap::new();
    for row in table.of("model=") {
        *sums.entry(row.text("sensitive").to_owned()).or_default() += row.int("rows").unwrap();
    }
    assert!(!sums.is_empty(), "{job}");
    for (attribute, rows) in sums {
        assert_eq!(Some(rows), source.int("rows_out"), "{job}: {attribute}");
    }
}

#[test]
fn the_population_of_shipped_jobs_adds_up() {
    ["gate-demo", "demo", "compas"].into_iter().for_each(check_shipped);
}

#[test]
#[ignore = "slow, `make test-slow` runs it: shipped jobs on stand-in rows"]
fn the_population_of_slow_shipped_jobs_adds_up() {
    let jobs = ["adult", "adult-recourse", "compas-recourse", "synthetic-graph"];
    jobs.into_iter().for_each(check_shipped);
}

/// Whom the enumeration counts: cases and people of `a` and of `b`.
type Counts = [[u64; 2]; 2];

const Z: f64 = 1.959_963_984_540_054;

fn wilson([k, n]: [u64; 2]) -> (f64, f64, f64) {
    let (p, n) = (k as f64 / n as f64, n as f64);
    let middle = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    (p, (middle - half).max(0.0), (middle + half).min(1.0))
}

/// The difference of two rates with its interval.
fn newcombe([a, b]: Counts) -> (f64, f64, f64) {
    let ((p, p_lo, p_hi), (q, q_lo, q_hi)) = (wilson(a), wilson(b));
    let root = |x: f64, y: f64| (x * x + y * y).sqrt();
    (p - q, p - q - root(p - p_lo, q_hi - q), p - q + root(p_hi - p, q - q_lo))
}

/// A gate: its YAML, whether it needs a label, whether its value must be at most the limit, and
/// what it judges of the counts.
struct Tried {
    yaml: String,
    of_positives: bool,
    at_most: bool,
    limit: f64,
    judged: fn(Counts) -> f64,
}

/// `about` names the class where the label has several.
fn gates(job: u64, about: &str) -> Vec<(String, Tried)> {
    let mut all = Vec::new();
    for (i, step) in (0..6).map(|i| (i, draw(job, 900 + i, 19))).collect::<Vec<_>>() {
        let limit = (step + 1) as f64 / 20.0;
        let mut add = |name: &str, yaml: String, of_positives, at_most, judged| {
            let tried = Tried { yaml, of_positives, at_most, limit, judged };
            all.push((format!("{name}{i}"), tried));
        };
        let estimate = "decide_by: estimate, ";
        let pair = "between: {g: [a, b]}, enough: 1, ";
        let gap = |metric: &str, more: &str| {
            format!("{{metric: {metric}, model: m, {about}{pair}{more}at_most: {limit}}}")
        };
        add("gap", gap("demp_difference", ""), false, true, |of| newcombe(of).2);
        add("gap-value", gap("demp_difference", estimate), false, true, |of| newcombe(of).0);
        add("tpr", gap("eopp_difference", ""), true, true, |of| newcombe(of).2);
        add("tpr-value", gap("eopp_difference", estimate), true, true, |of| newcombe(of).0);
        let worst = |more: &str| {
            format!(
                "{{metric: demp_difference, model: m, {about}between: worst_case, sensitive: g, \
                 enough: 1, {more}at_most: {limit}}}"
            )
        };
        add("worst", worst(""), false, true, |[a, b]| newcombe([a, b]).2.max(newcombe([b, a]).2));
        add("worst-value", worst(estimate), false, true, |of| newcombe(of).0.abs());
        let share = |more: &str| {
            format!(
                "{{metric: pprev, model: m, {about}group: {{g: a}}, enough: 1, {more}at_least: \
                 {limit}}}"
            )
        };
        add("share", share(""), false, false, |of| wilson(of[0]).1);
        add("share-value", share(estimate), false, false, |of| wilson(of[0]).0);
    }
    all
}

/// Every count that the unmeasured people could make, each set by itself: those without a group in
/// `a`, `b` or neither, those without a score granted or not.
fn possible(all: &[Person], of_positives: bool) -> Vec<Counts> {
    let mut found = vec![[[0_u64; 2]; 2]];
    for person in all {
        // People without a label are in no rate of a label, and people of another group in none.
        if of_positives && person.label != Some(1) || person.group == Some("x") {
            continue;
        }
        let groups: &[usize] = match person.group {
            Some("a") => &[0],
            Some(_) => &[1],
            None => &[0, 1],
        };
        let scores: &[u64] = match person.score {
            Some(0) => &[0],
            Some(_) => &[1],
            None => &[0, 1],
        };
        let is_known = person.group.is_some() && person.score.is_some();
        let mut next = if is_known { Vec::new() } else { found.clone() };
        for counts in &found {
            for group in groups {
                for score in scores {
                    let mut counts = *counts;
                    counts[*group][0] += score;
                    counts[*group][1] += 1;
                    next.push(counts);
                }
            }
        }
        next.sort_unstable();
        next.dedup();
        found = next;
    }
    found
}

/// The class of a label or a decision: `l`, or one of two others.
fn class_of(positive: Option<u8>, other: u64) -> Option<&'static str> {
    positive.map(|positive| if positive == 1 { "l" } else { ["h", "z"][other as usize] })
}

/// Runs a job with the gates of a number; how many passed and how many were inconclusive because
/// of people who were not measured. Of several classes one is judged against all others.
fn check_gates(job: u64, classes: bool) -> [usize; 2] {
    let work = Work::new();
    let n = 30 + draw(job, 1, 120);
    let lacking = 2 + draw(job, 2, 20);
    let mut all = Vec::new();
    for i in 0..n {
        let at = |place: u64, n: u64| draw(job, 100 * (i + 1) + place, n);
        let group =
            (at(0, 100) >= lacking / 2).then(|| ["a", "b", "a", "b", "x"][at(1, 5) as usize]);
        let granted = u8::from(at(3, 10) < if group == Some("b") { 4 } else { 6 });
        all.push(Person {
            group,
            label: Some(at(2, 2) as u8),
            score: (at(4, 100) >= lacking / 2).then_some(granted),
            income: None,
            age: 0,
            weight: 1,
            side: "",
        });
    }
    let mut csv = (if classes { "g,y,l,h,z\n" } else { "g,y,score\n" }).to_owned();
    for (i, of) in all.iter().enumerate() {
        let other = |place| draw(job, 100 * (i as u64 + 1) + place, 2);
        let (label, score) = if classes {
            let decided = class_of(of.score, other(6));
            let score = |class| decided.map(|of| if of == class { 0.8 } else { 0.1 });
            let scores = ["l", "h", "z"].map(|class| cell(score(class)));
            (cell(class_of(of.label, other(5))), scores.join(","))
        } else {
            (cell(of.label), cell(of.score))
        };
        csv.push_str(&format!("{},{label},{score}\n", cell(of.group)));
    }
    work.write("people.csv", &csv);
    let tried = gates(job, if classes { "class: l, " } else { "" });
    let (label, model) = if classes {
        (
            "{column: y, classes: [l, h, z], positive: [l], favourable: positive}",
            "{scores: {factual: {columns: {l: l, h: h, z: z}}}}",
        )
    } else {
        (
            "{column: y, positive: [1], favourable: positive}",
            "{scores: {factual: {column: score}}, threshold: 0.5}",
        )
    };
    let mut text = patched(POPULATION, &format!("~  label: {label}\n-  missing"))
        + &format!(
            "models:\n  m: {model}\nmetrics: {{families: [performance, group], min_group_size: 1, \
             min_denominator: 1}}\ngates:\n"
        );
    tried.iter().for_each(|(name, of)| text.push_str(&format!("  {name}: {}\n", of.yaml)));
    work.write("job.yaml", &text);
    work.run(0, "job.yaml", "--gates report");
    let table = work.table("gates");
    let by_label = [possible(&all, false), possible(&all, true)];
    let mut counted = [0; 2];
    for (name, of) in &tried {
        let row = table.at(&format!("gate={name}"));
        let reason = row.text("reason");
        counted[1] += usize::from(row.text("reason_code") == "unmeasured-people");
        if row.text("verdict") != "pass" {
            continue;
        }
        counted[0] += 1;
        for counts in &by_label[usize::from(of.of_positives)] {
            let judged = (of.judged)(*counts);
            let kept = if of.at_most { judged <= of.limit } else { judged >= of.limit };
            assert!(
                kept || counts.iter().any(|[_, n]| *n == 0),
                "job {job}: {name} passes, and {counts:?} give {judged}: {reason}\n{}",
                of.yaml
            );
        }
    }
    counted
}

/// The same for a model whose outcome is an amount: amounts, counterfactual amounts and groups are
/// missing at random. A person who lacks one may be a case or not.
fn check_amounts(job: u64) -> [usize; 2] {
    let work = Work::new();
    let n = 60 + draw(job, 1, 200);
    let lacking = draw(job, 2, 12);
    let mut csv = "id,g,premium\n".to_owned();
    let mut asked = Vec::new();
    // Of `a` and of `b`: whose amount would be higher, whose lower, who is known.
    let (mut known, mut unknown) = ([[0_u64; 3]; 2], [0_u64; 2]);
    for i in 0..n {
        let at = |place: u64, n: u64| draw(job, 100 * (i + 1) + place, n);
        let group = (at(0, 100) >= lacking / 2).then_some(at(1, 2) as usize);
        let premium = (at(2, 100) >= lacking / 3).then_some(100.0);
        let change = [10.0, -10.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0][at(3, 8) as usize];
        let quote = (at(4, 100) >= lacking).then_some(100.0 + change);
        csv.push_str(&format!(
            "{i},{},{}\n",
            cell(group.map(|group| ["a", "b"][group])),
            cell(premium)
        ));
        let Some(group) = group else {
            unknown = unknown.map(|n| n + 1);
            continue;
        };
        asked.push((i as i64, ["b", "a"][group], quote));
        if quote.is_some() && premium.is_some() {
            known[group][0] += u64::from(change > 0.0);
            known[group][1] += u64::from(change < 0.0);
            known[group][2] += 1;
        } else {
            unknown[group] += 1;
        }
    }
    work.write("people.csv", &csv);
    Rows::of(&asked)
        .with("to_group", |(_, to, _)| *to)
        .with("row_id", |(id, ..)| *id)
        .with("quote", |(.., quote)| *quote)
        .write(&work, "quotes.parquet");
    let mut text = patched(POPULATION, "~  label: none\n+  row_id: id\n-  missing")
        + "models:\n  m:\n    decision:\n      amount: premium\n      better: lower\n      \
           matters_from: 5%\n      counterfactual: {parquet: quotes.parquet, column: \
           quote}\ncounterfactuals: {flip: {naive: {}}}\nmetrics: {min_group_size: 1, \
           min_denominator: 1}\ngates:\n";
    // By name: the limit, whether it is at most, whether the interval decides, and the groups of
    // the shares that are judged with the place of their cases.
    let mut tried = Vec::new();
    for i in 0..4 {
        let limit = (draw(job, 900 + i, 12) + 1) as f64 / 30.0;
        let all = [
            ("harm_to: {g: b}", vec![(1, 1), (0, 0)], true),
            ("metric: share_more, sensitive: g, direction: any", vec![(0, 0), (1, 0)], true),
            ("metric: share_less, direction: {g: [a, b]}", vec![(0, 1)], false),
        ];
        for (asked, shares, at_most) in all {
            for by_interval in [true, false] {
                let name = format!("gate{}", tried.len());
                let decide = if by_interval { "" } else { "decide_by: estimate, " };
                let side = if at_most { "at_most" } else { "at_least" };
                let limit = if at_most { limit } else { limit / 5.0 };
                text.push_str(&format!(
                    "  {name}: {{{asked}, model: m, counterfactual: flip, enough: 1, \
                     {decide}{side}: {limit}}}\n"
                ));
                tried.push((name, limit, at_most, by_interval, shares.clone()));
            }
        }
    }
    work.write("job.yaml", &text);
    work.run(0, "job.yaml", "--gates report");
    let tables = work.path("out/tables");
    let untested: i64 = read_frame(&tables, "population")
        .of("counterfactual!=")
        .map(|row| row.int("without_counterfactual").unwrap())
        .sum();
    let without_group = count_without_group(&csv);
    assert_eq!(untested as u64 + 2 * without_group, unknown.iter().sum::<u64>(), "job {job}");
    if untested > 0 {
        assert!(read_frame(&tables, "issues").has("code=missing-score"), "job {job}");
    }
    let table = read_frame(&tables, "gates");
    let mut counted = [0; 2];
    for (name, limit, at_most, by_interval, shares) in tried {
        let own = || table.of(&format!("gate={name}"));
        counted[1] += usize::from(own().any(|row| row.text("reason_code") == "unmeasured-people"));
        if own().any(|row| row.text("verdict") != "pass") {
            continue;
        }
        counted[0] += 1;
        for (group, place) in shares {
            let (cases, of, more) = (known[group][place], known[group][2], unknown[group]);
            let kept = if at_most {
                let (value, _, hi) = wilson([cases + more, of + more]);
                (if by_interval { hi } else { value }) <= limit
            } else {
                let (value, lo, _) = wilson([cases, of + more]);
                (if by_interval { lo } else { value }) >= limit
            };
            assert!(
                kept,
                "job {job}: {name} passes, and {more} people without {cases} of {of} could break \
                 {limit}\n{text}"
            );
        }
    }
    counted
}

/// Rows without a group.
fn count_without_group(csv: &str) -> u64 {
    csv.lines().filter(|line| line.split(',').nth(1) == Some("")).count() as u64
}

fn check_all_gates(jobs: std::ops::Range<u64>, check: impl Fn(u64) -> [usize; 2]) {
    let mut counted = [0; 2];
    for job in jobs {
        let of = check(job);
        counted = [counted[0] + of[0], counted[1] + of[1]];
    }
    assert!(counted.iter().all(|n| *n > 20), "passed and inconclusive: {counted:?}");
}

#[test]
fn no_gate_passes_that_unmeasured_people_could_break() {
    check_all_gates(0..30, |job| check_gates(job, false));
}

#[test]
fn no_gate_of_a_class_passes_that_unmeasured_people_could_break() {
    check_all_gates(0..30, |job| check_gates(job, true));
}

#[test]
fn no_gate_of_amounts_passes_that_unmeasured_people_could_break() {
    check_all_gates(0..30, check_amounts);
}

#[test]
#[ignore = "slow, `make test-slow` runs it: 900 generated jobs"]
fn no_gate_of_300_jobs_passes_that_unmeasured_people_could_break() {
    check_all_gates(0..300, |job| check_gates(job, false));
    check_all_gates(0..300, |job| check_gates(job, true));
    check_all_gates(0..300, check_amounts);
}
