//! Finds rows that repeat an earlier row in every compared column; the first of them is kept.
//!
//! Rows are compared by the 128-bit xxh3 of their values, missing ones included; two different rows
//! share a hash about once in 10^38 pairs. The order of the rows in the source decides which is the
//! first, so neither threads nor batches matter.
//!
//! Memory: 24 bytes per row that passes the filters, for at most 32 million rows at a time (768
//! MB). With more rows in the source the pass is repeated, each time over another range of hashes.
//! The numbers of repeated rows are kept, 8 bytes each.

use xxhash_rust::xxh3::Xxh3;

use crate::data::prepare::kept_slice::apply_filters;
use crate::data::prepare::params::passes;
use crate::data::prepare::plan::PreparePlan;
use crate::data::source::SourceSlice;
use crate::data::values::SourceValues;
use crate::error::{Error, Result};
use crate::exec::pieces::{StageWatch, WorkerPool};
use crate::param::ColumnName;

/// The numbers of the rows that repeat an earlier one in the compared columns, ascending.
///
/// Only rows that pass all filters are compared.
///
/// # Errors
/// The rows cannot be read, or the run is stopped.
pub(crate) fn find_duplicates(
    plan: &PreparePlan<'_>,
    compared: &[ColumnName],
    batch_rows: usize,
    workers: &WorkerPool,
    watch: StageWatch<'_>,
) -> Result<Vec<u64>> {
    let columns = compared
        .iter()
        .map(|name| plan.view.position(name.as_str()))
        .collect::<Result<Vec<_>>>()?;
    find_in_passes(plan, &columns, passes(plan.view.source().n_rows()), batch_rows, workers, watch)
}

fn find_in_passes(
    plan: &PreparePlan<'_>,
    columns: &[usize],
    passes: u64,
    batch_rows: usize,
    workers: &WorkerPool,
    watch: StageWatch<'_>,
) -> Result<Vec<u64>> {
    let pieces = plan.view.source().pieces();
    let mut repeated = Vec::new();
    for pass in 0..passes {
        // The two halves of the hash, then the number of the row: sorting puts equal rows next to
        // each other, the earliest first.
        let mut seen: Vec<[u64; 3]> = Vec::new();
        let look = |i: usize| {
            let mut found = Vec::new();
            plan.view.read(&pieces[i], batch_rows, |slice| {
                (watch.check)()?;
                let (alive, _) = apply_filters(plan, &slice)?;
                let rows: Vec<u32> =
                    alive.iter().zip(0..).filter(|(alive, _)| **alive).map(|(_, i)| i).collect();
                let hashes = hashes(&slice, columns, &rows);
                let mine = hashes
                    .into_iter()
                    .zip(&rows)
                    .filter(|(hash, _)| (hash >> 64) as u64 % passes == pass);
                found.extend(mine.map(|(hash, &i)| {
                    [(hash >> 64) as u64, hash as u64, slice.first_row + u64::from(i)]
                }));
                Ok(())
            })?;
            Ok::<_, Error>(found)
        };
        workers.map(pieces.len(), look, |i, found| {
            seen.extend(found);
            (watch.progress)(pieces[i].rows() as u64);
            Ok(())
        })?;
        seen.sort_unstable();
        repeated.extend(
            seen.windows(2).filter(|pair| pair[0][..2] == pair[1][..2]).map(|pair| pair[1][2]),
        );
    }
    repeated.sort_unstable();
    Ok(repeated)
}

/// One hash per row over its values, each preceded by its length or a mark that it is missing.
fn hashes(slice: &SourceSlice, columns: &[usize], rows: &[u32]) -> Vec<u128> {
    let mut hash = Xxh3::new();
    let mut of = |&i: &u32| {
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
        hash.digest128()
    };
    rows.iter().map(&mut of).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::find_in_passes;
    use crate::data::prepare::params::PrepareParams;
    use crate::data::prepare::params::passes;
    use crate::data::prepare::plan::PreparePlan;
    use crate::data::prepare::view::SourceView;
    use crate::data::source::ParquetSource;
    use crate::data::tests::{
        column, columns, integers, keep, label, numbers, parquet, sensitive, texts, workers,
    };
    use crate::exec::pieces::StageWatch;

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
        let params = PrepareParams {
            keep: vec![keep(r#"{"b": {"above": 0}}"#)],
            label: label("a", &["1"]),
            sensitive: vec![sensitive("sex", &["f", "m"])],
            continuous: columns(&["c"]),
            drop_duplicates: Some(columns(&["a", "b", "c", "sex"])),
            ..PrepareParams::default()
        };
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
        let positions: Vec<usize> = params
            .drop_duplicates
            .iter()
            .flatten()
            .map(|c| view.position(c.as_str()).unwrap())
            .collect();
        for (passes, batch_rows, threads) in [(1, 4096, 1), (1, 64, 4), (3, 512, 2)] {
            assert_eq!(
                find_in_passes(
                    &plan,
                    &positions,
                    passes,
                    batch_rows,
                    &workers(threads),
                    StageWatch::SILENT
                )
                .unwrap(),
                expected
            );
        }
        assert_eq!((passes(0), passes(32_000_000), passes(32_000_001)), (1, 1, 2));
        assert!(column("a").as_str() == "a");
    }
}
