//! Globs for names and for paths below a folder.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use crate::error::SearchError;

/// What is not meant as it stands, somewhere in a glob.
const GLOB_SPECIAL_CHARS: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// A glob for names, or for relative paths if it speaks of folders. A name
/// without wildcards is meant exactly.
#[derive(Debug, Clone)]
pub struct PathGlob {
    shape: GlobShape,
    on_path: bool,
    /// It names something that begins with a dot.
    pub(crate) names_hidden: bool,
}

/// What a glob comes down to. Most are so simple that comparing bytes will do.
#[derive(Debug, Clone)]
enum GlobShape {
    Exact(Box<[u8]>),
    /// A name that begins so.
    Prefix(Box<[u8]>),
    /// A name that ends so.
    Suffix(Box<[u8]>),
    Compiled(GlobMatcher),
}

impl PathGlob {
    /// Reads a glob.
    pub fn new(glob: &str, ignore_case: bool) -> Result<Self, SearchError> {
        let written = glob.strip_prefix("./").unwrap_or(glob);
        let written = written.trim_start_matches('/');
        let names_hidden =
            written.split('/').any(|part| part.len() > 1 && part.starts_with('.') && part != "..");
        // In any folder: then it is the name that counts.
        let name = written.strip_prefix("**/").filter(|name| is_name(name));
        let on_path = glob.contains('/') && name.is_none();
        let written = name.unwrap_or(written);
        let built = GlobBuilder::new(written)
            .literal_separator(true)
            .empty_alternates(true)
            .case_insensitive(ignore_case)
            .build();
        let matcher = built
            .map_err(|error| SearchError::Glob {
                glob: glob.to_owned(),
                reason: error.kind().to_string(),
            })?
            .compile_matcher();
        let simple = if ignore_case { None } else { GlobShape::from_simple(written, on_path) };
        Ok(Self { shape: simple.unwrap_or(GlobShape::Compiled(matcher)), on_path, names_hidden })
    }

    /// Whether a path relative to the root fits.
    pub fn matches(&self, relative: &Path) -> bool {
        let subject = if self.on_path { Some(relative.as_os_str()) } else { relative.file_name() };
        subject.is_some_and(|subject| self.shape.matches(subject))
    }

    /// The same where the name is at hand.
    pub(crate) fn matches_entry(&self, relative: &Path, name: &OsStr) -> bool {
        self.shape.matches(if self.on_path { relative.as_os_str() } else { name })
    }
}

impl GlobShape {
    /// That of a glob in which nothing but a star at one end is special.
    fn from_simple(glob: &str, on_path: bool) -> Option<Self> {
        let plain =
            |text: &str| (!text.contains(GLOB_SPECIAL_CHARS)).then(|| text.as_bytes().into());
        if let Some(whole) = plain(glob) {
            return Some(Self::Exact(whole));
        }
        if on_path {
            // A star does not stand for a slash.
            return None;
        }
        let end = glob.strip_prefix('*').and_then(plain).map(Self::Suffix);
        end.or_else(|| glob.strip_suffix('*').and_then(plain).map(Self::Prefix))
    }

    fn matches(&self, subject: &OsStr) -> bool {
        let bytes = subject.as_bytes();
        match self {
            Self::Exact(whole) => bytes == &**whole,
            Self::Prefix(start) => bytes.starts_with(start),
            Self::Suffix(end) => bytes.ends_with(end),
            Self::Compiled(matcher) => matcher.is_match(subject),
        }
    }
}

fn is_name(glob: &str) -> bool {
    !glob.is_empty() && !glob.contains('/')
}

/// The globs of a list that is written with commas; those inside of braces
/// and brackets belong to the glob.
pub fn split_globs(text: &str) -> Vec<String> {
    let mut globs = vec![String::new()];
    let mut depth = 0_usize;
    let mut escaped = false;
    for letter in text.chars() {
        let is_plain = escaped;
        escaped = letter == '\\' && !is_plain;
        match letter {
            '{' | '[' if !is_plain => depth += 1,
            '}' | ']' if !is_plain => depth = depth.saturating_sub(1),
            ',' if depth == 0 && !is_plain => {
                globs.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = globs.last_mut() {
            last.push(letter);
        }
    }
    globs.iter().map(|glob| glob.trim().to_owned()).filter(|glob| !glob.is_empty()).collect()
}

#[cfg(test)]
#[path = "glob_tests.rs"]
mod tests;
