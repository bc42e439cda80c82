//! File selection for a search.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use hermes_core::{GrantExceptions, Grants, Scope};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};

use crate::error::SearchError;

/// Which files a search visits.
#[derive(Debug, Clone)]
pub struct FileSelection {
    /// Include hidden files, whose names begin with a dot.
    pub hidden: bool,
    /// Respect ignore files.
    pub ignore_files: bool,
    /// Include only files that match one of the globs, and none that matches a
    /// glob with a leading `!`. As in ripgrep, globs override ignore files.
    pub globs: Vec<String>,
    /// Further globs, matched case-insensitively.
    pub any_case_globs: Vec<String>,
    /// Include only files of these types (`rust`, `py`); a leading `!` excludes
    /// a type.
    pub types: Vec<String>,
    /// How many levels to descend; 1 is the directory itself.
    pub max_depth: Option<usize>,
    /// Include only files of at most this many bytes.
    pub max_filesize: Option<u64>,
    /// Paths that must not be shown.
    pub protected: Option<HiddenPathRules>,
}

impl Default for FileSelection {
    fn default() -> Self {
        Self {
            hidden: false,
            ignore_files: true,
            globs: Vec::new(),
            any_case_globs: Vec::new(),
            types: Vec::new(),
            max_depth: None,
            max_filesize: None,
            protected: None,
        }
    }
}

/// Paths excluded from a directory grant, which must not be shown.
#[derive(Clone)]
pub struct HiddenPathRules {
    exceptions: Arc<dyn GrantExceptions>,
}

impl HiddenPathRules {
    /// Returns the rules of a call; `None` if nothing is hidden from it.
    pub fn from_grants(grants: &Grants) -> Option<Self> {
        grants.exceptions().map(|exceptions| Self { exceptions: Arc::clone(exceptions) })
    }

    /// Whether a canonical path must not be shown.
    pub fn hides(&self, real: &Path) -> bool {
        self.exceptions.denies(&Scope::FILE_READ, real)
    }

    /// Whether a file with several hard links must not be shown under this
    /// path.
    pub fn hides_shared(&self, real: &Path, file: (u64, u64)) -> bool {
        self.exceptions.denies_hard_linked(&Scope::FILE_READ, real, file)
    }
}

impl fmt::Debug for HiddenPathRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HiddenPathRules")
    }
}

/// A selection compiled for one root.
#[derive(Debug)]
pub(crate) struct PathFilter {
    pub(crate) hidden: bool,
    pub(crate) ignore_files: bool,
    globs: Override,
    types: Types,
    pub(crate) max_depth: usize,
    pub(crate) max_filesize: Option<u64>,
    protected: Option<HiddenPathRules>,
}

impl PathFilter {
    pub(crate) fn new(selection: &FileSelection, place: &Path) -> Result<Self, SearchError> {
        Ok(Self {
            hidden: selection.hidden,
            ignore_files: selection.ignore_files,
            globs: build_globs(selection, place)?,
            types: build_types(&selection.types)?,
            max_depth: selection.max_depth.unwrap_or(usize::MAX),
            max_filesize: selection.max_filesize,
            protected: selection.protected.clone(),
        })
    }

    /// Whether the globs include a path; `None` if no glob matches.
    pub(crate) fn glob_verdict(&self, path: &Path, is_folder: bool) -> Option<bool> {
        let matched = self.globs.matched(path, is_folder);
        if matched.is_none() { None } else { Some(matched.is_whitelist()) }
    }

    /// Whether the types include a path; `None` if no type applies.
    pub(crate) fn type_verdict(&self, path: &Path, is_folder: bool) -> Option<bool> {
        if self.types.is_empty() {
            return None;
        }
        let matched = self.types.matched(path, is_folder);
        if matched.is_none() { None } else { Some(matched.is_whitelist()) }
    }

    pub(crate) fn is_protected(&self, real: &Path) -> bool {
        self.protected.as_ref().is_some_and(|veil| veil.hides(real))
    }

    pub(crate) fn is_protected_file(&self, real: &Path, file: (u64, u64)) -> bool {
        self.protected.as_ref().is_some_and(|veil| veil.hides_shared(real, file))
    }
}

fn build_globs(selection: &FileSelection, place: &Path) -> Result<Override, SearchError> {
    let wrong = |glob: &str, error: &ignore::Error| SearchError::Glob {
        glob: glob.to_owned(),
        reason: reason(error),
    };
    let mut builder = OverrideBuilder::new(place);
    for (any_case, globs) in [(false, &selection.globs), (true, &selection.any_case_globs)] {
        builder.case_insensitive(any_case).map_err(|error| wrong("", &error))?;
        for glob in globs {
            let written = glob.strip_prefix("./").unwrap_or(glob);
            builder.add(written).map_err(|error| wrong(glob, &error))?;
        }
    }
    let all = || [&selection.globs[..], &selection.any_case_globs[..]].concat().join(", ");
    builder.build().map_err(|error| wrong(&all(), &error))
}

fn reason(error: &ignore::Error) -> String {
    match error {
        ignore::Error::Glob { err, .. } => err.clone(),
        ignore::Error::WithPath { err, .. }
        | ignore::Error::WithDepth { err, .. }
        | ignore::Error::WithLineNumber { err, .. } => reason(err),
        other => other.to_string(),
    }
}

fn build_types(names: &[String]) -> Result<Types, SearchError> {
    if names.is_empty() {
        return Ok(Types::empty());
    }
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    for name in names {
        let (is_negated, plain) = match name.strip_prefix('!') {
            Some(plain) => (true, plain),
            None => (false, name.as_str()),
        };
        let known = type_name(plain).ok_or_else(|| SearchError::Type(plain.to_owned()))?;
        if is_negated {
            builder.negate(known)
        } else {
            builder.select(known)
        };
    }
    builder.build().map_err(|_| SearchError::Type(names.join(", ")))
}

/// All file types known to ripgrep.
fn type_names() -> &'static [String] {
    static TYPE_NAMES: OnceLock<Vec<String>> = OnceLock::new();
    TYPE_NAMES.get_or_init(|| {
        let mut builder = TypesBuilder::new();
        builder.add_defaults();
        builder.definitions().iter().map(|definition| definition.name().to_owned()).collect()
    })
}

/// Resolves a type name, which may also be an extension or an alias.
fn type_name(name: &str) -> Option<&'static str> {
    let plain = name.trim_start_matches('.').to_lowercase();
    let usual = match plain.as_str() {
        "javascript" => "js",
        "python3" => "py",
        "c++" | "cxx" => "cpp",
        "c#" | "cs" => "csharp",
        "golang" => "go",
        "shell" | "bash" => "sh",
        "yml" => "yaml",
        "rb" => "ruby",
        "kt" => "kotlin",
        "rs" => "rust",
        other => other,
    };
    type_names().iter().map(String::as_str).find(|known| *known == usual)
}

/// Returns the file type whose name is most similar to `name`.
pub fn nearest_type(name: &str) -> Option<&'static str> {
    hermes_core::similar::nearest(name, type_names().iter().map(String::as_str), 0.6)
}

#[cfg(test)]
#[path = "selection_tests.rs"]
mod tests;
