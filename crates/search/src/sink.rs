//! Sinks for the matches in one file.

use std::io;
use std::path::Path;
use std::sync::Arc;

use grep_matcher::Matcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch};

use crate::clip::{MAX_SHOWN_BYTES, clip};
use crate::lines::{FileLine, LineMatch};
use crate::matcher::LineMatcher;

/// Matches per line whose ranges are reported.
const MAX_MARKED_MATCHES: usize = 32;
/// Lines shown of one match.
const MAX_MATCH_LINES: usize = 50;
/// Bytes after a block that lookahead may read.
const LOOKAHEAD_BYTES: usize = 128;

/// Counts matching lines, or individual matches when they may span lines.
#[derive(Debug)]
pub(crate) struct CountSink<'m> {
    matcher: &'m LineMatcher,
    multiline: bool,
    /// Stop at this count.
    most: u64,
    pub(crate) number: u64,
    pub(crate) is_binary: bool,
}

impl<'m> CountSink<'m> {
    pub(crate) fn new(matcher: &'m LineMatcher, multiline: bool, most: u64) -> Self {
        Self { matcher, multiline, most, number: 0, is_binary: false }
    }
}

impl Sink for CountSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let mut number = 1;
        if self.multiline {
            number = 0;
            for_each_match(self.matcher, found, |_, _| {
                number += 1;
                true
            })?;
        }
        self.number += number;
        Ok(self.number < self.most)
    }

    fn finish(&mut self, searcher: &Searcher, end: &SinkFinish) -> io::Result<()> {
        self.is_binary = end.binary_byte_offset().is_some();
        // A binary file not named by the caller has no matches, not even those
        // before its first NUL.
        if self.is_binary && searcher.binary_detection().quit_byte().is_some() {
            self.number = 0;
        }
        Ok(())
    }
}

/// Collects matching lines and their context.
#[derive(Debug)]
pub(crate) struct CollectSink<'m> {
    matcher: &'m LineMatcher,
    multiline: bool,
    path: Arc<Path>,
    most: usize,
    before: Vec<FileLine>,
    pub(crate) matches: Vec<LineMatch>,
    pub(crate) is_binary: bool,
}

impl<'m> CollectSink<'m> {
    pub(crate) fn new(
        matcher: &'m LineMatcher,
        multiline: bool,
        path: Arc<Path>,
        most: u64,
    ) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let (before, matches) = (Vec::new(), Vec::new());
        Self { matcher, multiline, path, most, before, matches, is_binary: false }
    }

    fn push(&mut self, lines: Vec<FileLine>) {
        let before = std::mem::take(&mut self.before);
        let path = Arc::clone(&self.path);
        self.matches.push(LineMatch { path, before, lines, after: Vec::new() });
    }

    fn push_line(&mut self, number: u64, bytes: &[u8]) -> io::Result<()> {
        let line = self.matcher.visible(bytes.strip_suffix(b"\n").unwrap_or(bytes));
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        let mut reach = usize::MAX;
        let found = self.matcher.find_iter(line, |found| {
            if ranges.is_empty() {
                reach = found.start().saturating_add(MAX_SHOWN_BYTES);
            }
            ranges.push((found.start(), found.end()));
            ranges.len() < MAX_MARKED_MATCHES && found.end() < reach
        });
        found.map_err(io::Error::other)?;
        self.push(vec![clip_line(number, line, &ranges)]);
        Ok(())
    }

    /// Adds each match of a block separately, with all the lines it touches.
    fn push_block(&mut self, number: u64, found: &SinkMatch<'_>) -> io::Result<()> {
        let block = found.bytes_range_in_buffer();
        let buffer = found.buffer();
        let mut ranges = Vec::new();
        for_each_match(self.matcher, found, |start, end| {
            ranges.push((start, end));
            ranges.len() < self.most
        })?;
        // Line numbers are counted from one match to the next.
        let (mut at, mut line_number) = (block.start, number);
        for (start, end) in ranges {
            let line_start = line_start(buffer, block.start, start);
            line_number += count_line_feeds(buffer.get(at..line_start).unwrap_or_default());
            at = line_start;
            let mut lines = Vec::new();
            let mut from = line_start;
            while lines.len() < MAX_MATCH_LINES {
                let rest = buffer.get(from..block.end).unwrap_or_default();
                let length = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                let line = rest.get(..length).unwrap_or_default();
                let clamp = |at: usize| at.clamp(from, from + length) - from;
                let range = (clamp(start), clamp(end));
                lines.push(clip_line(line_number + lines.len() as u64, line, &[range]));
                from += length + 1;
                if from >= end || from >= block.end {
                    break;
                }
            }
            self.push(lines);
        }
        Ok(())
    }
}

impl Sink for CollectSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.matches.len() >= self.most {
            return Ok(false);
        }
        let number = found.line_number().unwrap_or(0);
        if self.is_binary {
            // A binary file named by the caller is searched, but not shown.
            let text = "(binary file matches)".to_owned();
            let line = FileLine { number, text, ranges: Vec::new(), column: 0, is_clipped: true };
            self.push(vec![line]);
            return Ok(false);
        }
        if self.multiline {
            self.push_block(number, found)?;
        } else {
            self.push_line(number, found.bytes())?;
        }
        Ok(self.matches.len() < self.most || searcher.after_context() > 0)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let bytes = context.bytes();
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let line = clip_line(context.line_number().unwrap_or(0), line, &[]);
        match (context.kind(), self.matches.last_mut()) {
            (SinkContextKind::After, Some(last)) => last.after.push(line),
            _ => self.before.push(line),
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(true)
    }
}

fn clip_line(number: u64, line: &[u8], ranges: &[(usize, usize)]) -> FileLine {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    clip(number, line, ranges)
}

/// Passes every match of a block to `see`, which returns whether to continue.
fn for_each_match(
    matcher: &LineMatcher,
    found: &SinkMatch<'_>,
    mut see: impl FnMut(usize, usize) -> bool,
) -> io::Result<()> {
    let block = found.bytes_range_in_buffer();
    let buffer = found.buffer();
    let end = buffer.len().min(block.end.saturating_add(LOOKAHEAD_BYTES));
    let haystack = buffer.get(..end).unwrap_or(buffer);
    matcher
        .find_iter_at(haystack, block.start, |found| {
            found.start() < block.end && see(found.start(), found.end().min(block.end))
        })
        .map_err(io::Error::other)
}

fn line_start(buffer: &[u8], least: usize, at: usize) -> usize {
    let above = buffer.get(least..at).unwrap_or_default();
    above.iter().rposition(|byte| *byte == b'\n').map_or(least, |found| least + found + 1)
}

fn count_line_feeds(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}
