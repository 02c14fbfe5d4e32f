//! Reads the fixed inputs and expected values and converts them to the engine's input.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;

use crate::causal::bootstrap_draws::BootstrapDraws;
use crate::causal::boss::{BossBlock, GraphScoreKind, SingularRule};
use crate::causal::encoding::{GraphEncoding, GraphVariable, MissingRows, TrainingBlocks};
use crate::causal::knowledge::{EdgesWithin, Knowledge, KnowledgeScenario, KnowledgeTier};
use crate::causal::moments::EncodedMoments;
use crate::causal::nodes::NodeSet;
use crate::causal::score::GraphScore;
use crate::causal::search::{DagLimits, GraphSearch, SearchedReplicate};
use crate::data::rows::training::TrainingRows;
use crate::data::{Feature, FeatureKind, FeatureRows};
use crate::param::{ColumnName, Count, Finite};

/// A file or folder of the expected values of causal searches.
pub(crate) fn expected(path: &str) -> PathBuf {
    crate::tests::expected("cf-gu").join(path)
}

/// The text of a file, decompressed where it is gzipped.
pub(crate) fn text(path: &Path) -> String {
    if path.extension().is_some_and(|e| e == "gz") {
        let unpacked = Command::new("gzip")
            .arg("-dc")
            .arg(path)
            .output()
            .expect("gzip must be there to read the expected values");
        assert!(unpacked.status.success(), "gzip on {}", path.display());
        return String::from_utf8(unpacked.stdout).unwrap();
    }
    std::fs::read_to_string(path).unwrap()
}

/// Whole numbers, a list per line.
pub(crate) fn numbers(path: &Path) -> Vec<Vec<usize>> {
    text(path)
        .lines()
        .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
        .collect()
}

/// A small table: names of the columns and the fields of every row.
pub(crate) struct ExpectedTable {
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl ExpectedTable {
    pub(crate) fn read(path: &Path) -> ExpectedTable {
        let mut records = text(path).lines().map(fields).collect::<Vec<_>>().into_iter();
        ExpectedTable { header: records.next().unwrap(), rows: records.collect() }
    }

    /// The position of a column.
    pub(crate) fn column(&self, name: &str) -> usize {
        self.header.iter().position(|h| h == name).unwrap_or_else(|| panic!("no column `{name}`"))
    }

    pub(crate) fn take(&self, positions: &[usize]) -> ExpectedTable {
        ExpectedTable {
            header: self.header.clone(),
            rows: positions.iter().map(|&i| self.rows[i].clone()).collect(),
        }
    }
}

fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => fields.last_mut().unwrap().push(c),
        }
    }
    fields
}

/// Knowledge as the expected values state it.
#[derive(Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct StatedKnowledge {
    pub(crate) tiers: Vec<Vec<String>>,
    /// Positions of the tiers whose variables do not cause each other.
    pub(crate) forbidden_within_tier: Vec<usize>,
    pub(crate) forbidden: Vec<(String, String)>,
    pub(crate) required: Vec<(String, String)>,
}

impl StatedKnowledge {
    /// The same as a job states it.
    pub(crate) fn scenario(&self) -> KnowledgeScenario {
        let column = |name: &String| ColumnName::new(name).unwrap();
        let pairs = |list: &[(String, String)]| {
            list.iter().map(|(cause, effect)| [column(cause), column(effect)]).collect()
        };
        let tier = |(t, names): (usize, &Vec<String>)| KnowledgeTier {
            columns: names.iter().map(column).collect(),
            edges_within: match self.forbidden_within_tier.contains(&t) {
                true => EdgesWithin::Forbidden,
                false => EdgesWithin::Allowed,
            },
        };
        KnowledgeScenario {
            tiers: self.tiers.iter().enumerate().map(tier).collect(),
            forbidden: pairs(&self.forbidden),
            required: pairs(&self.required),
        }
    }
}

/// The search with this many starts; the published figures and Tetrad's have one.
pub(crate) const fn boss_of(starts: Count) -> BossBlock {
    BossBlock {
        score: GraphScoreKind::DegenerateGaussian,
        penalty: Finite::of::<2, 1>(),
        starts,
        bes: false,
        singular: SingularRule::Clamp,
    }
}

/// The variables of a case, in their order.
#[derive(Clone)]
pub(crate) struct CaseVariables {
    pub(crate) names: Vec<String>,
    /// Levels of those that have any.
    pub(crate) levels: Vec<Option<Vec<String>>>,
}

impl CaseVariables {
    pub(crate) fn of(list: &Json) -> CaseVariables {
        let text = |value: &Json| value.as_str().unwrap().to_owned();
        let list = list.as_array().unwrap();
        let levels = |v: &Json| {
            v.get("levels").map(|levels| levels.as_array().unwrap().iter().map(text).collect())
        };
        CaseVariables {
            names: list.iter().map(|v| text(&v["name"])).collect(),
            levels: list.iter().map(levels).collect(),
        }
    }

    pub(crate) fn position(&self, name: &str) -> usize {
        self.names.iter().position(|n| n == name).unwrap_or_else(|| panic!("no variable `{name}`"))
    }

    /// The variables as columns of a table, in their order.
    pub(crate) fn rows(&self, csv: &ExpectedTable) -> FeatureRows {
        let column = |(name, levels): (&String, &Option<Vec<String>>)| {
            let at = csv.header.iter().position(|h| h == name).unwrap();
            let levels: Option<Vec<&str>> =
                levels.as_ref().map(|levels| levels.iter().map(String::as_str).collect());
            let kind = if levels.is_some() { FeatureKind::Nominal } else { FeatureKind::REAL };
            let feature = Feature::of(name, kind, &levels.unwrap_or_default());
            feature.column(csv.rows.iter().map(|row| Some(row[at].as_str())))
        };
        FeatureRows::of(self.names.iter().zip(&self.levels).map(column).collect())
    }

    pub(crate) fn of_graph(&self) -> Vec<GraphVariable> {
        let variable = |feature: usize| GraphVariable {
            name: self.names[feature].clone(),
            feature,
            levels: self.levels[feature].as_ref().map(|levels| (0..levels.len() as u32).collect()),
        };
        (0..self.names.len()).map(variable).collect()
    }

    pub(crate) fn knowledge(&self, stated: &Json) -> Knowledge {
        let stated: StatedKnowledge = serde_json::from_value(stated.clone()).unwrap();
        Knowledge::new(&self.names, &stated.scenario()).unwrap()
    }

    pub(crate) fn nodes(&self, names: &Json) -> NodeSet {
        names.as_array().unwrap().iter().map(|name| self.position(name.as_str().unwrap())).collect()
    }

    /// Pairs of names as positions, sorted; each pair itself sorted where it has no direction.
    pub(crate) fn pairs(&self, pairs: &Json, directed: bool) -> Vec<(usize, usize)> {
        let position = |name: &Json| self.position(name.as_str().unwrap());
        let pair = |p: &Json| {
            let (u, v) = (position(&p[0]), position(&p[1]));
            if directed { (u, v) } else { (u.min(v), u.max(v)) }
        };
        let mut pairs: Vec<(usize, usize)> = pairs.as_array().unwrap().iter().map(pair).collect();
        pairs.sort_unstable();
        pairs
    }
}

/// Training rows with the encoding fitted to them.
pub(crate) struct CaseTraining {
    pub(crate) rows: TrainingRows<'static>,
    pub(crate) encoding: GraphEncoding,
    pub(crate) blocks: TrainingBlocks,
}

impl CaseTraining {
    pub(crate) fn new(variables: &CaseVariables, csv: &ExpectedTable) -> CaseTraining {
        let rows = variables.rows(csv);
        let labels = vec![true; rows.n];
        let rows = TrainingRows::in_memory(rows, labels);
        let (encoding, blocks) =
            GraphEncoding::fit(&variables.of_graph(), &rows, MissingRows::Error, None).unwrap();
        CaseTraining { rows, encoding, blocks }
    }

    pub(crate) fn moments(&self, draws: &BootstrapDraws) -> Vec<EncodedMoments> {
        EncodedMoments::for_replicates(&self.encoding, &self.blocks, &self.rows, draws).unwrap()
    }

    /// The moments of all rows, each once.
    pub(crate) fn whole(&self) -> EncodedMoments {
        self.moments(&BootstrapDraws::all_rows(&self.blocks.sizes)).remove(0)
    }

    /// The moments of replicates that list the rows they draw.
    pub(crate) fn of_lists(&self, lists: &[Vec<usize>]) -> Vec<EncodedMoments> {
        let n: u64 = self.blocks.sizes.iter().flatten().sum();
        let times = lists.iter().map(|list| {
            let mut times = vec![0; n as usize];
            list.iter().for_each(|&row| times[row] += 1);
            times
        });
        self.moments(&BootstrapDraws::from_multiplicities(times.collect(), &self.blocks.sizes))
    }
}

/// The result of the search with the settings of a case.
pub(crate) fn discover(
    variables: &CaseVariables,
    score: &GraphScore,
    knowledge: &Knowledge,
    knobs: BossBlock,
    seed: u64,
) -> SearchedReplicate {
    let limits = DagLimits { per_class: 50_000, ..DagLimits::default() };
    let discovery = graph_search(&variables.names, knowledge, (&knobs, &limits), seed);
    discovery.search_replicate(0, score).unwrap()
}

/// The search of a case.
pub(crate) fn graph_search<'a>(
    variables: &'a [String],
    knowledge: &'a Knowledge,
    (knobs, limits): (&'a BossBlock, &'a DagLimits),
    seed: u64,
) -> GraphSearch<'a> {
    GraphSearch { variables, knowledge, knobs, limits, seed }
}

#[track_caller]
pub(crate) fn near(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found} instead of {expected}");
}
