//! Formats result paths so the caller can pass them back.

use std::path::{Path, PathBuf};

use hermes_search::SearchRoot;

use super::arguments::Args;
use crate::path_text::display_below;

/// How paths below the root are displayed.
#[derive(Debug)]
pub(super) struct PathDisplay {
    /// Prefix of the paths; empty for the working directory.
    lead: String,
    /// Absolute path of the root.
    root: PathBuf,
    is_file: bool,
}

impl PathDisplay {
    pub(super) fn new(args: &Args, path: &Path, root: &SearchRoot) -> Self {
        let lead = args.path.strip_prefix("./").unwrap_or(&args.path);
        let lead = if lead == "." { "" } else { lead }.to_owned();
        Self { lead, root: path.to_path_buf(), is_file: root.is_file() }
    }

    /// The path, with the prefix that the caller used.
    pub(super) fn path(&self, relative: &Path) -> String {
        let relative = if self.is_file { Path::new("") } else { relative };
        display_below(&self.lead, &self.root, relative)
    }

    /// Whether the root is a file.
    pub(super) fn is_file(&self) -> bool {
        self.is_file
    }

    /// Characters before the relative path; `None` if the displayed path does
    /// not end with it literally.
    pub(super) fn lead_chars(&self, relative: &Path) -> Option<usize> {
        let own = relative.to_str()?;
        let whole = self.path(relative);
        whole.strip_suffix(own).map(|lead| lead.chars().count())
    }
}
