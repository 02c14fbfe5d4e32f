//! The messages of an Arrow IPC stream that a program of the user's writes, and the rows in them.
//!
//! A program may print anything, so the stream is cut into messages here and not by a library:
//! every length is checked before it is used, and memory is bounded by the bytes that arrive.
//! Faults say what the program did, so that the caller can put its name in front.
//! Source: "Serialization and Interprocess Communication" of the Arrow columnar format, version 1.

use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::buffer::Buffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::convert::try_fb_to_schema;
use arrow::ipc::reader::{read_dictionary, read_record_batch};
use arrow::ipc::{self, Endianness, Message, root_as_message};

use crate::error::{Error, Fault, Result};
use crate::table::decoding::decoded;

/// Largest size of the metadata of a message.
///
/// A column takes a few hundred bytes, plus what libraries add.
const MAX_MESSAGE: u32 = 16 << 20;

/// Bytes of output that is not an Arrow stream that are looked at.
const EXCERPT_BYTES: usize = 64 << 10;

/// Number of letters shown of output that is not an Arrow stream.
const MAX_EXCERPT: usize = 60;

const STREAM_HINT: &str = "write an Arrow IPC stream to standard output \
    (`pyarrow.ipc.new_stream`), and all messages to standard error";

/// What ends a stream as it should be.
pub(crate) const CLOSE_WRITER: &str = "close the writer before the program ends (in Python a \
    `with` block does), so that the end of the stream is written";

/// A fault of the program that wrote the stream.
pub(crate) fn stream_fault(what: impl Into<String>) -> Fault {
    Fault::new("bad-output", what).hint(STREAM_HINT)
}

/// The fault of a stream that ends too early.
pub(crate) fn truncated_fault(cause: &io::Error) -> Fault {
    let why = if cause.kind() == io::ErrorKind::UnexpectedEof {
        "in the middle of a batch".to_owned()
    } else {
        cause.to_string()
    };
    stream_fault(format!("wrote an incomplete stream: {why}")).hint(CLOSE_WRITER)
}

/// Reads until the buffer is full or the source ends.
pub(crate) fn fill(source: &mut dyn Read, buffer: &mut [u8]) -> Result<usize> {
    let mut n = 0;
    while n < buffer.len() {
        match source.read(&mut buffer[n..]) {
            Ok(0) => break,
            Ok(more) => n += more,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(truncated_fault(&e).into()),
        }
    }
    Ok(n)
}

/// Reads this number of bytes.
fn exactly(source: &mut dyn Read, length: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = source.take(length).read_to_end(&mut bytes).map_err(|e| truncated_fault(&e))?;
    match read as u64 == length {
        true => Ok(bytes),
        false => Err(truncated_fault(&io::ErrorKind::UnexpectedEof.into()).into()),
    }
}

/// How output that is not a stream is shown; `None` after the first message.
pub(crate) type ExcerptFormat<'a> = Option<&'a dyn Fn(&[u8]) -> String>;

/// What comes next in a stream.
pub(crate) enum NextMessage {
    /// The metadata of a message.
    Message(Vec<u8>),
    /// The mark of its end.
    EndMark,
    /// Nothing: the output ends without a mark.
    Nothing,
}

/// The metadata of the next message; `None` at the end of the stream, with or without an end mark.
pub(crate) fn next_message(
    source: &mut dyn Read,
    fit: ExcerptFormat<'_>,
) -> Result<Option<Vec<u8>>> {
    Ok(match next_part(source, fit)? {
        NextMessage::Message(message) => Some(message),
        NextMessage::EndMark | NextMessage::Nothing => None,
    })
}

/// The next message, or how the stream ends.
pub(crate) fn next_part(source: &mut dyn Read, fit: ExcerptFormat<'_>) -> Result<NextMessage> {
    let mut head = [0; 8];
    let n = fill(source, &mut head)?;
    let ([c0, c1, c2, c3, length @ ..], mark) = (head, [0xff; 4]);
    if n == 0 {
        return Ok(NextMessage::Nothing);
    }
    if n < 8 || [c0, c1, c2, c3] != mark {
        return Err(not_a_stream_fault(source, &head[..n], fit).into());
    }
    let length = u32::from_le_bytes(length);
    if length > MAX_MESSAGE {
        return Err(stream_fault(format!(
            "wrote a stream with a message of {length} bytes instead of a few hundred"
        ))
        .into());
    }
    match length {
        0 => Ok(NextMessage::EndMark),
        _ => exactly(source, length.into()).map(NextMessage::Message),
    }
}

fn not_a_stream_fault(source: &mut dyn Read, head: &[u8], fit: ExcerptFormat<'_>) -> Fault {
    let Some(fit) = fit else {
        return stream_fault("wrote other data between its batches");
    };
    if head.starts_with(b"ARROW1") {
        return stream_fault("wrote an Arrow file to its standard output, not a stream");
    }
    // More than is shown, so that `fit` gets secret values whole; bytes that are not there yet are
    // not waited for.
    let (mut start, mut n) = (head.to_vec(), head.len());
    start.resize(EXCERPT_BYTES, 0);
    while n < MAX_EXCERPT {
        match source.read(&mut start[n..]) {
            Ok(more) if more > 0 => n += more,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            // Bytes that cannot be read are not shown.
            _ => break,
        }
    }
    let text =
        fit(&start[..n]).chars().take(MAX_EXCERPT).flat_map(char::escape_debug).collect::<String>();
    stream_fault(format!(
        "did not write an Arrow stream to its standard output, which begins with `{text}`"
    ))
}

/// The message that these bytes describe.
pub(crate) fn parsed(bytes: &[u8]) -> Result<Message<'_>> {
    Ok(root_as_message(bytes)
        .map_err(|e| stream_fault(format!("wrote a stream with a damaged message: {e}")))?)
}

/// Reads a number of bytes and drops them.
pub(crate) fn skip_bytes(source: &mut dyn Read, bytes: u64) -> Result<()> {
    match io::copy(&mut source.take(bytes), &mut io::sink()) {
        Ok(n) if n == bytes => Ok(()),
        Ok(_) => Err(truncated_fault(&io::ErrorKind::UnexpectedEof.into()).into()),
        Err(e) => Err(truncated_fault(&e).into()),
    }
}

/// The columns that the schema with which a stream begins describes.
///
/// `fit` makes a text of the beginning of output that is not a stream; `expected` follows the words
/// for output without anything.
///
/// # Errors
/// There is no stream, it begins with another message, or its numbers are in big-endian order.
pub(crate) fn opening(
    source: &mut dyn Read,
    fit: &dyn Fn(&[u8]) -> String,
    expected: &str,
) -> Result<SchemaRef> {
    let Some(first) = next_message(source, Some(fit))? else {
        let what = format!("wrote nothing to its standard output{expected}");
        return Err(stream_fault(what).into());
    };
    let message = parsed(&first)?;
    let Some(schema) = message.header_as_schema() else {
        return Err(stream_fault(format!(
            "wrote a stream that begins with a {:?}, not with a schema",
            message.header_type()
        ))
        .into());
    };
    if schema.endianness() != Endianness::Little {
        return Err(stream_fault("wrote a stream in big-endian order").into());
    }
    let schema = decoded(|| try_fb_to_schema(schema)).unwrap_or_else(undecodable);
    Ok(Arc::new(schema.map_err(damaged)?))
}

/// The most rows of a batch: of columns without values any number takes no bytes.
const MAX_BATCH_ROWS: i64 = 1 << 27;

/// The fault of a batch or of dictionaries with more bytes than allowed.
fn too_large_fault(what: &str, bytes: u64, allowed: u64) -> Fault {
    let what = format!("wrote {what} of {bytes} bytes; the run may use {allowed}");
    stream_fault(what).hint("write smaller batches, or allow more with `--memory`")
}

/// The bytes that the values of a column take where each row has its own copy.
fn copied_bytes(column: &ArrayRef) -> u64 {
    // Views may share their bytes; the lower quarter of one is its length.
    let length = |view: u128| u64::try_from(view & u128::from(u32::MAX)).unwrap_or(u64::MAX);
    if let Some(views) = column.as_string_view_opt() {
        return views.views().iter().fold(0, |sum: u64, view| sum.saturating_add(length(*view)));
    }
    let Some(words) = column.as_any_dictionary_opt() else { return 0 };
    let values = words.values();
    if values.is_empty() {
        return 0;
    }
    let bytes = |of: usize| match values.data_type() {
        DataType::Utf8 => values.as_string::<i32>().value_length(of).unsigned_abs().into(),
        DataType::LargeUtf8 => values.as_string::<i64>().value_length(of).unsigned_abs(),
        DataType::Utf8View => length(values.as_string_view().views()[of]),
        // Numbers, dates and times take at most this many.
        _ => 16,
    };
    words.normalized_keys().into_iter().fold(0_u64, |sum, of| sum.saturating_add(bytes(of)))
}

/// The fault of a message that cannot be decoded, without the word of the library for its kind.
fn damaged(cause: ArrowError) -> Fault {
    let why = match cause {
        ArrowError::IpcError(why)
        | ArrowError::ParseError(why)
        | ArrowError::SchemaError(why)
        | ArrowError::CastError(why)
        | ArrowError::ComputeError(why)
        | ArrowError::NotYetImplemented(why)
        | ArrowError::InvalidArgumentError(why) => why,
        other => other.to_string(),
    };
    stream_fault(format!("wrote a stream with a damaged message: {why}"))
}

/// The message for a panic of the library while it decodes a message.
fn undecodable<T>() -> Result<T, ArrowError> {
    Err(ArrowError::IpcError("its parts do not fit together".to_owned()))
}

/// The batches of a stream: what later messages depend on.
pub(crate) struct StreamedRows {
    schema: SchemaRef,
    plain: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
    /// The bytes of each dictionary.
    dictionary_bytes: HashMap<i64, u64>,
    /// The bytes that a batch and the dictionaries may take.
    allowed: u64,
}

impl StreamedRows {
    /// The reader of a stream with this schema, whose rows get the columns of `plain`. A batch and
    /// the dictionaries may take `allowed` bytes.
    pub(crate) fn new(schema: SchemaRef, plain: SchemaRef, allowed: u64) -> Self {
        let (dictionaries, dictionary_bytes) = (HashMap::new(), HashMap::new());
        StreamedRows { schema, plain, dictionaries, dictionary_bytes, allowed }
    }

    /// The bytes that belong to a message, which says how many they are.
    fn body_of(&mut self, source: &mut dyn Read, message: &Message<'_>) -> Result<Buffer> {
        let length = u64::try_from(message.bodyLength())
            .map_err(|_| stream_fault("wrote a stream with a message of less than no bytes"))?;
        let compressed = |batch: ipc::RecordBatch<'_>| batch.compression().is_some();
        let of_words = message.header_as_dictionary_batch();
        let batch = message.header_as_record_batch();
        if batch.or_else(|| of_words?.data()).is_some_and(compressed) {
            skip_bytes(source, length)?;
            let hint = "write it without compression, which a pipe does not need";
            return stream_fault("wrote a compressed stream").fail(hint);
        }
        let (mut needed, mut what) = (length, "a batch");
        if let Some(words) = of_words {
            let own = self.dictionary_bytes.entry(words.id()).or_default();
            *own = if words.isDelta() { own.saturating_add(length) } else { length };
            needed = self.dictionary_bytes.values().fold(0, |sum, own| sum.saturating_add(*own));
            what = "dictionaries";
        }
        if needed > self.allowed {
            return Err(too_large_fault(what, needed, self.allowed).into());
        }
        exactly(source, length).map(Buffer::from_vec)
    }

    /// The rows of a message, whose bytes follow in the stream; none where it holds a dictionary.
    pub(crate) fn read(
        &mut self,
        source: &mut dyn Read,
        message: &Message<'_>,
    ) -> Result<Option<RecordBatch>> {
        let body = &self.body_of(source, message)?;
        let version = message.version();
        let told = if let Some(batch) = message.header_as_record_batch() {
            if !(0..=MAX_BATCH_ROWS).contains(&batch.length()) {
                let what = format!(
                    "wrote a batch of {} rows; at most {MAX_BATCH_ROWS} are read",
                    batch.length()
                );
                return stream_fault(what).fail("write smaller batches");
            }
            let allowed = self.allowed;
            decoded(|| {
                let (schema, known) = (Arc::clone(&self.schema), &self.dictionaries);
                let batch = read_record_batch(body, batch, schema, known, None, &version)?;
                let copied = batch.columns().iter().map(copied_bytes);
                let copied = copied.fold(0, u64::saturating_add);
                if copied > allowed {
                    let fault = too_large_fault("a batch", copied, allowed);
                    return Err(ArrowError::ExternalError(Box::new(Error::from(fault))));
                }
                let plain = batch.columns().iter().zip(self.plain.fields());
                let plain = plain.map(|(array, field)| cast(array, field.data_type()));
                let plain = plain.collect::<Result<Vec<ArrayRef>, ArrowError>>()?;
                RecordBatch::try_new(Arc::clone(&self.plain), plain).map(Some)
            })
        } else if let Some(batch) = message.header_as_dictionary_batch() {
            let known = &mut self.dictionaries;
            decoded(|| read_dictionary(body, batch, &self.schema, known, &version).map(|()| None))
        } else {
            let kind = message.header_type();
            let what = format!("wrote a message of kind {kind:?} between its batches");
            return Err(stream_fault(what).into());
        };
        told.unwrap_or_else(undecodable).map_err(|cause| match cause {
            ArrowError::ExternalError(cause) => match cause.downcast::<Error>() {
                Ok(refused) => *refused,
                Err(cause) => damaged(ArrowError::ExternalError(cause)).into(),
            },
            cause => damaged(cause).into(),
        })
    }
}
