use super::*;

fn repository(config: &str) -> (tempfile::TempDir, PathBuf) {
    let keep = tempfile::tempdir().unwrap();
    let folder = keep.path().to_owned();
    std::fs::create_dir(folder.join(".git")).unwrap();
    std::fs::write(folder.join(".git/HEAD"), "ref: refs/heads/topic\n").unwrap();
    std::fs::write(folder.join(".git/config"), config).unwrap();
    (keep, folder)
}

const USUAL: &str = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = \
                     https://me:word@example.com/x.git\n\tfetch = +refs/heads/*:refs/*\n";

#[test]
fn a_remote_is_told_with_its_address() {
    let (_keep, folder) = repository(USUAL);
    let told = |remote: &str| push_destination(remote, &folder);
    assert_eq!(told("origin").unwrap(), "origin (https://example.com/x.git)");
    assert_eq!(told("").unwrap(), "origin (https://example.com/x.git)");
    assert_eq!(told("https://a.org/y").unwrap(), "https://a.org/y");
    assert_eq!(told("git@a.org:y").unwrap(), "git@a.org:y");
    assert_eq!(told("other"), None, "nobody knows where that is");
    let below = folder.join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    assert_eq!(push_destination("origin", &below), told("origin"));
}

#[test]
fn the_address_for_pushing_counts_more() {
    let more = format!(
        "{USUAL}\tpushurl = git@b.org:x\n\tpushUrl = git@c.org:x\n[branch \"topic\"]\n\tremote = \
         origin\n\tpushRemote = fork\n[remote \"fork\"]\n\turl = ../fork\n"
    );
    let (_keep, folder) = repository(&more);
    assert_eq!(push_destination("origin", &folder).unwrap(), "origin (git@b.org:x, git@c.org:x)");
    assert_eq!(push_destination("", &folder).unwrap(), "fork (../fork)");
}

#[test]
fn what_leads_elsewhere_is_not_told() {
    for more in [
        "[include]\n\tpath = x\n",
        "[url \"git@evil.org:\"]\n\tinsteadOf = https://example.com/\n",
        "[remote \"origin\"] url = x\n",
        "[remote \"origin\"]\n\turl = \"a b\"\n",
    ] {
        let (_keep, folder) = repository(&format!("{USUAL}{more}"));
        assert_eq!(push_destination("origin", &folder), None, "{more}");
    }
    let nowhere = tempfile::tempdir_in("/").map(|it| it.path().to_owned());
    if let Ok(nowhere) = nowhere {
        assert_eq!(push_destination("origin", &nowhere), None);
    }
}

#[test]
fn a_working_tree_of_another_repository_has_its_remotes() {
    let (_keep, folder) = repository(USUAL);
    let tree = folder.join("tree");
    std::fs::create_dir_all(&tree).unwrap();
    std::fs::write(tree.join(".git"), "gitdir: ../.git/worktrees/tree\n").unwrap();
    let own = folder.join(".git/worktrees/tree");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("commondir"), "../..\n").unwrap();
    std::fs::write(own.join("HEAD"), "ref: refs/heads/other\n").unwrap();
    assert_eq!(push_destination("", &tree).unwrap(), "origin (https://example.com/x.git)");
}
