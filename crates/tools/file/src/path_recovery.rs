//! Paths that are right but for how they begin or are joined: with the prefix
//! of a diff or of the project, from another root, or with backslashes.

use std::path::{Component, Path, PathBuf};

use hermes_core::ToolContext;
use hermes_files::{FileAccess, FileKind};

/// Parts of a path that are left out at most.
const MAX_DROPPED_PARTS: usize = 64;

/// The file below the working folder that is meant by a path that leads
/// nowhere. Only names are looked at.
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
        // A name alone says too little, unless it is clear what stands before it.
        let is_known = |name: &&str| matches!(*name, "a" | "b") || cwd.ends_with(name);
        let place = cwd.join(rest.iter().collect::<PathBuf>());
        if (rest.len() > 1 || before.iter().all(is_known)) && is_file(&place) {
            return Some(place);
        }
    }
    None
}
