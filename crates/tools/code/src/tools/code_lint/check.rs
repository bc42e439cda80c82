//! Runs linters and collects their findings.

use std::collections::BTreeSet;
use std::path::PathBuf;

use hermes_checks::lint::{ChosenLinter, LintEdit};
use hermes_checks::{CheckOutput, LintFinding};
use hermes_core::{ErrorKind, ToolError};
use hermes_exec::StdinSource;

use super::LinterRun;
use super::edit::EditApplier;
use crate::checks::{self, CheckContext, FileChanges};
use crate::program::ProgramRun;

/// Maximum number of files compared before and after fixes.
const MAX_COMPARED_FILES: usize = 500;

/// Combined results of all linters.
#[derive(Debug, Default)]
pub(super) struct LintResults {
    pub(super) runs: Vec<LinterRun>,
    pub(super) findings: Vec<LintFinding>,
    pub(super) fixed: usize,
    pub(super) changes: FileChanges,
    pub(super) notes: Vec<String>,
    /// Whether any linter ran successfully.
    has_run: bool,
    timed_out: bool,
}

/// The outcome of one linter run.
#[derive(Debug)]
pub(super) enum LintOutcome {
    /// The findings, and the edits that would fix them.
    Found(Vec<LintFinding>, Vec<Vec<LintEdit>>),
    Missing,
    Failed(String),
    TimedOut,
}

impl LintResults {
    pub(super) async fn run(
        &mut self,
        desk: &CheckContext<'_>,
        choice: &ChosenLinter,
        fix: bool,
    ) -> Result<(), ToolError> {
        let is_elsewhere = choice.dir != desk.cx.working_dir.cwd();
        let mut run = LinterRun {
            tool: choice.linter.name,
            why: choice.reason,
            directory: is_elsewhere.then(|| desk.display_path(&choice.dir)),
            command: String::new(),
            exit_code: None,
            seconds: None,
            findings: 0,
            error: None,
            install: None,
        };
        let mut look = run_linter(desk, choice, &mut run).await?;
        if let (LintOutcome::Found(before, _), true, Some(words)) = (&look, fix, choice.fix_args())
        {
            let repaired = self.apply_fixes(desk, choice, before, &words).await?;
            let was = before.len();
            look = self::run_linter(desk, choice, &mut run).await?;
            if let (LintOutcome::Found(after, _), true) = (&look, repaired) {
                self.fixed += was.saturating_sub(after.len());
            }
        } else if let (LintOutcome::Found(found, edits), true) = (&look, fix)
            && !edits.is_empty()
        {
            let mut editing = EditApplier::new(desk, choice, found);
            look = editing.run(found.clone(), edits.clone(), &mut run).await?;
            self.fixed += editing.fixed;
            self.notes.extend(editing.note.take());
            editing.report_changes(&mut self.changes);
        }
        match look {
            LintOutcome::Found(found, _) => {
                run.findings = found.len();
                let is_partial = run.exit_code.is_some_and(|code| choice.is_partial(code));
                run.error = is_partial
                    .then(|| "these errors stopped it early; there may be more".to_owned());
                self.findings.extend(found);
                self.has_run = true;
            }
            LintOutcome::Missing => {
                run.error = Some("it is not installed".to_owned());
                run.install = Some(choice.install.clone());
            }
            LintOutcome::Failed(why) => run.error = Some(why),
            LintOutcome::TimedOut => {
                self.timed_out = true;
                run.error = Some("it timed out and was killed".to_owned());
            }
        }
        self.runs.push(run);
        Ok(())
    }

    /// Lets the linter apply its fixes; returns whether it ran.
    async fn apply_fixes(
        &mut self,
        desk: &CheckContext<'_>,
        choice: &ChosenLinter,
        found: &[LintFinding],
        words: &[String],
    ) -> Result<bool, ToolError> {
        let Some(program) = &choice.program else { return Ok(false) };
        let cwd = desk.cx.working_dir.cwd();
        let files: BTreeSet<PathBuf> = found.iter().map(|f| cwd.join(&f.file)).collect();
        if files.is_empty() {
            return Ok(false);
        }
        if files.len() > MAX_COMPARED_FILES {
            self.notes
                .push(format!("Of {} files, {MAX_COMPARED_FILES} were compared.", files.len()));
        }
        let mut before = Vec::new();
        for file in files.iter().take(MAX_COMPARED_FILES) {
            before.push((file, desk.read(file).await?));
        }
        let ran = desk.run(program, words, &choice.dir, StdinSource::Empty).await?;
        if ran.exit.is_none() {
            self.timed_out = true;
        }
        let mut is_changed = false;
        for (file, old) in before {
            if let (Some(old), Some(new)) = (old, desk.read(file).await?) {
                is_changed |= old != new;
                self.changes.add(&desk.display_path(file), &old, &new);
            }
        }
        // Exit code 1 means that findings remain.
        if !is_changed && !matches!(ran.exit_code(), 0 | 1) {
            let why = ran.error_excerpt();
            self.notes.push(format!("{} could not fix anything: {why}", choice.linter.name));
        }
        Ok(true)
    }

    /// Returns an error if every linter failed.
    pub(super) fn refuse_if_nothing_ran(&self, choices: &[ChosenLinter]) -> Result<(), ToolError> {
        if self.has_run {
            return Ok(());
        }
        let failed = self.runs.iter().find(|run| run.install.is_none());
        if let Some(run) = failed {
            let kind = if self.timed_out { ErrorKind::Timeout } else { ErrorKind::Conflict };
            let why = run.error.as_deref().unwrap_or_default();
            let message = format!("{} could not check the code: {why}", run.tool);
            let error = ToolError::new(kind, message).with("command", run.command.clone());
            return Err(if self.timed_out {
                error
            } else {
                error.with_hint("Fix what it reports, or choose another linter with 'tool'.")
            });
        }
        let Some(first) = choices.first() else { return Ok(()) };
        let all: Vec<&str> = choices.iter().map(|choice| choice.install.as_str()).collect();
        Err(checks::not_installed_error(first.linter.name, &all.join(" ; ")))
    }
}

/// Runs a linter once. Reports paths relative to the working directory, and
/// keeps only findings within the path.
pub(super) async fn run_linter(
    desk: &CheckContext<'_>,
    choice: &ChosenLinter,
    run: &mut LinterRun,
) -> Result<LintOutcome, ToolError> {
    let Some(program) = &choice.program else { return Ok(LintOutcome::Missing) };
    let words = choice.args();
    run.command = desk.command_line(program, &words);
    let ran = desk.run(program, &words, &choice.dir, StdinSource::Empty).await?;
    run.seconds = Some(checks::rounded_seconds(ran.elapsed) + run.seconds.unwrap_or_default());
    run.exit_code = Some(ran.exit_code());
    Ok(interpret_output(desk, choice, &ran))
}

fn interpret_output(
    desk: &CheckContext<'_>,
    choice: &ChosenLinter,
    ran: &ProgramRun,
) -> LintOutcome {
    if ran.exit.is_none() {
        return LintOutcome::TimedOut;
    }
    if checks::is_not_installed(ran) {
        return LintOutcome::Missing;
    }
    if ran.is_truncated {
        return LintOutcome::Failed("its output is too large; give a smaller path".to_owned());
    }
    let said = CheckOutput { stdout: &ran.stdout, stderr: &ran.stderr, report: "" };
    let Some(mut found) = choice.parse(&said, ran.exit_code()) else {
        return LintOutcome::Failed(format!(
            "exit code {}: {}",
            ran.exit_code(),
            ran.error_excerpt()
        ));
    };
    found.retain_mut(|finding| {
        let path = desk.survey.resolve_path(&finding.file, &choice.dir);
        finding.file = desk.display_path(&path);
        !choice.is_whole_project() || hermes_checks::is_within(&path, &desk.path)
    });
    hermes_checks::sort_findings(&mut found);
    LintOutcome::Found(found, choice.edits(&said))
}
