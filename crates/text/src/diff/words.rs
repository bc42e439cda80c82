//! The word diff: changed words are marked within their lines.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use similar::DiffOp;
use similar::algorithms::{Capture, myers};

use super::change::{LineBlock, strip_line_end};
use super::hunk::{HunkPart, hunks};
use super::{DiffLayout, DiffWriter, RenderedDiff, TextDiff};

/// Maximum number of words of a change compared one by one; beyond it whole
/// blocks are marked.
const MAX_COMPARED_WORDS: usize = 100_000;
/// Maximum number of bytes between the first and the last changed word that are
/// split into words.
const MAX_COMPARED_BYTES: usize = 1024 * 1024;
/// Characters shown on either side of a change in a line too long to show in
/// full.
const CONTEXT_CHARS: usize = 200;
/// Time limit of the search, for all changes together.
const COMPARE_TIME_LIMIT: Duration = Duration::from_secs(2);

/// Whether words are in both texts, removed, or new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordMark {
    Same,
    Removed,
    New,
}

pub(super) fn render(diff: &TextDiff<'_>, layout: &DiffLayout<'_>) -> RenderedDiff {
    if diff.is_empty() {
        return RenderedDiff::default();
    }
    let mut output = DiffWriter::new(layout);
    let deadline = Instant::now().checked_add(COMPARE_TIME_LIMIT);
    for hunk in hunks(diff, layout) {
        output.push(&hunk.header);
        for part in hunk.parts {
            match part {
                _ if output.is_full() => output.omit_lines(part.line_count()),
                HunkPart::Same(block, _) => {
                    block.lines().for_each(|line| output.push_text(strip_line_end(line).0))
                }
                HunkPart::Change(old, new) => {
                    let mut marked =
                        MarkedText { max_line_chars: layout.line_limit, ..MarkedText::default() };
                    let (old, new) = (with_line_feeds(old), with_line_feeds(new));
                    compare_blocks(&old, &new, deadline, &mut |mark, text| marked.add(mark, text));
                    marked.text.lines().for_each(|line| output.push_text(line));
                }
            }
        }
    }
    output.finish()
}

/// Returns the lines with line feeds as endings. A lone carriage return becomes
/// CRLF, so it is still marked as a carriage return.
fn with_line_feeds(block: LineBlock<'_>) -> Cow<'_, str> {
    if block.terminator == b'\n' {
        return Cow::Borrowed(block.text);
    }
    Cow::Owned(block.text.replace('\r', "\r\n"))
}

/// Splits two blocks into words and reports each run with its mark.
fn compare_blocks(
    old: &str,
    new: &str,
    deadline: Option<Instant>,
    tell: &mut impl FnMut(WordMark, &str),
) {
    let (head, tail) = common_ends(old, new);
    let middle = |text: &'_ str| head..text.len() - tail;
    tell(WordMark::Same, old.get(..head).unwrap_or_default());
    let gone = old.get(middle(old)).unwrap_or_default();
    let added = new.get(middle(new)).unwrap_or_default();
    if gone.is_empty() || added.is_empty() || gone.len() + added.len() > MAX_COMPARED_BYTES {
        tell(WordMark::Removed, gone);
        tell(WordMark::New, added);
    } else {
        compare_words(&split_words(gone), &split_words(added), deadline, tell);
    }
    tell(WordMark::Same, old.get(old.len() - tail..).unwrap_or_default());
}

/// Returns the length in bytes of the common prefix and suffix, in whole words.
fn common_ends(old: &str, new: &str) -> (usize, usize) {
    let same = |(old, new): &(char, char)| old == new;
    let len = |(c, _): (char, char)| c.len_utf8();
    let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '\r';
    let head: usize = old.chars().zip(new.chars()).take_while(same).map(len).sum();
    let begun = old.get(..head).unwrap_or_default();
    let head = begun.trim_end_matches(inside).len();
    let old = old.get(head..).unwrap_or_default();
    let new = new.get(head..).unwrap_or_default();
    let tail: usize = old.chars().rev().zip(new.chars().rev()).take_while(same).map(len).sum();
    let ended = old.get(old.len() - tail..).unwrap_or_default();
    // The line feed may be the second half of a CRLF.
    let tail = ended.trim_start_matches(|c| inside(c) || c == '\n').len();
    (head, tail)
}

fn compare_words(
    old_words: &[&str],
    new_words: &[&str],
    deadline: Option<Instant>,
    tell: &mut impl FnMut(WordMark, &str),
) {
    if old_words.len() + new_words.len() > MAX_COMPARED_WORDS {
        tell(WordMark::Removed, &old_words.concat());
        tell(WordMark::New, &new_words.concat());
        return;
    }
    let mut capture = Capture::new();
    let (old_all, new_all) = (0..old_words.len(), 0..new_words.len());
    let Ok(()) =
        myers::diff_deadline(&mut capture, old_words, old_all, new_words, new_all, deadline);
    let (mut old_done, mut new_done) = (0, 0);
    let mut until = |old_end: usize, new_end: usize, same: usize| {
        let gone = old_words.get(old_done..old_end).unwrap_or_default();
        let added = new_words.get(new_done..new_end).unwrap_or_default();
        tell(WordMark::Removed, &gone.concat());
        tell(WordMark::New, &added.concat());
        let kept = old_words.get(old_end..old_end + same).unwrap_or_default();
        tell(WordMark::Same, &kept.concat());
        (old_done, new_done) = (old_end + same, new_end + same);
    };
    for op in join_runs(capture.into_ops(), old_words) {
        until(op.0, op.1, op.2);
    }
    until(old_words.len(), new_words.len(), 0);
}

/// Returns the runs of equal words. Whitespace between two changes does not
/// separate them.
fn join_runs(ops: Vec<DiffOp>, words: &[&str]) -> Vec<(usize, usize, usize)> {
    let runs = ops.into_iter().filter_map(|op| match op {
        DiffOp::Equal { old_index, new_index, len } => Some((old_index, new_index, len)),
        _ => None,
    });
    let is_weak = |&(start, _, len): &(usize, usize, usize)| {
        let run = words.get(start..start + len).unwrap_or_default();
        run.iter().all(|word| word.trim().is_empty() && !word.contains(['\n', '\r']))
    };
    let mut kept: Vec<(usize, usize, usize)> = Vec::new();
    for run in runs {
        // Merge a run that was reported in two pieces.
        match kept.last_mut() {
            Some((old, new, len)) if (*old + *len, *new + *len) == (run.0, run.1) => *len += run.2,
            _ => kept.push(run),
        }
    }
    let is_inner = |run: &(usize, usize, usize)| run.0 > 0 && run.0 + run.2 < words.len();
    kept.retain(|run| !(is_inner(run) && is_weak(run)));
    kept
}

/// Splits a text into words, whitespace, line endings, and single other
/// characters.
fn split_words(text: &str) -> Vec<&str> {
    #[derive(PartialEq, Clone, Copy)]
    enum WordCharClass {
        Word,
        Space,
        End,
        Other,
    }
    let class = |c: char| match c {
        '\n' | '\r' => WordCharClass::End,
        c if c.is_whitespace() => WordCharClass::Space,
        c if c.is_alphanumeric() || c == '_' => WordCharClass::Word,
        _ => WordCharClass::Other,
    };
    let mut words = Vec::new();
    let mut start = 0;
    let mut last: Option<char> = None;
    for (at, c) in text.char_indices() {
        let goes_on = last.is_some_and(|last| match (class(last), class(c)) {
            (WordCharClass::Word, WordCharClass::Word)
            | (WordCharClass::Space, WordCharClass::Space) => true,
            (WordCharClass::End, WordCharClass::End) => (last, c) == ('\r', '\n'),
            _ => false,
        });
        if !goes_on && at > start {
            words.extend(text.get(start..at));
            start = at;
        }
        last = Some(c);
    }
    words.extend(text.get(start..).filter(|rest| !rest.is_empty()));
    words
}

/// Text with marks, none of which spans a line ending.
#[derive(Debug, Default)]
struct MarkedText {
    text: String,
    /// Marks on the current line so far.
    line: Vec<WordMark>,
    /// Maximum number of characters per line; unchanged text is shortened
    /// first.
    max_line_chars: usize,
}

impl MarkedText {
    fn add(&mut self, mark: WordMark, text: &str) {
        for line in text.split_inclusive('\n') {
            let (body, end) = match line.strip_suffix("\r\n") {
                Some(body) => (body, "\r\n"),
                None => line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n")),
            };
            if mark == WordMark::Same {
                self.push(mark, &self.shorten_unchanged(body), end);
                continue;
            }
            let is_alone = self.line.iter().all(|held| *held == mark);
            // Show the ending of a line if it changed.
            let glyph = match end {
                "\r\n" => "␍↵",
                "\n" if !is_alone => "↵",
                _ => "",
            };
            let shown = format!("{body}{glyph}");
            let breaks = !end.is_empty() && (mark == WordMark::New || is_alone);
            let end = if breaks { "\n" } else { "" };
            let (open, close) = if mark == WordMark::Removed { ("[-", "-]") } else { ("{+", "+}") };
            match shown.is_empty() {
                true if end.is_empty() => {}
                true => self.push(mark, &format!("{open}↵{close}"), end),
                false => self.push(mark, &format!("{open}{shown}{close}"), end),
            }
        }
    }

    fn shorten_unchanged<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let ends = || {
            let (head, _) = text.char_indices().nth(CONTEXT_CHARS)?;
            let (tail, _) = text.char_indices().rev().nth(CONTEXT_CHARS - 1)?;
            Some((text.get(..head)?, text.get(head..tail)?, text.get(tail..)?))
        };
        match ends() {
            Some((head, gap, tail)) if text.len() > self.max_line_chars / 2 => {
                let left_out = gap.chars().count();
                Cow::Owned(format!("{head} … [{left_out} characters] … {tail}"))
            }
            _ => Cow::Borrowed(text),
        }
    }

    fn push(&mut self, mark: WordMark, text: &str, end: &str) {
        self.text.push_str(text);
        if !text.is_empty() {
            self.line.push(mark);
        }
        if !end.is_empty() {
            self.text.push_str(end);
            self.line.clear();
        }
    }
}
