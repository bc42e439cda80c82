//! Parses the console output of TAP and jest, for commands that produce no
//! report.

use super::case::{TestCase, TestOutcome};
use super::trace;

/// Returns all TAP tests in a text, named with their parents; `None` if the
/// text contains no TAP diagnostics.
pub(super) fn parse_tap(text: &str) -> Option<Vec<TestCase>> {
    if !text.lines().any(|line| line.trim() == "---") {
        return None;
    }
    // Subtests are reported before their parent.
    let mut shown: Vec<(usize, TestCase)> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let bare = line.trim_start();
        let depth = line.len() - bare.len();
        let Some(mut case) = parse_tap_line(bare) else { continue };
        if lines.next_if(|next| next.trim() == "---").is_some() {
            let inner = std::iter::from_fn(|| lines.next_if(|next| next.trim() != "..."));
            apply_diagnostics(&mut case, &inner.collect::<Vec<_>>(), depth + 2);
        }
        let begin = shown.iter().rposition(|(of, _)| *of <= depth).map_or(0, |at| at + 1);
        if begin == shown.len() {
            shown.push((depth, case));
            continue;
        }
        for (of, inner) in shown.iter_mut().skip(begin) {
            inner.name = format!("{} > {}", case.name, inner.name);
            *of = depth;
        }
    }
    Some(shown.into_iter().map(|(_, case)| case).collect())
}

/// `not ok 2 - name # SKIP why`
pub(super) fn parse_tap_line(line: &str) -> Option<TestCase> {
    let (outcome, rest) = match line.strip_prefix("not ok ") {
        Some(rest) => (TestOutcome::Failed, rest),
        None => (TestOutcome::Passed, line.strip_prefix("ok ")?),
    };
    let (number, rest) = rest.split_once(' ')?;
    number.parse::<u64>().ok()?;
    let rest = rest.strip_prefix("- ").unwrap_or(rest);
    let (name, said) = rest.split_once(" # ").unwrap_or((rest, ""));
    let (word, why) = said.split_once(' ').unwrap_or((said, ""));
    let is_left = ["skip", "todo"].iter().any(|it| word.to_ascii_lowercase().starts_with(it));
    let mut case = TestCase::new(name.trim(), if is_left { TestOutcome::Skipped } else { outcome });
    if is_left {
        why.trim().clone_into(&mut case.message);
    }
    Some(case)
}

/// Reads the YAML diagnostics of a test, between `---` and `...`.
fn apply_diagnostics(case: &mut TestCase, lines: &[&str], depth: usize) {
    let value = |key: &str| {
        let at = lines.iter().position(|line| line.trim_start().starts_with(key))?;
        let first = lines.get(at)?.trim_start().strip_prefix(key)?.trim();
        if !first.starts_with('|') {
            return Some(first.trim_matches('\'').to_owned());
        }
        // The lines of a block scalar are indented further.
        let rest = lines.iter().skip(at + 1).take_while(|line| {
            line.trim().is_empty() || line.len() - line.trim_start().len() > depth
        });
        let rest = rest.map(|line| line.get(depth + 2..).unwrap_or_default());
        Some(rest.collect::<Vec<_>>().join("\n").trim_end().to_owned())
    };
    let time = value("duration_ms:").and_then(|time| time.parse::<f64>().ok());
    case.seconds = time.map(|time| time / 1_000.0);
    if !case.has_failed() {
        return;
    }
    case.message = value("error:").unwrap_or_default();
    let stack = value("stack:").unwrap_or_default();
    let own = || stack.lines().filter(|line| !trace::is_library_line(line));
    let own = || own().filter(|line| !line.starts_with("node:"));
    case.traceback = own().collect::<Vec<_>>().join("\n");
    let place = own().find_map(trace::parse_location);
    if let Some((file, line)) =
        place.or_else(|| value("location:").and_then(|place| trace::parse_location(&place)))
    {
        (case.file, case.line) = (Some(file), Some(line));
    }
}

/// Returns the tests that jest reports as failed: `  ● group › name`, followed
/// by the reason.
pub(super) fn parse_jest_failures(text: &str) -> Vec<TestCase> {
    let mut cases: Vec<TestCase> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        // Other headings do not contain a group and a test.
        let Some(name) = line.strip_prefix("  ● ").filter(|name| name.contains(" › ")) else {
            continue;
        };
        let mut case = TestCase::new(name.trim().replace(" › ", " > "), TestOutcome::Failed);
        let is_below = |next: &&str| next.is_empty() || next.starts_with("    ");
        let below: Vec<&str> =
            std::iter::from_fn(|| lines.next_if(is_below)).map(str::trim).collect();
        let is_code = |line: &&&str| line.starts_with("at ") || line.contains(" | ");
        let shown = below.iter().take_while(|line| !is_code(line)).filter(|line| !line.is_empty());
        case.message = shown.copied().collect::<Vec<_>>().join("\n");
        case.traceback = trace::trim_traceback(
            &below
                .iter()
                .filter(|line| line.starts_with("at "))
                .copied()
                .collect::<Vec<_>>()
                .join("\n"),
        );
        if let Some((file, line)) = trace::failure_location(&case.traceback, false) {
            (case.file, case.line) = (Some(file), Some(line));
        }
        // Jest repeats all failures at the end.
        if !cases.iter().any(|known| (&known.name, known.line) == (&case.name, case.line)) {
            cases.push(case);
        }
    }
    cases
}

#[cfg(test)]
#[path = "console_output_tests.rs"]
mod tests;
