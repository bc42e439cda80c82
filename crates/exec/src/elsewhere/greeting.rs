//! What a login shell prints before the program that it was started for: a
//! greeting in somebody's `.bashrc` is none of the program's output.
//!
//! The first thing that is run there says a word on both streams, and what
//! comes before it is thrown away.

use std::io;
use std::os::fd::OwnedFd;

use memchr::memmem;
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::unix::AsyncFd;

use super::script::fresh_word;
use crate::errand::Done;
use crate::order::Output;
use crate::output::Source;
use crate::ready;

/// What no text has in it: the word is between two of these.
const EDGE: u8 = 0x1e;
const CHUNK: usize = 256 * 1024;
/// Of a greeting no more is kept, for the case that it is all that comes.
const KEPT: usize = 64 * 1024;

/// A word that ends the greeting of one trip.
#[derive(Debug)]
pub(crate) struct Greeting {
    word: String,
    output: Output,
}

impl Greeting {
    pub(crate) fn new(output: Output) -> Self {
        Self { word: fresh_word(), output }
    }

    /// The script with the word in front of it.
    pub(crate) fn before(&self, script: &str) -> String {
        match self.output {
            // A terminal shows everything, and can be wiped.
            Output::Terminal(_) => format!("printf '\\033[H\\033[2J\\033[3J'; {script}"),
            _ => {
                let say = format!("printf '\\036{}\\036'", self.word);
                format!("{say}; {say} >&2; {script}")
            }
        }
    }

    fn sign(&self) -> Vec<u8> {
        [&[EDGE], self.word.as_bytes(), &[EDGE]].concat()
    }

    /// Takes the greeting off what a trip has brought; whether there was one.
    pub(crate) fn take_off(&self, done: &mut Done) -> bool {
        let sign = self.sign();
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

    /// Takes it out of the streams of a program.
    pub(crate) fn take_out(
        &self,
        streams: Vec<(Source, OwnedFd)>,
    ) -> io::Result<Vec<(Source, OwnedFd)>> {
        if matches!(self.output, Output::Terminal(_)) {
            return Ok(streams);
        }
        // Both words come in one stream, and the errors may come later.
        let words = if self.output == Output::Together { 2 } else { 1 };
        let pass = |(source, from): (Source, OwnedFd)| {
            let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
            let (from, to) = ([(source, ready::stream(from)?)], ready::stream(ours)?);
            let sieve = Sieve::new(self.sign(), words);
            tokio::spawn(async move { pass_on(&from, &to, sieve).await });
            Ok((source, theirs))
        };
        streams.into_iter().map(pass).collect()
    }
}

async fn pass_on(from: &[(Source, AsyncFd<OwnedFd>)], to: &AsyncFd<OwnedFd>, mut sieve: Sieve) {
    let mut buffer = vec![0; CHUNK];
    while let (_, Ok(read @ 1..)) = ready::read(from, &mut buffer).await {
        let text = sieve.pass(buffer.get(..read).unwrap_or_default());
        if ready::write(to, &text).await.is_err() {
            return;
        }
    }
    let _ = ready::write(to, &sieve.held).await;
}

/// Drops what comes before the first word, and every word that is expected.
#[derive(Debug)]
struct Sieve {
    sign: Vec<u8>,
    /// Words that are still to come.
    words: usize,
    has_begun: bool,
    /// The greeting so far, then what may be the beginning of a word.
    held: Vec<u8>,
}

impl Sieve {
    fn new(sign: Vec<u8>, words: usize) -> Self {
        Self { sign, words, has_begun: false, held: Vec::new() }
    }

    fn pass(&mut self, piece: &[u8]) -> Vec<u8> {
        if self.words == 0 {
            return piece.to_vec();
        }
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(piece);
        let Some(at) = memmem::find(&text, &self.sign) else {
            self.held = text.split_off(if self.has_begun { self.beginning(&text) } else { 0 });
            self.held.drain(..self.held.len().saturating_sub(KEPT));
            return text;
        };
        let rest = text.split_off(at + self.sign.len());
        text.truncate(if self.has_begun { at } else { 0 });
        self.has_begun = true;
        self.words -= 1;
        text.extend(self.pass(&rest));
        text
    }

    /// Where the end of a text may be the beginning of the sign.
    fn beginning(&self, text: &[u8]) -> usize {
        let first = text.len().saturating_sub(self.sign.len() - 1);
        let starts = |at: &usize| text.get(*at..).is_some_and(|end| self.sign.starts_with(end));
        (first..text.len()).find(starts).unwrap_or(text.len())
    }
}

#[cfg(test)]
#[path = "greeting_tests.rs"]
mod tests;
