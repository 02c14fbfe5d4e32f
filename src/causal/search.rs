//! The search for causal graphs in one replicate of the training rows: BOSS, optionally BES, and
//! the DAGs of the class that was found.

use crate::causal::bes::bes;
use crate::causal::boss::{BossBlock, SingularRule, boss};
use crate::causal::class::{ListedDags, list_or_sample};
use crate::causal::graph::{Dag, Pdag};
use crate::causal::knowledge::Knowledge;
use crate::causal::score::GraphScore;
use crate::error::{Fault, Result};
use crate::num::seed::RandomStream;

/// Limits on the number of DAGs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DagLimits {
    /// DAGs of one class that are listed, at least 1; from a larger class this many are drawn.
    pub per_class: usize,
    /// Members of the bag; more are an error.
    pub total: usize,
}

#[cfg(test)]
impl Default for DagLimits {
    fn default() -> Self {
        DagLimits { per_class: 10_000, total: 200_000 }
    }
}

impl DagLimits {
    /// Fails where a bag would have more members than allowed.
    pub(crate) fn check_total(&self, total: usize) -> Result<()> {
        if total <= self.total {
            return Ok(());
        }
        let what =
            format!("the bootstraps allow {total} graphs in total; the limit is {}", self.total);
        Fault::new("too-many-graphs", what)
            .fail("add knowledge, raise the limit, or use fewer bootstraps")
    }
}

/// The graphs found in one bootstrap replicate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SearchedReplicate {
    /// Score of its DAGs.
    pub score: f64,
    /// The variables in the order that the search ended with (before any backward search).
    pub order: Vec<usize>,
    /// The DAG that the search ended with.
    pub dag: Dag,
    /// The equivalence class under knowledge.
    pub class: Pdag,
    /// The DAGs of the class.
    pub listed: ListedDags,
    /// Variables that their parents determine, ascending: their scores are set by convention.
    pub determined: Vec<usize>,
}

/// The inputs that the searches of all replicates share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GraphSearch<'a> {
    /// Names of the variables.
    pub variables: &'a [String],
    /// Domain knowledge about the graph.
    pub knowledge: &'a Knowledge,
    /// Settings of the search.
    pub knobs: &'a BossBlock,
    /// Limits on the number of DAGs.
    pub limits: &'a DagLimits,
    /// The seed of the job.
    pub seed: u64,
}

impl GraphSearch<'_> {
    /// Searches replicate `b` with its scores and lists the DAGs of the class found.
    ///
    /// # Errors
    /// A variable is determined by its parents, and the settings make that an error.
    pub(crate) fn search_replicate(
        &self,
        b: usize,
        score: &GraphScore,
    ) -> Result<SearchedReplicate> {
        let found = boss(
            score,
            self.knowledge,
            self.knobs.starts.size(),
            &mut RandomStream::new(self.seed, &format!("boss/{b}")),
        );
        let dag = if self.knobs.bes { bes(score, self.knowledge, found.dag).0 } else { found.dag };
        let locals: Vec<_> =
            (0..self.variables.len()).map(|x| score.local_score(x, dag.parents[x])).collect();
        let determined: Vec<usize> =
            (0..locals.len()).filter(|&x| locals[x].determined > 0).collect();
        if let (SingularRule::Error, Some(&x)) = (self.knobs.singular, determined.first()) {
            let parents: Vec<String> =
                dag.parents[x].into_iter().map(|v| format!("`{}`", self.variables[v])).collect();
            let what = format!(
                "in bootstrap {b} the column is an exact linear function of {}",
                parents.join(", ")
            );
            return Fault::new("collinear-columns", what).in_column(&self.variables[x]).fail(
                "leave one of them out of the graph's variables; if values of several columns \
                     are missing in the same rows, so that the level `missing` of one determines \
                     that of another, write `data.missing: {nominal: drop-row}`; or accept the \
                     convention `singular: clamp`",
            );
        }
        let class = Pdag::from_dag(&dag, self.knowledge);
        let mut stream = RandomStream::new(self.seed, &format!("class/{b}"));
        let listed = list_or_sample(&class, self.limits.per_class, &mut stream);
        let score = locals.iter().map(|local| local.score).sum();
        Ok(SearchedReplicate { score, order: found.order, dag, class, listed, determined })
    }
}
