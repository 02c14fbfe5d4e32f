//! Who switches: the table of patterns, gates on it, the page, and what `check` refuses.

use crate::frame::{TableFrame, read_frame};
use crate::work::{Work, root};

const FEW: &str = "--set data.rows.synthetic.rows=6000";

/// The blocks of the guide on the demo.
fn job() -> String {
    let guide = std::fs::read_to_string(root().join("docs/why.md")).unwrap();
    let from = guide.find("```yaml\n").unwrap() + "```yaml\n".len();
    let blocks = &guide[from..from + guide[from..].find("```").unwrap()];
    format!("cfaudit: 1\nname: why\ninclude: [jobs/demo.yaml]\n{blocks}")
}

fn table(work: &Work, name: &str) -> TableFrame {
    read_frame(&work.path("out/tables"), name)
}

#[test]
fn patterns_are_found_on_one_half_and_confirmed_on_the_other() {
    let work = Work::with_jobs();
    work.write("why.yaml", &job());
    work.run(0, "why.yaml", FEW);
    let patterns = table(&work, "switch_patterns");
    let of = |why: &'static str, half: &'static str| {
        patterns.records().filter(move |row| row.text("why") == why && row.text("half") == half)
    };
    // Both halves together are the people of the metric, each counted once.
    let metrics = table(&work, "metrics");
    let denied = metrics
        .records()
        .find(|row| {
            row.text("metric") == "denied_by_group"
                && row.text("model") == "scorecard"
                && row.text("scope") == "direction"
                && row.text("from_group") == "Female"
        })
        .unwrap();
    let everybody = |half| of("refused-women", half).find(|row| row.text("pattern").is_empty());
    let [first, second] = ["first", "second"].map(|half| everybody(half).unwrap());
    for (column, all) in [("n", "denominator"), ("k", "numerator")] {
        let sum = first.int(column).unwrap() + second.int(column).unwrap();
        assert_eq!(Some(sum), denied.int(all), "{column}");
    }
    // Whoever is near the cut-off switches, and income decides how near.
    let confirmed: Vec<_> =
        of("refused-women", "second").filter(|row| row.int("confirmed") == Some(1)).collect();
    assert!(confirmed.iter().any(|row| row.text("pattern").contains("income = ")), "none");
    for row in &confirmed {
        assert!(row.real("p_holm").unwrap() <= 0.05 && row.real("difference").unwrap() > 0.0);
        assert_eq!(row.int("n").unwrap() + row.int("n_others").unwrap(), second.int("n").unwrap());
    }
    assert!(of("refused-women", "first").all(|row| row.int("confirmed").is_none()));
    // Wrong predictions need no set.
    let wrong = of("wrongly-granted", "second").find(|row| row.text("pattern").is_empty()).unwrap();
    assert_eq!((wrong.text("counterfactual"), wrong.text("metric")), ("", "fpr"));

    let gates = table(&work, "gates");
    let gate = gates.records().find(|row| row.text("gate") == "no-pattern").unwrap();
    assert_eq!((gate.text("verdict"), gate.text("metric")), ("fail", "confirmed_patterns"));
    assert_eq!(gate.real("value"), Some(confirmed.len() as f64));
    assert_eq!(gate.text("needed_how"), "by_estimate");
    let page = std::fs::read_to_string(work.path("out/report.html")).unwrap();
    for words in [
        "Who switches more often than the others?",
        " of refused women would be granted the loan as men (",
        "all refused women, this half",
        " of the others.",
        "confirmed on the other half",
    ] {
        assert!(page.contains(words), "{words}");
    }
    // Judged again only from the folder, nothing changes.
    let summary = work.json("out/summary.json");
    work.cfaudit(0, "gate out");
    assert_eq!(work.json("out/summary.json"), summary);
}

/// The same patterns on any number of threads.
#[test]
fn threads_do_not_change_patterns() {
    let work = Work::with_jobs();
    work.write("why.yaml", &job());
    work.run(0, "why.yaml", &format!("{FEW} --threads 1"));
    let one = std::fs::read(work.path("out/tables/switch_patterns.parquet")).unwrap();
    work.cfaudit(0, &format!("run why.yaml --out other --cache other-cache {FEW} --threads 3"));
    let three = std::fs::read(work.path("other/tables/switch_patterns.parquet")).unwrap();
    assert!(one == three);
}
