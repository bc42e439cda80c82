//! Reading what belongs to a skill: its instructions and its files, from its own folder and no other.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use hermes_files::{WalkMode, open_dir, real_path};

use crate::error::SkillError;
use crate::head;
use crate::skill::{Note, Skill};
use crate::threat;

/// The most of a `SKILL.md`: characters, and the bytes that they may take.
const MOST_CHARS: usize = 100_000;
const MOST_BYTES: usize = 4 * MOST_CHARS;
/// The most bytes of another file.
const MOST_OF_FILE: usize = 4 * 1024 * 1024;

/// The instructions of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// What stands below the fields.
    pub body: String,
}

/// What a file of a skill holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Text, in which nothing was found.
    Text(String),
    /// Something else.
    Binary(Vec<u8>),
}

impl Skill {
    /// Its instructions as they are now, with the names filled in that the settings let it use.
    pub fn text(&self, session: Option<&str>) -> Result<Text, SkillError> {
        self.require_ready()?;
        let text = self.whole()?;
        let folder = self.shown.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let read = head::read(&text, &folder).map_err(|fault| SkillError::Unusable {
            name: self.head.name.clone(),
            why: Note::at(fault.line, fault.what).to_string(),
        })?;
        let mut body = read.body.trim().to_owned();
        if self.fills_in {
            body = body.replace("${HERMES_SKILL_DIR}", &self.folder.to_string_lossy());
            if let Some(session) = session {
                body = body.replace("${HERMES_SESSION_ID}", session);
            }
        }
        Ok(Text { body })
    }

    /// One of its files by its path relative to the folder; its own file is one of them.
    pub fn read(&self, path: &str) -> Result<Content, SkillError> {
        self.require_ready()?;
        let relative = relative(path)?;
        if relative == Path::new(self.file) {
            return self.whole().map(Content::Text);
        }
        let bytes = match open_below(&self.folder, &relative).and_then(|f| take(f, MOST_OF_FILE)) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                return Err(SkillError::TooLong { file: path.to_owned(), most: MOST_OF_FILE });
            }
            Err(error) => return Err(self.refused(path, error)),
        };
        if bytes.contains(&0) {
            return Ok(Content::Binary(bytes));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Content::Text(self.screened(path, text)?)),
            Err(error) => Ok(Content::Binary(error.into_bytes())),
        }
    }

    /// Where one of its files is.
    pub fn place_of(&self, path: &str) -> Result<PathBuf, SkillError> {
        Ok(self.folder.join(relative(path)?))
    }

    /// Its own file, the fields as well.
    fn whole(&self) -> Result<String, SkillError> {
        let text = own_file(&self.folder, self.file).map_err(|note| SkillError::Unusable {
            name: self.head.name.clone(),
            why: note.to_string(),
        })?;
        self.screened(self.file, text)
    }

    fn screened(&self, file: &str, text: String) -> Result<String, SkillError> {
        match threat::find(&text).filter(|_| !self.is_trusted) {
            None => Ok(text),
            Some(threat) => Err(SkillError::Threat {
                name: self.head.name.clone(),
                file: file.to_owned(),
                threat,
            }),
        }
    }

    fn refused(&self, path: &str, error: io::Error) -> SkillError {
        if error.get_ref().is_some_and(|inner| inner.is::<LeadsOut>()) {
            return SkillError::Outside { path: path.to_owned(), why: LEADS_OUT };
        }
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => SkillError::NoFile {
                name: self.head.name.clone(),
                path: path.to_owned(),
                files: self.files.clone(),
            },
            _ => SkillError::Io { file: path.to_owned(), source: error },
        }
    }
}

/// The text of a skill's own file, or what is wrong with it.
pub(crate) fn own_file(folder: &Path, file: &str) -> Result<String, Note> {
    let opened = open_below(folder, Path::new(file)).and_then(|file| take(file, MOST_BYTES));
    let too_long = || Note::of(format!("it has more than {MOST_CHARS} characters"));
    let bytes = match opened {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Err(too_long()),
        Err(error) => return Err(Note::of(format!("it cannot be read: {error}"))),
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        let (valid, _) = error.as_bytes().split_at(error.utf8_error().valid_up_to());
        let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
        Note::at(line, "it is not UTF-8 text")
    })?;
    if let Some(at) = text.find('\0') {
        let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        return Err(Note::at(line, "it is not a text file"));
    }
    if text.chars().count() > MOST_CHARS {
        return Err(too_long());
    }
    Ok(text)
}

/// A path that a file of a skill may have.
fn relative(path: &str) -> Result<PathBuf, SkillError> {
    let outside = |why| SkillError::Outside { path: path.to_owned(), why };
    let said = path.strip_prefix("./").unwrap_or(path);
    if said.is_empty() || said.contains(['\0', '\\']) {
        return Err(outside("a path below the skill's folder is wanted"));
    }
    let mut clean = PathBuf::new();
    for part in Path::new(said).components() {
        match part {
            Component::Normal(name) if name.to_string_lossy().starts_with('.') => {
                return Err(outside("it is hidden"));
            }
            Component::Normal(name) => clean.push(name),
            _ => return Err(outside("a path below the skill's folder is wanted")),
        }
    }
    Ok(clean)
}

const LEADS_OUT: &str = "it is a link that leads out of the skill's folder";

/// A link on the way leads out.
#[derive(Debug, thiserror::Error)]
#[error("{LEADS_OUT}")]
struct LeadsOut;

/// Opens a file below a real folder. Links are followed as long as they stay there; what they led to is then
/// opened from the folder's own handle, with links refused, so that it cannot have moved away meanwhile.
fn open_below(folder: &Path, relative: &Path) -> io::Result<File> {
    let real = real_path(&folder.join(relative))?;
    let rest = real.strip_prefix(folder).map_err(|_| io::Error::other(LeadsOut))?;
    open_dir(folder, WalkMode::default())?.open(rest)
}

/// All of a file, none if that is too much.
fn take(file: File, most: usize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= most).then_some(bytes))
}
