//! The strategies as a whole: against what other programs computed, and against what they promise.

mod adult;
pub(crate) mod frame;
mod oracle;
mod promises;
mod worked;

use crate::counterfactual::fit::Plan;
use crate::counterfactual::generate::Mover;
use crate::counterfactual::knobs::{Greedy, Plausible};
use crate::counterfactual::variable::Extras;
use crate::counterfactual::{Generated, Generator, Samples};
use crate::data::reference::{ReferenceGroup, ReferenceRows};
use crate::data::values::Class;
use crate::data::{Attribute, Column, Feature, Kind, Layout, MISSING, MISSING_GROUP, RowIdKind, Rows};

/// The plan of plausible with these knobs beside `move: all` and `condition_on: label`.
fn plausible(knobs: &str) -> Plan {
    serde_json::from_str::<Plausible>(&format!(r#"{{"move": "all", "condition_on": "label"{knobs}}}"#)).unwrap().plan()
}

/// The plan of greedy with these knobs beside `condition_on: label`.
fn greedy(knobs: &str) -> Plan {
    serde_json::from_str::<Greedy>(&format!(r#"{{"condition_on": "label"{knobs}}}"#)).unwrap().plan()
}

fn feature_of(name: &str, kind: Kind, levels: Vec<String>) -> Feature {
    Feature { name: name.to_owned(), kind, levels, class: Class::Text }
}

/// Rows of these features, none of them derived or hidden.
fn layout_of(attributes: Vec<Attribute>, features: Vec<Feature>) -> Layout {
    Layout {
        n_rows: 0,
        row_id: RowIdKind::RowNumber,
        label: None,
        weight: None,
        attributes,
        features,
        hidden: Vec::new(),
        derived: Vec::new(),
        carried: Vec::new(),
        strata: None,
        slices: Vec::new(),
    }
}

/// Features in a short notation: `x` a number, `k:int` whole, `o:ord` ordinal, `c:a,b` nominal with its levels; the first is the
/// sensitive attribute.
fn layout(features: &[&str]) -> Layout {
    let feature = |(f, text): (usize, &&str)| {
        let (name, kind) = text.split_once(':').unwrap_or((text, ""));
        let kind_of = match kind {
            "" => Kind::Continuous { integer: false },
            "int" => Kind::Continuous { integer: true },
            "ord" => Kind::OrdinalNumber,
            _ if f == 0 => Kind::Sensitive,
            _ => Kind::Nominal,
        };
        let levels = if kind_of.is_coded() { kind.split(',').map(str::to_owned).collect() } else { vec![] };
        feature_of(name, kind_of, levels)
    };
    let features: Vec<Feature> = features.iter().enumerate().map(feature).collect();
    let of = |f: usize| Attribute {
        name: features[f].name.clone(),
        groups: features[f].levels.clone(),
        reference: 0,
        feature: f,
        level_of_group: (0..u32::try_from(features[f].levels.len()).unwrap()).collect(),
    };
    let coded: Vec<usize> = (0..features.len()).filter(|&f| features[f].kind.is_coded()).collect();
    let attributes = coded.iter().map(|&f| of(f)).collect();
    layout_of(attributes, features)
}

/// Rows of words, one per feature, then the class (`-` is missing), each row a number of times. Every coded feature is an attribute.
fn rows(layout: &Layout, table: &[(&str, usize)]) -> ReferenceGroup {
    let mut lines = Vec::new();
    for (line, times) in table {
        lines.extend(std::iter::repeat_n(line.split(' ').collect::<Vec<_>>(), *times));
    }
    let code = |f: usize, word: &str| layout.features[f].levels.iter().position(|level| level == word);
    let column = |f: usize| {
        let words = lines.iter().map(|line| line[f]);
        if layout.features[f].kind.is_coded() {
            Column::Code(words.map(|word| code(f, word).map_or(MISSING, |at| u32::try_from(at).unwrap())).collect())
        } else {
            Column::Number(words.map(|word| word.parse().unwrap_or(f64::NAN)).collect())
        }
    };
    let group = |attribute: &Attribute, line: &Vec<&str>| {
        code(attribute.feature, line[attribute.feature]).map_or(MISSING_GROUP, |at| u16::try_from(at).unwrap())
    };
    let groups = layout.attributes.iter().map(|attribute| lines.iter().map(|line| group(attribute, line)).collect()).collect();
    let rows = Rows { n: lines.len(), columns: (0..layout.features.len()).map(column).collect() };
    let classes = lines.iter().map(|line| line[layout.features.len()].parse().ok()).collect();
    ReferenceGroup { keys: vec![], rows, groups, classes }
}

fn mover(plan: &Plan, layout: &Layout, reference: &ReferenceGroup) -> Mover {
    let reference = ReferenceRows::in_memory(vec![reference.clone()]);
    Mover::new(plan.fit(layout, &Extras::default(), &reference, 0).unwrap())
}

fn generate(mover: &Mover, layout: &Layout, samples: &ReferenceGroup, to: usize) -> Generated {
    let samples = Samples { keys: &[], rows: &samples.rows, groups: &samples.groups[0], classes: &samples.classes };
    mover.generate(&samples, &layout.attributes[0], to)
}

/// The rows of the other world in words, as [`rows`] takes them, without the class.
fn told(layout: &Layout, generated: &Generated) -> Vec<String> {
    let word = |f: usize, j: usize| match &generated.rows.columns[f] {
        Column::Number(values) => values[j].to_string(),
        Column::Code(codes) if codes[j] == MISSING => "-".to_owned(),
        Column::Code(codes) => layout.features[f].levels[codes[j] as usize].clone(),
    };
    let line = |j: usize| (0..layout.features.len()).map(|f| word(f, j)).collect::<Vec<_>>().join(" ");
    (0..generated.parent.len()).map(line).collect()
}
