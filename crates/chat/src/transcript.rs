//! Renders the conversation as rows that are printed permanently.

use std::time::{Duration, Instant};

use crate::command::{MessageLevel, TodoLine, TodoState};
use crate::markdown::{BlockSplitter, MarkdownBlock, render};
use crate::row::{
    AnsiColour, BOLD_STYLE, DIM_STYLE, PLAIN_STYLE, StyledRow, StyledSpan, TextStyle,
};
use crate::sanitize::{TextSanitizer, one_line, sanitize};
use crate::wrap::{RowIndent, wrap};

/// Maximum number of rows when echoing a user message.
const MAX_ECHO_ROWS: usize = 20;
/// Amount of reasoning kept for its live row.
const THOUGHT_TAIL_BYTES: usize = 4096;
/// Amount of incomplete text shown.
const LIVE_TAIL_BYTES: usize = 16 * 1024;
/// Maximum number of lines printed of a question's body.
const MAX_QUESTION_LINES: usize = 2_000;

/// Kind of the last output; other kinds are separated by a blank row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastSection {
    Nothing,
    User,
    Text,
    Calls,
    Messages,
    Other,
}

/// A finished call.
#[derive(Debug)]
pub(crate) struct FinishedCall<'a> {
    pub(crate) emoji: &'a str,
    pub(crate) name: &'a str,
    pub(crate) summary: &'a str,
    pub(crate) ok: bool,
    pub(crate) duration: Duration,
    pub(crate) note: &'a str,
}

#[derive(Debug)]
struct OpenThought {
    since: Instant,
    sanitizer: TextSanitizer,
    text: String,
}

/// Collects rows in printing order.
#[derive(Debug)]
pub(crate) struct ChatTranscript {
    columns: usize,
    whole_thoughts: bool,
    sanitizer: TextSanitizer,
    blocks: BlockSplitter,
    last: LastSection,
    thought: Option<OpenThought>,
    rows: Vec<StyledRow>,
}

impl ChatTranscript {
    pub(crate) fn new(columns: usize, whole_thoughts: bool) -> Self {
        Self {
            columns,
            whole_thoughts,
            sanitizer: TextSanitizer::default(),
            blocks: BlockSplitter::default(),
            last: LastSection::Nothing,
            thought: None,
            rows: Vec::new(),
        }
    }

    pub(crate) fn set_columns(&mut self, columns: usize) {
        self.columns = columns;
    }

    /// Takes the rows collected since the last call.
    pub(crate) fn take_rows(&mut self) -> Vec<StyledRow> {
        std::mem::take(&mut self.rows)
    }

    /// Returns the last rows of incomplete text, at most `most`.
    pub(crate) fn unfinished(&self, most: usize) -> Vec<StyledRow> {
        let Some(mut block) = self.blocks.unfinished() else { return Vec::new() };
        if let MarkdownBlock::Markdown { text, .. } | MarkdownBlock::Line(text) = &mut block {
            keep_tail(text, LIVE_TAIL_BYTES);
        }
        let mut rows = Vec::new();
        let gap = matches!(block, MarkdownBlock::Markdown { gap: true, .. });
        if self.wants_gap(LastSection::Text) || (gap && self.last == LastSection::Text) {
            rows.push(StyledRow::default());
        }
        rows.extend(render(&block, self.columns));
        if rows.len() > most {
            rows.drain(..rows.len() - most);
        }
        rows
    }

    /// Whether a blank row separates calls from the output above.
    pub(crate) fn separates_calls(&self) -> bool {
        self.wants_gap(LastSection::Calls)
    }

    /// Whether anything was printed.
    pub(crate) fn has_output(&self) -> bool {
        self.last != LastSection::Nothing
    }

    /// Returns when the current reasoning started, and its last line.
    pub(crate) fn thinking(&self) -> Option<(Instant, String)> {
        let thought = self.thought.as_ref()?;
        let line = thought.text.lines().rev().find(|line| !line.trim().is_empty());
        Some((thought.since, one_line(line.unwrap_or_default())))
    }

    pub(crate) fn text(&mut self, piece: &str) {
        self.end_thought();
        let mut clean = String::new();
        self.sanitizer.push(piece, &mut clean);
        let mut done = Vec::new();
        self.blocks.push(&clean, &mut done);
        self.print(&done);
    }

    pub(crate) fn end_text(&mut self) {
        let mut done = Vec::new();
        self.blocks.finish(&mut done);
        self.sanitizer = TextSanitizer::default();
        self.print(&done);
    }

    fn print(&mut self, blocks: &[MarkdownBlock]) {
        for block in blocks {
            let gap = match block {
                MarkdownBlock::Markdown { gap, .. } | MarkdownBlock::Code { gap, .. } => *gap,
                MarkdownBlock::Line(_) | MarkdownBlock::CodeEnd => false,
            };
            if self.last == LastSection::Text && gap {
                self.rows.push(StyledRow::default());
            }
            self.begin_section(LastSection::Text);
            self.rows.extend(render(block, self.columns));
        }
    }

    pub(crate) fn thought(&mut self, piece: &str, now: Instant) {
        if self.thought.is_none() {
            self.end_text();
        }
        let whole = self.whole_thoughts;
        let thought = self.thought.get_or_insert_with(|| OpenThought {
            since: now,
            sanitizer: TextSanitizer::default(),
            text: String::new(),
        });
        thought.sanitizer.push(piece, &mut thought.text);
        if !whole && thought.text.len() > 2 * THOUGHT_TAIL_BYTES {
            keep_tail(&mut thought.text, THOUGHT_TAIL_BYTES);
        }
    }

    /// Ends the reasoning and prints its summary or full text.
    pub(crate) fn end_thought(&mut self) {
        let Some(thought) = self.thought.take() else { return };
        self.begin_section(LastSection::Other);
        let seconds = format_duration(thought.since.elapsed());
        self.rows.push(StyledRow::new(&format!("✻ thought for {seconds}"), DIM_STYLE));
        if self.whole_thoughts {
            let style = TextStyle { italic: true, ..DIM_STYLE };
            let spans = [StyledSpan { text: thought.text.trim().to_owned(), style }];
            let indent = RowIndent::all(StyledRow::new("  ", PLAIN_STYLE));
            self.rows.extend(wrap(&spans, self.columns, &indent));
        }
    }

    pub(crate) fn call(&mut self, call: &FinishedCall<'_>) {
        self.end_section();
        self.begin_section(LastSection::Calls);
        let (mark, style) =
            if call.ok { ("✓ ", AnsiColour::Green) } else { ("✗ ", AnsiColour::Red) };
        let mut row = StyledRow::new(mark, style.style());
        row.append(&call_head(call.emoji, call.name, call.summary));
        let time = format!("  {}", format_duration(call.duration));
        let mut row = row.clipped(self.columns.saturating_sub(time.chars().count()));
        row.push(&time, DIM_STYLE);
        self.rows.push(row);
        let note = sanitize(call.note);
        if !note.trim().is_empty() {
            let style = if call.ok { DIM_STYLE } else { AnsiColour::Red.style() };
            self.lines(note.trim_end(), "    ", "    ", style);
        }
    }

    pub(crate) fn message(&mut self, weight: MessageLevel, text: &str) {
        self.end_section();
        self.begin_section(LastSection::Messages);
        let text = sanitize(text);
        let text = text.trim_end();
        match weight {
            MessageLevel::Note => self.lines(text, "  ", "  ", DIM_STYLE),
            MessageLevel::Warning => self.lines(text, "! ", "  ", AnsiColour::Yellow.style()),
            MessageLevel::Error => self.lines(text, "✗ ", "  ", AnsiColour::Red.style()),
        }
    }

    pub(crate) fn user(&mut self, text: &str) {
        self.end_section();
        self.rows.extend((self.last == LastSection::User).then(StyledRow::default));
        self.begin_section(LastSection::User);
        let text = sanitize(text);
        let head: String = text.trim_end().chars().take(MAX_ECHO_ROWS * 400).collect();
        let spans = [StyledSpan { text: head, style: BOLD_STYLE }];
        let indent = RowIndent::hanging(StyledRow::new("❯ ", AnsiColour::Blue.bold()));
        let mut rows = wrap(&spans, self.columns, &indent);
        let lines = text.trim_end().lines().count();
        if rows.len() > MAX_ECHO_ROWS {
            rows.truncate(MAX_ECHO_ROWS);
            rows.push(StyledRow::new(&format!("  … {lines} lines in all"), DIM_STYLE));
        }
        self.rows.extend(rows);
    }

    pub(crate) fn todo(&mut self, plan: &[TodoLine]) {
        self.end_section();
        self.begin_section(LastSection::Other);
        for line in plan {
            let (mark, style) = match line.state {
                TodoState::Open => ("☐ ", PLAIN_STYLE),
                TodoState::Doing => ("▶ ", AnsiColour::Cyan.bold()),
                TodoState::Done => ("☑ ", DIM_STYLE),
                TodoState::Dropped => ("☒ ", TextStyle { struck: true, ..DIM_STYLE }),
            };
            let mark_style = TextStyle { struck: false, ..style };
            let spans = [StyledSpan { text: one_line(&line.text), style }];
            let indent =
                RowIndent::hanging(StyledRow::new("  ", PLAIN_STYLE).with(mark, mark_style));
            self.rows.extend(wrap(&spans, self.columns, &indent));
        }
    }

    /// Prints an answered question.
    pub(crate) fn answered(&mut self, title: &str, answer: &str) {
        self.end_section();
        self.begin_section(LastSection::Messages);
        let row = StyledRow::new("? ", AnsiColour::Cyan.bold())
            .with(&one_line(title), PLAIN_STYLE)
            .with(" → ", DIM_STYLE)
            .with(&one_line(answer), BOLD_STYLE);
        self.rows.push(row.clipped(self.columns));
    }

    /// Prints lines verbatim, for example the whole body of a question.
    pub(crate) fn quoted(&mut self, title: &str, body: &[String]) {
        self.end_section();
        self.begin_section(LastSection::Other);
        self.rows
            .push(StyledRow::new("? ", AnsiColour::Cyan.bold()).with(&one_line(title), BOLD_STYLE));
        for line in body.iter().take(MAX_QUESTION_LINES) {
            self.lines(&sanitize(line), "  │ ", "  │ ", PLAIN_STYLE);
        }
        let hidden = body.len().saturating_sub(MAX_QUESTION_LINES);
        if hidden > 0 {
            self.lines(&format!("… {hidden} more lines"), "  │ ", "  │ ", DIM_STYLE);
        }
    }

    /// Ends the current text or reasoning.
    pub(crate) fn end_section(&mut self) {
        self.end_thought();
        self.end_text();
    }

    fn begin_section(&mut self, next: LastSection) {
        if self.wants_gap(next) {
            self.rows.push(StyledRow::default());
        }
        self.last = next;
    }

    fn wants_gap(&self, next: LastSection) -> bool {
        self.last != next && self.last != LastSection::Nothing
    }

    fn lines(&mut self, text: &str, mark: &str, rest: &str, style: TextStyle) {
        for (at, line) in text.split('\n').enumerate() {
            let first = if at == 0 { mark } else { rest };
            let indent = RowIndent {
                first: StyledRow::new(first, style),
                rest: StyledRow::new(rest, style),
            };
            let spans = [StyledSpan { text: line.to_owned(), style }];
            self.rows.extend(wrap(&spans, self.columns, &indent));
        }
    }
}

/// Keeps the last `most` bytes of a text.
fn keep_tail(text: &mut String, most: usize) {
    let mut from = text.len().saturating_sub(most);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text.drain(..from);
}

/// Returns the header of a call's row.
pub(crate) fn call_head(emoji: &str, name: &str, summary: &str) -> StyledRow {
    let mut row = StyledRow::default();
    for (text, style) in [(emoji, PLAIN_STYLE), (name, BOLD_STYLE), (summary, DIM_STYLE)] {
        let text = one_line(text);
        if !text.is_empty() {
            if !row.spans.is_empty() {
                row.push(" ", PLAIN_STYLE);
            }
            row.push(&text, style);
        }
    }
    row
}

/// Formats a duration for display.
pub(crate) fn format_duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 if time.as_millis() < 100 => format!("{} ms", time.as_millis()),
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
