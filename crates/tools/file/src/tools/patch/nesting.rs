//! Conflicts between paths of one patch where one is below the other.

use std::collections::BTreeSet;
use std::path::Path;

use hermes_core::{ToolContext, ToolError};
use hermes_files::{FileAccess, FileKind};

use super::refusal;
use super::request::{PatchPlan, PatchStep};

/// Returns an error if a file would be created below another file of the patch,
/// even if that one is deleted or moved away.
pub(super) fn refuse_nested(plan: &PatchPlan, cx: &ToolContext) -> Result<(), ToolError> {
    let paths = plan.paths();
    let known: BTreeSet<&Path> = paths.iter().map(|path| path.as_path()).collect();
    for path in &known {
        for above in path.ancestors().skip(1).filter(|above| known.contains(above)) {
            let there = FileAccess::new(cx).metadata(above).ok().map(|found| found.kind);
            let is_file = there.is_some_and(|kind| kind != FileKind::Directory);
            if is_file && plan.steps.iter().any(|step| removes(step, above)) {
                return Err(refusal::in_place_of_file(path, above));
            }
            if there.is_none() && plan.steps.iter().any(|step| creates(step, above)) {
                return Err(refusal::below_file(path, above));
            }
        }
    }
    Ok(())
}

/// Whether a step deletes or moves away the path.
fn removes(step: &PatchStep, path: &Path) -> bool {
    matches!(step, PatchStep::Delete { .. } | PatchStep::Update { to: Some(_), .. })
        && step.path() == path
}

/// Whether a step creates a file at the path.
fn creates(step: &PatchStep, path: &Path) -> bool {
    match step {
        PatchStep::Add { path: new, .. } | PatchStep::Update { to: Some(new), .. } => new == path,
        _ => false,
    }
}
