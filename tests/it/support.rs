//! Counterfactuals that the reference rows hardly support, such as women who are husbands: what
//! `check`, tables, gates and page say about them.

use crate::work::{Rows, Says, Work, column};

const N: i64 = 1200;

fn sex(i: i64) -> &'static str {
    ["m", "f"][usize::from(i % 2 == 1)]
}

/// Six of ten men are husbands, and six of ten women wives, but for one woman of the reference.
fn relation(i: i64, joined: bool) -> &'static str {
    match (i / 2 % 10 < 6, i % 2) {
        (false, _) => "single",
        _ if joined => "married",
        (true, 1) if i != 1 => "wife",
        (true, _) => "husband",
    }
}

/// Whether somebody lives in the north, and in the south: of the old people each in one of them.
fn region(i: i64) -> [i64; 2] {
    let (north, nowhere) = (i % 4 < 2, i >= N / 2 && i % 60 == 0);
    [i64::from(north && !nowhere), i64::from(!north && !nowhere)]
}

/// Married people and single men are granted; as women husbands are not.
fn score(i: i64, moved: bool) -> f64 {
    match (relation(i, false), sex(i)) {
        ("husband", "m") if moved => 0.2,
        ("single", "f") => 0.3,
        _ => 0.7,
    }
}

fn with_people(joined: bool) -> Work {
    let work = Work::new();
    let scores = |moved: bool| column((0..N).map(|i| score(i, moved)));
    let ids = || column(0..N);
    Rows::of(0..N)
        .column("id", ids())
        .with("part", |i| if i < N / 2 { "old" } else { "new" })
        .with("sex", sex)
        .with("relation", |i| relation(i, joined))
        .with("region_north", |i| region(i)[0])
        .with("region_south", |i| region(i)[1])
        .with("paid", |i| i * 5 % 7 % 2)
        .column("score", scores(false))
        .write(&work, "people.parquet");
    let audited = |of: Vec<i64>| of.into_iter().filter(|i| *i >= N / 2);
    let moved: Vec<i64> = audited((0..N).collect()).collect();
    Rows::of(moved.iter())
        .with("row_id", |i| *i)
        .with("to_group", |&i| sex(i + 1))
        .with("score", |&i| score(i, true))
        .write(&work, "flip.parquet");
    let steps = "~  label: {column: paid, positive: [1], favourable: positive}
-  favourable
~  sensitive: {sex: {groups: [m, f], reference: m, words: {m: men, f: women}}}
+  features: {nominal: [relation]}
+  split: {column: part, train: [old], audit: [new]}
~counterfactuals: {flip: {naive: {}}}
~  harm: {harm_to: {sex: f}, model: live, counterfactual: flip, at_most: 0.05}";
    work.job("scored", steps, "");
    work
}

/// Numerator and denominator of the men who would be refused as women, of all or of the supported.
fn favoured(work: &Work, support: &str) -> [Option<i64>; 2] {
    let metrics = work.whole_table("metrics");
    let row = metrics
        .at(&format!("metric=favoured_by_group, scope=direction, from_group=m, support={support}"));
    assert_eq!(row.text("flags").contains("unsupported"), support == "all");
    [row.int("numerator"), row.int("denominator")]
}

#[test]
fn a_verdict_that_rests_on_women_who_are_husbands_is_none() {
    let work = with_people(false);
    work.cfaudit(0, "check job.yaml").stdout.says(&[
        "warning[unsupported-people]",
        "180 of 300 people of `m` would be `f` with `relation` `husband` (reference rows with it: \
         181, of these in `f`: 1)",
        "hint: join such levels",
    ]);
    work.run(0, "job.yaml", "");
    let columns = "from_group feature level people of_people in_reference level_in_reference";
    assert_eq!(
        work.table("support").list("", columns),
        [
            "f | relation | wife | 180 | 300 | 0 | 179",
            "m | relation | husband | 180 | 300 | 1 | 181"
        ]
    );
    assert_eq!(favoured(&work, "all"), [Some(180), Some(300)]);
    assert_eq!(favoured(&work, "supported"), [Some(0), Some(120)]);
    let gates = work.table("gates");
    gates.at("decides=1").holds("verdict=inconclusive, reason_code=unsupported-people");
    work.read("out/report.html").says(&[
        "180 of these 180",
        "180 of all 300",
        "women with relation husband",
        "hold 1 such person among 181",
    ]);
    assert!(work.table("issues").has("code=unsupported-people"));
    // Of all people the limit is broken, which the job may want to know.
    work.run(1, "job.yaml", "--set counterfactuals.flip.accept=[unsupported-people]");
}

#[test]
fn where_everybody_is_supported_nothing_is_told() {
    let work = with_people(true);
    work.cfaudit(0, "check job.yaml").stdout.lacks(&["unsupported-people"]);
    work.run(1, "job.yaml", "");
    assert_eq!(work.table("support").records().count(), 0);
    let metrics = work.whole_table("metrics");
    let of = |support: &str| {
        let rows = metrics.of(&format!("support={support}"));
        let rows = rows.filter(|row| ["ccm", "eccm"].contains(&row.text("family")));
        let columns = ["metric", "scope", "from_group", "flags", "impaired_group"];
        rows.map(|row| (columns.map(|name| row.text(name)), row.real("value"), row.real("lo")))
            .collect::<Vec<_>>()
    };
    assert_eq!(of("all"), of("supported"));
    assert!(!of("all").is_empty());
}

/// A reference that writes levels, or units, otherwise than the rows knows nothing of these people.
#[test]
fn a_reference_that_lacks_the_values_of_the_people_decides_nothing() {
    let plain = |nurse: bool| ["eng", "nurse"][usize::from(nurse)];
    let verdict = |reference: &str, set: &str| {
        let work = with_people(true);
        let people = |name: &str, level: fn(bool) -> &'static str, unit: i64| {
            Rows::of(0..N)
                .column("id", column(0..N))
                .with("sex", sex)
                .with("job", |i| level((i / 2 % 10 < 8) != (i % 2 == 0)))
                .with("income", |i| unit * (1000 + 300 * (1 - i % 2) + i))
                .with("score", |i| score(i, false))
                .write(&work, &format!("{name}.parquet"));
        };
        people("people", plain, 12);
        people("levels", |nurse| ["eng", "NURSE"][usize::from(nurse)], 12);
        people("months", plain, 1);
        Rows::of(0..N)
            .with("row_id", |i| i)
            .with("to_group", |i| sex(i + 1))
            .with("score", |i| score(i, true))
            .write(&work, "flip.parquet");
        let steps = format!(
            "@  sensitive
+  features: {{nominal: [job], continuous: [income]}}
+  reference: {{parquet: {reference}.parquet}}
~counterfactuals: {{flip: {{{set}}}}}
~  harm: {{harm_to: {{sex: f}}, model: live, counterfactual: flip, at_most: 0.9}}"
        );
        work.job("scored", &steps, "");
        work.run(0, "job.yaml", "");
        let quality = work.table("cf_quality");
        let unknown = ["m", "f"].map(|from| {
            quality.at(&format!("metric=unknown_share, from_group={from}")).real("value")
        });
        (work.table("gates").at("decides=1").text("reason_code").to_owned(), unknown)
    };
    let told = |code: &str, unknown: [f64; 2]| (code.to_owned(), unknown.map(Some));
    // A fifth of the men are nurses, and four fifths of the women.
    let expected = [
        told("limit-kept", [0.0; 2]),
        told("unmoved-features", [0.2, 0.8]),
        told("unmoved-features", [1.0; 2]),
    ];
    let named = "{move: [job, income], condition_on: none}";
    for set in [format!("plausible: {named}"), "greedy: {condition_on: none}".to_owned()] {
        let found = ["people", "levels", "months"].map(|reference| verdict(reference, &set));
        assert_eq!(found, expected, "{set}");
    }
    // People who are matched with each other take values that the reference need not know.
    let (_, unknown) = verdict("levels", &format!("transport: {named}"));
    assert_eq!(unknown, [Some(0.0); 2]);
}

/// Columns of which exactly one is 1 in every reference row are a group, also where the job lists
/// them separately.
#[test]
fn one_hot_columns_that_stand_apart_are_one_feature() {
    for list in [
        "nominal: [relation, region_north, region_south]",
        "nominal: [relation], continuous: [region_north, region_south]",
    ] {
        let work = with_people(true);
        let job = work.read("job.yaml");
        work.write("job.yaml", &job.replace("nominal: [relation]", list));
        let stdout = work.cfaudit(0, "check job.yaml").stdout;
        let words = "10 of 300 people of `m` would be `f` with a `region` that no reference row";
        stdout.says(&[words, "onehot-apart"]);
        work.run(1, "job.yaml", "");
        let rows = work.table("support").list("", "from_group feature people");
        assert_eq!(rows, ["m | region | 10"], "{list}");
    }
}
