//! The meanings of columns that several tables have under one name.

/// What all tables say about a column of this name, unless one of them says something else. A name
/// that is not here does not compile without a text of its own.
pub(super) const fn meaning_of_all(name: &'static str) -> &'static str {
    match name.as_bytes() {
        b"arm" => "experiment and arm, such as `augment/all`; empty for the plain audit",
        b"model" => "name of the model",
        b"counterfactual" => "name of the counterfactual set; empty where none is involved",
        b"sensitive" => "name of the sensitive attribute",
        b"scope" => {
            "group, total, no_group, pair, one_vs_rest, worst_case, direction, difference, \
             one_to_rest, rest_to_one: what the groups mean"
        }
        b"from_group" => {
            "the group itself; of a pair or of one_vs_rest the first (A); of a direction or of \
             one_to_rest the factual group; empty = all (others)"
        }
        b"to_group" => {
            "of a pair or of one_vs_rest the second (B); of a direction or of rest_to_one the \
             counterfactual group; empty = all (others)"
        }
        b"slice" => {
            "slice: `region=north`, or `region=north & channel=web`, of the columns of \
             `metrics.by`; empty = all rows"
        }
        b"class" => {
            "of a label of several classes the one that counts as positive against all others; \
             empty = all, and a label of two sides"
        }
        b"recourse" => "the sensitive attribute, as named under `recourse` in the job",
        b"subgroup" => "number of the subgroup, from 0",
        b"n_0" => "affected people of group 0 in the subgroup",
        b"n_1" => "affected people of group 1 in the subgroup",
        _ => panic!("a column without a text of its own"),
    }
}
