//! Matches as compact text: each file name once, followed by its lines.

use std::fmt::Write as _;

use hermes_search::{FileLine, LineMatch};

/// Writes a path on a separate line; control characters are escaped.
pub(super) fn write_heading(text: &mut String, path: &str) {
    if path.chars().any(char::is_control) {
        let _ = writeln!(text, "{path:?}");
    } else {
        let _ = writeln!(text, "{path}");
    }
}

/// Writes the lines of a match, `N: text`, and its context, `N- text`. A
/// clipped line has the column of the match, `N:C: text`. `shown` is the last
/// line written of this file; context lines up to it are skipped. `gaps` marks
/// where lines are missing in between.
pub(super) fn write_match(
    text: &mut String,
    found: &LineMatch,
    shown: &mut Option<u64>,
    gaps: bool,
) {
    let before = found.before.iter().map(|line| (line, '-'));
    let own = found.lines.iter().map(|line| (line, ':'));
    let after = found.after.iter().map(|line| (line, '-'));
    for (line, mark) in before.chain(own).chain(after) {
        if mark == '-' && shown.is_some_and(|last| line.number <= last) {
            continue;
        }
        if gaps && shown.is_some_and(|last| line.number > last + 1) {
            text.push_str("  --\n");
        }
        write_line(text, line, mark);
        *shown = Some(shown.map_or(line.number, |last| last.max(line.number)));
    }
}

fn write_line(text: &mut String, line: &FileLine, mark: char) {
    let FileLine { number, column, is_clipped, .. } = *line;
    // Trailing blanks may be part of the match.
    let shown = line.text.trim_end_matches(['\r', '\n']);
    let _ = match (mark, is_clipped && column > 0) {
        (':', true) => writeln!(text, "  {number}:{column}: {shown}"),
        _ => writeln!(text, "  {number}{mark} {shown}"),
    };
}
