//! Trees: compared with LightGBM's predictions (tests/oracle/trees.json, made by trees.py), and
//! checked for their invariants.

use serde_json::Value;

use super::TreeSettings;
use crate::data::rows::training::TrainingRows;
use crate::data::source_form::SourceForm;
use crate::data::values::ValueClass;
use crate::data::{Feature, FeatureColumn, FeatureKind, FeatureRows};
use crate::error::Result;
use crate::model::trees::{TreeEnsemble, TreesModel};
use crate::model::{Scorer, TrainedModel, TrainerInputs};

const N: u32 = 400;

fn features() -> Vec<Feature> {
    let feature = |name: &str| Feature {
        name: name.to_owned(),
        kind: FeatureKind::Continuous { integer: false },
        levels: Vec::new(),
        class: ValueClass::Float,
        source: SourceForm::default(),
    };
    vec![feature("x"), feature("z")]
}

fn rows() -> FeatureRows {
    let x = (0..N).map(|i| f64::from(i % 17) - 0.3 * f64::from(i % 5)).collect();
    let z = (0..N).map(|i| f64::from((i * 7) % 11)).collect();
    FeatureRows {
        n: N as usize,
        columns: vec![FeatureColumn::Number(x), FeatureColumn::Number(z)],
        source: Vec::new(),
    }
}

fn labels() -> Vec<bool> {
    (0..N).map(|i| (i * 7) % 17 + i % 3 > 9).collect()
}

fn weights() -> Vec<f64> {
    (0..N).map(|i| 1.0 + f64::from(i % 4)).collect()
}

/// Settings with the features and the seed that trees are grown by.
#[derive(Clone)]
struct TestTrainer {
    inputs: TrainerInputs,
    settings: TreeSettings,
}

impl TestTrainer {
    fn fit(&self, rows: &TrainingRows<'_>) -> Result<TreesModel> {
        self.settings.fit(&self.inputs, rows)
    }

    fn with_seed(mut self, seed: u64) -> Self {
        self.inputs.seed = seed;
        self
    }
}

fn boosting() -> TestTrainer {
    TestTrainer {
        // The library gets 7.
        inputs: TrainerInputs { features: features(), omit: Vec::new(), seed: 7 << 33 },
        settings: TreeSettings {
            ensemble: TreeEnsemble::Boosting,
            trees: 10,
            leaves: 7,
            smallest_leaf: 20,
            learning_rate: 0.1,
            l2: 0.5,
            row_share: 1.0,
            column_share: 1.0,
        },
    }
}

/// The same trainer with other settings.
fn with(trainer: TestTrainer, change: impl Fn(&mut TreeSettings)) -> TestTrainer {
    let mut trainer = trainer;
    change(&mut trainer.settings);
    trainer
}

fn sampled() -> TestTrainer {
    with(boosting(), |settings| {
        (settings.l2, settings.row_share, settings.column_share) = (0.0, 0.7, 0.5)
    })
}

fn forest() -> TestTrainer {
    with(sampled(), |settings| {
        (settings.ensemble, settings.learning_rate, settings.row_share) =
            (TreeEnsemble::Forest, 1.0, 0.632);
    })
}

fn fit(trainer: &TestTrainer, weights: Vec<f64>) -> TreesModel {
    trainer.fit(&TrainingRows::weighted(rows(), labels(), weights)).expect("fits")
}

fn scores(model: &dyn Scorer) -> Vec<f64> {
    let mut scores = Vec::new();
    model.score(&rows(), &mut scores).expect("scores");
    scores
}

#[test]
fn trees_predict_what_lightgbm_predicts() {
    let oracle: Value =
        serde_json::from_str(include_str!("../../../tests/oracle/trees.json")).unwrap();
    for (kind, trainer) in [("boosting", boosting()), ("sampled", sampled()), ("forest", forest())]
    {
        for (name, weights) in [("plain", Vec::new()), ("weighted", weights())] {
            let expected = oracle["predictions"][kind][name].as_array().unwrap();
            let got = scores(&fit(&trainer, weights));
            for (i, (got, want)) in got.iter().zip(expected).enumerate() {
                assert!(
                    (got - want.as_f64().unwrap()).abs() < 1e-12,
                    "{kind} {name} row {i}: {got} {want}"
                );
            }
        }
    }
}

#[test]
fn the_unit_of_weights_changes_nothing_and_rows_of_weight_zero_are_not_there() {
    for trainer in [boosting(), forest()] {
        let model = fit(&trainer, weights());
        for unit in [2.0_f64.powi(-900), 2.0_f64.powi(900)] {
            let other = fit(&trainer, weights().iter().map(|w| w * unit).collect());
            assert_eq!(other, model, "{unit}");
        }
        assert_eq!(
            fit(&trainer, vec![3.0; N as usize]),
            fit(&trainer, Vec::new()),
            "equal weights are none"
        );
        let some: Vec<f64> = (0..N).map(|i| f64::from(u8::from(i % 5 > 0))).collect();
        let kept: Vec<usize> = (0..N as usize).filter(|i| i % 5 > 0).collect();
        let labels_kept = kept.iter().map(|&i| labels()[i]).collect();
        let mut fewer = TrainingRows::in_memory(rows().take(&kept), labels_kept);
        let without = trainer.fit(&fewer).unwrap();
        fewer = TrainingRows::weighted(rows(), labels(), some);
        // The encoding is learnt from all rows, so thresholds may differ in the last bits; the
        // predictions may not.
        let with = trainer.fit(&fewer).unwrap();
        scores(&with).iter().zip(scores(&without)).for_each(|(a, b)| assert!((a - b).abs() < 1e-9));
    }
}

#[test]
fn chance_follows_the_seed_and_nothing_else() {
    for trainer in [sampled(), forest()] {
        let again = trainer.clone().with_seed(8 << 33);
        assert_eq!(fit(&trainer, Vec::new()), fit(&trainer, Vec::new()));
        assert_ne!(scores(&fit(&trainer, Vec::new())), scores(&fit(&again, Vec::new())));
    }
    let again = boosting().with_seed(8 << 33);
    assert_eq!(fit(&boosting(), Vec::new()), fit(&again, Vec::new()), "nothing is drawn");
}

/// Counterfactuals of causal graphs have fractional indicators: below one half they count as 0,
/// above as 1.
#[test]
fn a_level_by_parts_is_rounded() {
    let levels = Feature {
        name: "owns".to_owned(),
        kind: FeatureKind::Nominal,
        levels: vec!["no".to_owned(), "yes".to_owned()],
        class: ValueClass::Text,
        source: SourceForm::default(),
    };
    let owns = FeatureColumn::Code((0..N).map(|i| u32::from((i * 7) % 17 > 8)).collect());
    for trainer in [boosting(), with(forest(), |settings| settings.column_share = 1.0)] {
        let mut trainer = with(trainer, |settings| settings.row_share = 0.9);
        trainer.inputs.features = vec![levels.clone()];
        let model = trainer
            .fit(&TrainingRows::in_memory(
                FeatureRows { n: N as usize, columns: vec![owns.clone()], source: Vec::new() },
                labels(),
            ))
            .expect("fits");
        let [no, little, most, yes] = [0.0, 0.1, 0.9, 1.0].map(|part| model.score_encoded(&[part]));
        assert_eq!((no, yes), (little, most), "{:?}", trainer.settings.ensemble);
        assert!(yes > no + 0.05, "{no} {yes}");
    }
}

#[test]
fn a_model_reads_back_as_it_was_written() {
    for trainer in [boosting(), forest()] {
        let model = trainer.fit(&TrainingRows::in_memory(rows(), labels())).unwrap();
        let text = model.to_json().to_string();
        let back = TreesModel::from_json(&text).unwrap();
        assert_eq!(back.to_json().to_string(), text);
        assert_eq!(scores(&back), scores(&model));
        assert_eq!(back.n_trees(), 10);
        assert!(scores(&back).iter().all(|s| (0.0..=1.0).contains(s)));
    }
}

#[test]
fn faults_of_the_data_are_said() {
    let said = |rows: FeatureRows, labels: Vec<bool>, trainer: TestTrainer| {
        trainer.fit(&TrainingRows::in_memory(rows, labels)).expect_err("is refused").to_string()
    };
    let all = said(rows(), vec![true; N as usize], boosting());
    assert!(all.contains("one-class"), "{all}");
    let few: Vec<usize> = (0..39).collect();
    let few = said(rows().take(&few), labels()[..39].to_vec(), boosting());
    assert!(few.contains("39 training rows") && few.contains("20 rows on both sides"), "{few}");
    let same = FeatureRows {
        n: N as usize,
        columns: vec![
            FeatureColumn::Number(vec![1.0; N as usize]),
            FeatureColumn::Number(vec![2.0; N as usize]),
        ],
        source: Vec::new(),
    };
    let same = said(same, labels(), forest());
    assert!(same.contains("undetermined-model"), "{same}");
    let large = said(rows(), labels(), with(boosting(), |settings| settings.smallest_leaf = 201));
    assert!(large.contains("smallest_leaf"), "{large}");
}
