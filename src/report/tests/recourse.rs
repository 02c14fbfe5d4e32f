//! The section on recourse: its tables as small hand-made ones, and what the page says about them.

use serde_json::json;

use super::html::{annex, section, well_formed};
use super::sample::{FolderSample, glossary, two_groups};
use super::*;
use crate::table::recourse::{
    ActionRow, AggregatedRankingRow, ComparativeRow, EcdRow, RankingRow, RecourseColumnRow,
    RecourseRow, SubgroupRow, UNFAIR_SUBGROUPS,
};

/// Tables of recourse: each of these groups is compared with the group m.
struct RecourseSample {
    groups: Vec<String>,
    /// Affected people of each group in the five judged subgroups.
    sizes: [[i64; 2]; 5],
    /// What the test against chance says about each; none where the job asks for no test.
    false_discoveries: Option<f64>,
    /// The p-value of each that is tested, by 999 deals.
    p_value: f64,
}

const COST: &str = "equal-cost-of-effectiveness";
const EFFECT: &str = "equal-effectiveness";

/// The cells of a criterion.
fn criterion(definition: &str, parameter: &str, view: &str) -> String {
    format!("definition={definition}, parameter={parameter}, view={view}")
}

impl RecourseSample {
    /// Few people: 2, 3 and 4 in the smaller group of the unfair subgroups.
    fn few() -> RecourseSample {
        RecourseSample {
            groups: vec!["f".to_owned()],
            sizes: [[2, 5], [5, 3], [4, 5], [12, 20], [30, 40]],
            false_discoveries: None,
            p_value: 0.5,
        }
    }

    fn write(&self, tables: &Path) {
        let (mut recourse, mut columns, mut subgroups) = (Vec::new(), Vec::new(), Vec::new());
        let (mut analysis, mut ecd, mut comparatives) = (Vec::new(), Vec::new(), Vec::new());
        let (mut actions, mut rankings) = (Vec::new(), Vec::new());
        for (column, changes, rule) in [("job", 1, "freely"), ("town", 0, "never")] {
            columns.push(RecourseColumnRow::of(&format!(
                "recourse=sex, column={column}, changes={changes}, may_change={rule}, \
                 distance=unit, weight=2"
            )));
        }
        for group in &self.groups {
            let pair = format!("recourse=sex, group_0={group}, group_1=m");
            recourse.push(RecourseRow {
                deals: self.false_discoveries.map(|_| 999),
                ..RecourseRow::of(&format!(
                    "{pair}, model=gbm, affected_0=19, affected_1=46, least_0=2, least_1=5, \
                     subgroups=9, subgroups_with_actions=5, actions=6"
                ))
            });
            for (definition, parameter, view, against) in [
                (COST, "0.7", "macro", [2, 1]),
                (COST, "0.7", "micro", [2, 1]),
                (EFFECT, "", "macro", [0, 1]),
                (EFFECT, "", "micro", [1, 1]),
            ] {
                let (criterion, [a, b]) = (criterion(definition, parameter, view), against);
                analysis.push(RankingRow::of(&format!(
                    "{pair}, {criterion}, unfair={}, unfair_0={a}, unfair_1={b}, judged=5, top=1, \
                     top_0=1, tied=3, tied_in_top=1",
                    a + b
                )));
                for (i, size) in self.sizes.into_iter().enumerate() {
                    let row = SubgroupRow::of(&format!("{pair}, {criterion}, subgroup={i}"));
                    subgroups.push(self.subgroup(row, size, against));
                }
            }
            rankings.push(AggregatedRankingRow::of(&format!(
                "{pair}, {}, by_definition={EFFECT}, undefined=no_unfair_subgroup",
                criterion(COST, "", "")
            )));
            ecd.push(EcdRow::of(&format!(
                "{pair}, cost=3, n_0=2, n_1=5, macro_0=1, macro_1=4, micro_0=1, micro_1=5"
            )));
            actions.push(ActionRow::of(&format!(
                "{pair}, changes=job = boss, cost=3, n_0=2, n_1=5, worked_0=1, worked_1=4"
            )));
            for (side, n, own) in [(0, 2, 1), (1, 5, 4)] {
                comparatives.push(ComparativeRow::of(&format!(
                    "{pair}, {}, place=1, changes=job = boss, cost=3, side={side}, n={n}, \
                     action=0, own={own}",
                    criterion(COST, "0.7", "macro")
                )));
            }
        }
        write_rows(tables, &recourse).unwrap();
        write_rows(tables, &columns).unwrap();
        write_rows(tables, &subgroups).unwrap();
        write_rows(tables, &analysis).unwrap();
        write_rows(tables, &ecd).unwrap();
        write_rows(tables, &comparatives).unwrap();
        write_rows(tables, &actions).unwrap();
        write_rows(tables, &rankings).unwrap();
    }

    /// The first subgroups of a definition are unfair: so many against the first group, then so
    /// many against the second.
    fn subgroup(&self, row: SubgroupRow, [n_0, n_1]: [i64; 2], against: [i64; 2]) -> SubgroupRow {
        let (group, unfair) = match row.subgroup {
            i if i < against[0] => (row.pair.group_0.clone(), true),
            i if i < against[0] + against[1] => ("m".into(), true),
            _ => ("".into(), false),
        };
        let [value_0, value_1, score] = match (row.criterion.definition.as_str(), row.subgroup) {
            (COST, 0) => [f64::INFINITY, 3.0, f64::INFINITY],
            (COST, 1 | 2) => [1.0, 2.0, 1.0],
            (COST, _) => [1.0, 1.0, 0.0],
            _ if unfair => [0.5, 1.0, 0.5],
            _ => [0.5, 0.5, 0.0],
        };
        let place = unfair.then_some(row.subgroup + 1);
        SubgroupRow {
            against: group,
            false_discovery: self.false_discoveries,
            p_value: self.false_discoveries.map(|_| self.p_value),
            rank: place,
            place,
            ..row.with(&format!(
                "traits=age = old, n_actions=1, n_0={n_0}, n_1={n_1}, value_0={value_0}, \
                 value_1={value_1}, score={score}"
            ))
        }
    }

    /// A folder of a sample with these tables.
    fn folder(&self, sample: &FolderSample, write: impl Fn(&Path)) -> tempfile::TempDir {
        let folder = sample.folder();
        self.write(&folder.path().join("tables"));
        write(&folder.path().join("tables"));
        folder
    }

    /// The annex of such a folder.
    fn page(&self, sample: &FolderSample, write: impl Fn(&Path)) -> String {
        let folder = self.folder(sample, write);
        let html = annex(folder.path());
        if let Some(pages) = std::env::var_os("CFAUDIT_PAGES") {
            fs::write(
                Path::new(&pages).join(format!("recourse-{}.html", self.groups.len())),
                &html,
            )
            .unwrap();
        }
        well_formed(&html);
        html.lacks(&["NaN", "not finite"]);
        html.replace('\u{202f}', " ")
    }
}

/// A job with recourse and no counterfactual set.
fn alone() -> FolderSample {
    FolderSample { sets: Vec::new(), gates: Vec::new(), left_out: false, ..two_groups() }
}

#[test]
fn subgroups_are_told_with_the_people_behind_them() {
    let html = RecourseSample::few().page(&alone(), |_| ());
    let said = "Too few for a conclusion: in 2 of 5 subgroups the favourable decision is harder to \
                reach for group f, in 1 for group m (by equal cost of effectiveness, 70 % of the \
                group, in both views); of 3 views, 1 finds more subgroups in which it is harder \
                for group f, 1 for group m, 1 as many for either. 19 people of group f and 46 \
                people of group m have the unfavourable decision; in the unfair subgroups the \
                smaller group has a median of 3 people, and fewer than 10 in 3 of 3 (100 %).";
    let text = section(&html, "recourse");
    assert!(text.contains(said), "{text}");
    // Curves tell their counts to those who do not see them.
    text.says(&[" (1 of 2); m ", " (4 of 5) at the highest cost."]);
    // Of many people it is shown without the words.
    let many = RecourseSample {
        sizes: [[20, 50], [50, 9], [40, 50], [12, 20], [30, 40]],
        ..RecourseSample::few()
    }
    .page(&alone(), |_| ());
    let findings = section(&many, "recourse");
    findings.says(&["In 2 of 5 subgroups"]);
    findings.lacks(&["Too few for a conclusion", "Chance is not ruled out"]);
    let untested = "These differences were not tested against chance: chance in \
                    the job requests the test.";
    assert!(findings.contains(untested), "{findings}");
    findings.says(&["a median of 20 people, and fewer than 10 in 1 of 3 (33.3 %)."]);
}

#[test]
fn what_chance_explains_is_told() {
    let many = |share, p_value| {
        let sizes = [[20, 50], [50, 9], [40, 50], [12, 20], [30, 40]];
        RecourseSample { sizes, false_discoveries: Some(share), p_value, ..RecourseSample::few() }
    };
    let findings =
        |share, p_value| section(&many(share, p_value).page(&alone(), |_| ()), "recourse");
    let within = findings(0.0501, 0.002);
    within.says(&["Chance is not ruled out: in 2 of 5 subgroups"]);
    within.lacks(&["smallest p", "were not tested against chance"]);
    within.says(&[
        "With at most 5 % false discoveries none of these 3 can be distinguished from chance.",
    ]);
    // A test that could find nothing is not a sign that there is nothing.
    let too_few_deals = findings(0.0501, 0.001);
    let said = "3 of them have the smallest p that 999 deals can give, 0.00100: with more deals in \
                the job some may be distinguished from chance.";
    assert!(too_few_deals.contains(said), "{too_few_deals}");
    let beyond = findings(0.05, 0.001);
    beyond.lacks(&["smallest p"]);
    beyond.says(&[
        "In 2 of 5 subgroups",
        "With at most 5 % false discoveries 3 of these 3 can be distinguished from chance.",
    ]);
}

#[test]
fn what_no_action_reaches_is_told_with_what_it_does_reach() {
    let text = section(&RecourseSample::few().page(&alone(), |_| ()), "recourse");
    text.says(&[
        "none helps 70 % at most 1 of 2 people at a disadvantage cost 3.00 4 of 5 people by one \
         action, 5 by any score \u{221e} m: 4 of 5 by one action, 5 by any reached",
        "lowest cost at which 70 % of the group are helped by one action for all",
        "even if it is based on a single person",
        "it ends among 3 with equal scores, 1 of them included",
        "Macro, micro, both views Macro: the same action for all people of a subgroup.",
        "These people make 9 subgroups, each with at least 2 people of group f and 5 of group m; \
         for 5 there are actions to try, 6 in all.",
        "Fixed, and therefore in no action: sex, town.",
        "An action changes only the entries that it names",
        "Affected With the unfavourable decision.",
        // Views that differ stay two, those that agree are one.
        "Equal cost of effectiveness, 70 % of the group, in both views",
        "Equal effectiveness, macro",
        "Equal effectiveness, micro",
    ]);
    text.lacks(&["no way", "Budget", "of the group, macro", " 1 people", " 1 actions"]);
}

#[test]
fn what_may_change_is_told_once_where_comparisons_are_cut() {
    let groups = (1..=7).map(|i| format!("g{i}")).collect();
    let text = section(
        &RecourseSample { groups, ..RecourseSample::few() }.page(&alone(), |_| ()),
        "recourse",
    );
    assert_eq!(text.matches("Changes that the job allows, recourse by sex").count(), 1, "{text}");
    assert_eq!(text.matches("Fixed, and therefore in no action: sex, town.").count(), 1, "{text}");
    assert_eq!(text.matches(" compared with m").count(), 6);
    text.says(&["Shown are 6 of 7 comparisons; the others are only in"]);
}

#[test]
pub(super) fn subgroups_without_actions_are_left_out_and_said() {
    let left_out = section(&RecourseSample::few().page(&alone(), |_| ()), "left-out");
    left_out.says(&[
        "f compared with m, model gbm 4 of 9 subgroups (44.4 %) there is no action: no change",
        "1 mean rank no subgroup is unfair",
    ]);
    left_out.lacks(&["Nothing"]);
}

/// A gate on subgroups of at least 20 people.
fn gate_of_twenty(tables: &Path) {
    write_gate(tables, COST, "0.7", 20);
}

/// A gate on subgroups that are unfair to f or m by a definition.
fn write_gate(tables: &Path, definition: &str, parameter: &str, min_affected: u64) {
    let count = json!({"definition": definition, "min_affected": min_affected,
        "parameter": parameter, "score_at_least": null, "view": "macro"});
    let args = json!({"counted": {"subgroups": count}, "judged": "value"});
    let frame = [GateRow {
        rule: "at_most, estimate".into(),
        ..GateRow::of(&format!(
            "gate=g, verdict=fail, level=fail, metric={UNFAIR_SUBGROUPS}, model=gbm, \
             sensitive=sex, from_group=f, to_group=m, reason_code=limit-broken, \
             reason_args={args}, value=44.0, limit=0.0, numerator=44, denominator=250, \
             unfair_to_from=7, unfair_to_to=37, decides=1"
        ))
    }];
    write_rows(tables, &frame).unwrap();
}

#[test]
fn a_gate_on_recourse_says_what_it_counts() {
    let gates = section(&RecourseSample::few().page(&alone(), gate_of_twenty), "gates");
    let said = "g: number of subgroups with at least 20 affected people in the smaller group that \
                are unfair to either group by equal cost of effectiveness 0.7, macro view, with \
                any score above 0, f and m, attribute sex, model gbm fail at most 0 the number \
                decides 44 subgroups 250 subgroups of that size that can be compared the value breaks \
                the limit";
    assert!(gates.contains(said), "{gates}");
}

#[test]
pub(super) fn the_brief_says_which_subgroups_count_and_what_changes_cost() {
    let sizes = [[20, 50], [50, 9], [40, 50], [12, 20], [30, 40]];
    let sample = RecourseSample { sizes, ..RecourseSample::few() };
    let folder = sample.folder(&alone(), gate_of_twenty);
    let html = render(folder.path(), None, &glossary).unwrap().report;
    let html = html.replace(['\u{202f}', '\u{a0}'], " ");
    let counted = "subgroups with at least 20 affected people in the smaller group that are unfair \
                   to either group by equal cost of effectiveness 0.7, macro view, with any score \
                   above 0";
    // A count has no range that would have to be explained.
    let verdict = section(&html, "verdict");
    let said = "In 37 of the 250 subgroups that the limit counts (with at least 20 affected people \
                in the smaller group), the favourable decision is harder to reach for people in \
                group m than for people in group f; in 7 for people in group f than for people in \
                group m. Limit for both together: 0.";
    assert!(verdict.contains(said) && !verdict.contains("Ranges are"), "{verdict}");
    let limits = section(&html, "limits");
    limits.says(&[
        "In how many subgroups is it harder for people in group f than for people in group m, or \
         for people in group m than for people in group f, to get the favourable decision?",
        &format!("Counted: {counted}. The value decides."),
        "subgroups 44 of 250",
    ]);
    let recourse = section(&html, "recourse");
    recourse.says(&[
        "In 2 of 5 subgroups the favourable decision is harder to reach for people in group f, in \
         1 for people in group m",
        "19 people in group f and 46 people in group m have the unfavourable decision",
        &format!(
            "The limit counts both groups together and only {counted}: 44 of 250 that can be \
             compared (7 unfair to people in group f, 37 to people in group m); more than 0, so \
             it is broken. The numbers before are of subgroups of any size, each group apart."
        ),
        "Costs have the units of the job and add up over the changes of an action: 2 for another \
         job.",
    ]);
}

/// Lets no subgroup of the comparison of this group be unfair, and gives the other one more people.
fn lets_no_subgroup_be_unfair(tables: &Path, fair: &str) {
    let mut recourse = read_rows::<RecourseRow>(tables).unwrap();
    let others = recourse.iter_mut().filter(|row| row.pair.group_0 != *fair);
    others.for_each(|row| row.affected_0 = 612);
    write_rows(tables, &recourse).unwrap();
    let mut analysis = read_rows::<RankingRow>(tables).unwrap();
    for row in analysis.iter_mut().filter(|row| row.pair.group_0 == *fair) {
        *row = row.with("unfair=0, unfair_0=0, unfair_1=0");
    }
    write_rows(tables, &analysis).unwrap();
    let mut subgroups = read_rows::<SubgroupRow>(tables).unwrap();
    for row in subgroups.iter_mut().filter(|row| row.pair.group_0 == *fair) {
        (row.rank, row.place, row.against) = (None, None, "".into());
    }
    write_rows(tables, &subgroups).unwrap();
}

/// The first screen of a job with recourse only.
fn verdict(sample: &RecourseSample, write: impl Fn(&Path)) -> String {
    let folder = sample.folder(&alone(), write);
    let html = render(folder.path(), None, &glossary).unwrap().report;
    section(&html.replace(['\u{202f}', '\u{a0}'], " "), "verdict")
}

/// Many people of each subgroup, of these groups.
fn of_many(groups: &[&str]) -> RecourseSample {
    let sizes = [[20, 50], [50, 19], [40, 50], [12, 20], [30, 40]];
    RecourseSample { sizes, groups: super::sample::names(groups), ..RecourseSample::few() }
}

#[test]
pub(super) fn the_first_screen_is_about_the_worst_comparison() {
    let pairs = of_many(&["b", "f"]);
    let worst = verdict(&pairs, |tables| lets_no_subgroup_be_unfair(tables, "b"));
    worst.says(&[
        "Who can change the decision? In 2 of 5 subgroups the favourable decision is harder to \
         reach for people in group f, in 1 for people in group m",
        "612 people in group f and 46 people in group m have the unfavourable decision",
        "Of 2 comparisons of two groups this is the worst; the section on recourse has more.",
    ]);
    worst.lacks(&["people in group b"]);
    // What a limit judges is not the first in the table either.
    let judged = verdict(&pairs, |tables| {
        lets_no_subgroup_be_unfair(tables, "b");
        gate_of_twenty(tables);
    });
    judged.says(&[
        "In 37 of the 250 subgroups that the limit counts",
        "612 people in group f and 46 people in group m have the unfavourable decision; in the \
         unfair subgroups, also those that the limit does not count, the smaller group has",
        "this is the one that decides a limit on recourse",
    ]);
    judged.lacks(&["Who can change the decision"]);
    // Of seven comparisons the last one is the worst, and the evidence shows six.
    let seven = of_many(&["a", "b", "c", "d", "e", "f", "g"]);
    let folder = seven.folder(&alone(), |tables| {
        for fair in ["a", "b", "c", "d", "e", "f"] {
            lets_no_subgroup_be_unfair(tables, fair);
        }
    });
    let html = render(folder.path(), None, &glossary).unwrap().report;
    let told = section(&html, "recourse");
    told.says(&["harder to reach for people in group g, in 1"]);
    told.lacks(&["people in group f"]);
    verdict(&of_many(&["f"]), |_| ()).lacks(&["comparisons of two groups"]);
}

#[test]
fn the_first_screen_says_where_a_limit_counts_by_another_definition() {
    let told = verdict(&of_many(&["f"]), |tables| write_gate(tables, EFFECT, "", 1));
    told.says(&[
        "In 37 of the 250 subgroups that the limit counts (of any size)",
        "Who can change the decision, by another definition than that of the limit? In 2 of 5 \
         subgroups the favourable decision is harder to reach for people in group f, in 1 for \
         people in group m (by equal cost of effectiveness, 70 % of the group, in both views)",
        "in the unfair subgroups the smaller group has a median of 20 people",
    ]);
}

#[test]
fn that_no_action_helps_anybody_is_told() {
    let helpless = |tables: &Path| {
        lets_no_subgroup_be_unfair(tables, "f");
        let mut actions = read_rows::<ActionRow>(tables).unwrap();
        actions.iter_mut().for_each(|row| (row.worked_0, row.worked_1) = (0, 0));
        write_rows(tables, &actions).unwrap();
    };
    let said = "No action helps anybody: none of the 6 actions that were tried changes one \
                decision. So in each of 5 subgroups the favourable decision is as hard to reach";
    for sample in [of_many(&["f"]), RecourseSample::few()] {
        let told = verdict(&sample, helpless);
        told.says(&[
            &format!("Who can change the decision? {said} for people in group f as for people"),
            "19 people in group f and 46 people in group m have the unfavourable decision.",
        ]);
        told.lacks(&["In none of", "Too few"]);
        section(&sample.page(&alone(), helpless), "recourse").says(&[said]);
    }
    let some = verdict(&of_many(&["f"]), |tables| lets_no_subgroup_be_unfair(tables, "f"));
    some.says(&["In none of 5 subgroups"]);
    some.lacks(&["helps anybody"]);
}

#[test]
fn the_method_speaks_of_what_the_page_measures() {
    let method = |html: &str| section(html, "method");
    let of_recourse = "For recourse the model scores each audited person with the \
        unfavourable decision";
    let of_sets = "For each audited person a set generates the same person in another group";
    let only = method(&RecourseSample::few().page(&alone(), |_| ()));
    assert!(
        only.contains("Recourse asks what people could change")
            && only.contains(of_recourse)
            && !only.contains(of_sets),
        "{only}"
    );
    let both = method(&RecourseSample::few().page(&two_groups(), |_| ()));
    assert!(
        both.contains("This page answers two questions.")
            && both.contains(of_recourse)
            && both.contains(of_sets),
        "{both}"
    );
    let sets = method(&super::html::page("method-of-sets", &two_groups()));
    assert!(
        sets.contains("This page is about the first.")
            && sets.contains(of_sets)
            && !sets.contains("ecourse"),
        "{sets}"
    );
    let neither = method(&super::html::page("method-of-groups", &alone()));
    assert!(
        neither.contains("This page compares actual groups.") && !neither.contains(of_sets),
        "{neither}"
    );
}
