//! Finds rows that share a key with an earlier row, among any number of rows.
//!
//! Rows go into buckets by the hash in front of their keys, and each bucket is sorted: beyond half
//! a million rows in a temporary file of 24 bytes a row.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::exec::accumulator::PieceLoop;
use crate::exec::buckets::{BUCKETS, BucketedRecords, RecordBuckets};

/// The key of a row, first a hash, then what makes it exact; and the number of the row.
pub(super) type RowEntry = [u64; 3];

/// By bucket the result of `found` for the rows whose keys earlier rows have: it gets for each its
/// number, and the number of the last row before it with the key.
///
/// `keys` gives the rows of a piece, and how many are done, for the progress. At most a given
/// number wait in memory before the file is made.
///
/// # Errors
/// Those of `keys`, or the disk refuses.
pub(super) fn repeated_rows<T: Send>(
    pieces: PieceLoop<'_>,
    (file, most): (PathBuf, usize),
    keys: impl Fn(usize) -> Result<(u64, Vec<RowEntry>)> + Sync,
    found: impl Fn(&mut dyn Iterator<Item = (u64, u64)>) -> T + Sync,
) -> Result<Vec<T>> {
    let mut rows = RecordBuckets::new(file, most);
    let read = |i: usize| keys(i).map(|(done, keys)| (done, BucketedRecords::new(&keys)));
    pieces.in_order(read, |_, keys| rows.append(&keys))?;
    let look = |bucket: usize| {
        (pieces.watch.check)()?;
        // Equal keys are in the order of their rows.
        let sorted = rows.sorted(bucket)?;
        let pairs = sorted.windows(2).filter(|pair| pair[0][..2] == pair[1][..2]);
        Ok(found(&mut pairs.map(|pair| (pair[1][2], pair[0][2]))))
    };
    let mut all = Vec::with_capacity(BUCKETS);
    pieces.workers.map(BUCKETS, look, |_, of_bucket| {
        all.push(of_bucket);
        Ok::<_, Error>(())
    })?;
    Ok(all)
}
