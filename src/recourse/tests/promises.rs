//! Properties that must hold for any data, tested on random rows with random models.

use super::*;
use crate::num::seed::h;
use crate::recourse::ActionMatch;
use crate::recourse::chance::false_discoveries;
use crate::recourse::groups::{ComparisonBase, pairs};
use crate::recourse::overlap::merge_overlapping;
use crate::tests::Says;

/// Number of levels of the random columns.
const LEVELS: usize = 3;

/// A random model: a term per level of each column, and for pairs of columns if it is not additive.
struct RandomModel {
    weights: Vec<[f64; LEVELS]>,
    /// Columns of which it only reads whether they are equal, with the term that equality adds.
    equal: Option<(usize, usize, f64)>,
}

impl RandomModel {
    fn favourable(&self, audited: &AuditedRows, row: u32, changes: &[LevelChange]) -> bool {
        let level = |feature: &RecourseFeature| feature.codes[row as usize];
        let mut levels: Vec<u32> = audited.features.iter().map(level).collect();
        changes.iter().for_each(|change| levels[change.feature] = change.level);
        let mut score: f64 =
            levels.iter().zip(&self.weights).map(|(&level, weights)| weights[level as usize]).sum();
        let group = audited.groups[row as usize];
        score += group.map_or(0.0, |group| [-0.25, 0.25, 0.5][usize::from(group)]);
        score += self
            .equal
            .map_or(0.0, |(a, b, weight)| if levels[a] == levels[b] { weight } else { 0.0 });
        score > 0.5
    }

    /// What it decides about these rows.
    fn of(&self, audited: &AuditedRows) -> impl Fn(u32, &[LevelChange]) -> bool + Sync {
        |row, changes| self.favourable(audited, row, changes)
    }
}

/// Some rows, in this order.
fn picked(audited: &AuditedRows, rows: &[usize]) -> AuditedRows {
    fn of<T: Clone>(all: &[T], rows: &[usize]) -> Vec<T> {
        rows.iter().map(|&row| all[row].clone()).collect()
    }
    let mut features = audited.features.clone();
    for feature in &mut features {
        feature.codes = of(&feature.codes, rows);
    }
    AuditedRows {
        features,
        groups: of(&audited.groups, rows),
        favourable: of(&audited.favourable, rows),
    }
}

/// Rows of four columns and three groups, and a model; all constants are multiples of 2^-10, so
/// sums are exact in any order.
fn random_case(seed: u64, n: usize, additive: bool) -> (AuditedRows, RandomModel) {
    let mut stream = RandomStream::new(seed, "recourse");
    let mut below = |n: usize| (stream.u64() % n as u64) as usize;
    let mut features = Vec::new();
    for (f, name) in ["age", "job", "job type", "work"].into_iter().enumerate() {
        let codes: Vec<u32> = (0..n).map(|_| below(LEVELS + 1).min(LEVELS - 1) as u32).collect();
        // One text is a prefix of another, which continues with a letter before the comma.
        let levels = ["a", "a !", "b"].map(str::to_owned).to_vec();
        let (scale, direction, distance) = match f {
            0 => (LevelScale::Ordered, ChangeDirection::Up, LevelDistance::Positions),
            3 => {
                let numbers = LevelScale::Numbers(vec![0.0, 1.0, 4.0]);
                (numbers, ChangeDirection::Down, LevelDistance::RangeShare)
            }
            _ => (LevelScale::Nominal, ChangeDirection::Any, LevelDistance::Unit),
        };
        let may_change = AllowedChanges { direction, ..AllowedChanges::default() };
        let cost = ChangeCost { distance, weight: [1.0, 2.0, 0.3, 1.0][f] };
        features.push(RecourseFeature {
            name: name.to_owned(),
            levels,
            scale,
            codes,
            may_change,
            cost,
            ..RecourseFeature::default()
        });
    }
    let groups: Vec<Option<u16>> =
        (0..n).map(|_| [Some(0), Some(1), Some(0), Some(1), Some(2), None][below(6)]).collect();
    let weights =
        (0..4).map(|_| [0; LEVELS].map(|_| (below(1024) as f64 - 512.0) / 512.0)).collect();
    let model = RandomModel { weights, equal: (!additive).then_some((1, 2, 1.5)) };
    let mut audited = AuditedRows { features, groups, favourable: Vec::new() };
    audited.favourable = (0..n as u32).map(|row| model.favourable(&audited, row, &[])).collect();
    (audited, model)
}

/// All results as text: what two runs must agree on to the byte.
fn everything_as_text(audited: &AuditedRows, model: &RandomModel) -> String {
    let plan = &plan(audited, "0.04");
    let needed = plan.needed();
    let helped = helped(plan, &model.of(audited));
    let effects = ActionEffects::new(plan, &helped);
    let mut text = format!(
        "{} {} {}\n",
        needed.n_pairs(),
        DifferentRows::new(audited, plan, &needed).rows.len(),
        plan.n_changes()
    );
    let questions = questions(&[500_000_000, 2_300_000_000]);
    for &question in &questions {
        let judged = judge(plan, &effects, question);
        text += &format!("{:?}\n{:?}\n", judged, merge_overlapping(plan, &judged, 5));
        for verdict in &judged.verdicts {
            let subgroup = verdict.subgroup as usize;
            text += &super::sentence::text(plan, &effects, question, subgroup);
        }
    }
    let deals = PermutationSettings { deals: Count::of::<19>(), enough: Count::of::<5>() };
    text + &format!(
        "{:?}",
        p_values(plan, &effects, &helped, &questions, deals, 7, 0..plan.n_subgroups())
    )
}

/// The rows with the items of a subgroup and, for each action, the rows that it helps, by testing
/// each row.
fn by_hand(
    audited: &AuditedRows,
    model: &RandomModel,
    plan: &RecoursePlan<'_>,
    subgroup: usize,
) -> (Vec<[u32; 2]>, Vec<[u32; 2]>) {
    let level = |f: &RecourseFeature, name: &str| {
        f.levels.iter().position(|level| level == name).unwrap() as u32
    };
    let item = |item: super::ColumnLevel<'_>| {
        let f = audited.features.iter().position(|f| f.name == item.feature).unwrap();
        LevelChange { feature: f, level: level(&audited.features[f], item.level) }
    };
    let items: Vec<LevelChange> = plan.subgroup(subgroup).map(item).collect();
    let inside =
        |row: u32| items.iter().all(|i| audited.features[i.feature].codes[row as usize] == i.level);
    let rows = |g: u16| {
        let rows = (0..audited.favourable.len() as u32)
            .filter(move |&row| audited.groups[row as usize] == Some(g));
        rows.filter(|&row| !audited.favourable[row as usize])
            .filter(|&row| inside(row))
            .collect::<Vec<u32>>()
    };
    let rows = [rows(0), rows(1)];
    let helps = |g: usize, row: &u32, action: usize| {
        let changes: Vec<LevelChange> = plan.changes(action).map(item).collect();
        rows[g].contains(row) && model.favourable(audited, *row, &changes)
    };
    let own =
        |action| [0, 1].map(|g| rows[g].iter().filter(|row| helps(g, row, action)).count() as u32);
    let actions = plan.actions(subgroup);
    let union = |action: usize| {
        let within = || actions.clone().filter(|&other| plan.cost(other) <= plan.cost(action));
        [0, 1].map(|g| {
            rows[g].iter().filter(|row| within().any(|other| helps(g, row, other))).count() as u32
        })
    };
    (actions.clone().map(own).collect(), actions.clone().map(union).collect())
}

#[test]
fn counts_are_those_of_looking_at_each_row() {
    let (audited, model) = random_case(1, 300, false);
    let plan = plan(&audited, "0.05");
    let effects = effects(&plan, &model.of(&audited));
    assert!(plan.n_actions() > 100);
    let texts: Vec<_> =
        (0..plan.n_subgroups()).map(|s| (plan.subgroup(s).count(), plan.text(s))).collect();
    assert!(texts.is_sorted() && texts.iter().any(|(_, text)| text.contains("job = a !, ")));
    for subgroup in 0..plan.n_subgroups() {
        assert!(
            plan.actions(subgroup).is_sorted_by_key(|action| (
                plan.cost(action),
                changed_text(&plan, subgroup, action)
            ))
        );
        let (own, union) = by_hand(&audited, &model, &plan, subgroup);
        let effect = effects.of_subgroup(&plan, subgroup);
        assert_eq!(effect.helped, own);
        for (action, union) in plan.actions(subgroup).zip(union) {
            let reach =
                effect.reaches.iter().find(|reach| reach.cost == plan.cost(action)).unwrap();
            assert_eq!(reach.union, union);
        }
    }
}

#[test]
fn the_order_of_rows_and_columns_and_the_number_of_threads_change_nothing() {
    let (audited, model) = random_case(2, 400, false);
    let expected = everything_as_text(&audited, &model);
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let got = pool.install(|| everything_as_text(&audited, &model));
        assert!(got == expected, "{threads} threads");
    }
    // Rows reversed, columns in another order.
    let rows: Vec<usize> = (0..400).rev().collect();
    let (mut turned, mut turned_model) = (picked(&audited, &rows), model);
    turned.features.reverse();
    turned_model.weights.reverse();
    turned_model.equal = turned_model.equal.map(|(a, b, weight)| (3 - a, 3 - b, weight));
    let got = everything_as_text(&turned, &turned_model);
    assert!(got == expected);
}

#[test]
fn macro_is_micro_where_the_model_is_additive_and_never_more() {
    let mut apart = 0;
    for seed in 0..6 {
        let additive = seed % 2 == 0;
        let (audited, model) = random_case(seed, 300, additive);
        let plan = plan(&audited, "0.03");
        let effects = effects(&plan, &model.of(&audited));
        for subgroup in 0..plan.n_subgroups() {
            let reaches = effects.of_subgroup(&plan, subgroup).reaches;
            assert!(reaches.is_sorted_by(|a, b| a.cost < b.cost));
            assert!(reaches.is_sorted_by(|a, b| {
                (0..2).all(|g| a.best[g] <= b.best[g] && a.union[g] <= b.union[g])
            }));
            assert!(reaches.iter().all(|reach| (0..2).all(|g| reach.best[g] <= reach.union[g])));
            let same = reaches.iter().all(|reach| reach.best == reach.union);
            assert!(same || !additive, "{seed}");
            apart += u32::from(!same);
        }
    }
    assert!(apart > 0, "the other models tell them apart");
}

#[test]
fn swapped_groups_swap_the_direction_only() {
    let (audited, model) = random_case(3, 400, false);
    let swapped =
        GroupPair { names: ["right", "left"].map(str::to_owned), members: [vec![1], vec![0]] };
    let plans =
        [&PAIR, &swapped].map(|pair| RecoursePlan::new(&audited, pair, &search("0.03")).unwrap());
    let effects = plans.each_ref().map(|plan| effects(plan, &model.of(&audited)));
    let mut unfair = 0;
    for question in questions(&[1_000_000_000]) {
        let [a, b] = [0, 1].map(|i| judge(&plans[i], &effects[i], question));
        assert_eq!(a.verdicts.len(), b.verdicts.len());
        for (a, b) in a.verdicts.iter().zip(&b.verdicts) {
            assert_eq!(
                (a.score, a.rank, a.worse_group.map(|g| 1 - g), a.cost),
                (b.score, b.rank, b.worse_group, b.cost),
                "{question:?}"
            );
            assert_eq!([a.values[1], a.values[0]], b.values);
            assert_eq!(
                (a.score == 0.0, a.rank.is_none()),
                (a.worse_group.is_none(), a.worse_group.is_none())
            );
            unfair += u32::from(a.worse_group.is_some());
        }
    }
    assert!(unfair > 0);
}

#[test]
fn every_row_twice_leaves_all_shares() {
    let (audited, model) = random_case(4, 200, false);
    let twice = picked(&audited, &(0..200).chain(0..200).collect::<Vec<_>>());
    let [once, both] = [&audited, &twice].map(|audited| plan(audited, "0.05"));
    let of_once = effects(&once, &model.of(&audited));
    let of_both = effects(&both, &model.of(&twice));
    let mut compared = 0;
    for a in 0..once.n_subgroups() {
        let Some(b) = (0..both.n_subgroups()).find(|&b| both.text(b) == once.text(a)) else {
            continue;
        };
        assert_eq!(both.n(b), once.n(a).map(|n| 2 * n));
        for action in once.actions(a) {
            let twin = both
                .actions(b)
                .find(|&other| changed_text(&both, b, other) == changed_text(&once, a, action));
            if let Some(twin) = twin {
                assert_eq!(of_both.helped[twin], of_once.helped[action].map(|k| 2 * k));
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn sub_features_hold_all_changes_of_same_features() {
    let (audited, _) = random_case(5, 300, true);
    let same = plan(&audited, "0.02");
    let matching = ActionMatch::SubFeatures;
    let sub = SearchSettings { matching, ..search("0.02") };
    let sub = RecoursePlan::new(&audited, &PAIR, &sub).unwrap();
    // The longest subgroups have four columns, but no action changes all four.
    let most = |plan: &RecoursePlan<'_>| {
        (0..plan.n_actions()).map(|action| plan.changes(action).count()).max()
    };
    assert_eq!(
        (sub.subgroup(sub.n_subgroups() - 1).count(), most(&same), most(&sub)),
        (4, Some(3), Some(3))
    );
    assert_eq!(same.n_subgroups(), sub.n_subgroups());
    assert!(sub.n_actions() > same.n_actions());
    for subgroup in 0..same.n_subgroups() {
        let changes = |plan: &RecoursePlan<'_>| {
            plan.actions(subgroup).map(|a| (plan.changes_text(a), plan.cost(a))).collect::<Vec<_>>()
        };
        let all = changes(&sub);
        assert!(changes(&same).iter().all(|change| all.contains(change)));
        let mut distinct = all.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), all.len(), "no change twice");
    }
}

#[test]
fn definitions_agree_at_their_ends() {
    let (audited, model) = random_case(6, 400, false);
    let plan = plan(&audited, "0.03");
    let effects = effects(&plan, &model.of(&audited));
    let mut n_infinite = 0;
    for subgroup in (0..plan.n_subgroups()).filter(|&s| !plan.actions(s).is_empty()) {
        let effect = effects.of_subgroup(&plan, subgroup);
        for view in [RecourseView::Macro, RecourseView::Micro] {
            let answer = |definition| question(definition, view).score(&effect);
            assert_eq!(
                answer(RecourseDefinition::WithinBudget(i64::MAX)),
                answer(RecourseDefinition::EqualEffectiveness)
            );
            assert!(
                answer(RecourseDefinition::WithinBudget(-1)).score.is_zero(),
                "nothing is within budget"
            );
            let apart = answer(RecourseDefinition::FairTradeOff);
            for reach in effect.reaches {
                assert!(answer(RecourseDefinition::WithinBudget(reach.cost)).score <= apart.score);
            }
            if let Some(cost) = apart.cost {
                assert_eq!(answer(RecourseDefinition::WithinBudget(cost)).values, apart.values);
            }
            let cost = answer(RecourseDefinition::EqualCost(share("1")));
            let none = cost.values.iter().filter(|value| **value == ExactScore::Infinite).count();
            assert_eq!(
                (cost.score.is_zero() && none == 2, cost.score == ExactScore::Infinite),
                (none == 2, none == 1)
            );
            n_infinite += none;
        }
    }
    assert!(n_infinite > 0);
}

#[test]
fn scaled_ranks_prefer_large_subgroups_and_change_nothing_else() {
    let (audited, model) = random_case(7, 400, false);
    let plan = plan(&audited, "0.03");
    let effects = effects(&plan, &model.of(&audited));
    let question = question(RecourseDefinition::FairTradeOff, RecourseView::Micro);
    let plain = judge(&plan, &effects, question);
    let scaled = DefinitionRanking::new(&plan, &effects, question, RankBy::Scaled);
    for (a, b) in plain.verdicts.iter().zip(&scaled.verdicts) {
        assert_eq!((a.score, a.values, a.worse_group), (b.score, b.values, b.worse_group));
    }
    let key = |subgroup: u32, score: f64| {
        let [a, b] = plan.n(subgroup as usize).map(f64::from);
        score * (a * b / (a + b)).sqrt()
    };
    let keys: Vec<f64> = scaled.ranked().map(|v| key(v.subgroup, v.score)).collect();
    assert!(keys.is_sorted_by(|a, b| *a >= b - 1e-12));
    assert_ne!(plain.order, scaled.order);
}

#[test]
fn merging_shows_as_many_as_asked_for() {
    let (audited, model) = random_case(8, 400, false);
    let plan = plan(&audited, "0.02");
    let effects = effects(&plan, &model.of(&audited));
    let asked = question(RecourseDefinition::EqualEffectiveness, RecourseView::Micro);
    let judged = judge(&plan, &effects, asked);
    let places = merge_overlapping(&plan, &judged, 10);
    let shown: Vec<u32> = places
        .iter()
        .filter(|place| place.merged_into.is_none())
        .map(|place| place.subgroup)
        .collect();
    assert_eq!(shown.len(), 10);
    assert!(places.len() > 10, "some say the same");
    for place in &places {
        let Some(twin) = place.merged_into else { continue };
        assert!(shown.contains(&twin));
        let items = |s: u32| {
            plan.subgroup(s as usize)
                .map(|i| format!("{i:?}"))
                .collect::<std::collections::BTreeSet<_>>()
        };
        let (a, b) = (items(place.subgroup), items(twin));
        assert!(a.is_subset(&b) || b.is_subset(&a));
        assert!(
            judged.verdict_on(twin).unwrap().score
                >= judged.verdict_on(place.subgroup).unwrap().score
        );
    }
    assert_eq!(merge_overlapping(&plan, &judged, usize::MAX).len(), judged.order.len());
}

/// The p-values of the trade-off over several draws of rows, where a change helps people at random,
/// independent of the group; or, in addition, everyone of group `left`.
fn p_of_coins(always: Option<u16>) -> Vec<f64> {
    let mut all = Vec::new();
    for seed in 20..26 {
        let (audited, _) = random_case(seed, 500, false);
        let plan = plan(&audited, "0.04");
        let coins = |row: u32, changes: &[LevelChange]| {
            let key = changes.iter().fold(0, |key, c| h(key, c.feature as u64, u64::from(c.level)));
            h(5, key, u64::from(row)).is_multiple_of(8)
                || always.is_some() && audited.groups[row as usize] == always
        };
        let helped = helped(&plan, &coins);
        let effects = ActionEffects::new(&plan, &helped);
        let questions = [question(RecourseDefinition::FairTradeOff, RecourseView::Micro)];
        let deals = PermutationSettings { deals: Count::of::<999>(), enough: Count::of::<50>() };
        all.extend(
            p_values(&plan, &effects, &helped, &questions, deals, 3, 0..plan.n_subgroups())
                .concat(),
        );
    }
    assert!(all.len() > 150 && all.iter().all(|p| *p > 0.0 && *p <= 1.0), "{}", all.len());
    all
}

#[test]
fn p_values_find_what_is_there_and_nothing_else() {
    let share =
        |p: &[f64], limit: f64| p.iter().filter(|p| **p <= limit).count() as f64 / p.len() as f64;
    let nothing = p_of_coins(None);
    for limit in [0.05, 0.1, 0.3] {
        assert!(
            share(&nothing, limit) < limit + 0.05,
            "{} are below {limit}",
            share(&nothing, limit)
        );
    }
    assert!(share(&nothing, 0.5) > 0.3, "not all are large");
    assert_eq!(false_discoveries(&nothing).iter().filter(|q| **q <= 0.05).count(), 0);
    let found = share(&false_discoveries(&p_of_coins(Some(0))), 0.05);
    assert!(found > 0.8, "{found}");
}

#[test]
fn groups_of_several_declared_ones() {
    let (audited, _) = random_case(10, 400, true);
    let names: Vec<String> = ["x", "y", "z"].map(str::to_owned).to_vec();
    let all = pairs(&names, 0, ComparisonBase::Rest);
    let plan = |pair| RecoursePlan::new(&audited, pair, &search("0.05")).unwrap();
    let plans: Vec<RecoursePlan<'_>> = all.iter().map(plan).collect();
    let affected: Vec<u32> = plans.iter().map(|plan| plan.population().n.iter().sum()).collect();
    assert!(affected.iter().all(|n| *n == affected[0]), "each against the rest is everybody");
    assert!(
        plans
            .iter()
            .all(|plan| plan.population().unaffected() == plans[0].population().unaffected())
    );
}

#[test]
fn too_much_is_an_error_and_nothing_to_do_is_none() {
    let (mut audited, model) = random_case(11, 300, true);
    let searched = |search| RecoursePlan::new(&audited, &PAIR, &search);
    let fault = searched(SearchSettings { max_results: 20, ..search("0.03") }).unwrap_err();
    fault.to_string().says(&["too-many-subgroups"]);
    let short = searched(SearchSettings { max_items: Some(1), ..search("0.03") }).unwrap();
    assert!((0..short.n_subgroups()).all(|s| short.subgroup(s).count() == 1));
    // No row has the favourable decision: no action can be found.
    audited.favourable.fill(false);
    let plan = plan(&audited, "0.03");
    assert!(plan.n_subgroups() > 0 && plan.n_actions() == 0 && plan.needed().n_pairs() == 0);
    let effects = effects(&plan, &model.of(&audited));
    let asked = question(RecourseDefinition::EqualEffectiveness, RecourseView::Macro);
    let judged = judge(&plan, &effects, asked);
    assert!(judged.verdicts.is_empty() && judged.last_rank() == 0);
    audited.favourable.fill(true);
    let empty = super::plan(&audited, "0.03");
    assert_eq!((empty.population().n, empty.n_subgroups(), empty.n_actions()), ([0, 0], 0, 0));
}
