//! Where the bytes of a Parquet file come from: a file of this machine, or an object of a store.
//!
//! The reader of Parquet asks for pages one after the other, which would be a request each. So for
//! an object the wanted column chunks of one row group are fetched together, several requests at a
//! time, and served from memory; those of the last row groups are kept, because a large row group
//! is read in several pieces. Where they are larger than a thread may hold
//! ([`object::held_per_thread`]), each column is read through a window that moves forward.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use crate::error::{Error, Result};
use crate::exec::files::File;
use crate::exec::object::{self, ObjectFile, OpenedObject};

/// Column chunks with at most this many bytes between them are fetched as one.
const GAP: u64 = 1 << 14;

/// The least bytes of a window.
const WINDOW: u64 = 1 << 16;

/// Bytes of an object in memory, by their range.
type HeldBytes = Vec<(Range<u64>, Bytes)>;

/// The bytes of a Parquet file.
pub(crate) enum ByteSource {
    /// A file of this machine.
    File(File),
    /// An object of a store.
    Object(Arc<ObjectBytes>),
}

/// The bytes of an object: some are in memory, the others are fetched when they are asked for.
pub(crate) struct ObjectBytes {
    file: ObjectFile,
    held: Arc<HeldBytes>,
    /// Ranges that are read from front to back.
    chunks: Vec<Range<u64>>,
    /// The bytes last fetched of each chunk; the last entry is for bytes outside of all chunks.
    windows: Mutex<HeldBytes>,
    /// Bytes of a window.
    window: u64,
    /// Why bytes could not be fetched; the reader of Parquet knows no such errors.
    failure: Mutex<Option<Error>>,
}

/// Bytes of an object from a position on.
struct ObjectReader {
    object: Arc<ObjectBytes>,
    position: u64,
    /// Those in memory.
    there: Bytes,
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A part of held bytes.
fn part(held: &(Range<u64>, Bytes), range: Range<u64>) -> Bytes {
    let at = |position: u64| (position - held.0.start) as usize;
    held.1.slice(at(range.start)..at(range.end))
}

impl ObjectBytes {
    /// An object to read its footer from.
    pub(crate) fn opened(opened: OpenedObject) -> Self {
        let OpenedObject { file, tail } = opened;
        let end = file.bytes();
        let held = vec![(end - tail.len() as u64..end, tail)];
        ObjectBytes::new(file, Arc::new(held), Vec::new())
    }

    /// An object to read column chunks of one row group from.
    ///
    /// # Errors
    /// The object was replaced, or the store does not answer as it should.
    pub(crate) fn of_chunks(file: &ObjectFile, mut chunks: Vec<Range<u64>>) -> Result<Self> {
        chunks.sort_by_key(|chunk| chunk.start);
        let wanted: u64 = chunks.iter().map(|chunk| chunk.end - chunk.start).sum();
        let held = if wanted <= object::held_per_thread() {
            KeptGroup::fetch(file, &chunks)?
        } else {
            Arc::default()
        };
        Ok(ObjectBytes::new(file.clone(), held, chunks))
    }

    fn new(file: ObjectFile, held: Arc<HeldBytes>, chunks: Vec<Range<u64>>) -> Self {
        let windows = Mutex::new(vec![(0..0, Bytes::new()); chunks.len() + 1]);
        let window = (object::held_per_thread() / (chunks.len() as u64 + 1)).max(WINDOW);
        ObjectBytes { file, held, chunks, windows, window, failure: Mutex::new(None) }
    }

    /// The bytes in memory from a position on: at least `least`, fewer only at the end.
    fn from(&self, start: u64, least: u64) -> Result<Bytes> {
        let end = self.file.bytes();
        let stop = start.saturating_add(least).min(end);
        if start >= end {
            return Ok(Bytes::new());
        }
        let has = |held: &&(Range<u64>, Bytes)| held.0.start <= start && stop <= held.0.end;
        if let Some(held) = self.held.iter().find(has) {
            return Ok(part(held, start..held.0.end));
        }
        let of = self.chunks.iter().position(|chunk| chunk.contains(&start));
        let slot = of.unwrap_or(self.chunks.len());
        if let Some(held) = locked(&self.windows).get(slot).filter(has) {
            return Ok(part(held, start..held.0.end));
        }
        let last = of.map_or(end, |of| self.chunks[of].end);
        let range = start..stop.max(last.min(start.saturating_add(self.window)));
        let bytes = self.file.read(vec![range.clone()])?.pop().unwrap_or_default();
        locked(&self.windows)[slot] = (range, bytes.clone());
        Ok(bytes)
    }

    /// As [`Self::from`], with the error kept.
    fn bytes_keeping_error(&self, start: u64, least: u64) -> Result<Bytes, String> {
        self.from(start, least).map_err(|error| {
            let words = error.to_string();
            *locked(&self.failure) = Some(error);
            words
        })
    }
}

impl ByteSource {
    /// Reports why bytes could not be fetched, if that is known.
    pub(crate) fn failures(&self) -> impl Fn() -> Option<Error> + use<> {
        let object = match self {
            ByteSource::File(_) => None,
            ByteSource::Object(object) => Some(Arc::clone(object)),
        };
        move || locked(&object.as_ref()?.failure).take()
    }
}

impl Length for ByteSource {
    fn len(&self) -> u64 {
        match self {
            ByteSource::File(file) => file.len(),
            ByteSource::Object(object) => object.file.bytes(),
        }
    }
}

impl ChunkReader for ByteSource {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Box<dyn Read>, ParquetError> {
        Ok(match self {
            ByteSource::File(file) => Box::new(file.get_read(start)?),
            ByteSource::Object(object) => {
                let (object, there) = (Arc::clone(object), Bytes::new());
                Box::new(ObjectReader { object, position: start, there })
            }
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        match self {
            ByteSource::File(file) => file.get_bytes(start, length),
            ByteSource::Object(object) => {
                let found = object
                    .bytes_keeping_error(start, length as u64)
                    .map_err(ParquetError::General)?;
                match found.len() < length {
                    true => Err(ParquetError::EOF(format!("{length} bytes are not there"))),
                    false => Ok(found.slice(..length)),
                }
            }
        }
    }
}

impl Read for ObjectReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.there.is_empty() && !buffer.is_empty() {
            let bytes = self.object.bytes_keeping_error(self.position, 1);
            self.there = bytes.map_err(io::Error::other)?;
        }
        let n = self.there.len().min(buffer.len());
        buffer[..n].copy_from_slice(&self.there.split_to(n));
        self.position += n as u64;
        Ok(n)
    }
}

/// The wanted column chunks of a row group that was read lately; empty until they are fetched.
struct KeptGroup {
    path: PathBuf,
    chunks: Vec<Range<u64>>,
    held: Arc<Mutex<Option<Arc<HeldBytes>>>>,
}

/// Row groups that were read lately, the last one at the end.
static KEPT: LazyLock<Mutex<VecDeque<KeptGroup>>> = LazyLock::new(Mutex::default);

impl KeptGroup {
    fn bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.end - chunk.start).sum()
    }

    /// Fetches column chunks, or takes those that another piece of the row group fetched.
    fn fetch(file: &ObjectFile, chunks: &[Range<u64>]) -> Result<Arc<HeldBytes>> {
        let path = file.path();
        let place = {
            let mut kept = locked(&KEPT);
            let known = kept.iter().position(|group| group.path == path && group.chunks == chunks);
            let group = known.and_then(|at| kept.remove(at)).unwrap_or_else(|| KeptGroup {
                path,
                chunks: chunks.to_vec(),
                held: Arc::default(),
            });
            let place = Arc::clone(&group.held);
            kept.push_back(group);
            while kept.len() > 1
                && kept.iter().map(KeptGroup::bytes).sum::<u64>() > object::held_per_thread()
            {
                kept.pop_front();
            }
            place
        };
        // The second reader waits for the first.
        let mut place = locked(&place);
        if let Some(held) = &*place {
            return Ok(Arc::clone(held));
        }
        let ranges = merged(chunks);
        let bytes = file.read(ranges.clone())?;
        let held: Arc<HeldBytes> = Arc::new(ranges.into_iter().zip(bytes).collect());
        *place = Some(Arc::clone(&held));
        Ok(held)
    }
}

/// Sorted ranges, neighbours joined.
fn merged(chunks: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for chunk in chunks.iter().filter(|chunk| !chunk.is_empty()) {
        match ranges.last_mut() {
            Some(last) if chunk.start <= last.end.saturating_add(GAP) => {
                last.end = last.end.max(chunk.end);
            }
            _ => ranges.push(chunk.clone()),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::merged;

    #[test]
    fn neighbours_are_fetched_together() {
        assert_eq!(merged(&[]), []);
        assert_eq!(merged(&[4..9, 9..20, 20..20]), from_ref(&(4..20)));
        let far = 20 + super::GAP;
        assert_eq!(merged(&[4..20, far..far + 1]), from_ref(&(4..far + 1)));
        assert_eq!(merged(&[4..20, far + 1..far + 2]), [4..20, far + 1..far + 2]);
    }
}
