//! Findings of linters.

use std::path::Path;

use serde::Serialize;

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LintSeverity {
    /// Definitely wrong.
    Error,
    /// Probably wrong.
    Warning,
    /// Could be improved.
    Info,
}

/// One finding of a linter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LintFinding {
    /// The file, as the linter names it.
    pub file: String,
    /// 1-based; `None` for a finding about the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// 1-based.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// Last line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
    /// End column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<u64>,
    /// The rule, in the form used to disable it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Severity of the finding.
    pub severity: LintSeverity,
    /// Description of the problem.
    pub message: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// The linter that reported it.
    pub tool: &'static str,
}

impl LintFinding {
    /// Creates a finding in a file.
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

    /// Sets the start position.
    #[must_use]
    pub fn with_start(mut self, line: Option<u64>, column: Option<u64>) -> Self {
        self.line = line.filter(|line| *line > 0);
        self.column = column.filter(|column| *column > 0);
        self
    }

    /// Sets the end position.
    #[must_use]
    pub fn with_end(mut self, line: Option<u64>, column: Option<u64>) -> Self {
        let is_place = (line, column) != (self.line, self.column);
        self.end_line = line.filter(|line| is_place && *line > 0);
        self.end_column = column.filter(|column| is_place && *column > 0);
        self
    }

    /// Sets the message.
    #[must_use]
    pub fn with_message(mut self, message: impl AsRef<str>) -> Self {
        self.message = message.as_ref().trim().to_owned();
        self
    }

    /// Sets the rule.
    #[must_use]
    pub fn with_rule(mut self, rule: Option<impl Into<String>>) -> Self {
        self.rule = rule.map(Into::into).filter(|rule| !rule.is_empty());
        self
    }

    /// Sets the suggested fix.
    #[must_use]
    pub fn with_fix(mut self, fix: Option<impl Into<String>>) -> Self {
        self.fix = fix.map(Into::into).filter(|fix| !fix.is_empty());
        self
    }
}

/// Sorts findings by position and removes duplicates.
pub fn sort_findings(findings: &mut Vec<LintFinding>) {
    findings.sort_by(|a, b| {
        let key = |f: &LintFinding| (f.line, f.column, f.severity);
        a.file.cmp(&b.file).then_with(|| key(a).cmp(&key(b))).then_with(|| a.rule.cmp(&b.rule))
    });
    findings.dedup();
}

/// Whether a file is at or below a path.
pub fn is_within(file: &Path, path: &Path) -> bool {
    file.starts_with(path)
}
