//! What a linter has found.

use std::path::Path;

use serde::Serialize;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LintSeverity {
    /// It is wrong.
    Error,
    /// It is probably wrong.
    Warning,
    /// It could be better.
    Info,
}

/// One thing that a linter has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LintFinding {
    /// Where: the file, as the linter names it.
    pub file: String,
    /// From 1; none for a finding on the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// Where it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
    /// Where it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<u64>,
    /// The rule, as it is written to switch it off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// How bad it is.
    pub severity: LintSeverity,
    /// What is wrong.
    pub message: String,
    /// How it can be mended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// Who says so.
    pub tool: &'static str,
}

impl LintFinding {
    /// A finding in a file.
    pub fn new(tool: &'static str, file: impl Into<String>, severity: LintSeverity) -> Self {
        Self {
            file: file.into(),
            line: None,
            column: None,
            end_line: None,
            end_column: None,
            rule: None,
            severity,
            message: String::new(),
            fix: None,
            tool,
        }
    }

    /// At this place.
    #[must_use]
    pub fn with_start(mut self, line: Option<u64>, column: Option<u64>) -> Self {
        self.line = line.filter(|line| *line > 0);
        self.column = column.filter(|column| *column > 0);
        self
    }

    /// Up to this place.
    #[must_use]
    pub fn with_end(mut self, line: Option<u64>, column: Option<u64>) -> Self {
        let is_place = (line, column) != (self.line, self.column);
        self.end_line = line.filter(|line| is_place && *line > 0);
        self.end_column = column.filter(|column| is_place && *column > 0);
        self
    }

    /// In these words.
    #[must_use]
    pub fn with_message(mut self, message: impl AsRef<str>) -> Self {
        self.message = message.as_ref().trim().to_owned();
        self
    }

    /// By this rule.
    #[must_use]
    pub fn with_rule(mut self, rule: Option<impl Into<String>>) -> Self {
        self.rule = rule.map(Into::into).filter(|rule| !rule.is_empty());
        self
    }

    /// To be mended so.
    #[must_use]
    pub fn with_fix(mut self, fix: Option<impl Into<String>>) -> Self {
        self.fix = fix.map(Into::into).filter(|fix| !fix.is_empty());
        self
    }
}

/// Orders findings by where they are, and drops those that are said twice.
pub fn sort_findings(findings: &mut Vec<LintFinding>) {
    findings.sort_by(|a, b| {
        let key = |f: &LintFinding| (f.line, f.column, f.severity);
        a.file.cmp(&b.file).then_with(|| key(a).cmp(&key(b))).then_with(|| a.rule.cmp(&b.rule))
    });
    findings.dedup();
}

/// Whether a file is a path, or below it.
pub fn is_within(file: &Path, path: &Path) -> bool {
    file.starts_with(path)
}
