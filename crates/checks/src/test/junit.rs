//! JUnit XML reports, as written by pytest.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::case::{TestCase, TestOutcome, TestResults};
use super::{pytest_output, trace};
use crate::CheckOutput;

/// Maximum number of tests that are read.
const MAX_CASES: usize = 100_000;

/// The test that is being parsed.
#[derive(Default)]
struct OpenTestCase {
    class: String,
    name: String,
    file: Option<String>,
    line: Option<u64>,
    seconds: Option<f64>,
    outcome: Option<TestOutcome>,
    message: String,
    text: String,
    output: String,
}

/// Destination of the current text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextTarget {
    Ignored,
    Failure,
    Output,
}

pub(super) fn pytest(said: &CheckOutput<'_>, code: i32) -> Option<TestResults> {
    let read = parse_report(said.report, |open| {
        let module = open.file.as_deref().map(module_name).unwrap_or_default();
        let classes = open.class.strip_prefix(&module).unwrap_or_default().trim_matches('.');
        let file = open.file.clone().unwrap_or_else(|| open.class.replace('.', "/") + ".py");
        let classes = classes.split('.').filter(|class| !class.is_empty());
        // A file that failed to load has no test.
        let is_file = open.class.is_empty();
        let name = (!is_file).then_some(open.name.as_str());
        let parts: Vec<&str> = [file.as_str()].into_iter().chain(classes).chain(name).collect();
        let id = parts.join("::");
        (id.clone(), id)
    });
    let Some(mut results) = read else { return pytest_output::read(said, code) };
    results.root = pytest_output::rootdir(said);
    for case in results.cases.iter_mut().filter(|case| case.has_failed()) {
        // The reported line is zero-based and is that of the test.
        case.line = case.line.map(|line| line + 1);
        if let Some((file, line)) = trace::failure_location(&case.traceback, true) {
            (case.file, case.line) = (Some(file), Some(line));
        }
        let shown = case.traceback.lines().rev().find_map(|line| line.strip_prefix("E   "));
        if let Some(shown) = shown.filter(|_| case.message == "collection failure") {
            case.message = shown.trim().to_owned();
        }
        // A file with a syntax error has no frame, but a location.
        if case.line.is_none()
            && let Some((file, line)) = syntax_error_location(&case.traceback)
        {
            (case.file, case.line) = (Some(file), Some(line));
        }
    }
    // 3 and 4: pytest itself failed; the reason is in its output.
    if matches!(code, 3 | 4) && results.errors == 0 {
        // A requested test does not exist.
        let is_unknown = [said.stdout, said.stderr].iter().any(|text| {
            text.lines().any(|line| {
                line.starts_with("ERROR: not found: ")
                    || line.starts_with("ERROR: found no collectors")
            })
        });
        return is_unknown.then_some(results);
    }
    results.cases.retain(|case| case.has_failed() || !case.name.is_empty());
    Some(results)
}

/// `E     File "/w/test_a.py", line 3`
fn syntax_error_location(traceback: &str) -> Option<(String, u64)> {
    let shown = traceback.lines().filter_map(|line| line.strip_prefix("E ")).map(str::trim);
    let mut places =
        shown.filter(|line| line.starts_with("File \"")).filter_map(trace::parse_location);
    places.next_back()
}

/// Converts a path such as `tests/test_a.py` to a Python module name.
fn module_name(file: &str) -> String {
    file.strip_suffix(".py").unwrap_or(file).replace(['/', '\\'], ".")
}

/// Parses a report; `name` returns the display name and the id of a test.
fn parse_report(
    xml: &str,
    name: impl Fn(&OpenTestCase) -> (String, String),
) -> Option<TestResults> {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = false;
    let mut cases = Vec::new();
    let mut open: Option<OpenTestCase> = None;
    let mut into = TextTarget::Ignored;
    let mut is_report = false;
    let mut seconds = None;
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => match &*tag_name(&tag) {
                "testsuites" => is_report = true,
                "testsuite" => {
                    is_report = true;
                    seconds = seconds.or_else(|| attribute(&tag, "time")?.parse::<f64>().ok());
                }
                "testcase" => open = Some(open_case(&tag)),
                other => into = note_element(other, &tag, open.as_mut()),
            },
            Ok(Event::Empty(tag)) => match &*tag_name(&tag) {
                "testcase" => cases.push(close_case(open_case(&tag), &name)),
                "testsuites" => is_report = true,
                "testsuite" => is_report = true,
                other => {
                    note_element(other, &tag, open.as_mut());
                }
            },
            Ok(Event::End(tag)) => match local_name(tag.name().as_ref()) {
                "testcase" => cases.extend(open.take().map(|open| close_case(open, &name))),
                _ => into = TextTarget::Ignored,
            },
            Ok(Event::Text(text)) => append_text(open.as_mut(), into, &text),
            Ok(Event::CData(text)) => append_text(open.as_mut(), into, &text),
            Ok(Event::GeneralRef(name)) => {
                let mut room = [0; 4];
                let text = match &*name.clone().into_inner() {
                    "amp" => "&",
                    "lt" => "<",
                    "gt" => ">",
                    "quot" => "\"",
                    "apos" => "'",
                    _ => match name.resolve_char_ref() {
                        Ok(Some(c)) => c.encode_utf8(&mut room),
                        _ => "?",
                    },
                };
                append_text(open.as_mut(), into, text);
            }
            // A truncated report is valid up to that point.
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
        if cases.len() >= MAX_CASES {
            break;
        }
    }
    is_report.then(|| TestResults { seconds, ..TestResults::from_cases(cases) })
}

fn tag_name<'a>(tag: &'a BytesStart<'_>) -> std::borrow::Cow<'a, str> {
    std::borrow::Cow::Owned(local_name(tag.name().as_ref()).to_owned())
}

fn local_name(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = tag.attributes();
    let found = attributes.with_checks(false).flatten().find(|found| found.key.as_ref() == name)?;
    let value = quick_xml::escape::unescape(&found.value);
    Some(value.map_or_else(|_| found.value.to_string(), std::borrow::Cow::into_owned))
}

fn open_case(tag: &BytesStart<'_>) -> OpenTestCase {
    OpenTestCase {
        class: attribute(tag, "classname").unwrap_or_default(),
        name: attribute(tag, "name").unwrap_or_default(),
        file: attribute(tag, "file").filter(|file| !file.is_empty()),
        line: attribute(tag, "line").and_then(|line| line.parse().ok()),
        seconds: attribute(tag, "time").and_then(|time| time.parse().ok()),
        ..OpenTestCase::default()
    }
}

/// Records the outcome in an element, and returns the destination of its text.
fn note_element(name: &str, tag: &BytesStart<'_>, open: Option<&mut OpenTestCase>) -> TextTarget {
    let Some(open) = open else { return TextTarget::Ignored };
    let outcome = match name {
        "failure" => TestOutcome::Failed,
        "error" => TestOutcome::Error,
        "skipped" => TestOutcome::Skipped,
        "system-out" | "system-err" => return TextTarget::Output,
        _ => return TextTarget::Ignored,
    };
    // A failed test may also report an error in its teardown.
    if open.outcome.is_none() {
        open.outcome = Some(outcome);
        open.message = attribute(tag, "message").unwrap_or_default();
        if attribute(tag, "type").as_deref() == Some("pytest.xfail") {
            let why = if open.message.is_empty() { "" } else { ": " };
            open.message = format!("expected to fail{why}{}", open.message);
        }
    }
    TextTarget::Failure
}

fn append_text(open: Option<&mut OpenTestCase>, into: TextTarget, text: &str) {
    match (open, into) {
        (Some(open), TextTarget::Failure) => open.text.push_str(text),
        (Some(open), TextTarget::Output) => open.output.push_str(text),
        _ => {}
    }
}

fn close_case(open: OpenTestCase, name: &impl Fn(&OpenTestCase) -> (String, String)) -> TestCase {
    let (name, id) = name(&open);
    let outcome = open.outcome.unwrap_or(TestOutcome::Passed);
    let is_bad = matches!(outcome, TestOutcome::Failed | TestOutcome::Error);
    TestCase {
        id,
        seconds: open.seconds,
        file: open.file,
        line: open.line,
        message: open.message,
        traceback: if is_bad { trace::trim_traceback(&open.text) } else { String::new() },
        output: if is_bad {
            trace::tail(open.output.trim(), 2_000).to_owned()
        } else {
            String::new()
        },
        ..TestCase::new(name, outcome)
    }
}

#[cfg(test)]
#[path = "junit_tests.rs"]
mod tests;
