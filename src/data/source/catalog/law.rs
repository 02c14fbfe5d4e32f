//! The law school data set: the cleaned subset of the LSAC bar passage study that the fairness
//! literature uses.
//!
//! Source: Wightman 1998, LSAC National Longitudinal Bar Passage Study
//! (`https://eric.ed.gov/?id=ED469370`); no licence statement is known. Traps of the file: integers
//! are written `9.00`; `racetxt` is 1 for white and 0 for Black; 2 rows occur twice. The grades of
//! law school (`decile1b`, `decile3`, `zfygpa`, `zgpa`) are known only years after admission.

use super::data_set::{PublicDataSet, catalog_columns, catalog_file};

pub(super) const SET: PublicDataSet = PublicDataSet {
    name: "law",
    title: "Law school (LSAC bar passage): 18,692 students, is the bar passed?",
    source: "Wightman 1998, LSAC National Longitudinal Bar Passage Study, as cleaned in the \
             repository damtharvey/law-school-dataset; no licence statement is known",
    archives: &[],
    members: &[catalog_file! {
        "law_dataset.csv":
        993_161 "76244ae957d224a9cc49464196f53ad621585705418ad3c3cda27a7699471a16";
        "https://raw.githubusercontent.com/damtharvey/law-school-dataset/main/law_dataset.csv",
    }],
    columns: catalog_columns! {
        Int: "decile1b" "decile3"; Float: "lsat" "ugpa" "zfygpa" "zgpa"; Int: "fulltime" "fam_inc"
        "male" "racetxt" "tier" "pass_bar";
    },
    push_member: |rows, _, file, bytes| rows.push_csv(file, bytes),
    stand_in: None,
};
