//! Summaries of a log that fit a byte budget.

use std::fmt::Write;
use std::ops::ControlFlow;

use memchr::{memchr, memrchr};

use super::clean::{OutputCleaner, clean};
use super::line_index::count_newlines;
use super::log::OutputLog;
use super::runs::StreamTotals;
use super::{LogSummary, OutputStream};

/// Logs up to this size are read completely, to see whether they fit once
/// cleaned: ten megabytes of a progress bar are one line.
const MAX_WHOLE_READ_BYTES: usize = 16 * 1024 * 1024;
/// Bytes to read at each end of a log that does not fit.
const END_READ_BYTES: usize = 1024 * 1024;
/// How far back to look for the start of an escape sequence that would be
/// split.
const MAX_SEQUENCE_BYTES: usize = 64;
const ESC: u8 = 0x1B;

impl OutputLog {
    /// Returns the cleaned output of both streams in order of arrival. If it is
    /// longer than `budget` bytes: two fifths of the budget from the start,
    /// three fifths from the end, in whole lines where possible, and between
    /// them a line with what is omitted and where to find it.
    pub fn summary(&self, budget: usize) -> LogSummary {
        self.summarize(None, budget)
    }

    /// Returns the [`summary`](Self::summary) of one stream.
    pub fn stream_summary(&self, source: OutputStream, budget: usize) -> LogSummary {
        self.summarize(Some(source), budget)
    }

    fn summarize(&self, source: Option<OutputStream>, budget: usize) -> LogSummary {
        let total = self.total(source);
        if let Some(text) = self.clean_whole(source, budget) {
            return LogSummary::new(text, total);
        }
        let beginning = self.beginning(source, total);
        let head = SummaryPart::from_start(&beginning, budget / 5 * 2);
        let mut left = total.bytes - head.raw.len() as u64;
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(END_READ_BYTES);
        let mut ending = self.last_bytes(source, most);
        if self.is_growing() {
            let whole = whole_characters(&ending);
            left -= (ending.len() - whole) as u64;
            ending.truncate(whole);
        }
        let is_cut = (ending.len() as u64) < left;
        let tail = SummaryPart::from_end(&ending, is_cut, budget - budget / 5 * 2);

        let mut summary = LogSummary::new(head.text, total);
        summary.is_blank = summary.text.is_empty() && tail.text.is_empty();
        summary.omitted_bytes = left - tail.raw.len() as u64;
        summary.omitted_lines =
            total.newlines - count_newlines(head.raw) - count_newlines(tail.raw);
        summary.is_cut = summary.omitted_bytes > 0;
        if summary.is_blank && summary.is_cut {
            // The inspected bytes are not shown either.
            (summary.omitted_bytes, summary.omitted_lines) = (total.bytes, total.newlines);
        }
        if summary.is_cut {
            if !summary.text.is_empty() && !summary.text.ends_with('\n') {
                summary.text.push('\n');
            }
            let marker = self.marker(source, &summary);
            summary.text.push_str(&marker);
        }
        summary.text.push_str(&tail.text);
        summary
    }

    /// Returns the whole text, if it fits.
    fn clean_whole(&self, source: Option<OutputStream>, budget: usize) -> Option<String> {
        let mut cleaner = OutputCleaner::new();
        let mut text = String::new();
        let mut read = 0;
        let is_whole = self.visit(source, |bytes| {
            text += &cleaner.feed(bytes);
            read += bytes.len();
            if text.len() > budget || read > MAX_WHOLE_READ_BYTES {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        text += &(if self.is_growing() { cleaner.flush() } else { cleaner.finish() });
        (is_whole && text.len() <= budget).then_some(text)
    }

    fn beginning(&self, source: Option<OutputStream>, total: StreamTotals) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.visit(source, |more| {
            let room = END_READ_BYTES - bytes.len();
            bytes.extend_from_slice(&more[..more.len().min(room)]);
            if bytes.len() == END_READ_BYTES {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        if (bytes.len() as u64) < total.bytes {
            bytes.truncate(whole_characters(&bytes));
        }
        bytes
    }

    /// Returns the line with what is omitted and where to find it.
    fn marker(&self, source: Option<OutputStream>, summary: &LogSummary) -> String {
        let mut text = format!("[... {} bytes", summary.omitted_bytes);
        match summary.omitted_lines {
            0 => {}
            1 => text += " in 1 line",
            lines => _ = write!(text, " in {lines} lines"),
        }
        text += " left out";
        let lost = self.lost_bytes();
        if lost > 0 && source.is_none() {
            _ = write!(text, ", {lost} of them not kept");
        }
        if let Some(path) = self.file() {
            let path = path.display();
            let what = match source {
                _ if lost > 0 => format!("the first {} bytes of the output", self.file_len()),
                None => "the whole output".to_owned(),
                Some(_) => "the whole output of both streams".to_owned(),
            };
            let verb = if lost > 0 { "are" } else { "is" };
            _ = write!(text, "; {what} {verb} in {path}");
        }
        text + " ...]\n"
    }
}

impl LogSummary {
    fn new(text: String, total: StreamTotals) -> Self {
        Self {
            is_blank: text.is_empty(),
            text,
            is_cut: false,
            omitted_bytes: 0,
            omitted_lines: 0,
            total_bytes: total.bytes,
            total_lines: total.lines(),
        }
    }
}

/// One end of a log: its text, and the raw bytes it was made from.
struct SummaryPart<'a> {
    raw: &'a [u8],
    text: String,
}

impl<'a> SummaryPart<'a> {
    /// Takes as many lines from the start of `raw` as fit, or part of a line if
    /// whole lines would use less than half of the room.
    fn from_start(raw: &'a [u8], room: usize) -> Self {
        let mut text = String::new();
        let mut at = 0;
        let mut line: &[u8] = &[];
        while at < raw.len() {
            let end = memchr(b'\n', &raw[at..]).map_or(raw.len(), |found| at + found + 1);
            line = &raw[at..end];
            let cleaned = clean(line);
            if text.len() + cleaned.len() > room {
                break;
            }
            text += &cleaned;
            at = end;
        }
        if at < raw.len() && text.len() < room / 2 {
            let room = room - text.len();
            let piece = &line[..line.len().min(room)];
            let piece = &piece[..whole_characters(piece)];
            let cleaned = clean(piece);
            text += &cleaned[..cleaned.floor_char_boundary(room)];
            at += piece.len();
        }
        Self { raw: &raw[..at], text }
    }

    /// The same from the end of `raw`, which starts within a line if `is_cut`.
    fn from_end(raw: &'a [u8], is_cut: bool, room: usize) -> Self {
        let mut lines = Vec::new();
        let mut used = 0;
        let mut start = raw.len();
        let mut line: &[u8] = &[];
        while start > 0 {
            let body = raw[..start].strip_suffix(b"\n").unwrap_or(&raw[..start]);
            let begin = memrchr(b'\n', body).map_or(0, |found| found + 1);
            line = &raw[begin..start];
            let cleaned = clean(line);
            if used + cleaned.len() > room || (begin == 0 && is_cut) {
                break;
            }
            used += cleaned.len();
            lines.push(cleaned);
            start = begin;
        }
        if start > 0 && used < room / 2 {
            let room = room - used;
            let piece = end_of_line(line, room);
            let cleaned = clean(piece);
            let from = cleaned.ceil_char_boundary(cleaned.len().saturating_sub(room));
            lines.push(cleaned[from..].to_owned());
            start -= piece.len();
        }
        lines.reverse();
        Self { raw: &raw[start..], text: lines.concat() }
    }
}

/// Returns about `room` bytes from the end of a line, which do not start within
/// a character or escape sequence.
fn end_of_line(line: &[u8], room: usize) -> &[u8] {
    let mut from = line.len().saturating_sub(room);
    let is_continued = |byte: &u8| byte & 0xC0 == 0x80;
    from += line[from..].iter().take(3).take_while(|byte| is_continued(byte)).count();
    let near = from.saturating_sub(MAX_SEQUENCE_BYTES);
    if let Some(found) = memrchr(ESC, &line[near..from]) {
        let mut cleaner = OutputCleaner::new();
        cleaner.feed(&line[near + found..from]);
        if cleaner.is_in_sequence() {
            from = near + found;
        }
    }
    &line[from..]
}

/// Returns the number of bytes without an incomplete character at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(4);
    let start = bytes[from..].iter().rposition(|byte| byte & 0xC0 != 0x80);
    let last = start.map(|start| std::str::from_utf8(&bytes[from + start..]));
    match (start, last) {
        (Some(start), Some(Err(error))) if error.error_len().is_none() => from + start,
        _ => bytes.len(),
    }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
