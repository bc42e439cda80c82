//! `code_format`: formats code with the project's own formatters.

use hermes_checks::format::{self, ChosenFormatter};
use hermes_core::{
    Effect, ErrorKind, JsonSchema, Tool, ToolContext, ToolError, ToolExample, ToolSpec, WorkingDir,
};
use serde::{Deserialize, Serialize};

use crate::checks::{self, ChangedFile, CheckContext, is_false};

mod formatting;

use formatting::FormatPass;

/// Default timeout in seconds, for all formatters together.
const DEFAULT_TIMEOUT_SECS: u64 = 300;

#[derive(Debug, Default)]
pub(crate) struct CodeFormat;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// File or directory; default: the cwd.
    path: Option<String>,
    /// Formatter to use, such as black, ruff, prettier or rustfmt; default: the
    /// project's.
    tool: Option<String>,
    /// Only show what would change, as a diff.
    #[serde(default)]
    check: bool,
    /// Seconds; default 300.
    timeout: Option<u64>,
}

/// The outcome of one formatter.
#[derive(Debug, Serialize)]
pub(crate) struct FormatterRun {
    tool: &'static str,
    why: &'static str,
    /// Where it ran, if not in the working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    /// Number of files that are or were not formatted.
    files: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    install: Option<String>,
}

/// A file that could not be formatted.
#[derive(Debug, Serialize)]
pub(crate) struct FormatFailure {
    file: String,
    error: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Output {
    tools: Vec<FormatterRun>,
    /// Whether everything is formatted after this call.
    formatted: bool,
    /// Whether this call changed files.
    changed: bool,
    files_changed: Vec<ChangedFile>,
    #[serde(skip_serializing_if = "String::is_empty")]
    diff: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<FormatFailure>,
    #[serde(skip_serializing_if = "is_false")]
    check: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Tool for CodeFormat {
    type Args = Args;
    type Output = Output;

    fn spec() -> ToolSpec {
        ToolSpec::new("code_format", "code")
            .emoji("🧹")
            .description(
                "Format code with the project's own formatters (black, ruff, prettier, biome, \
                 rustfmt, gofmt, shfmt, clang-format, …), found from its files. Shows the diff; \
                 check=true changes nothing.",
            )
            .alias("format_code")
            .parameter_alias("file", "path")
            .parameter_alias("directory", "path")
            .parameter_alias("formatter", "tool")
            .parameter_alias("dry_run", "check")
            .idempotent()
            .keyword("pretty")
            .keyword("indent")
            .keyword("style")
            .timeout(std::time::Duration::from_secs(3_700))
            .example(
                ToolExample::new("Show what rustfmt would change", r#"{"path":"a.rs","check":true}"#)
                    .file("a.rs", "fn main( ) {}\n")
                    .expects(
                        r#"{"formatted":false,"changed":false,"check":true,"diff":"--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-fn main( ) {}\n+fn main() {}\n"}"#,
                    ),
            )
            .example(
                ToolExample::new("Format a file", r#"{"path":"a.rs"}"#)
                    .file("a.rs", "fn main( ) {}\n")
                    .expects(r#"{"formatted":true,"changed":true}"#),
            )
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        checks::effects(at, args.path.as_deref(), !args.check)
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        let limit = checks::time_limit(args.timeout, DEFAULT_TIMEOUT_SECS);
        let desk = CheckContext::open(cx, args.path.as_deref(), limit).await?;
        let choices =
            format::choose_formatters(&desk.survey, args.tool.as_deref()).map_err(|all| {
                checks::unknown_tool_error(args.tool.as_deref().unwrap_or_default(), &all)
            })?;
        if choices.is_empty() {
            let names = format::FORMATTERS.iter().map(|one| one.name);
            return Err(desk.no_tool_error("formatter", names));
        }
        let mut shaping = FormatPass::new(&desk, args.check);
        let mut tools = Vec::new();
        for choice in &choices {
            tools.push(run_formatter(&mut shaping, choice, &desk).await?);
        }
        refuse_if_nothing_ran(&tools, &choices)?;
        let mut notes = shaping.notes;
        if shaping.changes.unshown > 0 {
            notes.push(format!(
                "The diffs of {} files are omitted for space.",
                shaping.changes.unshown
            ));
        }
        let is_formatted = shaping.unformatted == 0 && shaping.failures.is_empty();
        Ok(Output {
            formatted: is_formatted && tools.iter().all(|run| run.error.is_none()),
            tools,
            changed: !args.check && !shaping.changes.files.is_empty(),
            files_changed: shaping.changes.files,
            diff: shaping.changes.diff,
            failed: shaping.failures,
            check: args.check,
            note: (!notes.is_empty()).then(|| notes.join(" ")),
        })
    }
}

async fn run_formatter(
    shaping: &mut FormatPass<'_>,
    choice: &ChosenFormatter,
    desk: &CheckContext<'_>,
) -> Result<FormatterRun, ToolError> {
    let is_elsewhere = choice.dir != desk.cx.working_dir.cwd();
    let mut run = FormatterRun {
        tool: choice.formatter.name,
        why: choice.reason,
        directory: is_elsewhere.then(|| desk.display_path(&choice.dir)),
        files: 0,
        error: None,
        install: None,
    };
    let missing = |run: &mut FormatterRun| {
        run.error = Some("it is not installed".to_owned());
        run.install = Some(choice.install.clone());
    };
    let Some(program) = &choice.program else {
        missing(&mut run);
        return Ok(run);
    };
    match shaping.format_files(choice, program).await {
        Ok(files) => run.files = files,
        Err(error) if error.kind() == ErrorKind::Unavailable => missing(&mut run),
        Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::Timeout) => {
            run.error = Some(error.message().to_owned());
        }
        Err(error) => return Err(error),
    }
    Ok(run)
}

/// Returns an error if every formatter failed.
fn refuse_if_nothing_ran(
    runs: &[FormatterRun],
    choices: &[ChosenFormatter],
) -> Result<(), ToolError> {
    if runs.iter().any(|run| run.error.is_none()) {
        return Ok(());
    }
    if let Some(run) = runs.iter().find(|run| run.install.is_none()) {
        let why = run.error.as_deref().unwrap_or_default();
        return Err(ToolError::conflict(format!("{} failed to format: {why}", run.tool)));
    }
    let all: Vec<&str> = choices.iter().map(|choice| choice.install.as_str()).collect();
    let name = choices.first().map_or("", |choice| choice.formatter.name);
    Err(checks::not_installed_error(name, &all.join(" ; ")))
}
