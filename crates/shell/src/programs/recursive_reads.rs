//! Programs that read or copy a whole directory tree. For the home directory,
//! the whole machine or another user's home, that is more than intended.

use std::path::{Component, Path};

use crate::eval_context::EffectBuilder;
use crate::leaf::ShellWord;

/// Directories below the home directory that contain secrets.
const SECRET_HOLDING_DIRS: &[&str] =
    &[".config", ".local", ".local/share", ".docker", ".cargo", ".gem", ".mozilla", "Library"];

/// Directories that contain home directories.
const HOME_PARENT_DIRS: &[&str] = &["/home", "/Users", "/root"];

/// Adds a finding if a whole tree below one of these roots is read.
pub(super) fn check_recursive_read(act: &mut EffectBuilder<'_>, roots: &[ShellWord]) {
    for root in roots {
        let Some(path) = act.context.absolute(root) else { continue };
        // `~/*` is equivalent to the directory.
        let mut path = path.as_path();
        while root.glob
            && path.file_name().is_some_and(|name| is_match_all(&name.to_string_lossy()))
        {
            path = path.parent().unwrap_or(path);
        }
        let hidden = root.glob
            && path.parent() == act.context.at.home()
            && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if hidden {
            return act.ask(
                "tree-read",
                "Reads hidden directories of the home directory, including \
                    secrets",
            );
        }
        if let Some(place) = is_too_much(path, act.context.at.home(), act.context.at.cwd()) {
            let reason = format!("Reads everything in {place}, including secrets");
            act.ask("tree-read", reason);
            return;
        }
    }
}

fn is_match_all(name: &str) -> bool {
    matches!(name, "*" | "**" | ".*" | ".[!.]*" | ".??*" | "{*,.*}" | "?*")
}

fn is_too_much(path: &Path, home: Option<&Path>, workspace: &Path) -> Option<String> {
    let shown = || path.display().to_string();
    if let Some(home) = home {
        if home.starts_with(path) {
            return Some(if path == home { "the home directory".to_owned() } else { shown() });
        }
        if SECRET_HOLDING_DIRS.iter().any(|dir| path == home.join(dir)) {
            return Some(shown());
        }
    }
    if path.components().count() <= 1 || matches!(path.to_str(), Some("/etc" | "/proc" | "/var")) {
        return Some(shown());
    }
    // The whole home directory of another user.
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_))).count();
    let person = HOME_PARENT_DIRS.iter().any(|dir| path.starts_with(dir)) && parts <= 2;
    let own = workspace.starts_with(path) && home.is_some_and(|home| path.starts_with(home));
    (person && !own && home.is_none_or(|home| !path.starts_with(home))).then(shown)
}

/// Whether an option makes a program recurse into directories.
pub(super) fn is_recursive(words: &[ShellWord], letters: &[char], long: &[&str]) -> bool {
    words.iter().take_while(|word| word.text != "--").any(|word| {
        let short = word.text.starts_with('-') && !word.text.starts_with("--");
        (short && word.text.contains(letters)) || long.contains(&word.text.as_str())
    })
}
