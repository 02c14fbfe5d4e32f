//! Where in the job the cause of a warning stands.
//!
//! A warning names a path of the job, or what the data call it: a column, an attribute or a set.

use super::{CheckedJob, path};
use crate::error::FilePlace;
use crate::param::ColumnName;

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
        let data = &self.job.data;
        let is = |name: Option<&str>| name == Some(of);
        let roles = [
            ("data.label.column", data.label.column().map(|label| label.column.as_str())),
            ("data.label.amount", data.label.named_column().map(ColumnName::as_str)),
            ("data.weight", data.weight.as_ref().map(ColumnName::as_str)),
            ("data.person", data.person.as_ref().map(ColumnName::as_str)),
            ("data.row_id", data.row_id.as_ref().map(ColumnName::as_str)),
        ];
        for (role, _) in roles.into_iter().filter(|(_, name)| is(*name)) {
            // In its short form the block is the column.
            paths.extend([role.to_owned(), role.trim_end_matches(".column").to_owned()]);
        }
        let sensitive = data.sensitive.iter();
        let read = sensitive.filter(|(_, of_attribute)| {
            of_attribute.from.as_ref().is_some_and(|column| column.as_str() == of)
        });
        paths.extend(read.map(|(name, _)| path(&["data", "sensitive", name.as_str()])));
        let features = &data.features;
        for (kind, names) in [
            ("continuous", &features.continuous),
            ("nominal", &features.nominal),
            ("ignore", &features.ignore),
        ] {
            let at = names.iter().position(|name| name.as_str() == of);
            paths.extend(at.map(|at| format!("data.features.{kind}[{at}]")));
        }
        for kind in ["ordinal", "onehot"] {
            paths.push(path(&["data", "features", kind, of]));
        }
        for (name, members) in &features.onehot {
            if members.iter().any(|member| member.as_str() == of) {
                paths.push(path(&["data", "features", "onehot", name.as_str()]));
            }
        }
        paths.push(path(&["data", "columns", of]));
        paths
    }
}
