//! The diff with the old text on the left and the new one on the right.

use super::change::strip;
use super::hunk::{Part, hunks};
use super::width::width;
use super::{Diff, Layout, Output, Rendered};

/// The narrowest column that shows anything.
const NARROW: usize = 8;
/// Between the columns there is a sign with a space on either side.
const BETWEEN: usize = 3;
const TAB: usize = 8;

pub(super) fn render(diff: &Diff<'_>, layout: &Layout<'_>, total: usize) -> Rendered {
    if diff.is_empty() {
        return Rendered::default();
    }
    let mut output = Output::new(layout);
    let column = (total.saturating_sub(BETWEEN) / 2).max(NARROW);
    for hunk in hunks(diff, layout) {
        output.push(&hunk.header);
        for part in hunk.parts {
            match part {
                _ if output.is_full() => output.leave_out(part.lines()),
                Part::Same(old, new) => {
                    for (left, right) in old.lines().zip(new.lines()) {
                        push(&mut output, Some(left), Some(right), ' ', column);
                    }
                }
                Part::Change(old, new) => {
                    let (mut old, mut new) = (old.lines(), new.lines());
                    loop {
                        let (left, right) = (old.next(), new.next());
                        let sign = match (left, right) {
                            (None, None) => break,
                            (Some(_), Some(_)) => '|',
                            (Some(_), None) => '<',
                            (None, Some(_)) => '>',
                        };
                        push(&mut output, left, right, sign, column);
                    }
                }
            }
        }
    }
    output.finish()
}

/// One line of both texts; what is too long for its column goes on below.
fn push(
    output: &mut Output,
    left: Option<&str>,
    right: Option<&str>,
    mut sign: char,
    column: usize,
) {
    let differs = sign == '|';
    let pieces =
        |line: Option<&str>| line.map_or_else(Vec::new, |line| wrap(line, column, differs));
    let (left, right) = (pieces(left), pieces(right));
    for row in 0..left.len().max(right.len()) {
        let piece = |side: &[(String, usize)]| side.get(row).cloned().unwrap_or_default();
        let ((left, used), (right, _)) = (piece(&left), piece(&right));
        let pad = " ".repeat(column.saturating_sub(used));
        output.push(format!("{left}{pad} {sign} {right}").trim_end());
        sign = ' ';
    }
}

/// A line in pieces that fit into a column, each with the columns it takes.
/// Where lines differ their ends are shown, if they are not the usual ones.
fn wrap(line: &str, column: usize, shows_end: bool) -> Vec<(String, usize)> {
    let (body, is_ended) = strip(line);
    let mut pieces = Vec::new();
    let (mut piece, mut used) = (String::new(), 0);
    let unended = if is_ended || !shows_end { None } else { Some('∎') };
    for c in body.chars().chain(unended) {
        let (glyph, columns) = match c {
            '\t' => (' ', (TAB - used % TAB).min(column)),
            // The pictures of the controls are in the same order.
            c if c < ' ' => (char::from_u32(0x2400 + u32::from(c)).unwrap_or('?'), 1),
            '\u{7F}' => ('\u{2421}', 1),
            c if c.is_control() => ('\u{FFFD}', 1),
            c => (c, width(c)),
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
