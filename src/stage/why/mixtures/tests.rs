//! Mixtures of rows by hand: what changes together, what is computed again, what is missing.

use super::{ExplainedSwitch, FeatureMixtures, FeaturePlayer, MixtureValues};
use crate::counterfactual::write_back::WriteBack;
use crate::data::prepare::derive::{DerivationRule, DerivedBin, DerivedFeature};
use crate::data::{Attribute, Feature, FeatureColumn, FeatureKind, FeatureRows, Layout, MISSING};
use crate::job::ThresholdRule;
use crate::num::score_scale::ScoreScale;
use crate::stage::row_context::{DecisionRule, RowThreshold};
use crate::stage::why::people::CountedPlace;
use crate::why::shapley::{PlayerCoalitions, PlayerOrders};

fn feature(name: &str, levels: &[&str]) -> Feature {
    let kind = match (levels, name) {
        ([], _) => FeatureKind::REAL,
        (_, "race2") => FeatureKind::Sensitive,
        _ => FeatureKind::Nominal,
    };
    Feature::of(name, kind, levels)
}

/// 0 race2 = race mapped, 1 race, 2 age, 3 band = age binned, 4 and 5 a one-hot feature.
fn layout() -> Layout {
    let names =
        [("a", "White"), ("b", "Other")].map(|(word, name)| (word.to_owned(), name.to_owned()));
    let bin = |name: &str, lo, hi, closed| DerivedBin { name: name.to_owned(), lo, hi, closed };
    let bins = vec![bin("young", 17.0, 30.0, true), bin("old", 30.0, 99.0, false)];
    let derived =
        |feature, rule, parent| DerivedFeature { feature, rule, parents: vec![Some(parent)] };
    Layout {
        derived: vec![
            derived(0, DerivationRule::Map { names: names.into(), otherwise: None }, 1),
            derived(3, DerivationRule::Bins(bins), 2),
        ],
        ..Layout::of(
            vec![Attribute::of("race2", &["White", "Other"], 0)],
            vec![
                feature("race2", &["White", "Other"]),
                feature("race", &["a", "b"]),
                feature("age", &[]),
                feature("band", &["young", "old"]),
                feature("own", &[]),
                feature("rent", &[]),
            ],
        )
    }
}

fn rows(race: [u32; 2], age: [f64; 2], band: [u32; 2], own: [f64; 2]) -> FeatureRows {
    let rent = own.map(|own| 1.0 - own);
    let code = |codes: [u32; 2]| FeatureColumn::Code(codes.to_vec());
    let number = |numbers: [f64; 2]| FeatureColumn::Number(numbers.to_vec());
    let columns = vec![code(race), code(race), number(age), code(band), number(own), number(rent)];
    FeatureRows::of(columns)
}

fn person(row: usize, scores: [f64; 2]) -> ExplainedSwitch {
    ExplainedSwitch {
        place: CountedPlace { group: 0, row, row_key: row as u64, person: row as u64 },
        source: 40 + row as u64,
        counterfactual: row,
        fold: 0,
        threshold: 0.5,
        scores,
        switches: scores[1] >= 0.5,
    }
}

/// The second person has no age, before and after.
fn with_mixtures<T>(then: impl FnOnce(&FeatureMixtures<'_>) -> T) -> T {
    let own = rows([1, 1], [25.0, f64::NAN], [0, MISSING], [0.0, 1.0]);
    let other = rows([0, 0], [44.0, f64::NAN], [1, MISSING], [1.0, 1.0]);
    let player = |name: &str, columns: &[usize]| FeaturePlayer {
        name: name.to_owned(),
        columns: columns.to_vec(),
    };
    then(&FeatureMixtures {
        people: &[person(0, [0.125, 0.875]), person(1, [0.25, 0.375])],
        values: MixtureValues::Rows {
            own: &own,
            other: &other,
            write_back: &WriteBack::derived_only(&layout()),
        },
        players: &[player("race2", &[0, 1]), player("age", &[2]), player("home", &[4, 5])],
        orders: PlayerOrders { seed: 1, permutations: 4 },
        rule: &DecisionRule::new(
            ThresholdRule::Ge,
            RowThreshold::Fixed(0.5),
            ScoreScale::default(),
        ),
    })
}

/// Race, its class and each column of a one-hot feature move together, and the band of ages follows
/// the age of the mixture.
#[test]
fn derived_columns_follow_the_mixture() {
    with_mixtures(|mixtures| {
        assert_eq!([mixtures.differing(0), mixtures.differing(1)], [vec![0, 1, 2], vec![0]]);
        let of = mixtures.coalitions(0);
        let all: Vec<_> = (0..of.len()).map(|coalition| (0, &of, coalition)).collect();
        let made = mixtures.rows(&all);
        assert_eq!(made.columns[0], made.columns[1]);
        for (row, question) in all.iter().enumerate() {
            let holds = |player: usize| of.members(question.2).any(|member| member == player);
            let found = (
                made.codes(1)[row],
                made.numbers(2)[row],
                made.codes(3)[row],
                [made.numbers(4)[row], made.numbers(5)[row]],
            );
            let wanted = (
                if holds(0) { 0 } else { 1 },
                if holds(1) { 44.0 } else { 25.0 },
                if holds(1) { 1 } else { 0 },
                if holds(2) { [1.0, 0.0] } else { [0.0, 1.0] },
            );
            assert_eq!(found, wanted, "{row}");
        }
        assert_eq!(mixtures.questions(0, &of).count(), 6, "the two known scores are not asked");
        let name = mixtures.name((0, &of, 0b110));
        assert_eq!(name, "row 40 of the data, with the counterfactual `age`, `home`");
    });
}

#[test]
fn effects_add_up_and_a_missing_score_has_none() {
    with_mixtures(|mixtures| {
        let of = mixtures.coalitions(0);
        // Age decides: people with the counterfactual age are granted.
        let answer = |c: usize| if of.members(c).any(|player| player == 1) { 0.75 } else { 0.25 };
        let answers = || mixtures.questions(0, &of).map(|(.., c)| answer(c));
        let found = mixtures.effects(0, &of, answers()).unwrap();
        assert!(found.switched && found.effects.iter().all(|effect| effect.moved));
        let parts: Vec<f64> = found.effects.iter().map(|of| of.decision.value).collect();
        assert!((parts[1] - 1.0).abs() < 1e-12 && parts[0].abs() + parts[2].abs() < 1e-12);
        let undone: Vec<bool> = found.effects.iter().map(|effect| effect.undone).collect();
        assert_eq!(undone, [false, true, false]);
        let sum: f64 = found.effects.iter().map(|effect| effect.score.value).sum();
        assert!((sum - 0.75).abs() < 1e-12);
        assert_eq!(mixtures.effects(0, &of, answers().map(|_| f64::NAN)), None);
        // Only the attribute differs, so it adds all, and nobody has to be asked.
        let only: PlayerCoalitions = mixtures.coalitions(1);
        let found = mixtures.effects(1, &only, std::iter::empty()).unwrap();
        assert!(!found.switched && !found.effects[0].undone);
        assert_eq!((found.effects[0].score.value, found.effects[0].decision.value), (0.125, 0.0));
        assert!(!found.effects[1].moved);
    });
}
