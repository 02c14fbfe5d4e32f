//! Checks how rows are divided into those that train and those that are audited.

use crate::data::rows::split::Stratification;
use crate::job::SplitBlock;
use crate::job::read::nearest::all;
use crate::param::Word;

use super::JobChecker;
use super::rows::{SUM_SLACK, rounded};

impl JobChecker<'_> {
    pub(super) fn split(&mut self) {
        let Some(split) = self.job.data.split.as_ref().filter(|_| self.is_sound(&["data.split"]))
        else {
            return;
        };
        let forms = [
            ("column", split.column.is_some()),
            ("share", split.share.is_some()),
            ("folds", split.folds.is_some()),
        ];
        let found: Vec<&str> =
            forms.iter().filter(|(_, there)| *there).map(|(form, _)| *form).collect();
        if found.len() != 1 {
            let found = if found.is_empty() { "none".to_owned() } else { all(&found) };
            let hint = "choose `{column: C, train: [...], audit: [...]}`, `{share: {train: 0.8, \
                        audit: 0.2}}` or `{folds: 5}`";
            self.push_problem(
                "one-of",
                "data.split",
                format!(
                    "`data.split` takes exactly one of `column`, `share` and `folds`, found {found}"
                ),
                hint,
            );
            return;
        }
        if split.column.is_some() {
            self.column_split(split);
        } else {
            for (key, there) in [("train", split.train.is_some()), ("audit", split.audit.is_some())]
            {
                if there {
                    self.push_problem(
                        "bad-split",
                        format!("data.split.{key}"),
                        format!("`{key}` lists values of a `column`, but there is none"),
                        format!("remove it, or add `column` in place of `{}`", found[0]),
                    );
                }
            }
        }
        if let Some(share) = split.share {
            let sum = share.train.get() + share.audit.get();
            if (sum - 1.0).abs() > SUM_SLACK {
                self.push_problem(
                    "bad-sum",
                    "data.split.share",
                    format!("the shares sum to {}, not to 1", rounded(sum)),
                    "change one of them",
                );
            } else if share.audit.get() == 0.0 {
                self.push_problem(
                    "bad-split",
                    "data.split.share.audit",
                    "no row is audited",
                    "give `audit` a share above 0",
                );
            }
        }
        if !split.by.is_rank() {
            self.hash_split(split);
        }
        if split.folds.is_some_and(|folds| folds.get() < 2) {
            self.push_problem(
                "bad-split",
                "data.split.folds",
                "one fold leaves no rows to train on",
                "write 2 or more; 5 is usual",
            );
        }
        match split.stratify {
            Some(Stratification::Label | Stratification::LabelAndGroup)
                if self.job.data.label.column().is_none()
                    && split.column.is_none()
                    && self.is_sound(&["data.label"]) =>
            {
                self.push_problem(
                    "needs-label",
                    "data.split.stratify",
                    "rows cannot be stratified by a label: `data.label` is `none`",
                    "write `stratify: none`",
                );
            }
            _ => {}
        }
    }

    fn hash_split(&mut self, split: &SplitBlock) {
        if split.share.is_none() {
            self.push_problem(
                "bad-split",
                "data.split.by",
                "`by: hash` draws a `share`, but there is none",
                "remove `by`, or write `{share: {train: 0.8, audit: 0.2}, by: hash}`",
            );
        } else if split.stratify.is_some_and(|by| by != Stratification::None) {
            self.push_problem(
                "bad-split",
                "data.split.stratify",
                "`stratify` has no effect if each row is drawn by its own hash",
                "remove it, or `by: hash`",
            );
        }
    }

    fn column_split(&mut self, split: &SplitBlock) {
        for (key, values) in [("train", &split.train), ("audit", &split.audit)] {
            let at = format!("data.split.{key}");
            match values {
                None => self.push_problem(
                    "missing-key",
                    "data.split",
                    format!("`data.split` has no `{key}`"),
                    format!("add `{key}: [...]`, the values of `column` that {key}"),
                ),
                Some(values) => {
                    let words: Vec<&str> = values.iter().map(Word::as_str).collect();
                    self.check_distinct(&at, "value of the column", &words);
                }
            }
        }
        if let (Some(train), Some(audit)) = (&split.train, &split.audit)
            && let Some(i) = audit.iter().position(|value| train.contains(value))
        {
            let what =
                format!("rows with `{}` would be both training rows and audited rows", audit[i]);
            self.push_problem(
                "bad-split",
                format!("data.split.audit[{i}]"),
                what,
                "list each value on only one side",
            );
        }
        if split.stratify.is_some() {
            self.push_problem(
                "bad-split",
                "data.split.stratify",
                "`stratify` has no effect if a column defines the split",
                "remove it, or split by `share` or `folds`",
            );
        }
    }
}
