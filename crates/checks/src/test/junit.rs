//! JUnit's XML, which pytest writes.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::case::{Case, Outcome, Results};
use super::{printed, trace};
use crate::Said;

/// The most tests that are told one by one.
const CASES: usize = 100_000;

/// A test that is being read.
#[derive(Default)]
struct Open {
    class: String,
    name: String,
    file: Option<String>,
    line: Option<u64>,
    seconds: Option<f64>,
    outcome: Option<Outcome>,
    message: String,
    text: String,
    output: String,
}

/// What text belongs to at the moment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Belongs {
    Nothing,
    Fault,
    Output,
}

pub(super) fn pytest(said: &Said<'_>, code: i32) -> Option<Results> {
    let read = read(said.report, |open| {
        let module = open.file.as_deref().map(module).unwrap_or_default();
        let classes = open.class.strip_prefix(&module).unwrap_or_default().trim_matches('.');
        let file = open.file.clone().unwrap_or_else(|| open.class.replace('.', "/") + ".py");
        let classes = classes.split('.').filter(|class| !class.is_empty());
        // A file that could not be read has no test in it.
        let is_file = open.class.is_empty();
        let name = (!is_file).then_some(open.name.as_str());
        let parts: Vec<&str> = [file.as_str()].into_iter().chain(classes).chain(name).collect();
        let id = parts.join("::");
        (id.clone(), id)
    });
    let Some(mut results) = read else { return printed::read(said, code) };
    results.root = printed::root(said);
    for case in results.cases.iter_mut().filter(|case| case.is_bad()) {
        // The first line counts from nought, and is that of the test.
        case.line = case.line.map(|line| line + 1);
        if let Some((file, line)) = trace::blame(&case.traceback, true) {
            (case.file, case.line) = (Some(file), Some(line));
        }
        let told = case.traceback.lines().rev().find_map(|line| line.strip_prefix("E   "));
        if let Some(told) = told.filter(|_| case.message == "collection failure") {
            case.message = told.trim().to_owned();
        }
        // A file that cannot be read has no frame, but a place.
        if case.line.is_none()
            && let Some((file, line)) = unread(&case.traceback)
        {
            (case.file, case.line) = (Some(file), Some(line));
        }
    }
    // 3 and 4: pytest itself has failed; what it says is in its output.
    if matches!(code, 3 | 4) && results.errors == 0 {
        // What was asked for by its name is not there.
        let is_unknown = [said.stdout, said.stderr].iter().any(|text| {
            text.lines().any(|line| {
                line.starts_with("ERROR: not found: ")
                    || line.starts_with("ERROR: found no collectors")
            })
        });
        return is_unknown.then_some(results);
    }
    results.cases.retain(|case| case.is_bad() || !case.name.is_empty());
    Some(results)
}

/// `E     File "/w/test_a.py", line 3`
fn unread(traceback: &str) -> Option<(String, u64)> {
    let told = traceback.lines().filter_map(|line| line.strip_prefix("E ")).map(str::trim);
    let mut places = told.filter(|line| line.starts_with("File \"")).filter_map(trace::place);
    places.next_back()
}

/// `tests/test_a.py` as Python names it.
fn module(file: &str) -> String {
    file.strip_suffix(".py").unwrap_or(file).replace(['/', '\\'], ".")
}

/// Reads a report; `name` gives a test its name and its id.
fn read(xml: &str, name: impl Fn(&Open) -> (String, String)) -> Option<Results> {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = false;
    let mut cases = Vec::new();
    let mut open: Option<Open> = None;
    let mut into = Belongs::Nothing;
    let mut is_report = false;
    let mut seconds = None;
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => match &*local(&tag) {
                "testsuites" => is_report = true,
                "testsuite" => {
                    is_report = true;
                    seconds = seconds.or_else(|| attribute(&tag, "time")?.parse::<f64>().ok());
                }
                "testcase" => open = Some(begin(&tag)),
                other => into = mark(other, &tag, open.as_mut()),
            },
            Ok(Event::Empty(tag)) => match &*local(&tag) {
                "testcase" => cases.push(finish(begin(&tag), &name)),
                "testsuites" => is_report = true,
                "testsuite" => is_report = true,
                other => {
                    mark(other, &tag, open.as_mut());
                }
            },
            Ok(Event::End(tag)) => match local_name(tag.name().as_ref()) {
                "testcase" => cases.extend(open.take().map(|open| finish(open, &name))),
                _ => into = Belongs::Nothing,
            },
            Ok(Event::Text(text)) => add(open.as_mut(), into, &text),
            Ok(Event::CData(text)) => add(open.as_mut(), into, &text),
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
                add(open.as_mut(), into, text);
            }
            // One that was cut off is good up to there.
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
        if cases.len() >= CASES {
            break;
        }
    }
    is_report.then(|| Results { seconds, ..Results::of(cases) })
}

fn local<'a>(tag: &'a BytesStart<'_>) -> std::borrow::Cow<'a, str> {
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

fn begin(tag: &BytesStart<'_>) -> Open {
    Open {
        class: attribute(tag, "classname").unwrap_or_default(),
        name: attribute(tag, "name").unwrap_or_default(),
        file: attribute(tag, "file").filter(|file| !file.is_empty()),
        line: attribute(tag, "line").and_then(|line| line.parse().ok()),
        seconds: attribute(tag, "time").and_then(|time| time.parse().ok()),
        ..Open::default()
    }
}

/// Notes what an element says of a test, and where its text belongs.
fn mark(name: &str, tag: &BytesStart<'_>, open: Option<&mut Open>) -> Belongs {
    let Some(open) = open else { return Belongs::Nothing };
    let outcome = match name {
        "failure" => Outcome::Failed,
        "error" => Outcome::Error,
        "skipped" => Outcome::Skipped,
        "system-out" | "system-err" => return Belongs::Output,
        _ => return Belongs::Nothing,
    };
    // A test may fail and then, when it is cleaned up, be an error as well.
    if open.outcome.is_none() {
        open.outcome = Some(outcome);
        open.message = attribute(tag, "message").unwrap_or_default();
        if attribute(tag, "type").as_deref() == Some("pytest.xfail") {
            let why = if open.message.is_empty() { "" } else { ": " };
            open.message = format!("expected to fail{why}{}", open.message);
        }
    }
    Belongs::Fault
}

fn add(open: Option<&mut Open>, into: Belongs, text: &str) {
    match (open, into) {
        (Some(open), Belongs::Fault) => open.text.push_str(text),
        (Some(open), Belongs::Output) => open.output.push_str(text),
        _ => {}
    }
}

fn finish(open: Open, name: &impl Fn(&Open) -> (String, String)) -> Case {
    let (name, id) = name(&open);
    let outcome = open.outcome.unwrap_or(Outcome::Passed);
    let is_bad = matches!(outcome, Outcome::Failed | Outcome::Error);
    Case {
        id,
        seconds: open.seconds,
        file: open.file,
        line: open.line,
        message: open.message,
        traceback: if is_bad { trace::trim(&open.text) } else { String::new() },
        output: if is_bad {
            trace::end(open.output.trim(), 2_000).to_owned()
        } else {
            String::new()
        },
        ..Case::new(name, outcome)
    }
}

#[cfg(test)]
#[path = "junit_tests.rs"]
mod tests;
