//! An output folder in the forms of other tools: JUnit and a Prometheus text file. No form carries
//! a time.
//!
//! | Form | What it holds | Read by |
//! | --- | --- | --- |
//! | JUnit | one test case per gate; skipped gates are skipped, gates of level `warn` never fail | CI servers |
//! | Prometheus | the defined values that are asked for, with their intervals, and the gates, as gauges | node exporter's textfile collector |

use minijinja::value::Value;
use minijinja::{AutoEscape, context};

use crate::folder::manifest::{Manifest, RunSummary};
use crate::metric::Metric;
use crate::metric::catalog::find;
use crate::report::page::number::NumberFormat;
use crate::report::page::render::{add_templates, numbers_and_names};
use crate::report::page::terms;
use crate::table::deciding_range::DecidingRange;
use crate::table::digits::{decimals_apart, end_pairs, fixed_digits, interval_digits};
use crate::table::recourse::UNFAIR_SUBGROUPS;
use crate::table::why::CONFIRMED_PATTERNS;
use crate::table::{AuditKey, GateRow, MetricRow, REFITTED, RowColumns};
use crate::text::{self, fact};

/// What is exported.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExportedAudit<'a> {
    /// `manifest.json`.
    pub manifest: &'a Manifest,
    /// `summary.json`.
    pub summary: &'a RunSummary,
    /// The table `metrics`.
    pub metrics: &'a [MetricRow],
    /// The table `gates`.
    pub gates: &'a [GateRow],
    /// Whether an inconclusive gate of level `fail` ends a run with status 1.
    pub inconclusive_fails: bool,
}

/// What distinguishes values, with the names of its columns, in the order of the table.
fn key(row: &MetricRow) -> Vec<(&'static str, String)> {
    let key = serde_json::json!(row.key);
    let text = |name: &str| key[name].as_str().unwrap_or_default().to_owned();
    let names = AuditKey::COLUMNS.iter().map(|column| (column.name, text(column.name)));
    names.chain([("class", row.class.to_string())]).collect()
}

/// The rows of the table `gates` that decide: one for each gate.
pub(crate) fn deciding(gates: &[GateRow]) -> impl Iterator<Item = &GateRow> {
    gates.iter().filter(|gate| gate.decides == 1)
}

/// Text for an attribute or element of XML 1.0, which has no form for most control characters.
fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\r' | '\t' => escaped.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The templates of what is printed.
pub(super) const FORMS: [(&str, &str); 7] = [
    REFITTED,
    ("compared.html", include_str!("section/compared.html")),
    ("diff.txt", include_str!("diff.txt")),
    ("diff_in_markdown.txt", include_str!("diff_in_markdown.txt")),
    ("gate.txt", include_str!("gate.txt")),
    ("junit.txt", include_str!("junit.txt")),
    ("prometheus.txt", include_str!("prometheus.txt")),
];

/// A form of these facts, in which texts from folders are written as `shown` says.
pub(crate) fn printed(form: &str, facts: Value, shown: fn(&str) -> String) -> String {
    // Narrow blanks are for pages.
    let mut environment = numbers_and_names(|text| text.replace('\u{202f}', " "));
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.add_filter("shown", move |text: &str| shown(text));
    // Lines whose cells end with tabs, in columns.
    environment.add_filter("aligned", |lines: &str| {
        let cells = |line: &str| line.split_terminator('\t').map(str::to_owned).collect();
        text::aligned("  ", &lines.lines().map(cells).collect::<Vec<_>>(), &[])
    });
    add_templates(&mut environment, &FORMS);
    let printed = environment.get_template(form).and_then(|of| of.render(context!(f => facts)));
    printed.expect(text::TESTED)
}

/// What a row of the table `gates` says, in one line, in the numbers of the table.
pub(crate) fn gate_sentence(row: &GateRow) -> String {
    sentence_of_gate(row, [(1.0, ""); 2])
}

/// As [`gate_sentence`], in the units of the page: shares in per cent, their changes in points.
pub(crate) fn gate_sentence_in_units(row: &GateRow) -> String {
    let format = terms::kind(row.metric.as_str(), row.scope.as_str());
    let judged = if row.is_of_change() { format.of_change() } else { format };
    sentence_of_gate(row, [format, judged].map(NumberFormat::unit))
}

/// The units are those of a value of the metric and of what is judged: a factor for the numbers,
/// and a word after them.
fn sentence_of_gate(row: &GateRow, [of_metric, of_judged]: [(f64, &str); 2]) -> String {
    let ends = row.lo.zip(row.hi);
    let judged = row.value.zip(Some(row.limit));
    let decimals = match row.metric.as_str() {
        UNFAIR_SUBGROUPS | CONFIRMED_PATTERNS => 0,
        _ => {
            let apart = decimals_apart(&end_pairs(ends).chain(judged).collect::<Vec<_>>());
            if of_judged.0 > 1.0 { apart - 2 } else { apart }
        }
    };
    let number_in = |value: Option<f64>, (times, unit): (f64, &str)| {
        let digits = |v: f64| format!("{}{unit}", fixed_digits(v * times, decimals));
        value.map_or_else(|| "undefined".to_owned(), digits)
    };
    let ends = ends.map(|(lo, hi)| {
        let across = DecidingRange::before_ends(row.rule_words().1);
        let [lo, hi] = [lo, hi].map(|end| end * of_judged.0);
        format!("{across}{}", interval_digits(lo, hi, decimals))
    });
    // Of a ratio of two groups the one that is divided by the other.
    let transform = find(&row.metric).and_then(Metric::transform);
    let over = transform
        .filter(|of| of.has_order() && ["pair", "one_vs_rest"].contains(&row.scope.as_str()));
    let over = over.map(|of| of.row_groups(&row.from_group, &row.to_group).map(str::to_owned));
    let facts = context! {
        row => fact(row), divides => terms::divides_directions(&row.metric), over,
        of_change => row.is_of_change(), ends, limit => number_in(Some(row.limit), of_judged),
        baseline => number_in(row.baseline_value, of_metric),
        value => number_in(row.value, of_judged),
        counted => row.numerator.is_some() && row.denominator.is_some() && decimals > 0,
    };
    printed("gate.txt", facts, str::to_owned)
}

/// JUnit XML, a test case per gate.
pub(crate) fn junit(audit: &ExportedAudit<'_>) -> String {
    let case = |gate: &GateRow| {
        let state = match gate.counts_as() {
            "skipped" => "skipped",
            "fail" => "failure",
            "inconclusive" if audit.inconclusive_fails => "failure",
            _ => "out",
        };
        let (name, verdict) = (gate.gate.as_str(), gate.verdict.as_str());
        context!(name, verdict, state, what => gate_sentence(gate))
    };
    let cases: Value = deciding(audit.gates).map(case).collect();
    let facts = context!(job => &audit.manifest.job, run => &audit.manifest.run, cases);
    printed("junit.txt", facts, xml)
}

/// A label value of the Prometheus text format.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The Prometheus text format, version 0.0.4: the values for which `takes` says so, and the gates
/// where `with_gates`.
pub(crate) fn prometheus(
    audit: &ExportedAudit<'_>,
    takes: impl Fn(&MetricRow) -> bool,
    with_gates: bool,
) -> String {
    let labels = |row: &MetricRow| {
        let key = key(row).into_iter().chain([("metric", row.metric.to_string())]);
        key.filter(|(_, name)| !name.is_empty()).collect::<Vec<_>>()
    };
    type Samples = Vec<(Vec<(&'static str, String)>, String)>;
    let of_metrics = |value: fn(&MetricRow) -> Option<f64>| -> Samples {
        let taken = audit.metrics.iter().filter(|row| takes(row));
        taken.filter_map(|row| Some((labels(row), value(row)?.to_string()))).collect()
    };
    let gates = deciding(audit.gates).filter(|_| with_gates).flat_map(|gate| {
        ["pass", "inconclusive", "fail", "skipped"].map(|verdict| {
            let names = [("gate", &gate.gate), ("level", &gate.level)];
            let labels = names.map(|(column, name)| (column, name.to_string())).into_iter();
            let labels = labels.chain([("verdict", verdict.to_owned())]).collect();
            (labels, u8::from(gate.verdict.as_str() == verdict).to_string())
        })
    });
    let alone = |value: String| -> Samples { vec![(Vec::new(), value)] };
    let families: [(&str, Samples); 7] = [
        ("metric", of_metrics(|row| row.value)),
        ("metric_lo", of_metrics(|row| row.lo)),
        ("metric_hi", of_metrics(|row| row.hi)),
        ("gate", gates.collect()),
        ("exit_status", alone(audit.summary.exit.to_string())),
        ("people", alone(audit.manifest.rows.audited.to_string())),
        ("stand_in_data", alone(u8::from(audit.manifest.stand_in.is_some()).to_string())),
    ];
    printed(
        "prometheus.txt",
        context!(job => &audit.manifest.job, families => fact(&families)),
        label,
    )
}

#[cfg(test)]
mod tests {
    use super::{ExportedAudit, junit, prometheus};
    use crate::folder::manifest::{Manifest, RunSummary};
    use crate::table::{AuditKey, GateRow, MetricRow};
    use crate::tests::Says;
    use crate::tests::TextRow;

    /// Two values whose groups differ in one letter that few formats allow, and gates of every
    /// kind.
    fn check(see: impl Fn(&ExportedAudit<'_>)) {
        let value = |to: &'static str| MetricRow {
            key: AuditKey {
                model: "m\"x".into(),
                ..AuditKey::of(&format!(
                    "counterfactual=flip, sensitive=sex, scope=direction, from_group=a,b, \
                     to_group={to}"
                ))
            },
            ..MetricRow::of("metric=nsr, value=0.25")
        };
        let metrics =
            vec![value("c<d"), value("c>d"), MetricRow::of("scope=total, metric=psr, undefined=x")];
        let gate = |name: &'static str, verdict: &'static str, level: &'static str| {
            GateRow::of(&format!(
                "gate={name}, verdict={verdict}, level={level}, decides=1, reason=a < b & c"
            ))
        };
        let gates = vec![
            gate("a", "pass", "fail"),
            gate("b", "fail", "fail"),
            gate("c", "fail", "warn"),
            gate("d", "inconclusive", "fail"),
            gate("e", "skipped", "fail"),
            GateRow::of("gate=b, verdict=fail"),
        ];
        let manifest =
            Manifest { job: "j".to_owned(), run: "0a1b2c".to_owned(), ..Manifest::default() };
        let summary = RunSummary { exit: 1, ..RunSummary::default() };
        see(&ExportedAudit {
            manifest: &manifest,
            summary: &summary,
            metrics: &metrics,
            gates: &gates,
            inconclusive_fails: true,
        });
    }

    #[test]
    fn a_test_case_per_gate() {
        check(|audit| {
            let text = junit(audit);
            text.says(&[
                "<testsuites tests=\"5\" failures=\"2\" errors=\"0\" skipped=\"1\">",
                "<failure type=\"inconclusive\" message=\"",
                "a &lt; b &amp; c",
            ]);
            text.lacks(&["a < b"]);
            let lenient = junit(&ExportedAudit { inconclusive_fails: false, ..*audit });
            lenient.says(&["failures=\"1\""]);
            lenient.lacks(&["type=\"inconclusive\""]);
        });
    }

    /// A rate has decimals, a number of subgroups has none.
    #[test]
    fn a_count_is_told_as_a_count() {
        let said = |metric: &str| {
            let row = GateRow::of(&format!("metric={metric}, model=m, value=585.0, limit=0.0"));
            super::gate_sentence(&row)
        };
        assert_eq!(said("unfair_subgroups"), "unfair_subgroups of m is 585, limit 0; ");
        assert_eq!(said("nsr"), "nsr of m is 585.0000, limit 0.0000; ");
        let rate = GateRow::of(
            "metric=denied_by_group, model=m, from_group=f, to_group=g, value=0.25, limit=0.02, \
             numerator=5, denominator=20",
        );
        let told = super::gate_sentence(&rate);
        assert_eq!(told, "denied_by_group f to g of m is 0.2500, 5 of 20, limit 0.0200; ");
    }

    /// The ends of an interval read apart where they differ, and so do a value and its limit.
    #[test]
    fn a_gate_that_rests_on_little_does_not_read_as_zero() {
        let told = |value: f64, lo: f64, hi: f64, limit: f64| {
            super::gate_sentence(&GateRow::of(&format!(
                "metric=macd, model=m, value={value}, lo={lo}, hi={hi}, limit={limit}"
            )))
        };
        assert_eq!(
            told(0.000_02, -0.000_01, 0.000_04, 0.1),
            "macd of m is 0.00002 (-0.00001 to 0.00004), limit 0.10000; "
        );
        assert_eq!(
            told(-0.000_02, -0.000_04, 0.1, 0.1),
            "macd of m is 0.0000 (0.0000 to 0.1000), limit 0.1000; "
        );
        assert_eq!(
            told(0.100_001, 0.05, 0.15, 0.1),
            "macd of m is 0.100001 (0.050000 to 0.150000), limit 0.100000; "
        );
    }

    #[test]
    fn names_are_escaped_and_undefined_values_are_left_out() {
        check(|audit| {
            let text = prometheus(audit, |row| row.metric.as_str() == "nsr", true);
            let line = concat!(
                r#"cfaudit_metric{audit="j",model="m\"x",counterfactual="flip",sensitive="sex","#,
                r#"scope="direction",from_group="a,b",to_group="c<d",metric="nsr"} 0.25"#
            );
            assert!(text.lines().any(|l| l == line), "{text}");
            text.lacks(&["psr", "cfaudit_metric_lo"]);
            text.says(&[
                "cfaudit_gate{audit=\"j\",gate=\"b\",level=\"fail\",verdict=\"fail\"} 1\n",
            ]);
            assert_eq!(text.matches("# TYPE cfaudit_gate gauge").count(), 1);
            let none = prometheus(audit, |_| false, false);
            none.lacks(&["cfaudit_metric", "cfaudit_gate"]);
            none.says(&["cfaudit_people{audit=\"j\"} "]);
        });
    }
}
