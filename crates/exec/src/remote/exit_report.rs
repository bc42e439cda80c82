//! Reports the exit code of a remote program within its stderr.
//!
//! ssh exits only when no process holds the program's streams any more, and
//! returns 255 both for a program that exited with 255 and for a broken
//! connection. So a waiting remote shell writes the exit code in a marker to
//! stderr, which is removed here.

use std::io;
use std::os::fd::OwnedFd;

use memchr::memmem;
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;

use crate::async_streams;
use crate::output::OutputStream;

/// Delimits the marker; does not occur in text.
const MARKER_DELIMITER: u8 = 0x1e;
const READ_CHUNK_BYTES: usize = 256 * 1024;
/// Pipe capacity.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1024 * 1024;
/// Maximum number of digits of an exit code.
const MAX_CODE_DIGITS: usize = 3;

tokio::task_local! {
    /// The marker of the program that is being started.
    pub(crate) static EXIT_MARKER: String;
}

/// Returns the `sh` code that reports the exit code after the program.
pub(crate) fn report_exit_script(word: &str) -> String {
    format!("printf \"\\036{word}:$c\\036\" >&2; ")
}

/// Wraps a script in a shell that waits for it and reports its exit code.
pub(crate) fn wait_and_report_script(script: &str, word: &str) -> String {
    // Some shells print a message about a killed program, which is not its
    // output.
    format!(
        "trap : INT QUIT; exec 3>&2 2>/dev/null; ( exec 2>&3 3>&-; {script} ); c=$?; exec 2>&3; \
         {}exit $c",
        report_exit_script(word)
    )
}

/// The exit code of a program, once reported.
pub(crate) type ExitCodeReceiver = watch::Receiver<Option<i32>>;

/// Extracts the exit code from the stream that carries stderr: the last one.
pub(crate) fn extract_exit_code(
    output: &mut Vec<(OutputStream, OwnedFd)>,
    word: &str,
) -> io::Result<ExitCodeReceiver> {
    let (source, stream) = output.pop().ok_or(io::ErrorKind::NotConnected)?;
    let (stream, shown) = filter_stream(source, stream, word)?;
    output.push((source, stream));
    Ok(shown)
}

/// Waits for the exit code; `None` if it will never be reported.
pub(crate) async fn wait_for_code(shown: &ExitCodeReceiver) -> Option<i32> {
    shown.clone().wait_for(Option::is_some).await.ok().and_then(|code| *code)
}

/// Removes the marker from a stream. The receiver gets the exit code once it is
/// reported, if ever.
pub(crate) fn filter_stream(
    source: OutputStream,
    from: OwnedFd,
    word: &str,
) -> io::Result<(OwnedFd, watch::Receiver<Option<i32>>)> {
    let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
    // Best effort.
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

/// Finds the marker, even if it arrives in pieces.
struct ExitCodeScanner {
    marker: Vec<u8>,
    /// Bytes that may be the start of the marker.
    pending: Vec<u8>,
}

impl ExitCodeScanner {
    fn new(word: &str) -> Self {
        let sign = [&[MARKER_DELIMITER], word.as_bytes(), b":"].concat();
        Self { marker: sign, pending: Vec::new() }
    }

    /// Returns the bytes to forward, and the exit code if the marker is
    /// complete.
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
            // Not the marker.
            None => {
                text.extend_from_slice(&found);
                (text, None)
            }
        }
    }

    /// Returns where a partial marker at the end of the text starts.
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
