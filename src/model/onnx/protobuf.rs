//! The fields of a protobuf message in a file, one after the other, without loading those that are
//! not read.
//!
//! Every length is checked against its message before it is used; what is read into memory is
//! bounded by [`MAX_TAKEN`].
//! Source: "Encoding" of the Protocol Buffers documentation.

use std::io::{BufReader, Read};
use std::path::Path;

use crate::exec::files::{self, File};

/// Bytes of texts and lists that one reading may take.
pub(super) const MAX_TAKEN: u64 = 64 << 20;

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ProtobufValue {
    /// A number of variable length.
    Varint(u64),
    /// Four bytes.
    Fixed([u8; 4]),
    /// Bytes that end at this position, from the present one.
    Bytes(u64),
}

/// A file with a position.
pub(super) struct ProtobufFile {
    file: BufReader<File>,
    at: u64,
    taken: u64,
}

impl ProtobufFile {
    /// A file from its beginning, and where it ends.
    ///
    /// # Errors
    /// It cannot be read; in words.
    pub(super) fn open(path: &Path) -> Result<(Self, u64), String> {
        let file = files::open(path).map_err(|e| e.cause())?;
        let end = file.metadata().map_err(|e| e.to_string())?.len();
        Ok((ProtobufFile { file: BufReader::new(file), at: 0, taken: 0 }, end))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut bytes = [0; N];
        self.file.read_exact(&mut bytes).map_err(|_| "it ends in the middle".to_owned())?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("a number is too long".to_owned())
    }

    fn skip_to(&mut self, end: u64) -> Result<(), String> {
        let n = i64::try_from(end.saturating_sub(self.at)).map_err(|e| e.to_string())?;
        self.at = end;
        self.file.seek_relative(n).map_err(|e| e.to_string())
    }

    /// Calls `each` with the number and the value of every field up to `end`.
    ///
    /// Bytes that `each` does not read are skipped.
    ///
    /// # Errors
    /// The message is damaged, or the error of `each`; in words.
    pub(super) fn fields(
        &mut self,
        end: u64,
        mut each: impl FnMut(&mut Self, u64, ProtobufValue) -> Result<(), String>,
    ) -> Result<(), String> {
        while self.at < end {
            let tag = self.varint()?;
            let number = tag >> 3;
            match tag & 7 {
                0 => {
                    let value = self.varint()?;
                    each(self, number, ProtobufValue::Varint(value))?;
                }
                1 => self.array::<8>().map(|_| ())?,
                5 => {
                    let bytes = self.array()?;
                    each(self, number, ProtobufValue::Fixed(bytes))?;
                }
                2 => {
                    let length = self.varint()?;
                    let field_end = self
                        .at
                        .checked_add(length)
                        .filter(|at| *at <= end)
                        .ok_or("a field is longer than its message")?;
                    each(self, number, ProtobufValue::Bytes(field_end))?;
                    self.skip_to(field_end)?;
                }
                kind => return Err(format!("a field is of the unknown kind {kind}")),
            }
        }
        if self.at == end { Ok(()) } else { Err("a field is longer than its message".to_owned()) }
    }

    /// Counts what a reading takes into memory.
    fn take(&mut self, n: u64) -> Result<usize, String> {
        self.taken = self.taken.saturating_add(n);
        if self.taken > MAX_TAKEN {
            return Err("its names and lists are too long".to_owned());
        }
        usize::try_from(n).map_err(|e| e.to_string())
    }

    /// How many bytes there are up to `end`.
    pub(super) fn left(&self, end: u64) -> u64 {
        end.saturating_sub(self.at)
    }

    /// The bytes up to `end`.
    pub(super) fn bytes(&mut self, end: u64) -> Result<Vec<u8>, String> {
        let n = self.left(end);
        let mut bytes = Vec::with_capacity(self.take(n)?.min(1 << 16));
        let read = (&mut self.file).take(n).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
        self.at += read as u64;
        if read as u64 == n { Ok(bytes) } else { Err("it ends in the middle".to_owned()) }
    }

    /// The bytes as text.
    pub(super) fn text(&mut self, end: u64) -> Result<String, String> {
        String::from_utf8(self.bytes(end)?).map_err(|_| "a name is not valid UTF-8".to_owned())
    }

    /// Adds the whole numbers of a repeated field, packed or one by one.
    #[cfg(feature = "onnx")]
    pub(super) fn integers(
        &mut self,
        value: ProtobufValue,
        into: &mut Vec<i64>,
    ) -> Result<(), String> {
        match value {
            ProtobufValue::Varint(value) => {
                self.take(8)?;
                into.push(value.cast_signed());
            }
            ProtobufValue::Bytes(end) => {
                while self.at < end {
                    self.take(8)?;
                    into.push(self.varint()?.cast_signed());
                }
            }
            ProtobufValue::Fixed(_) => {}
        }
        Ok(())
    }

    /// Adds the floats of a repeated field, packed or one by one.
    #[cfg(feature = "onnx")]
    pub(super) fn floats(
        &mut self,
        value: ProtobufValue,
        into: &mut Vec<f32>,
    ) -> Result<(), String> {
        match value {
            ProtobufValue::Fixed(bytes) => {
                self.take(4)?;
                into.push(f32::from_le_bytes(bytes));
            }
            ProtobufValue::Bytes(end) => {
                while self.at < end {
                    self.take(4)?;
                    into.push(f32::from_le_bytes(self.array()?));
                }
            }
            ProtobufValue::Varint(_) => {}
        }
        Ok(())
    }
}
