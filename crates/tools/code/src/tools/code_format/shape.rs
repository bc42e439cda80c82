//! Formatters at work.

use std::path::{Path, PathBuf};

use hermes_checks::CheckOutput;
use hermes_checks::format::ChosenFormatter;
use hermes_core::{ErrorKind, ToolError};
use hermes_exec::StdinSource;

use super::Broken;
use crate::checks::{Changes, Desk, is_missing, missing};
use crate::program::Ran;

/// Files that are formatted one by one.
const ONE_BY_ONE: usize = 500;
/// Files whose difference is shown when nothing is to be changed.
const SHOWN: usize = 60;
/// Files whose names are given to one command.
const NAMES: usize = 200;

/// The formatting of a path.
#[derive(Debug)]
pub(super) struct Shaping<'a> {
    desk: &'a Desk<'a>,
    check: bool,
    pub(super) changes: Changes,
    pub(super) broken: Vec<Broken>,
    /// Files that are not as they should be, or were not looked at.
    pub(super) left: usize,
    pub(super) notes: Vec<String>,
}

impl<'a> Shaping<'a> {
    pub(super) fn new(desk: &'a Desk<'a>, check: bool) -> Self {
        let (changes, broken, notes) = (Changes::default(), Vec::new(), Vec::new());
        Self { desk, check, changes, broken, left: 0, notes }
    }

    /// Has a formatter at the files; how many are not, or were not, as they
    /// should be.
    pub(super) async fn shape(
        &mut self,
        choice: &ChosenFormatter,
        program: &Path,
    ) -> Result<usize, ToolError> {
        let Some(words) = choice.check_args() else {
            return self.one_by_one(choice, program, &choice.files, true).await;
        };
        let ran = self.run(program, &words, choice, StdinSource::Empty).await?;
        let said = CheckOutput { stdout: &ran.stdout, stderr: &ran.stderr, report: "" };
        let listed = choice.parse_check(&said);
        if ran.code() != 0 && listed.files.is_empty() && listed.unparsable.is_empty() {
            return Err(failed(choice, &ran));
        }
        let place = |name: &String| self.desk.survey.resolve_path(name, &choice.dir);
        let mut files: Vec<PathBuf> = listed.files.iter().map(place).collect();
        // A formatter may follow a file to others.
        files.retain(|file| file.starts_with(&self.desk.path) && choice.covers_file(file));
        files.sort();
        files.dedup();
        for (name, why) in listed.unparsable.iter().filter(|(name, _)| choice.covers_file(&place(name))) {
            let file = self.desk.show(&place(name));
            if !self.broken.iter().any(|broken| broken.file == file) {
                self.broken.push(Broken { file, error: why.clone() });
            }
        }
        // A list of lines cannot name them.
        let odd =
            choice.files.iter().filter(|file| file.as_os_str().as_encoded_bytes().contains(&b'\n'));
        let odd: Vec<PathBuf> = odd.cloned().collect();
        let wrong = self.one_by_one(choice, program, &odd, true).await?;
        if self.check || choice.write_args(&[]).is_none() {
            return Ok(wrong + self.one_by_one(choice, program, &files, false).await?);
        }
        Ok(wrong + self.in_place(choice, program, &files).await?)
    }

    /// The formatter changes the files itself.
    async fn in_place(
        &mut self,
        choice: &ChosenFormatter,
        program: &Path,
        files: &[PathBuf],
    ) -> Result<usize, ToolError> {
        for some in files.chunks(NAMES) {
            let mut before = Vec::new();
            for file in some {
                before.push((file, self.desk.read(file).await?));
            }
            let words = choice.write_args(some).unwrap_or_default();
            let ran = self.run(program, &words, choice, StdinSource::Empty).await?;
            let mut is_changed = false;
            for (file, old) in before {
                if let (Some(old), Some(new)) = (old, self.desk.read(file).await?) {
                    is_changed |= old != new;
                    self.left += usize::from(old == new);
                    self.changes.add(&self.desk.show(file), &old, &new);
                }
            }
            if ran.code() != 0 && !is_changed {
                return Err(failed(choice, &ran));
            }
        }
        Ok(files.len())
    }

    /// Each file goes through the formatter; `all` if it is not known yet
    /// whether that changes it.
    async fn one_by_one(
        &mut self,
        choice: &ChosenFormatter,
        program: &Path,
        files: &[PathBuf],
        all: bool,
    ) -> Result<usize, ToolError> {
        let most = if self.check && !all { SHOWN } else { ONE_BY_ONE };
        if files.len() > most {
            let what = if all { "looked at" } else { "compared" };
            self.notes.push(format!("Of {} files, {most} were {what}.", files.len()));
            let rest = files.get(most..).unwrap_or_default().iter().filter(|_| !all);
            self.notes.extend(rest.take(100).map(|file| self.desk.show(file)));
        }
        let unseen = files.len().saturating_sub(most);
        let mut wrong = if all { 0 } else { unseen };
        self.left += unseen;
        for (at, file) in files.iter().take(most).enumerate() {
            self.desk.cx.check_cancelled()?;
            self.desk.cx.report_progress(Some(at as f64 / files.len() as f64), self.desk.show(file));
            let Some(old) = self.desk.read(file).await? else { continue };
            let words = choice.filter_args(file);
            let ran = self.run(program, &words, choice, StdinSource::Bytes(old.clone())).await?;
            let new = ran.stdout_bytes();
            // Nothing comes out of what cannot be parsed.
            if ran.code() != 0 || (new.is_empty() && !old.trim_ascii().is_empty()) {
                self.broken.push(Broken { file: self.desk.show(file), error: ran.complaint() });
                continue;
            }
            if new == old {
                continue;
            }
            wrong += 1;
            if self.check {
                self.left += 1;
            } else {
                self.desk.write(file, &old, &new).await?;
            }
            self.changes.add(&self.desk.show(file), &old, &new);
        }
        Ok(wrong)
    }

    async fn run(
        &self,
        program: &Path,
        words: &[String],
        choice: &ChosenFormatter,
        input: StdinSource,
    ) -> Result<Ran, ToolError> {
        let ran = self.desk.run(program, words, &choice.dir, input).await?;
        if ran.exit.is_none() {
            let name = choice.formatter.name;
            return Err(ToolError::new(ErrorKind::Timeout, format!("{name} took too long")));
        }
        if is_missing(&ran) {
            return Err(missing(choice.formatter.name, &choice.install));
        }
        Ok(ran)
    }
}

fn failed(choice: &ChosenFormatter, ran: &Ran) -> ToolError {
    let (name, code) = (choice.formatter.name, ran.code());
    ToolError::conflict(format!("{name} ended with {code}: {}", ran.complaint()))
}
