//! What git ignores, and folders that a command fills: not in the tree.

use std::fs;
use std::process::{Command, Stdio};

use hermes_checkpoints::{CheckpointLimits, RestoreTarget};

use crate::bench::{Bench, Call};

#[test]
fn outside_of_a_repository_a_gitignore_says_nothing() {
    let bench = Bench::new();
    bench.write(".gitignore", "*.local\n");
    bench.write("a.local", "old");
    bench.command(|| fs::remove_file(bench.path("a.local")).unwrap());
    bench.undo(1).unwrap();
    assert_eq!(bench.read("a.local").as_deref(), Some("old"));
}

#[test]
fn a_command_that_deletes_what_is_ignored_is_not_passed_over_by_an_undo() {
    let bench = Bench::new();
    bench.ignoring("*.local\nbuild/\n");
    bench.write("a.local", "ignored");
    bench.write("build/x", "ignored");
    bench.write("code", "v1");
    bench.turn(&["code"], || bench.write("code", "v2"));
    bench.command(|| {});
    bench.command(|| bench.write("build/y", "made"));
    assert_eq!(bench.store.checkpoints(&bench.work()).unwrap().len(), 1, "nothing is lost");
    bench.command(|| {
        fs::remove_file(bench.path("a.local")).unwrap();
        fs::remove_dir_all(bench.path("build")).unwrap();
    });
    let problem = bench.keeper.problem().unwrap();
    assert!(problem.contains("git ignores it"), "{problem}");
    for refused in [bench.undo(1).unwrap_err(), bench.force_undo(1).unwrap_err()] {
        let shown = refused.to_string();
        assert!(shown.contains("a.local") && shown.contains("build"), "{shown}");
        assert!(refused.hint().contains("hermes undo 2"));
        assert_eq!(bench.read("code").as_deref(), Some("v2"));
    }
    let plan =
        bench.store.plan(RestoreTarget::Undo { workspace: &bench.work(), turns: 2 }).unwrap();
    assert_eq!(plan.missing, [bench.path("a.local"), bench.path("build")]);
    bench.store.apply_plan(&plan, false).unwrap();
    assert_eq!(bench.read("code").as_deref(), Some("v1"));
    bench.redo().unwrap();
    // What has come back is in nobody's way.
    bench.write("a.local", "again");
    bench.write("build/x", "again");
    bench.undo(1).unwrap();
    assert_eq!(bench.read("code").as_deref(), Some("v1"));
}

#[test]
fn what_else_the_turn_did_is_undone_without_what_it_deleted_unkept() {
    let bench = Bench::new();
    bench.ignoring("*.local\n");
    bench.write("a.local", "ignored");
    bench.write("named.local", "ignored");
    bench.write("code", "v1");
    let places = ["named.local"];
    let call = Call { places: &places, open_ended: true, ..Call::default() };
    let change = || {
        bench.write("code", "v2");
        fs::remove_file(bench.path("a.local")).unwrap();
        fs::remove_file(bench.path("named.local")).unwrap();
    };
    bench.call(call, change).unwrap();
    let plan =
        bench.store.plan(RestoreTarget::Undo { workspace: &bench.work(), turns: 1 }).unwrap();
    assert_eq!(plan.missing, [bench.path("a.local")]);
    bench.store.apply_plan(&plan, false).unwrap();
    assert_eq!(bench.read("code").as_deref(), Some("v1"));
    assert_eq!(bench.read("named.local").as_deref(), Some("ignored"));
}

#[test]
fn a_folder_that_a_command_fills_is_kept_as_a_whole_or_told() {
    let limits = CheckpointLimits { tree_entries: 4, ..Default::default() };
    for (limits, is_kept) in [(CheckpointLimits::default(), true), (limits, false)] {
        let bench = Bench::with(limits);
        bench.ignoring("out/\n");
        for name in ["out/a", "out/b", "out/c", "../beside/a", "../beside/b", "../beside/c"] {
            bench.write(name, "old");
        }
        for n in 0..3 {
            bench.write(&format!("out/more{n}"), "");
            bench.write(&format!("../beside/more{n}"), "");
        }
        let filled = ["out", "../beside"];
        let call = Call { filled: &filled, open_ended: true, ..Call::default() };
        let change = || {
            for dir in filled {
                bench.write(&format!("{dir}/a"), "new");
                bench.write(&format!("{dir}/made"), "new");
            }
        };
        bench.call(call, change).unwrap();
        if !is_kept {
            let problem = bench.keeper.problem().unwrap();
            assert!(problem.contains("holds too many files"), "{problem}");
            assert!(bench.undo(1).is_err());
            continue;
        }
        bench.undo(1).unwrap();
        for dir in filled {
            assert_eq!(bench.read(&format!("{dir}/a")).as_deref(), Some("old"), "{dir}");
            assert_eq!(bench.read(&format!("{dir}/made")), None, "{dir}");
        }
    }
}

/// Runs git in a folder below the working folder.
fn git(bench: &Bench, dir: &str, order: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=n", "-c", "user.email=e", "-c", "protocol.file.allow=always"]);
    git.args(order).current_dir(bench.path(dir)).stdout(Stdio::null());
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git.env_remove("GIT_DIR").env_remove("GIT_INDEX_FILE").env_remove("GIT_WORK_TREE");
    assert!(git.status().unwrap().success(), "git {order:?}");
}

#[test]
fn what_git_tracks_is_kept_though_a_rule_ignores_it() {
    let bench = Bench::new();
    bench.write(".gitignore", "*.log\nbuild/\n");
    bench.write("important.log", "committed");
    bench.write("gone.log", "committed");
    bench.write("build/deep/tracked", "committed");
    git(&bench, ".", &["init", "-q"]);
    git(&bench, ".", &["add", "-f", "important.log", "gone.log", "build/deep/tracked"]);
    bench.write("important.log", "my uncommitted work");
    bench.write("other.log", "ignored");
    bench.write("build/deep/made", "ignored");
    bench.command(|| {
        bench.write("important.log", "overwritten");
        fs::remove_file(bench.path("gone.log")).unwrap();
        bench.write("build/deep/tracked", "overwritten");
        bench.write("build/deep/made", "made again");
        bench.write("other.log", "written again");
    });
    assert_eq!(bench.keeper.problem(), None);
    bench.undo(1).unwrap();
    assert_eq!(bench.read("important.log").as_deref(), Some("my uncommitted work"));
    assert_eq!(bench.read("gone.log").as_deref(), Some("committed"));
    assert_eq!(bench.read("build/deep/tracked").as_deref(), Some("committed"));
    assert_eq!(bench.read("build/deep/made").as_deref(), Some("made again"));
    assert_eq!(bench.read("other.log").as_deref(), Some("written again"));
}

#[test]
fn what_a_command_has_git_track_is_not_taken_away() {
    let bench = Bench::new();
    bench.write(".gitignore", "*.log\nbuild/\n");
    bench.write("a.log", "was there");
    bench.write("build/x", "was there");
    bench.write("code", "v1");
    git(&bench, ".", &["init", "-q"]);
    git(&bench, ".", &["add", "code"]);
    // Older than the command, beyond what times can tell.
    std::thread::sleep(std::time::Duration::from_millis(80));
    bench.command(|| {
        git(&bench, ".", &["add", "-f", "a.log", "build/x"]);
        bench.write("a.log", "rewritten");
        bench.write("code", "v2");
    });
    bench.undo(1).unwrap();
    assert_eq!(bench.read("code").as_deref(), Some("v1"));
    assert_eq!(bench.read("a.log").as_deref(), Some("rewritten"));
    assert_eq!(bench.read("build/x").as_deref(), Some("was there"));
    // And what it has git forget is not lost.
    bench.command(|| {
        git(&bench, ".", &["rm", "-q", "--cached", "-f", "a.log", "build/x"]);
        bench.write("a.log", "lost?");
    });
    bench.undo(1).unwrap();
    assert_eq!(bench.read("a.log").as_deref(), Some("rewritten"));
    assert_eq!(bench.read("build/x").as_deref(), Some("was there"));
}

#[test]
fn submodules_and_second_working_trees_have_their_own_index() {
    let bench = Bench::new();
    bench.write("../from/.gitignore", "*.log\n");
    bench.write("../from/a.log", "committed");
    git(&bench, "../from", &["init", "-q"]);
    git(&bench, "../from", &["add", "-f", ".gitignore", "a.log"]);
    git(&bench, "../from", &["commit", "-q", "-m", "first"]);
    git(&bench, ".", &["init", "-q"]);
    git(&bench, ".", &["submodule", "--quiet", "add", "../from", "sub"]);
    let second = bench.work().join("second");
    git(&bench, "../from", &["worktree", "add", "-q", second.to_str().unwrap()]);
    for name in ["sub/a.log", "second/a.log"] {
        assert!(bench.read(name).is_some(), "{name}");
        bench.command(|| bench.write(name, "overwritten"));
        bench.undo(1).unwrap();
        assert_eq!(bench.read(name).as_deref(), Some("committed"), "{name}");
    }
}

#[test]
fn a_damaged_index_is_as_if_there_were_none() {
    let bench = Bench::new();
    bench.ignoring("*.log\n");
    bench.write(".git/index", "DIRC\0\0\0\u{2}\0\0\0\u{1}");
    bench.write("a.log", "ignored");
    bench.write("code", "v1");
    bench.command(|| {
        bench.write("a.log", "written");
        bench.write("code", "v2");
    });
    bench.undo(1).unwrap();
    assert_eq!(bench.read("code").as_deref(), Some("v1"));
    assert_eq!(bench.read("a.log").as_deref(), Some("written"));
}
