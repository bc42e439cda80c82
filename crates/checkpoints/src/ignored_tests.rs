use super::*;

fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let held = tempfile::tempdir().unwrap();
    let root = held.path().canonicalize().unwrap();
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    (held, root)
}

/// Whether a file is ignored by the rules of the folders on the way to it.
fn is_ignored(root: &Path, name: &str) -> bool {
    let path = root.join(name);
    let rules = GitIgnoreRules::inherited(&path);
    rules.is_path_ignored(&path, path.is_dir())
}

#[test]
fn the_innermost_rule_counts() {
    let (_held, root) = folder(&[
        (".git/info/exclude", "mine\nkept\n"),
        (".gitignore", "*.log\n!kept\n/top\nd/x\n"),
        ("sub/.gitignore", "!a.log\nown\n"),
    ]);
    for name in ["mine", "a.log", "sub/b.log", "top", "sub/own", "d/x"] {
        assert!(is_ignored(&root, name), "{name}");
    }
    for name in ["kept", "sub/a.log", "sub/top", "own", "x", "sub/d/x"] {
        assert!(!is_ignored(&root, name), "{name}");
    }
}

#[test]
fn outside_of_a_repository_nothing_is_ignored() {
    let (_held, root) = folder(&[
        (".gitignore", "*.log\n"),
        ("inner/.git/HEAD", ""),
        ("inner/.gitignore", "own\n"),
    ]);
    assert!(!is_ignored(&root, "a.log"));
    assert!(is_ignored(&root, "inner/own"));
    assert!(!is_ignored(&root, "inner/a.log"), "rules of a folder around it are none of its own");
}

#[test]
fn a_second_working_tree_shares_what_its_owner_ignores() {
    let (_held, root) = folder(&[
        ("main/.git/info/exclude", "mine\n"),
        ("main/.git/worktrees/w/commondir", "../..\n"),
        ("w/.git", "gitdir: ../main/.git/worktrees/w\n"),
    ]);
    assert!(is_ignored(&root, "w/mine"));
}

#[test]
fn a_second_working_tree_has_an_index_of_its_own() {
    let (_held, root) = folder(&[
        ("main/.git/index", ""),
        ("main/.git/worktrees/w/commondir", "../..\n"),
        ("w/.git", "gitdir: ../main/.git/worktrees/w\n"),
    ]);
    assert_eq!(git_dir_of(&root.join("w")), root.join("w/../main/.git/worktrees/w"));
    assert_eq!(git_dir_of(&root.join("main")), root.join("main/.git"));
}
