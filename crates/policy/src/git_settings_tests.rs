use std::path::Path;

use hermes_core::WorkingDir;

use super::writes_git_settings;

fn writes(command: &str) -> bool {
    let at = WorkingDir::new("/srv/project", Some(Path::new("/home/me").into()));
    hermes_shell::analyze(command, &at).leaves.iter().any(writes_git_settings)
}

#[test]
fn git_writes_settings_where_it_is_called_to() {
    for command in [
        "git config user.name me",
        "git remote add a https://a.org",
        "git branch -d x",
        "git checkout -b x origin/x",
        "git switch -c x",
        "git init",
        "git submodule update --init",
        "git lfs track '*.bin'",
        "git maintenance start",
        "git push -u origin x",
        "git push -fu origin x",
        "git -C sub fetch --set-upstream origin x",
        "git $verb",
    ] {
        assert!(writes(command), "{command}");
    }
}

#[test]
fn git_leaves_settings_where_it_only_brings_or_changes_files() {
    for command in [
        "git fetch",
        "git -C sub pull --rebase",
        "git ls-remote origin",
        "git clone . /tmp/x",
        "git push origin main",
        "git maintenance run",
        "git checkout -- file",
        "git commit -m x",
        "git status",
        "make",
    ] {
        assert!(!writes(command), "{command}");
    }
}
