//! What was said and done, as rows that are printed for good.

use std::time::{Duration, Instant};

use crate::clean::{Cleaner, clean, one_line};
use crate::markdown::{Block, Blocks, render};
use crate::order::{Todo, TodoState, Weight};
use crate::row::{BOLD, Colour, DIM, PLAIN, Row, Span, Style};
use crate::wrap::{Indent, wrap};

/// Of what the person said, so many rows are shown again.
const LONGEST_ECHO: usize = 20;
/// So much of a thought is held for its live row.
const THOUGHT_TAIL: usize = 4096;
/// Of text that is not complete, so much can be seen.
const LIVE_TAIL: usize = 16 * 1024;
/// Of what is asked about, so many lines are printed.
const LONGEST_BODY: usize = 2_000;

/// What was shown last; other things stand apart from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Nothing,
    User,
    Text,
    Calls,
    Messages,
    Other,
}

/// A call that ended.
#[derive(Debug)]
pub(crate) struct Ended<'a> {
    pub(crate) emoji: &'a str,
    pub(crate) name: &'a str,
    pub(crate) summary: &'a str,
    pub(crate) ok: bool,
    pub(crate) duration: Duration,
    pub(crate) note: &'a str,
}

#[derive(Debug)]
struct Thought {
    since: Instant,
    cleaner: Cleaner,
    text: String,
}

/// Gathers rows in the order in which they are to be printed.
#[derive(Debug)]
pub(crate) struct Transcript {
    columns: usize,
    whole_thoughts: bool,
    cleaner: Cleaner,
    blocks: Blocks,
    last: Last,
    thought: Option<Thought>,
    rows: Vec<Row>,
}

impl Transcript {
    pub(crate) fn new(columns: usize, whole_thoughts: bool) -> Self {
        Self {
            columns,
            whole_thoughts,
            cleaner: Cleaner::default(),
            blocks: Blocks::default(),
            last: Last::Nothing,
            thought: None,
            rows: Vec::new(),
        }
    }

    pub(crate) fn set_columns(&mut self, columns: usize) {
        self.columns = columns;
    }

    /// The rows since this was last asked.
    pub(crate) fn take_rows(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.rows)
    }

    /// Text that is not complete yet: at most so many of its last rows.
    pub(crate) fn unfinished(&self, most: usize) -> Vec<Row> {
        let Some(mut block) = self.blocks.unfinished() else { return Vec::new() };
        if let Block::Markdown { text, .. } | Block::Line(text) = &mut block {
            keep_tail(text, LIVE_TAIL);
        }
        let mut rows = Vec::new();
        let gap = matches!(block, Block::Markdown { gap: true, .. });
        if self.wants_gap(Last::Text) || (gap && self.last == Last::Text) {
            rows.push(Row::default());
        }
        rows.extend(render(&block, self.columns));
        if rows.len() > most {
            rows.drain(..rows.len() - most);
        }
        rows
    }

    /// Whether calls would stand apart from what is above them.
    pub(crate) fn parts_calls(&self) -> bool {
        self.wants_gap(Last::Calls)
    }

    /// Whether anything was shown.
    pub(crate) fn is_begun(&self) -> bool {
        self.last != Last::Nothing
    }

    /// Since when there are thoughts, and their last line.
    pub(crate) fn thinking(&self) -> Option<(Instant, String)> {
        let thought = self.thought.as_ref()?;
        let line = thought.text.lines().rev().find(|line| !line.trim().is_empty());
        Some((thought.since, one_line(line.unwrap_or_default())))
    }

    pub(crate) fn text(&mut self, piece: &str) {
        self.end_thought();
        let mut clean = String::new();
        self.cleaner.push(piece, &mut clean);
        let mut done = Vec::new();
        self.blocks.push(&clean, &mut done);
        self.print(&done);
    }

    pub(crate) fn end_text(&mut self) {
        let mut done = Vec::new();
        self.blocks.finish(&mut done);
        self.cleaner = Cleaner::default();
        self.print(&done);
    }

    fn print(&mut self, blocks: &[Block]) {
        for block in blocks {
            let gap = match block {
                Block::Markdown { gap, .. } | Block::Code { gap, .. } => *gap,
                Block::Line(_) | Block::CodeEnd => false,
            };
            if self.last == Last::Text && gap {
                self.rows.push(Row::default());
            }
            self.begin(Last::Text);
            self.rows.extend(render(block, self.columns));
        }
    }

    pub(crate) fn thought(&mut self, piece: &str, now: Instant) {
        if self.thought.is_none() {
            self.end_text();
        }
        let whole = self.whole_thoughts;
        let thought = self.thought.get_or_insert_with(|| Thought {
            since: now,
            cleaner: Cleaner::default(),
            text: String::new(),
        });
        thought.cleaner.push(piece, &mut thought.text);
        if !whole && thought.text.len() > 2 * THOUGHT_TAIL {
            keep_tail(&mut thought.text, THOUGHT_TAIL);
        }
    }

    /// Thoughts are over: what remains of them is printed.
    pub(crate) fn end_thought(&mut self) {
        let Some(thought) = self.thought.take() else { return };
        self.begin(Last::Other);
        let seconds = brief(thought.since.elapsed());
        self.rows.push(Row::new(&format!("✻ thought for {seconds}"), DIM));
        if self.whole_thoughts {
            let style = Style { italic: true, ..DIM };
            let spans = [Span { text: thought.text.trim().to_owned(), style }];
            let indent = Indent::all(Row::new("  ", PLAIN));
            self.rows.extend(wrap(&spans, self.columns, &indent));
        }
    }

    pub(crate) fn call(&mut self, call: &Ended<'_>) {
        self.end_speech();
        self.begin(Last::Calls);
        let (mark, style) = if call.ok { ("✓ ", Colour::Green) } else { ("✗ ", Colour::Red) };
        let mut row = Row::new(mark, style.style());
        row.append(&call_head(call.emoji, call.name, call.summary));
        let time = format!("  {}", brief(call.duration));
        let mut row = row.clipped(self.columns.saturating_sub(time.chars().count()));
        row.push(&time, DIM);
        self.rows.push(row);
        let note = clean(call.note);
        if !note.trim().is_empty() {
            let style = if call.ok { DIM } else { Colour::Red.style() };
            self.lines(note.trim_end(), "    ", "    ", style);
        }
    }

    pub(crate) fn message(&mut self, weight: Weight, text: &str) {
        self.end_speech();
        self.begin(Last::Messages);
        let text = clean(text);
        let text = text.trim_end();
        match weight {
            Weight::Note => self.lines(text, "  ", "  ", DIM),
            Weight::Warning => self.lines(text, "! ", "  ", Colour::Yellow.style()),
            Weight::Error => self.lines(text, "✗ ", "  ", Colour::Red.style()),
        }
    }

    pub(crate) fn user(&mut self, text: &str) {
        self.end_speech();
        self.rows.extend((self.last == Last::User).then(Row::default));
        self.begin(Last::User);
        let text = clean(text);
        let head: String = text.trim_end().chars().take(LONGEST_ECHO * 400).collect();
        let spans = [Span { text: head, style: BOLD }];
        let indent = Indent::hanging(Row::new("❯ ", Colour::Blue.bold()));
        let mut rows = wrap(&spans, self.columns, &indent);
        let lines = text.trim_end().lines().count();
        if rows.len() > LONGEST_ECHO {
            rows.truncate(LONGEST_ECHO);
            rows.push(Row::new(&format!("  … {lines} lines in all"), DIM));
        }
        self.rows.extend(rows);
    }

    pub(crate) fn todo(&mut self, plan: &[Todo]) {
        self.end_speech();
        self.begin(Last::Other);
        for line in plan {
            let (mark, style) = match line.state {
                TodoState::Open => ("☐ ", PLAIN),
                TodoState::Doing => ("▶ ", Colour::Cyan.bold()),
                TodoState::Done => ("☑ ", DIM),
                TodoState::Dropped => ("☒ ", Style { struck: true, ..DIM }),
            };
            let mark_style = Style { struck: false, ..style };
            let spans = [Span { text: one_line(&line.text), style }];
            let indent = Indent::hanging(Row::new("  ", PLAIN).with(mark, mark_style));
            self.rows.extend(wrap(&spans, self.columns, &indent));
        }
    }

    /// A question that was answered.
    pub(crate) fn answered(&mut self, title: &str, answer: &str) {
        self.end_speech();
        self.begin(Last::Messages);
        let row = Row::new("? ", Colour::Cyan.bold())
            .with(&one_line(title), PLAIN)
            .with(" → ", DIM)
            .with(&one_line(answer), BOLD);
        self.rows.push(row.clipped(self.columns));
    }

    /// Lines as they are, for instance the whole of what is asked about.
    pub(crate) fn quoted(&mut self, title: &str, body: &[String]) {
        self.end_speech();
        self.begin(Last::Other);
        self.rows.push(Row::new("? ", Colour::Cyan.bold()).with(&one_line(title), BOLD));
        for line in body.iter().take(LONGEST_BODY) {
            self.lines(&clean(line), "  │ ", "  │ ", PLAIN);
        }
        let hidden = body.len().saturating_sub(LONGEST_BODY);
        if hidden > 0 {
            self.lines(&format!("… {hidden} more lines"), "  │ ", "  │ ", DIM);
        }
    }

    /// Ends what is being said, so that something else can follow.
    pub(crate) fn end_speech(&mut self) {
        self.end_thought();
        self.end_text();
    }

    fn begin(&mut self, next: Last) {
        if self.wants_gap(next) {
            self.rows.push(Row::default());
        }
        self.last = next;
    }

    fn wants_gap(&self, next: Last) -> bool {
        self.last != next && self.last != Last::Nothing
    }

    fn lines(&mut self, text: &str, mark: &str, rest: &str, style: Style) {
        for (at, line) in text.split('\n').enumerate() {
            let first = if at == 0 { mark } else { rest };
            let indent = Indent { first: Row::new(first, style), rest: Row::new(rest, style) };
            let spans = [Span { text: line.to_owned(), style }];
            self.rows.extend(wrap(&spans, self.columns, &indent));
        }
    }
}

/// Cuts off the beginning of a text that is longer than it may be.
fn keep_tail(text: &mut String, most: usize) {
    let mut from = text.len().saturating_sub(most);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text.drain(..from);
}

/// The beginning of the row of a call.
pub(crate) fn call_head(emoji: &str, name: &str, summary: &str) -> Row {
    let mut row = Row::default();
    for (text, style) in [(emoji, PLAIN), (name, BOLD), (summary, DIM)] {
        let text = one_line(text);
        if !text.is_empty() {
            if !row.spans.is_empty() {
                row.push(" ", PLAIN);
            }
            row.push(&text, style);
        }
    }
    row
}

/// A time that people can read at a glance.
pub(crate) fn brief(time: Duration) -> String {
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
