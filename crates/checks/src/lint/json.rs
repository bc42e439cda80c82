//! Parsers for linters with JSON output.

use std::path::Path;

use serde_json::Value;

use crate::CheckOutput;
use crate::finding::{LintFinding, LintSeverity};
use crate::lines::find_json;

pub(super) fn as_list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn str_at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn u64_at(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

/// Many linters count columns from 0.
fn to_one_based(value: Option<u64>) -> Option<u64> {
    value.map(|value| value + 1)
}

fn parse_severity(word: &str) -> LintSeverity {
    match word {
        "error" | "fatal" => LintSeverity::Error,
        "warning" => LintSeverity::Warning,
        _ => LintSeverity::Info,
    }
}

pub(super) fn ruff(said: &CheckOutput<'_>) -> Option<Vec<LintFinding>> {
    let report = find_json(said.stdout)?;
    let findings = report.as_array()?.iter().map(|one| {
        let (code, fix) = (str_at(one, "/code"), one.get("fix").filter(|fix| !fix.is_null()));
        let is_safe = fix.is_some_and(|fix| str_at(fix, "/applicability") == "safe");
        let fix = fix.map(|fix| match (str_at(fix, "/message"), is_safe) {
            ("", _) => "can be fixed".to_owned(),
            (message, true) => message.to_owned(),
            (message, false) => {
                format!("{message} (not applied automatically: it may change behavior)")
            }
        });
        // Syntax errors have no rule.
        let is_syntax = matches!(code, "" | "invalid-syntax") || code.starts_with("E9");
        let is_error = is_syntax || code.starts_with('F');
        LintFinding::new(
            "ruff",
            str_at(one, "/filename"),
            if is_error { LintSeverity::Error } else { LintSeverity::Warning },
        )
        .with_start(u64_at(one, "/location/row"), u64_at(one, "/location/column"))
        .with_end(u64_at(one, "/end_location/row"), u64_at(one, "/end_location/column"))
        .with_rule(Some(code))
        .with_message(str_at(one, "/message"))
        .with_fix(fix)
    });
    Some(findings.collect())
}

pub(super) fn pylint(said: &CheckOutput<'_>) -> Option<Vec<LintFinding>> {
    let report = find_json(said.stdout)?;
    let findings = report.as_array()?.iter().map(|one| {
        LintFinding::new(
            "pylint",
            str_at(one, "/path"),
            match str_at(one, "/type") {
                "error" | "fatal" => LintSeverity::Error,
                "warning" => LintSeverity::Warning,
                _ => LintSeverity::Info,
            },
        )
        .with_start(u64_at(one, "/line"), to_one_based(u64_at(one, "/column")))
        .with_end(u64_at(one, "/endLine"), to_one_based(u64_at(one, "/endColumn")))
        .with_rule(Some(str_at(one, "/symbol")))
        .with_message(str_at(one, "/message"))
    });
    Some(findings.collect())
}

pub(super) fn pyright(said: &CheckOutput<'_>) -> Option<Vec<LintFinding>> {
    let report = find_json(said.stdout)?;
    let findings = as_list(report.get("generalDiagnostics")?).iter().map(|one| {
        LintFinding::new("pyright", str_at(one, "/file"), parse_severity(str_at(one, "/severity")))
            .with_start(
                to_one_based(u64_at(one, "/range/start/line")),
                to_one_based(u64_at(one, "/range/start/character")),
            )
            .with_end(
                to_one_based(u64_at(one, "/range/end/line")),
                to_one_based(u64_at(one, "/range/end/character")),
            )
            .with_rule(Some(str_at(one, "/rule")))
            .with_message(str_at(one, "/message"))
    });
    Some(findings.collect())
}

pub(super) fn eslint(said: &CheckOutput<'_>) -> Option<Vec<LintFinding>> {
    let report = find_json(said.stdout)?;
    let mut findings = Vec::new();
    for file in report.as_array()? {
        let name = str_at(file, "/filePath");
        findings.extend(as_list(file.get("messages")?).iter().map(|one| {
            let is_error = u64_at(one, "/severity") == Some(2);
            let suggestion = str_at(one, "/suggestions/0/desc");
            let fix = match one.get("fix").filter(|fix| !fix.is_null()) {
                Some(fix) => match str_at(fix, "/text") {
                    "" => Some("remove it".to_owned()),
                    new => Some(format!("replace by `{}`", shorten_code(new))),
                },
                None => Some(suggestion.to_owned()),
            };
            LintFinding::new(
                "eslint",
                name,
                if is_error { LintSeverity::Error } else { LintSeverity::Warning },
            )
            .with_start(u64_at(one, "/line"), u64_at(one, "/column"))
            .with_end(u64_at(one, "/endLine"), u64_at(one, "/endColumn"))
            .with_rule(one.get("ruleId").and_then(Value::as_str))
            .with_message(str_at(one, "/message"))
            .with_fix(fix)
        }));
    }
    Some(findings)
}

pub(super) fn stylelint(said: &CheckOutput<'_>) -> Option<Vec<LintFinding>> {
    // Newer versions print it to stderr.
    let report = find_json(said.stdout).or_else(|| find_json(said.stderr))?;
    let mut findings = Vec::new();
    for file in report.as_array()? {
        let name = str_at(file, "/source");
        findings.extend(file.get("warnings").map(as_list).unwrap_or_default().iter().map(|one| {
            let message = str_at(one, "/text");
            let rule = str_at(one, "/rule");
            let message = message.strip_suffix(&format!("({rule})")).unwrap_or(message);
            LintFinding::new("stylelint", name, parse_severity(str_at(one, "/severity")))
                .with_start(u64_at(one, "/line"), u64_at(one, "/column"))
                .with_end(u64_at(one, "/endLine"), u64_at(one, "/endColumn"))
                .with_rule(Some(rule))
                .with_message(message)
        }));
    }
    Some(findings)
}

pub(super) fn shellcheck(said: &CheckOutput<'_>) -> Option<Vec<LintFinding>> {
    let report = find_json(said.stdout)?;
    let findings = as_list(report.get("comments")?).iter().map(|one| {
        let code = u64_at(one, "/code").map(|code| format!("SC{code}"));
        let edits = one.pointer("/fix/replacements").map(as_list).unwrap_or_default();
        let fix =
            edits.iter().map(|edit| format!("`{}`", shorten_code(str_at(edit, "/replacement"))));
        let fix = fix.collect::<Vec<_>>();
        let fix = (!fix.is_empty()).then(|| format!("insert {}", fix.join(" and ")));
        LintFinding::new("shellcheck", str_at(one, "/file"), parse_severity(str_at(one, "/level")))
            .with_start(u64_at(one, "/line"), u64_at(one, "/column"))
            .with_end(u64_at(one, "/endLine"), u64_at(one, "/endColumn"))
            .with_rule(code)
            .with_message(str_at(one, "/message"))
            .with_fix(fix)
    });
    Some(findings.collect())
}

pub(super) fn hadolint(said: &CheckOutput<'_>) -> Option<Vec<LintFinding>> {
    let report = find_json(said.stdout)?;
    let findings = report.as_array()?.iter().map(|one| {
        LintFinding::new("hadolint", str_at(one, "/file"), parse_severity(str_at(one, "/level")))
            .with_start(u64_at(one, "/line"), u64_at(one, "/column"))
            .with_rule(Some(str_at(one, "/code")))
            .with_message(str_at(one, "/message"))
    });
    Some(findings.collect())
}

/// Parses cargo output: one message per line, most of them not about code.
pub(super) fn cargo(said: &CheckOutput<'_>) -> Option<Vec<LintFinding>> {
    let mut findings = Vec::new();
    for line in said.stdout.lines().filter(|line| line.starts_with('{')) {
        let Ok(one) = serde_json::from_str::<Value>(line) else { continue };
        if str_at(&one, "/reason") != "compiler-message" {
            continue;
        }
        let spans = one.pointer("/message/spans").map(as_list).unwrap_or_default();
        let Some(span) = spans.iter().find(|span| span.get("is_primary") == Some(&true.into()))
        else {
            continue;
        };
        let notes = one.pointer("/message/children").map(as_list).unwrap_or_default();
        let file = absolute_path(str_at(span, "/file_name"), str_at(&one, "/manifest_path"));
        findings.push(
            LintFinding::new("clippy", file, parse_severity(str_at(&one, "/message/level")))
                .with_start(u64_at(span, "/line_start"), u64_at(span, "/column_start"))
                .with_end(u64_at(span, "/line_end"), u64_at(span, "/column_end"))
                .with_rule(one.pointer("/message/code/code").and_then(Value::as_str))
                .with_message(str_at(&one, "/message/message"))
                .with_fix(notes.iter().find_map(suggestion)),
        );
    }
    Some(findings)
}

/// Resolves a file name of the compiler, which is relative to the workspace:
/// the package directory or one above it.
pub(super) fn absolute_path(file: &str, manifest: &str) -> String {
    let package = Path::new(manifest).parent().unwrap_or(Path::new(""));
    let above: Vec<_> = package.ancestors().collect();
    let found = above.iter().rev().map(|dir| dir.join(file));
    let found = found.filter(|path| path.starts_with(package)).find(|path| path.is_absolute());
    found.map_or_else(|| file.to_owned(), |path| path.display().to_string())
}

/// Returns the compiler's suggested replacement.
fn suggestion(note: &Value) -> Option<String> {
    let spans = note.get("spans").map(as_list).unwrap_or_default();
    let new = spans.iter().find_map(|span| span.get("suggested_replacement")?.as_str())?;
    let message = str_at(note, "/message");
    Some(if new.is_empty() {
        message.to_owned()
    } else {
        format!("{message}: `{}`", shorten_code(new))
    })
}

/// Truncates a code snippet.
fn shorten_code(code: &str) -> String {
    const MAX_CODE_CHARS: usize = 120;
    match code.char_indices().nth(MAX_CODE_CHARS) {
        Some((at, _)) => format!("{}…", code.get(..at).unwrap_or_default()),
        None => code.to_owned(),
    }
}
