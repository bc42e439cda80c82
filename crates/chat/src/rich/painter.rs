//! Draws the live rows at the bottom, and prints above them.
//!
//! It never asks the terminal where its cursor is: all moves are relative to the first live row.

use std::fmt::Write as _;

use super::terminal::TerminalCapabilities;
use crate::row::StyledRow;

/// Between these two a terminal that knows them shows nothing half-drawn.
const BEGIN_FRAME: &str = "\x1b[?2026h\x1b[?25l";
const END_FRAME: &str = "\x1b[?25h\x1b[?2026l";

/// What is to be seen at the bottom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LiveArea {
    pub(crate) rows: Vec<StyledRow>,
    /// The row and the column of the cursor.
    pub(crate) cursor: (usize, usize),
}

/// Knows what is on the screen.
#[derive(Debug)]
pub(crate) struct ScreenPainter {
    columns: usize,
    height: usize,
    capabilities: TerminalCapabilities,
    drawn: LiveArea,
    /// How many rows of the terminal the cursor is below the first live row.
    below: usize,
    /// What is drawn cannot be relied on.
    is_stale: bool,
}

impl ScreenPainter {
    pub(crate) fn new((columns, height): (usize, usize), abilities: TerminalCapabilities) -> Self {
        Self {
            columns,
            height,
            capabilities: abilities,
            drawn: LiveArea::default(),
            below: 0,
            is_stale: true,
        }
    }

    /// The terminal has another size. Most have broken rows that are too long now, and the cursor
    /// went down with them.
    pub(crate) fn resize(&mut self, columns: usize, height: usize) {
        let columns = columns.max(1);
        if self.capabilities.reflows {
            let (row, column) = self.drawn.cursor;
            let above = self.drawn.rows.iter().take(row);
            let broken: usize = above.map(|row| row.width().div_ceil(columns).max(1)).sum();
            self.below = broken + column / columns;
        }
        self.below = self.below.min(height.saturating_sub(1));
        self.columns = columns;
        self.height = height;
        self.is_stale = true;
    }

    /// Somebody else wrote to the terminal: begin anew where the cursor is.
    pub(crate) fn invalidate(&mut self) {
        self.drawn = LiveArea::default();
        self.below = 0;
        self.is_stale = true;
    }

    /// The bytes that print some rows for good and draw the live ones below them.
    pub(crate) fn draw(&mut self, printed: &[StyledRow], live: LiveArea) -> String {
        let live = self.fit(live);
        let mut out = String::new();
        let is_same = printed.is_empty() && !self.is_stale;
        if is_same && live == self.drawn {
            return out;
        }
        out.push_str(BEGIN_FRAME);
        if is_same && live.rows.len() == self.drawn.rows.len() {
            self.draw_changes(&live, &mut out);
        } else {
            self.redraw(printed, &live, &mut out);
        }
        self.place_cursor(&live, &mut out);
        out.push_str(END_FRAME);
        self.drawn = live;
        self.is_stale = false;
        out
    }

    /// The bytes that take the live rows away, after printing what is left.
    pub(crate) fn erase(&mut self, printed: &[StyledRow]) -> String {
        let mut out = String::new();
        self.redraw(printed, &LiveArea::default(), &mut out);
        self.invalidate();
        out
    }

    /// The bytes that clear the whole screen.
    pub(crate) fn clear(&mut self) -> String {
        self.invalidate();
        "\x1b[H\x1b[2J".to_owned()
    }

    /// Rows that fit: the last column stays free, because terminals disagree on what happens
    /// there.
    fn fit(&self, live: LiveArea) -> LiveArea {
        let LiveArea { mut rows, mut cursor } = live;
        let most = self.height.saturating_sub(1).max(1);
        if rows.len() > most {
            let surplus = rows.len() - most;
            rows.drain(..surplus);
            cursor.0 = cursor.0.saturating_sub(surplus);
        }
        let columns = self.columns.saturating_sub(1).max(1);
        let rows: Vec<StyledRow> = rows.into_iter().map(|row| row.clipped(columns)).collect();
        cursor.0 = cursor.0.min(rows.len().saturating_sub(1));
        cursor.1 = cursor.1.min(columns);
        LiveArea { rows, cursor }
    }

    /// Writes the rows that differ.
    fn draw_changes(&mut self, live: &LiveArea, out: &mut String) {
        for (at, row) in live.rows.iter().enumerate() {
            if self.drawn.rows.get(at) != Some(row) {
                self.go_to(at, out);
                out.push('\r');
                row.write(out, self.capabilities.palette);
                out.push_str("\x1b[K");
            }
        }
    }

    fn redraw(&mut self, printed: &[StyledRow], live: &LiveArea, out: &mut String) {
        self.go_to(0, out);
        out.push_str("\r\x1b[J");
        for row in printed {
            row.write(out, self.capabilities.palette);
            out.push_str("\r\n");
        }
        for (at, row) in live.rows.iter().enumerate() {
            if at > 0 {
                out.push_str("\r\n");
            }
            row.write(out, self.capabilities.palette);
        }
        self.below = live.rows.len().saturating_sub(1);
    }

    /// Puts the cursor behind what is before it. That is written again, because only the terminal
    /// knows how wide it draws it.
    fn place_cursor(&mut self, live: &LiveArea, out: &mut String) {
        self.go_to(live.cursor.0, out);
        out.push('\r');
        if let Some(row) = live.rows.get(live.cursor.0) {
            let (before, _) = row.split(live.cursor.1);
            before.write(out, self.capabilities.palette);
            let missing = live.cursor.1.saturating_sub(before.width());
            if missing > 0 {
                let _ = write!(out, "\x1b[{missing}C");
            }
        }
    }

    fn go_to(&mut self, row: usize, out: &mut String) {
        if row < self.below {
            let _ = write!(out, "\x1b[{}A", self.below - row);
        } else if row > self.below {
            let _ = write!(out, "\x1b[{}B", row - self.below);
        }
        self.below = row;
    }
}

#[cfg(test)]
#[path = "painter_tests.rs"]
mod tests;
