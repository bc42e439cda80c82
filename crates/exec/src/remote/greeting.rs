//! Removes what a login shell prints before the program, such as a greeting
//! from `.bashrc`, from the program's output.
//!
//! The first remote command prints a marker on both streams; everything before
//! it is dropped.

use std::io;
use std::os::fd::OwnedFd;

use hermes_core::ids::random_marker;
use memchr::memmem;
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::unix::AsyncFd;

use crate::async_streams;
use crate::captured_command::CaptureResult;
use crate::command_spec::StdioMode;
use crate::output::OutputStream;

/// Delimits the marker; does not occur in text.
const MARKER_DELIMITER: u8 = 0x1e;
const READ_CHUNK_BYTES: usize = 256 * 1024;
/// Maximum size of a greeting to keep, in case no marker follows.
const MAX_GREETING_BYTES: usize = 64 * 1024;

/// The marker that ends the greeting of one connection.
#[derive(Debug)]
pub(crate) struct GreetingFilter {
    marker: String,
    output: StdioMode,
}

impl GreetingFilter {
    pub(crate) fn new(output: StdioMode) -> Self {
        Self { marker: random_marker(), output }
    }

    /// Prepends the marker command to a script.
    pub(crate) fn prefix_script(&self, script: &str) -> String {
        match self.output {
            // A terminal shows everything, but can be cleared.
            StdioMode::Terminal(_) => format!("printf '\\033[H\\033[2J\\033[3J'; {script}"),
            _ => {
                let say = format!("printf '\\036{}\\036'", self.marker);
                format!("{say}; {say} >&2; {script}")
            }
        }
    }

    fn marker_bytes(&self) -> Vec<u8> {
        [&[MARKER_DELIMITER], self.marker.as_bytes(), &[MARKER_DELIMITER]].concat()
    }

    /// Removes the greeting from a captured result; returns whether there was
    /// one.
    pub(crate) fn strip_from(&self, done: &mut CaptureResult) -> bool {
        let sign = self.marker_bytes();
        let mut greeted = false;
        if let Some(at) = memmem::find(&done.output, &sign) {
            greeted |= at > 0;
            done.output.drain(..at + sign.len());
        }
        if let Some(at) = memmem::find(done.errors.as_bytes(), &sign) {
            greeted |= at > 0;
            done.errors.drain(..at + sign.len());
        }
        greeted
    }

    /// Removes the greeting from the streams of a program.
    pub(crate) fn filter_streams(
        &self,
        streams: Vec<(OutputStream, OwnedFd)>,
    ) -> io::Result<Vec<(OutputStream, OwnedFd)>> {
        if matches!(self.output, StdioMode::Terminal(_)) {
            return Ok(streams);
        }
        // A merged stream has both markers, and that of stderr may arrive
        // later.
        let words = if self.output == StdioMode::Merged { 2 } else { 1 };
        let pass = |(source, from): (OutputStream, OwnedFd)| {
            let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
            let (from, to) = (
                [(source, async_streams::register_nonblocking(from)?)],
                async_streams::register_nonblocking(ours)?,
            );
            let sieve = GreetingStripper::new(self.marker_bytes(), words);
            tokio::spawn(async move { forward(&from, &to, sieve).await });
            Ok((source, theirs))
        };
        streams.into_iter().map(pass).collect()
    }
}

async fn forward(
    from: &[(OutputStream, AsyncFd<OwnedFd>)],
    to: &AsyncFd<OwnedFd>,
    mut sieve: GreetingStripper,
) {
    let mut buffer = vec![0; READ_CHUNK_BYTES];
    while let (_, Ok(read @ 1..)) = async_streams::read_any(from, &mut buffer).await {
        let text = sieve.feed(buffer.get(..read).unwrap_or_default());
        if async_streams::write_all(to, &text).await.is_err() {
            return;
        }
    }
    let _ = async_streams::write_all(to, &sieve.pending).await;
}

/// Drops everything before the first marker, and all expected markers.
#[derive(Debug)]
struct GreetingStripper {
    marker: Vec<u8>,
    /// Markers still expected.
    remaining_markers: usize,
    has_started: bool,
    /// The greeting so far, then bytes that may be the start of a marker.
    pending: Vec<u8>,
}

impl GreetingStripper {
    fn new(sign: Vec<u8>, words: usize) -> Self {
        Self { marker: sign, remaining_markers: words, has_started: false, pending: Vec::new() }
    }

    fn feed(&mut self, piece: &[u8]) -> Vec<u8> {
        if self.remaining_markers == 0 {
            return piece.to_vec();
        }
        let mut text = std::mem::take(&mut self.pending);
        text.extend_from_slice(piece);
        let Some(at) = memmem::find(&text, &self.marker) else {
            self.pending =
                text.split_off(if self.has_started { self.partial_marker_start(&text) } else { 0 });
            self.pending.drain(..self.pending.len().saturating_sub(MAX_GREETING_BYTES));
            return text;
        };
        let rest = text.split_off(at + self.marker.len());
        text.truncate(if self.has_started { at } else { 0 });
        self.has_started = true;
        self.remaining_markers -= 1;
        text.extend(self.feed(&rest));
        text
    }

    /// Returns where a partial marker at the end of the text starts.
    fn partial_marker_start(&self, text: &[u8]) -> usize {
        let first = text.len().saturating_sub(self.marker.len() - 1);
        let starts = |at: &usize| text.get(*at..).is_some_and(|end| self.marker.starts_with(end));
        (first..text.len()).find(starts).unwrap_or(text.len())
    }
}

#[cfg(test)]
#[path = "greeting_tests.rs"]
mod tests;
