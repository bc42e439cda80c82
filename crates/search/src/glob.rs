//! Globs for names and for paths below a folder.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use crate::error::SearchError;

/// A glob for names, or for relative paths if it speaks of folders. A name
/// without wildcards is meant exactly.
#[derive(Debug, Clone)]
pub struct PathGlob {
    matcher: GlobMatcher,
    on_path: bool,
    /// It names something that begins with a dot.
    pub(crate) names_hidden: bool,
}

impl PathGlob {
    /// Reads a glob.
    pub fn new(glob: &str, ignore_case: bool) -> Result<Self, SearchError> {
        let written = glob.strip_prefix("./").unwrap_or(glob);
        let on_path = glob.contains('/');
        let written = written.trim_start_matches('/');
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
        let names_hidden =
            written.split('/').any(|part| part.len() > 1 && part.starts_with('.') && part != "..");
        Ok(Self { matcher, on_path, names_hidden })
    }

    /// Whether a path relative to the root fits.
    pub fn matches(&self, relative: &Path) -> bool {
        let subject = if self.on_path { Some(relative.as_os_str()) } else { relative.file_name() };
        subject.is_some_and(|subject| self.matcher.is_match(subject))
    }
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
