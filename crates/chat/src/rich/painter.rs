//! Draws the live rows at the bottom and prints finished rows above them.
//!
//! It never queries the cursor position: all moves are relative to the first
//! live row.

use std::fmt::Write as _;

use super::terminal::TerminalCapabilities;
use crate::row::StyledRow;

/// Synchronized update: supporting terminals show no partial frame in between.
const BEGIN_FRAME: &str = "\x1b[?2026h\x1b[?25l";
const END_FRAME: &str = "\x1b[?25h\x1b[?2026l";

/// The live rows at the bottom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LiveArea {
    pub(crate) rows: Vec<StyledRow>,
    /// Row and column of the cursor.
    pub(crate) cursor: (usize, usize),
}

/// Tracks what is on the screen and draws changes.
#[derive(Debug)]
pub(crate) struct ScreenPainter {
    columns: usize,
    height: usize,
    capabilities: TerminalCapabilities,
    drawn: LiveArea,
    /// Number of terminal rows from the first live row down to the cursor.
    below: usize,
    /// Whether the drawn state is no longer reliable.
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

    /// Handles a new terminal size. Most terminals reflow rows that are now too
    /// long, which moves the cursor down.
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

    /// Starts over at the cursor position after other output to the terminal.
    pub(crate) fn invalidate(&mut self) {
        self.drawn = LiveArea::default();
        self.below = 0;
        self.is_stale = true;
    }

    /// Returns the bytes that print finished rows and draw the live rows below
    /// them.
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

    /// Returns the bytes that print the remaining rows and erase the live ones.
    pub(crate) fn erase(&mut self, printed: &[StyledRow]) -> String {
        let mut out = String::new();
        self.redraw(printed, &LiveArea::default(), &mut out);
        self.invalidate();
        out
    }

    /// Returns the bytes that clear the whole screen.
    pub(crate) fn clear(&mut self) -> String {
        self.invalidate();
        "\x1b[H\x1b[2J".to_owned()
    }

    /// Clips rows to the screen. The last column stays free, because terminals
    /// disagree on how to wrap there.
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

    /// Rewrites the rows that changed.
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

    /// Places the cursor by rewriting the text before it, because only the
    /// terminal knows how wide it draws that text.
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
