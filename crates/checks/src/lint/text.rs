//! Parsers for linters that print one line per finding.

use crate::CheckOutput;
use crate::finding::{LintFinding, LintSeverity};
use crate::lines::{LocatedLine, parse_located, split_trailing_code};

fn nth_number(numbers: &[u64], which: usize) -> Option<u64> {
    numbers.get(which).copied()
}

fn parse_lines<'a>(
    text: &'a str,
    make: impl FnMut(LocatedLine<'a>) -> Option<LintFinding>,
) -> Vec<LintFinding> {
    text.lines().filter_map(parse_located).filter_map(make).collect()
}

pub(super) fn flake8(said: &CheckOutput<'_>) -> Option<Vec<LintFinding>> {
    Some(parse_lines(said.stdout, |line| {
        let (rule, message) = line.rest.split_once(' ')?;
        let is_error = rule.starts_with('F') || rule.starts_with("E9");
        let severity = if is_error { LintSeverity::Error } else { LintSeverity::Warning };
        Some(
            LintFinding::new("flake8", line.file, severity)
                .with_start(nth_number(&line.numbers, 0), nth_number(&line.numbers, 1))
                .with_rule(Some(rule))
                .with_message(message),
        )
    }))
}

pub(super) fn mypy(said: &CheckOutput<'_>) -> Option<Vec<LintFinding>> {
    Some(parse_lines(said.stdout, |line| {
        let (level, message) = line.rest.split_once(": ")?;
        // Notes belong to the preceding error.
        let severity = match level.trim() {
            "error" => LintSeverity::Error,
            "warning" => LintSeverity::Warning,
            _ => return None,
        };
        let (message, rule) = split_trailing_code(message, "[", ']');
        Some(
            LintFinding::new("mypy", line.file, severity)
                .with_start(nth_number(&line.numbers, 0), nth_number(&line.numbers, 1))
                .with_end(nth_number(&line.numbers, 2), nth_number(&line.numbers, 3))
                .with_rule(rule)
                .with_message(message),
        )
    }))
}

/// `file(1,2): error TS1234: message`
pub(super) fn tsc(said: &CheckOutput<'_>) -> Option<Vec<LintFinding>> {
    let mut findings: Vec<LintFinding> = Vec::new();
    for line in said.stdout.lines() {
        let Some(finding) = tsc_line(line) else {
            // Indented lines continue the message.
            if let (Some(last), true) = (findings.last_mut(), line.starts_with(' ')) {
                last.message = format!("{}\n{}", last.message, line.trim_end());
            }
            continue;
        };
        findings.push(finding);
    }
    Some(findings)
}

fn tsc_line(line: &str) -> Option<LintFinding> {
    let (place, rest) = line.split_once("): ")?;
    let (file, numbers) = place.rsplit_once('(')?;
    let (row, column) = numbers.split_once(',')?;
    let (level, rest) = rest.split_once(' ')?;
    let (rule, message) = rest.split_once(": ")?;
    let severity = if level == "error" { LintSeverity::Error } else { LintSeverity::Warning };
    Some(
        LintFinding::new("tsc", file, severity)
            .with_start(row.parse().ok(), column.parse().ok())
            .with_rule(Some(rule))
            .with_message(message),
    )
}

/// Parses GitHub workflow annotations: `::error
/// title=rule,file=a.js,line=1,endLine=1,col=2,endColumn=3::message`
pub(super) fn biome(said: &CheckOutput<'_>) -> Option<Vec<LintFinding>> {
    let notes = said.stdout.lines().filter_map(|line| {
        let (level, rest) = line.strip_prefix("::")?.split_once(' ')?;
        let (fields, message) = rest.split_once("::")?;
        let field = |name: &str| {
            let mut fields = fields.split(',').filter_map(|field| field.split_once('='));
            fields.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        let number = |name| field(name).and_then(|value| value.parse().ok());
        let severity = match level {
            "error" => LintSeverity::Error,
            "warning" => LintSeverity::Warning,
            _ => LintSeverity::Info,
        };
        Some(
            LintFinding::new("biome", decode_escapes(field("file")?), severity)
                .with_start(number("line"), number("col"))
                .with_end(number("endLine"), number("endColumn"))
                .with_rule(field("title"))
                .with_message(decode_escapes(message)),
        )
    });
    Some(notes.collect())
}

/// Decodes the escapes of workflow annotations.
fn decode_escapes(text: &str) -> String {
    let codes = [("%0A", "\n"), ("%0D", ""), ("%2C", ","), ("%3A", ":"), ("%25", "%")];
    codes.iter().fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

pub(super) fn go_vet(said: &CheckOutput<'_>) -> Option<Vec<LintFinding>> {
    Some(parse_lines(said.stderr, |line| {
        let file = line.file.strip_prefix("vet: ").unwrap_or(line.file);
        let is_go = file.ends_with(".go");
        is_go.then(|| {
            LintFinding::new("go-vet", file, LintSeverity::Error)
                .with_start(nth_number(&line.numbers, 0), nth_number(&line.numbers, 1))
                .with_message(line.rest)
        })
    }))
}

pub(super) fn golangci(said: &CheckOutput<'_>) -> Option<Vec<LintFinding>> {
    Some(parse_lines(said.stdout, |line| {
        let (message, rule) = split_trailing_code(line.rest, "(", ')');
        line.file.ends_with(".go").then(|| {
            LintFinding::new("golangci-lint", line.file, LintSeverity::Warning)
                .with_start(nth_number(&line.numbers, 0), nth_number(&line.numbers, 1))
                .with_rule(rule)
                .with_message(message)
        })
    }))
}

pub(super) fn yamllint(said: &CheckOutput<'_>) -> Option<Vec<LintFinding>> {
    Some(parse_lines(said.stdout, |line| {
        let (level, message) = line.rest.strip_prefix('[')?.split_once("] ")?;
        let (message, rule) = split_trailing_code(message, "(", ')');
        let severity = if level == "error" { LintSeverity::Error } else { LintSeverity::Warning };
        Some(
            LintFinding::new("yamllint", line.file, severity)
                .with_start(nth_number(&line.numbers, 0), nth_number(&line.numbers, 1))
                .with_rule(rule)
                .with_message(message),
        )
    }))
}

/// `file:1:2 error MD001/rule message`, on stdout or stderr.
pub(super) fn markdownlint(said: &CheckOutput<'_>) -> Option<Vec<LintFinding>> {
    let make = |line: LocatedLine<'_>| {
        let rest = line.rest.strip_prefix("error ").unwrap_or(line.rest);
        let rest = rest.strip_prefix("warning ").unwrap_or(rest);
        let (rule, message) = rest.split_once(' ')?;
        rule.starts_with("MD").then(|| {
            LintFinding::new("markdownlint", line.file, LintSeverity::Warning)
                .with_start(nth_number(&line.numbers, 0), nth_number(&line.numbers, 1))
                .with_rule(rule.split('/').next())
                .with_message(message)
        })
    };
    let mut findings = parse_lines(said.stdout, make);
    findings.extend(parse_lines(said.stderr, make));
    Some(findings)
}
