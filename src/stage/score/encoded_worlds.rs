//! Worlds with expected levels: how they move the encoded columns of a model that was trained here.
//!
//! A world moves the encoded columns of the graph, by the same amount for all rows of a group. The
//! model encodes its own rows in the same way, so moving a column of the graph means moving the
//! model's columns of the same variable, and no row is ever written.

use crate::causal::encoding::{GraphEncoding, VariableForm};
use crate::counterfactual::graph_uncertain::{CausalWorlds, ClipRule, WorldShift};
use crate::data::{Attribute, FeatureRows};
use crate::model::TrainedModel;
use crate::model::encode::FeatureEncoder;

/// Worlds and the model that is asked in them.
pub(crate) struct EncodedWorlds<'a> {
    worlds: &'a CausalWorlds,
    model: &'a dyn TrainedModel,
    clip: ClipRule,
    groups: usize,
    /// For each pair of declared groups, at from * groups + to, how each world moves encoded
    /// columns; empty where no training row has one of them.
    movements: Vec<Vec<WorldShift>>,
    reach: ColumnReach,
}

/// A row in the columns of the graph and in those of the model.
#[derive(Debug, Clone, Default)]
pub(crate) struct EncodedModelRow {
    graph: Vec<f64>,
    /// As the model reads it.
    pub(crate) model: Vec<f64>,
    /// Room for a counterfactual of both.
    moved: Vec<f64>,
    asked: Vec<f64>,
    entries: Vec<(usize, f64)>,
}

impl<'a> EncodedWorlds<'a> {
    /// The worlds of an attribute; after them come graphs fitted on all training rows.
    pub(crate) fn new(
        worlds: &'a CausalWorlds,
        attribute: &Attribute,
        (model, clip): (&'a dyn TrainedModel, ClipRule),
    ) -> Self {
        let codes = &attribute.level_of_group;
        let positions: Vec<Option<usize>> = codes
            .iter()
            .map(|&code| worlds.attribute().and_then(|of| of.position_of(code)))
            .collect();
        let between = |from: &Option<usize>, to: &Option<usize>| -> Vec<WorldShift> {
            let Some((from, to)) = from.zip(*to) else { return Vec::new() };
            worlds.shifts().map(|of| CausalWorlds::movement(of, from, to)).collect()
        };
        let all = positions.iter().flat_map(|from| positions.iter().map(move |to| (from, to)));
        let movements = all.map(|(from, to)| between(from, to)).collect();
        let reach = column_reach(&worlds.encoding, model.encoder());
        EncodedWorlds { worlds, model, clip, groups: positions.len(), movements, reach }
    }

    /// Encodes a row; false where a variable of the graph is missing.
    pub(crate) fn encode(&self, rows: &FeatureRows, i: usize, row: &mut EncodedModelRow) -> bool {
        let (encoding, encoder) = (&self.worlds.encoding, self.model.encoder());
        if !encoding.is_complete(rows, i) {
            return false;
        }
        let fill = |columns: &mut Vec<f64>, width: usize, entries: &[(usize, f64)]| {
            columns.clear();
            columns.resize(width, 0.0);
            entries.iter().for_each(|&(column, x)| columns[column] = x);
        };
        encoding.encode(rows, i, &mut row.entries);
        fill(&mut row.graph, encoding.width(), &row.entries);
        encoder.encode(rows, i, &mut row.entries);
        fill(&mut row.model, encoder.width(), &row.entries);
        true
    }

    /// The scores of an encoded row as a member of another group, world by world.
    pub(crate) fn scores<'r>(
        &'r self,
        row: &'r mut EncodedModelRow,
        (from, to): (usize, usize),
    ) -> impl Iterator<Item = f64> + 'r {
        let movements = self.movements[from * self.groups + to].iter();
        movements.map(move |movement| {
            let EncodedModelRow { graph, model, moved, asked, .. } = &mut *row;
            asked.clone_from(model);
            self.each_change(movement, (graph.as_slice(), moved), |column, change| {
                self.reach[column].iter().for_each(|&(at, unit)| asked[at] += change * unit);
            });
            self.model.score_encoded(asked)
        })
    }

    /// What a movement of 1 of each encoded column of the graph adds to a linear function of the
    /// columns of the model; 0 where the model has none of them.
    pub(crate) fn weights(&self, coefficients: &[f64]) -> Vec<f64> {
        let weight = |reach: &Vec<(usize, f64)>| {
            reach.iter().map(|&(at, unit)| coefficients[at] * unit).sum::<f64>()
        };
        self.reach.iter().map(weight).collect()
    }

    /// How a world moves the columns of the graph for people of a direction.
    pub(crate) fn movement(&self, (from, to): (usize, usize), world: usize) -> &[(usize, f64)] {
        self.movements[from * self.groups + to].get(world).map_or(&[], Vec::as_slice)
    }

    /// For an encoded row in a world the changes of the columns of the graph: each with how it
    /// changes the columns of the model.
    pub(crate) fn changes(
        &self,
        row: &mut EncodedModelRow,
        (from, to): (usize, usize),
        world: usize,
    ) -> Vec<GraphChange> {
        let Some(movement) = self.movements[from * self.groups + to].get(world) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        self.each_change(movement, (row.graph.as_slice(), &mut row.moved), |column, change| {
            let variables = &self.worlds.encoding.variables;
            let variable = variables.iter().find(|of| of.columns.contains(&column));
            let Some(variable) = variable.filter(|_| change != 0.0) else { return };
            let of_model =
                self.reach[column].iter().map(|&(at, unit)| (at, change * unit)).collect();
            all.push(GraphChange { feature: variable.feature, of_model });
        });
        all
    }

    /// The score of an encoded row of the model.
    pub(crate) fn score(&self, row: &[f64]) -> f64 {
        self.model.score_encoded(row)
    }

    fn each_change(
        &self,
        movement: &WorldShift,
        (graph, moved): (&[f64], &mut Vec<f64>),
        mut each: impl FnMut(usize, f64),
    ) {
        moved.clear();
        moved.extend_from_slice(graph);
        self.worlds.apply(movement, self.clip, moved);
        movement.iter().for_each(|&(column, _)| each(column, moved[column] - graph[column]));
    }
}

/// The change of one column of the graph.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GraphChange {
    /// The feature that the column holds.
    pub(crate) feature: usize,
    /// The columns of the model that follow it, each with its change.
    pub(crate) of_model: Vec<(usize, f64)>,
}

/// For each column of the graphs the columns of a model that it moves, with what a movement of 1 is
/// there.
type ColumnReach = Vec<Vec<(usize, f64)>>;

fn column_reach(encoding: &GraphEncoding, encoder: &FeatureEncoder) -> ColumnReach {
    let mut columns = vec![Vec::new(); encoding.width()];
    for variable in &encoding.variables {
        let level = |code: u32, unit: f64| {
            encoder.level_column(variable.feature, code).map(|at| (at, unit))
        };
        match &variable.form {
            VariableForm::Number { sd, .. } => {
                let at = encoder.number_column(variable.feature);
                columns[variable.columns.start].extend(at.map(|(at, unit)| (at, sd * unit)));
            }
            // One indicator of the second level: the first is what is left, and a model may
            // have a column for it.
            VariableForm::Levels { seen, .. } if variable.columns.len() == 1 => {
                columns[variable.columns.start].extend(level(seen[1], 1.0));
                columns[variable.columns.start].extend(level(seen[0], -1.0));
            }
            VariableForm::Levels { seen, .. } => {
                for (column, &code) in variable.columns.clone().zip(seen) {
                    columns[column].extend(level(code, 1.0));
                }
            }
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::column_reach;
    use crate::causal::encoding::{GraphEncoding, GraphVariable, MissingRows};
    use crate::data::rows::training::TrainingRows;
    use crate::data::{Feature, FeatureColumn, FeatureKind, FeatureRows};
    use crate::model::encode::FeatureEncoder;

    /// A model knows a third level of the attribute and of the job, which no complete row of the
    /// graph has.
    #[test]
    fn graphs_and_models_may_know_different_levels() {
        let features = [
            Feature::of("sex", FeatureKind::Sensitive, &["f", "m", "x"]),
            Feature::of("age", FeatureKind::REAL, &[]),
            Feature::of("job", FeatureKind::Nominal, &["a", "b", "c"]),
            Feature::of("unseen", FeatureKind::REAL, &[]),
        ];
        let columns = vec![
            FeatureColumn::Code(vec![0, 1, 2, 0, 1]),
            FeatureColumn::Number(vec![10.0, 30.0, 50.0, 20.0, 40.0]),
            FeatureColumn::Code(vec![0, 1, 2, 1, 0]),
            FeatureColumn::Number(vec![1.0, 2.0, 4.0, 3.0, 5.0]),
        ];
        let rows =
            TrainingRows::in_memory(FeatureRows::of(columns), vec![true, false, true, false, true]);
        let encoder = FeatureEncoder::fit(&features, &["unseen".to_owned()], &rows).unwrap();
        assert_eq!(encoder.columns, ["sex=f", "sex=m", "sex=x", "age", "job=a", "job=b", "job=c"]);
        let variable = |name: &str, feature: usize, levels: Option<&[u32]>| GraphVariable {
            name: name.to_owned(),
            feature,
            levels: levels.map(<[u32]>::to_vec),
        };
        let variables = [
            variable("sex", 0, Some(&[0, 1])),
            variable("age", 1, None),
            variable("job", 2, Some(&[0, 1, 2])),
            variable("unseen", 3, None),
        ];
        let (encoding, blocks) =
            GraphEncoding::fit(&variables, &rows, MissingRows::Drop, None).unwrap();
        assert_eq!((blocks.dropped, encoding.width()), (1, 4));
        let reach = column_reach(&encoding, &encoder);
        assert_eq!(reach[0], [(1, 1.0), (0, -1.0)]);
        assert_eq!(reach[2], [(5, 1.0), (4, -1.0)]);
        assert_eq!(reach[3], []);
        // Deviations are those of four rows here and of five there: 10, 20, 30, 40 and 50 too.
        let &[(at, unit)] = reach[1].as_slice() else { panic!("one column") };
        assert!(at == 3 && (unit - (125.0_f64 / 200.0).sqrt()).abs() < 1e-12, "{unit}");
    }
}
