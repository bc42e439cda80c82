use super::*;

fn make(root: &Path, names: &[&str]) {
    for name in names {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
}

#[test]
fn repositories_are_found_a_few_levels_deep() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    make(
        root,
        &[
            ".git/config",
            "a/.git/config",
            "a/b/c/.git",
            "a/b/c/d/.git",
            "node_modules/x/.git",
            "plain/file",
            "a/.git/modules/x/.git",
        ],
    );
    let mut found = repositories_below(root, MAX_SEARCH_DEPTH);
    found.sort();
    assert_eq!(found, [root.join("a/.git"), root.join("a/b/c/.git")]);
    assert!(repositories_below(&root.join("nowhere"), MAX_SEARCH_DEPTH).is_empty());
}

#[test]
fn the_search_has_an_end() {
    let root = tempfile::tempdir().unwrap();
    for number in 0..MAX_REPOSITORIES + 8 {
        make(root.path(), &[&format!("{number}/.git")]);
    }
    assert_eq!(repositories_below(root.path(), MAX_SEARCH_DEPTH).len(), MAX_REPOSITORIES);
}

#[test]
fn parts_of_a_repository_are_submodules_and_working_trees() {
    let root = tempfile::tempdir().unwrap();
    let git = root.path().join(".git");
    make(&git, &["modules/a/HEAD", "modules/libs/b/HEAD", "worktrees/w/commondir", "HEAD"]);
    let mut found = nested_repositories(&git);
    found.sort();
    assert_eq!(
        found,
        ["modules/a", "modules/libs/b", "worktrees/w"].map(|name| git.join(name)).to_vec()
    );
}

#[test]
fn less_is_kept_of_what_git_itself_writes() {
    let root = tempfile::tempdir().unwrap();
    let git = root.path().join(".git");
    make(&git, &["config", "hooks/a", "info/attributes", "HEAD"]);
    let kept = |used| {
        let mut kept = FrozenPaths::default();
        kept.freeze_enclosing(&git, used, &FsScanCache::default());
        kept
    };
    let some = kept(RepositoryUse::Commit);
    for name in ["hooks", "info/attributes", "config"] {
        assert!(some.read_only.contains(&git.join(name)), "{some:?}");
    }
    assert_eq!(some.masked_missing, [git.join("commondir"), git.join("config.worktree")]);
    let by_git = kept(RepositoryUse::ChangeSettings);
    assert!(by_git.read_only.contains(&git.join("hooks")));
    assert!(!by_git.read_only.contains(&git.join("config")));
    assert_eq!(by_git.masked_missing, [git.join("commondir")]);
}

#[test]
fn what_would_lead_git_elsewhere_is_not_made_in_any_part_of_a_repository() {
    let root = tempfile::tempdir().unwrap();
    let git = root.path().join(".git");
    make(&git, &["config", "hooks/a", "HEAD", "modules/m/HEAD", "modules/m/config"]);
    make(&git, &["worktrees/w/HEAD", "worktrees/w/commondir", "worktrees/w/gitdir"]);
    let kept = |used| {
        let mut kept = FrozenPaths::default();
        kept.freeze_enclosing(&git, used, &FsScanCache::default());
        kept
    };
    let some = kept(RepositoryUse::Commit);
    for name in [
        "commondir",
        "config.worktree",
        "modules/m/commondir",
        "modules/m/config.worktree",
        "modules/m/hooks",
        "worktrees/w/config.worktree",
    ] {
        assert!(some.masked_missing.contains(&git.join(name)), "{name}: {some:?}");
    }
    for name in ["worktrees/w/commondir", "worktrees/w/gitdir"] {
        assert!(some.read_only.contains(&git.join(name)), "{name}: {some:?}");
        assert!(!some.masked_missing.contains(&git.join(name)), "{name}: {some:?}");
    }
    // Git has to be able to remove a working tree, and leads nowhere itself.
    let by_git = kept(RepositoryUse::ChangeSettings);
    assert!(!by_git.read_only.contains(&git.join("worktrees/w/commondir")), "{by_git:?}");
    assert!(by_git.masked_missing.contains(&git.join("modules/m/commondir")), "{by_git:?}");
    // A repository further down, in a folder of whatever name.
    let other = root.path().join("worktrees/.git");
    make(&other, &["config", "HEAD"]);
    let mut kept = FrozenPaths::default();
    kept.freeze_below(&other, RepositoryUse::Commit, &FsScanCache::default());
    for name in ["commondir", "config.worktree", "hooks"] {
        assert!(kept.masked_missing.contains(&other.join(name)), "{name}: {kept:?}");
    }
}
