//! Recovery of paths with a wrong prefix or separator: the prefix of a diff or
//! of the project, another root, or backslashes.

use std::path::{Component, Path, PathBuf};

use hermes_core::ToolContext;
use hermes_files::{FileAccess, FileKind};

/// Maximum number of leading components dropped.
const MAX_DROPPED_PARTS: usize = 64;

/// Returns the file below the working directory that a nonexistent path
/// probably means. Reads names only.
pub(crate) fn intended_file(path: &Path, cx: &ToolContext) -> Option<PathBuf> {
    let names = FileAccess::new(cx).names_around(path).ok()?;
    let cwd = cx.working_dir.cwd();
    let is_file =
        |path: &Path| names.metadata(path).is_ok_and(|found| found.kind == FileKind::File);
    let written = path.strip_prefix(cwd).unwrap_or(path);
    let slashed = PathBuf::from(written.to_str()?.replace('\\', "/"));
    if slashed != written && is_file(&cwd.join(&slashed)) {
        return Some(cwd.join(slashed));
    }
    let parts: Vec<&str> = slashed
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    for left_out in 1..parts.len().min(MAX_DROPPED_PARTS) {
        let (before, rest) = parts.split_at(left_out);
        // A bare name is too ambiguous, unless the dropped prefix is known.
        let is_known = |name: &&str| matches!(*name, "a" | "b") || cwd.ends_with(name);
        let place = cwd.join(rest.iter().collect::<PathBuf>());
        if (rest.len() > 1 || before.iter().all(is_known)) && is_file(&place) {
            return Some(place);
        }
    }
    None
}
