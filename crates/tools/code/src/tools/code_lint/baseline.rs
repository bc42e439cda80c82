//! Decides which findings are new.

use std::collections::BTreeMap;
use std::path::Path;

use hermes_checks::{ChangedLines, LintBaseline, LintFinding};
use hermes_core::ToolError;
use hermes_exec::StdinSource;

use super::Args;
use crate::checks::{CheckContext, not_installed_error};
use crate::program::ProgramRun;

/// The session document of known findings, by path and linter.
const BASELINE_DOCUMENT: &str = "code_lint";

type SavedBaselines = BTreeMap<String, LintBaseline>;

fn baseline_key(args: &Args, path: &Path) -> String {
    format!("{} {}", path.display(), args.tool.as_deref().unwrap_or("*"))
}

/// Keeps only new findings, and describes what they were compared with.
pub(super) async fn retain_new(
    findings: &mut Vec<LintFinding>,
    args: &Args,
    desk: &CheckContext<'_>,
) -> Result<String, ToolError> {
    if args.since.is_none() {
        let known: SavedBaselines = desk.cx.session.read(BASELINE_DOCUMENT)?;
        // A directory's baseline covers everything below it.
        let mut saved =
            desk.path.ancestors().filter_map(|path| known.get(&baseline_key(args, path)));
        if let Some(baseline) = saved.next() {
            baseline.keep_new(findings);
            return Ok(format!("the saved baseline of {} findings", baseline.len()));
        }
    }
    let since = args.since.as_deref().unwrap_or("HEAD");
    let changed = changed_lines(since, desk).await?;
    let here = desk.survey.base_dir();
    let cwd = desk.cx.working_dir.cwd();
    findings.retain(|finding| {
        let path = cwd.join(&finding.file);
        path.strip_prefix(here).is_ok_and(|rest| changed.touches(&rest.to_string_lossy(), finding))
    });
    Ok(format!("lines changed since {since}"))
}

/// Saves all findings as known, and returns a note about it.
pub(super) fn save_baseline(
    findings: &[LintFinding],
    left_out: Option<usize>,
    args: &Args,
    desk: &CheckContext<'_>,
) -> Result<String, ToolError> {
    if left_out.is_some() {
        return Err(ToolError::invalid("'save_baseline' and 'only_new' are mutually exclusive")
            .with_hint("Save the baseline of all findings first, then request the new ones."));
    }
    let baseline = LintBaseline::from_findings(findings);
    let key = baseline_key(args, &desk.path);
    desk.cx
        .session
        .update(BASELINE_DOCUMENT, |known: &mut SavedBaselines| known.insert(key, baseline))?;
    Ok(format!("{} findings are saved as known; only_new omits them.", findings.len()))
}

/// Returns the lines changed since a commit, below the base directory.
async fn changed_lines(since: &str, desk: &CheckContext<'_>) -> Result<ChangedLines, ToolError> {
    if since.starts_with('-') || since.is_empty() {
        return Err(ToolError::invalid(format!("'{since}' is not a commit")));
    }
    let words = [
        "diff",
        "-U0",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--no-prefix",
        "--relative",
        since,
        "--",
    ];
    let is_kept = run_git(desk, &["rev-parse", "--is-inside-work-tree"]).await;
    if is_kept.is_err() {
        let place = desk.display_path(desk.survey.base_dir());
        return Err(ToolError::conflict(format!("{place} is not in a git repository"))
            .with_hint("Save a baseline with save_baseline=true first, or omit only_new."));
    }
    let diff = run_git(desk, &words).await?;
    let mut changed = ChangedLines::from_diff(&diff.stdout);
    let new = run_git(desk, &["ls-files", "--others", "--exclude-standard", "-z"]).await?;
    let names = new.raw.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    names.for_each(|name| changed.add_file(String::from_utf8_lossy(name)));
    Ok(changed)
}

async fn run_git(desk: &CheckContext<'_>, words: &[&str]) -> Result<ProgramRun, ToolError> {
    let program = desk.survey.program("git");
    let program = program.ok_or_else(|| not_installed_error("git", "apt-get install -y git"))?;
    // Read-only, so it must not block other git processes.
    let words = ["--no-optional-locks"].iter().chain(words).map(|word| (*word).to_owned());
    let words: Vec<String> = words.collect();
    let ran =
        desk.run(Path::new(&program), &words, desk.survey.base_dir(), StdinSource::Empty).await?;
    if ran.exit_code() == 0 {
        return Ok(ran);
    }
    Err(ToolError::conflict(format!("git cannot list the changes: {}", ran.error_excerpt()))
        .with_hint("Give another commit as 'since', or save a baseline with save_baseline=true."))
}
