//! Reads the head of an HTTP message, with a size limit.

use std::io;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt};

const READ_CHUNK_BYTES: usize = 4096;

/// Why a head could not be read.
#[derive(Debug, Error)]
pub(super) enum HeadError {
    #[error("the connection was closed before the end of the head")]
    Closed,
    #[error("the head exceeds {0} bytes")]
    TooLarge(usize),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads up to and including the empty line, and returns the length of the
/// head. `buffer` may contain the start of it, and may contain more afterwards.
pub(super) async fn read_head(
    reader: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
    max_bytes: usize,
) -> Result<usize, HeadError> {
    let mut searched = 0;
    loop {
        if let Some(end) = head_end(buffer, searched) {
            return Ok(end);
        }
        searched = buffer.len();
        let room = max_bytes.saturating_sub(buffer.len());
        if room == 0 {
            return Err(HeadError::TooLarge(max_bytes));
        }
        buffer.reserve(room.min(READ_CHUNK_BYTES));
        if (&mut *reader).take(room as u64).read_buf(buffer).await? == 0 {
            return Err(HeadError::Closed);
        }
    }
}

/// Returns the end of the empty line. Searched bytes are not searched again,
/// except for the two that may start the empty line; otherwise a client that
/// sends byte by byte would cost time quadratic in the head.
fn head_end(buffer: &[u8], searched: usize) -> Option<usize> {
    let start = searched.saturating_sub(2);
    let tail = buffer.get(start..)?;
    let ends = tail.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    ends.map(|(index, _)| index + 1).find_map(|next| match tail.get(next..)? {
        [b'\n', ..] => Some(start + next + 1),
        [b'\r', b'\n', ..] => Some(start + next + 2),
        _ => None,
    })
}

#[cfg(test)]
#[path = "head_tests.rs"]
mod tests;
