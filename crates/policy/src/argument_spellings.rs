//! What an argument says in other words: a path can be written in many ways,
//! and a rule about it means the place.

use std::path::{Path, PathBuf};

use hermes_core::CallProposal;

const FILE_URL_PREFIX: &str = "file://";

/// One argument, as it is written and as it could be.
#[derive(Debug)]
pub(crate) struct ArgumentSpellings {
    /// As it is written.
    pub(crate) text: String,
    /// Other ways to write the paths that it names.
    alternatives: Vec<String>,
    /// For each of those paths, the ways that do not hide where it leads.
    resolved_spellings: Vec<Vec<String>>,
}

impl ArgumentSpellings {
    /// The ways to read a text among the arguments of this call. Only what the
    /// call itself takes for a path is one.
    pub(crate) fn for_argument(text: String, proposal: &CallProposal<'_>) -> Self {
        let at = proposal.working_dir;
        // An address has escapes of its own: every path of the call may be meant.
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

    /// Whether it may mean something that fits.
    pub(crate) fn any_matches(&self, fits: impl Fn(&str) -> bool) -> bool {
        fits(&self.text) || self.alternatives.iter().any(|way| fits(way))
    }

    /// Whether all that it means fits.
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

/// A path as a whole, and from the folder on.
fn path_spellings(path: &Path, folder: &Path) -> Vec<String> {
    let short = path.strip_prefix(folder).ok().filter(|short| !short.as_os_str().is_empty());
    let all = short.into_iter().chain([path]);
    all.map(|path| path.to_string_lossy().into_owned()).collect()
}
