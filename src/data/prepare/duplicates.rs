//! Finds rows that repeat an earlier row in every compared column; the first of them is kept.
//!
//! Rows are compared by the 128-bit xxh3 of their values, missing ones included; two different rows
//! share a hash about once in 10^38 pairs. The order of the rows in the source decides which is the
//! first, so neither threads nor batches matter.

use std::path::PathBuf;

use xxhash_rust::xxh3::Xxh3;

use crate::data::prepare::plan::{PreparePlan, RowLoss};
use crate::data::prepare::remaining_rows::SurvivingRows;
use crate::data::prepare::repeated::{RowEntry, repeated_rows};
use crate::data::source::SourceSlice;
use crate::data::values::SourceValues;
use crate::error::Result;
use crate::exec::accumulator::PieceLoop;
use crate::exec::pieces::RowBatching;
use crate::param::ColumnName;

/// The numbers of the rows that repeat an earlier one in the compared columns, ascending.
///
/// Only rows that pass all filters are compared. `scratch` is a temporary file, and how many rows
/// wait in memory before it is made.
///
/// # Errors
/// The rows cannot be read, or the run is stopped.
pub(crate) fn find_duplicates(
    plan: &PreparePlan<'_>,
    compared: &[ColumnName],
    RowBatching { batch_rows, workers, watch }: RowBatching<'_>,
    scratch: (PathBuf, usize),
) -> Result<Vec<u64>> {
    let columns = compared.iter().map(|name| plan.view.position(name.as_str()));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let pieces = plan.view.source.pieces();
    let keys = |i: usize| {
        let mut found = Vec::new();
        plan.view.read(&pieces[i], batch_rows, |slice| {
            (watch.check)()?;
            let compares = |loss: &RowLoss<'_>| !matches!(loss, RowLoss::Dropped(_));
            let filters = plan.losses().into_iter().filter(compares);
            let SurvivingRows { alive, .. } = SurvivingRows::of(plan.view, &slice, filters)?;
            let rows = alive.iter().zip(0..).filter(|(alive, _)| **alive).map(|(_, i)| i);
            found.extend(hashes(&slice, &columns, rows));
            Ok(())
        })?;
        Ok((pieces[i].rows as u64, found))
    };
    let all = PieceLoop { workers, watch, n: pieces.len() };
    let later = repeated_rows(all, scratch, keys, |pairs| pairs.map(|(row, _)| row).collect());
    let mut later: Vec<u64> = later?.into_iter().flat_map(|rows: Vec<u64>| rows).collect();
    later.sort_unstable();
    Ok(later)
}

/// The rows at these positions: one hash over the values of each, each value preceded by its length
/// or a mark that it is missing.
fn hashes(
    slice: &SourceSlice,
    columns: &[usize],
    rows: impl Iterator<Item = u32>,
) -> Vec<RowEntry> {
    let mut hash = Xxh3::new();
    let mut of = |i: u32| {
        hash.reset();
        for &column in columns {
            let (values, i) = (&slice.columns[column], i as usize);
            if values.is_null(i) {
                hash.update(&[0]);
                continue;
            }
            hash.update(&[1]);
            match values {
                SourceValues::Int(a) => hash.update(&a.value(i).to_le_bytes()),
                // The two zeros count as one value.
                SourceValues::Float(a) => hash.update(&(a.value(i) + 0.0).to_le_bytes()),
                SourceValues::Bool(a) => hash.update(&[u8::from(a.value(i))]),
                SourceValues::Text(_) | SourceValues::Named(_) | SourceValues::Empty(_) => {
                    let word = values.word(i).unwrap_or_default();
                    hash.update(&(word.len() as u64).to_le_bytes());
                    hash.update(word.as_bytes());
                }
            }
        }
        let hash = hash.digest128();
        [(hash >> 64) as u64, hash as u64, slice.first_row + u64::from(i)]
    };
    rows.map(&mut of).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::data::prepare::params::PrepareParams;
    use crate::data::prepare::view::SourceView;
    use crate::data::source::ParquetSource;
    use crate::data::tests::{integers, numbers, parquet, silent, texts, workers};

    #[test]
    fn the_first_of_equal_rows_stays_however_the_rows_are_cut() {
        let dir = tempfile::tempdir().unwrap();
        let n = 3000_i64;
        let (a, b): (Vec<i64>, Vec<i64>) = (0..n).map(|i| (i * i % 97, i * 7 % 11)).unzip();
        let c: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 0.0 } else { -0.0 }).collect();
        let sex: Vec<&str> = (0..n).map(|i| if i % 3 == 0 { "f" } else { "m" }).collect();
        let file = dir.path().join("rows.parquet");
        parquet(
            &file,
            vec![
                ("a", integers(&a)),
                ("b", integers(&b)),
                ("c", numbers(&c)),
                ("sex", texts(&sex)),
            ],
            700,
        );
        let params = PrepareParams::of(
            r#"keep: [{b: {above: 0}}], label: {column: a, positive: ["1"]},
               sensitive: {sex: [f, m]}, continuous: [c], drop_duplicates: [a, b, c, sex]"#,
        );
        let mut seen = HashSet::new();
        let expected: Vec<u64> = (0..n as usize)
            .filter(|&i| b[i] > 0 && !seen.insert((a[i], b[i], sex[i])))
            .map(|i| i as u64)
            .collect();
        assert!(expected.len() > 1000 && expected.len() < 2900, "{}", expected.len());
        let source =
            ParquetSource::parquet(file.to_str().unwrap(), &params.columns(), &params.declared)
                .unwrap();
        let view = SourceView::new(&source, &params).unwrap();
        let plan = PreparePlan::new(&view, &params).unwrap();
        let compared = params.drop_duplicates.clone().unwrap();
        for (most, batch_rows, threads) in [(1 << 19, 4096, 1), (1 << 19, 64, 4), (100, 512, 2)] {
            let (workers, scratch) = (workers(threads), (dir.path().join("seen"), most));
            let batching = silent(batch_rows, &workers);
            assert_eq!(find_duplicates(&plan, &compared, batching, scratch).unwrap(), expected);
        }
    }
}
