//! Which entries a pattern means, as `search_files` reads it for names.

use std::path::Path;

use hermes_core::ToolError;
use hermes_files::FileKind;
use hermes_search::PathGlob;

/// A glob; with a `!` before it all others, with a slash at its end folders.
#[derive(Debug)]
pub(super) struct ListingPattern {
    glob: PathGlob,
    /// What fits is left out, with all that is below it.
    is_negated: bool,
    only_dirs: bool,
}

impl ListingPattern {
    /// Reads a pattern for a folder, with whose path it may begin.
    pub(super) fn new(written: &str, folder: &Path) -> Result<Self, ToolError> {
        let (leaves_out, glob) = match written.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, written),
        };
        let below = folder.to_str().and_then(|folder| glob.strip_prefix(folder));
        let glob = below.filter(|below| below.starts_with('/')).unwrap_or(glob);
        if leaves_out && glob.is_empty() {
            return Err(ToolError::invalid("'!' leaves nothing out")
                .with_hint("Name what is left out, such as !*.min.js."));
        }
        let (glob, only_folders) = match glob.strip_suffix('/') {
            Some(folders) => (folders, true),
            None => (glob, false),
        };
        let glob = PathGlob::new(if glob.is_empty() { "*" } else { glob }, false)?;
        Ok(Self { glob, is_negated: leaves_out, only_dirs: only_folders })
    }

    /// Whether an entry is listed.
    pub(super) fn includes(&self, relative: &Path, kind: FileKind) -> bool {
        self.matches(relative, kind) != self.is_negated
    }

    /// Whether nothing below a folder is listed.
    pub(super) fn prunes(&self, relative: &Path) -> bool {
        self.is_negated && self.matches(relative, FileKind::Directory)
    }

    fn matches(&self, relative: &Path, kind: FileKind) -> bool {
        (!self.only_dirs || kind == FileKind::Directory) && self.glob.matches(relative)
    }
}
