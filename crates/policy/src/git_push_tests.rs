use super::*;

fn repository(config: &str) -> (tempfile::TempDir, PathBuf) {
    let keep = tempfile::tempdir().unwrap();
    let dir = keep.path().to_owned();
    std::fs::create_dir(dir.join(".git")).unwrap();
    std::fs::write(dir.join(".git/HEAD"), "ref: refs/heads/topic\n").unwrap();
    std::fs::write(dir.join(".git/config"), config).unwrap();
    (keep, dir)
}

const USUAL: &str = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = \
                     https://me:word@example.com/x.git\n\tfetch = +refs/heads/*:refs/*\n";

#[test]
fn a_remote_is_told_with_its_address() {
    let (_keep, dir) = repository(USUAL);
    let shown = |remote: &str| push_destination(remote, &dir);
    assert_eq!(shown("origin").unwrap(), "origin (https://example.com/x.git)");
    assert_eq!(shown("").unwrap(), "origin (https://example.com/x.git)");
    assert_eq!(shown("https://a.org/y").unwrap(), "https://a.org/y");
    assert_eq!(shown("git@a.org:y").unwrap(), "git@a.org:y");
    assert_eq!(shown("other"), None, "nobody knows where that is");
    let below = dir.join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    assert_eq!(push_destination("origin", &below), shown("origin"));
}

#[test]
fn the_address_for_pushing_counts_more() {
    let more = format!(
        "{USUAL}\tpushurl = git@b.org:x\n\tpushUrl = git@c.org:x\n[branch \"topic\"]\n\tremote = \
         origin\n\tpushRemote = fork\n[remote \"fork\"]\n\turl = ../fork\n"
    );
    let (_keep, dir) = repository(&more);
    assert_eq!(push_destination("origin", &dir).unwrap(), "origin (git@b.org:x, git@c.org:x)");
    assert_eq!(push_destination("", &dir).unwrap(), "fork (../fork)");
}

#[test]
fn what_leads_elsewhere_is_not_told() {
    for more in [
        "[include]\n\tpath = x\n",
        "[url \"git@evil.org:\"]\n\tinsteadOf = https://example.com/\n",
        "[remote \"origin\"] url = x\n",
        "[remote \"origin\"]\n\turl = \"a b\"\n",
    ] {
        let (_keep, dir) = repository(&format!("{USUAL}{more}"));
        assert_eq!(push_destination("origin", &dir), None, "{more}");
    }
    let nowhere = tempfile::tempdir_in("/").map(|it| it.path().to_owned());
    if let Ok(nowhere) = nowhere {
        assert_eq!(push_destination("origin", &nowhere), None);
    }
}

#[test]
fn a_working_tree_of_another_repository_has_its_remotes() {
    let (_keep, dir) = repository(USUAL);
    let tree = dir.join("tree");
    std::fs::create_dir_all(&tree).unwrap();
    std::fs::write(tree.join(".git"), "gitdir: ../.git/worktrees/tree\n").unwrap();
    let own = dir.join(".git/worktrees/tree");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("commondir"), "../..\n").unwrap();
    std::fs::write(own.join("HEAD"), "ref: refs/heads/other\n").unwrap();
    assert_eq!(push_destination("", &tree).unwrap(), "origin (https://example.com/x.git)");
}
