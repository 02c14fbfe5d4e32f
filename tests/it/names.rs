//! Names that mean something to a terminal, a page, a spreadsheet, XML or YAML, in `new`, `run`,
//! `gate`, `diff` and every export.

use std::process::{Command, Stdio};

use serde_json::Value as Json;

use crate::work::{Ran, Rows, Says, Work};

/// Groups of an attribute.
const GROUPS: [&str; 5] = [
    "=HYPERLINK(\"http://x\",\"y\")",
    "</script><b>&amp;]]>'",
    "two\nlines\r\t\u{1b}[31mred\u{85}\u{2028}\u{202e}",
    "${vars.x} \\ \"q\" {braces}",
    "-1|`code`*[link](x)",
];

const ATTRIBUTE: &str = "s\"e,x: #\u{1b}]0;t\u{7}";

const N: i64 = 900;

fn people(work: &Work, file: &str, shift: i64) {
    let ids = 0..N;
    let group = |i: i64| GROUPS[(i * 7 / 3 % 5) as usize];
    Rows::of(ids)
        .with("id", |i| i)
        .with(ATTRIBUTE, group)
        .with("pay", |i| ((i + shift) * 37 % 101) as f64)
        .with("=cmd|x", |i| ["=a", "\u{feff}b\u{7f}"][(i % 2) as usize])
        .with("y", |i| {
            if (i * 37 % 101 + (i * 7 / 3 % 5) * 9 + i % 17) > 70 { "yes\n\"" } else { "no: #" }
        })
        .write(work, file);
}

/// A job made by `new`, audited; `version` goes through a variable.
fn audited(work: &Work, out: &str, version: &str) {
    let mut new = work.command(&format!("new {out}.parquet --label y --out {out}.yaml"));
    Ran::of(
        new.args(["--sensitive", ATTRIBUTE, "--positive", "yes\n\"", "--reference", GROUPS[3]]),
        0,
    );
    let text = work.read(&format!("{out}.yaml"));
    assert!(text.lines().all(|line| !line.contains(|c: char| c.is_control())), "{text}");
    text.says(&["vars: {dollar: \"$\"}"]);
    let text = text
        .replace("name: ", "name: names\n# ")
        .replace(
            "vars: {dollar: \"$\"}",
            "vars: {dollar: \"$\", version: required}\n\
             exports: [junit, prometheus]\nmetrics: {bootstrap: {samples: 100}}",
        )
        .replace(
            "    level: warn",
            "    level: warn\n    note: \"]]> ${vars.version}\"\n  worse: {metric: sr, model: \
             trained, counterfactual: flip, direction: any, against: baseline, rise_at_most: 0.01}",
        )
        .replace("# about:", "about:\n  version: ${vars.version} #");
    work.write(&format!("{out}.yaml"), &text);
    let mut run = work.command(&format!("run {out}.yaml --out {out} --cache cache"));
    Ran::of(run.args(["--set", &format!("version={}", Json::from(version))]), 0);
}

/// What a terminal, or a log reader line by line, would obey.
#[track_caller]
fn assert_plain(text: &str, what: &str) {
    let obeyed = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(
        !text.contains(obeyed),
        "{what}: {:?}",
        text.lines().find(|line| line.contains(obeyed))
    );
}

#[test]
fn names_stay_names_everywhere() {
    let work = Work::new();
    for (out, shift, version) in
        [("v1", 0, "1\n</script>"), ("v2", 3, "$ {vars.nothing} \u{1b}[2J")]
    {
        people(&work, &format!("{out}.parquet"), shift);
        audited(&work, out, version);
    }
    let gate = Ran::of(&mut work.command("gate v2 --baseline v1"), 1);
    assert_plain(&gate.stderr, "the log of gate");
    assert_plain(&gate.stdout, "the summary");
    let text = work.cfaudit(0, "diff v1 v2 --all").stdout;
    assert_plain(&text, "diff");
    let places = |text: &str| {
        text.lines().filter(|line| line.contains("nsr") && line.contains("trained")).count()
    };
    let md = work.cfaudit(0, "diff v1 v2 --all --md").stdout;
    assert_plain(&md, "diff in Markdown");
    // Every row of the table is one line, with nine cells.
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    assert!(
        places(&text) > 20 && places(&md) == places(&text),
        "{} and {}",
        places(&text),
        places(&md)
    );
    assert!(md.lines().filter(|line| line.contains("nsr")).all(|line| cells(line) == 10), "{md}");
    md.lacks(&["<b>"]);
    let _: Json = serde_json::from_str(&work.cfaudit(0, "diff v1 v2 --all --json").stdout).unwrap();
    work.cfaudit(0, "diff v1 v2 --out page");
    for page in ["page/diff.html", "v2/report.html", "v2/annex.html"] {
        let page = work.read(page);
        page.lacks(&["<b>&amp;]]", "</script><b>", "\u{1b}", "\u{202e}"]);
    }
    exports(&work);
    // Judged again, and rendered again, from the job that the folder keeps.
    assert_eq!(Ran::of(&mut work.command("gate v2"), 1).stdout, gate.stdout);
    work.cfaudit(0, "report v2");
    work.cfaudit(1, "diff v1 v2 --job v2/job.resolved.yaml");
}

fn exports(work: &Work) {
    let exported = |to: &str| work.cfaudit(0, &format!("export v2 --to {to}")).stdout;
    let junit = exported("junit");
    assert!(
        junit.lines().all(|line| !line.contains(|c: char| c.is_control()))
            && junit.matches("<testcase ").count() == 2,
        "{junit}"
    );
    for line in exported("prometheus").lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once("} ").unwrap();
        assert!(value.parse::<f64>().is_ok_and(|value| !value.is_nan()), "{line}");
        // Quotes close: without what is escaped there are two for each label.
        let bare = name.replace("\\\\", "").replace("\\\"", "");
        assert_eq!(bare.matches('"').count(), 2 * bare.matches("=\"").count(), "{line}");
    }
    // What a reader of the form makes of it.
    work.write("junit.xml", &junit);
    let script = "import xml.etree.ElementTree as tree\n\
                  print(len(list(tree.parse('junit.xml').getroot().iter('testcase'))))\n";
    let python = Command::new("timeout")
        .args(["60", "python3", "-c", script])
        .current_dir(work.path(""))
        .stderr(Stdio::inherit())
        .output();
    match python {
        Ok(output) if output.status.code() != Some(127) => {
            assert_eq!(String::from_utf8_lossy(&output.stdout), "2\n")
        }
        _ => crate::work::skip("in part: python3 is not there"),
    }
}

/// Keys and values of a job that is refused.
#[test]
fn a_refused_job_obeys_nobody() {
    let work = Work::new();
    work.write("job.yaml", "cfaudit: 1\nname: x\n\"k\\e[31m\\u202e\": 1\ndata: \"\\e]0;t\\a\"\n");
    for verb in ["check", "run", "plan"] {
        let said = work.cfaudit(2, &format!("{verb} job.yaml")).stderr;
        assert_plain(&said, verb);
        said.says(&["\u{241b}[31m", "\n  --> job.yaml:3:1"]);
    }
}
