//! Runs formatters on files.

use std::path::{Path, PathBuf};

use hermes_checks::CheckOutput;
use hermes_checks::format::ChosenFormatter;
use hermes_core::{ErrorKind, ToolError};
use hermes_exec::StdinSource;

use super::FormatFailure;
use crate::checks::{CheckContext, FileChanges, is_not_installed, not_installed_error};
use crate::program::ProgramRun;

/// Maximum number of files formatted one by one.
const MAX_PIPED_FILES: usize = 500;
/// Maximum number of files diffed in check mode.
const MAX_DIFFED_FILES: usize = 60;
/// Number of file names passed to one command.
const FILES_PER_COMMAND: usize = 200;

/// One formatting pass over a path.
#[derive(Debug)]
pub(super) struct FormatPass<'a> {
    context: &'a CheckContext<'a>,
    check: bool,
    pub(super) changes: FileChanges,
    pub(super) failures: Vec<FormatFailure>,
    /// Files that are not formatted, or were not checked.
    pub(super) unformatted: usize,
    pub(super) notes: Vec<String>,
}

impl<'a> FormatPass<'a> {
    pub(super) fn new(desk: &'a CheckContext<'a>, check: bool) -> Self {
        let (changes, broken, notes) = (FileChanges::default(), Vec::new(), Vec::new());
        Self { context: desk, check, changes, failures: broken, unformatted: 0, notes }
    }

    /// Runs a formatter on its files; returns how many are or were not
    /// formatted.
    pub(super) async fn format_files(
        &mut self,
        choice: &ChosenFormatter,
        program: &Path,
    ) -> Result<usize, ToolError> {
        let Some(words) = choice.check_args() else {
            return self.format_each(choice, program, &choice.files, true).await;
        };
        let ran = self.run(program, &words, choice, StdinSource::Empty).await?;
        let said = CheckOutput { stdout: &ran.stdout, stderr: &ran.stderr, report: "" };
        let listed = choice.parse_check(&said);
        if ran.exit_code() != 0 && listed.files.is_empty() && listed.unparsable.is_empty() {
            return Err(formatter_error(choice, &ran));
        }
        let place = |name: &String| self.context.survey.resolve_path(name, &choice.dir);
        let mut files: Vec<PathBuf> = listed.files.iter().map(place).collect();
        // A formatter may follow a file to other files.
        files.retain(|file| file.starts_with(&self.context.path) && choice.covers_file(file));
        files.sort();
        files.dedup();
        for (name, why) in
            listed.unparsable.iter().filter(|(name, _)| choice.covers_file(&place(name)))
        {
            let file = self.context.display_path(&place(name));
            if !self.failures.iter().any(|broken| broken.file == file) {
                self.failures.push(FormatFailure { file, error: why.clone() });
            }
        }
        // The formatter lists one path per line, so it cannot list these.
        let odd =
            choice.files.iter().filter(|file| file.as_os_str().as_encoded_bytes().contains(&b'\n'));
        let odd: Vec<PathBuf> = odd.cloned().collect();
        let wrong = self.format_each(choice, program, &odd, true).await?;
        if self.check || choice.write_args(&[]).is_none() {
            return Ok(wrong + self.format_each(choice, program, &files, false).await?);
        }
        Ok(wrong + self.format_in_place(choice, program, &files).await?)
    }

    /// Lets the formatter rewrite the files itself.
    async fn format_in_place(
        &mut self,
        choice: &ChosenFormatter,
        program: &Path,
        files: &[PathBuf],
    ) -> Result<usize, ToolError> {
        for some in files.chunks(FILES_PER_COMMAND) {
            let mut before = Vec::new();
            for file in some {
                before.push((file, self.context.read(file).await?));
            }
            let words = choice.write_args(some).unwrap_or_default();
            let ran = self.run(program, &words, choice, StdinSource::Empty).await?;
            let mut is_changed = false;
            for (file, old) in before {
                if let (Some(old), Some(new)) = (old, self.context.read(file).await?) {
                    is_changed |= old != new;
                    self.unformatted += usize::from(old == new);
                    self.changes.add(&self.context.display_path(file), &old, &new);
                }
            }
            if ran.exit_code() != 0 && !is_changed {
                return Err(formatter_error(choice, &ran));
            }
        }
        Ok(files.len())
    }

    /// Pipes each file through the formatter. `all` means it is unknown which
    /// files change.
    async fn format_each(
        &mut self,
        choice: &ChosenFormatter,
        program: &Path,
        files: &[PathBuf],
        all: bool,
    ) -> Result<usize, ToolError> {
        let most = if self.check && !all { MAX_DIFFED_FILES } else { MAX_PIPED_FILES };
        if files.len() > most {
            let what = if all { "checked" } else { "compared" };
            self.notes.push(format!("Of {} files, {most} were {what}.", files.len()));
            let rest = files.get(most..).unwrap_or_default().iter().filter(|_| !all);
            self.notes.extend(rest.take(100).map(|file| self.context.display_path(file)));
        }
        let unseen = files.len().saturating_sub(most);
        let mut wrong = if all { 0 } else { unseen };
        self.unformatted += unseen;
        for (at, file) in files.iter().take(most).enumerate() {
            self.context.cx.check_cancelled()?;
            self.context.cx.report_progress(
                Some(at as f64 / files.len() as f64),
                self.context.display_path(file),
            );
            let Some(old) = self.context.read(file).await? else { continue };
            let words = choice.filter_args(file);
            let ran = self.run(program, &words, choice, StdinSource::Bytes(old.clone())).await?;
            let new = ran.stdout_bytes();
            // A formatter prints nothing for a file it cannot parse.
            if ran.exit_code() != 0 || (new.is_empty() && !old.trim_ascii().is_empty()) {
                self.failures.push(FormatFailure {
                    file: self.context.display_path(file),
                    error: ran.error_excerpt(),
                });
                continue;
            }
            if new == old {
                continue;
            }
            wrong += 1;
            if self.check {
                self.unformatted += 1;
            } else {
                self.context.write(file, &old, &new).await?;
            }
            self.changes.add(&self.context.display_path(file), &old, &new);
        }
        Ok(wrong)
    }

    async fn run(
        &self,
        program: &Path,
        words: &[String],
        choice: &ChosenFormatter,
        input: StdinSource,
    ) -> Result<ProgramRun, ToolError> {
        let ran = self.context.run(program, words, &choice.dir, input).await?;
        if ran.exit.is_none() {
            let name = choice.formatter.name;
            return Err(ToolError::new(ErrorKind::Timeout, format!("{name} timed out")));
        }
        if is_not_installed(&ran) {
            return Err(not_installed_error(choice.formatter.name, &choice.install));
        }
        Ok(ran)
    }
}

fn formatter_error(choice: &ChosenFormatter, ran: &ProgramRun) -> ToolError {
    let (name, code) = (choice.formatter.name, ran.exit_code());
    ToolError::conflict(format!("{name} exited with code {code}: {}", ran.error_excerpt()))
}
