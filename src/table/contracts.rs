//! The tables of the contracts with models that are trained elsewhere, and of what they do not
//! know.

use crate::table::row_macro::{SharedText, tables};

tables! {
    /// `model_contract`: one row per column that a model which is trained elsewhere gets, and one
    /// per model for its score, or one for each class of a label of several.
    pub struct ModelContractRow in "model_contract", version 2, key 3,
    one row per "column that a model trained elsewhere gets, and its score", written by "report",
    read by "users" {
        /// the model
        model: SharedText,
        /// the input of the model; empty for the one table that a model takes, and for the score;
        /// of several scores the class of the label
        input: SharedText,
        /// position in the input, from 0; -1 = the score
        position: i64,
        /// the column; of the score the class whose probability it is, as the model writes it, and
        /// empty where a number a row is the score of the positive class
        column: SharedText,
        /// what the model takes: number, integer, boolean, text, or source = what the source holds;
        /// score
        kind: SharedText,
        /// what a missing value becomes; empty for the score
        missing_as: SharedText,
        /// levels that the model knows, missing values among them; of the score the classes of the
        /// model; null = the model names none
        levels_known: Option<i64>,
        /// where the term is from: file, job or convention
        source: SharedText,
    }

    /// `unknown_levels`: one row per model that names the levels it knows, column and group.
    pub struct UnknownLevelRow in "unknown_levels", version 1, key 4,
    one row per "model, column and group of audited people", written by "score", read by
    "gate" {
        /// the model
        model: SharedText,
        /// the column; empty = any
        column: SharedText,
        /// the sensitive attribute; empty = all audited people
        sensitive: SharedText,
        /// the group; empty = all audited people
        group: SharedText,
        /// audited people with a value that the model does not know; rows where a person may have
        /// several
        people: i64,
        /// audited people
        audited: i64,
        /// the most frequent of these values, at most three; empty for groups and for any column
        examples: SharedText,
    }
}
