//! The law school data set: the cleaned subset of the LSAC bar passage study that the fairness literature uses.
//!
//! Source: Wightman 1998, LSAC National Longitudinal Bar Passage Study (`https://eric.ed.gov/?id=ED469370`); no licence statement is
//! known. Traps of the file: integers are written `9.00`; `racetxt` is 1 for white and 0 for Black; 2 rows occur twice. The grades of
//! law school (`decile1b`, `decile3`, `zfygpa`, `zgpa`) are known only years after admission.

use std::path::Path;

use arrow::array::RecordBatch;

use super::typed::Table;
use super::{DataSet, Form, Member, Type};
use crate::error::Result;

pub(super) const SET: DataSet = DataSet {
    name: "law",
    title: "Law school (LSAC bar passage): 18,692 students, is the bar passed?",
    source: "Wightman 1998, LSAC National Longitudinal Bar Passage Study, as cleaned in the repository damtharvey/law-school-dataset; no \
             licence statement is known",
    archives: &[],
    members: &[Member {
        name: "law_dataset.csv",
        forms: &[Form { bytes: 993_161, sha256: "76244ae957d224a9cc49464196f53ad621585705418ad3c3cda27a7699471a16" }],
        addresses: &["https://raw.githubusercontent.com/damtharvey/law-school-dataset/main/law_dataset.csv"],
    }],
    columns: &[
        ("decile1b", Type::Int),
        ("decile3", Type::Int),
        ("lsat", Type::Float),
        ("ugpa", Type::Float),
        ("zfygpa", Type::Float),
        ("zgpa", Type::Float),
        ("fulltime", Type::Int),
        ("fam_inc", Type::Int),
        ("male", Type::Int),
        ("racetxt", Type::Int),
        ("tier", Type::Int),
        ("pass_bar", Type::Int),
    ],
    read,
    stand_in: None,
};

fn read(folder: &Path, files: &[Vec<u8>]) -> Result<RecordBatch> {
    let mut rows = Table::new(SET.columns);
    for (member, bytes) in SET.members.iter().zip(files) {
        rows.push_csv(&folder.join(member.name), bytes)?;
    }
    rows.finish()
}
