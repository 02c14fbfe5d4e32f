//! Records by bucket, any number of them in little memory: what does not fit waits in a temporary
//! file.
//!
//! It sorts all rows by a hash in two steps: rows go into buckets by the upper bits of the hash,
//! and then each bucket is small enough to be sorted in memory, where its records are distributed
//! by the next bits of the hash. Each record is written and read once, so the work grows with the
//! number of rows.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::exec::files;

/// Upper bits of a hash that give its bucket.
const BUCKET_BITS: u32 = 8;

/// Number of buckets.
pub(crate) const BUCKETS: usize = 1 << BUCKET_BITS;

/// The largest number of records in memory.
pub(crate) const MOST_WAITING: usize = 1 << 19;

/// Records of `W` numbers in the order of their buckets; the first number of a record is its hash.
pub(crate) struct BucketedRecords<const W: usize> {
    records: Vec<[u64; W]>,
    /// The end of each bucket's records.
    ends: [usize; BUCKETS],
}

impl<const W: usize> BucketedRecords<W> {
    /// Puts records into buckets; those of a bucket stay in their order.
    pub(crate) fn new(records: &[[u64; W]]) -> Self {
        let mut ends = [0; BUCKETS];
        // Equal hashes share a bucket, and buckets follow each other as hashes do.
        let bucket_of = |record: &[u64; W]| (record[0] >> (64 - BUCKET_BITS)) as usize;
        let records = distributed(records, &mut ends, bucket_of);
        BucketedRecords { records, ends }
    }

    /// The records, bucket after bucket.
    pub(crate) fn all(&self) -> &[[u64; W]] {
        &self.records
    }
}

/// The records in the order of their slots. There are as many slots as `ends`, which are all 0
/// before and then hold where each slot ends; records of a slot keep their order.
fn distributed<const W: usize>(
    records: &[[u64; W]],
    ends: &mut [usize],
    slot: impl Fn(&[u64; W]) -> usize,
) -> Vec<[u64; W]> {
    records.iter().for_each(|record| ends[slot(record)] += 1);
    let mut next = 0;
    ends.iter_mut().for_each(|end| next += std::mem::replace(end, next));
    let mut found = vec![[0; W]; records.len()];
    for record in records {
        let end = &mut ends[slot(record)];
        found[*end] = *record;
        *end += 1;
    }
    found
}

/// Sorts records of one bucket. They are distributed by the bits of the hash below those of the
/// bucket, on average one per slot, so that few are left to compare.
fn sorted<const W: usize>(records: &[[u64; W]]) -> Vec<[u64; W]> {
    let bits = records.len().max(2).ilog2();
    let mut ends = vec![0; 1 << bits];
    let mut found = distributed(records, &mut ends, |record| {
        (record[0] << BUCKET_BITS >> (64 - bits)) as usize
    });
    let mut start = 0;
    for end in ends {
        if end - start > 1 {
            // Two numbers are compared faster than two arrays, and hashes are rarely equal.
            found[start..end].sort_unstable_by(|a, b| a[0].cmp(&b[0]).then_with(|| a.cmp(b)));
        }
        start = end;
    }
    found
}

/// Records of `W` numbers by bucket; the first number of a record is its hash.
pub(crate) struct RecordBuckets<const W: usize> {
    path: PathBuf,
    /// The file of the records that do not fit; none as long as all fit.
    file: Option<Box<dyn Write + Send + Sync>>,
    /// The largest number of records in memory.
    most: usize,
    n_waiting: usize,
    waiting: Vec<Vec<[u64; W]>>,
    /// The offset in bytes and the number of each bucket's records in the file.
    chunks: Vec<Vec<(u64, usize)>>,
    end: u64,
}

impl<const W: usize> RecordBuckets<W> {
    /// Empty. The file is made at `path` once more than `most` records wait, and is removed with
    /// the buckets.
    pub(crate) fn new(path: PathBuf, most: usize) -> Self {
        RecordBuckets {
            path,
            file: None,
            most,
            n_waiting: 0,
            waiting: vec![Vec::new(); BUCKETS],
            chunks: vec![Vec::new(); BUCKETS],
            end: 0,
        }
    }

    /// Adds records.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn append(&mut self, records: &BucketedRecords<W>) -> Result<()> {
        let mut start = 0;
        for (waiting, &end) in self.waiting.iter_mut().zip(&records.ends) {
            waiting.extend_from_slice(&records.records[start..end]);
            start = end;
        }
        self.n_waiting += records.records.len();
        if self.n_waiting > self.most { self.spill() } else { Ok(()) }
    }

    /// Writes all records that wait.
    fn spill(&mut self) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(Box::new(files::create(&self.path)?)),
        };
        let mut bytes = Vec::new();
        for (records, chunks) in self.waiting.iter_mut().zip(&mut self.chunks) {
            if records.is_empty() {
                continue;
            }
            let numbers = records.as_flattened();
            bytes.resize(8 * numbers.len(), 0);
            let places = bytes.as_chunks_mut::<8>().0;
            places
                .iter_mut()
                .zip(numbers)
                .for_each(|(place, number)| *place = number.to_le_bytes());
            file.write_all(&bytes).map_err(|cause| Error::io("write", &self.path, &cause))?;
            chunks.push((self.end, records.len()));
            self.end += bytes.len() as u64;
            records.clear();
        }
        self.n_waiting = 0;
        Ok(())
    }

    /// The records of a bucket, sorted.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn sorted(&self, bucket: usize) -> Result<Vec<[u64; W]>> {
        if self.chunks[bucket].is_empty() {
            return Ok(sorted(&self.waiting[bucket]));
        }
        let fail = |cause: &std::io::Error| Error::io("read", &self.path, cause);
        let mut records = self.waiting[bucket].clone();
        let mut file = files::open(&self.path)?;
        let mut bytes = Vec::new();
        for &(offset, n) in &self.chunks[bucket] {
            bytes.resize(8 * W * n, 0);
            file.seek(SeekFrom::Start(offset)).map_err(|cause| fail(&cause))?;
            file.read_exact(&mut bytes).map_err(|cause| fail(&cause))?;
            let numbers = bytes.as_chunks::<8>().0.chunks_exact(W);
            records.extend(
                numbers.map(|bytes| std::array::from_fn(|place| u64::from_le_bytes(bytes[place]))),
            );
        }
        Ok(sorted(&records))
    }
}

impl<const W: usize> Drop for RecordBuckets<W> {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // If it remains, it is removed together with the failed stage.
            let _ = files::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BUCKETS, BucketedRecords, RecordBuckets};

    #[test]
    fn records_are_sorted_in_memory_and_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.tmp");
        let spread = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let records: Vec<[u64; 2]> = (0..5000).map(|i| [spread(i % 4000), i]).collect();
        let mut expected = records.clone();
        expected.sort_unstable();
        for most in [100, 4999, 5000] {
            let mut buckets = RecordBuckets::new(path.clone(), most);
            for records in records.chunks(7) {
                buckets.append(&BucketedRecords::new(records)).unwrap();
            }
            assert_eq!(path.exists(), most < 5000, "{most}");
            let found: Vec<_> = (0..BUCKETS).flat_map(|b| buckets.sorted(b).unwrap()).collect();
            assert_eq!(found, expected, "{most}");
            drop(buckets);
            assert!(!path.exists());
        }
    }
}
