//! Protection of repository history, by the resolved path. Paths that a command
//! names literally were already judged with the command.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{Effect, Scope};
use hermes_shell::{damages_history, is_history_entry};

use crate::judge::PolicyFinding;
use crate::level::{PolicyAnswer, RuleOpinion, RuleOrigin, RuleSubject};

/// Entries that every repository contains.
const REPOSITORY_ENTRIES: &[&str] = &["HEAD", "objects", "refs"];

/// Whether part of a repository would be deleted or overwritten.
pub(crate) fn loses_git_history(subject: &RuleSubject<'_>, real: &Path) -> bool {
    let scope = &subject.effect.scope;
    if !is_file_change(scope) {
        return false;
    }
    let Some(leaf) = subject.leaf else { return loses_git_history_at("", scope, real) };
    let written = subject.effect.resource.as_path();
    if written.is_some_and(|written| damages_history(&leaf.program, scope, written)) {
        return false;
    }
    // Deleting a symlink affects the link, not its target, unless the path
    // reaches into it.
    let goes_in = || leaf.words.iter().any(|word| word.glob || word.text.ends_with('/'));
    let meant = match (*scope == Scope::FILE_DELETE && real.is_symlink()).then(goes_in) {
        Some(true) => std::fs::canonicalize(real).ok(),
        _ => None,
    };
    loses_git_history_at(&leaf.program, scope, meant.as_deref().unwrap_or(real))
}

/// Returns the opinion on a loss of git history.
pub(crate) fn history_loss_opinion(
    subject: &RuleSubject<'_>,
    answer: PolicyAnswer,
) -> Option<RuleOpinion> {
    let what = &subject.effect.resource;
    let reason = match subject.effect.scope == Scope::FILE_DELETE {
        true => format!("Deletes part of the repository ({what})"),
        false => format!("Overwrites part of the repository ({what})"),
    };
    let origin = RuleOrigin { rule: "dangerous command: git-history-loss".to_owned(), place: None };
    Some(RuleOpinion { answer, reason, origin: Arc::new(origin) })
}

/// Whether a finding is about part of a repository, whatever program does it.
pub(crate) fn concerns_git_history(finding: &PolicyFinding) -> bool {
    let PolicyFinding { effect: Effect { scope, .. }, real, .. } = finding;
    real.as_ref().is_some_and(|real| loses_git_history_at("", scope, real))
}

fn loses_git_history_at(program: &str, scope: &Scope, real: &Path) -> bool {
    is_file_change(scope)
        && path_in_repository(real).is_some_and(|path| damages_history(program, scope, &path))
}

fn is_file_change(scope: &Scope) -> bool {
    [Scope::FILE_WRITE, Scope::FILE_DELETE].contains(scope)
}

/// Returns the path within a repository, as if below a `.git` directory: a bare
/// repository can have any name.
fn path_in_repository(real: &Path) -> Option<PathBuf> {
    let parts = || real.as_os_str().as_bytes().split(|byte| *byte == b'/');
    if parts().any(|part| part.eq_ignore_ascii_case(b".git")) {
        return Some(real.to_owned());
    }
    let is_named = |part: &[u8]| std::str::from_utf8(part).is_ok_and(is_history_entry);
    // Fast path: nearly every path contains no such name.
    if !parts().any(is_named) {
        return None;
    }
    let named = |path: &&Path| {
        let name = path.file_name().map(OsStrExt::as_bytes);
        name.is_some_and(is_named) && path.parent().is_some_and(is_repository)
    };
    let dir = real.ancestors().find(named)?.parent()?;
    Some(Path::new("/.git").join(real.strip_prefix(dir).ok()?))
}

fn is_repository(dir: &Path) -> bool {
    REPOSITORY_ENTRIES.iter().all(|part| dir.join(part).exists())
}
