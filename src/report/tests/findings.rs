//! What the page says in words about switches and gaps, for each side of the label.

use super::html::{page, section};
use super::sample::{EccmSample, FolderSample, names, still, thin, two_groups};

/// Three groups, the first the reference: gains of 4 % towards it, and of more between the others.
fn less_than_twice(_: usize, from: usize, to: usize) -> EccmSample {
    let gain = match (from, to) {
        (1, 0) => 40,
        (2, 1) => 70,
        _ => 0,
    };
    [[[1000 - gain, gain], [0, 100]], [[0, 0], [0, 0]]]
}

fn more_than_twice(_: usize, from: usize, to: usize) -> EccmSample {
    let gain = match (from, to) {
        (1, 0) => 40,
        (2, 1) => 150,
        _ => 0,
    };
    [[[1000 - gain, gain], [0, 100]], [[0, 0], [0, 0]]]
}

#[test]
fn one_finding_of_each_comparison_and_that_of_the_reference_unless_others_harm_twice_as_many() {
    let of = |cells| FolderSample {
        groups: names(&["a", "b", "c"]),
        sets: vec![("flip", "naive")],
        gates: Vec::new(),
        cells,
        ..two_groups()
    };
    let findings = |name: &str, cells| section(&page(name, &of(cells)), "findings");
    let (less, more) = (
        findings("less", less_than_twice as fn(usize, usize, usize) -> EccmSample),
        findings("more", more_than_twice),
    );
    assert!(
        less.contains("Of 1000 people in group b without the favourable decision, 40 (4.00 %")
            && !less.contains("70 (7.00 %"),
        "{less}"
    );
    assert!(
        more.contains("Of 1000 people in group c without the favourable decision, 150 (15.0 %")
            && !more.contains("40 (4.00 %"),
        "{more}"
    );
    assert_eq!(
        [&less, &more].map(|told| told.matches("(set flip (naive), model gbm)").count()),
        [1, 1]
    );
    // A finding looks for its way back among the directions of its own comparison.
    let both = FolderSample { models: vec!["gbm", "tree"], ..of(less_than_twice) };
    assert_eq!(section(&page("both", &both), "findings").matches("40 (4.00 %").count(), 2);
}

/// Of groups as they are the pair that harms most people is reported, not the two that are furthest
/// apart, and the reference pair before it.
#[test]
fn the_gap_that_harms_most_is_told() {
    fn shares(_: usize, from: usize, _: usize) -> EccmSample {
        let (n, positive) = [(3000, 1800), (2400, 960), (100, 20), (100, 59)][from];
        [[[n - positive, 0], [positive, 0]], [[0, 0], [0, 0]]]
    }
    let sample = FolderSample {
        groups: names(&["a", "b", "c"]),
        sets: Vec::new(),
        gates: Vec::new(),
        cells: shares,
        ..two_groups()
    };
    // The pairs of hand-made tables are 4.5 % (a, b and b, c) and 7 % (a, c) apart, each by 3 %
    // more or less: b to a harms at least 36 people.
    let findings = section(&page("gaps", &sample), "findings");
    assert!(
        findings.contains("in group b get the favourable decision, and ")
            && findings.contains("in group a: "),
        "{findings}"
    );
    assert!(!findings.contains("in group c get the favourable decision"), "{findings}");
    assert_eq!(findings.matches("In the data, ").count(), 1);
    // Between b and d 96 people at least are harmed: more than twice as many.
    let more = FolderSample {
        groups: names(&["a", "b", "c", "d"]),
        sets: Vec::new(),
        gates: Vec::new(),
        cells: shares,
        ..two_groups()
    };
    let findings = section(&page("gaps-of-others", &more), "findings");
    assert!(
        findings.contains("in group b get the favourable decision, and ")
            && findings.contains("in group d: "),
        "{findings}"
    );
    let both = FolderSample { models: vec!["gbm", "tree"], ..sample };
    assert_eq!(
        section(&page("gaps-of-two", &both), "findings").matches("In the data, ").count(),
        2,
        "one of each model"
    );
}

#[test]
fn favourable_words_turn_with_the_label() {
    let html = page(
        "favourable-negative",
        &FolderSample { favourable_is_positive: false, ..two_groups() },
    );
    let findings = section(&html, "findings");
    assert!(
        findings.contains("Favourable means predicted negative, that is, not: income is >50K."),
        "{findings}"
    );
    assert!(
        findings.contains(
            "with the favourable decision, 50 (5.97 %; 95 % interval 4.55 to 7.78; noise \
             1.10 to 4.20 %) would lose it"
        ),
        "{findings}"
    );
    assert!(findings.contains("without the favourable decision"), "{findings}");
}

#[test]
fn without_labels_words_are_neutral() {
    let html = page("no-label", &FolderSample { labelled: false, clarify: None, ..two_groups() });
    let findings = section(&html, "findings");
    assert!(
        findings.contains("Of 122 people in group Female predicted positive, 16")
            && findings.contains("would be predicted negative if"),
        "{findings}"
    );
    assert!(!findings.contains("favourable"));
    assert!(!html.contains("ECCM: split"));
}

#[test]
fn nothing_switches() {
    let html = page("still", &FolderSample { cells: still, gates: Vec::new(), ..two_groups() });
    let findings = section(&html, "findings");
    assert!(
        findings.contains(
            "No decision changed in any of the 2 comparisons of set, model and \
             attribute: 0 of 2044 counterfactuals"
        ),
        "{findings}"
    );
    assert!(!findings.contains("would lose"));
}

#[test]
fn few_cases_and_undefined_values_are_said() {
    let html = page("thin", &FolderSample { cells: thin, ..two_groups() });
    let findings = section(&html, "findings");
    assert!(
        findings.contains(
            "Too few to tell: 3 of 7 people in group Male with the favourable \
             decision would lose it"
        ),
        "{findings}"
    );
    let method = section(&html, "method");
    let few = "Few cases marks a value of a group with fewer people than the job's min_group_size, \
               or a rate with fewer cases below it than its min_denominator";
    assert!(method.contains(few), "{method}");
    assert!(
        findings.contains(
            "Not defined: how many people with the favourable decision would \
             lose it for Female → Male, because nobody is predicted positive"
        ),
        "{findings}"
    );
    let left_out = section(&html, "left-out");
    assert!(
        left_out.contains("negative switch rate NSR nobody is predicted positive 2 Female → Male"),
        "{left_out}"
    );
    assert!(!html.contains("NaN"));
}
