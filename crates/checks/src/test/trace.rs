//! Tracebacks, reduced to the frames of the project.

/// Maximum number of lines kept from the end of a traceback.
const MAX_TRACE_LINES: usize = 40;
/// Maximum number of characters kept.
const MAX_TRACE_CHARS: usize = 4_000;

/// Markers of library and runtime frames. No project directory is likely to
/// have one of these names.
const LIBRARY_PATHS: &[&str] = &[
    "site-packages/",
    "dist-packages/",
    "/lib/python3",
    "node_modules/",
    "node:internal",
    "(node:",
    " node:",
    "/rustc/",
    "<frozen ",
    "/_pytest/",
    "(internal/",
    "new Promise (<anonymous>)",
    "Array.map (<anonymous>)",
    "/usr/local/go/src/",
    "/lib/go-",
    "/src/testing/testing.go:",
    "/src/runtime/panic.go:",
];

/// Whether a line refers to a location outside of the project.
pub(super) fn is_library_line(line: &str) -> bool {
    LIBRARY_PATHS.iter().any(|mark| line.contains(mark))
}

/// Drops the frames of libraries and keeps the end of the rest.
pub(super) fn trim_traceback(text: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut is_foreign = false;
    for line in text.lines() {
        if is_frame(line) {
            is_foreign = self::is_library_line(line);
        } else if !line.starts_with([' ', '\t']) || line.trim().is_empty() {
            is_foreign = false;
        }
        if !is_foreign {
            kept.push(line.trim_end());
        }
    }
    kept.dedup_by(|a, b| a.is_empty() && b.is_empty());
    let text = last_lines(&kept, MAX_TRACE_LINES);
    tail(text.trim_matches('\n'), MAX_TRACE_CHARS).to_owned()
}

fn last_lines(lines: &[&str], most: usize) -> String {
    match lines.len().checked_sub(most) {
        Some(cut) if cut > 0 => {
            let rest = lines.get(cut..).unwrap_or_default().join("\n");
            format!("({cut} lines before)\n{rest}")
        }
        _ => lines.join("\n"),
    }
}

/// Returns the end of a text, starting at a character boundary.
pub(super) fn tail(text: &str, most: usize) -> &str {
    let mut at = text.len().saturating_sub(most);
    while !text.is_char_boundary(at) {
        at += 1;
    }
    text.get(at..).unwrap_or_default()
}

fn is_frame(line: &str) -> bool {
    let bare = line.trim_start();
    bare.starts_with("at ")
        || bare.starts_with("File \"")
        || (parse_location(line).is_some() && line.contains(": in "))
}

/// Parses the location `file:line` in a line, if any.
pub(super) fn parse_location(line: &str) -> Option<(String, u64)> {
    let bare = line.trim();
    if let Some(rest) = bare.strip_prefix("File \"") {
        let (file, rest) = rest.split_once('"')?;
        let number = rest.strip_prefix(", line ")?;
        let digits = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        return Some((file.to_owned(), number.get(..digits)?.parse().ok()?));
    }
    let bare = bare.strip_prefix("at ").unwrap_or(bare);
    let inner = match (bare.rfind('('), bare.strip_suffix(')')) {
        (Some(open), Some(inner)) => inner.get(open + 1..)?,
        _ => bare,
    };
    let inner = inner.strip_prefix("file://").unwrap_or(inner);
    let found = crate::lines::parse_located(inner)?;
    let is_name = !found.file.is_empty() && !found.file.contains(": ");
    is_name.then(|| Some((found.file.to_owned(), *found.numbers.first()?)))?
}

/// Returns the location of the failure in the project: the first frame, or the
/// last if the innermost frame comes last.
pub(super) fn failure_location(text: &str, innermost_last: bool) -> Option<(String, u64)> {
    let mut own = text
        .lines()
        .filter(|line| is_frame(line) && !is_library_line(line))
        .filter_map(parse_location);
    if innermost_last { own.next_back() } else { own.next() }
}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod tests;
