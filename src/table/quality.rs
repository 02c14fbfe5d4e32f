//! The tables of how good counterfactuals are.

use super::{ColumnDef, SENSITIVE, TableDef, int, or_null, real, text};

pub(crate) const SET: ColumnDef = text("counterfactual", "name of the counterfactual set");

const OWN: ColumnDef =
    text("from_group", "the factual group; empty = all pairs of groups together");

const TARGET: ColumnDef =
    text("to_group", "the counterfactual group; empty = all pairs of groups together");

/// `cf_quality`: one row per counterfactual set, attribute, ordered pair of groups and metric.
pub const CF_QUALITY: TableDef = TableDef {
    name: "cf_quality",
    version: 1,
    one_row_per: "set, attribute, ordered pair of groups and metric",
    n_key: 5,
    columns: &[
        SET,
        SENSITIVE,
        OWN,
        TARGET,
        text(
            "metric",
            "id of the measure: n_cf, share_discarded, cos_median, ...; `cfaudit explain ID` tells \
             its formula",
        ),
        or_null(real("value", "the metric; null = undefined, see `undefined`")),
        text(
            "undefined",
            "why the value is null: nothing_to_average, no_filter; empty where it is not",
        ),
    ],
    writer: "measure",
    readers: "report",
};

/// `cf_features`: one row per counterfactual set, attribute, ordered pair of groups, feature and
/// metric.
pub const CF_FEATURES: TableDef = TableDef {
    name: "cf_features",
    version: 1,
    one_row_per: "set, attribute, ordered pair of groups, feature and metric",
    n_key: 6,
    columns: &[
        SET,
        SENSITIVE,
        OWN,
        TARGET,
        text("feature", "name of the feature"),
        text(
            "metric",
            "id of the measure: share_changed, dist_after, out_of_range, ...; `cfaudit explain ID` \
             tells its formula",
        ),
        or_null(real("value", "the metric; null = undefined, see `undefined`")),
        text(
            "undefined",
            "why the value is null: nothing_to_average, not_a_number (levels have none, and a \
             number that never varies); empty where it is not",
        ),
    ],
    writer: "measure",
    readers: "report",
};

/// `cf_distributions`: one row per counterfactual set, attribute, ordered pair of groups, feature,
/// side and bin.
///
/// Version 2 added `share`. In a file of version 1 only the counts stand, which compare groups with
/// different shares of labels.
pub const CF_DISTRIBUTIONS: TableDef = TableDef {
    name: "cf_distributions",
    version: 2,
    one_row_per: "set, attribute, ordered pair of groups (the 30 that are left farthest from their \
                  target), feature, side and bin",
    n_key: 7,
    columns: &[
        SET,
        SENSITIVE,
        OWN,
        TARGET,
        text("feature", "name of the feature"),
        text(
            "side",
            "original: rows with a valid counterfactual; counterfactual; target: reference rows of \
             the target group",
        ),
        int(
            "bin",
            "number of the bin, from 0; levels the 30 most frequent in the reference first, bin 30 \
             holds all others together",
        ),
        text(
            "level",
            "the level, which may be empty; empty for a number, and in bin 30, which holds all \
             levels beyond the 30 most frequent",
        ),
        or_null(real(
            "bin_lo",
            "left edge of the bin, part of it; values below the first count in it; null = levels",
        )),
        or_null(real(
            "bin_hi",
            "right edge of the bin, part of it only in the last bin; values above count in that; \
             null = levels",
        )),
        int("n", "how many"),
        or_null(real(
            "share",
            "share of the side; of target the mean of the shares in its classes, weighted by the \
             counterfactuals of the class as in `dist_after` of cf_features, so that n is not \
             behind it; null = the side is empty",
        )),
    ],
    writer: "measure",
    readers: "report",
};

/// `cf_examples`: one row per counterfactual set, attribute, ordered pair of groups, example and
/// feature that models read. Without rows unless the job asks for pairs of rows by
/// `report.example_pairs`.
pub const CF_EXAMPLES: TableDef = TableDef {
    name: "cf_examples",
    version: 1,
    one_row_per: "set, attribute, ordered pair of groups (those of `cf_distributions`), example \
                  and feature",
    n_key: 6,
    columns: &[
        SET,
        SENSITIVE,
        text("from_group", "the factual group"),
        text("to_group", "the counterfactual group"),
        int(
            "example",
            "number of the pair of rows, from 0, in the order of a seeded hash of the row; the row \
             itself is not named",
        ),
        text("feature", "name of the feature"),
        or_null(text("value", "its value in the row as it is; null = missing")),
        or_null(text("value_cf", "its value in the counterfactual; null = missing")),
        int("changed", "1 where the two differ, else 0"),
    ],
    writer: "measure",
    readers: "report",
};
