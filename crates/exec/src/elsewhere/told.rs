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

use crate::output::Source;
use crate::ready;

/// What no text has in it: the word is between two of these.
const EDGE: u8 = 0x1e;
const CHUNK: usize = 256 * 1024;
/// Bytes that a pipe holds.
#[cfg(target_os = "linux")]
const PIPE: usize = 1024 * 1024;
/// An exit code is not longer.
const CODE: usize = 3;

tokio::task_local! {
    /// The word of the program that is being started.
    pub(crate) static WORD: String;
}

/// What the shell there has to say after the program, in words of `sh`.
pub(crate) fn saying(word: &str) -> String {
    format!("printf \"\\036{word}:$c\\036\" >&2; ")
}

/// Runs a script in a shell that waits for it, and says how it ended.
pub(crate) fn waiter(script: &str, word: &str) -> String {
    // Some shells tell of a program that was killed, which is not its output.
    format!(
        "trap : INT QUIT; exec 3>&2 2>/dev/null; ( exec 2>&3 3>&-; {script} ); c=$?; exec 2>&3; \
         {}exit $c",
        saying(word)
    )
}

/// The code of a program, once it is told.
pub(crate) type Told = watch::Receiver<Option<i32>>;

/// Listens for the end of a program, in the stream that carries its errors:
/// the last one.
pub(crate) fn overhear(output: &mut Vec<(Source, OwnedFd)>, word: &str) -> io::Result<Told> {
    let (source, stream) = output.pop().ok_or(io::ErrorKind::NotConnected)?;
    let (stream, told) = listen(source, stream, word)?;
    output.push((source, stream));
    Ok(told)
}

/// Waits for the code; none if it will never be told.
pub(crate) async fn code(told: &Told) -> Option<i32> {
    told.clone().wait_for(Option::is_some).await.ok().and_then(|code| *code)
}

/// Takes the word out of a stream. The code comes as soon as it is said, or
/// never.
pub(crate) fn listen(
    source: Source,
    from: OwnedFd,
    word: &str,
) -> io::Result<(OwnedFd, watch::Receiver<Option<i32>>)> {
    let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
    // Only a wish.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(&theirs, PIPE);
    let (sender, receiver) = watch::channel(None);
    let from = [(source, ready::stream(from)?)];
    let to = ready::stream(ours)?;
    let sieve = Sieve::new(word);
    tokio::spawn(async move { pass_on(&from, &to, sieve, &sender).await });
    Ok((theirs, receiver))
}

async fn pass_on(
    from: &[(Source, AsyncFd<OwnedFd>)],
    to: &AsyncFd<OwnedFd>,
    mut sieve: Sieve,
    sender: &watch::Sender<Option<i32>>,
) {
    let mut buffer = vec![0; CHUNK];
    while let (_, Ok(read @ 1..)) = ready::read(from, &mut buffer).await {
        let (text, code) = sieve.pass(buffer.get(..read).unwrap_or_default());
        if ready::write(to, &text).await.is_err() {
            return;
        }
        if code.is_some() {
            sender.send_replace(code);
        }
    }
    let _ = ready::write(to, &sieve.held).await;
}

/// Finds the word, also if it comes in pieces.
struct Sieve {
    sign: Vec<u8>,
    /// What may be its beginning.
    held: Vec<u8>,
}

impl Sieve {
    fn new(word: &str) -> Self {
        let sign = [&[EDGE], word.as_bytes(), b":"].concat();
        Self { sign, held: Vec::new() }
    }

    /// What can be passed on, and the code if the word is complete.
    fn pass(&mut self, piece: &[u8]) -> (Vec<u8>, Option<i32>) {
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(piece);
        let at = memmem::find(&text, &self.sign).or_else(|| self.beginning(&text));
        let Some(at) = at else { return (text, None) };
        let found = text.split_off(at);
        let Some(rest) = found.strip_prefix(self.sign.as_slice()) else {
            self.held = found;
            return (text, None);
        };
        match rest.iter().take(CODE + 1).position(|byte| *byte == EDGE) {
            Some(end) => {
                let (code, after) = rest.split_at(end);
                let code = std::str::from_utf8(code).ok().and_then(|code| code.parse().ok());
                text.extend_from_slice(after.get(1..).unwrap_or_default());
                (text, code)
            }
            None if rest.len() <= CODE => {
                self.held = found;
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
    fn beginning(&self, text: &[u8]) -> Option<usize> {
        let first = text.len().saturating_sub(self.sign.len());
        let end = text.get(first..)?;
        let at = first + memchr::memchr(EDGE, end)?;
        self.sign.starts_with(text.get(at..)?).then_some(at)
    }
}

#[cfg(test)]
#[path = "told_tests.rs"]
mod tests;
