//! Reads the instructions and files of a skill, only from its own directory.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use hermes_files::{WalkMode, open_dir, real_path};

use crate::error::SkillError;
use crate::manifest;
use crate::skill::{Skill, SkillNote};
use crate::threat;

/// Maximum size of a `SKILL.md`, in characters and bytes.
const MAX_SKILL_CHARS: usize = 100_000;
const MAX_SKILL_BYTES: usize = 4 * MAX_SKILL_CHARS;
/// Maximum size of any other file.
const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;

/// The instructions of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillInstructions {
    /// The text after the front matter.
    pub body: String,
}

/// The content of a skill file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillFileContent {
    /// Text without threats.
    Text(String),
    /// Binary content.
    Binary(Vec<u8>),
}

impl Skill {
    /// Reads the current instructions and expands placeholders, if the settings
    /// allow it.
    pub fn instructions(&self, session: Option<&str>) -> Result<SkillInstructions, SkillError> {
        self.require_ready()?;
        let text = self.skill_file_text()?;
        let dir =
            self.display_dir.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let read = manifest::parse(&text, &dir).map_err(|fault| SkillError::Unusable {
            name: self.manifest.name.clone(),
            why: SkillNote::at_line(fault.line, fault.what).to_string(),
        })?;
        let mut body = read.body.trim().to_owned();
        if self.expands_vars {
            body = body.replace("${HERMES_SKILL_DIR}", &self.dir.to_string_lossy());
            if let Some(session) = session {
                body = body.replace("${HERMES_SESSION_ID}", session);
            }
        }
        Ok(SkillInstructions { body })
    }

    /// Reads a file by its path relative to the skill's directory; `SKILL.md`
    /// is one of them.
    pub fn read(&self, path: &str) -> Result<SkillFileContent, SkillError> {
        self.require_ready()?;
        let relative = checked_relative(path)?;
        if relative == Path::new(self.file) {
            return self.skill_file_text().map(SkillFileContent::Text);
        }
        let bytes = match open_below(&self.dir, &relative)
            .and_then(|f| read_at_most(f, MAX_FILE_BYTES))
        {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                return Err(SkillError::TooLong { file: path.to_owned(), most: MAX_FILE_BYTES });
            }
            Err(error) => return Err(self.file_error(path, error)),
        };
        if bytes.contains(&0) {
            return Ok(SkillFileContent::Binary(bytes));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(SkillFileContent::Text(self.reject_threats(path, text)?)),
            Err(error) => Ok(SkillFileContent::Binary(error.into_bytes())),
        }
    }

    /// Returns the path of a file of the skill.
    pub fn file_path(&self, path: &str) -> Result<PathBuf, SkillError> {
        Ok(self.dir.join(checked_relative(path)?))
    }

    /// Reads its `SKILL.md`, including the front matter.
    fn skill_file_text(&self) -> Result<String, SkillError> {
        let text = read_skill_file(&self.dir, self.file).map_err(|note| SkillError::Unusable {
            name: self.manifest.name.clone(),
            why: note.to_string(),
        })?;
        self.reject_threats(self.file, text)
    }

    fn reject_threats(&self, file: &str, text: String) -> Result<String, SkillError> {
        match threat::find_threat(&text).filter(|_| !self.is_trusted) {
            None => Ok(text),
            Some(threat) => Err(SkillError::Threat {
                name: self.manifest.name.clone(),
                file: file.to_owned(),
                threat,
            }),
        }
    }

    fn file_error(&self, path: &str, error: io::Error) -> SkillError {
        if error.get_ref().is_some_and(|inner| inner.is::<LinkEscapesError>()) {
            return SkillError::Outside { path: path.to_owned(), why: LEADS_OUT };
        }
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => SkillError::NoFile {
                name: self.manifest.name.clone(),
                path: path.to_owned(),
                files: self.files.clone(),
            },
            _ => SkillError::Io { file: path.to_owned(), source: error },
        }
    }
}

/// Reads the text of a `SKILL.md`, or returns what is wrong with it.
pub(crate) fn read_skill_file(dir: &Path, file: &str) -> Result<String, SkillNote> {
    let opened =
        open_below(dir, Path::new(file)).and_then(|file| read_at_most(file, MAX_SKILL_BYTES));
    let too_long = || SkillNote::new(format!("it has more than {MAX_SKILL_CHARS} characters"));
    let bytes = match opened {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Err(too_long()),
        Err(error) => return Err(SkillNote::new(format!("it cannot be read: {error}"))),
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        let (valid, _) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
        let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
        SkillNote::at_line(line, "it is not UTF-8 text")
    })?;
    if let Some(at) = text.find('\0') {
        let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        return Err(SkillNote::at_line(line, "it is not a text file"));
    }
    if text.chars().count() > MAX_SKILL_CHARS {
        return Err(too_long());
    }
    Ok(text)
}

/// Checks that a path may be one of a skill file.
fn checked_relative(path: &str) -> Result<PathBuf, SkillError> {
    let outside = |why| SkillError::Outside { path: path.to_owned(), why };
    let said = path.strip_prefix("./").unwrap_or(path);
    if said.is_empty() || said.contains(['\0', '\\']) {
        return Err(outside("expected a path below the skill's directory"));
    }
    let mut clean = PathBuf::new();
    for part in Path::new(said).components() {
        match part {
            Component::Normal(name) if name.to_string_lossy().starts_with('.') => {
                return Err(outside("hidden files are not allowed"));
            }
            Component::Normal(name) => clean.push(name),
            _ => return Err(outside("expected a path below the skill's directory")),
        }
    }
    Ok(clean)
}

const LEADS_OUT: &str = "it is a symlink that leads out of the skill's directory";

/// A symlink in the path leads out of the directory.
#[derive(Debug, thiserror::Error)]
#[error("{LEADS_OUT}")]
struct LinkEscapesError;

/// Opens a file below a canonical directory. Symlinks are followed if they stay
/// inside; the resolved path is then opened from the directory handle without
/// following symlinks, so it cannot be swapped in between.
fn open_below(dir: &Path, relative: &Path) -> io::Result<File> {
    let real = real_path(&dir.join(relative))?;
    let rest = real.strip_prefix(dir).map_err(|_| io::Error::other(LinkEscapesError))?;
    open_dir(dir, WalkMode::default())?.open(rest)
}

/// Reads a whole file; None if it exceeds `most` bytes.
fn read_at_most(file: File, most: usize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= most).then_some(bytes))
}
