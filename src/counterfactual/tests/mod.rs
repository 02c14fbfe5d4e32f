//! The strategies as a whole: compared with other programs, and checked for their invariants.

mod adult;
pub(crate) mod oracle;
mod promises;
mod worked;

use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::counterfactual::engine::StrategyKnobs;
use crate::counterfactual::map_flip::MapFlipGenerator;
use crate::counterfactual::plan::{MovedRows, StrategyPlan};
use crate::counterfactual::strategy::greedy::GreedyBlock;
use crate::counterfactual::strategy::plausible::PlausibleBlock;
use crate::counterfactual::variable::VariableOptions;
use crate::counterfactual::{GeneratedBatch, Generator, SampleBatch, TargetGroup};
use crate::data::rows::reference::{ReferenceBatch, ReferenceRows};
use crate::data::{
    Attribute, Feature, FeatureColumn, FeatureKind, FeatureRows, Layout, MISSING, MISSING_GROUP,
};
use crate::tests::shared;

/// The plan of a strategy with these settings.
fn plan_of<B: StrategyKnobs + DeserializeOwned + 'static>(knobs: &str) -> StrategyPlan<'static> {
    let block: &'static B = Box::leak(Box::new(serde_json::from_str(knobs).unwrap()));
    block.plan().unwrap()
}

/// The plan of plausible with these settings, `move: all` and `condition_on: label`.
fn plausible(knobs: &str) -> StrategyPlan<'static> {
    plan_of::<PlausibleBlock>(&format!(r#"{{"move": "all", "condition_on": "label"{knobs}}}"#))
}

/// The plan of greedy with these settings and `condition_on: label`.
fn greedy(knobs: &str) -> StrategyPlan<'static> {
    plan_of::<GreedyBlock>(&format!(r#"{{"condition_on": "label"{knobs}}}"#))
}

/// Features in a short notation: `x` a number, `k:int` whole, `o:ord` ordinal, `c:a,b` nominal with
/// its levels; the first is the sensitive attribute.
fn layout(features: &[&str]) -> Layout {
    let feature = |(f, text): (usize, &&str)| {
        let (name, kind) = text.split_once(':').unwrap_or((text, ""));
        let kind_of = match kind {
            "" => FeatureKind::REAL,
            "int" => FeatureKind::WHOLE,
            "ord" => FeatureKind::OrdinalNumber,
            _ if f == 0 => FeatureKind::Sensitive,
            _ => FeatureKind::Nominal,
        };
        let levels: Vec<&str> = if kind_of.is_coded() { kind.split(',').collect() } else { vec![] };
        Feature::of(name, kind_of, &levels)
    };
    let features: Vec<Feature> = features.iter().enumerate().map(feature).collect();
    let attribute = |f: usize| Attribute {
        groups: features[f].levels.clone(),
        level_of_group: (0..u32::try_from(features[f].levels.len()).unwrap()).collect(),
        ..Attribute::of(&features[f].name, &[], f)
    };
    let coded: Vec<usize> = (0..features.len()).filter(|&f| features[f].kind.is_coded()).collect();
    let attributes = coded.iter().map(|&f| attribute(f)).collect();
    Layout::of(attributes, features)
}

/// Rows of words, one per feature, then the class (`-` is missing), each row a number of times.
/// Every coded feature is an attribute.
fn rows(layout: &Layout, table: &[(&str, usize)]) -> ReferenceBatch {
    let mut lines = Vec::new();
    for (line, times) in table {
        lines.extend(std::iter::repeat_n(line.split(' ').collect::<Vec<_>>(), *times));
    }
    let code =
        |f: usize, word: &str| layout.features[f].levels.iter().position(|level| level == word);
    let column = |f: usize| layout.features[f].column(lines.iter().map(|line| Some(line[f])));
    let group = |attribute: &Attribute, line: &Vec<&str>| {
        code(attribute.feature, line[attribute.feature])
            .map_or(MISSING_GROUP, |at| u16::try_from(at).unwrap())
    };
    let groups = layout
        .attributes
        .iter()
        .map(|attribute| lines.iter().map(|line| group(attribute, line)).collect())
        .collect();
    let rows = FeatureRows::of((0..layout.features.len()).map(column).collect());
    let classes = lines.iter().map(|line| line[layout.features.len()].parse().ok()).collect();
    ReferenceBatch { keys: vec![], rows, groups, classes }
}

fn moved<'a>(layout: &'a Layout, extras: &'a VariableOptions) -> MovedRows<'a> {
    MovedRows { layout, extras, position: 0 }
}

fn mover(plan: &StrategyPlan<'_>, layout: &Layout, reference: &ReferenceBatch) -> MapFlipGenerator {
    let reference = ReferenceRows::in_memory(vec![reference.clone()]);
    MapFlipGenerator::new(plan.fit(moved(layout, &VariableOptions::default()), &reference).unwrap())
}

fn generate(
    mover: &MapFlipGenerator,
    layout: &Layout,
    samples: &ReferenceBatch,
    to: usize,
) -> GeneratedBatch {
    let samples = SampleBatch {
        keys: &[],
        rows: &samples.rows,
        groups: &samples.groups[0],
        classes: &samples.classes,
    };
    mover.generate(&samples, TargetGroup { attribute: &layout.attributes[0], group: to })
}

/// The counterfactual rows in words, as [`rows`] takes them, without the class.
fn rows_in_words(layout: &Layout, generated: &GeneratedBatch) -> Vec<String> {
    let word = |f: usize, j: usize| match &generated.rows.columns[f] {
        FeatureColumn::Number(values) => values[j].to_string(),
        FeatureColumn::Code(codes) if codes[j] == MISSING => "-".to_owned(),
        FeatureColumn::Code(codes) => layout.features[f].levels[codes[j] as usize].clone(),
    };
    let line =
        |j: usize| (0..layout.features.len()).map(|f| word(f, j)).collect::<Vec<_>>().join(" ");
    (0..generated.parent.len()).map(line).collect()
}
