//! Linters that speak JSON.

use std::path::Path;

use serde_json::Value;

use crate::Said;
use crate::finding::{Finding, Severity};
use crate::lines::json;

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn number(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}

/// Many begin to count columns at nought.
fn next(value: Option<u64>) -> Option<u64> {
    value.map(|value| value + 1)
}

fn severity(word: &str) -> Severity {
    match word {
        "error" | "fatal" => Severity::Error,
        "warning" => Severity::Warning,
        _ => Severity::Info,
    }
}

pub(super) fn ruff(said: &Said<'_>) -> Option<Vec<Finding>> {
    let report = json(said.stdout)?;
    let findings = report.as_array()?.iter().map(|one| {
        let (code, fix) = (text(one, "/code"), one.get("fix").filter(|fix| !fix.is_null()));
        let is_safe = fix.is_some_and(|fix| text(fix, "/applicability") == "safe");
        let fix = fix.map(|fix| match (text(fix, "/message"), is_safe) {
            ("", _) => "can be mended".to_owned(),
            (message, true) => message.to_owned(),
            (message, false) => {
                format!("{message} (not by itself: it may change what the code does)")
            }
        });
        // What cannot be parsed has no rule.
        let is_syntax = matches!(code, "" | "invalid-syntax") || code.starts_with("E9");
        let is_error = is_syntax || code.starts_with('F');
        Finding::new(
            "ruff",
            text(one, "/filename"),
            if is_error { Severity::Error } else { Severity::Warning },
        )
        .at(number(one, "/location/row"), number(one, "/location/column"))
        .to(number(one, "/end_location/row"), number(one, "/end_location/column"))
        .rule(Some(code))
        .says(text(one, "/message"))
        .fix(fix)
    });
    Some(findings.collect())
}

pub(super) fn pylint(said: &Said<'_>) -> Option<Vec<Finding>> {
    let report = json(said.stdout)?;
    let findings = report.as_array()?.iter().map(|one| {
        Finding::new(
            "pylint",
            text(one, "/path"),
            match text(one, "/type") {
                "error" | "fatal" => Severity::Error,
                "warning" => Severity::Warning,
                _ => Severity::Info,
            },
        )
        .at(number(one, "/line"), next(number(one, "/column")))
        .to(number(one, "/endLine"), next(number(one, "/endColumn")))
        .rule(Some(text(one, "/symbol")))
        .says(text(one, "/message"))
    });
    Some(findings.collect())
}

pub(super) fn pyright(said: &Said<'_>) -> Option<Vec<Finding>> {
    let report = json(said.stdout)?;
    let findings = list(report.get("generalDiagnostics")?).iter().map(|one| {
        Finding::new("pyright", text(one, "/file"), severity(text(one, "/severity")))
            .at(next(number(one, "/range/start/line")), next(number(one, "/range/start/character")))
            .to(next(number(one, "/range/end/line")), next(number(one, "/range/end/character")))
            .rule(Some(text(one, "/rule")))
            .says(text(one, "/message"))
    });
    Some(findings.collect())
}

pub(super) fn eslint(said: &Said<'_>) -> Option<Vec<Finding>> {
    let report = json(said.stdout)?;
    let mut findings = Vec::new();
    for file in report.as_array()? {
        let name = text(file, "/filePath");
        findings.extend(list(file.get("messages")?).iter().map(|one| {
            let is_error = number(one, "/severity") == Some(2);
            let suggestion = text(one, "/suggestions/0/desc");
            let fix = match one.get("fix").filter(|fix| !fix.is_null()) {
                Some(fix) => match text(fix, "/text") {
                    "" => Some("remove it".to_owned()),
                    new => Some(format!("replace by `{}`", clip(new))),
                },
                None => Some(suggestion.to_owned()),
            };
            Finding::new("eslint", name, if is_error { Severity::Error } else { Severity::Warning })
                .at(number(one, "/line"), number(one, "/column"))
                .to(number(one, "/endLine"), number(one, "/endColumn"))
                .rule(one.get("ruleId").and_then(Value::as_str))
                .says(text(one, "/message"))
                .fix(fix)
        }));
    }
    Some(findings)
}

pub(super) fn stylelint(said: &Said<'_>) -> Option<Vec<Finding>> {
    // Newer ones print it on the error output.
    let report = json(said.stdout).or_else(|| json(said.stderr))?;
    let mut findings = Vec::new();
    for file in report.as_array()? {
        let name = text(file, "/source");
        findings.extend(file.get("warnings").map(list).unwrap_or_default().iter().map(|one| {
            let message = text(one, "/text");
            let rule = text(one, "/rule");
            let message = message.strip_suffix(&format!("({rule})")).unwrap_or(message);
            Finding::new("stylelint", name, severity(text(one, "/severity")))
                .at(number(one, "/line"), number(one, "/column"))
                .to(number(one, "/endLine"), number(one, "/endColumn"))
                .rule(Some(rule))
                .says(message)
        }));
    }
    Some(findings)
}

pub(super) fn shellcheck(said: &Said<'_>) -> Option<Vec<Finding>> {
    let report = json(said.stdout)?;
    let findings = list(report.get("comments")?).iter().map(|one| {
        let code = number(one, "/code").map(|code| format!("SC{code}"));
        let edits = one.pointer("/fix/replacements").map(list).unwrap_or_default();
        let fix = edits.iter().map(|edit| format!("`{}`", clip(text(edit, "/replacement"))));
        let fix = fix.collect::<Vec<_>>();
        let fix = (!fix.is_empty()).then(|| format!("insert {}", fix.join(" and ")));
        Finding::new("shellcheck", text(one, "/file"), severity(text(one, "/level")))
            .at(number(one, "/line"), number(one, "/column"))
            .to(number(one, "/endLine"), number(one, "/endColumn"))
            .rule(code)
            .says(text(one, "/message"))
            .fix(fix)
    });
    Some(findings.collect())
}

pub(super) fn hadolint(said: &Said<'_>) -> Option<Vec<Finding>> {
    let report = json(said.stdout)?;
    let findings = report.as_array()?.iter().map(|one| {
        Finding::new("hadolint", text(one, "/file"), severity(text(one, "/level")))
            .at(number(one, "/line"), number(one, "/column"))
            .rule(Some(text(one, "/code")))
            .says(text(one, "/message"))
    });
    Some(findings.collect())
}

/// What cargo prints: one message a line, most of them not about code.
pub(super) fn cargo(said: &Said<'_>) -> Option<Vec<Finding>> {
    let mut findings = Vec::new();
    for line in said.stdout.lines().filter(|line| line.starts_with('{')) {
        let Ok(one) = serde_json::from_str::<Value>(line) else { continue };
        if text(&one, "/reason") != "compiler-message" {
            continue;
        }
        let spans = one.pointer("/message/spans").map(list).unwrap_or_default();
        let Some(span) = spans.iter().find(|span| span.get("is_primary") == Some(&true.into()))
        else {
            continue;
        };
        let notes = one.pointer("/message/children").map(list).unwrap_or_default();
        let file = whole(text(span, "/file_name"), text(&one, "/manifest_path"));
        findings.push(
            Finding::new("clippy", file, severity(text(&one, "/message/level")))
                .at(number(span, "/line_start"), number(span, "/column_start"))
                .to(number(span, "/line_end"), number(span, "/column_end"))
                .rule(one.pointer("/message/code/code").and_then(Value::as_str))
                .says(text(&one, "/message/message"))
                .fix(notes.iter().find_map(suggestion)),
        );
    }
    Some(findings)
}

/// The compiler names files from the folder of the workspace on, which is that
/// of the package or above it.
pub(super) fn whole(file: &str, manifest: &str) -> String {
    let package = Path::new(manifest).parent().unwrap_or(Path::new(""));
    let above: Vec<_> = package.ancestors().collect();
    let found = above.iter().rev().map(|folder| folder.join(file));
    let found = found.filter(|path| path.starts_with(package)).find(|path| path.is_absolute());
    found.map_or_else(|| file.to_owned(), |path| path.display().to_string())
}

/// What the compiler would write instead.
fn suggestion(note: &Value) -> Option<String> {
    let spans = note.get("spans").map(list).unwrap_or_default();
    let new = spans.iter().find_map(|span| span.get("suggested_replacement")?.as_str())?;
    let message = text(note, "/message");
    Some(if new.is_empty() { message.to_owned() } else { format!("{message}: `{}`", clip(new)) })
}

/// A piece of code, in brief.
fn clip(code: &str) -> String {
    const MOST: usize = 120;
    match code.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", code.get(..at).unwrap_or_default()),
        None => code.to_owned(),
    }
}
