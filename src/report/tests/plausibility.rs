//! The section on the plausibility of counterfactuals: its tables as samples write them, and what
//! the page says about them.

use super::html::{page, page_within, section, words};
use super::sample::{FolderSample, two_groups};
use super::*;
use crate::report::draw::palette;
use crate::table::{CfDistributionRow, CfFeatureRow, CfMapRow, CfQualityRow, RARE, SetPair};

fn pair([set, attribute, from, to]: [&str; 4]) -> SetPair {
    SetPair {
        counterfactual: set.into(),
        sensitive: attribute.into(),
        from_group: from.into(),
        to_group: to.into(),
    }
}

/// What the tables of quality of a sample hold.
#[derive(Clone)]
pub(super) struct QualitySample {
    /// Names of features: numbers, levels, one that does not move, and again.
    pub(super) features: Vec<String>,
    /// Share of discarded counterfactuals, of 200.
    pub(super) discarded: f64,
    /// Whether the last feature that moves ends farther from its target group.
    pub(super) farther: bool,
    /// Whether the reference is thinned out and rows are matched approximately.
    pub(super) approximate: bool,
    /// Whether levels are empty, blank and more than are distinguished.
    pub(super) odd_levels: bool,
    /// The job asks for a map; there is none for this reason, which is empty where there is one.
    pub(super) map: Option<&'static str>,
}

impl QualitySample {
    pub(super) fn new() -> Self {
        let features = ["age", "job", "town"].map(str::to_owned).to_vec();
        QualitySample {
            features,
            discarded: 0.25,
            farther: false,
            approximate: false,
            odd_levels: false,
            map: None,
        }
    }

    /// Writes the tables for every set of a sample that moves features.
    pub(super) fn write(&self, sample: &FolderSample, tables: &Path) {
        let (mut quality, mut features) = (Vec::<CfQualityRow>::new(), Vec::<CfFeatureRow>::new());
        let mut shapes = Vec::<CfDistributionRow>::new();
        for (set, _) in sample.sets.iter().filter(|(_, strategy)| *strategy != "naive") {
            self.measures(&mut quality, [set, "group of people", "", ""]);
            for from in &sample.groups {
                for to in sample.groups.iter().filter(|to| *to != from) {
                    let key = [set, "group of people", from, to];
                    self.measures(&mut quality, key);
                    for (f, feature) in self.features.iter().enumerate() {
                        self.feature(&mut features, key, f, feature);
                        self.shape(&mut shapes, key, f, feature);
                    }
                }
            }
        }
        write_rows(tables, &quality).unwrap();
        write_rows(tables, &features).unwrap();
        write_rows(tables, &shapes).unwrap();
        if let Some(undefined) = self.map {
            let is_there = undefined.is_empty();
            let only = |value: f64| is_there.then_some(value);
            let row = |[from, to]: [&str; 2], number: i64| CfMapRow {
                pair: pair(["world", "group of people", from, to]),
                x: only(number as f64),
                y: only(0.5),
                x_cf: only(2.0),
                y_cf: only(-0.5),
                share_x: only(0.4),
                share_y: only(0.25),
                ..CfMapRow::of(&format!("number={number}, tied=0, undefined={undefined}"))
            };
            let pairs =
                if is_there { vec![["Female", "Male"], ["Male", "Female"]] } else { vec![[""; 2]] };
            let rows = pairs.iter().flat_map(|pair| (0..3).map(|number| row(*pair, number)));
            let rows: Vec<CfMapRow> = rows.take(if is_there { 6 } else { 1 }).collect();
            write_rows(tables, &rows).unwrap();
        }
    }

    fn measures(&self, frame: &mut Vec<CfQualityRow>, key: [&str; 4]) {
        let valid = |n: f64| n / (200.0 * (1.0 - self.discarded));
        let none_valid = self.discarded == 1.0;
        let mut all = vec![
            ("n_cf", Some(200.0)),
            ("n_pairs", Some(200.0)),
            ("n_pairs_valid", Some(200.0 * (1.0 - self.discarded))),
            ("n_without_class", Some(0.0)),
            ("share_discarded", Some(self.discarded)),
            ("cos_median", Some(0.987)),
            ("cos_mean", Some(0.95)),
            ("l1_mean", Some(1.23)),
            ("l2_mean", Some(0.612)),
            ("changed_mean", Some(1.4)),
            ("unchanged_share", Some(valid(15.0))),
            ("clamped_mean", Some(valid(3.0))),
            ("fallback_mean", Some(0.0)),
            ("kept_mean", Some(0.0)),
            ("unknown_share", Some(0.0)),
            ("plausibility_50", Some(0.9)),
            ("plausibility_05", Some(0.6)),
            ("plausibility_95", Some(1.4)),
            ("exact", Some(f64::from(u8::from(!self.approximate)))),
        ];
        if !key[2].is_empty() {
            all.extend([
                ("plausibility_real_05", Some(0.5)),
                ("plausibility_real_50", Some(0.8)),
                ("plausibility_real_95", Some(1.6)),
            ]);
        }
        if self.approximate {
            all.extend([
                ("n_without_target", Some(7.0)),
                ("approximate_share", Some(0.125)),
                ("transport_cost", None),
            ]);
        }
        let of_made = |metric: &str| {
            metric.starts_with("n_")
                || metric.contains("_real_")
                || ["share_discarded", "exact"].contains(&metric)
        };
        for (metric, value) in all {
            let value = value.filter(|_| !none_valid || of_made(metric));
            frame.push(CfQualityRow {
                pair: pair(key),
                metric: metric.into(),
                value,
                undefined: if value.is_none() { "nothing_to_average" } else { "" }.into(),
            });
        }
    }

    fn feature(&self, frame: &mut Vec<CfFeatureRow>, key: [&str; 4], f: usize, name: &str) {
        let moved = f % 3 < 2;
        let number = f.is_multiple_of(3);
        let last = f + 2 >= self.features.len() && f % 3 == 1;
        let after = if self.farther && last { 0.5 } else { 0.1 + f as f64 / 100.0 };
        let only = |value: f64, of: bool| of.then_some(value);
        for (metric, value) in [
            ("n_values", Some(150.0)),
            ("n_compared", Some(if self.farther { 120.0 } else { 150.0 })),
            ("share_changed", Some(if moved { 0.5 } else { 0.0 })),
            ("mean_change", only(-2.5, number)),
            ("mean_abs_change_sd", only(0.25, number)),
            ("dist_before", Some(if moved { 0.4 } else { after })),
            ("dist_after", Some(after)),
            ("w1_before", only(0.7, number)),
            ("w1_after", only(0.2, number)),
            ("out_of_range", Some(0.0)),
        ] {
            let value = value.filter(|_| self.discarded < 1.0);
            frame.push(CfFeatureRow {
                pair: pair(key),
                feature: name.into(),
                metric: metric.into(),
                value,
                undefined: if value.is_none() { "not_a_number" } else { "" }.into(),
            });
        }
    }

    /// Twenty bins or twelve levels, 150 rows on each side; of odd levels 31 bins, the last of
    /// which holds the rest.
    fn shape(&self, frame: &mut Vec<CfDistributionRow>, key: [&str; 4], f: usize, feature: &str) {
        let number = f.is_multiple_of(3);
        let bars: i64 = if number {
            20
        } else if self.odd_levels {
            31
        } else {
            12
        };
        for (s, side) in ["original", "counterfactual", "target"].into_iter().enumerate() {
            let weight = |bin: i64| 1 + (bin * 7 + 3 * i64::try_from(s).unwrap()) % 13;
            let all: i64 = (0..bars).map(weight).sum();
            let mut left = 150;
            for bin in 0..bars {
                let n = if bin + 1 == bars { left } else { 150 * weight(bin) / all };
                left -= n;
                let level = match bin {
                    _ if number => String::new(),
                    0 if self.odd_levels => String::new(),
                    30 if self.odd_levels => RARE.to_owned(),
                    1 if self.odd_levels => "  ".to_owned(),
                    _ => format!("level {bin}"),
                };
                frame.push(CfDistributionRow {
                    pair: pair(key),
                    feature: feature.into(),
                    side: side.into(),
                    bin,
                    level: level.into(),
                    bin_lo: number.then_some(bin as f64 * 3.5),
                    bin_hi: number.then_some((bin + 1) as f64 * 3.5),
                    n,
                    share: Some(n as f64 / 150.0),
                });
            }
        }
    }
}

fn with(worlds: QualitySample) -> FolderSample {
    FolderSample { quality: Some(worlds), ..two_groups() }
}

#[test]
fn what_was_made_and_what_moved() {
    let html = page("worlds", &with(QualitySample::new()));
    let text = section(&html, "plausibility");
    // Flip is naive: nothing of it.
    text.says(&["group of people: set world (greedy)"]);
    text.lacks(&["set flip"]);
    text.says(&["Over all directions a feature moved 4 times, and never ended farther from \
                 its target group than it began."]);
    let row = "Male → Female 200 25.0 % 50 of 200 1.40 none in 15 (10.0 %) 0.987 0.612 L1 1.23 3 \
               0.0200 each 0.900 0.600 to 1.400 0.800 0.500 to 1.600";
    assert!(text.contains(row), "{text}");
    text.says(&[
        "Here no row lacked its class, no feature was mapped without its class, no feature was \
         kept because of too few reference rows and no moved feature had a value that the",
        "age nearer 50.0 % 75 of 150 −2.50 size 0.250 sd 0.400 0.100 0.200 \
         before 0.700 0 % 0 of 150",
        "job nearer 50.0 % 75 of 150 – 0.400 0.110 – 0 % 0 of 150",
        "1 feature did not move, town (distance 0.120)",
    ]);
    text.lacks(&["farther Farther", "Thinned out"]);
    html.says(&["Aggregates only: this page shows no row of a person."]);
    // Four drawings, and a table with the same numbers for each.
    let from = html.find(r#"<section id="plausibility""#).unwrap();
    let part = &html[from..from + html[from..].find("</section>").unwrap()];
    assert_eq!(part.matches(r#"role="img""#).count(), 4);
    assert_eq!(part.matches("The numbers of these charts").count(), 2);
    text.says(&[
        "age, Male → Female From, to below As they are Counterfactuals Group \
         Female 0 to 3.5 1 (0.667 %)",
        "66.5 and above",
        "the features that moved, shares of rows, from 0 to the percentage at the right.",
        "Of levels at most four are drawn: those in which the three differ most.",
    ]);
    // Its measures are explained.
    let method = section(&html, "method");
    for id in
        ["share_discarded", "cos_median", "dist_after", "out_of_range", "plausibility_real_50"]
    {
        assert!(method.contains(&format!("In tables: {id}")), "{id}");
    }
    // The glossary of these tests gives every metric a symbol; one without is called only by
    // its name.
}

#[test]
fn a_feature_that_ends_farther_is_a_warning_in_a_word_and_a_shape() {
    let html = page(
        "worlds-farther",
        &with(QualitySample { farther: true, discarded: 0.0, ..QualitySample::new() }),
    );
    let text = section(&html, "plausibility");
    text.says(&["Farther: over all directions a feature moved 4 times, and ended farther \
                 from its target group than it began 2 times: job (Male → Female: 0.400 to \
                 0.500), job (Female → Male: 0.400 to 0.500)."]);
    // Some have a class that the target group lacks: their values are compared with nobody's.
    text.says(&[
        "75 of 150 – 0.400 0.500 – 0 % 0 of 120 30 not compared",
        "job farther 50.0 %",
        "no counterfactual was discarded",
    ]);
    // Those that moved away come first.
    assert!(text.find("job farther").unwrap() < text.find("age nearer").unwrap());
    let from = html.find(r#"<section id="plausibility""#).unwrap();
    let part = &html[from..from + html[from..].find("</section>").unwrap()];
    assert_eq!(
        part.matches(r#"<svg class="mark warn""#).count(),
        3,
        "one in the sentence, one in each table"
    );
}

#[test]
fn approximations_are_said() {
    let html = page(
        "worlds-approximate",
        &with(QualitySample { approximate: true, ..QualitySample::new() }),
    );
    let text = section(&html, "plausibility");
    text.says(&[
        "Thinned out: the reference has more distinct values",
        "Without a target",
        "Matched approximately",
        "12.5 %",
    ]);
    assert!(!text.contains("Cost of transport"), "a measure without any value has no column");
}

#[test]
pub(super) fn a_set_of_which_all_is_discarded() {
    let none = |_, _, _| super::sample::EccmSample::default();
    let sample = FolderSample {
        sets: vec![("world", "greedy")],
        cells: none,
        ..with(QualitySample { discarded: 1.0, ..QualitySample::new() })
    };
    let html = page("worlds-discarded", &sample);
    let text = section(&html, "plausibility");
    text.says(&["All 200 counterfactuals were discarded: there is nothing to compare."]);
    text.lacks(&["feature moved", "did not move", "Feature by feature"]);
    text.says(&["Male → Female 200 100 % 200 of 200"]);
    text.lacks(&["of real rows", "Plausibility"]);
    let left_out = section(&html, "left-out");
    left_out.says(&["group of people, set world 200 200 (100 %) 0 of 200 0"]);
    assert_eq!(left_out.matches("all 200 counterfactuals were discarded").count(), 1, "{left_out}");
    left_out.says(&["all metrics of set world, group of people"]);
    words(&html).lacks(&["because nobody"]);
    section(&html, "switches").lacks(&["the group is empty"]);
}

#[test]
fn discarded_counterfactuals_are_left_out() {
    let left_out = section(&page("worlds-left-out", &with(QualitySample::new())), "left-out");
    // Both directions lose as much as all: a row for the set is enough.
    left_out.says(&["group of people, set world 200 50 (25.0 %) 150 of 200 0"]);
    left_out.lacks(&["Male → Female, set world"]);
    let none = section(
        &page("worlds-none-lost", &with(QualitySample { discarded: 0.0, ..QualitySample::new() })),
        "left-out",
    );
    none.lacks(&["Counterfactuals that no metric counts"]);
}

#[test]
fn empty_and_blank_levels_and_the_rest() {
    let text = section(
        &page("worlds-levels", &with(QualitySample { odd_levels: true, ..QualitySample::new() })),
        "plausibility",
    );
    for level in ["(empty)", "\u{2423}\u{2423}", "level 29", "(all others)"] {
        // Two directions, each with a drawing's numbers.
        assert!(text.matches(&format!("{level} ")).count() >= 2, "{level}: {text}");
    }
}

#[test]
fn no_section_where_nothing_moves() {
    let html = page(
        "worlds-naive",
        &FolderSample { sets: vec![("flip", "naive")], ..with(QualitySample::new()) },
    );
    html.lacks(&[r#"id="plausibility""#]);
    page("worlds-none", &two_groups()).lacks(&[r#"id="plausibility""#]);
}

#[test]
fn noise_alone_stands_beside_the_rates() {
    let html =
        page("worlds-noise", &with(QualitySample { discarded: 0.0, ..QualitySample::new() }));
    let switches = section(&html, "switches");
    switches.says(&["noise: the band of 20 repeats with shuffled group names"]);
    assert!(
        switches.contains("shaded: noise band") && html.contains(r#"<path class="area ve" d="M"#)
    );
    let naive =
        page("worlds-no-noise", &FolderSample { sets: vec![("flip", "naive")], ..two_groups() });
    words(&naive).lacks(&["noise band"]);
    section(&naive, "switches").says(&["its noise floor is zero"]);
}

#[test]
fn weights_have_no_part_in_it() {
    let html =
        page("worlds-weights", &FolderSample { weighted: true, ..with(QualitySample::new()) });
    section(&html, "plausibility")
        .says(&["This section does not use weights: every counterfactual counts once."]);
    section(&html, "method").says(&["computed without weights"]);
}

#[test]
fn hostile_names_of_features_and_levels() {
    let features = ["<script>alert(1)</script>", "\"' onload=x \u{202e}elaM\u{0}", "{{ 7 * 7 }}"]
        .map(str::to_owned)
        .to_vec();
    let html = page(
        "worlds-hostile",
        &with(QualitySample { features, farther: true, ..QualitySample::new() }),
    );
    assert!(!html.contains("<script") && !html.contains('\u{202e}') && !html.contains('\u{0}'));
    html.says(&["&lt;script&gt;alert(1)", "[U+202E]elaM", "{{ 7 * 7 }}"]);
}

/// Twenty groups, more features than there is room for, several sets: the page says what it leaves
/// out and stays small.
#[test]
fn the_budget_holds_with_many_directions_and_features() {
    let groups: Vec<String> = (0..20).map(|i| format!("group {i}")).collect();
    let features = (0..15).map(|i| format!("feature {i}")).collect();
    let sets = vec![("flip", "naive"), ("typical", "greedy"), ("carried", "transport")];
    let worlds = QualitySample { features, approximate: true, ..QualitySample::new() };
    let html = page(
        "worlds-twenty",
        &FolderSample {
            groups,
            sets,
            cells: super::sample::spread,
            quality: Some(worlds),
            ..two_groups()
        },
    );
    let text = section(&html, "plausibility");
    text.says(&[
        "Generated counterfactuals: 20 of 380 directions",
        "Feature by feature for the first 2 directions",
        "8 of the 10 features that moved",
    ]);
}

/// Long names are what weighs most: 200 characters, each of which HTML writes as six.
#[test]
fn long_names_are_cut() {
    let groups: Vec<String> = (0..8).map(|i| format!("{i:02}{}", "\"".repeat(198))).collect();
    let features = (0..12).map(|i| format!("feature {i} {}", "\"".repeat(190))).collect();
    let sets = vec![("flip", "naive"), ("typical", "greedy"), ("world", "plausible")];
    let worlds = QualitySample { features, ..QualitySample::new() };
    let models = vec!["gbm", "logistic", "forest"];
    let html = page_within(
        2_500_000,
        "worlds-wide",
        &FolderSample {
            groups,
            sets,
            models,
            cells: super::sample::spread,
            quality: Some(worlds),
            ..two_groups()
        },
    );
    html.says(&["of 56 ordered pairs"]);
    assert!(!html.contains(&"&quot;".repeat(120)), "names are cut");
}

/// Areas, lines and dots are distinguished without colour: dots and lines have the contrast of text
/// on what they lie on.
#[test]
fn drawings_need_no_colour() {
    let [chart, sections] =
        [include_str!("../page/chart.css"), include_str!("../page/sections.css")];
    let css = [&palette::css(), chart, sections].concat();
    css.says(&[
        ".dots{fill:none;stroke:var(--ink)",
        ".ln{fill:none;stroke:var(--ink)",
        ".ln.dash{stroke-dasharray:",
        ".area{fill:var(--stay)}",
    ]);
}

#[test]
pub(super) fn a_map_says_what_it_does_not_show() {
    let of = |map| with(QualitySample { map, ..QualitySample::new() });
    let html = page("worlds-map", &of(Some("")));
    let text = section(&html, "plausibility");
    text.says(&[
        "Map: each dot is a row, and its line ends at its counterfactual",
        "Male → Female: 3 of 150 rows, drawn by the seed of the run",
        "which hold 40.0 % (across) and 25.0 % (up) of its variance.",
        "may still differ in the 35.0 % of the variance that the map does not show",
    ]);
    assert_eq!(html.matches(r#"class="edge" d="M"#).count(), 2);
    assert!(html.contains(">Male \u{2192} Female</title>"), "names are not marked up in drawings");
    html.says(&["by <code>report.map</code>"]);
    html.lacks(&["no row of a person"]);
    let none = page("worlds-no-map", &of(Some("few_components")));
    let text = section(&none, "plausibility");
    let said = "There is no map of this set: its reference varies in fewer than two directions.";
    assert!(text.contains(said), "{text}");
}
