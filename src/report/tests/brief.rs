//! The brief and the evidence of hand-made folders: their sentences, the targets of their links,
//! their size.

use super::html::{annex, check_tags, section};
use super::plausibility::QualitySample;
use super::sample::{
    FolderSample, SampleValue, ValuePlace, glossary, names, push, spread, still, thin, two_groups,
};
use super::*;
use crate::folder::manifest::{DecisionNames, SignerWords};
use crate::report::brief::voice::AuditVoice;
use crate::report::brief::{harm, limits};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::ResultKey;
use crate::table::why::{SwitchFeatureRow, SwitchPatternRow};
use crate::table::{ArmRow, CfExampleRow, TableRow};

/// Bytes and words of a page.
const BYTES_AT_MOST: usize = 400_000;
const WORDS_AT_MOST: usize = 5_000;

/// A folder of a sample with the two rates of harm; a group is named where `named` says so.
fn harmed(sample: &FolderSample, named: bool) -> tempfile::TempDir {
    let folder = sample.folder();
    let tables = folder.path().join("tables");
    let mut metrics = read_rows::<MetricRow>(&tables).unwrap();
    for model in &sample.models {
        for (s, (set, _)) in sample.sets.iter().enumerate() {
            for (f, from) in sample.groups.iter().enumerate() {
                for (t, to) in sample.groups.iter().enumerate().filter(|(t, _)| *t != f) {
                    let cells = (sample.cells)(s, f, t);
                    let sum = |p: usize, c: usize| cells[0][p][c] + cells[1][p][c];
                    let at = ValuePlace { model, set, scope: "direction", from, to };
                    let (has, gets) = if sample.favourable_is_positive { (1, 0) } else { (0, 1) };
                    let n = cells.iter().flatten().flatten().sum();
                    let favoured =
                        SampleValue::Rate(sum(has, gets), sum(has, 0) + sum(has, 1), "empty_group");
                    let denied = SampleValue::Rate(
                        sum(gets, has),
                        sum(gets, 0) + sum(gets, 1),
                        "empty_group",
                    );
                    let worse = |group: &str| if named { group.to_owned() } else { String::new() };
                    push(&mut metrics, at, ["favoured_by_group", "ccm", &worse(to)], &favoured, n);
                    push(&mut metrics, at, ["denied_by_group", "ccm", &worse(from)], &denied, n);
                    // The differences name the later group.
                    let at = ValuePlace { scope: "difference", ..at };
                    for metric in ["favoured_by_group", "denied_by_group"].iter().filter(|_| f < t)
                    {
                        let value = SampleValue::Number(0.1);
                        push(&mut metrics, at, [metric, "ccm", &worse(to)], &value, n);
                    }
                }
            }
        }
    }
    write_rows(&tables, &metrics).unwrap();
    folder
}

/// Changes the rows of a table of a folder.
fn change<R: TableRow>(folder: &Path, each: impl FnMut(&mut R)) {
    let tables = folder.join("tables");
    let mut rows = read_rows::<R>(&tables).unwrap();
    rows.iter_mut().for_each(each);
    write_rows(&tables, &rows).unwrap();
}

/// Lets the differences between directions name this group as worse off.
fn name_in_differences(folder: &Path, group: &str) {
    change(folder, |row: &mut MetricRow| {
        if row.key.scope == "difference" {
            row.impaired_group = group.into();
        }
    });
}

/// Changes the manifest of a folder.
fn edit(folder: &Path, change: impl FnOnce(&mut Manifest)) {
    let path = folder.join("manifest.json");
    let mut manifest: Manifest = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut manifest);
    fs::write(&path, serde_json::to_string(&manifest).unwrap()).unwrap();
}

/// Both pages of a folder; each must be what every page is, and every address in the annex must be
/// there.
fn pages(name: &str, folder: &Path) -> String {
    let pages = render(folder, None, &glossary).unwrap();
    if let Some(kept) = std::env::var_os("CFAUDIT_PAGES") {
        fs::write(Path::new(&kept).join(format!("brief-{name}.html")), &pages.report).unwrap();
    }
    let (_, outside) = check_tags(&pages.report, "annex.html");
    if let Some(annex) = &pages.annex {
        let (ids, _) = check_tags(annex, "report.html");
        for address in outside.iter().filter_map(|address| address.strip_prefix('#')) {
            assert!(ids.contains(address), "{name}: the annex has nothing called {address}");
        }
    } else {
        assert!(outside.is_empty() && !pages.report.contains("annex"), "{name}");
    }
    let report = pages.report.replace(['\u{202f}', '\u{a0}'], " ");
    assert!(pages.report.len() < BYTES_AT_MOST, "{name}: {} bytes", pages.report.len());
    let n = super::html::words(&report[report.find("<main").unwrap()..]).split(' ').count();
    assert!(n < WORDS_AT_MOST, "{name}: {n} words");
    assert!(!report.contains("NaN") && !report.contains("inf%"), "{name}");
    report
}

/// The pages of a sample with its rates of harm.
fn page_of(name: &str, sample: &FolderSample, named: bool) -> String {
    pages(name, harmed(sample, named).path())
}

fn harm_gates() -> Vec<super::sample::GateSample> {
    vec![
        ("no-harm", "fail", "warn", "favoured_by_group", Some((0, 1)), 1),
        ("no-harm", "pass", "warn", "denied_by_group", Some((1, 0)), 0),
    ]
}

#[test]
fn a_limit_on_a_change_says_that_it_leaves_out_other_trainings() {
    let gates = vec![("no-more-harm", "pass", "warn", "denied_by_group", Some((1, 0)), 1)];
    let sample = FolderSample { gates, ..two_groups() };
    let limits = |trainings: Option<i64>| {
        let folder = harmed(&sample, true);
        let tables = folder.path().join("tables");
        let mut gates = read_rows::<GateRow>(&tables).unwrap();
        gates.iter_mut().for_each(|row| row.rule = "rise_at_most, interval".into());
        write_rows(&tables, &gates).unwrap();
        let mut metrics = read_rows::<MetricRow>(&tables).unwrap();
        metrics.iter_mut().for_each(|row| row.training_repeats = trainings);
        write_rows(&tables, &metrics).unwrap();
        section(&pages("change", folder.path()), "limits")
    };
    let told = "The interval of this change does not include the other trainings of the model.";
    let (once, again) = (limits(None), limits(Some(5)));
    assert!(again.contains(told), "{again}");
    assert!(!once.contains(told), "{once}");
}

#[test]
fn the_first_screen_says_who_is_worse_off_by_how_much_against_what() {
    let sample = FolderSample { gates: harm_gates(), ..two_groups() };
    let html = page_of("two", &sample, true);
    let verdict = section(&html, "verdict");
    verdict.says(&[
        "Fail The only limit is broken. It is set as a warning, so the pipeline continues.",
        "The gbm model treats people in group Female worse: 13 of 191 people in group Male \
         with the favourable decision (7 %; 4 to 11) would lose it as Female. Limit: ",
        "changes only the entry for group of people",
    ]);
    let limits = section(&html, "limits");
    limits.says(&[
        "Limits: the only one is broken",
        "Does the gbm model treat people in group Female worse when only",
    ]);
    let all = section(&html, "all");
    all.says(&["People in group Male with the favourable decision who would lose it as Female"]);
    assert_eq!(html.matches("class=\"grp\"").count(), 2, "the hero chart has two groups");
    section(&html, "sign").says(&["Approved by"]);
    section(&html, "not").says(&["not with a model trained again."]);
    section(&html, "not").says(&["describe a model that was trained elsewhere."]);
}

/// Limits stand worst first: broken before kept, then those that stop the pipeline before those
/// that only warn, then by how far beyond the limit; changes say their limit in points, with its
/// sign.
#[test]
fn limits_stand_worst_first() {
    let gate = |name: &'static str, verdict, level| {
        (name, verdict, level, "denied_by_group", Some((1, 0)), 1)
    };
    let gates = vec![
        gate("kept", "pass", "fail"),
        gate("warns", "fail", "warn"),
        gate("near", "fail", "fail"),
        gate("far", "fail", "fail"),
        gate("falls", "pass", "fail"),
    ];
    let folder = harmed(&FolderSample { gates, ..two_groups() }, true);
    let tables = folder.path().join("tables");
    let mut rows = read_rows::<GateRow>(&tables).unwrap();
    for row in &mut rows {
        let cells = match row.gate.as_str() {
            "far" => "limit=0.05, value=0.5, lo=0.4, hi=0.6",
            "near" => "limit=0.05, value=0.2, lo=0.1, hi=0.3",
            "falls" => "limit=0.01, value=0.02, rule=fall_at_most, interval",
            _ => "limit=0.05, value=0.01",
        };
        *row = row.with(cells);
    }
    write_rows(&tables, &rows).unwrap();
    let audit = AuditFolder::read(folder.path()).unwrap();
    let voice = AuditVoice::new(&audit.manifest, false);
    let limits = limits::all(&audit, &voice);
    let names: Vec<&str> = limits.iter().map(|limit| limit.name.as_str()).collect();
    assert_eq!(names, ["far", "near", "warns", "falls", "kept"]);
    let falls = &limits[3];
    assert_eq!((falls.amount.as_str(), falls.drawn), ("\u{2212}1 point", -0.01));
}

/// Of two results the larger may be larger by chance, and nobody is counted as harmed up to what
/// shuffled groups give.
#[test]
fn harm_is_what_neither_noise_nor_choice_explains() {
    let folder = harmed(&two_groups(), true);
    let audit = AuditFolder::read(folder.path()).unwrap();
    let voice = AuditVoice::new(&audit.manifest, false);
    let (mut harmful, mut within_noise) = (0, 0);
    for result in harm::all(&audit, &voice) {
        let (lo, _) = result.point.interval.unwrap();
        let noise = result.placebo.map_or(0.0, |(_, hi)| hi);
        assert_eq!(result.harmed > 0.0, lo > noise, "{result:?}");
        harmful += usize::from(lo > noise);
        within_noise += usize::from(lo <= noise);
        assert_eq!(result.lower_end_of(1), Some(lo));
        assert!(result.lower_end_of(2) < Some(lo), "{result:?}");
    }
    assert!(harmful > 4 && within_noise > 0, "{harmful} {within_noise}");
}

/// Who is worse off is not certain where other trainings give the difference of the two directions
/// either sign; the range is that of the direction which the page tells.
#[test]
fn a_direction_that_turns_with_the_training_is_not_certain() {
    let sample = FolderSample { gates: harm_gates(), ..two_groups() };
    let told = |(lo, hi): (f64, f64)| {
        let folder = harmed(&sample, true);
        let tables = folder.path().join("tables");
        let mut metrics = read_rows::<MetricRow>(&tables).unwrap();
        for row in metrics.iter_mut().filter(|row| row.key.scope == "difference") {
            (row.value, row.training_lo, row.training_hi) = (Some(0.04), Some(lo), Some(hi));
            // Other fits, which are wider, do not turn it.
            (row.fit_lo, row.fit_hi) = (Some(0.01), Some(0.9));
        }
        write_rows(&tables, &metrics).unwrap();
        section(&pages("turns", folder.path()), "verdict")
    };
    let words = "Which of the two groups is worse off is not certain: the difference to the \
                 opposite direction is +4.0 points here, and \u{2212}10 to +40 over other \
                 trainings of the model.";
    assert!(told((-0.1, 0.4)).contains(words), "{}", told((-0.1, 0.4)));
    told((0.01, 0.4)).lacks(&["is not certain"]);
}

/// Where the people of either group would gain as members of the other, no group is called worse
/// off: neither in the first sentence nor next to the results.
#[test]
fn results_that_contradict_each_other_name_no_group() {
    let sample = FolderSample { gates: harm_gates(), ..two_groups() };
    let folder = harmed(&sample, true);
    let told = |impaired: &str| {
        name_in_differences(folder.path(), impaired);
        let html = pages("contested", folder.path());
        ["verdict", "all"].map(|id| section(&html, id))
    };
    let differ = "Results of this test differ on which of the two groups is worse off.";
    let [verdict, all] = told("Female");
    verdict.says(&["treats people in group Female worse"]);
    verdict.lacks(&[differ]);
    all.says(&["worse off, it is Female"]);
    for impaired in ["", "Male"] {
        let [verdict, all] = told(impaired);
        verdict.says(&[differ]);
        verdict.lacks(&["treats people in group Female worse"]);
        all.lacks(&["it is Female"]);
    }
}

/// Weighted shares times people give the order, and not a number of people.
#[test]
fn the_order_of_all_results_is_said() {
    let all = |weighted| {
        let sample = FolderSample { weighted, ..two_groups() };
        section(&page_of(if weighted { "order-weighted" } else { "order" }, &sample, true), "all")
    };
    all(false).says(&["Sorted by the number of people whose decision would change."]);
    let told = "Sorted by the weighted share of people whose decision would change, times their \
                number.";
    all(true).says(&[told]);
    // The first chart, too, weighs: of Male 176 + 2 x 15 as they are, 176 + 2 x 50 of 1094.
    let sample = FolderSample { weighted: true, ..two_groups() };
    section(&page_of("chart-weighted", &sample, true), "verdict").says(&[
        "Shares are weighted; the numbers of people are not.",
        "Male 1029 people 18.8 %as they are 25.2 %as Female",
        "191 of 1029 with the actual group",
    ]);
}

/// The limits of the page for a gate with these cells, from the question on.
fn limit_of(cells: &str) -> String {
    let gates = vec![("g", "pass", "fail", "denied_by_group", Some((1, 0)), 1)];
    let folder = harmed(&FolderSample { gates, ..two_groups() }, true);
    let tables = folder.path().join("tables");
    let rows: Vec<GateRow> = read_rows::<GateRow>(&tables)
        .unwrap()
        .into_iter()
        .map(|row| row.with("reason_code=limit-kept").with(cells))
        .collect();
    write_rows(&tables, &rows).unwrap();
    let report = render(folder.path(), None, &glossary).unwrap().report;
    let text = section(&report.replace(['\u{202f}', '\u{a0}'], " "), "limits");
    let (_, told) = text.split_once("next to the question. ").unwrap();
    told.to_owned()
}

/// What a limit asks, says and draws by the cells of its row.
#[test]
fn each_kind_of_limit_has_its_question_and_its_words() {
    let pair = "scope=pair, from_group=Male, to_group=Female, counterfactual=";
    let group = "scope=group, from_group=Male, to_group=, counterfactual=";
    let total = "scope=total, from_group=, to_group=, counterfactual=";
    let share = "value=0.05, lo=0.02, hi=0.08, numerator=5, denominator=100";
    let gap = "value=0.03, lo=0.01, hi=0.06, numerator=, denominator=";
    let lines: Vec<String> = [
        share.to_owned(),
        format!("{share}, class=High"),
        format!("{share}, metric=favoured_by_group, verdict=fail, lo=0.12, hi=0.2, value=0.15"),
        format!("{share}, metric=psr, rule=at_most, estimate"),
        format!("{pair}, metric=demp_difference, {gap}"),
        format!("{pair}, metric=demp_difference, {gap}, lo=-0.01"),
        format!("{pair}, metric=demp_difference, value=-0.3, lo=-0.4, hi=-0.2, denominator="),
        format!("{pair}, metric=fpr_difference, {gap}"),
        format!("{pair}, metric=f1_difference, {gap}"),
        format!("{pair}, metric=eodds, {gap}"),
        format!("{pair}, metric=di, rule=at_least, interval, limit=0.8, value=0.9, lo=0.85, hi=1"),
        format!("{group}, metric=fpr, {share}"),
        format!("{group}, metric=acc, {share}, rule=at_least, interval, verdict=fail"),
        format!("{total}, metric=fnr, {share}"),
        format!("{total}flip, metric=sr, {share}"),
        format!("{share}, metric=sr"),
        format!("{total}flip, metric=sr, {gap}, rule=rise_at_most, interval, limit=0.01"),
        format!("{group}, metric=acc, {gap}, rule=fall_at_most, interval, baseline_value=0.8"),
        format!("{total}flip, metric=h_ga, value=0.4, lo=, hi=, limit=0.5, denominator="),
        format!(
            "{pair}, metric=unfair_subgroups, value=3, lo=, hi=, numerator=3, denominator=9, \
             limit=0, verdict=fail, rule=at_most, estimate"
        ),
        format!("{share}, verdict=inconclusive, n_needed_80=350"),
        format!("{share}, verdict=inconclusive, n_needed_80=99"),
        format!("{share}, verdict=inconclusive, n_needed_80=2000000"),
        format!(
            "{pair}, metric=demp_difference, {gap}, verdict=inconclusive, n_needed_80=451, \
             people_needed_80=900"
        ),
        format!("{pair}, metric=demp_difference, {gap}, verdict=inconclusive, n_needed_80=451"),
    ]
    .into_iter()
    .map(|cells| limit_of(&cells))
    .collect();
    assert_eq!(
        lines,
        [
            "How many people in group Female without the favourable decision would get it as Male \
             by the gbm model when only the entry for group of people changes? Pass Female who \
             would get it as Male 5 of 100 Female who would get it as Male: 5 %, interval 2 to 8; \
             limit 10 % 5 % 2 to 8 0 5 15 20 % limit 10 %",
            "How many people in group Female with class High would have another class as Male by \
             the gbm model when only the entry for group of people changes? Pass Female with class \
             High, another class as Male 5 of 100 Female with class High, another class as Male: 5 \
             %, interval 2 to 8; limit 10 % 5 % 2 to 8 0 5 15 20 % limit 10 %",
            "How many people in group Female with the favourable decision would lose it as Male \
             by the gbm model when only the entry for group of people changes? Fail Female who \
             would lose it as Male 5 of 100 Female who would lose it as Male: 15 %, interval 12 to \
             20; limit 10 % 15 % 12 to 20 0 5 15 20 % limit 10 %",
            "Positive switch rate of the gbm model, Female and Male: at most 10 %? The value \
             decides. Pass value 5 of 100 value: 5 %, interval 2 to 8; limit 10 % 5 % 2 to 8 0 5 \
             15 20 % limit 10 %",
            "By the gbm model, is the share of people in group Male who get the favourable \
             decision at most 10 points above that of people in group Female? People in group Male \
             get the favourable decision more often than people in group Female. Pass share of \
             people in group Male who get the favourable decision minus that of people in group \
             Female share of people in group Male who get the favourable decision minus that of \
             people in group Female: +3 points, interval +1 to +6; limit 10 points +3 points +1 to \
             +6 0 20 limit 10 points",
            "By the gbm model, is the share of people in group Male who get the favourable \
             decision at most 10 points above that of people in group Female? The data cannot tell \
             whether people in group Male or people in group Female get the favourable decision \
             more often. Pass share of people in group Male who get the favourable decision minus \
             that of people in group Female share of people in group Male who get the favourable \
             decision minus that of people in group Female: +3 points, interval \u{2212}1 to +6; \
             limit 10 points +3 points \u{2212}1 to +6 \u{2212}10 0 20 limit 10 points",
            "By the gbm model, is the share of people in group Male who get the favourable \
             decision at most 10 points above that of people in group Female? People in group \
             Female get the favourable decision more often than people in group Male. Pass share \
             of people in group Male who get the favourable decision minus that of people in group \
             Female share of people in group Male who get the favourable decision minus that of \
             people in group Female: \u{2212}30 points, interval \u{2212}40 to \u{2212}20; limit \
             10 points \u{2212}30 points \u{2212}40 to \u{2212}20 \u{2212}60 \u{2212}40 \u{2212}20 \
             limit 10 points",
            "Are people in group Male wrongly given the favourable decision by the gbm model at \
             most 10 points more often than people in group Female? People in group Male are \
             wrongly given the favourable decision more often than people in group Female. Pass \
             difference among people with the unfavourable label difference among people with the \
             unfavourable label: +3 points, interval +1 to +6; limit 10 points +3 points +1 to +6 \
             0 20 limit 10 points",
            "Difference in F1 score of the gbm model, Male and Female: at most 0.10? Pass Male \
             minus Female Male minus Female: +0.03, interval +0.01 to +0.06; limit 0.10 +0.03 \
             +0.01 to +0.06 0 0.05 0.15 0.2 limit 0.10",
            "Equalized odds difference of the gbm model, Male and Female: at most 10 points? Pass \
             Male compared with Female Male compared with Female: 3 points, interval 1 to 6; limit \
             10 points 3 points 1 to 6 0 20 limit 10 points",
            "By the gbm model, is the share of people in group Female who get the favourable \
             decision at least 0.80 times that of people in group Male? Pass share of Female over \
             that of Male 16 of 122 share of Female over that of Male: 0.90, interval 0.85 to \
             1.00; limit 0.80 0.90 0.85 to 1.00 0 0.25 0.5 limit 0.80",
            "Are at most 10 % of people in group Male wrongly given the favourable decision by \
             the gbm model? Pass of Male with the unfavourable label 5 of 100 of Male with the \
             unfavourable label: 5 %, interval 2 to 8; limit 10 % 5 % 2 to 8 0 5 15 20 % limit 10 \
             %",
            "Accuracy of the gbm model, Male: at least 10 %? Fail value 5 of 100 value: 5 %, \
             interval 2 to 8; limit 10 % 5 % 2 to 8 0 5 15 % limit 10 %",
            "Are at most 10 % of the people wrongly denied the favourable decision by the gbm \
             model? Pass of people with the favourable label 5 of 100 of people with the \
             favourable label: 5 %, interval 2 to 8; limit 10 % 5 % 2 to 8 0 5 15 20 % limit 10 %",
            "Does the gbm model decide differently when only the entry for group of people \
             changes? Pass people with a different decision 5 of 100 people with a different \
             decision: 5 %, interval 2 to 8; limit 10 % 5 % 2 to 8 0 5 15 20 % limit 10 %",
            "Does the gbm model decide differently about people in group Female as Male when only \
             the entry for group of people changes? Pass Female decided otherwise as Male 5 of 100 \
             Female decided otherwise as Male: 5 %, interval 2 to 8; limit 10 % 5 % 2 to 8 0 5 15 \
             20 % limit 10 %",
            "Is the gbm model worse than in the earlier run, by the share of decisions that \
             change? Pass people with a different decision people with a different decision: +3 \
             points, interval +1 to +6; limit +1 point +3 points +1 to +6 \u{2212}2 4 6 limit +1 \
             point",
            "Is the gbm model worse than in the earlier run, by the share judged correctly? Pass \
             change from the earlier run from 80 % change from the earlier run: +3 points, \
             interval +1 to +6; limit \u{2212}10 points +3 points +1 to +6 \u{2212}30 10 limit \
             \u{2212}10 points",
            "Do the possible causal graphs agree? Pass disagreement: 0 none, 1 most disagreement: \
             0 none, 1 most: 0.40; limit 0.50 0.40 0 0.25 0.75 1 limit 0.50",
            "In how many subgroups is it harder for people in group Male than for people in group \
             Female, or for people in group Female than for people in group Male, to get the \
             favourable decision? The value decides. Fail subgroups 3 of 9 subgroups: 3; limit 0 3 \
             1 2 3 limit 0",
            "How many people in group Female without the favourable decision would get it as Male \
             by the gbm model when only the entry for group of people changes? The whole interval \
             keeps the limit. With about 250 more people in group Female without the favourable \
             decision the question would be decided in 4 of 5 cases. Cannot tell Female who would \
             get it as Male 5 of 100 Female who would get it as Male: 5 %, interval 2 to 8; limit \
             10 % 5 % 2 to 8 0 5 15 20 % limit 10 %",
            "How many people in group Female without the favourable decision would get it as Male \
             by the gbm model when only the entry for group of people changes? The whole interval \
             keeps the limit. With as many people again, but others, the question would be decided \
             in 4 of 5 cases. Cannot tell Female who would get it as Male 5 of 100 Female who \
             would get it as Male: 5 %, interval 2 to 8; limit 10 % 5 % 2 to 8 0 5 15 20 % limit \
             10 %",
            "How many people in group Female without the favourable decision would get it as Male \
             by the gbm model when only the entry for group of people changes? The whole interval \
             keeps the limit. The value is so close to the limit that no realistic number of \
             people would decide the question. Cannot tell Female who would get it as Male 5 of \
             100 Female who would get it as Male: 5 %, interval 2 to 8; limit 10 % 5 % 2 to 8 0 5 \
             15 20 % limit 10 %",
            "By the gbm model, is the share of people in group Male who get the favourable \
             decision at most 10 points above that of people in group Female? People in group Male \
             get the favourable decision more often than people in group Female. The whole \
             interval keeps the limit. With about 900 people audited (about 460 of them count in \
             this value) the question would be decided in 4 of 5 cases. Cannot tell share of \
             people in group Male who get the favourable decision minus that of people in group \
             Female share of people in group Male who get the favourable decision minus that of \
             people in group Female: +3 points, interval +1 to +6; limit 10 points +3 points +1 to \
             +6 0 20 limit 10 points",
            "By the gbm model, is the share of people in group Male who get the favourable \
             decision at most 10 points above that of people in group Female? People in group Male \
             get the favourable decision more often than people in group Female. The whole \
             interval keeps the limit. With about 460 people in both groups together the question \
             would be decided in 4 of 5 cases. Cannot tell share of people in group Male who get \
             the favourable decision minus that of people in group Female share of people in group \
             Male who get the favourable decision minus that of people in group Female: +3 points, \
             interval +1 to +6; limit 10 points +3 points +1 to +6 0 20 limit 10 points",
        ]
    );
}

/// What a kept limit does not see is said by the page too, unless it says who is ahead. Of a ratio
/// it names no group as worse off: that is not certain from the value.
#[test]
fn a_limit_on_one_side_says_what_it_does_not_see() {
    let with = |remark: &str| {
        format!("reason_args={{\"judged\":\"value\",\"remarks\":[{{\"remark\":{remark}}}]}}")
    };
    let order = with(
        "\"other-order\",\"groups\":[\"Male\",\"\"],\"value\":0.2,\"group\":\"\",\
         \"side\":\"behind\"",
    );
    let pair = "scope=pair, from_group=Male, to_group=Female, counterfactual=, denominator=";
    let di = format!("{pair}, metric=di, rule=at_least, estimate, limit=0.8, value=5, lo=, hi=");
    let told = limit_of(&format!("{di}, {order}"));
    told.says(&["The limit does not see the other order: all others over Male is 0.20."]);
    told.lacks(&["worse off"]);
    limit_of(&format!("{di}, verdict=fail, {order}")).lacks(&["does not see"]);
    let sign = with("\"other-sign\",\"value\":-0.2");
    let f1 = format!("{pair}, metric=f1_difference, value=-0.2, lo=-0.3, hi=-0.1, {sign}");
    limit_of(&f1).says(&["The limit does not see a gap the other way round."]);
    let ahead = format!("{pair}, metric=demp_difference, value=-0.2, lo=-0.3, hi=-0.1, {sign}");
    limit_of(&ahead).lacks(&["does not see"]);
}

/// Cells of the people who keep, lose and gain the favourable decision, whichever it is.
#[test]
fn switches_are_counted_by_the_favourable_side() {
    let told = |favourable_is_positive| {
        let sample = FolderSample { favourable_is_positive, ..two_groups() };
        let audit = AuditFolder::read(sample.folder().path()).unwrap();
        let names = ["gbm", "flip", "group of people"];
        let key = ResultKey::new(names, "total", ["Male", "Female"]);
        let of = harm::switches(&audit, &key).unwrap();
        [of.keep, of.lose, of.gain, of.without]
    };
    assert_eq!(told(true), [178, 13, 33, 805]);
    assert_eq!(told(false), [805, 33, 13, 178]);
}

#[test]
pub(super) fn what_no_test_counts_is_given_in_numbers() {
    let sample = FolderSample { quality: Some(QualitySample::new()), ..two_groups() };
    let folder = harmed(&sample, true);
    let tables = folder.path().join("tables");
    let mut groups = read_rows::<GroupRow>(&tables).unwrap();
    let whole = groups[0].clone().with("group=, n=400, n_missing_counterfactual_score=49");
    groups.retain(|row| !row.group.is_empty() || row.model != whole.model);
    groups.push(whole);
    write_rows(&tables, &groups).unwrap();
    let not = section(&pages("not-counted", folder.path()), "not");
    not.says(&["has no score for 49 counterfactuals: the tests do not count them."]);
    let excluded = "People without a valid counterfactual (100 of 400 in the set world) are \
                    excluded from the tests that move features";
    assert!(not.contains(excluded), "{not}");
}

/// Where a person has several counterfactuals in a set, its counts are no people, but a limit needs
/// people.
#[test]
fn counts_of_several_counterfactuals_of_a_person_are_not_called_people() {
    let gates = vec![("no-harm", "inconclusive", "warn", "favoured_by_group", Some((0, 1)), 1)];
    let folder = harmed(&FolderSample { gates, ..two_groups() }, true);
    change(folder.path(), |row: &mut MetricRow| {
        if row.key.scope == "direction" {
            row.n_rows = 40;
            row.denominator_persons = row.denominator.map(|n| n.min(40));
        }
    });
    change(folder.path(), |row: &mut GateRow| row.n_needed_80 = Some(121));
    let html = pages("several", folder.path());
    let verdict = section(&html, "verdict");
    verdict.says(&[
        "13 of 191 counterfactuals of people in group Male",
        "A person has several counterfactuals in flip, world: their counts are counterfactuals.",
        "191 counterfactuals",
    ]);
    section(&html, "limits").says(&["With about 130 people who count here the question would be"]);
    section(&html, "all").says(&["number of counterfactuals whose decision would change"]);
}

/// A set of which all counterfactuals were discarded has no results: the verdict says so.
#[test]
fn a_set_that_tests_nobody_is_named_on_the_first_page() {
    let told = |discarded: f64| {
        let quality = Some(QualitySample { discarded, ..QualitySample::new() });
        let folder = harmed(&FolderSample { quality, ..two_groups() }, true);
        if discarded == 1.0 {
            let tables = folder.path().join("tables");
            let mut metrics = read_rows::<MetricRow>(&tables).unwrap();
            metrics.retain(|row| row.key.counterfactual != "world");
            write_rows(&tables, &metrics).unwrap();
        }
        let html = pages("untested", folder.path());
        ["verdict", "not"].map(|id| section(&html, id))
    };
    let words = "Nobody was tested by the set world. By group of people, all 200 counterfactuals \
                 were discarded: this audit has no result of that test.";
    let [verdict, not] = told(1.0);
    verdict.says(&[words]);
    not.says(&["People without a valid counterfactual (400 of 400 in the set world)"]);
    told(0.25)[0].lacks(&["Nobody was tested"]);
}

/// Where people have several other groups, each is counted once for each of them.
#[test]
fn whom_no_test_counts_is_no_number_of_people_where_each_counts_several_times() {
    let groups = names(&["a", "b", "c"]);
    let quality = Some(QualitySample::new());
    let folder = harmed(&FolderSample { groups, cells: spread, quality, ..two_groups() }, true);
    section(&pages("not-counted-of-three", folder.path()), "not").says(&[
        "Decisions as members of another group without a valid counterfactual (300 of 1200 in the \
         set world) are excluded from the tests that move features",
    ]);
}

#[test]
fn of_a_limit_that_both_parts_break_the_one_that_harms_more_people_leads() {
    let gates = vec![
        ("no-harm", "fail", "warn", "favoured_by_group", Some((0, 1)), 1),
        ("no-harm", "fail", "warn", "denied_by_group", Some((1, 0)), 0),
    ];
    let sample = FolderSample { gates, ..two_groups() };
    let verdict = |name: &str, other_lo: f64| {
        let folder = harmed(&sample, true);
        let tables = folder.path().join("tables");
        let mut gates = read_rows::<GateRow>(&tables).unwrap();
        for gate in &mut gates {
            gate.lo = Some(if gate.decides == 1 { 0.11 } else { other_lo });
        }
        write_rows(&tables, &gates).unwrap();
        section(&pages(name, folder.path()), "verdict")
    };
    let both = verdict("both", 0.11);
    let more = "25 of 895 people in group Female without the favourable decision (3 %; 2 to 4; \
                chosen from 2) would get it as Male. Limit: 10 %.";
    assert!(both.contains(more) && !both.contains("has no limit. 25 of"), "{both}");
    let one = verdict("one", 0.09);
    one.says(&["13 of 191 people in group Male with the favourable decision"]);
}

#[test]
fn the_words_of_the_job_reach_the_page() {
    let sample = FolderSample { gates: harm_gates(), ..two_groups() };
    let folder = harmed(&sample, true);
    edit(folder.path(), |manifest| {
        let label = manifest.label.as_mut().unwrap();
        label.words = Some(DecisionNames {
            favourable: "granted".to_owned(),
            unfavourable: "refused".to_owned(),
            object: Some("the loan".to_owned()),
        });
        let attribute = &mut manifest.attributes[0];
        attribute.called = Some("sex".to_owned());
        let word = |group: &str, words: &str| (group.to_owned(), words.to_owned());
        attribute.words = BTreeMap::from([word("Male", "men"), word("Female", "women")]);
        let words = &mut manifest.words;
        words.purpose = Some("Yearly review".to_owned());
        words.period = Some("October 2026".to_owned());
        words.limitations = vec!["The rows are no applications.".to_owned()];
        words.signers[1] = SignerWords {
            role: Some("Model validation".to_owned()),
            name: Some("R. Roe".to_owned()),
            date: None,
        };
    });
    let html = pages("words", folder.path());
    section(&html, "verdict").says(&[
        "The gbm model treats women worse: 13 of 191 men who are granted the loan (7 %; 4 to \
         11) would be refused as women.",
    ]);
    section(&html, "all").says(&["Granted men who would be refused as women"]);
    section(&html, "not").says(&["From the job: The rows are no applications."]);
    let sign = section(&html, "sign");
    sign.says(&["Yearly review", "October 2026", "Model validation R. Roe"]);
    assert!(
        section(&html, "groups").contains("women get")
            || section(&html, "groups").contains("women")
    );
    edit(folder.path(), |manifest| manifest.words.without_annex = true);
    pages("alone", folder.path());
}

/// The page reads who lacks more from the arguments of the issue, not from its text, which has the
/// names of the groups.
#[test]
fn the_first_screen_has_the_words_for_those_who_lack_more() {
    let share = |group: &str, n: u64| {
        OwnedShare::new(ShareOwner::Group(group.to_owned()), Rate::of(n, 40_000))
    };
    let args = SelectiveArgs {
        model: Some("gbm".to_owned()),
        of_rows: false,
        shares: vec![[share("Female", 16_000), share("Male", 4000)]],
    };
    let issue = args.issue("without_score", "group of people", 20_000);
    assert!(issue.text.contains("of the people of `Female` (16000 of 40000)"), "{}", issue.text);
    let folder = harmed(&two_groups(), true);
    let tables = folder.path().join("tables");
    let mut issues = read_rows::<IssueRow>(&tables).unwrap();
    issues.push(issue);
    write_rows(&tables, &issues).unwrap();
    edit(folder.path(), |manifest| {
        manifest.attributes[0].words = BTreeMap::from([("Female".to_owned(), "women".to_owned())]);
    });
    let verdict = section(&pages("lacking", folder.path()), "verdict");
    verdict.says(&[
        "Some groups lack more scores than others. Scores of gbm are missing for some groups more \
         often than for others: 40.0 % of women (16 000 of 40 000) and 10.0 % of people in group \
         Male (4000 of 40 000) have none; its metrics are about the others.",
    ]);
    verdict.lacks(&["the people of"]);
}

#[test]
fn no_sentence_names_a_group_that_the_tables_do_not_name() {
    for (name, sample) in [
        ("named-two", two_groups()),
        ("named-thin", FolderSample { cells: thin, ..two_groups() }),
        (
            "named-five",
            FolderSample {
                groups: names(&["a", "b", "c", "d", "e"]),
                cells: spread,
                ..two_groups()
            },
        ),
    ] {
        let html = page_of(name, &sample, false);
        for id in ["verdict", "all"] {
            let text = section(&html, id);
            for word in ["treats", "are worse off", "is worse off", " it is "] {
                assert!(!text.contains(word), "{name} {id} {word}: {text}");
            }
        }
    }
}

#[test]
fn pages_of_all_kinds_stay_small_and_lead_somewhere() {
    let groups = |n: usize| (1..=n).map(|i| format!("g{i}")).collect::<Vec<_>>();
    for (name, sample) in [
        ("five", FolderSample { groups: groups(5), cells: spread, ..two_groups() }),
        ("twenty", FolderSample { groups: groups(20), cells: spread, ..two_groups() }),
        ("thin", FolderSample { cells: thin, ..two_groups() }),
        ("still", FolderSample { cells: still, gates: Vec::new(), ..two_groups() }),
        ("no-label", FolderSample { labelled: false, ..two_groups() }),
        ("unfavourable", FolderSample { favourable_is_positive: false, ..two_groups() }),
        ("weighted", FolderSample { weighted: true, ..two_groups() }),
        ("stand-in", FolderSample { stand_in: true, ..two_groups() }),
    ] {
        let html = page_of(name, &sample, true);
        let verdict = section(&html, "verdict");
        match name {
            "still" => assert!(
                verdict.contains("No limit The job sets no limit")
                    && verdict.contains("Nobody would be decided differently: 0 of "),
                "{verdict}"
            ),
            "stand-in" => {
                verdict.says(&[
                    "Nothing on this page is about real people.",
                    "Generated rows, no finding",
                ]);
                verdict.lacks(&["treats"]);
            }
            "five" | "twenty" => {
                assert!(html.matches("<h3 class=\"sm\">").count() < 40, "{name}");
            }
            _ => {}
        }
    }
}

#[test]
fn hostile_names_are_only_text_in_the_brief() {
    let sample = FolderSample {
        groups: names(&[
            "<script>alert(1)</script>",
            "\"' onload=x \u{202e}elaM\u{0}",
            "{{ 7 * 7 }}",
        ]),
        cells: spread,
        gates: Vec::new(),
        ..two_groups()
    };
    let html = page_of("hostile", &sample, true);
    assert!(!html.contains("<script") && !html.contains('\u{202e}') && !html.contains('\u{0}'));
    html.says(&["{{ 7 * 7 }}", "&lt;script&gt;"]);
    html.lacks(&["&amp;lt;"]);
}

#[test]
fn the_annex_holds_every_result_of_the_brief() {
    let sample = FolderSample { gates: harm_gates(), ..two_groups() };
    let folder = harmed(&sample, true);
    let html = annex(folder.path());
    let all = section(&html, "all");
    // Two sets, two directions, two metrics.
    assert_eq!(html.matches("<tr id=\"all-").count(), 8, "{all}");
    all.says(&["Male \u{2192} Female", "13 of 191"]);
}

/// Two sets without a placebo, no gate.
fn without_noise() -> FolderSample {
    let sets = vec![("flip", "naive"), ("other", "greedy")];
    FolderSample { sets, gates: Vec::new(), ..two_groups() }
}

/// A line for each step, with its number, and what had no data.
#[test]
pub(super) fn the_path_says_what_to_do_next() {
    let folder = harmed(&without_noise(), true);
    let path = |group: &str| {
        name_in_differences(folder.path(), group);
        section(&pages("path", folder.path()), "path")
    };
    path("").lacks(&["By this"]);
    path("Male").says(&[
        "Do decisions stay the same if only the group changes? No: ",
        "; chosen from 2) of the decisions of the gbm model would be different",
        "Which decisions are lost, and whose? 50 of 838 ",
        "; chosen from 4). By this, group Male is worse off.",
        "Were the decisions that are lost right? Wrong ones more often: ",
        "Steps without data: Does it concern some people more than others? (needs a block why on",
        "experiments: remedy: {model: gbm, from: other, arms: {all: {}, switched: {}}}",
    ]);
    let sample = FolderSample { labelled: false, ..without_noise() };
    let path = section(&page_of("path-no-label", &sample, true), "path");
    path.says(&["Were the decisions that are lost right? (needs labels and"]);
    let sample = FolderSample { cells: still, ..without_noise() };
    let path = section(&page_of("path-still", &sample, true), "path");
    path.says(&["Nothing stands out: "]);
    path.lacks(&["remedy: {"]);
}

/// Writes a block `why` on the finding of the sample, whose features have these lower ends, and an
/// experiment in which one rate becomes lower and another changes by so much.
fn add_path(folder: &Path, lower_ends: &[f64], other_change: f64) {
    let tables = folder.join("tables");
    let all = SwitchPatternRow::of(
        "why=who, half=second, model=gbm, counterfactual=other, sensitive=group of people, \
         from_group=Male, to_group=Female, metric=denied_by_group, n=400, k=24, rate=0.06, \
         lo=0.041, hi=0.088",
    );
    let pattern = SwitchPatternRow {
        rate: Some(1.0 / 3.0),
        traits: r#"[{"column": "job", "reading": "is", "level": "Sales"}]"#.into(),
        ..all.clone().with(
            "pattern=job = Sales, \
             n=60, k=20, lo=0.227, hi=0.459, n_others=340, k_others=4, difference=0.32, \
             difference_lo=0.21, difference_hi=0.45, told=1, confirmed=1",
        )
    };
    // The same of the models of an arm, which the path does not take for the audited one.
    let again = |half: &'static str| {
        all.clone().with(&format!("why=again, arm=augment/switched, half={half}, n=500, k=5"))
    };
    write_rows(&tables, &[again("first"), again("second"), all, pattern]).unwrap();
    let features: Vec<SwitchFeatureRow> = lower_ends
        .iter()
        .enumerate()
        .map(|(i, lo)| SwitchFeatureRow {
            feature: ["income", "job", "region"][i].into(),
            decision: Some(0.6 - 0.1 * i as f64),
            decision_lo: Some(*lo),
            ..SwitchFeatureRow::of(
                "why=who, \
            people=switched, model=gbm, counterfactual=other, sensitive=group of people, \
            from_group=Male, to_group=Female, n=40, of=50, moved=40, decision_hi=0.8, undone=20, \
            undone_rate=0.5",
            )
        })
        .collect();
    write_rows(&tables, &features).unwrap();
    let change =
        |metric: &str, scope: &str, [from, to]: [&str; 2], difference: f64| ComparisonRow {
            model_value: Some(0.06 + difference),
            lo: Some(difference - 0.01),
            hi: Some(difference + 0.01),
            ..ComparisonRow::of(&format!(
                "arm=augment/switched, model=gbm, against_arm=augment/base, against=gbm, \
                 counterfactual=other, sensitive=group of people, scope={scope}, \
                 from_group={from}, to_group={to}, metric={metric}, difference={difference}, \
                 against_value=0.06, level=0.95"
            ))
        };
    let rows = [
        change("acc", "total", ["", ""], 0.004),
        change("denied_by_group", "direction", ["Male", "Female"], -0.05),
        change("favoured_by_group", "direction", ["Female", "Male"], other_change),
    ];
    write_rows(&tables, &rows).unwrap();
    let arm = |name: &str| ArmWords { name: name.to_owned(), words: "rows".to_owned() };
    edit(folder, |m| {
        m.experiments = vec![ExperimentWords {
            name: "augment".to_owned(),
            model: "gbm".to_owned(),
            counterfactual: "other".to_owned(),
            arms: vec![arm("base"), arm("switched")],
            ..ExperimentWords::default()
        }];
    });
}

/// Each step that picks one of several takes the end at the level of that many.
#[test]
fn the_path_goes_on_through_traits_features_and_arms() {
    let path = |name: &str, lower_ends: &[f64], other_change: f64| {
        let sample = without_noise();
        let folder = harmed(&sample, true);
        add_path(folder.path(), lower_ends, other_change);
        let page = pages(name, folder.path());
        let why = section(&page, "why");
        let of_arm = "By the gbm model (arm augment/switched) (";
        assert!(why.contains(of_arm) && why.contains(": 5 of 500 "), "{why}");
        section(&page, "path")
    };
    let said = path("path-whole", &[0.4, 0.3], 0.0);
    said.says(&[
        "Yes: with job = Sales, 20 of 60 ",
        "against 1 % of the others",
        "Through income: it adds 60 % (",
        "; chosen from 2) of the switches. \u{2192} ask whether this feature may count",
        "Arm switched changed it from 6 % to 1 %: \u{2212}5 points",
        "people judged correctly: +0.4 points",
        "Next: try this arm on other data before you use it.",
    ]);
    said.lacks(&["remedy: {"]);
    // Above 0 by itself, and not as the larger of two.
    let one = path("path-one-feature", &[0.04], 0.0);
    one.says(&["Through income: it adds"]);
    let two = path("path-two-features", &[0.04, 0.0], 0.0);
    two.says(&["No single feature stands out; the first is income with 60 %"]);
    let harm = path("path-harm", &[0.4], 0.03);
    harm.says(&["None without harm: arm switched changed it"]);
}

/// Whether a gap is larger is a question of its size: the change of one that turned round is clear,
/// and does not say so.
#[test]
pub(super) fn a_gap_that_turned_round_is_not_called_larger() {
    let folder = harmed(&without_noise(), true);
    add_path(folder.path(), &[0.4], 0.0);
    let tables = folder.path().join("tables");
    let mut rows = read_rows::<ComparisonRow>(&tables).unwrap();
    rows.push(ComparisonRow::of(
        "arm=augment/switched, model=gbm, against_arm=augment/base, against=gbm, \
         sensitive=group of people, scope=pair, from_group=Male, to_group=Female, \
         metric=demp_difference, difference=-0.0581, lo=-0.1, hi=-0.02, against_value=0.0278, \
         model_value=-0.0303, level=0.95",
    ));
    write_rows(&tables, &rows).unwrap();
    let page = pages("turned", folder.path());
    let turned = "gap in the share with the favourable decision, Male and Female, from +3 points \
                  to \u{2212}3 points";
    let path = section(&page, "path");
    path.says(&["Arm switched changed it from 6 % to 1 %"]);
    path.says(&[&format!("No other rate is clearly worse; reversed: {turned}.")]);
    let retraining = section(&page, "retraining");
    retraining.says(&[
        "No harm is clearly larger after retraining.",
        &format!("Reversed: {turned} (arm switched)."),
    ]);
}

/// The first screen tells of each experiment that adds rows, and an arm that adds no synthetic rows
/// is the arm whose counterfactuals it has.
#[test]
pub(super) fn the_first_screen_tells_of_every_experiment() {
    let folder = harmed(&without_noise(), true);
    let tables = folder.path().join("tables");
    let mut metrics = read_rows::<MetricRow>(&tables).unwrap();
    let is_own = |row: &&MetricRow| {
        row.key.counterfactual == "other" && ["direction", "total"].contains(&&*row.key.scope)
    };
    let own: Vec<MetricRow> = metrics.iter().filter(is_own).cloned().collect();
    for arm in ["bbb/base", "bbb/switched", "bbb/cfs_adasyn"] {
        for mut row in own.clone() {
            row.key.arm = arm.into();
            if arm != "bbb/base" && row.numerator.is_some() {
                (row.value, row.numerator, row.lo) = (Some(0.0), Some(0), Some(0.0));
            }
            metrics.push(row);
        }
    }
    write_rows(&tables, &metrics).unwrap();
    let added = ArmRow::of("model=gbm, n_rows=100").each(
        "arm            | n_counterfactuals | n_added_positive
         aaa/base       | 0                 | 0
         aaa/diverse    | 0                 | 0
         bbb/base       | 0                 | 0
         bbb/cfs_adasyn | 9                 | 4
         bbb/switched   | 9                 | 4",
    );
    write_rows(&tables, &added).unwrap();
    let arm = |name: &&str| ArmWords { name: (*name).to_owned(), words: "rows".to_owned() };
    let experiment = |(name, arms): (&str, &[&str])| ExperimentWords {
        name: name.to_owned(),
        model: "gbm".to_owned(),
        counterfactual: "other".to_owned(),
        arms: arms.iter().map(arm).collect(),
        ..ExperimentWords::default()
    };
    let all: [(&str, &[&str]); 2] =
        [("aaa", &["base", "diverse"]), ("bbb", &["base", "switched", "cfs_adasyn"])];
    edit(folder.path(), |m| m.experiments = all.into_iter().map(experiment).collect());
    let page = pages("experiments", folder.path());
    let same = "No synthetic rows were added by arm cfs_adasyn: its model is that of arm switched, \
                so it shows nothing of its own.";
    let verdict = section(&page, "verdict");
    verdict.says(&[
        "Did retraining help? Experiment bbb: ",
        " before, 0 % (arm switched) after. The section on retraining tells whether any harm became \
         larger.",
        same,
        "Experiment aaa: No rows were added by arm diverse: its model is the one before, so it \
         shows nothing.",
    ]);
    verdict.lacks(&["(arm cfs_adasyn)"]);
    section(&page, "retraining").says(&[same]);
    // Synthetic rows make it an arm of its own.
    let mut added = added;
    added[3].n_synthetic = 1;
    write_rows(&tables, &added).unwrap();
    section(&pages("experiments-own", folder.path()), "verdict")
        .says(&["0 % (arm switched), 0 % (arm cfs_adasyn) after."]);
}

#[test]
fn a_limit_on_an_arm_has_one_comma_behind_it() {
    let gates = vec![("right", "pass", "warn", "acc", Some((0, 1)), 1)];
    let folder = harmed(&FolderSample { gates, ..two_groups() }, true);
    change(folder.path(), |row: &mut GateRow| {
        (row.arm, row.scope) = ("try/all".into(), "group".into());
        (row.from_group, row.to_group) = ("Female".into(), "".into());
    });
    let limits = section(&pages("comma", folder.path()), "limits");
    limits.says(&["ccuracy of the gbm model, retrained (arm all), Female: "]);
}

/// A person of the table of cases, feature by feature.
fn add_case(folder: &Path, features: &[(&str, &str, &str)], scores: [f64; 2]) {
    let row = |(feature, value, value_cf): &(&str, &str, &str)| CfExampleRow {
        feature: (*feature).into(),
        value: Some((*value).into()),
        value_cf: Some((*value_cf).into()),
        changed: value != value_cf,
        score: Some(scores[0]),
        score_cf: Some(scores[1]),
        ..CfExampleRow::of(
            "model=gbm, counterfactual=flip, sensitive=group of people, from_group=Male, \
             to_group=Female, decision=1, decision_cf=0",
        )
    };
    let rows: Vec<CfExampleRow> = features.iter().map(row).collect();
    write_rows(&folder.join("tables"), &rows).unwrap();
}

#[test]
pub(super) fn a_case_says_what_changed_and_what_was_decided() {
    let sample = FolderSample { gates: harm_gates(), ..two_groups() };
    let folder = harmed(&sample, true);
    let none = pages("no-cases", folder.path());
    assert!(!none.contains("id=\"cases\"") && !none.contains("report.cases"), "opt-in only");
    let mut features = vec![
        ("hours", "45", "45"),
        ("income", "35.612903225806451", "31.415926535897931"),
        ("group of people", "Male", "Female"),
        ("<b>", "A30", "A31"),
    ];
    features.extend((0..9).map(|_| ("other", "x", "x")));
    add_case(folder.path(), &features, [0.5004, 0.41]);
    edit(folder.path(), |manifest| {
        manifest.names = BTreeMap::from([(
            "<b>".to_owned(),
            BTreeMap::from([("A31".into(), "all <paid>".into())]),
        )]);
    });
    let html = pages("cases", folder.path());
    let text = section(&html, "cases");
    text.says(&[
        "One person who switches by the gbm model (entry only)",
        "Case 1 Male as Female",
        "favourable decision \u{2192} \u{25bc} unfavourable decision",
        "entry for group of people Male \u{2192} Female",
        "income 35.62 \u{2192} 31.42",
        "A30 \u{2192} all &lt;paid>",
        "hours 45 same",
        "7 more stay as they are.",
        "0.5004",
    ]);
    assert!(!html.contains("<paid>") && html.contains("these are") == none.contains("these are"));
    html.says(&["because the job asks for them by <code>report.cases</code>"]);
}
