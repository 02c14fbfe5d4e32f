//! Decisions that were made, without a score: the numbers are those of scores that lead to the same
//! decisions, what needs a score is undefined with a reason, and counterfactual decisions come in
//! the same words.

use std::fs;

use arrow::array::ArrayRef;

use crate::work::{Ran, Rows, Says, Work, column, documented};

const N: i64 = 240;

/// Who is granted: none where nobody decided.
fn granted(i: i64, counterfactual: bool) -> Option<bool> {
    let chance = (i as f64 * 0.618_033_988_749_895).fract();
    let shift = if counterfactual && i % 3 == 0 { 0.2 } else { 0.0 };
    (i % 40 != 7).then_some(chance + shift > if i % 2 == 0 { 0.45 } else { 0.6 })
}

fn word(granted: bool) -> &'static str {
    if granted { "bewilligt" } else { "abgelehnt" }
}

fn words(counterfactual: bool) -> ArrayRef {
    column((0..N).map(|i| granted(i, counterfactual).map(word)))
}

fn sex(i: i64) -> &'static str {
    if i % 2 == 0 { "m" } else { "w" }
}

/// The rows and the file of counterfactuals, with these columns of decisions.
fn work(decided: ArrayRef, name: &str, decided_cf: ArrayRef) -> Work {
    let work = Work::new();
    let numbers = |counterfactual: bool| {
        let number = |i| granted(i, counterfactual).map(|yes| f64::from(u8::from(yes)));
        column((0..N).map(number))
    };
    Rows::of(0..N)
        .with("id", |i| i)
        .with("sex", sex)
        .with("repaid", |i| i * 5 % 7 % 2)
        .column("Entscheidung", decided)
        .column("number", numbers(false))
        .write(&work, "people.parquet");
    work.parquet(
        "decided.parquet",
        vec![
            ("row_id", column(0..N)),
            ("to_group", column((0..N).map(|i| sex(i + 1)))),
            (name, decided_cf),
            ("number", numbers(true)),
        ],
    );
    work
}

fn job(work: &Work, models: &str, rest: &str) {
    let steps = "~  label: {column: repaid, positive: [1], favourable: positive}
-  favourable
~  sensitive: {sex: {groups: [m, w], reference: m}}
-models
-gates";
    work.job(
        "scored",
        steps,
        &format!("{models}\nmetrics: {{bootstrap: {{samples: 100}}}}\n{rest}"),
    );
}

const MODEL: &str = "models:
  current:
    decision:
      column: Entscheidung
      positive: [bewilligt]
      counterfactual: {parquet: decided.parquet}
";

const GATE: &str =
    "gates: {lost: {metric: nsr, model: current, counterfactual: flip, at_most: 0.9}}
";

/// Every value but those that need a score, as `metric scope from to: value undefined lo hi`.
fn values(work: &Work) -> Vec<String> {
    let metrics = work.table("metrics");
    let columns = "metric scope from_group to_group undefined value lo hi numerator";
    metrics.of("family!=shift").map(|row| row.joined(columns)).collect()
}

/// Words, truth values and whole numbers decide as a score of 0 or 1 does.
#[test]
fn decisions_count_as_scores_that_decide_alike() {
    let plain = work(words(false), "Entscheidung", words(true));
    let scores = "models:
  current:
    scores: {factual: {column: number}, counterfactual: {parquet: decided.parquet, column: number}}
";
    job(&plain, scores, GATE);
    plain.run(0, "job.yaml", "");
    let expected = values(&plain);
    assert!(expected.len() > 40, "{}", expected.len());

    let decided = work(words(false), "Entscheidung", words(true));
    job(&decided, MODEL, GATE);
    decided.run(0, "job.yaml", "");
    assert_eq!(values(&decided), expected);
    let metrics = decided.table("metrics");
    let shift: Vec<_> = metrics.of("family=shift").collect();
    assert!(!shift.is_empty());
    for row in shift {
        row.holds("undefined=no_score, value=");
    }
    let outcomes = decided.table("outcomes");
    assert_eq!(outcomes.records().count(), N as usize);
    for (i, row) in (0..N).zip(outcomes.records()) {
        row.holds("score=, score_cf=");
        assert_eq!(row.int("predicted"), granted(i, false).map(i64::from));
        assert_eq!(row.int("predicted_cf"), granted(i, true).map(i64::from));
    }
    assert_eq!(decided.table("score_shift").records().count(), 0);
    let page = decided.read("out/annex.html");
    page.says(&["decisions without scores", "no score: the positive decision is"]);
    page.lacks(&["there is no factual score"]);

    // Truth values and numbers are words too; a column of another name; a closed list.
    let flags = |cf: bool| -> ArrayRef { column((0..N).map(|i| granted(i, cf))) };
    let ones = |cf: bool| -> ArrayRef { column((0..N).map(|i| granted(i, cf).map(i64::from))) };
    for (made, made_cf, positive, negative) in
        [(flags(false), flags(true), "true", "false"), (ones(false), ones(true), "1", "0")]
    {
        let other = work(made, "decided_cf", made_cf);
        let lists = format!("[{positive}]\n      negative: [{negative}]");
        let model = MODEL
            .replace("[bewilligt]", &lists)
            .replace("decided.parquet}", "decided.parquet, column: decided_cf}");
        job(&other, &model, GATE);
        other.run(0, "job.yaml", "");
        assert_eq!(values(&other), expected, "{positive}");
    }
}

#[test]
fn words_that_nobody_knows_are_refused() {
    let run = |decided: ArrayRef, decided_cf: ArrayRef, model: &str, status: i32| -> Ran {
        let work = work(decided, "Entscheidung", decided_cf);
        job(&work, model, "");
        work.run(status, "job.yaml", "")
    };
    let planted = |cf: bool, row: i64, other: &'static str| -> ArrayRef {
        let of = |i: i64| if i == row { Some(other) } else { granted(i, cf).map(word) };
        column((0..N).map(of))
    };
    // A misspelt positive word: everybody would be denied.
    run(words(false), words(true), &MODEL.replace("[bewilligt]", "[Bewilligt]"), 3).says(&[
        "error[unknown-decision]",
        "the positive decision `Bewilligt` never occurs in `Entscheidung`",
        "`bewilligt`",
        "job.yaml",
    ]);
    let closed = MODEL.replace("[bewilligt]", "[bewilligt]\n      negative: [abgelehnt]");
    run(planted(false, 5, "storniert"), words(true), &closed, 3)
        .says(&["error[unknown-decision]", "`storniert` (1 rows) is neither"]);
    run(planted(false, 5, "bewiligt"), words(true), &closed, 3)
        .says(&["did you mean `bewilligt`?"]);
    run(planted(false, 5, "storniert"), words(true), MODEL, 0)
        .says(&["unlisted-decision", "`storniert` (1)"]);
    // The file of counterfactuals is written in the same words.
    for (word, row) in [("Bewilligt", 9), ("0.7", 0), ("", 239)] {
        run(words(false), planted(true, row, word), MODEL, 3).says(&[
            "error[bad-scores]",
            &format!("`{word}` is not a decision of the column `Entscheidung`"),
            &format!("row_id `{row}`"),
            "in the same words",
        ]);
    }
    let absent = MODEL.replace("Entscheidung", "entschieden");
    run(words(false), words(true), &absent, 3).says(&["entschieden", "job.yaml:"]);
}

/// Decisions about counterfactuals may come later: the run waits, and goes on.
#[test]
fn decisions_about_counterfactuals_may_come_later() {
    let work = work(words(false), "Entscheidung", words(true));
    job(&work, MODEL, "");
    let (there, away) = (work.path("decided.parquet"), work.path("away.parquet"));
    fs::rename(&there, &away).unwrap();
    work.run(4, "job.yaml", "");
    assert!(work.path("out/to-score/flip").is_dir());
    fs::rename(&away, &there).unwrap();
    work.run(0, "job.yaml", "");
}

/// `check` says what a model gives: a decision, an amount.
#[test]
fn check_says_what_a_decision_is() {
    let work = work(words(false), "Entscheidung", words(true));
    let says = |model: &str, words: &str| {
        job(&work, model, "");
        let stdout = work.cfaudit(0, "check job.yaml --cache cache").stdout;
        stdout.says(&[&format!("model `current`: it gives {words}\n")]);
    };
    let in_words = "a decision a row, in column `Entscheidung`: `bewilligt` is positive, ";
    says(MODEL, &format!("{in_words}any other word is negative"));
    let closed = MODEL.replace("[bewilligt]\n", "[bewilligt]\n      negative: [abgelehnt]\n");
    says(&closed, &format!("{in_words}`abgelehnt` is negative"));
    let amount = "models:
  current:
    decision: {amount: number, better: lower, matters_from: 5%, counterfactual: {parquet: \
                  decided.parquet}}
";
    says(amount, "an amount a row, in column `number`: lower is better");
}

/// Words where scores are expected: the hint names the block for decisions.
#[test]
fn words_are_no_scores() {
    let work = work(words(false), "Entscheidung", words(true));
    let other = "counterfactual: {parquet: decided.parquet, column: number}";
    let scores = format!("{{factual: {{column: Entscheidung}}, {other}}}");
    job(&work, &format!("models: {{current: {{scores: {scores}}}}}"), "");
    work.run(3, "job.yaml", "").says(&[
        "column `Entscheidung` must hold numbers, but holds the text `",
        "`decision: {column: Entscheidung, positive: [WORD]}`",
    ]);
}

/// The file of counterfactuals with every row of the data once more, decided as `of` says.
fn decide_again(work: &Work, of: fn(i64) -> Option<bool>) {
    let groups = (0..N).map(|i| Some(sex(i + 1))).chain((0..N).map(|i| Some(sex(i))));
    let decided = (0..N).map(|i| granted(i, true)).chain((0..N).map(of));
    work.parquet(
        "decided.parquet",
        vec![
            ("row_id", column((0..N).chain(0..N))),
            ("to_group", column(groups)),
            ("Entscheidung", column(decided.map(|yes| yes.map(word)))),
        ],
    );
}

/// Rows that are decided again show that the model has another version.
#[test]
fn decisions_are_rechecked() {
    let work = work(words(false), "Entscheidung", words(true));
    let recheck = "      recheck: {share: 1.0}\n";
    job(&work, MODEL, "");
    work.run(0, "job.yaml", "");
    let unchecked = |work: &Work| {
        let issues = work.table("issues");
        issues.of("code=no-recheck").map(|row| row.text("text").to_owned()).collect::<Vec<_>>()
    };
    unchecked(&work)[0].says(&["decisions of another model version"]);
    job(&work, &format!("{MODEL}{recheck}"), "");
    let again = "run job.yaml --out again --cache again-cache";
    work.cfaudit(3, again).says(&["are required by `recheck`"]);
    decide_again(&work, |i| granted(i, false));
    work.run(0, "job.yaml", "");
    assert!(unchecked(&work).is_empty());
    let recheck = work.json("out/manifest.json")["models"][0]["recheck"].clone();
    assert_eq!((&recheck["rows"], &recheck["differ"]), (&N.into(), &0.into()));
    decide_again(&work, |i| {
        if i % 60 == 3 { granted(i, false).map(|yes| !yes) } else { granted(i, false) }
    });
    work.run(3, "job.yaml", "").says(&[
        "error[recheck-differs]",
        "4 of 240 rows that were decided again have another decision",
    ]);
}

#[test]
fn the_example_of_the_guide_runs() {
    let example = documented("models-and-experiments.md", "## Decisions without a score");
    let work = work(words(false), "Entscheidung", words(true));
    decide_again(&work, |i| granted(i, false));
    // The file has all rows again, not the sample of the guide.
    job(&work, &example.replace("share: 0.01", "share: 1.0"), GATE);
    work.run(0, "job.yaml", "");
}
