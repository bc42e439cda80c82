//! What TAP and jest say to people of each test, where no report is to be had:
//! in the output of a command that starts them.

use super::case::{TestCase, TestOutcome};
use super::trace;

/// The tests of all TAP in a text, with the names around them; none if there is
/// no TAP in it that tells more than a line of a test.
pub(super) fn parse_tap(text: &str) -> Option<Vec<TestCase>> {
    if !text.lines().any(|line| line.trim() == "---") {
        return None;
    }
    // What is within a test is told before the test itself.
    let mut told: Vec<(usize, TestCase)> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let bare = line.trim_start();
        let depth = line.len() - bare.len();
        let Some(mut case) = parse_tap_line(bare) else { continue };
        if lines.next_if(|next| next.trim() == "---").is_some() {
            let inner = std::iter::from_fn(|| lines.next_if(|next| next.trim() != "..."));
            apply_diagnostics(&mut case, &inner.collect::<Vec<_>>(), depth + 2);
        }
        let begin = told.iter().rposition(|(of, _)| *of <= depth).map_or(0, |at| at + 1);
        if begin == told.len() {
            told.push((depth, case));
            continue;
        }
        for (of, inner) in told.iter_mut().skip(begin) {
            inner.name = format!("{} > {}", case.name, inner.name);
            *of = depth;
        }
    }
    Some(told.into_iter().map(|(_, case)| case).collect())
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

/// Reads what is between the dashes and the dots below a test.
fn apply_diagnostics(case: &mut TestCase, lines: &[&str], depth: usize) {
    let value = |key: &str| {
        let at = lines.iter().position(|line| line.trim_start().starts_with(key))?;
        let first = lines.get(at)?.trim_start().strip_prefix(key)?.trim();
        if !first.starts_with('|') {
            return Some(first.trim_matches('\'').to_owned());
        }
        // A text of several lines is further to the right.
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

/// The tests that jest says have failed: `  ● group › name`, and below it why.
pub(super) fn parse_jest_failures(text: &str) -> Vec<TestCase> {
    let mut cases: Vec<TestCase> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        // Headings of other kinds have no test below a group.
        let Some(name) = line.strip_prefix("  ● ").filter(|name| name.contains(" › ")) else {
            continue;
        };
        let mut case = TestCase::new(name.trim().replace(" › ", " > "), TestOutcome::Failed);
        let is_below = |next: &&str| next.is_empty() || next.starts_with("    ");
        let below: Vec<&str> =
            std::iter::from_fn(|| lines.next_if(is_below)).map(str::trim).collect();
        let is_code = |line: &&&str| line.starts_with("at ") || line.contains(" | ");
        let told = below.iter().take_while(|line| !is_code(line)).filter(|line| !line.is_empty());
        case.message = told.copied().collect::<Vec<_>>().join("\n");
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
        // All are told once more at the end.
        if !cases.iter().any(|known| (&known.name, known.line) == (&case.name, case.line)) {
            cases.push(case);
        }
    }
    cases
}

#[cfg(test)]
#[path = "console_output_tests.rs"]
mod tests;
