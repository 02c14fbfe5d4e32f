//! Where in the job the cause of a warning stands.
//!
//! A warning names a path of the job, or what the data call it: a column, an attribute or a set.

use super::{CheckedJob, path};
use crate::error::FilePlace;

impl CheckedJob {
    /// The place of the key that a warning is about: that of the rows, where it is about a column
    /// of them that no key names by itself, as an expression does.
    pub(crate) fn place_of_issue(&self, of: &str) -> Option<&FilePlace> {
        let paths = self.paths_of_issue(of);
        paths.iter().find_map(|path| self.places.written(path)).or(self.places.at("data.rows"))
    }

    /// The paths that may say it, the most telling first.
    fn paths_of_issue(&self, of: &str) -> Vec<String> {
        let mut paths = vec![of.to_owned()];
        for block in ["data.sensitive", "counterfactuals", "models", "data.derive", "data.join"] {
            let mut steps: Vec<&str> = block.split('.').collect();
            steps.push(of);
            paths.push(path(&steps));
        }
        let named = self.job.data.named_columns().into_iter();
        paths.extend(named.filter(|named| named.column.as_str() == of).map(|named| named.at));
        paths.push(path(&["data", "features", "onehot", of]));
        paths.push(path(&["data", "columns", of]));
        paths
    }
}
