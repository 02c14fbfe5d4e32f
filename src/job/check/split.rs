//! Checks how rows are divided into those that train and those that are audited.

use crate::data::rows::split::Stratification;
use crate::job::SplitBlock;
use crate::job::messages as m;
use crate::job::read::nearest::all_or_none;

use super::JobChecker;
use super::rows::{SUM_SLACK, rounded};

impl JobChecker<'_> {
    pub(super) fn split(&mut self) {
        let Some(split) = &self.job.data.split else { return };
        let found = self.written("data.split", &["column", "share", "folds"]);
        let &[form] = found.as_slice() else {
            self.say("data.split", m::split_forms(all_or_none(&found)));
            return;
        };
        if split.column.is_some() {
            self.column_split(split);
        } else {
            let said = |key| m::split_list_alone(key, form);
            self.refuse_keys("data.split", &["train", "audit"], said);
        }
        if let Some(share) = split.share {
            let sum = share.train.get() + share.audit.get();
            if (sum - 1.0).abs() > SUM_SLACK {
                self.say("data.split.share", m::shares_sum(rounded(sum)));
            } else if share.audit.get() == 0.0 {
                self.say("data.split.share.audit", m::nobody_audited());
            }
        }
        if !split.by.is_rank() {
            self.hash_split(split);
        }
        match split.stratify {
            Some(Stratification::Label | Stratification::LabelAndGroup)
                if split.column.is_none() && self.lacks_label() =>
            {
                self.say("data.split.stratify", m::strata_no_label());
            }
            _ => {}
        }
    }

    fn hash_split(&mut self, split: &SplitBlock) {
        if split.share.is_none() {
            self.say("data.split.by", m::hash_without_share());
        } else if split.stratify.is_some_and(|by| by != Stratification::None) {
            self.say("data.split.stratify", m::strata_of_hash());
        }
    }

    fn column_split(&mut self, split: &SplitBlock) {
        for (key, values) in [("train", &split.train), ("audit", &split.audit)] {
            if values.is_none() {
                self.say("data.split", m::split_list_missing(key));
            }
        }
        if let (Some(train), Some(audit)) = (&split.train, &split.audit)
            && let Some(i) = audit.iter().position(|value| train.contains(value))
        {
            self.say(format!("data.split.audit[{i}]"), m::split_both_sides(&audit[i]));
        }
        if split.stratify.is_some() {
            self.say("data.split.stratify", m::strata_of_column());
        }
    }
}
