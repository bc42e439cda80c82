//! The history of repositories, by where a path really leads. What a command
//! names in plain words was judged with it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{Effect, Scope};
use hermes_shell::{is_history_entry, damages_history};

use crate::judge::Finding;
use crate::level::{Answer, Opinion, Origin, Subject};

/// What every repository has.
const PARTS: &[&str] = &["HEAD", "objects", "refs"];

/// Whether a part of a repository would be taken away or written over.
pub(crate) fn is_lost(subject: &Subject<'_>, real: &Path) -> bool {
    let scope = &subject.effect.scope;
    if !changes(scope) {
        return false;
    }
    let Some(leaf) = subject.leaf else { return takes("", scope, real) };
    let written = subject.effect.resource.as_path();
    if written.is_some_and(|written| damages_history(&leaf.program, scope, written)) {
        return false;
    }
    // A link is deleted, not what it leads to, unless something in there is meant.
    let goes_in = || leaf.words.iter().any(|word| word.glob || word.text.ends_with('/'));
    let meant = match (*scope == Scope::FILE_DELETE && real.is_symlink()).then(goes_in) {
        Some(true) => std::fs::canonicalize(real).ok(),
        _ => None,
    };
    takes(&leaf.program, scope, meant.as_deref().unwrap_or(real))
}

/// What is said of it.
pub(crate) fn opinion(subject: &Subject<'_>, answer: Answer) -> Option<Opinion> {
    let what = &subject.effect.resource;
    let reason = match subject.effect.scope == Scope::FILE_DELETE {
        true => format!("Takes a part of the repository away ({what})"),
        false => format!("Overwrites a part of the repository ({what})"),
    };
    let origin = Origin { rule: "dangerous command: git-history-loss".to_owned(), place: None };
    Some(Opinion { answer, reason, origin: Arc::new(origin) })
}

/// Whether a finding is about a part of a repository, whoever does it.
pub(crate) fn concerns(finding: &Finding) -> bool {
    let Finding { effect: Effect { scope, .. }, real, .. } = finding;
    real.as_ref().is_some_and(|real| takes("", scope, real))
}

fn takes(program: &str, scope: &Scope, real: &Path) -> bool {
    changes(scope) && repository(real).is_some_and(|path| damages_history(program, scope, &path))
}

fn changes(scope: &Scope) -> bool {
    [Scope::FILE_WRITE, Scope::FILE_DELETE].contains(scope)
}

/// The path within a repository, below a folder called `.git`: a repository
/// without a working tree has any name.
fn repository(real: &Path) -> Option<PathBuf> {
    let parts = || real.as_os_str().as_bytes().split(|byte| *byte == b'/');
    if parts().any(|part| part.eq_ignore_ascii_case(b".git")) {
        return Some(real.to_owned());
    }
    let is_named = |part: &[u8]| std::str::from_utf8(part).is_ok_and(is_history_entry);
    // Nearly every path has no such name in it.
    if !parts().any(is_named) {
        return None;
    }
    let named = |path: &&Path| {
        let name = path.file_name().map(OsStrExt::as_bytes);
        name.is_some_and(is_named) && path.parent().is_some_and(is_repository)
    };
    let folder = real.ancestors().find(named)?.parent()?;
    Some(Path::new("/.git").join(real.strip_prefix(folder).ok()?))
}

fn is_repository(folder: &Path) -> bool {
    PARTS.iter().all(|part| folder.join(part).exists())
}
