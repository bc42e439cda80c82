//! Paths as the caller can use them again.

use std::path::{Path, PathBuf};

use hermes_search::SearchRoot;

use super::arguments::Args;
use crate::path_text::display_below;

/// How paths below the root are written.
#[derive(Debug)]
pub(super) struct PathDisplay {
    /// What comes before them; empty for the working folder.
    lead: String,
    /// The absolute path of the root.
    root: PathBuf,
    is_file: bool,
}

impl PathDisplay {
    pub(super) fn new(args: &Args, path: &Path, root: &SearchRoot) -> Self {
        let lead = args.path.strip_prefix("./").unwrap_or(&args.path);
        let lead = if lead == "." { "" } else { lead }.to_owned();
        Self { lead, root: path.to_path_buf(), is_file: root.is_file() }
    }

    /// The path, as the caller began to write it.
    pub(super) fn path(&self, relative: &Path) -> String {
        let relative = if self.is_file { Path::new("") } else { relative };
        display_below(&self.lead, &self.root, relative)
    }

    /// Whether the root is a file.
    pub(super) fn is_file(&self) -> bool {
        self.is_file
    }

    /// How many characters come before a relative path; none if it is not
    /// there letter by letter.
    pub(super) fn lead_chars(&self, relative: &Path) -> Option<usize> {
        let own = relative.to_str()?;
        let whole = self.path(relative);
        whole.strip_suffix(own).map(|lead| lead.chars().count())
    }
}
