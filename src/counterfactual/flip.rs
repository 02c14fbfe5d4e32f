//! Flips: which categorical variables of a row take another level in the other group, and which
//! level that is.
//!
//! Source: "Towards Counterfactual Group Fairness", equations 3 and 4 and Algorithm 1. With the
//! level v of variable f, own group a, target b, class y:
//!
//! 1. *Impossible* (first step): P_b(v) <= `impossible`, with two guards against rare levels.
//!    Changed, and excluded from the later steps.
//! 2. *Root* (equation 3): d = P(v | a, y) - P(v | b, y); changed where d >= tau (`directed`)
//!    or |d| >= tau (`absolute`).
//! 3. *Conditional levels* (equation 4): after f_i went from u to w, each other f_j with level v is
//!    tested at once, depth first, within rows Q of (b, y): d = P(v | f_i = u) - P(v | f_i = w),
//!    then again within Q and f_i = w, until `depth` levels are reached.
//!
//! The new level is the other one of two, else the declared counterpart if the target rows have
//! it, else the most frequent (`mode`) or the one that agrees best with the other levels of the row
//! (`likely`): the largest ln P(c | T) + sum over other variables g of ln((n_cg + 0.5) / (m_cg +
//! 0.5 k_g)), where, among the target rows T, n_cg have level c and the row's level of g, m_cg have
//! level c and any level of g, and g has k_g levels.
//! Choice: `directed`. The equations print an absolute difference, which also moves rows to levels
//! that are rare in the target group. A variable changes at most once, in declared order; depth
//! counts levels of tests, not flips; a change of the first step is not a condition for other
//! variables. If there are too few rows of (b, y), Q is all rows of b. `mode` breaks ties by
//! declared order, `likely` takes a later level only if it is better by 1e-9. All comparisons
//! allow 1e-12 for equality, because 0.7 - 0.2 is below 0.5 in binary floating point. Cost: a first
//! query is linear in the combinations of levels of a stratum; later ones are look-ups.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counterfactual::ChangeCounters;
use crate::counterfactual::absence::{AbsenceRule, TOLERANCE};
use crate::counterfactual::conditional::{
    ReferenceStrata, StratumClass, StratumTable, UsedStratum,
};
use crate::counterfactual::joint::{CombinationPools, GivenLevel, JointPool};
use crate::counterfactual::variable::CategoryLevels;
use crate::data::MISSING;

/// The log probability of a later level must exceed that of an earlier one by this.
const LIKELIER_BY: f64 = 1e-9;

/// Largest number of values that the pools of a thread hold: about 100 MB.
const MAX_POOL_NUMBERS: usize = 16_000_000;

/// The sign that a difference of probabilities must have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlipRule {
    /// A level is left where it is rarer in the target group by the threshold.
    #[default]
    Directed,
    /// A level is left where it is rarer or more frequent by the threshold: equations 3 and 4 as
    /// printed.
    Absolute,
}

/// Over which rows the first step judges what is impossible.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImpossibleScope {
    /// The whole groups.
    #[default]
    Group,
    /// The strata of the row.
    Stratum,
}

/// Where a new level comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NewLevelRule {
    /// The level that agrees best with the other levels of the row.
    #[default]
    Likely,
    /// The most frequent level.
    Mode,
}

/// How many counterfactuals a row has in a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CounterfactualsPerRow {
    /// One, with all changes: Algorithm 1.
    #[default]
    Single,
    /// That one, then one for each change only at the root, with the changes that it brings along.
    Multiple,
}

/// The rules of flips; probabilities and shares in [0, 1] unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlipSettings {
    /// Threshold of equations 3 and 4.
    pub tau: f64,
    /// Sign rule of equations 3 and 4.
    pub rule: FlipRule,
    /// Levels of tests: 0 no test, 1 the root, 2 one conditional level, and so on.
    pub max_depth: u32,
    /// Smallest number of rows in each pool of a conditional test.
    pub min_support: u64,
    /// Smallest number of values in each of the two strata of a test.
    pub min_stratum: u64,
    /// When a level is impossible in the target group; a negative share switches the first step
    /// off.
    pub impossible: AbsenceRule,
    /// Over which rows the first step judges.
    pub impossible_scope: ImpossibleScope,
    /// Where a new level comes from.
    pub new_value: NewLevelRule,
    /// How many counterfactuals a row has in a group.
    pub cfs: CounterfactualsPerRow,
    /// Largest number of counterfactuals of a row in a group.
    pub max_cfs: usize,
}

/// The categorical variables of one counterfactual.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FlipPattern {
    /// The variables that change, by position, with their new levels.
    pub changes: Box<[(u32, u32)]>,
    /// How many variables changed, were tested in the pooled strata, or could not be tested.
    pub counters: ChangeCounters,
}

/// Decides the flips of rows of one group and class in another group.
pub(crate) struct FlipDecider<'a> {
    /// The strata.
    pub strata: &'a ReferenceStrata,
    /// The categorical variables.
    pub levels: &'a [&'a CategoryLevels],
    /// Which of them may change.
    pub eligible: &'a [bool],
    /// The rules.
    pub settings: &'a FlipSettings,
    /// The own group.
    pub own: usize,
    /// The target group.
    pub to: usize,
    /// The class.
    pub class: StratumClass,
    /// Cached queries of the joint counts.
    pub pools: &'a mut CombinationPools,
}

/// The levels of an unfinished counterfactual, and which of them are final.
#[derive(Clone)]
struct FlipDraft {
    levels: Vec<u32>,
    locked: Vec<bool>,
}

/// The rows that conditional tests and new levels refer to.
#[derive(Clone, Copy)]
struct FlipTarget<'a> {
    table: &'a StratumTable,
    pool: JointPool<'a>,
    /// Whether the pool is the whole table, whose single variables are counted exactly.
    is_whole_table: bool,
}

impl<'a> FlipDecider<'a> {
    /// The counterfactuals of a row with these levels, at least one.
    ///
    /// A missing level is [`MISSING`].
    pub(crate) fn decide(&mut self, levels: &[u32]) -> Vec<FlipPattern> {
        self.pools.clear_beyond(MAX_POOL_NUMBERS);
        let mut start = FlipDraft { levels: levels.to_vec(), locked: vec![false; levels.len()] };
        let mut counters = ChangeCounters::default();
        for f in 0..levels.len() {
            if self.is_free(&start, f) && self.is_impossible(f, start.levels[f]) {
                let target = self.target_of(f);
                let changed = self.change(&mut start, f, target).is_some();
                counters.n_impossible += u32::from(changed);
            }
        }
        let mut roots = Vec::new();
        for f in 0..levels.len() {
            if self.settings.max_depth == 0 || !self.is_free(&start, f) {
                continue;
            }
            match self.choice(f) {
                Some(used) => counters.n_fallback += u32::from(used.fallback),
                None => counters.n_kept += 1,
            }
            if self.root_test(f, start.levels[f]) {
                roots.push(f);
            }
        }
        let mut drafts = vec![self.flip(start.clone(), &roots)];
        if self.settings.cfs == CounterfactualsPerRow::Multiple {
            for &root in &roots {
                let draft = self.flip(start.clone(), &[root]);
                if drafts.iter().all(|known| known.levels != draft.levels) {
                    drafts.push(draft);
                }
            }
            drafts.truncate(self.settings.max_cfs.max(1));
        }
        let pattern = |draft: FlipDraft| {
            let changes = (0..).zip(draft.levels).zip(levels);
            let changes = changes.filter(|((_, new), old)| new != *old).map(|(change, _)| change);
            let changes: Box<[(u32, u32)]> = changes.collect();
            let n_changed = u32::try_from(changes.len()).unwrap_or(u32::MAX);
            FlipPattern { changes, counters: ChangeCounters { n_changed, ..counters } }
        };
        drafts.into_iter().map(pattern).collect()
    }

    fn is_free(&self, draft: &FlipDraft, f: usize) -> bool {
        self.eligible[f] && !draft.locked[f] && draft.levels[f] != MISSING
    }

    /// Gives a variable its new level, if it has one.
    fn change(&mut self, draft: &mut FlipDraft, f: usize, target: FlipTarget<'a>) -> Option<u32> {
        let new = self.new_level(f, &draft.levels, target)?;
        (draft.levels[f], draft.locked[f]) = (new, true);
        Some(new)
    }

    /// Changes the roots that are still free, each with the variables that its change brings along.
    fn flip(&mut self, mut draft: FlipDraft, roots: &[usize]) -> FlipDraft {
        for &f in roots {
            if draft.locked[f] {
                continue;
            }
            let old = draft.levels[f];
            let target = self.target_of(f);
            if let Some(new) = self.change(&mut draft, f, target) {
                let rows = self.class_target();
                self.descend(&mut draft, rows, (f, old, new), 1);
            }
        }
        draft
    }

    /// Tests the free variables within rows of the pool, after a variable changed from one level to
    /// another.
    fn descend(
        &mut self,
        draft: &mut FlipDraft,
        rows: FlipTarget<'a>,
        pivot: (usize, u32, u32),
        depth: u32,
    ) {
        if depth >= self.settings.max_depth {
            return;
        }
        let (f, old, new) = pivot;
        for g in 0..draft.levels.len() {
            let level = draft.levels[g];
            if !self.is_free(draft, g) {
                continue;
            }
            let mut share = |given: u32| {
                let spread = self.pools.level_counts(rows.pool, g, f, GivenLevel::Level(given));
                (spread.n >= self.settings.min_support.max(1))
                    .then(|| spread.count(level) as f64 / spread.n as f64)
            };
            let (Some(before), Some(after)) = (share(old), share(new)) else { continue };
            if !self.exceeds_threshold(before - after) {
                continue;
            }
            let pool = self.pools.restrict(rows.pool, f, new);
            let narrower = FlipTarget { pool, is_whole_table: false, ..rows };
            if let Some(other) = self.change(draft, g, narrower) {
                self.descend(draft, narrower, (g, level, other), depth + 1);
            }
        }
    }

    fn exceeds_threshold(&self, d: f64) -> bool {
        match self.settings.rule {
            FlipRule::Directed => d >= self.settings.tau - TOLERANCE,
            FlipRule::Absolute => d.abs() >= self.settings.tau - TOLERANCE,
        }
    }

    fn choice(&self, f: usize) -> Option<UsedStratum> {
        self.strata.choose(self.own, self.to, self.class, self.settings.min_stratum, |table| {
            table.levels[f].n
        })
    }

    /// P(level | own), and the target values that are the level, with all target values.
    ///
    /// `None` where either side has no values.
    fn own_and_target(&self, f: usize, level: u32, slot: usize) -> Option<(f64, (u64, u64))> {
        let side = |group: usize| {
            let spread = &self.strata.table(group, slot).levels[f];
            (spread.n > 0).then(|| (spread.count(level), spread.n))
        };
        let ((n, rows), target) = (side(self.own)?, side(self.to)?);
        Some((n as f64 / rows as f64, target))
    }

    fn is_impossible(&self, f: usize, level: u32) -> bool {
        let slot = match self.settings.impossible_scope {
            ImpossibleScope::Group => Some(self.strata.pooled_slot()),
            ImpossibleScope::Stratum => self.choice(f).map(|used| used.slot),
        };
        slot.and_then(|slot| self.own_and_target(f, level, slot))
            .is_some_and(|(own, target)| self.settings.impossible.holds(own, target))
    }

    fn root_test(&self, f: usize, level: u32) -> bool {
        self.choice(f)
            .and_then(|used| self.own_and_target(f, level, used.slot))
            .is_some_and(|(own, (n, rows))| self.exceeds_threshold(own - n as f64 / rows as f64))
    }

    fn target_at(&mut self, slot: usize) -> FlipTarget<'a> {
        let table = self.strata.table(self.to, slot);
        let pool = self.pools.root(&table.joint, (self.to, slot));
        FlipTarget { table, pool, is_whole_table: true }
    }

    /// The target rows of the first step and of the root test.
    ///
    /// They are the stratum used for the variable, else the whole group.
    fn target_of(&mut self, f: usize) -> FlipTarget<'a> {
        let used = self.choice(f);
        self.target_at(used.map_or(self.strata.pooled_slot(), |used| used.slot))
    }

    /// The rows of the target group and class, or of the whole group where those are too few.
    fn class_target(&mut self) -> FlipTarget<'a> {
        let slot = match self.class {
            StratumClass::Seen(slot)
                if self.strata.table(self.to, slot).rows >= self.settings.min_stratum.max(1) =>
            {
                slot
            }
            _ => self.strata.pooled_slot(),
        };
        self.target_at(slot)
    }

    /// The new level of a variable; `None` where the target rows have no other level.
    fn new_level(&mut self, f: usize, levels: &[u32], target: FlipTarget<'a>) -> Option<u32> {
        let known = self.levels[f];
        let current = levels[f];
        if known.is_binary() {
            return Some(1 - current.min(1));
        }
        let narrow;
        let options = if target.is_whole_table {
            &target.table.levels[f]
        } else {
            narrow = self.pools.level_counts(target.pool, f, f, GivenLevel::Known);
            &*narrow
        };
        if let Some(counterpart) =
            known.counterpart(current).filter(|&c| c != current && options.count(c) > 0)
        {
            return Some(counterpart);
        }
        let may_be = |level: u32| level != current && Some(level) != known.barred;
        let is_likely = self.settings.new_value == NewLevelRule::Likely;
        // How well each option agrees with the other levels of the row.
        let mut agreement = vec![0.0; options.levels.len()];
        for (g, &other) in levels.iter().enumerate() {
            if is_likely && g != f && other != MISSING {
                let (of, known) = ((f, &*options.levels), (g, other, self.levels[g].n));
                let terms = self.pools.agreement(target.pool, of, known);
                agreement.iter_mut().zip(terms.iter()).for_each(|(sum, term)| *sum += term);
            }
        }
        let mut best: Option<(u32, f64)> = None;
        for (&(level, n), agreement) in options.levels.iter().zip(agreement) {
            let score = match is_likely {
                true => libm::log(n as f64 / options.n as f64) + agreement,
                false => n as f64,
            };
            if may_be(level) && best.is_none_or(|(_, known)| score > known + LIKELIER_BY) {
                best = Some((level, score));
            }
        }
        best.map(|best| best.0)
    }
}
