//! Copies the body of an HTTP message, and nothing after it.

use std::io;

use thiserror::Error;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};

/// Limit for a chunk size line, and for each trailer.
const MAX_LINE_BYTES: usize = 8 * 1024;
const MAX_TRAILERS: usize = 128;

/// How the end of a body is determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyFraming {
    /// After this many bytes.
    Length(u64),
    /// After the last chunk.
    Chunked,
    /// When the connection is closed.
    UntilClose,
}

/// Why copying a body failed.
#[derive(Debug, Error)]
pub(super) enum BodyError {
    #[error("cannot read the body: {0}")]
    Read(io::Error),
    #[error("the body is malformed: {0}")]
    Malformed(&'static str),
    #[error("cannot send the body: {0}")]
    Write(io::Error),
}

/// Copies a body. Chunks are re-encoded without extensions and trailers, so a
/// receiver that parses chunk headers differently cannot find another request
/// in them.
pub(super) async fn copy_body(
    reader: &mut (impl AsyncBufRead + Unpin),
    writer: &mut (impl AsyncWrite + Unpin),
    framing: BodyFraming,
) -> Result<(), BodyError> {
    match framing {
        BodyFraming::Length(length) => copy_exactly(reader, writer, length).await,
        BodyFraming::Chunked => copy_chunks(reader, writer).await,
        BodyFraming::UntilClose => copy_to_end(reader, writer).await,
    }
}

async fn copy_to_end(
    reader: &mut (impl AsyncBufRead + Unpin),
    writer: &mut (impl AsyncWrite + Unpin),
) -> Result<(), BodyError> {
    loop {
        let buffer = reader.fill_buf().await.map_err(BodyError::Read)?;
        if buffer.is_empty() {
            return Ok(());
        }
        writer.write_all(buffer).await.map_err(BodyError::Write)?;
        let copied = buffer.len();
        reader.consume(copied);
    }
}

async fn copy_exactly(
    reader: &mut (impl AsyncBufRead + Unpin),
    writer: &mut (impl AsyncWrite + Unpin),
    mut remaining: u64,
) -> Result<(), BodyError> {
    while remaining > 0 {
        let buffer = reader.fill_buf().await.map_err(BodyError::Read)?;
        if buffer.is_empty() {
            return Err(BodyError::Read(io::ErrorKind::UnexpectedEof.into()));
        }
        let wanted = usize::try_from(remaining).unwrap_or(usize::MAX).min(buffer.len());
        writer.write_all(&buffer[..wanted]).await.map_err(BodyError::Write)?;
        reader.consume(wanted);
        remaining -= wanted as u64;
    }
    Ok(())
}

async fn copy_chunks(
    reader: &mut (impl AsyncBufRead + Unpin),
    writer: &mut (impl AsyncWrite + Unpin),
) -> Result<(), BodyError> {
    loop {
        let size = chunk_size(&read_line(reader).await?)?;
        let line = if size == 0 { "0\r\n\r\n".to_owned() } else { format!("{size:x}\r\n") };
        writer.write_all(line.as_bytes()).await.map_err(BodyError::Write)?;
        if size == 0 {
            return skip_trailers(reader).await;
        }
        copy_exactly(reader, writer, size).await?;
        if !read_line(reader).await?.is_empty() {
            return Err(BodyError::Malformed("chunk data exceeds the chunk size"));
        }
        writer.write_all(b"\r\n").await.map_err(BodyError::Write)?;
    }
}

async fn skip_trailers(reader: &mut (impl AsyncBufRead + Unpin)) -> Result<(), BodyError> {
    for _ in 0..MAX_TRAILERS {
        if read_line(reader).await?.is_empty() {
            return Ok(());
        }
    }
    Err(BodyError::Malformed("too many trailers"))
}

/// Reads a line and strips its CR LF, which is required.
async fn read_line(reader: &mut (impl AsyncBufRead + Unpin)) -> Result<Vec<u8>, BodyError> {
    let mut line = Vec::new();
    loop {
        let buffer = reader.fill_buf().await.map_err(BodyError::Read)?;
        if buffer.is_empty() {
            return Err(BodyError::Read(io::ErrorKind::UnexpectedEof.into()));
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(buffer.len(), |end| end + 1);
        line.extend_from_slice(&buffer[..taken]);
        reader.consume(taken);
        if line.len() > MAX_LINE_BYTES {
            return Err(BodyError::Malformed("a line is too long"));
        }
        if end.is_some() {
            let text = line.strip_suffix(b"\r\n").map(<[u8]>::to_vec);
            return text.ok_or(BodyError::Malformed("a line does not end with CR LF"));
        }
    }
}

/// Parses a chunk size: hexadecimal digits and an ignored extension.
fn chunk_size(line: &[u8]) -> Result<u64, BodyError> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii_end();
    // `from_str_radix` would accept a sign.
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let text = str::from_utf8(digits).unwrap_or_default();
    let size = is_number.then(|| u64::from_str_radix(text, 16).ok()).flatten();
    size.ok_or(BodyError::Malformed("the chunk size is not a number"))
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
