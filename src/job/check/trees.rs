//! Checks the blocks `boosting` and `forest` of models.

use crate::job::blocks::trained::{BoostingBlock, ForestBlock, SMALLEST_LEAF};
use crate::param::{Count, Fraction, Name};

use super::JobChecker;

/// The limits of LightGBM; of trees it has none, but each is kept in the model.
const MOST_TREES: u64 = 100_000;
const MOST_LEAVES: u64 = 131_072;
const MOST_ROWS: u64 = i32::MAX as u64;

/// What to do where the program was built without a library.
pub(super) fn rebuild(library: &str, feature: &str) -> String {
    format!(
        "build it with `cargo build --features {feature}` ({library}; `make` fetches what that \
         takes), or use another kind of model"
    )
}

impl JobChecker<'_> {
    pub(super) fn boosting(&mut self, at: &str, name: &Name, boosting: &BoostingBlock) {
        self.lightgbm(at, "boosting");
        if boosting.learning_rate.get() <= 0.0 {
            let what =
                format!("a learning rate of `{}` is not above 0", boosting.learning_rate.get());
            self.push_problem(
                "bad-value",
                format!("{at}.learning_rate"),
                what,
                "write a number above 0; 0.1 is usual, smaller ones need more trees",
            );
        }
        if boosting.l2.get() < 0.0 {
            let what = format!("a penalty of `{}` is below 0", boosting.l2.get());
            self.push_problem(
                "bad-value",
                format!("{at}.l2"),
                what,
                "write 0 or more; 0 is LightGBM's default",
            );
        }
        self.sizes(at, boosting.trees, boosting.leaves, boosting.smallest_leaf);
        self.shares(at, boosting.row_share, boosting.column_share);
        self.trains(at, name);
        self.inputs(at, name, &boosting.omit);
    }

    pub(super) fn forest(&mut self, at: &str, name: &Name, forest: &ForestBlock) {
        self.lightgbm(at, "forest");
        self.sizes(at, forest.trees, forest.leaves, forest.smallest_leaf);
        self.shares(at, forest.row_share, forest.column_share);
        if forest.row_share.get() == 1.0 {
            let what = "a forest whose trees all see every row".to_owned();
            self.push_problem(
                "bad-value",
                format!("{at}.row_share"),
                what,
                "write a share below 1; 0.632 is what a bootstrap sample holds",
            );
        }
        self.trains(at, name);
        self.inputs(at, name, &forest.omit);
    }

    /// Complains about a kind of model that this build does without.
    fn lightgbm(&mut self, at: &str, kind: &str) {
        if !cfg!(feature = "lightgbm") {
            let what =
                format!("this build of cfaudit does without LightGBM, which trains `{kind}`");
            self.push_problem("not-built", at, what, rebuild("LightGBM", "lightgbm"));
        }
    }

    fn sizes(&mut self, at: &str, trees: Count, leaves: Count, smallest: Count) {
        let limits = [
            ("trees", trees, MOST_TREES),
            ("leaves", leaves, MOST_LEAVES),
            ("smallest_leaf", smallest, MOST_ROWS),
        ];
        for (key, count, most) in limits.into_iter().filter(|(_, count, most)| count.get() > *most)
        {
            let what = format!("`{}` is more than LightGBM takes", count.get());
            self.push_problem(
                "bad-value",
                format!("{at}.{key}"),
                what,
                format!("write at most {most}"),
            );
        }
        if leaves.get() < 2 {
            self.push_problem(
                "bad-value",
                format!("{at}.leaves"),
                "a tree of one leaf says the same to everybody",
                "write 2 or more; 31 is usual",
            );
        }
        if smallest.get() < SMALLEST_LEAF {
            let what =
                format!("leaves of `{}` rows are smaller than this program grows", smallest.get());
            self.push_problem("bad-value", format!("{at}.smallest_leaf"), what, "write 20 or more");
        }
    }

    fn shares(&mut self, at: &str, rows: Fraction, columns: Fraction) {
        for (key, share) in [("row_share", rows), ("column_share", columns)] {
            if share.get() == 0.0 {
                self.push_problem(
                    "bad-value",
                    format!("{at}.{key}"),
                    "a share of `0` shows a tree nothing",
                    "write a share above 0",
                );
            }
        }
    }
}
