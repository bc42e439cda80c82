//! Paths as the caller can use them again.

use std::path::{Path, PathBuf};

use hermes_search::Root;

use super::arguments::Args;

/// How paths below the root are written.
#[derive(Debug)]
pub(super) struct Shown {
    /// What comes before them; empty for the working folder.
    lead: PathBuf,
    is_file: bool,
}

impl Shown {
    pub(super) fn new(args: &Args, root: &Root) -> Self {
        let lead = args.path.strip_prefix("./").unwrap_or(&args.path);
        let lead = if lead == "." { "" } else { lead };
        Self { lead: PathBuf::from(lead), is_file: root.is_file() }
    }

    /// The path, and whether some of it could not be written.
    pub(super) fn path(&self, relative: &Path) -> (String, bool) {
        let whole = if self.is_file { self.lead.clone() } else { self.lead.join(relative) };
        let is_lossy = whole.to_str().is_none();
        (whole.to_string_lossy().into_owned(), is_lossy)
    }

    /// How many characters come before a relative path.
    pub(super) fn lead_chars(&self, relative: &Path) -> usize {
        let whole = self.path(relative).0.chars().count();
        whole.saturating_sub(relative.to_string_lossy().chars().count())
    }
}
