//! The Heart Disease data set: four hospitals, 14 columns each, read from the four processed files.
//!
//! Source: UCI Machine Learning Repository, data set 45, DOI 10.24432/C52P4X, CC BY 4.0; Detrano et
//! al. 1989. Traps of the files:
//! - `?` means missing, and so does a cholesterol of 0 in all 123 Swiss and 49 of the Long Beach
//!   rows: that is left to the job, because the file says 0.
//! - Integers are written `63.0` at Cleveland, `28` elsewhere.
//! - The label `num` counts from 0 to 4, but the Hungarian file says 0 or 1 only: across sites,
//!   disease is `num` above 0.
//!
//! In addition to the columns of the files, `site` holds the hospital of a row. The raw files with
//! 76 columns are not read: the one of Cleveland is damaged, and they hold the vessel findings from
//! which `num` is made.

use std::path::Path;

use super::data_set::{PublicDataSet, catalog_columns, catalog_file};
use super::typed::TypedTable;
use crate::error::Result;

pub(super) const SET: PublicDataSet = PublicDataSet {
    name: "heart",
    title: "Heart Disease: 920 patients of four hospitals, is a coronary vessel narrowed?",
    source: "UCI Machine Learning Repository, DOI 10.24432/C52P4X, CC BY 4.0; the donors ask \
             publications to name the principal investigators, who are listed in \
             heart-disease.names there",
    archives: &[
        "https://archive.ics.uci.edu/static/public/45/heart+disease.zip",
        "https://archive.ics.uci.edu/static/public/45/heart%2Bdisease.zip",
    ],
    members: &[
        catalog_file! {
            "processed.cleveland.data":
            18_461 "a74b7efa387bc9d108d7d0115d831fe9b414b29ae7124f331b622b4efa0427c8";
            "https://archive.ics.uci.edu/ml/machine-learning-databases/heart-disease/\
             processed.cleveland.data",
        },
        catalog_file! {
            "processed.hungarian.data":
            10_263 "d1ad108f785768cd3d7e82dc522e6f5a61eea93cccfb3a46ee8076f73fc3d796";
            "https://archive.ics.uci.edu/ml/machine-learning-databases/heart-disease/\
             processed.hungarian.data",
        },
        catalog_file! {
            "processed.switzerland.data":
            4_109 "834a405ccf5b66ab4056bb77794adc8df0b7125186454c0a1d002d33c6c3b314";
            "https://archive.ics.uci.edu/ml/machine-learning-databases/heart-disease/\
             processed.switzerland.data",
        },
        catalog_file! {
            "processed.va.data":
            6_737 "e7c93d8d0d2acdadfa4c5e8de768e2191e7f618b952e29623f1f0d5949ff6b8f";
            "https://archive.ics.uci.edu/ml/machine-learning-databases/heart-disease/\
             processed.va.data",
        },
    ],
    columns: catalog_columns! {
        Int: "age" "sex" "cp" "trestbps" "chol" "fbs" "restecg" "thalach" "exang"; Float: "oldpeak";
        Int: "slope" "ca" "thal" "num"; Text: "site";
    },
    push_member,
    stand_in: None,
};

/// The sites, in the order of the members.
const SITES: [&str; 4] = ["cleveland", "hungarian", "switzerland", "va"];

fn push_member(rows: &mut TypedTable, member: usize, file: &Path, bytes: &[u8]) -> Result<()> {
    rows.push_lines(file, bytes, |line| {
        let fields = line.trim_end().split(',').map(|field| if field == "?" { "" } else { field });
        Some(fields.chain([SITES[member]]).collect())
    })
}
