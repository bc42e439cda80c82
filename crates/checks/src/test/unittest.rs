//! What Python's `unittest -v` prints.

use super::case::{Case, Outcome, Results};
use super::trace;
use crate::Said;

pub(super) fn read(said: &Said<'_>, _: i32) -> Option<Results> {
    let text = said.stderr;
    let mut cases: Vec<Case> = Vec::new();
    let mut seconds = None;
    let mut ran = false;
    for line in text.lines() {
        if let Some(case) = case(line) {
            cases.push(case);
        } else if let Some(rest) = line.strip_prefix("Ran ") {
            ran = true;
            let time = rest.rsplit_once(" in ").and_then(|(_, time)| time.strip_suffix('s'));
            seconds = time.and_then(|time| time.parse().ok());
        }
    }
    for block in text
        .split("\n======================================================================\n")
        .skip(1)
    {
        blame(&mut cases, block);
    }
    ran.then(|| Results { seconds, ..Results::of(cases) })
}

/// `test_x (module.Class.test_x) ... ok`; a test with a description has that
/// on the line, and its name on the one before, where nothing is read.
fn case(line: &str) -> Option<Case> {
    let (name, said) = line.rsplit_once(" ... ")?;
    let outcome = match said.split([' ', '\'']).next()? {
        "ok" | "expected" => Outcome::Passed,
        "FAIL" | "unexpected" => Outcome::Failed,
        "ERROR" => Outcome::Error,
        "skipped" => Outcome::Skipped,
        _ => return None,
    };
    let id = full(name);
    let mut case = Case::new(id, outcome);
    if outcome == Outcome::Skipped {
        let why = said.strip_prefix("skipped").unwrap_or_default();
        why.trim().trim_matches('\'').clone_into(&mut case.message);
    }
    Some(case)
}

/// `test_x (module.Class.test_x)` as Python would be asked for it. Older ones
/// leave the last part out.
fn full(name: &str) -> String {
    let Some((short, rest)) = name.split_once(" (") else { return name.to_owned() };
    let class = rest.split(')').next().unwrap_or_default();
    let class = class.strip_prefix("unittest.loader._FailedTest.").unwrap_or(class);
    if class.rsplit('.').next() == Some(short) {
        class.to_owned()
    } else {
        format!("{class}.{short}")
    }
}

/// Reads `FAIL: name` with its traceback.
fn blame(cases: &mut Vec<Case>, block: &str) {
    let Some((head, rest)) = block.split_once('\n') else { return };
    let (kind, name) = head.split_once(": ").unwrap_or(("", head));
    let outcome = if kind == "FAIL" { Outcome::Failed } else { Outcome::Error };
    let name = full(name);
    let rest = rest.split_once("----\n").map_or(rest, |(_, rest)| rest);
    let rest = rest.split("\n----------").next().unwrap_or(rest);
    let (trace, output) = rest.split_once("\nStdout:\n").unwrap_or((rest, ""));
    let case = match cases.iter_mut().position(|case| case.name == name && case.message.is_empty())
    {
        Some(at) => cases.get_mut(at),
        None => {
            // A class or a module of which nothing could be run.
            cases.push(Case::new(name, outcome));
            cases.last_mut()
        }
    };
    let Some(case) = case else { return };
    let told: Vec<&str> = trace.lines().skip_while(|line| line.starts_with("Traceback")).collect();
    let from = told.iter().rposition(|line| line.starts_with("  ")).map_or(0, |at| at + 1);
    case.message = told.get(from..).unwrap_or_default().join("\n").trim().to_owned();
    case.traceback = trace::trim(trace);
    case.output = trace::end(output.trim(), 2_000).to_owned();
    if let Some((file, line)) = trace::blame(trace, true) {
        (case.file, case.line) = (Some(file), Some(line));
    }
}

#[cfg(test)]
#[path = "unittest_tests.rs"]
mod tests;
