//! What the key columns mean that several tables share.

pub(crate) const ARM: &str = "experiment and arm, such as `augment/all`; empty for the plain audit";
pub(crate) const MODEL: &str = "name of the model";
pub(crate) const COUNTERFACTUAL: &str =
    "name of the counterfactual set; empty where none is involved";
pub(crate) const SENSITIVE: &str = "name of the sensitive attribute";
pub(crate) const SCOPE: &str = "group, total, pair, one_vs_rest, worst_case, direction, \
    difference, one_to_rest, rest_to_one: what the groups mean";
pub(crate) const FROM_GROUP: &str = "the group itself; of a pair or of one_vs_rest the first (A); \
    of a direction or of one_to_rest the factual group; empty = all (others)";
pub(crate) const TO_GROUP: &str = "of a pair or of one_vs_rest the second (B); of a direction or \
    of rest_to_one the counterfactual group; empty = all (others)";
pub(crate) const SLICE: &str = "slice: `region=north`, or `region=north & channel=web`, of the \
    columns of `metrics.by`; empty = all rows";
pub(crate) const CLASS: &str = "of a label of several classes the one that counts as positive \
    against all others; empty = all, and a label of two sides";
