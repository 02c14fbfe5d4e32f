//! Tests of generating: which rows a mapped attribute is written back from.

use super::{GenerateInputs, GenerationSums, generate, write_backs};
use crate::counterfactual::Generator;
use crate::counterfactual::strategy::naive::NaiveGenerator;
use crate::counterfactual::write_back::WrittenCounts;
use crate::data::prepare::params::PrepareParams;
use crate::data::rows::RowsReader;
use crate::data::rows::aligned::CounterfactualReader;
use crate::data::rows::split::{RolesReader, RowRoles, TRAIN};
use crate::data::tests::{integers, parquet, prepare_parquet, texts};
use crate::exec::StageContext;
use crate::exec::accumulator::Accumulator;
use crate::exec::cancel::CancelFlag;
use crate::exec::pieces::{StageWatch, WorkerPool};
use crate::exec::tests::StageEvents;
use crate::exec::tests::state_laws::SampleState;
use crate::stage::generate::basis::{LearningReference, RowClasses};
use crate::stage::generate::support::SupportSums;
use crate::stage::row_context::RowContext;

/// Of the rows of `Other`, each half of the file has another most frequent race.
const RACES: [&str; 8] = ["White", "Black", "Black", "Asian", "White", "Asian", "Asian", "Black"];

/// The race that the counterfactuals of White rows get, by the roles of the rows.
fn races_of_others(roles: &[u8]) -> Vec<String> {
    let params = PrepareParams::of(
        r#"derive: {race2: {from: race, map: {White: [White]}, else: Other}},
           label: {column: label, positive: ["1"]}, sensitive: {race2: [White, Other]},
           nominal: [race]"#,
    );
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("source.parquet");
    parquet(&file, vec![("race", texts(&RACES)), ("label", integers(&[1; 8]))], 8);
    prepare_parquet(&file, &params, dir.path(), 1024, 1).unwrap();
    let rows = RowsReader::open(dir.path()).unwrap();
    RowRoles(roles.to_vec()).write(&dir.path().join("roles.parquet"), &rows).unwrap();
    let roles = RolesReader::open(&dir.path().join("roles.parquet"), &rows).unwrap();
    let workers = WorkerPool::new(2).unwrap();
    let (events, cancel) = (StageEvents::default(), CancelFlag::default());
    let ctx = &StageContext::outside("generate", &events, &cancel);
    let (rows, roles, watch) = (&rows, &roles, StageWatch::SILENT);
    let row_context = RowContext { rows, roles, workers: &workers, ctx, watch };
    let generators: Vec<Box<dyn Generator>> = vec![Box::new(NaiveGenerator)];
    let basis = LearningReference::new(row_context, None, RowClasses::Label).unwrap();
    let making = GenerateInputs {
        generators: &generators,
        attribute: 0,
        classes: &RowClasses::Label,
        write_backs: &write_backs(row_context, &basis, 0).unwrap(),
        with_features: true,
        is_view: false,
        judged: false,
        support: None,
        keeps_attribute: false,
    };
    generate(row_context, &making, dir.path()).unwrap();
    let layout = rows.layout();
    let (keys, made) =
        CounterfactualReader::open(dir.path(), rows, roles).unwrap().rows(0, layout).unwrap();
    // The keys follow only from the rows.
    let view = tempfile::tempdir().unwrap();
    let making = GenerateInputs { is_view: true, write_backs: &[], ..making };
    generate(row_context, &making, view.path()).unwrap();
    let viewed = CounterfactualReader::open(view.path(), rows, roles).unwrap();
    assert_eq!(
        (viewed.keys(0).unwrap(), viewed.n_rows()),
        (keys.clone(), keys.parent.len() as u64)
    );
    assert!(
        viewed.judged(0, layout).is_err() && !view.path().join("counterfactuals.parquet").exists()
    );
    // So do the features where nothing is written back.
    let plain = tempfile::tempdir().unwrap();
    generate(row_context, &GenerateInputs { is_view: false, ..making }, plain.path()).unwrap();
    let written = CounterfactualReader::open(plain.path(), rows, roles).unwrap();
    assert_eq!(viewed.rows(0, layout).unwrap(), written.rows(0, layout).unwrap());
    assert_ne!(viewed.rows(0, layout).unwrap().1, made);
    let race = layout.feature("race").unwrap();
    assert!(
        keys.to_group
            .iter()
            .zip(made.codes(race))
            .all(|(&to, &c)| to == 1 || layout.features[race].levels[c as usize] == "White")
    );
    let others = keys.to_group.iter().zip(made.codes(race)).filter(|(to, _)| **to == 1);
    others.map(|(_, &code)| layout.features[race].levels[code as usize].clone()).collect()
}

#[test]
fn a_mapped_attribute_is_written_back_from_the_rows_that_train() {
    // Rows 0 and 4 are White. In folds each is written back from the other half.
    assert_eq!(races_of_others(&[0, 0, 0, 0, 1, 1, 1, 1]), ["Asian", "Black"]);
    assert_eq!(races_of_others(&[TRAIN, TRAIN, TRAIN, TRAIN, 0, 0, 0, 0]), ["Black"]);
    // Nobody trains: from all that are audited. Three each: the first level wins.
    assert_eq!(races_of_others(&[0; 8]), ["Asian", "Asian"]);
}

impl SampleState for GenerationSums {
    fn sample(_: u64) -> Self {
        GenerationSums::default()
    }

    fn add_sample(&mut self, row: u64) {
        let mut written = WrittenCounts::sample(0);
        written.add_sample(row);
        let by_group = |n: u64| vec![u64::from(row.is_multiple_of(n)), u64::from(row % n == 1)];
        let (unreached, outside) = (by_group(3), by_group(5));
        self.merge(GenerationSums {
            n_rows: 1 + row % 2,
            follows: row == 3,
            written,
            unreached,
            outside,
            support: SupportSums { people: vec![by_group(2), by_group(7)], tested: by_group(4) },
        });
    }
}
