//! Text tables for the terminal.

use crate::terminal::{OutputStyle, TerminalOutput, show_control_chars};

/// Rows of cells; the last column takes the remaining width.
#[derive(Debug, Default)]
pub(crate) struct TextTable {
    rows: Vec<Vec<(String, Option<OutputStyle>)>>,
}

impl TextTable {
    /// Adds a row.
    pub(crate) fn push_row<const N: usize>(&mut self, cells: [(String, Option<OutputStyle>); N]) {
        self.rows.push(cells.into());
    }

    /// Renders the rows as aligned lines, with the last cell truncated to fit.
    pub(crate) fn render(&self, terminal: &TerminalOutput) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|c| {
                self.rows
                    .iter()
                    .filter_map(|r| r.get(c))
                    .map(|(t, _)| display_width(t))
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let room = terminal.width();
        let mut lines = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let mut line = String::new();
            let mut used = 0;
            for (at, (text, style)) in row.iter().enumerate() {
                let last = at + 1 == row.len();
                let shown = if last { clip(text, room.saturating_sub(used)) } else { text.clone() };
                let shown = if terminal.stdout_is_person {
                    show_control_chars(&shown).into_owned()
                } else {
                    shown
                };
                let painted = style.map_or_else(|| shown.clone(), |s| terminal.paint(s, &shown));
                line.push_str(&painted);
                if !last {
                    let target = widths.get(at).copied().unwrap_or(0) + 2;
                    line.push_str(&" ".repeat(target.saturating_sub(display_width(&shown))));
                    used += target;
                }
            }
            lines.push(line.trim_end().to_owned());
        }
        lines.join("\n")
    }
}

/// Returns the terminal columns of a text; emoji and wide scripts take two.
pub(crate) fn display_width(text: &str) -> usize {
    text.chars()
        .map(|c| match u32::from(c) {
            0xFE00..=0xFE0F | 0x200B..=0x200F | 0x0300..=0x036F => 0,
            0x1100..=0x115F
            | 0x2E80..=0xA4CF
            | 0xAC00..=0xD7A3
            | 0xF900..=0xFAFF
            | 0xFE30..=0xFE6F
            | 0xFF00..=0xFF60
            | 0x1F300..=0x1FAFF
            | 0x20000..=0x3FFFD => 2,
            _ => 1,
        })
        .sum()
}

/// Returns the first line of a text, truncated to fit.
pub(crate) fn clip(text: &str, room: usize) -> String {
    let text = text.lines().next().unwrap_or_default();
    if display_width(text) <= room {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += display_width(c.encode_utf8(&mut [0; 4]));
        if used > room {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}
