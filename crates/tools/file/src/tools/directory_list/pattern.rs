//! Entry patterns, with the same syntax as name patterns of `search_files`.

use std::path::Path;

use hermes_core::ToolError;
use hermes_files::FileKind;
use hermes_search::PathGlob;

/// A glob; a leading `!` negates it, a trailing slash matches only directories.
#[derive(Debug)]
pub(super) struct ListingPattern {
    glob: PathGlob,
    /// Matches are excluded, with everything below them.
    is_negated: bool,
    only_dirs: bool,
}

impl ListingPattern {
    /// Parses a pattern; it may start with the path of `folder`.
    pub(super) fn new(written: &str, dir: &Path) -> Result<Self, ToolError> {
        let (leaves_out, glob) = match written.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, written),
        };
        let below = dir.to_str().and_then(|dir| glob.strip_prefix(dir));
        let glob = below.filter(|below| below.starts_with('/')).unwrap_or(glob);
        if leaves_out && glob.is_empty() {
            return Err(ToolError::invalid("'!' must be followed by a pattern")
                .with_hint("Name what to exclude, such as !*.min.js."));
        }
        let (glob, only_folders) = match glob.strip_suffix('/') {
            Some(dirs) => (dirs, true),
            None => (glob, false),
        };
        let glob = PathGlob::new(if glob.is_empty() { "*" } else { glob }, false)?;
        Ok(Self { glob, is_negated: leaves_out, only_dirs: only_folders })
    }

    /// Whether an entry is listed.
    pub(super) fn includes(&self, relative: &Path, kind: FileKind) -> bool {
        self.matches(relative, kind) != self.is_negated
    }

    /// Whether the pattern excludes everything below a directory.
    pub(super) fn prunes(&self, relative: &Path) -> bool {
        self.is_negated && self.matches(relative, FileKind::Directory)
    }

    fn matches(&self, relative: &Path, kind: FileKind) -> bool {
        (!self.only_dirs || kind == FileKind::Directory) && self.glob.matches(relative)
    }
}
