//! The messages of an Arrow IPC stream that a program of the user's writes.
//!
//! A program may print anything, so the stream is cut into messages here and not by a library:
//! every length is checked before it is used, and memory is bounded by the bytes that arrive.
//! Faults say what the program did, so that the caller can put its name in front.
//! Source: "Serialization and Interprocess Communication" of the Arrow columnar format, version 1.

use std::io::{self, Read};

use arrow::ipc::{Endianness, Message, Schema, root_as_message};

use crate::error::{Fault, Result};

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
    let mut message = Vec::new();
    let read =
        source.take(length.into()).read_to_end(&mut message).map_err(|e| truncated_fault(&e))?;
    if read < length as usize {
        return Err(truncated_fault(&io::ErrorKind::UnexpectedEof.into()).into());
    }
    Ok(if length > 0 { NextMessage::Message(message) } else { NextMessage::EndMark })
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

/// Reads so many bytes and drops them.
pub(crate) fn skip_bytes(source: &mut dyn Read, bytes: u64) -> Result<()> {
    match io::copy(&mut source.take(bytes), &mut io::sink()) {
        Ok(n) if n == bytes => Ok(()),
        Ok(_) => Err(truncated_fault(&io::ErrorKind::UnexpectedEof.into()).into()),
        Err(e) => Err(truncated_fault(&e).into()),
    }
}

/// The schema with which a stream begins.
///
/// # Errors
/// The message is another one, or its numbers are in big-endian order.
pub(crate) fn schema_of_stream<'m>(message: Message<'m>) -> Result<Schema<'m>> {
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
    Ok(schema)
}
