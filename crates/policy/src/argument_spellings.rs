//! Alternative spellings of an argument: a path can be written in many ways,
//! and a rule about it applies to the location.

use std::path::{Path, PathBuf};

use hermes_core::CallProposal;

const FILE_URL_PREFIX: &str = "file://";

/// An argument and its alternative spellings.
#[derive(Debug)]
pub(crate) struct ArgumentSpellings {
    /// The argument as written.
    pub(crate) text: String,
    /// Other spellings of the paths that the argument names.
    alternatives: Vec<String>,
    /// For each of those paths, the spellings with symlinks resolved.
    resolved_spellings: Vec<Vec<String>>,
}

impl ArgumentSpellings {
    /// Collects the spellings of an argument of this call. Only paths among the
    /// call's effects count as paths.
    pub(crate) fn for_argument(text: String, proposal: &CallProposal<'_>) -> Self {
        let at = proposal.working_dir;
        // A URL may contain escapes, so it could name any path of the call.
        let is_address = text.starts_with(FILE_URL_PREFIX);
        let resolved = at.resolve(&text);
        let paths = proposal.effects.iter().filter_map(|effect| effect.resource.as_path());
        let paths = paths.filter(|path| is_address || **path == resolved);
        let mut reading = Self { text, alternatives: Vec::new(), resolved_spellings: Vec::new() };
        let mut real_cwd: Option<PathBuf> = None;
        for path in paths {
            let cwd = real_cwd.get_or_insert_with(|| real_or_given(at.cwd()));
            let place = real_or_given(path);
            let (written, mut ways) = (path_spellings(path, at.cwd()), path_spellings(&place, cwd));
            reading.alternatives.extend(written.iter().chain(&ways).cloned());
            if ways.iter().any(|way| written.contains(way)) {
                ways.push(reading.text.clone());
            }
            reading.resolved_spellings.push(ways);
        }
        reading
    }

    /// Whether any spelling matches.
    pub(crate) fn any_matches(&self, fits: impl Fn(&str) -> bool) -> bool {
        fits(&self.text) || self.alternatives.iter().any(|way| fits(way))
    }

    /// Whether every path that the argument names matches.
    pub(crate) fn all_match(&self, fits: impl Fn(&str) -> bool) -> bool {
        match self.resolved_spellings.as_slice() {
            [] => fits(&self.text),
            all => all.iter().all(|ways| ways.iter().any(|way| fits(way))),
        }
    }
}

fn real_or_given(path: &Path) -> PathBuf {
    hermes_files::real_path(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Returns a path in full, and relative to the directory.
fn path_spellings(path: &Path, dir: &Path) -> Vec<String> {
    let short = path.strip_prefix(dir).ok().filter(|short| !short.as_os_str().is_empty());
    let all = short.into_iter().chain([path]);
    all.map(|path| path.to_string_lossy().into_owned()).collect()
}
