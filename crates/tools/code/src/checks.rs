//! Shared parts of the code checking tools: path resolution, the project
//! survey, and results of programs.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_checks::{ProjectSurvey, SURVEY_SCRIPT, SurveyError};
use hermes_core::ids::unique_id;
use hermes_core::text::shell_word;
use hermes_core::{Effect, ErrorKind, Resource, Scope, ToolContext, ToolError, WorkingDir};
use hermes_exec::StdinSource;
use hermes_files::{ExistingFile, FileAccess, FileChange};
use serde::Serialize;

use crate::program::{ProgramCommand, ProgramRun, ProgramRunner};

/// Timeout of the project survey.
const SURVEY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a call waits for a file lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest file whose content is compared.
const MAX_COMPARED_BYTES: u64 = 4 * 1024 * 1024;

/// Returns the path of a call, and the directory in or below which its programs
/// run: the working directory for paths inside it.
pub(crate) fn resolve_paths(at: &WorkingDir, path: Option<&str>) -> (PathBuf, PathBuf) {
    let path = at.resolve(path.unwrap_or("."));
    if path.starts_with(at.cwd()) {
        return (path, at.cwd().to_owned());
    }
    // Judged by the name alone: a path with an extension is a file.
    let is_file = path.extension().is_some();
    let top = if is_file { path.parent().unwrap_or(&path).to_owned() } else { path.clone() };
    (path, top)
}

/// Returns the effects of running a program on this path.
pub(crate) fn effects(at: &WorkingDir, path: Option<&str>, writes: bool) -> Vec<Effect> {
    let (path, top) = resolve_paths(at, path);
    let mut effects =
        vec![Effect::path(Scope::CODE_EXECUTE, top), Effect::path(Scope::FILE_READ, &path)];
    if writes {
        effects.push(Effect::path(Scope::FILE_WRITE, path));
    }
    effects
}

/// State of one check call.
#[derive(Debug)]
pub(crate) struct CheckContext<'a> {
    pub(crate) cx: &'a ToolContext,
    pub(crate) runner: ProgramRunner<'a>,
    pub(crate) survey: ProjectSurvey,
    pub(crate) path: PathBuf,
    /// When the call times out.
    pub(crate) deadline: Instant,
}

impl<'a> CheckContext<'a> {
    /// Returns the error for a path whose files match no such tool.
    pub(crate) fn no_tool_error<'n>(
        &self,
        what: &str,
        names: impl Iterator<Item = &'n str>,
    ) -> ToolError {
        let path = self.display_path(&self.path);
        ToolError::not_found(format!("No {what} was found for {path}")).with_hint(format!(
            "Its files configure none and have no default. Give another path, or 'tool': {}.",
            names.collect::<Vec<_>>().join(", ")
        ))
    }

    /// Surveys the project around a path.
    pub(crate) async fn open(
        cx: &'a ToolContext,
        path: Option<&str>,
        limit: Duration,
    ) -> Result<Self, ToolError> {
        let (path, top) = resolve_paths(&cx.working_dir, path);
        cx.check_grant(&Scope::CODE_EXECUTE, &Resource::Path(top.clone()))?;
        cx.check_grant(&Scope::FILE_READ, &Resource::Path(path.clone()))?;
        let limit = cx.remaining().map_or(limit, |left| left.mul_f64(0.95).min(limit));
        let until = Instant::now() + limit;
        let bench = ProgramRunner::for_call(cx).await?.without_colors();
        let marker = unique_id();
        let words = [OsString::from("-c"), SURVEY_SCRIPT.into(), "sh".into()];
        let ran = bench
            .run(ProgramCommand {
                name: "project survey",
                program: "sh".into(),
                arguments: words
                    .into_iter()
                    .chain(ProjectSurvey::arguments(&marker, &top, &path))
                    .collect(),
                directory: cx.working_dir.cwd(),
                input: StdinSource::Empty,
                deadline: until.min(Instant::now() + SURVEY_TIMEOUT),
            })
            .await?;
        let survey = ProjectSurvey::parse(&marker, &ran.raw).map_err(|unseen| match unseen {
            SurveyError::Missing => {
                ToolError::not_found(format!("No such file or directory: {}", path.display()))
            }
            SurveyError::Unparsable => ToolError::internal(format!(
                "The project survey of {} failed: {}",
                path.display(),
                ran.error_excerpt()
            )),
        })?;
        Ok(Self { cx, runner: bench, survey, path, deadline: until })
    }

    /// Runs a program with these arguments.
    pub(crate) async fn run(
        &self,
        program: &Path,
        words: &[String],
        dir: &Path,
        input: StdinSource,
    ) -> Result<ProgramRun, ToolError> {
        let name = program.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        self.runner
            .run(ProgramCommand {
                name: &name,
                program: program.into(),
                arguments: words.iter().map(OsString::from).collect(),
                directory: dir,
                input,
                deadline: self.deadline,
            })
            .await
    }

    /// Returns a path relative to the working directory, if it is inside.
    pub(crate) fn display_path(&self, path: &Path) -> String {
        let cwd = self.cx.working_dir.cwd();
        match path.strip_prefix(cwd) {
            Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
            Ok(rest) => rest.display().to_string(),
            Err(_) => path.display().to_string(),
        }
    }

    /// Formats the command as a user would type it.
    pub(crate) fn command_line(&self, program: &Path, words: &[String]) -> String {
        const MAX_COMMAND_CHARS: usize = 300;
        let name = match self.survey.programs.values().any(|known| known == program) {
            true => program.file_name().map_or(program, Path::new),
            false => program,
        };
        let words = [self.display_path(name)].into_iter().chain(words.iter().cloned());
        let text = words.map(|word| shell_word(&word).into_owned()).collect::<Vec<_>>().join(" ");
        match text.char_indices().nth(MAX_COMMAND_CHARS) {
            Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
            None => text,
        }
    }

    /// Reads a file; none if it does not exist or is too large.
    pub(crate) async fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, ToolError> {
        if self.runner.is_local() {
            return self.read_local(path);
        }
        let words = [
            "-c".to_owned(),
            format!("head -c {} -- \"$1\"", MAX_COMPARED_BYTES + 1),
            "sh".to_owned(),
        ];
        let words: Vec<_> = words.into_iter().chain([path.display().to_string()]).collect();
        let ran =
            self.run(Path::new("sh"), &words, self.survey.base_dir(), StdinSource::Empty).await?;
        Ok(Some(ran.raw)
            .filter(|bytes| ran.exit.is_some_and(|e| e.code() == 0) && is_comparable(bytes)))
    }

    /// Writes a file if its content is still `old`.
    pub(crate) async fn write(&self, file: &Path, old: &[u8], new: &[u8]) -> Result<(), ToolError> {
        let changed = || {
            let name = self.display_path(file);
            ToolError::conflict(format!("{name} was changed by another process during the call"))
        };
        if !self.runner.is_local() {
            let words = [
                "-c".to_owned(),
                "cat > \"$1\"".to_owned(),
                "sh".to_owned(),
                file.display().to_string(),
            ];
            if self.read(file).await?.as_deref() != Some(old) {
                return Err(changed());
            }
            let here = self.survey.base_dir();
            let input = StdinSource::Bytes(new.to_vec());
            let ran = self.run(Path::new("sh"), &words, here, input).await?;
            return match ran.exit_code() {
                0 => Ok(()),
                _ => Err(ToolError::conflict(ran.error_excerpt())),
            };
        }
        let cx = self.cx;
        let hold = FileAccess::new(cx).lock(&[file], LOCK_TIMEOUT, &cx.cancel)?;
        if hold.read(file)?.as_deref() != Some(old) {
            return Err(changed());
        }
        let (path, bytes) = (file.to_owned(), new.to_vec().into());
        hold.change(&[FileChange::Write { path, bytes, existing: ExistingFile::Replace }])?;
        Ok(())
    }

    fn read_local(&self, path: &Path) -> Result<Option<Vec<u8>>, ToolError> {
        let file = match FileAccess::new(self.cx).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(MAX_COMPARED_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| ToolError::io(path.display(), &error))?;
        Ok(Some(bytes).filter(|bytes| is_comparable(bytes)))
    }
}

fn is_comparable(bytes: &[u8]) -> bool {
    bytes.len() as u64 <= MAX_COMPARED_BYTES
}

/// A file that a call changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ChangedFile {
    pub(crate) file: String,
    pub(crate) lines_added: usize,
    pub(crate) lines_removed: usize,
}

/// Changed files and their diffs, up to a size limit.
#[derive(Debug, Default)]
pub(crate) struct FileChanges {
    pub(crate) files: Vec<ChangedFile>,
    pub(crate) diff: String,
    /// Number of files whose diff did not fit.
    pub(crate) unshown: usize,
}

/// Maximum size of all diffs in bytes.
const MAX_DIFF_BYTES: usize = 20_000;

impl FileChanges {
    /// Adds a file if it changed.
    pub(crate) fn add(&mut self, name: &str, before: &[u8], after: &[u8]) {
        use hermes_text::diff::{DiffLayout, DiffOptions, TextDiff};
        if before == after {
            return;
        }
        let (old, new) = (String::from_utf8_lossy(before), String::from_utf8_lossy(after));
        let diff = TextDiff::new(&old, &new, &DiffOptions::default());
        let stat = diff.stat();
        self.files.push(ChangedFile {
            file: name.to_owned(),
            lines_added: stat.added,
            lines_removed: stat.removed,
        });
        let (old_name, new_name) = (format!("a/{name}"), format!("b/{name}"));
        let limit = MAX_DIFF_BYTES.saturating_sub(self.diff.len());
        let layout =
            DiffLayout { limit, line_limit: 500, ..DiffLayout::full(&old_name, &new_name) };
        let shown = diff.unified(&layout);
        if limit < 200 || (shown.omitted_lines > 0 && !self.diff.is_empty()) {
            self.unshown += 1;
            return;
        }
        self.diff.push_str(&shown.text);
        if shown.omitted_lines > 0 {
            self.diff.push_str(&format!("({} more lines)\n", shown.omitted_lines));
        }
    }
}

/// Returns the error for a tool that is not installed.
pub(crate) fn not_installed_error(name: &str, install: &str) -> ToolError {
    ToolError::unavailable(format!("{name} is not installed"))
        .with_hint(format!("Install it with: {install}"))
        .with("tool", name)
        .with("install", install)
}

/// Whether the outcome shows that the program is not installed: a shim without
/// a target, or a toolchain without this component.
pub(crate) fn is_not_installed(ran: &ProgramRun) -> bool {
    ran.exit_code() == 127 || ran.stderr.contains("is not installed for the toolchain")
}

/// Returns the error for an unknown tool name.
pub(crate) fn unknown_tool_error(name: &str, all: &[&str]) -> ToolError {
    ToolError::invalid(format!("No tool '{name}' is supported here"))
        .with_hint(format!("Omit 'tool', or give one of: {}.", all.join(", ")))
}

/// Returns a timeout in seconds, clamped to a sensible range.
pub(crate) fn time_limit(seconds: Option<u64>, usual: u64) -> Duration {
    Duration::from_secs(seconds.unwrap_or(usual).clamp(1, 3_600))
}

/// Returns seconds rounded for display.
pub(crate) fn rounded_seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 100.0).round() / 100.0
}

pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
