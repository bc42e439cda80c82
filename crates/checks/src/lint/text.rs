//! Linters that print a line for each finding.

use crate::Said;
use crate::finding::{Finding, Severity};
use crate::lines::{Placed, placed, tail};

fn at(numbers: &[u64], which: usize) -> Option<u64> {
    numbers.get(which).copied()
}

fn each<'a>(text: &'a str, make: impl FnMut(Placed<'a>) -> Option<Finding>) -> Vec<Finding> {
    text.lines().filter_map(placed).filter_map(make).collect()
}

pub(super) fn flake8(said: &Said<'_>) -> Option<Vec<Finding>> {
    Some(each(said.stdout, |line| {
        let (rule, message) = line.rest.split_once(' ')?;
        let is_error = rule.starts_with('F') || rule.starts_with("E9");
        let severity = if is_error { Severity::Error } else { Severity::Warning };
        Some(
            Finding::new("flake8", line.file, severity)
                .at(at(&line.numbers, 0), at(&line.numbers, 1))
                .rule(Some(rule))
                .says(message),
        )
    }))
}

pub(super) fn mypy(said: &Said<'_>) -> Option<Vec<Finding>> {
    Some(each(said.stdout, |line| {
        let (level, message) = line.rest.split_once(": ")?;
        // Notes belong to the error before them.
        let severity = match level.trim() {
            "error" => Severity::Error,
            "warning" => Severity::Warning,
            _ => return None,
        };
        let (message, rule) = tail(message, "[", ']');
        Some(
            Finding::new("mypy", line.file, severity)
                .at(at(&line.numbers, 0), at(&line.numbers, 1))
                .to(at(&line.numbers, 2), at(&line.numbers, 3))
                .rule(rule)
                .says(message),
        )
    }))
}

/// `file(1,2): error TS1234: message`
pub(super) fn tsc(said: &Said<'_>) -> Option<Vec<Finding>> {
    let mut findings: Vec<Finding> = Vec::new();
    for line in said.stdout.lines() {
        let Some(finding) = tsc_line(line) else {
            // A message goes on in lines that are moved to the right.
            if let (Some(last), true) = (findings.last_mut(), line.starts_with(' ')) {
                last.message = format!("{}\n{}", last.message, line.trim_end());
            }
            continue;
        };
        findings.push(finding);
    }
    Some(findings)
}

fn tsc_line(line: &str) -> Option<Finding> {
    let (place, rest) = line.split_once("): ")?;
    let (file, numbers) = place.rsplit_once('(')?;
    let (row, column) = numbers.split_once(',')?;
    let (level, rest) = rest.split_once(' ')?;
    let (rule, message) = rest.split_once(": ")?;
    let severity = if level == "error" { Severity::Error } else { Severity::Warning };
    Some(
        Finding::new("tsc", file, severity)
            .at(row.parse().ok(), column.parse().ok())
            .rule(Some(rule))
            .says(message),
    )
}

/// The notes that a forge shows beside code:
/// `::error title=rule,file=a.js,line=1,endLine=1,col=2,endColumn=3::message`
pub(super) fn biome(said: &Said<'_>) -> Option<Vec<Finding>> {
    let notes = said.stdout.lines().filter_map(|line| {
        let (level, rest) = line.strip_prefix("::")?.split_once(' ')?;
        let (fields, message) = rest.split_once("::")?;
        let field = |name: &str| {
            let mut fields = fields.split(',').filter_map(|field| field.split_once('='));
            fields.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        let number = |name| field(name).and_then(|value| value.parse().ok());
        let severity = match level {
            "error" => Severity::Error,
            "warning" => Severity::Warning,
            _ => Severity::Info,
        };
        Some(
            Finding::new("biome", decoded(field("file")?), severity)
                .at(number("line"), number("col"))
                .to(number("endLine"), number("endColumn"))
                .rule(field("title"))
                .says(decoded(message)),
        )
    });
    Some(notes.collect())
}

/// What a forge wants to have in place of characters that mean something.
fn decoded(text: &str) -> String {
    let codes = [("%0A", "\n"), ("%0D", ""), ("%2C", ","), ("%3A", ":"), ("%25", "%")];
    codes.iter().fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

pub(super) fn go_vet(said: &Said<'_>) -> Option<Vec<Finding>> {
    Some(each(said.stderr, |line| {
        let file = line.file.strip_prefix("vet: ").unwrap_or(line.file);
        let is_go = file.ends_with(".go");
        is_go.then(|| {
            Finding::new("go-vet", file, Severity::Error)
                .at(at(&line.numbers, 0), at(&line.numbers, 1))
                .says(line.rest)
        })
    }))
}

pub(super) fn golangci(said: &Said<'_>) -> Option<Vec<Finding>> {
    Some(each(said.stdout, |line| {
        let (message, rule) = tail(line.rest, "(", ')');
        line.file.ends_with(".go").then(|| {
            Finding::new("golangci-lint", line.file, Severity::Warning)
                .at(at(&line.numbers, 0), at(&line.numbers, 1))
                .rule(rule)
                .says(message)
        })
    }))
}

pub(super) fn yamllint(said: &Said<'_>) -> Option<Vec<Finding>> {
    Some(each(said.stdout, |line| {
        let (level, message) = line.rest.strip_prefix('[')?.split_once("] ")?;
        let (message, rule) = tail(message, "(", ')');
        let severity = if level == "error" { Severity::Error } else { Severity::Warning };
        Some(
            Finding::new("yamllint", line.file, severity)
                .at(at(&line.numbers, 0), at(&line.numbers, 1))
                .rule(rule)
                .says(message),
        )
    }))
}

/// `file:1:2 error MD001/rule message`, on either output.
pub(super) fn markdownlint(said: &Said<'_>) -> Option<Vec<Finding>> {
    let make = |line: Placed<'_>| {
        let rest = line.rest.strip_prefix("error ").unwrap_or(line.rest);
        let rest = rest.strip_prefix("warning ").unwrap_or(rest);
        let (rule, message) = rest.split_once(' ')?;
        rule.starts_with("MD").then(|| {
            Finding::new("markdownlint", line.file, Severity::Warning)
                .at(at(&line.numbers, 0), at(&line.numbers, 1))
                .rule(rule.split('/').next())
                .says(message)
        })
    };
    let mut findings = each(said.stdout, make);
    findings.extend(each(said.stderr, make));
    Some(findings)
}
