//! The German Credit data set (Statlog): 1,000 applicants in the coded file with 20 features.
//!
//! Source: UCI Machine Learning Repository, data set 144, DOI 10.24432/C5NC77, CC BY 4.0. Traps of
//! the file:
//! - Fields are separated by blanks and have no header: cfaudit names the columns.
//! - The label `class` is 1 for good and 2 for bad.
//! - Sex is coded only in `personal_status_sex`: A92 (and A95, which never occurs) is female, A91,
//!   A93 and A94 are male. Groemping 2019 ("South German Credit") reports coding errors, so treat
//!   sex derived from A92 with caution.

use std::path::Path;

use super::data_set::{PublicDataSet, catalog_columns, catalog_file};
use super::typed::TypedTable;
use crate::error::Result;

pub(super) const SET: PublicDataSet = PublicDataSet {
    name: "german",
    title: "German Credit (Statlog): 1,000 applicants, is the credit risk good?",
    source: "UCI Machine Learning Repository, DOI 10.24432/C5NC77, CC BY 4.0; the codes are \
             explained in german.doc there",
    archives: &["https://archive.ics.uci.edu/static/public/144/statlog+german+credit+data.zip"],
    members: &[catalog_file! {
        "german.data":
        79_793 "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871";
        "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/german/german.data",
    }],
    columns: catalog_columns! {
        Text: "status"; Int: "duration"; Text: "credit_history" "purpose"; Int: "credit_amount";
        Text: "savings" "employment"; Int: "installment_rate"; Text: "personal_status_sex"
        "other_debtors"; Int: "residence_since"; Text: "property"; Int: "age";
        Text: "other_installment_plans" "housing"; Int: "existing_credits"; Text: "job";
        Int: "num_dependents"; Text: "telephone" "foreign_worker"; Int: "class";
    },
    push_member,
    stand_in: None,
};

fn push_member(rows: &mut TypedTable, _: usize, file: &Path, bytes: &[u8]) -> Result<()> {
    rows.push_lines(file, bytes, |line| Some(line.split_ascii_whitespace().collect()))
}
