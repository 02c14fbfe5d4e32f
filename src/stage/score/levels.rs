//! The stage `levels`: values of audited rows that a model does not know, by column and group.
//!
//! The score that a model gives for a value that it was not trained on is no statement about the
//! people who have it. If there are many such people, gates on the model are inconclusive.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::exchange::known_levels::KnownLevels;
use crate::data::rows::split::RowRoles;
use crate::data::rows::{PreparedBatch, Projection};
use crate::data::source_view::ViewedColumn;
use crate::data::{Layout, MISSING_GROUP};
use crate::error::Result;
use crate::exec::accumulator::Accumulator;
use crate::folder::manifest::ContractWords;
use crate::metric::evidence::additive::additive;
use crate::model::contract::{ContractColumn, MissingAs, ModelContract};
use crate::num::additive::Additive;
use crate::param::key_word;
use crate::stage::kinds::{ContractStage, LevelsStage};
use crate::stage::row_inputs::RowInputs;
use crate::stage::sharding::share::ShardPass;
use crate::stage::stage_builder::{Opens, Planned, Stage, StageBuilder, StageInput};
use crate::table::file::{read_rows, write_rows};
use crate::table::{ModelContractRow, UnknownLevelRow, whole};
use crate::unit::AuditUnit;

/// Values that are named as examples.
const EXAMPLES: usize = 3;

/// Different values of a column whose counts are kept: those that come first in byte order.
const KEPT: usize = 4096;

/// Numbers of audited rows with values that a model does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UnknownValues {
    /// All audited rows.
    audited: GroupTally,
    /// Those with a value that the model does not know, in any column.
    unknown: GroupTally,
    /// By column, those with such a value in it, and the values.
    columns: BTreeMap<String, UnknownInColumn>,
}

/// A number of rows, and by attribute and group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct GroupTally {
    rows: u64,
    groups: Vec<Vec<u64>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct UnknownInColumn {
    tally: GroupTally,
    values: BTreeMap<String, u64>,
}

impl GroupTally {
    fn group(&mut self, attribute: usize, group: usize) -> &mut u64 {
        if self.groups.len() <= attribute {
            self.groups.resize(attribute + 1, Vec::new());
        }
        let groups = &mut self.groups[attribute];
        if groups.len() <= group {
            groups.resize(group + 1, 0);
        }
        &mut groups[group]
    }

    fn of_group(&self, attribute: usize, group: usize) -> u64 {
        let of = self.groups.get(attribute).and_then(|groups| groups.get(group));
        of.copied().unwrap_or_default()
    }

    /// Counts the row at a position of a batch.
    fn add(&mut self, batch: &PreparedBatch, i: usize) {
        self.rows += 1;
        for (attribute, groups) in batch.groups.iter().enumerate() {
            if groups[i] != MISSING_GROUP {
                *self.group(attribute, usize::from(groups[i])) += 1;
            }
        }
    }
}

additive!(GroupTally { rows, groups });

impl UnknownInColumn {
    fn add(&mut self, values: impl IntoIterator<Item = (String, u64)>) {
        for (value, n) in values {
            *self.values.entry(value).or_default() += n;
            // A value that is dropped has that many values before it, so none is counted in part.
            if self.values.len() > KEPT {
                self.values.pop_last();
            }
        }
    }

    /// The most frequent values.
    fn examples(&self) -> String {
        let mut values: Vec<(&String, u64)> = self.values.iter().map(|(v, n)| (v, *n)).collect();
        // The sort is stable: values that are as frequent stay in byte order.
        values.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        let named = values.into_iter().take(EXAMPLES).map(|(value, _)| format!("`{value}`"));
        named.collect::<Vec<_>>().join(", ")
    }
}

impl Accumulator for UnknownValues {
    fn merge(&mut self, other: Self) {
        self.audited.absorb(&other.audited);
        self.unknown.absorb(&other.unknown);
        for (column, of) in other.columns {
            let own = self.columns.entry(column).or_default();
            own.tally.absorb(&of.tally);
            own.add(of.values);
        }
    }
}

/// The features of a contract whose levels the model knows. A feature may go into several inputs.
struct LookedUp(Vec<(usize, KnownLevels)>);

impl LookedUp {
    /// The tally of a model; none where it names no levels.
    fn of(layout: &Layout, contract: &ModelContract) -> Option<Self> {
        let known = |column: &ContractColumn| {
            let missing = match &column.missing {
                MissingAs::Text(text) => Some(text.as_str()),
                _ => None,
            };
            let levels = KnownLevels::new(column.levels.as_deref()?, missing);
            Some((layout.feature(&column.column)?, levels))
        };
        let levels: Vec<_> = contract.columns.iter().filter_map(known).collect();
        (!levels.is_empty()).then_some(LookedUp(levels))
    }

    fn count(&self, layout: &Layout, batch: &PreparedBatch, roles: &RowRoles) -> UnknownValues {
        let audited: Vec<usize> =
            (0..batch.row.len()).filter(|&i| roles.audited(i).is_some()).collect();
        let mut found = UnknownValues::default();
        audited.iter().for_each(|&i| found.audited.add(batch, i));
        // A row counts once in a column, and once in all of them.
        let mut unknown_in: BTreeMap<&str, BTreeMap<usize, String>> = BTreeMap::new();
        for (f, levels) in &self.0 {
            let feature = &layout.features[*f];
            let viewed = ViewedColumn::new(feature, *f, &batch.rows, Some(&audited));
            let words = audited.iter().zip(viewed.map(|value| levels.unknown(value)));
            let words = words.filter_map(|(&i, word)| Some((i, word?)));
            unknown_in.entry(&feature.name).or_default().extend(words);
        }
        let anywhere: BTreeSet<usize> =
            unknown_in.values().flat_map(|rows| rows.keys().copied()).collect();
        anywhere.into_iter().for_each(|i| found.unknown.add(batch, i));
        for (column, rows) in unknown_in.into_iter().filter(|(_, rows)| !rows.is_empty()) {
            let of = found.columns.entry(column.to_owned()).or_default();
            rows.keys().for_each(|&i| of.tally.add(batch, i));
            of.add(rows.into_values().map(|value| (value, 1)));
        }
        found
    }
}

impl UnknownValues {
    /// As rows of a table: any column and then each, all people and then each group.
    fn rows(&self, model: &str, layout: &Layout) -> Vec<UnknownLevelRow> {
        let mut rows = Vec::new();
        let mut add = |column: &str, tally: &GroupTally, examples: &str| {
            let row = |of: [&str; 2], people: u64, audited: u64, examples: &str| UnknownLevelRow {
                model: model.into(),
                column: column.into(),
                sensitive: of[0].into(),
                group: of[1].into(),
                people: whole(people),
                audited: whole(audited),
                examples: examples.into(),
            };
            rows.push(row(["", ""], tally.rows, self.audited.rows, examples));
            for (a, attribute) in layout.attributes.iter().enumerate() {
                for (g, group) in attribute.groups.iter().enumerate() {
                    let n = |tally: &GroupTally| tally.of_group(a, g);
                    rows.push(row([&attribute.name, group], n(tally), n(&self.audited), ""));
                }
            }
        };
        add("", &self.unknown, "");
        self.columns.iter().for_each(|(column, of)| add(column, &of.tally, &of.examples()));
        rows
    }
}

impl Stage for LevelsStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let name = unit.model.clone();
        let (rows, contract) = (RowInputs::of_job(b)?, b.need::<ContractStage>(unit)?);
        let passes = b.row_passes();
        rows.work(1, move |ctx, row_context| {
            let contract = contract.open(ctx)?;
            let layout = row_context.rows.layout();
            let looked_up = LookedUp::of(layout, &contract);
            let count = || {
                let Some(looked_up) = &looked_up else { return Ok(UnknownValues::default()) };
                row_context.row_groups().gather(UnknownValues::default, |found, g| {
                    let (batch, roles) = row_context.read(g, Projection::ALL)?;
                    found.merge(looked_up.count(layout, &batch, &roles));
                    Ok(batch.row.len() as u64)
                })
            };
            let Some(found) = passes.map(ctx, ShardPass::Count, count)? else { return Ok(()) };
            let rows = looked_up.as_ref().map(|_| found.rows(&name, layout));
            write_rows(ctx.out(), &rows.unwrap_or_default())
        })
    }
}

/// The contract with a model.
pub(crate) struct SettledModel<'a> {
    /// Its name.
    pub model: &'a str,
    /// The contract.
    pub contract: ModelContract,
    /// The values of the audited people that it does not know; empty where it does not say what it
    /// knows.
    pub unknown: Vec<UnknownLevelRow>,
}

impl SettledModel<'_> {
    /// The contract as rows of a table, its columns and then its score.
    pub(crate) fn rows(&self) -> Vec<ModelContractRow> {
        let n = |levels: &[Value]| whole(levels.len() as u64);
        let column = |of: &ContractColumn| ModelContractRow {
            model: self.model.into(),
            input: of.input.as_str().into(),
            position: whole(of.position as u64),
            column: of.column.as_str().into(),
            kind: key_word(&of.kind).as_str().into(),
            missing_as: of.missing.words().into(),
            levels_known: of.levels.as_deref().map(n),
            source: key_word(&of.source).as_str().into(),
        };
        let score = &self.contract.score;
        let classes = (!score.classes.is_empty()).then(|| whole(score.classes.len() as u64));
        let score = ModelContractRow {
            model: self.model.into(),
            position: -1,
            column: score.class.as_deref().unwrap_or_default().into(),
            kind: "score".into(),
            levels_known: classes,
            source: key_word(&score.source).as_str().into(),
            ..ModelContractRow::default()
        };
        let of_class = |(class, (name, _)): (&String, &(String, usize))| ModelContractRow {
            input: class.as_str().into(),
            column: name.as_str().into(),
            ..score.clone()
        };
        let by_class: Vec<_> = self.contract.score.by_class.iter().map(of_class).collect();
        let scores = if by_class.is_empty() { vec![score] } else { by_class };
        self.contract.columns.iter().map(column).chain(scores).collect()
    }

    /// The contract in the words of the manifest.
    pub(crate) fn words(&self) -> ContractWords {
        let (columns, score) = (&self.contract.columns, &self.contract.score);
        ContractWords {
            columns: columns.iter().map(|of| of.column.clone()).collect(),
            class: score.class.clone(),
            classes: score.classes.clone(),
            by_class: score.by_class.iter().map(|(of, at)| (of.clone(), at.0.clone())).collect(),
            class_from: key_word(&score.source),
            sha256: self.contract.sha256.clone(),
        }
    }
}

/// The contracts with the models of the job that are trained elsewhere, and what these do not know
/// of the audited people; a model that is not asked does not say what it knows.
pub(crate) fn settled_models<'a>(
    b: &mut StageBuilder<'_, 'a>,
) -> Result<Opens<'a, Vec<SettledModel<'a>>>> {
    let mut all = Vec::new();
    for (name, model) in &b.plan.job.models {
        let Some((_, knobs)) = model.external() else { continue };
        let unit = AuditUnit::of_model(name.as_str());
        let contract = b.need::<ContractStage>(&unit)?;
        let is_asked = knobs.signature.is_none();
        let levels = is_asked.then(|| b.need::<LevelsStage>(&unit)).transpose()?;
        all.push((name.as_str(), contract, levels));
    }
    Ok(Box::new(move |ctx| {
        let open = |(model, contract, levels): &(&'a str, StageInput<ContractStage>, Option<_>)| {
            let levels = levels.as_ref().map(|of: &StageInput<LevelsStage>| of.folder(ctx));
            let unknown = levels.map(read_rows).transpose()?.unwrap_or_default();
            Ok(SettledModel { model, contract: contract.open(ctx)?, unknown })
        };
        all.iter().map(open).collect()
    }))
}

#[cfg(test)]
mod tests {
    use super::UnknownValues;
    use crate::exec::accumulator::Accumulator;
    use crate::exec::tests::state_laws::SampleState;

    impl SampleState for UnknownValues {
        fn sample(_: u64) -> Self {
            UnknownValues::default()
        }

        fn add_sample(&mut self, row: u64) {
            let mut one = UnknownValues::default();
            one.audited.rows = 1;
            *one.audited.group(0, (row % 2) as usize) = 1;
            if row % 2 == 1 {
                let of = one.columns.entry(format!("c{}", row % 3)).or_default();
                of.tally.rows = 1;
                *of.tally.group(0, 1) = 1;
                of.add([(format!("v{}", row % 7), 1)]);
                one.unknown = of.tally.clone();
            }
            self.merge(one);
        }
    }
}
