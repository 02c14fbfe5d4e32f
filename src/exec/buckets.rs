//! Records by bucket, of any number in little memory: what does not fit waits in a temporary file.
//!
//! It sorts all rows by a hash in two steps: rows go into buckets by the upper bits of the hash,
//! and then each bucket is small enough to be sorted in memory. Each record is written and read
//! once, so the work grows with the number of rows.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::exec::files;

/// Number of buckets.
pub(crate) const BUCKETS: usize = 256;

/// Records that wait in memory at most.
pub(crate) const MOST_WAITING: usize = 1 << 19;

/// The bucket of a hash: equal hashes share it, and buckets follow each other as hashes do.
#[inline]
pub(crate) fn bucket_of(hash: u64) -> usize {
    (hash >> 56) as usize
}

/// Records of `W` numbers by bucket.
pub(crate) struct RecordBuckets<const W: usize> {
    path: PathBuf,
    /// The file of those that do not fit; none as long as all fit.
    file: Option<Box<dyn Write + Send + Sync>>,
    /// How many may wait in memory.
    most: usize,
    n_waiting: usize,
    waiting: Vec<Vec<[u64; W]>>,
    /// By bucket where its records are in the file: offset in bytes, and number.
    chunks: Vec<Vec<(u64, usize)>>,
    end: u64,
}

impl<const W: usize> RecordBuckets<W> {
    /// Nothing yet. The file is made at `path` once more than `most` records wait, and is gone with
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

    /// Adds a record.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn push(&mut self, bucket: usize, record: [u64; W]) -> Result<()> {
        self.waiting[bucket].push(record);
        self.n_waiting += 1;
        if self.n_waiting > self.most { self.spill() } else { Ok(()) }
    }

    /// Writes all records that wait.
    fn spill(&mut self) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(Box::new(files::create(&self.path)?)),
        };
        let mut bytes = Vec::with_capacity(8 * W * self.n_waiting);
        for (records, chunks) in self.waiting.iter_mut().zip(&mut self.chunks) {
            if records.is_empty() {
                continue;
            }
            chunks.push((self.end + bytes.len() as u64, records.len()));
            let numbers = records.iter().flatten();
            numbers.for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
            records.clear();
        }
        file.write_all(&bytes).map_err(|cause| Error::io("write", &self.path, &cause))?;
        self.end += bytes.len() as u64;
        self.n_waiting = 0;
        Ok(())
    }

    /// The records of a bucket, sorted.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn sorted(&self, bucket: usize) -> Result<Vec<[u64; W]>> {
        let mut records = self.waiting[bucket].clone();
        if !self.chunks[bucket].is_empty() {
            let fail = |cause: &std::io::Error| Error::io("read", &self.path, cause);
            let mut file = files::open(&self.path)?;
            let mut bytes = Vec::new();
            for &(offset, n) in &self.chunks[bucket] {
                bytes.resize(8 * W * n, 0);
                file.seek(SeekFrom::Start(offset)).map_err(|cause| fail(&cause))?;
                file.read_exact(&mut bytes).map_err(|cause| fail(&cause))?;
                let numbers = bytes.as_chunks::<8>().0.chunks_exact(W);
                records.extend(
                    numbers.map(|of| std::array::from_fn(|place| u64::from_le_bytes(of[place]))),
                );
            }
        }
        records.sort_unstable();
        Ok(records)
    }
}

impl<const W: usize> Drop for RecordBuckets<W> {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // Where it stays, the stage that failed is removed with it.
            let _ = files::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BUCKETS, RecordBuckets, bucket_of};

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
            for record in &records {
                buckets.push(bucket_of(record[0]), *record).unwrap();
            }
            assert_eq!(path.exists(), most < 5000, "{most}");
            let found: Vec<_> = (0..BUCKETS).flat_map(|b| buckets.sorted(b).unwrap()).collect();
            assert_eq!(found, expected, "{most}");
            drop(buckets);
            assert!(!path.exists());
        }
    }
}
