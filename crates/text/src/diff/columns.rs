//! The side-by-side diff: old text on the left, new text on the right.

use super::change::strip_line_end;
use super::hunk::{HunkPart, hunks};
use super::width::char_width;
use super::{DiffLayout, DiffWriter, RenderedDiff, TextDiff};

/// Minimum width of a column.
const MIN_COLUMN_WIDTH: usize = 8;
/// Width of the separator: a sign with a space on either side.
const SEPARATOR_WIDTH: usize = 3;
const TAB_WIDTH: usize = 8;

pub(super) fn render(diff: &TextDiff<'_>, layout: &DiffLayout<'_>, total: usize) -> RenderedDiff {
    if diff.is_empty() {
        return RenderedDiff::default();
    }
    let mut output = DiffWriter::new(layout);
    let column = (total.saturating_sub(SEPARATOR_WIDTH) / 2).max(MIN_COLUMN_WIDTH);
    for hunk in hunks(diff, layout) {
        output.push(&hunk.header);
        for part in hunk.parts {
            match part {
                _ if output.is_full() => output.omit_lines(part.line_count()),
                HunkPart::Same(old, new) => {
                    for (left, right) in old.lines().zip(new.lines()) {
                        push_row(&mut output, Some(left), Some(right), ' ', column);
                    }
                }
                HunkPart::Change(old, new) => {
                    let (mut old, mut new) = (old.lines(), new.lines());
                    loop {
                        let (left, right) = (old.next(), new.next());
                        let sign = match (left, right) {
                            (None, None) => break,
                            (Some(_), Some(_)) => '|',
                            (Some(_), None) => '<',
                            (None, Some(_)) => '>',
                        };
                        push_row(&mut output, left, right, sign, column);
                    }
                }
            }
        }
    }
    output.finish()
}

/// Writes one line of both texts; a line wider than its column wraps.
fn push_row(
    output: &mut DiffWriter,
    left: Option<&str>,
    right: Option<&str>,
    mut sign: char,
    column: usize,
) {
    let differs = sign == '|';
    let pieces =
        |line: Option<&str>| line.map_or_else(Vec::new, |line| wrap_line(line, column, differs));
    let (left, right) = (pieces(left), pieces(right));
    for row in 0..left.len().max(right.len()) {
        let piece = |side: &[(String, usize)]| side.get(row).cloned().unwrap_or_default();
        let ((left, used), (right, _)) = (piece(&left), piece(&right));
        let pad = " ".repeat(column.saturating_sub(used));
        output.push(format!("{left}{pad} {sign} {right}").trim_end());
        sign = ' ';
    }
}

/// Wraps a line at the column width; returns the pieces with their widths.
/// Unusual line endings are shown if `shows_end`.
fn wrap_line(line: &str, column: usize, shows_end: bool) -> Vec<(String, usize)> {
    let (body, is_ended) = strip_line_end(line);
    let mut pieces = Vec::new();
    let (mut piece, mut used) = (String::new(), 0);
    let unended = if is_ended || !shows_end { None } else { Some('∎') };
    for c in body.chars().chain(unended) {
        let (glyph, columns) = match c {
            '\t' => (' ', (TAB_WIDTH - used % TAB_WIDTH).min(column)),
            // Control pictures are in the same order as the control characters.
            c if c < ' ' => (char::from_u32(0x2400 + u32::from(c)).unwrap_or('?'), 1),
            '\u{7F}' => ('\u{2421}', 1),
            c if c.is_control() => ('\u{FFFD}', 1),
            c => (c, char_width(c)),
        };
        if used + columns > column {
            pieces.push((std::mem::take(&mut piece), used));
            used = 0;
        }
        match c {
            '\t' => piece.push_str(&" ".repeat(columns)),
            '\r' if !shows_end && line.ends_with("\r\n") => continue,
            _ => piece.push(glyph),
        }
        used += columns;
    }
    pieces.push((piece, used));
    pieces
}
