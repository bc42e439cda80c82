//! Ignore files and `.editorconfig` files in the directories above a path.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use hermes_core::{Scope, ToolError};

use crate::access::FileAccess;
use crate::dir::OpenDir;
use crate::locate::LinkMode;
use crate::open::open_dir;

const EDITORCONFIG_FILE: &str = ".editorconfig";
/// A longer ignore file is skipped.
const MAX_IGNORE_FILE_BYTES: u64 = 1024 * 1024;

/// The ignore files of one directory; a missing file is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoreRules {
    /// The real path of the directory.
    pub dir: PathBuf,
    /// The text of `.gitignore`.
    pub gitignore: String,
    /// The text of `.ignore`.
    pub ignore: String,
    /// The text of `.git/info/exclude`.
    pub exclude: String,
    /// Whether it is the root of a repository.
    pub is_repository: bool,
}

impl IgnoreRules {
    /// Reads those of an open directory, which is at `place`.
    pub fn new(directory: &OpenDir, place: &Path) -> Self {
        let text =
            |name: &str| directory.open(Path::new(name)).map(read_bounded).unwrap_or_default();
        let is_repository = directory.metadata(Path::new(".git")).is_ok();
        Self {
            dir: place.to_path_buf(),
            gitignore: text(".gitignore"),
            ignore: text(".ignore"),
            exclude: if is_repository { text(".git/info/exclude") } else { String::new() },
            is_repository,
        }
    }
}

impl FileAccess<'_> {
    /// Returns the ignore files of the directories above a directory, nearest
    /// first, up to the root of its repository.
    ///
    /// They need no grant: they decide what is shown of the granted directory
    /// and are not shown themselves. Nothing else above it can be read this
    /// way.
    pub fn ignore_rules_above(&self, path: &Path) -> Result<Vec<IgnoreRules>, ToolError> {
        let place = self.locate("list", &Scope::FILE_READ, path, LinkMode::Follow)?;
        let mut rules = Vec::new();
        for above in place.ancestors().skip(1) {
            let Ok(dir) = open_dir(above, self.walk()) else { continue };
            rules.push(IgnoreRules::new(&dir, above));
            if rules.last().is_some_and(|rules| rules.is_repository) {
                break;
            }
        }
        Ok(rules)
    }

    /// Returns the `.editorconfig` files that apply to a file, nearest first,
    /// each with its directory. They need no grant: they decide how the file is
    /// written, and are not shown.
    pub fn editor_configs_above(&self, path: &Path) -> Result<Vec<(PathBuf, String)>, ToolError> {
        let place = self.locate("look at", &Scope::FILE_READ, path, LinkMode::Follow)?;
        // Usually none exists, which `lstat` finds out cheaply.
        let is_there = |above: &&Path| fs::symlink_metadata(above.join(EDITORCONFIG_FILE)).is_ok();
        let found = place.ancestors().skip(1).filter(is_there).filter_map(|above| {
            let dir = open_dir(above, self.walk()).ok()?;
            let config = dir.open(Path::new(EDITORCONFIG_FILE)).ok()?;
            Some((above.to_path_buf(), read_bounded(config)))
        });
        Ok(found.collect())
    }
}

fn read_bounded(file: File) -> String {
    let mut bytes = Vec::new();
    match file.take(MAX_IGNORE_FILE_BYTES + 1).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() as u64 <= MAX_IGNORE_FILE_BYTES => {
            String::from_utf8_lossy(&bytes).into_owned()
        }
        _ => String::new(),
    }
}
