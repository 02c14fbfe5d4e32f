//! Graph-uncertain sets from the job to the page: values computed here, and what every table must
//! hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::frame::{TableCell, TableFrame, TableRecord};
use crate::persons::run_with_persons;
use crate::work::{Rows, Says, Work, documented, draw, job_of, results};

const TRAINED: i64 = 400;
const ROWS: i64 = 600;

fn group(i: i64) -> &'static str {
    if draw(i, 2) < 0.45 { "a0" } else { "a1" }
}

/// Two numbers of a person: the group moves the first, the first moves the second.
fn numbers(i: i64) -> (f64, f64) {
    let first = if group(i) == "a1" { 1.5 } else { 0.0 } + 2.0 * draw(i, 3);
    (first, 0.8 * first + draw(i, 5))
}

/// Writes people, with `moved` numbers of those who are audited.
fn write(work: &Work, moved: &dyn Fn(i64) -> (f64, f64)) {
    let of = |i: i64| if i < TRAINED { numbers(i) } else { moved(i) };
    Rows::of(0..ROWS)
        .with("id", |i| i)
        .with("part", |i| if i < TRAINED { "fit" } else { "test" })
        .with("group", group)
        .with("first", |i| of(i).0)
        .with("second", |i| of(i).1)
        .with("same", |_| 7_i64)
        .with("household", |i| 800 + i / 4)
        .with("own", |i| 9000 - i)
        .with("holes", |i| (i % 9 != 0).then(|| draw(i, 11)))
        .with("yes", |i| i64::from(numbers(i).0 + numbers(i).1 + 3.0 * draw(i, 7) > 4.5))
        .write(work, "people.parquet");
}

/// A folder with these people.
fn people() -> Work {
    let work = Work::new();
    write(&work, &numbers);
    work
}

fn job(set: &str) -> String {
    job_of("hand", &format!("~counterfactuals: {{world: {set}}}"))
}

/// Graphs of the group and two numbers in their order, which is known.
fn ordered(more: &str) -> String {
    format!(
        "{{graph-uncertain: {{discovery: {{boss: {{}}}}, bootstraps: 12, knowledge: {{all: {{tiers: \
         [{{columns: [group]}}, {{columns: [first, second]}}]}}}}{more}}}}}"
    )
}

/// One graph that the job gives, group -> first -> second.
fn chain(more: &str) -> String {
    format!(
        "{{graph-uncertain: {{discovery: {{given: {{edges: [[group, first], [first, second]]}}}}, \
         {more}knowledge: {{own: {{}}}}}}}}"
    )
}

/// Least squares of y on x with a constant: the slope.
fn slope(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let (x, y) = pairs.iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.0 / n, sum.1 + p.1 / n));
    let (xy, xx) = pairs
        .iter()
        .fold((0.0, 0.0), |sum, p| (sum.0 + (p.0 - x) * (p.1 - y), sum.1 + (p.0 - x) * (p.0 - x)));
    xy / xx
}

/// Households of four rows: bootstraps and intervals draw households; rows of one household each
/// give the graphs and worlds of rows.
#[test]
fn graphs_of_persons() {
    let work = people();
    for more in ["", ", levels: drawn", ", levels: drawn, mechanism: binned, stratify: group"] {
        run_with_persons(&work, &job(&ordered(more)));
        let of = |out: &str, table: &str| work.table(&format!("{out}/{table}"));
        for table in ["worlds", "edges", "graphs"] {
            let [own, plain] = ["own", "plain"].map(|out| of(out, table));
            assert_eq!(own.rows, plain.rows, "{table} {more}");
        }
        assert_ne!(of("out", "worlds").rows, of("plain", "worlds").rows, "{more}");
        let [found, own, plain] = ["out", "own", "plain"].map(|out| of(out, "metrics"));
        let rows = found.records().zip(own.records()).zip(plain.records());
        let mut formed = 0;
        for ((found, own), plain) in rows.filter(|(_, plain)| plain.text("family") != "graph") {
            let what = format!("{} {}", plain.text("metric"), plain.text("scope"));
            assert_eq!(own.real("value"), plain.real("value"), "{what}");
            assert_eq!(own.real("world_lo"), plain.real("world_lo"), "{what}");
            let (n, persons) = (found.int("n_rows").unwrap(), found.int("n_persons").unwrap());
            assert!(persons <= 50 && persons <= n, "{what}: {persons} of {n}");
            assert!(
                found.int("denominator_persons").is_none_or(|below| below <= persons),
                "{what}"
            );
            formed += usize::from(found.real("lo").is_some());
        }
        assert!(formed > 10, "{formed}");
        work.read("out/annex.html").says(&["which draws persons with all their rows"]);
    }
}

/// In a chain the first number moves by the difference of the groups' means and the second by the
/// slope times that. A row moved by hand gets the score that the counterfactual got.
#[test]
fn a_chain_moves_as_least_squares_says() {
    let work = people();
    work.write("chain.yaml", &job(&chain("")));
    work.run(0, "chain.yaml", "");
    let scores = |name: &str| scores_of(&work, name);
    let made = scores("score_cf");
    assert_eq!(made.len(), (ROWS - TRAINED) as usize);
    let trained: Vec<(f64, f64)> =
        (0..TRAINED).map(|i| (f64::from(u8::from(group(i) == "a1")), numbers(i).0)).collect();
    let first = slope(&trained);
    let second = first * slope(&(0..TRAINED).map(numbers).collect::<Vec<_>>());
    let nodes = work.table("nodes");
    let moves: BTreeMap<&str, f64> =
        nodes.records().map(|row| (row.text("node"), row.real("move").unwrap())).collect();
    assert!(
        (moves["first"] - first).abs() < 1e-9
            && (moves["second"] - second).abs() < 1e-9
            && (moves["group"] - 1.0).abs() < 1e-12
    );
    // Of one graph there is nothing to disagree.
    let metrics = work.table("metrics");
    for row in metrics.of("family!=graph") {
        row.holds("world_lo=, world_var=");
        assert_eq!(row.int("n_worlds").unwrap() + row.int("n_worlds_undefined").unwrap(), 1);
    }
    // The same people as the world has them: another set asks for no more than their scores.
    write(&work, &|i| {
        let sign = if group(i) == "a0" { 1.0 } else { -1.0 };
        (numbers(i).0 + sign * first, numbers(i).1 + sign * second)
    });
    work.write("hand.yaml", &job("{naive: {}}"));
    work.run(0, "hand.yaml", "");
    let by_hand = scores("score");
    for (key, score) in &made {
        assert!((by_hand[key] - score).abs() < 1e-9, "{score} and {} by hand", by_hand[key]);
    }
}

/// What graphs say about single people adds up to what they say about all, and is kept where the
/// job says so.
#[test]
fn single_people_add_up_to_all() {
    let work = people();
    for more in ["", ", levels: drawn"] {
        let job = job(&ordered(more));
        work.write("plain.yaml", &job);
        work.run(0, "plain.yaml", "--replace");
        assert!(!work.path("out/rows/world_scores.parquet").exists());
        work.write("kept.yaml", &(job + "run: {keep_rows: outcomes}\n"));
        work.run(0, "kept.yaml", "--replace --threads 1");
        let people = work.table("world_scores");
        assert_eq!(people.rows.len(), (ROWS - TRAINED) as usize);
        let mean = column_by_key(&people, "score_mean");
        let score = scores_of(&work, "score_cf");
        for (key, mean) in &mean {
            assert!((mean - score[key]).abs() < 1e-12, "{mean} and {}", score[key]);
        }
        let [lo, hi] = ["score_lo", "score_hi"].map(|name| column_by_key(&people, name));
        assert!(lo.iter().all(|(key, lo)| *lo <= hi[key]) && lo.values().any(|lo| *lo > 0.0));
        let metrics = work.table("metrics");
        let of_groups = work.table("world_people");
        for (from, to) in [("a0", "a1"), ("a1", "a0")] {
            let own: Vec<TableRecord<'_>> = people.of(&format!("to_group={to}")).collect();
            let mean_of = |name: &str| {
                own.iter().map(|row| row.real(name).unwrap()).sum::<f64>() / own.len() as f64
            };
            let sr = metrics.of(&format!("metric=sr, scope=direction, from_group={from}")).next();
            let (sr, share) = (sr.unwrap().real("value").unwrap(), mean_of("switch_share"));
            assert!((sr - share).abs() < 1e-12 && share > 0.0, "{from}: {sr} and {share}");
            let all = of_groups.at(&format!("from_group={from}"));
            let variance = all.real("variance_mean").unwrap();
            assert!((variance - mean_of("score_var")).abs() < 1e-12, "{from}");
            assert_eq!(all.int("n"), Some(own.len() as i64));
        }
        let first = fs::read(work.path("out/rows/world_scores.parquet")).unwrap();
        let again = "run kept.yaml --out again --replace --cache again-cache --threads 7";
        work.cfaudit(0, again);
        assert!(first == fs::read(work.path("again/rows/world_scores.parquet")).unwrap());
        fs::remove_dir_all(work.path("again-cache")).unwrap();
    }
}

/// The example of the guide: an order that the rows cannot tell from none, and two forbidden edges
/// that they contradict, against the scores of the table of bootstraps.
#[test]
fn knowledge_that_does_not_fit_is_told() {
    let example = documented("graph-uncertainty.md", "### Does the knowledge fit?");
    let work = people();
    work.job("hand", "-counterfactuals", &example);
    work.run(0, "job.yaml", "");
    let graphs = work.table("graphs");
    let scores = |scenario: &str| -> Vec<f64> {
        let set = format!("world/{scenario}");
        graphs.of(&format!("counterfactual={set}")).map(|row| row.real("score").unwrap()).collect()
    };
    let none = scores("none");
    assert_eq!(none.len(), 30);
    let fits = work.table("knowledge_fit");
    let metrics = work.table("metrics");
    assert_eq!(fits.rows.len(), 2);
    for (scenario, worse) in [("late", 0), ("wrong", 30)] {
        let row = fits.at(&format!("scenario={scenario}"));
        let differences: Vec<f64> =
            scores(scenario).iter().zip(&none).map(|(own, other)| own - other).collect();
        let mean = differences.iter().sum::<f64>() / 30.0;
        row.holds("counterfactual=world, against=none");
        assert!((row.real("difference").unwrap() - mean).abs() < 1e-9, "{scenario}");
        row.holds(&format!("worse_in={worse}, bootstraps=30"));
        let measured = metrics.at(&format!("metric=fit_worse, counterfactual=world/{scenario}"));
        assert_eq!(measured.real("value"), Some(worse as f64 / 30.0));
    }
    let wrong = fits.at("scenario=wrong");
    assert!(wrong.real("hi").unwrap() < 0.0);
    assert_eq!(metrics.of("metric=fit_worse").count(), 2, "none is compared with itself");
    assert_eq!(work.table("gates").list("gate=fits", "verdict"), ["pass"]);
    let left = BTreeSet::from_iter(work.table("needed_knowledge").list("", "statement"));
    assert_eq!(Vec::from_iter(left), ["", "first before group", "second before first"]);
    work.read("out/annex.html").says(&["fits worse"]);
}

/// People of a known graph: group -> first -> second.
const GENERATED: &str = r#"-  rows
+  rows:
+    synthetic:
+      rows: 900
+      columns:
+        group: {levels: {a0: 0.45, a1: 0.55}}
+        first: {linear: {intercept: 0, effects: {"group=a1": 1.0}, noise: {normal: {sd: 1}}}}
+        second: {linear: {intercept: 0, effects: {first: 0.8}, noise: {normal: {sd: 1}}}}
+        yes: {logit: {intercept: -0.6, effects: {first: 1.2, second: 0.7}}}
-  row_id
~  split: {share: {train: 0.7, audit: 0.3}, stratify: label}
-counterfactuals
~metrics: {families: [ccm], bootstrap: {samples: 50}}
@
+run: {seed: 7}"#;

/// What a gate says without a statement is what the same gate says of a scenario of the job that
/// lacks it; without the key nothing else differs, and the verb `gate` keeps the table.
#[test]
fn statements_are_left_out_as_scenarios_lack_them() {
    let work = Work::new();
    let tier = |columns: &str| format!("{{columns: [{columns}]}}");
    let tiers = |all: &[&str]| {
        let all: Vec<String> = all.iter().map(|columns| tier(columns)).collect();
        format!("tiers: [{}]", all.join(", "))
    };
    let (order, without) = (tiers(&["group", "first", "second"]), "forbidden: [[group, second]]");
    let requires = "required: [[first, second]]";
    let closed = "{columns: [group, first], edges_within: forbidden}";
    // Each scenario with its twins, each by the statement that it lacks.
    let scenarios = [
        (
            "order",
            format!("{order}, {without}, {requires}"),
            vec![
                (
                    "group before first",
                    format!("{}, {without}, {requires}", tiers(&["group, first", "second"])),
                ),
                (
                    "first before second",
                    format!("{}, {without}, {requires}", tiers(&["group", "first, second"])),
                ),
                ("no direct effect of group on second", format!("{order}, {requires}")),
                ("a direct effect of first on second", format!("{order}, {without}")),
            ],
        ),
        (
            "closed",
            format!("tiers: [{closed}, {}]", tier("second")),
            vec![
                (
                    "group, first before second",
                    "forbidden: [[group, first], [first, group]]".to_owned(),
                ),
                ("no effects among group, first", tiers(&["group, first", "second"])),
            ],
        ),
    ];
    let (mut knowledge, mut gates) = (String::new(), String::new());
    let mut state = |scenario: &str, states: &str| {
        knowledge += &format!("        {scenario}: {{{states}}}\n");
        let on = format!("model: m, counterfactual: world/{scenario}, level: warn");
        for (kind, asks) in [
            ("rate", "metric: psr, direction: any, at_most: 0.3, decide_by: worlds"),
            ("people", "metric: nsr, direction: any, at_most: 0.2"),
            ("harm", "harm_to: {group: a0}, at_most: 0.4, decide_by: estimate"),
        ] {
            gates += &format!("  {kind}-{scenario}: {{{asks}, {on}}}\n");
        }
    };
    for (scenario, states, twins) in &scenarios {
        state(scenario, states);
        for (i, (_, states)) in twins.iter().enumerate() {
            state(&format!("{scenario}{i}"), states);
        }
    }
    let sets = format!(
        "counterfactuals:\n  world:\n    graph-uncertain:\n      discovery: {{boss: {{}}}}\n      \
         bootstraps: 40\n      necessary: false\n      knowledge:\n{knowledge}gates:\n{gates}"
    );
    work.job("hand", GENERATED, &sets);
    work.cfaudit(0, "run job.yaml --out plain --threads 2");
    // A line for a line: gates have the line of the job.
    work.edit("job.yaml", "job.yaml", &[("necessary: false", "necessary: true")]);
    work.run(0, "job.yaml", "");
    for same in ["metrics", "gates", "graphs", "worlds"].map(|of| format!("tables/{of}.parquet")) {
        assert!(results(&work.path("plain"))[&same] == work.results()[&same], "{same}");
    }
    assert!(!work.path("plain/tables/needed_knowledge.parquet").exists());
    let (needed, judged) = (work.table("needed_knowledge"), work.table("gates"));
    let metrics = work.table("metrics");
    let mut others = 0;
    for (scenario, _, twins) in &scenarios {
        let lacks =
            twins.iter().enumerate().map(|(i, (lacks, _))| (*lacks, format!("{scenario}{i}")));
        for (statement, twin) in std::iter::once(("", (*scenario).to_owned())).chain(lacks) {
            let own = needed.of(&format!("counterfactual=world/{scenario}, statement={statement}"));
            let own: Vec<TableRecord<'_>> = own.collect();
            assert_eq!(own.len(), 6, "{statement}");
            for row in own {
                let what = format!("{twin} {} {}", row.text("gate"), row.text("from_group"));
                let place = |of: &TableRecord<'_>| {
                    ["from_group", "to_group", "metric"].map(|c| of.text(c).to_owned())
                };
                let gate = row.text("gate").replace(scenario, &twin);
                let of_gate = judged
                    .records()
                    .find(|other| other.text("gate") == gate && place(other) == place(&row));
                let verdict = of_gate.unwrap().text("verdict").to_owned();
                row.holds(&format!("verdict={verdict}"));
                let measured = metrics.records().find(|other| {
                    other.text("counterfactual") == format!("world/{twin}")
                        && other.text("scope") == "direction"
                        && place(other) == place(&row)
                });
                let measured = measured.unwrap();
                for column in ["value", "world_lo", "world_hi", "lo", "hi"] {
                    let [own, of_twin] = [&row, &measured].map(|of| of.real(column));
                    let apart = own.zip(of_twin).map(|(own, twin)| (own - twin).abs());
                    assert!(
                        apart.is_some_and(|x| x < 1e-9),
                        "{what} {column}: {own:?} {of_twin:?}"
                    );
                }
                others += usize::from(verdict != "pass");
            }
        }
    }
    assert!(others > 0 && others < needed.rows.len(), "{others}");
    work.read("out/annex.html").says(&["Which statements a verdict needs"]);
    let kept = fs::read(work.path("out/tables/needed_knowledge.parquet")).unwrap();
    work.cfaudit(0, "gate out --baseline plain");
    assert!(kept == fs::read(work.path("out/tables/needed_knowledge.parquet")).unwrap());
}

/// Graphs of a file: one gives what the same graph drawn in the job gives, several the mean over
/// them by their counts, the graphs that a run exports can be read, and what is wrong with a file is
/// said with its line.
#[test]
fn graphs_of_a_file_are_those_of_the_job() {
    let work = people();
    let run = |name: &str, discovery: &str, status: i32| {
        let set = format!(
            "{{graph-uncertain: {{discovery: {{{discovery}}}, knowledge: {{own: {{}}}}}}}}"
        );
        work.write(&format!("{name}.yaml"), &job(&set));
        work.cfaudit(status, &format!("run {name}.yaml --out {name} --threads 2"))
    };
    // Without the flags, which name the number of graphs.
    let rates = |name: &str| -> Vec<(String, Option<f64>)> {
        let metrics = work.table(&format!("{name}/metrics"));
        metrics
            .of("family=ccm")
            .map(|row| (row.joined("metric scope"), row.real("value")))
            .collect()
    };
    run("drawn", "given: {edges: [[group, first], [first, second]]}", 0);
    run("other", "given: {edges: [[group, second]]}", 0);
    let chain = r#"{"edges": [["group", "first"], ["first", "second"]]"#;
    let example = documented("graph-uncertainty.md", "### Graphs of other programs");
    work.write("graphs.json", &format!(r#"{{"graphs": [{chain}}}]}}"#));
    work.job("hand", "-counterfactuals", &example);
    work.cfaudit(0, "run job.yaml --out one --threads 2");
    assert_eq!(rates("drawn"), rates("one"));
    work.write(
        "one.gml",
        "graph [ directed 1\n node [ id 3 label \"group\" ] node [ id 1 label \"first\" ]\n node \
         [ id 2 label \"second\" ] edge [ source 3 target 1 ] edge [ source 1 target 2 ] ]",
    );
    run("gml", "bag: one.gml", 0);
    assert_eq!(rates("drawn"), rates("gml"));
    let two =
        format!(r#"{{"graphs": [{chain}, "count": 3}}, {{"edges": [["group", "second"]]}}]}}"#);
    work.write("two.json", &two);
    run("two", "bag: two.json", 0);
    for ((both, one), other) in rates("two").into_iter().zip(rates("drawn")).zip(rates("other")) {
        assert_eq!(both.0, one.0);
        if let (Some(both), Some(one), Some(other)) = (both.1, one.1, other.1) {
            assert!((both - (3.0 * one + other) / 4.0).abs() < 1e-12, "{both} {one} {other}");
        }
    }
    fs::copy(work.path("two/exports/world.own.json"), work.path("again.json")).unwrap();
    run("again", "bag: again.json", 0);
    assert_eq!(rates("two"), rates("again"));
    work.write("bad.gml", "graph [ directed 1\n edge [ source 0 target 1 ] ]");
    run("bad", "bag: bad.gml", 3).says(&["error[bad-graphs]", "bad.gml", "line 2", "bad.yaml:"]);
    work.write(
        "cycle.json",
        r#"{"graphs": [{"edges": [["first", "second"], ["second", "first"]]}]}"#,
    );
    run("cycle", "bag: cycle.json", 3).says(&["error[impossible-graph]", "graph 1 of the file"]);
    run("absent", "bag: absent.json", 3).says(&["error[missing-file]", "absent.yaml:"]);
}

/// What `world_scores` says about each person of two graphs, one of which was found three times, by
/// hand from the scores that each graph alone gives: the quantiles are those between four values.
#[test]
fn scores_of_persons_in_two_graphs() {
    let work = people();
    let set = "{graph-uncertain: {discovery: {bag: graphs.json}, knowledge: {own: {}}}}";
    work.write("job.yaml", &(job(set) + "run: {keep_rows: outcomes}\n"));
    let run = |graphs: &str| {
        work.write("graphs.json", &format!(r#"{{"graphs": [{graphs}]}}"#));
        work.run(0, "job.yaml", "--replace");
        scores_of(&work, "score_cf")
    };
    let chain = r#"{"edges": [["group", "first"], ["first", "second"]], "count": 3}"#;
    let other = r#"{"edges": [["group", "second"]]}"#;
    let [often, once] = [chain, other].map(run);
    run(&format!("{chain}, {other}"));
    let own = scores_of(&work, "score");
    let people = work.table("world_scores");
    let found = |name: &str| column_by_key(&people, name);
    let names = ["score_mean", "score_var", "score_lo", "score_hi", "switch_share"];
    let found = names.map(found);
    let mut shares = BTreeSet::new();
    for (key, score) in &own {
        let (a, b) = (often[key], once[key]);
        let mean = (3.0 * a + b) / 4.0;
        let variance = (3.0 * (a - mean).powi(2) + (b - mean).powi(2)) / 3.0;
        // Of four values in order the quantile q lies at the place 3 q.
        let lo = if b < a { b + 0.075 * (a - b) } else { a };
        let hi = if b < a { a } else { a + 0.925 * (b - a) };
        let differs = |other: f64| f64::from(u8::from((*score >= 0.5) != (other >= 0.5)));
        let share = (3.0 * differs(a) + differs(b)) / 4.0;
        shares.insert((4.0 * share) as i64);
        for ((name, found), value) in names.iter().zip(&found).zip([mean, variance, lo, hi, share])
        {
            let apart = (found[key] - value).abs();
            assert!(apart < 1e-12, "{name}: {} instead of {value}", found[key]);
        }
    }
    assert!(shares.len() > 1, "{shares:?}");
}

/// Scores of the audited people by the keys of their rows, in a column of `outcomes`.
fn scores_of(work: &Work, name: &str) -> BTreeMap<u64, f64> {
    column_by_key(&work.table("outcomes"), name)
}

/// Numbers by the keys of their rows.
fn column_by_key(outcomes: &TableFrame, name: &str) -> BTreeMap<u64, f64> {
    let (key, score) = (outcomes.column("row_key"), outcomes.column(name));
    let of = |row: &Vec<TableCell>| match (&row[key], &row[score]) {
        (TableCell::Key(key), TableCell::Real(score)) => (*key, *score),
        other => panic!("{other:?}"),
    };
    outcomes.rows.iter().map(of).collect()
}

/// With expected levels people are explained in the columns of the model: what each number adds is
/// what rows moved by hand, the first number alone, the second alone and both, say.
#[test]
fn expected_levels_are_explained_by_features() {
    const WHY: &str = "why: {moved: {model: m, counterfactual: world/own, direction: {group: [a0, \
                       a1]}, metric: sr}}\n";
    let work = people();
    work.write("why.yaml", &(job(&chain("")) + WHY));
    work.run(0, "why.yaml", "--threads 1");
    work.same_bytes(0, "why.yaml", &["--threads 2", "--threads 7"]);
    let table = work.table("switch_features");
    let nodes = work.table("nodes");
    let moves: BTreeMap<&str, f64> =
        nodes.records().map(|row| (row.text("node"), row.real("move").unwrap())).collect();
    let [none, both] = ["score", "score_cf"].map(|name| scores_of(&work, name));
    let by_hand = |of: [f64; 2]| {
        write(&work, &|i| {
            let sign = if group(i) == "a0" { 1.0 } else { -1.0 };
            let (first, second) = numbers(i);
            (first + sign * of[0] * moves["first"], second + sign * of[1] * moves["second"])
        });
        work.write("hand.yaml", &job("{naive: {}}"));
        work.run(0, "hand.yaml", "");
        scores_of(&work, "score")
    };
    let (first, second) = (by_hand([1.0, 0.0]), by_hand([0.0, 1.0]));
    // What both add to the score and to the change of the decision, of those who switch and others.
    let mut sums: BTreeMap<(&str, &str), [f64; 3]> = BTreeMap::new();
    for i in (TRAINED..ROWS).filter(|&i| group(i) == "a0") {
        let key = i as u64;
        let all = [none[&key], first[&key], second[&key], both[&key]];
        let is = |score: f64| f64::from(u8::from((score >= 0.5) != (all[0] >= 0.5)));
        let kind = if is(all[3]) == 1.0 { "switched" } else { "stayed" };
        let values = [all, all.map(is)].map(|v| {
            let [own, first, second, other] = v;
            ((first - own + other - second) / 2.0, (second - own + other - first) / 2.0)
        });
        for (feature, of) in [("first", values.map(|v| v.0)), ("second", values.map(|v| v.1))] {
            let sum = sums.entry((kind, feature)).or_default();
            (0..2).for_each(|k| sum[k] += of[k]);
            sum[2] += 1.0;
        }
    }
    let row =
        |people: &str, feature: &str| table.at(&format!("people={people}, feature={feature}"));
    assert_eq!(sums.len(), 4, "some switch and some stay");
    for ((people, feature), [score, decision, n]) in sums {
        let row = row(people, feature);
        assert_eq!((row.int("n"), row.int("moved")), (Some(n as i64), Some(n as i64)));
        let near = |column: &str, sum: f64| (row.real(column).unwrap() - sum / n).abs() < 1e-9;
        assert!(near("score", score) && near("decision", decision), "{people} {feature}");
    }
    // The model does not read the attribute.
    for people in ["switched", "stayed", "all"] {
        assert_eq!(row(people, "group").real("score"), Some(0.0));
    }
    let said = work.cfaudit(0, "check why.yaml").stdout;
    said.lacks(&["patterns-only"]);
}

/// Refitted on bootstraps, one graph gives an interval to which no other graph contributes.
#[test]
fn refits_of_one_graph_are_no_other_graphs() {
    let work = people();
    work.write("refits.yaml", &job(&chain("bootstraps: 20, ")));
    work.run(0, "refits.yaml", "");
    let metrics = work.table("metrics");
    let mut moved = 0;
    for row in
        metrics.records().filter(|row| row.real("world_var").is_some_and(|variance| variance > 0.0))
    {
        row.holds("between_var=0, mixed_var=0");
        assert_eq!(row.real("between_lo"), row.real("between_hi"));
        let (all, within) = (row.real("world_var").unwrap(), row.real("within_var").unwrap());
        assert!(
            (all - within).abs() <= 1e-12 * all.max(1.0),
            "{} {all} {within}",
            row.text("metric")
        );
        moved += 1;
    }
    assert!(moved > 5, "{moved}");
    let page = work.read("out/annex.html");
    page.says(&[
        "other graphs none",
        "refits of the coefficients ",
        "Few bootstraps:",
        "causal sufficiency",
        "a few graphs stays",
        "are not visible",
    ]);
    assert!(!page.contains("Contradicts domain knowledge"), "nothing comes before the group here");
}

/// Where the attribute follows from another variable, the tables name nobody at a disadvantage, and
/// neither does the page.
#[test]
fn nobody_is_named_where_the_attribute_follows_from_something() {
    let work = people();
    for (edges, follows) in
        [("[[group, second]]", false), ("[[first, group], [group, second]]", true)]
    {
        let set = format!(
            "{{graph-uncertain: {{discovery: {{given: {{edges: {edges}}}}}, bootstraps: 5, \
             knowledge: {{own: {{}}}}}}}}"
        );
        work.write("named.yaml", &job(&set));
        work.run(0, "named.yaml", "");
        let metrics = work.table("metrics");
        let of_set = || metrics.of("family!=graph, counterfactual=world/own");
        assert!(of_set().count() > 20);
        assert_eq!(of_set().all(|row| row.text("impaired_group").is_empty()), follows, "{edges}");
        assert!(
            of_set().all(|row| row.text("flags").contains("attribute_follows") == follows),
            "{edges}"
        );
        let following: i64 =
            work.table("graphs").records().map(|row| row.int("attribute_follows").unwrap()).sum();
        assert_eq!(following, if follows { 5 } else { 0 });
        let page = work.read("out/annex.html");
        assert_eq!(page.contains("No group is named at a disadvantage"), follows);
        let brief = work.read("out/report.html");
        let doubted =
            "Results of scenario <bdi>own</bdi> may answer no question: in 100\u{202f}% of";
        assert_eq!(brief.contains(doubted), follows, "{edges}");
        brief.says(&["Scenario <bdi>own</bdi>: the job gives the edges."]);
    }
}

/// A job with several scenarios on rows with holes.
fn several() -> Work {
    let work = crate::determinism::work("graphs");
    work.run(0, "job.yaml", "");
    work
}

#[test]
fn tables_agree_with_each_other() {
    let work = several();
    work.read("out/report.html").says(&[
        "Scenario <bdi>none</bdi>: the job states nothing about what causes what.",
        "Scenario <bdi>late</bdi>: the job states the order of causes, <bdi>sex</bdi> and \
         <bdi>age</bdi> before <bdi>income</bdi>, <bdi>grade</bdi> and <bdi>job</bdi>, and \
         requires the direct effect of <bdi>sex</bdi> on <bdi>income</bdi>, and rules out effects \
         within some tiers.",
    ]);
    let (metrics, worlds) = (work.table("metrics"), work.table("worlds"));
    const KEY: &str = "model counterfactual sensitive scope from_group to_group metric";
    let mut sums: BTreeMap<String, (f64, i64, i64)> = BTreeMap::new();
    for row in worlds.records() {
        let sum = sums.entry(row.joined(KEY)).or_default();
        let copies = row.int("copies").unwrap();
        match row.real("value") {
            Some(value) => {
                sum.0 += copies as f64 * value;
                sum.1 += copies;
            }
            None => {
                assert!(!row.text("undefined").is_empty());
                sum.2 += copies;
            }
        }
    }
    let sets = ["found/none", "found/late", "drawn/own"];
    let (mut met, mut parts) = (0, 0);
    for row in metrics
        .records()
        .filter(|row| sets.contains(&row.text("counterfactual")) && row.text("family") != "graph")
    {
        let (sum, n, undefined) = sums[&row.joined(KEY)];
        row.holds(&format!("n_worlds={n}, n_worlds_undefined={undefined}"));
        match row.real("value") {
            Some(value) => assert!((value - sum / n as f64).abs() < 1e-9, "{}", row.joined(KEY)),
            None => assert_eq!(n, 0),
        }
        if let (Some(lo), Some(hi)) = (row.real("world_lo"), row.real("world_hi")) {
            let variance = row.real("world_var").unwrap();
            assert!(lo <= hi && variance >= 0.0 && row.real("world_level") == Some(0.9));
            if let Some(between) = row.real("between_var") {
                let sum =
                    between + row.real("within_var").unwrap() + row.real("mixed_var").unwrap();
                assert!((sum - variance).abs() <= 1e-12 * variance.max(1.0), "{sum} {variance}");
                assert!(
                    row.real("between_lo") <= row.real("between_hi")
                        && row.real("within_lo") <= row.real("within_hi")
                );
                parts += 1;
            }
        }
        met += 1;
    }
    assert_eq!(met, sums.len());
    assert!(parts > 20, "{parts}");
    let graph = |set: &str, metric: &str| {
        metrics.at(&format!("counterfactual={set}, metric={metric}")).real("value").unwrap()
    };
    let [edges, graphs, below, people] =
        ["edges", "graphs", "subgraphs", "world_people"].map(|name| work.table(name));
    for set in sets {
        let mine = |frame: &TableFrame, column: &str| -> i64 {
            frame.of(&format!("counterfactual={set}")).map(|row| row.int(column).unwrap()).sum()
        };
        let n = graph(set, "n_graphs");
        assert_eq!((mine(&graphs, "graphs") as f64, mine(&below, "count") as f64), (n, n), "{set}");
        // In as many graphs as the most frequent edge to the attribute at least, in as many as all
        // such edges at most.
        let to_it = edges.of(&format!("counterfactual={set}, effect=sex"));
        let counts: Vec<i64> = to_it.map(|row| row.int("count").unwrap()).collect();
        let following = mine(&graphs, "attribute_follows");
        assert!(
            counts.iter().max().is_none_or(|most| following >= *most)
                && following <= counts.iter().sum(),
            "{set} {following}"
        );
        let of_edges: Vec<_> = edges.of(&format!("counterfactual={set}")).collect();
        assert!(!of_edges.is_empty());
        let entropy = of_edges.iter().map(|row| row.real("entropy").unwrap()).sum::<f64>()
            / of_edges.len() as f64;
        assert!((entropy - graph(set, "h_g")).abs() < 1e-12);
        assert!(of_edges.iter().all(|row| {
            (row.int("count").unwrap() as f64 / n - row.real("frequency").unwrap()).abs() < 1e-12
        }));
        assert_eq!(people.of(&format!("counterfactual={set}")).count(), 2);
    }
    // What is known holds in every graph.
    for row in edges.of("counterfactual=found/late") {
        let early = |name: &str| ["sex", "age"].contains(&name);
        assert!(!early(row.text("effect")));
        assert!(
            (row.text("cause"), row.text("effect")) != ("sex", "income")
                || row.real("frequency") == Some(1.0)
        );
    }
    // A class larger than is listed is sampled, and every value of it says so.
    let sampled = graphs.has("counterfactual=found/none, drawn=evenly");
    let flagged = metrics.records().any(|row| {
        row.text("counterfactual") == "found/none" && row.text("flags").contains("sampled")
    });
    assert_eq!(sampled, flagged);
    // The open edge of the given graph goes from income to grade, since the other way makes a new
    // collider.
    let drawn = |cause: &str, effect: &str| {
        edges.has(&format!("counterfactual=drawn/own, cause={cause}, effect={effect}"))
    };
    assert!(drawn("income", "grade") && !drawn("grade", "income"));
    let gates = work.table("gates");
    assert!(!gates.has("verdict!=pass"), "{:?}", gates.rows);
    assert!(gates.has("rule=at_most, worlds") && gates.has("metric=h_g"));
}

#[test]
fn graphs_are_written_for_other_programs() {
    let work = several();
    for set in ["found.none", "found.late", "drawn.own"] {
        let text = |ending: &str| work.read(&format!("out/exports/{set}.{ending}"));
        assert!(text("dot").starts_with("digraph") && text("gml").starts_with("graph ["));
        let json: serde_json::Value = serde_json::from_str(&text("json")).unwrap();
        let graphs = json["graphs"].as_array().unwrap();
        let n: u64 = graphs.iter().map(|graph| graph["count"].as_u64().unwrap()).sum();
        for edge in json["edges"].as_array().unwrap() {
            let own = serde_json::json!([edge["cause"], edge["effect"]]);
            let has =
                |graph: &&serde_json::Value| graph["edges"].as_array().unwrap().contains(&own);
            let count: u64 =
                graphs.iter().filter(has).map(|graph| graph["count"].as_u64().unwrap()).sum();
            assert_eq!(
                (Some(count), edge["share"].as_f64()),
                (edge["count"].as_u64(), Some(count as f64 / n as f64))
            );
        }
    }
    let page = work.read("out/annex.html");
    page.says(&["How certain are the causal graphs", "marker-end", "found/late"]);
}

/// A second run repeats what a key changes and nothing else, and says why.
#[test]
fn a_changed_knob_reruns_what_it_changes() {
    let work = several();
    work.run(0, "job.yaml", "").says(&["all 29 stages are cached"]);
    let plan = |set: &str| -> BTreeMap<String, String> {
        let knob = format!("--set counterfactuals.found.graph-uncertain.{set}");
        let text = work.cfaudit(0, &format!("plan job.yaml --cache cache {knob}")).stdout;
        let line = |line: &str| Some((line.split_whitespace().next()?.to_owned(), line.to_owned()));
        text.lines().filter_map(line).collect()
    };
    // What is done to rows changes no graph.
    let clipped = plan("clip=none");
    clipped["discover/set=found"].says(&["cached"]);
    clipped["worlds/model=logistic/set=drawn%2fown/attribute=sex"].says(&["cached"]);
    clipped["worlds/model=logistic/set=found%2fnone/attribute=sex"].says(&["`clip` changed"]);
    let more = plan("bootstraps=7");
    more["discover/set=found"].says(&["runs"]);
    more["discover/set=drawn"].says(&["cached"]);
    // The people of a set with graphs are tested for support by where the graphs lead them.
    more["generate/set=found%2fnone/attribute=sex"].says(&["runs"]);
    more["worlds/model=logistic/set=found%2fnone/attribute=sex"].says(&["runs"]);
}

/// Faults that only the data show are reported with the line of the set.
#[test]
fn faults_of_the_data_are_said() {
    let work = people();
    let set = "{graph-uncertain: {discovery: {boss: {}}, bootstraps: 2, knowledge: {none: {}}}}";
    work.write("constant.yaml", &job(set).replace("[first, second]", "[first, second, same]"));
    work.run(3, "constant.yaml", "").says(&[
        "constant-column",
        "`same`",
        "constant.yaml:",
        "leave them out of the features",
    ]);
    // `check` says the same before anything runs.
    work.cfaudit(3, "check constant.yaml").says(&["constant-column", "`same`", "constant.yaml:"]);
    work.write("holes.yaml", &job(set).replace("[first, second]", "[first, second, holes]"));
    work.run(3, "holes.yaml", "").says(&["missing-value", "`holes`", "holes.yaml:"]);
    work.write(
        "few.yaml",
        &job("{graph-uncertain: {discovery: {boss: {}}, bootstraps: 2, worlds_total_at_most: 1, \
              knowledge: {none: {}}}}"),
    );
    work.run(3, "few.yaml", "").says(&["too-many-graphs", "few.yaml:", "raise the limit"]);
}

/// Another split: sets of graphs learnt from other rows, so their changes are reported and not
/// judged. The same split: a scenario with other knowledge has another meaning, and the others are
/// compared by the intervals of both runs.
#[test]
fn two_runs_are_compared() {
    let work = several();
    work.edit("job.yaml", "next.yaml", &[("seed: 5", "seed: 6")]);
    work.cfaudit(0, "run next.yaml --out next --cache cache --baseline out");
    let status = |changes: &TableFrame, set: &str| {
        let all = BTreeSet::from_iter(changes.list(&format!("counterfactual={set}"), "status"));
        Vec::from_iter(all).join(", ")
    };
    let changes = work.table("next/changes");
    for set in ["found/none", "found/late", "drawn/own"] {
        assert_eq!(status(&changes, set), "refitted", "{set}");
    }
    assert_eq!(status(&changes, "flip"), "compared");
    let entropy = changes.at("counterfactual=found/none, metric=h_g");
    assert!(entropy.real("difference").is_some() && entropy.real("lo").is_none());
    // Judging a folder again leaves what other programs read.
    let drawings = || fs::read_dir(work.path("out/exports")).unwrap().count();
    assert_eq!(drawings(), 9);
    work.cfaudit(0, "gate out --baseline next");
    assert!(work.json("out/manifest.json")["baseline"].is_object());
    assert_eq!(drawings(), 9);
    // Less is known in one scenario, and the model is another one.
    let job = work.read("job.yaml").replace("l2: 1.0", "l2: 500.0");
    work.write(
        "less.yaml",
        &job.replace(", required: [[sex, income]]", "").replace("by-graphs", "other"),
    );
    let ran = work.cfaudit(0, "run less.yaml --out less --cache cache --baseline out");
    let changes = work.table("less/changes");
    assert_eq!(status(&changes, "found/late"), "not_comparable", "{}", ran.stderr);
    assert_eq!(status(&changes, "found/none"), "compared");
    assert_eq!(status(&changes, "drawn/own"), "compared");
    let rate = changes.at("counterfactual=found/none, metric=sr, scope=total, lo!=");
    rate.text("ci_method").says(&["MOVER", "not paired: outcomes hold the mean score"]);
}

/// Slices cut what is measured of the other sets, and the folder says so.
#[test]
fn sets_with_graphs_have_no_slices() {
    let work = crate::determinism::work("graphs");
    let job = work.read("job.yaml");
    work.write("job.yaml", &job.replace("metrics: {", "metrics: {by: [job], smallest_cell: 5, "));
    work.run(0, "job.yaml", "");
    let metrics = work.table("metrics");
    let sliced = |set: &str| metrics.has(&format!("counterfactual={set}, slice!="));
    assert!(sliced("flip") && !sliced("found/none") && !sliced("drawn/own"));
    assert_eq!(work.table("issues").of("code=unsliced-set").count(), 3);
}
