//! Rows that an engine passes to a worker: the Arrow stream of one part is copied into a file that
//! is removed when the worker ends. It must agree with what the plan and the first pass say about
//! the part.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::data::exchange::row_answer::{CopyUse, copy_rows, other_columns};
use crate::error::{Error, Fault, Result};
use crate::exec::cancel::CancelFlag;
use crate::exec::files;
use crate::exec::folder::ScratchFolder;
use crate::stage::memory;
use crate::stage::settings::RunSettings;

/// File of the copy in its folder.
const COPY: &str = "rows.parquet";

/// The hint about rows that change between passes.
const ONE_SNAPSHOT: &str = "read one snapshot of the table, sort it by the row id, and cut it in \
                            the same way in every pass; plan again if the table has changed";

/// The rows of a stream, copied.
#[derive(Debug)]
pub(crate) struct StreamCopy {
    folder: ScratchFolder,
    /// Number of rows.
    pub(crate) rows: u64,
    /// SHA-256 of the copy: the same rows give the same bytes, whatever their batches.
    pub(crate) sha256: String,
}

/// Standard input of a worker that may be told to stop.
struct StoppableInput<'a> {
    source: &'a mut dyn Read,
    cancel: &'a CancelFlag,
}

impl Read for StoppableInput<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.cancel.check().map_err(|_| io::Error::other("told to stop"))?;
        self.source.read(buffer)
    }
}

impl StreamCopy {
    /// Copies the rows of a stream that messages call `name`.
    ///
    /// # Errors
    /// It is no Arrow stream, or not a whole one; the disk refuses; the run is to stop.
    pub(crate) fn take(
        source: &mut dyn Read,
        name: &str,
        settings: &RunSettings,
        cancel: &CancelFlag,
    ) -> Result<Self> {
        let folder = ScratchFolder::of_system()?;
        let path = folder.path().join(COPY);
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let allowed = memory::allowed(settings);
        let copied = {
            let to = (path.as_path(), CopyUse::Once);
            copy_rows(&mut StoppableInput { source, cancel }, to, &shown, allowed)
        };
        cancel.check()?;
        let sent = |fault: Fault| {
            let what = format!("the sender of {name} {}", fault.what);
            Fault { what, ..fault }
        };
        let rows = copied.map_err(|error| error.map_fault(sent))?;
        let (sha256, _) = files::hash_unless(&path, &mut || cancel.check())?;
        Ok(StreamCopy { folder, rows, sha256 })
    }

    /// The file.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join(COPY)
    }

    /// The file of a stream that has columns and no rows.
    ///
    /// # Errors
    /// It has rows.
    pub(crate) fn without_rows(&self) -> Result<PathBuf> {
        if self.rows > 0 {
            let what = format!("the stream of the columns has {} rows", self.rows);
            let hint = "pass the schema alone: the workers get the rows";
            return Fault::new("bad-output", what).fail(hint);
        }
        Ok(self.path())
    }

    /// Fails if the copy is not what the plan says about a part: it has other columns than the file
    /// `columns`, another number of rows, or, where the pass `survey` has seen it, other rows.
    pub(crate) fn check(
        &self,
        name: &str,
        (columns, rows): (&Path, u64),
        surveyed: Option<&String>,
    ) -> Result<()> {
        let changed = |what: String| Fault::new("input-changed", what).hint(ONE_SNAPSHOT);
        if let Some(what) = other_columns(columns, &self.path())? {
            return Err(changed(format!("{name}: {what}")).into());
        }
        if self.rows != rows {
            let what = format!("{name} has {} rows, and the plan says {rows}", self.rows);
            return Err(changed(what).into());
        }
        if surveyed.is_some_and(|surveyed| *surveyed != self.sha256) {
            let what = format!("{name} has other rows than it had in the pass `survey`");
            return Err(changed(what).into());
        }
        Ok(())
    }
}

/// The numbers of rows of the parts, one a line.
///
/// # Errors
/// The file cannot be read; a line is no number; there is no part, or more than `most`.
pub(crate) fn part_rows(path: &Path, most: usize) -> Result<Vec<u64>> {
    let hint = "write the number of rows of each part, one a line, in the order of the row ids";
    let fault = |what: String| Error::operator("use", path, what, hint);
    let text = files::read_text(path)?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let read = |(number, line): (usize, &str)| {
        let rows: Option<u64> = line.trim().parse().ok().filter(|&rows: &u64| rows <= 1 << 50);
        rows.ok_or_else(|| {
            fault(format!("line {number}: `{}` is no number of rows", line.escape_debug()))
        })
    };
    let rows: Vec<u64> = lines.map(read).collect::<Result<_>>()?;
    if rows.is_empty() || rows.len() > most {
        return Err(fault(format!("it has {} parts; from 1 to {most} are possible", rows.len())));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
    use arrow::ipc::writer::StreamWriter;

    use super::*;
    use crate::tests::Says;

    fn stream(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    }

    fn whole(values: Vec<i64>) -> ArrayRef {
        Arc::new(Int64Array::from(values))
    }

    #[test]
    fn columns_come_without_rows() {
        let take = |rows: Vec<i64>| {
            let bytes = stream(vec![("id", whole(rows))]);
            let (settings, cancel) = (RunSettings::plain(String::new()), CancelFlag::default());
            StreamCopy::take(&mut &*bytes, "the columns", &settings, &cancel).unwrap()
        };
        let columns = take(vec![]);
        assert_eq!(columns.without_rows().unwrap(), columns.path());
        let told = take(vec![7]).without_rows().unwrap_err().to_string();
        told.says(&["has 1 rows", "schema alone"]);
    }

    #[test]
    fn a_part_is_what_the_plan_says() {
        let cancel = CancelFlag::default();
        let settings = RunSettings::plain(String::new());
        let take = |bytes: Vec<u8>| StreamCopy::take(&mut &*bytes, "part 3", &settings, &cancel);
        let planned = take(stream(vec![("id", whole(vec![])), ("x", whole(vec![]))])).unwrap();
        let part = take(stream(vec![("id", whole(vec![1, 2])), ("x", whole(vec![5, 6]))])).unwrap();
        assert_eq!(part.rows, 2);
        let told = |copy: &StreamCopy, rows: u64, surveyed: &str| {
            let surveyed = Some(surveyed.to_owned());
            let told = copy.check("part 3", (&planned.path(), rows), surveyed.as_ref());
            told.map_or_else(|error| error.to_string(), |()| "sound".to_owned())
        };
        assert_eq!(told(&part, 2, &part.sha256), "sound");
        told(&part, 3, &part.sha256).says(&["has 2 rows, and the plan says 3"]);
        told(&part, 2, "0f").says(&["other rows than it had in the pass `survey`"]);
        let number: ArrayRef = Arc::new(Float64Array::from(vec![5.0, 6.0]));
        let other = take(stream(vec![("id", whole(vec![1, 2])), ("x", number)])).unwrap();
        let said = told(&other, 2, &other.sha256);
        said.says(&["input-changed", "its column `x`"]);
        let fewer = take(stream(vec![("id", whole(vec![1, 2]))])).unwrap();
        told(&fewer, 2, &fewer.sha256).says(&["it has 1 columns"]);
        let nothing = take(b"id,x\n1,5\n".to_vec()).unwrap_err().to_string();
        nothing.says(&["the sender of part 3 did not write an Arrow stream"]);
        cancel.raise(crate::error::StopSignal::Terminate);
        let stopped = take(stream(vec![("id", whole(vec![1]))])).unwrap_err();
        assert!(matches!(stopped, crate::error::Error::Interrupted(_)), "{stopped}");
    }

    #[test]
    fn rows_of_parts_are_numbers_one_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("parts.txt");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            part_rows(&path, 3).map_err(|error| error.to_string())
        };
        assert_eq!(read("120\n0\n\n 7 \n"), Ok(vec![120, 0, 7]));
        for (text, words) in
            [("", "has 0 parts"), ("1\n2\n3\n4\n", "has 4 parts"), ("1\n-2\n", "line 2")]
        {
            let told = read(text).unwrap_err();
            assert!(told.contains(words) && told.contains("one a line"), "{told}");
        }
    }
}
