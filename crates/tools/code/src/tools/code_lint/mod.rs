//! `code_lint`: runs the project's own linters and reports their findings.

use std::collections::BTreeMap;

use hermes_checks::lint::{self, ChosenLinter};
use hermes_checks::{LintFinding, LintSeverity};
use hermes_core::{
    Effect, JsonSchema, Tool, ToolContext, ToolError, ToolExample, ToolSpec, WorkingDir,
};
use serde::{Deserialize, Serialize};

use crate::checks::{self, ChangedFile, CheckContext, is_false};

mod baseline;
mod check;
mod edit;

use check::LintResults;

/// Default number of findings shown.
const DEFAULT_FINDINGS: u64 = 100;
/// Maximum number of findings shown.
const MAX_FINDINGS: u64 = 1_000;
/// Default timeout in seconds, for all linters together.
const DEFAULT_TIMEOUT_SECS: u64 = 300;

#[derive(Debug, Default)]
pub(crate) struct CodeLint;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// File or directory; default: the cwd.
    path: Option<String>,
    /// Linter to use, such as ruff, eslint or clippy; default: the project's.
    tool: Option<String>,
    /// Let the linter fix what it can.
    #[serde(default)]
    fix: bool,
    /// Only new findings: not in the saved baseline, or on lines changed since
    /// `since`.
    #[serde(default)]
    only_new: bool,
    /// Git commit or branch to compare with; default: HEAD. Implies only_new.
    since: Option<String>,
    /// Save all current findings as known.
    #[serde(default)]
    save_baseline: bool,
    /// Max findings to show; default 100.
    limit: Option<u64>,
    /// Seconds; default 300.
    timeout: Option<u64>,
}

/// The outcome of one linter.
#[derive(Debug, Serialize)]
pub(crate) struct LinterRun {
    tool: &'static str,
    why: &'static str,
    /// Where it ran, if not in the working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    findings: usize,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    install: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Output {
    tools: Vec<LinterRun>,
    /// All findings, including those not shown.
    total: usize,
    errors: usize,
    warnings: usize,
    findings: Vec<LintFinding>,
    #[serde(skip_serializing_if = "is_false")]
    truncated: bool,
    /// By rule, if not all findings are shown.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    by_rule: BTreeMap<String, usize>,
    /// What the findings were compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared_to: Option<String>,
    /// Number of findings that are not new.
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files_changed: Vec<ChangedFile>,
    #[serde(skip_serializing_if = "String::is_empty")]
    diff: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Tool for CodeLint {
    type Args = Args;
    type Output = Output;

    fn spec() -> ToolSpec {
        ToolSpec::new("code_lint", "code")
            .emoji("🔎")
            .description(
                "Run the project's own linters and type checkers (ruff, mypy, eslint, tsc, clippy, \
                 go vet, shellcheck, …), found from its files. Gives findings with file, line, \
                 rule, message and fix.",
            )
            .alias("lint")
            .parameter_alias("file", "path")
            .parameter_alias("directory", "path")
            .parameter_alias("linter", "tool")
            .parameter_alias("base", "since")
            .keyword("static analysis")
            .keyword("style")
            .keyword("type check")
            .keyword("warnings")
            .timeout(std::time::Duration::from_secs(3_700))
            .example(
                ToolExample::new("Lint a Rust package", r#"{"path":"src/lib.rs"}"#)
                    .file(
                        "Cargo.toml",
                        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
                    )
                    .file("src/lib.rs", "pub fn one() -> i32 {\n    return 1;\n}\n")
                    .expects(r#"{"total":1,"warnings":1,"errors":0}"#),
            )
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        checks::effects(at, args.path.as_deref(), args.fix)
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        let limit = checks::time_limit(args.timeout, DEFAULT_TIMEOUT_SECS);
        let desk = CheckContext::open(cx, args.path.as_deref(), limit).await?;
        let choices = lint::choose_linters(&desk.survey, args.tool.as_deref()).map_err(|all| {
            checks::unknown_tool_error(args.tool.as_deref().unwrap_or_default(), &all)
        })?;
        if choices.is_empty() {
            let names = lint::LINTERS.iter().map(|one| one.name);
            return Err(desk.no_tool_error("linter", names));
        }
        let mut check = LintResults::default();
        for choice in &choices {
            check.run(&desk, choice, args.fix).await?;
        }
        check.refuse_if_nothing_ran(&choices)?;
        answer(check, &args, &desk, &choices).await
    }
}

async fn answer(
    check: LintResults,
    args: &Args,
    desk: &CheckContext<'_>,
    choices: &[ChosenLinter],
) -> Result<Output, ToolError> {
    let LintResults { runs, mut findings, fixed, changes, mut notes, .. } = check;
    hermes_checks::sort_findings(&mut findings);
    let all = findings.len();
    let mut compared_to = None;
    if args.only_new || args.since.is_some() {
        compared_to = Some(baseline::retain_new(&mut findings, args, desk).await?);
    }
    let known = compared_to.is_some().then(|| all - findings.len());
    if args.save_baseline {
        notes.push(baseline::save_baseline(&findings, known, args, desk)?);
    }
    let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
    let (errors, warnings) = (count(LintSeverity::Error), count(LintSeverity::Warning));
    let total = findings.len();
    let shown = usize::try_from(args.limit.unwrap_or(DEFAULT_FINDINGS).min(MAX_FINDINGS))
        .unwrap_or(usize::MAX);
    let truncated = total > shown;
    let by_rule = if truncated { by_rule(&findings) } else { BTreeMap::new() };
    // Show the most severe findings of all files.
    if truncated {
        findings.sort_by_key(|finding| finding.severity);
        findings.truncate(shown);
        notes.push(format!("{shown} of {total} findings are shown, the most severe first."));
    }
    for choice in choices.iter().filter(|choice| args.fix && !choice.can_fix()) {
        notes.push(format!("{} cannot apply fixes.", choice.linter.name));
    }
    Ok(Output {
        tools: runs,
        total,
        errors,
        warnings,
        findings,
        truncated,
        by_rule,
        compared_to,
        known,
        fixed: args.fix.then_some(fixed),
        files_changed: changes.files,
        diff: changes.diff,
        note: (!notes.is_empty()).then(|| notes.join(" ")),
    })
}

/// Counts findings for the most frequent rules.
fn by_rule(findings: &[LintFinding]) -> BTreeMap<String, usize> {
    const MAX_RULES: usize = 30;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for finding in findings {
        let rule = finding.rule.as_deref().unwrap_or(finding.tool);
        *counts.entry(rule.to_owned()).or_default() += 1;
    }
    let mut most: Vec<_> = counts.into_iter().collect();
    most.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    most.truncate(MAX_RULES);
    most.into_iter().collect()
}
