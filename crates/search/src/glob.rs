//! Globs for names and for relative paths.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use crate::error::SearchError;

/// Characters with a special meaning in a glob.
const GLOB_SPECIAL_CHARS: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// A glob for names, or for relative paths if it contains a slash. A name
/// without wildcards matches exactly.
#[derive(Debug, Clone)]
pub struct PathGlob {
    shape: GlobShape,
    on_path: bool,
    /// Whether it names something hidden, beginning with a dot.
    pub(crate) names_hidden: bool,
}

/// The compiled form of a glob. Most are simple enough to compare bytes.
#[derive(Debug, Clone)]
enum GlobShape {
    Exact(Box<[u8]>),
    /// A name with this prefix.
    Prefix(Box<[u8]>),
    /// A name with this suffix.
    Suffix(Box<[u8]>),
    Compiled(GlobMatcher),
}

impl PathGlob {
    /// Parses a glob.
    pub fn new(glob: &str, ignore_case: bool) -> Result<Self, SearchError> {
        let written = glob.strip_prefix("./").unwrap_or(glob);
        let written = written.trim_start_matches('/');
        let names_hidden =
            written.split('/').any(|part| part.len() > 1 && part.starts_with('.') && part != "..");
        // With a leading `**/`, only the name matters.
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

    /// Whether a path relative to the root matches.
    pub fn matches(&self, relative: &Path) -> bool {
        let subject = if self.on_path { Some(relative.as_os_str()) } else { relative.file_name() };
        subject.is_some_and(|subject| self.shape.matches(subject))
    }

    /// Same as [`PathGlob::matches`], with the name already known.
    pub(crate) fn matches_entry(&self, relative: &Path, name: &OsStr) -> bool {
        self.shape.matches(if self.on_path { relative.as_os_str() } else { name })
    }
}

impl GlobShape {
    /// Returns the shape of a glob whose only special character is a star at
    /// one end.
    fn from_simple(glob: &str, on_path: bool) -> Option<Self> {
        let plain =
            |text: &str| (!text.contains(GLOB_SPECIAL_CHARS)).then(|| text.as_bytes().into());
        if let Some(whole) = plain(glob) {
            return Some(Self::Exact(whole));
        }
        if on_path {
            // A star does not match a slash.
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

/// Splits a comma-separated list of globs; commas inside braces and brackets
/// belong to the glob.
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
