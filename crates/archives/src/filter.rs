//! Selection of archive entries by globs.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use hermes_core::ToolError;

/// Include and exclude globs. A glob without a slash matches names, one with a
/// slash matches whole paths. A matching directory selects everything in it.
#[derive(Debug, Clone)]
pub struct GlobFilter {
    include: GlobPatterns,
    exclude: GlobPatterns,
}

#[derive(Debug, Clone)]
struct GlobPatterns {
    names: GlobSet,
    paths: GlobSet,
}

impl GlobFilter {
    /// Compiles the globs. An empty `include` means everything.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Self, ToolError> {
        Ok(Self { include: GlobPatterns::new(include)?, exclude: GlobPatterns::new(exclude)? })
    }

    /// Creates a filter that selects everything.
    pub fn all() -> Self {
        let none = || GlobPatterns { names: GlobSet::empty(), paths: GlobSet::empty() };
        Self { include: none(), exclude: none() }
    }

    /// Whether everything is included except what `exclude` matches.
    pub fn includes_all(&self) -> bool {
        self.include.names.is_empty() && self.include.paths.is_empty()
    }

    /// Whether the path or one of its ancestors is excluded.
    pub fn excludes(&self, path: &Path) -> bool {
        self.exclude.match_any(path)
    }

    /// Whether the path is included and not excluded.
    pub fn includes(&self, path: &Path) -> bool {
        !self.excludes(path) && (self.includes_all() || self.include.match_any(path))
    }
}

impl GlobPatterns {
    fn new(written: &[String]) -> Result<Self, ToolError> {
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for glob in written {
            let plain = glob.strip_prefix("./").unwrap_or(glob).trim_end_matches('/');
            let built = GlobBuilder::new(plain).literal_separator(true).build();
            let built = built.map_err(|error| invalid_glob_error(glob, &error))?;
            if plain.contains('/') {
                paths.add(built)
            } else {
                names.add(built)
            };
        }
        let build = |set: GlobSetBuilder| {
            set.build().map_err(|error| invalid_glob_error(&written.join(", "), &error))
        };
        Ok(Self { names: build(names)?, paths: build(paths)? })
    }

    fn match_any(&self, path: &Path) -> bool {
        let names = || path.iter().any(|part| self.names.is_match(part));
        let paths = || {
            path.ancestors()
                .take_while(|p| !p.as_os_str().is_empty())
                .any(|p| self.paths.is_match(p))
        };
        (!self.names.is_empty() && names()) || (!self.paths.is_empty() && paths())
    }
}

fn invalid_glob_error(glob: &str, error: &globset::Error) -> ToolError {
    ToolError::invalid(format!("{glob:?} is not a glob: {error}"))
        .with_hint("For example: *.rs, docs/**, {a,b}*.txt")
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
