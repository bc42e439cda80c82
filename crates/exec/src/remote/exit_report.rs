//! The end of a program, in its own words.
//!
//! ssh ends only when nobody holds the program's streams any more, and says
//! the same of a program that ended with 255 and of a connection that broke.
//! So the shell that waits there says how the program ended, in a word among
//! its errors that is taken out here.

use std::io;
use std::os::fd::OwnedFd;

use memchr::memmem;
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;

use crate::async_streams;
use crate::output::OutputStream;

/// What no text has in it: the word is between two of these.
const MARKER_DELIMITER: u8 = 0x1e;
const READ_CHUNK_BYTES: usize = 256 * 1024;
/// Bytes that a pipe holds.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1024 * 1024;
/// An exit code is not longer.
const MAX_CODE_DIGITS: usize = 3;

tokio::task_local! {
    /// The word of the program that is being started.
    pub(crate) static EXIT_MARKER: String;
}

/// What the shell there has to say after the program, in words of `sh`.
pub(crate) fn report_exit_script(word: &str) -> String {
    format!("printf \"\\036{word}:$c\\036\" >&2; ")
}

/// Runs a script in a shell that waits for it, and says how it ended.
pub(crate) fn wait_and_report_script(script: &str, word: &str) -> String {
    // Some shells tell of a program that was killed, which is not its output.
    format!(
        "trap : INT QUIT; exec 3>&2 2>/dev/null; ( exec 2>&3 3>&-; {script} ); c=$?; exec 2>&3; \
         {}exit $c",
        report_exit_script(word)
    )
}

/// The code of a program, once it is told.
pub(crate) type ExitCodeReceiver = watch::Receiver<Option<i32>>;

/// Listens for the end of a program, in the stream that carries its errors:
/// the last one.
pub(crate) fn extract_exit_code(
    output: &mut Vec<(OutputStream, OwnedFd)>,
    word: &str,
) -> io::Result<ExitCodeReceiver> {
    let (source, stream) = output.pop().ok_or(io::ErrorKind::NotConnected)?;
    let (stream, told) = filter_stream(source, stream, word)?;
    output.push((source, stream));
    Ok(told)
}

/// Waits for the code; none if it will never be told.
pub(crate) async fn wait_for_code(told: &ExitCodeReceiver) -> Option<i32> {
    told.clone().wait_for(Option::is_some).await.ok().and_then(|code| *code)
}

/// Takes the word out of a stream. The code comes as soon as it is said, or
/// never.
pub(crate) fn filter_stream(
    source: OutputStream,
    from: OwnedFd,
    word: &str,
) -> io::Result<(OwnedFd, watch::Receiver<Option<i32>>)> {
    let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
    // Only a wish.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(&theirs, PIPE_BYTES);
    let (sender, receiver) = watch::channel(None);
    let from = [(source, async_streams::register_nonblocking(from)?)];
    let to = async_streams::register_nonblocking(ours)?;
    let sieve = ExitCodeScanner::new(word);
    tokio::spawn(async move { forward(&from, &to, sieve, &sender).await });
    Ok((theirs, receiver))
}

async fn forward(
    from: &[(OutputStream, AsyncFd<OwnedFd>)],
    to: &AsyncFd<OwnedFd>,
    mut sieve: ExitCodeScanner,
    sender: &watch::Sender<Option<i32>>,
) {
    let mut buffer = vec![0; READ_CHUNK_BYTES];
    while let (_, Ok(read @ 1..)) = async_streams::read_any(from, &mut buffer).await {
        let (text, code) = sieve.feed(buffer.get(..read).unwrap_or_default());
        if async_streams::write_all(to, &text).await.is_err() {
            return;
        }
        if code.is_some() {
            sender.send_replace(code);
        }
    }
    let _ = async_streams::write_all(to, &sieve.pending).await;
}

/// Finds the word, also if it comes in pieces.
struct ExitCodeScanner {
    marker: Vec<u8>,
    /// What may be its beginning.
    pending: Vec<u8>,
}

impl ExitCodeScanner {
    fn new(word: &str) -> Self {
        let sign = [&[MARKER_DELIMITER], word.as_bytes(), b":"].concat();
        Self { marker: sign, pending: Vec::new() }
    }

    /// What can be passed on, and the code if the word is complete.
    fn feed(&mut self, piece: &[u8]) -> (Vec<u8>, Option<i32>) {
        let mut text = std::mem::take(&mut self.pending);
        text.extend_from_slice(piece);
        let at = memmem::find(&text, &self.marker).or_else(|| self.partial_marker_start(&text));
        let Some(at) = at else { return (text, None) };
        let found = text.split_off(at);
        let Some(rest) = found.strip_prefix(self.marker.as_slice()) else {
            self.pending = found;
            return (text, None);
        };
        match rest.iter().take(MAX_CODE_DIGITS + 1).position(|byte| *byte == MARKER_DELIMITER) {
            Some(end) => {
                let (code, after) = rest.split_at(end);
                let code = std::str::from_utf8(code).ok().and_then(|code| code.parse().ok());
                text.extend_from_slice(after.get(1..).unwrap_or_default());
                (text, code)
            }
            None if rest.len() <= MAX_CODE_DIGITS => {
                self.pending = found;
                (text, None)
            }
            // Not the word after all.
            None => {
                text.extend_from_slice(&found);
                (text, None)
            }
        }
    }

    /// Where the end of a text may be the beginning of the sign.
    fn partial_marker_start(&self, text: &[u8]) -> Option<usize> {
        let first = text.len().saturating_sub(self.marker.len());
        let end = text.get(first..)?;
        let at = first + memchr::memchr(MARKER_DELIMITER, end)?;
        self.marker.starts_with(text.get(at..)?).then_some(at)
    }
}

#[cfg(test)]
#[path = "exit_report_tests.rs"]
mod tests;
