//! Entry names, which become paths only if they stay below the target
//! directory.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use hermes_core::ToolError;
use hermes_core::text::excerpt;

use crate::limits::MAX_DIR_LEVELS;

/// Maximum bytes of a path component.
const MAX_COMPONENT_BYTES: usize = 255;
/// Maximum bytes of a path.
const MAX_PATH_BYTES: usize = 4095;

/// A non-empty relative path of plain names. It stays below the directory it is
/// joined to, as long as no symlink is followed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafeName(PathBuf);

impl SafeName {
    /// Checks a name. `None` is the root directory itself, as in `./`.
    pub fn new(raw: &[u8]) -> Result<Option<Self>, ToolError> {
        if let Some(why) = Self::rejection_reason(raw) {
            return Err(unsafe_name_error(raw, why));
        }
        let parts: PathBuf = raw
            .split(|&byte| byte == b'/')
            .filter(|part| !matches!(*part, b"" | b"."))
            .map(OsStr::from_bytes)
            .collect();
        Ok((!parts.as_os_str().is_empty()).then_some(Self(parts)))
    }

    /// Returns why a name is rejected, as the end of a sentence about it.
    pub(crate) fn rejection_reason(raw: &[u8]) -> Option<&'static str> {
        if raw.is_empty() {
            return Some("is empty");
        }
        if raw.contains(&0) {
            return Some("contains a NUL byte");
        }
        if matches!(raw, [b'/', ..] | [b'\\', ..]) {
            return Some("is absolute");
        }
        // Other systems read a backslash as a separator; a name that is
        // harmless here must not be an attack there.
        let mut parts = raw.split(|byte| matches!(byte, b'/' | b'\\'));
        if matches!(raw, [letter, b':'] if letter.is_ascii_alphabetic())
            || matches!(raw, [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
        {
            return Some("starts with a drive letter");
        }
        if parts.any(|part| part == b"..") {
            return Some("contains a .. component");
        }
        if raw.len() > MAX_PATH_BYTES
            || raw.split(|&b| b == b'/').any(|part| part.len() > MAX_COMPONENT_BYTES)
        {
            return Some("is too long");
        }
        if raw.split(|&b| b == b'/').count() > MAX_DIR_LEVELS {
            return Some("has too many directory levels");
        }
        None
    }

    /// Strips leading components; `None` if nothing is left.
    pub fn strip_components(&self, count: usize) -> Option<Self> {
        let rest: PathBuf = self.0.iter().skip(count).collect();
        (!rest.as_os_str().is_empty()).then_some(Self(rest))
    }

    /// Returns the path.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// Returns the parent directory and the file name.
    pub(crate) fn parent_and_name(&self) -> (&Path, &OsStr) {
        (self.0.parent().unwrap_or(Path::new("")), self.0.file_name().unwrap_or_default())
    }

    /// Checks that a symlink of this name and target stays below the root. Only
    /// leading components may be `..`: they pass through real directories,
    /// while later ones could pass through symlinks.
    pub(crate) fn check_link_target(&self, target: &[u8]) -> Result<(), &'static str> {
        let path = Path::new(OsStr::from_bytes(target));
        if target.is_empty() || target.contains(&0) || target.len() > MAX_PATH_BYTES {
            return Err("a symlink without a valid target");
        }
        if path.is_absolute() {
            return Err("a symlink to an absolute path");
        }
        let ups = path.components().take_while(|part| *part == Component::ParentDir).count();
        let mut rest = path.components().skip(ups);
        if rest.any(|part| part == Component::ParentDir) {
            return Err("a symlink with .. in the middle of its target");
        }
        let depth = self.0.iter().count().saturating_sub(1);
        if ups > depth { Err("a symlink that points outside the directory") } else { Ok(()) }
    }

    /// Returns the path up to the first component that is a git directory.
    pub(crate) fn git_dir(&self) -> Option<PathBuf> {
        let is_git = |part: &&OsStr| {
            let name = part.as_bytes();
            name.eq_ignore_ascii_case(b".git") || name.eq_ignore_ascii_case(b"git~1")
        };
        let at = self.0.iter().position(|part| is_git(&part))?;
        Some(self.0.iter().take(at + 1).collect())
    }
}

fn unsafe_name_error(raw: &[u8], why: &str) -> ToolError {
    let shown = excerpt(&String::from_utf8_lossy(raw), 200).into_owned();
    ToolError::denied(format!("The archive has an entry whose name {why}: {shown:?}"))
        .with("rule", "unsafe-entry")
        .with("entry", shown)
        .with_hint(
            "Nothing was unpacked. The archive is broken or malicious; to unpack the rest, \
             skip the entry with exclude.",
        )
}

#[cfg(test)]
#[path = "name_tests.rs"]
mod tests;
