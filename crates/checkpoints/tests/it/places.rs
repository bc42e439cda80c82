//! Calls that declare which files they change.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hermes_checkpoints::{ObstacleReason, RestoreTarget, SavedState};
use hermes_core::{CheckpointReader, ErrorKind};

use crate::bench::{Bench, Call};

#[test]
fn a_file_that_was_changed_comes_back_with_its_mode() {
    let bench = Bench::new();
    bench.write("a.txt", "one\n");
    bench.chmod("a.txt", 0o640);
    bench.turn(&["a.txt"], || {
        bench.write("a.txt", "two\n");
        bench.chmod("a.txt", 0o600);
    });
    let done = bench.undo(1).unwrap();
    assert_eq!(done.restored, [bench.path("a.txt")]);
    assert_eq!(bench.picture()[Path::new("a.txt")], "file 640 one\n");
}

#[test]
fn a_file_that_was_made_goes_and_so_do_the_folders_made_for_it() {
    let bench = Bench::new();
    bench.write("keep.txt", "stays");
    let before = bench.picture();
    bench.turn(&["a/b/c.txt"], || bench.write("a/b/c.txt", "new"));
    bench.undo(1).unwrap();
    assert_eq!(bench.picture(), before);
}

#[test]
fn a_folder_that_somebody_has_put_a_file_into_stays() {
    let bench = Bench::new();
    bench.turn(&["a/b.txt"], || bench.write("a/b.txt", "new"));
    bench.write("a/mine.txt", "mine");
    let done = bench.undo(1).unwrap();
    assert_eq!(done.skipped, [(bench.path("a"), "it is not empty".to_owned())]);
    assert_eq!(bench.read("a/b.txt"), None);
    assert_eq!(bench.read("a/mine.txt").as_deref(), Some("mine"));
}

#[test]
fn a_file_that_was_deleted_comes_back_even_without_its_folder() {
    let bench = Bench::new();
    bench.write("a/b.txt", "old");
    bench.turn(&["a/b.txt"], || fs::remove_file(bench.path("a/b.txt")).unwrap());
    fs::remove_dir(bench.path("a")).unwrap();
    bench.undo(1).unwrap();
    assert_eq!(bench.read("a/b.txt").as_deref(), Some("old"));
}

#[test]
fn the_first_call_of_a_turn_tells_what_was_there() {
    let bench = Bench::new();
    bench.write("a.txt", "0");
    for text in ["1", "2", "3"] {
        let call = Call { places: &["a.txt"], turn: Some("t"), ..Call::default() };
        bench.call(call, || bench.write("a.txt", text)).unwrap();
    }
    assert_eq!(bench.store.checkpoints(&bench.work()).unwrap().len(), 1);
    bench.undo(1).unwrap();
    assert_eq!(bench.read("a.txt").as_deref(), Some("0"));
}

#[test]
fn a_turn_that_changes_nothing_leaves_nothing() {
    let bench = Bench::new();
    bench.write("a.txt", "same");
    bench.turn(&["a.txt", "b.txt"], || {});
    assert!(bench.store.checkpoints(&bench.work()).unwrap().is_empty());
    assert_eq!(bench.undo(1).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn what_somebody_else_has_changed_since_is_not_overwritten() {
    let bench = Bench::new();
    bench.write("a.txt", "one");
    bench.write("b.txt", "one");
    bench.turn(&["a.txt", "b.txt"], || {
        bench.write("a.txt", "two");
        bench.write("b.txt", "two");
    });
    bench.write("a.txt", "mine");
    let error = bench.undo(1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.message().contains("a.txt: it was changed since"), "{error}");
    assert!(!error.message().contains("b.txt"), "{error}");
    assert_eq!(bench.read("b.txt").as_deref(), Some("two"), "nothing was changed");

    let plan =
        bench.store.plan(RestoreTarget::Undo { workspace: &bench.work(), turns: 1 }).unwrap();
    bench.store.apply_plan(&plan, true).unwrap();
    assert_eq!(bench.read("a.txt").as_deref(), Some("one"));
    bench.undo(1).expect_err("the turn is undone");
    bench.redo().unwrap();
    assert_eq!(bench.read("a.txt").as_deref(), Some("mine"), "what was overwritten was kept");
}

#[test]
fn what_a_made_file_became_is_not_removed() {
    let bench = Bench::new();
    bench.turn(&["a.txt"], || bench.write("a.txt", "new"));
    bench.write("a.txt", "and more of mine");
    assert_eq!(bench.undo(1).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(bench.read("a.txt").as_deref(), Some("and more of mine"));
}

#[test]
fn a_change_between_two_turns_is_not_lost() {
    let bench = Bench::new();
    bench.write("a.txt", "0");
    bench.turn(&["a.txt"], || bench.write("a.txt", "1"));
    bench.write("a.txt", "mine");
    bench.turn(&["a.txt"], || bench.write("a.txt", "2"));
    let plan =
        bench.store.plan(RestoreTarget::Undo { workspace: &bench.work(), turns: 2 }).unwrap();
    let whys: Vec<ObstacleReason> = plan.obstacles().map(|(_, obstacle)| obstacle.reason).collect();
    assert_eq!(whys, [ObstacleReason::ChangedBetween]);
    bench.undo(1).unwrap();
    assert_eq!(bench.read("a.txt").as_deref(), Some("mine"));
}

#[test]
fn names_may_be_anything() {
    let bench = Bench::new();
    let odd = [&b"with space"[..], b"line\nbreak", b"not \xff utf-8", "ünï".as_bytes()];
    for name in odd {
        let name = std::ffi::OsStr::from_bytes(name);
        let path = bench.path(name);
        fs::write(&path, "old").unwrap();
        bench.command(|| fs::write(&path, "new").unwrap());
        bench.undo(1).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old", "{}", path.display());
    }
}

#[test]
fn a_link_is_kept_as_a_link_and_not_followed() {
    let bench = Bench::new();
    fs::write(bench.root().join("outside.txt"), "outside").unwrap();
    bench.link("link", "../outside.txt");
    let before = bench.picture();
    bench.command(|| {
        fs::remove_file(bench.path("link")).unwrap();
        bench.write("link", "a file now");
    });
    bench.undo(1).unwrap();
    assert_eq!(bench.picture(), before);
    assert_eq!(fs::read(bench.root().join("outside.txt")).unwrap(), b"outside");
    bench.redo().unwrap();
    assert_eq!(bench.read("link").as_deref(), Some("a file now"));
    assert_eq!(fs::read(bench.root().join("outside.txt")).unwrap(), b"outside");
}

#[test]
fn a_write_through_a_link_is_undone_where_it_led() {
    let bench = Bench::new();
    bench.write("real.txt", "old");
    bench.link("link", "real.txt");
    bench.turn(&["link"], || fs::write(bench.path("link"), "new").unwrap());
    bench.undo(1).unwrap();
    assert_eq!(bench.read("real.txt").as_deref(), Some("old"));
    assert!(fs::symlink_metadata(bench.path("link")).unwrap().is_symlink());
}

#[test]
fn a_link_that_is_now_on_the_way_is_not_followed() {
    let bench = Bench::new();
    bench.write("a/b.txt", "old");
    bench.turn(&["a/b.txt"], || bench.write("a/b.txt", "new"));
    fs::create_dir(bench.root().join("elsewhere")).unwrap();
    fs::write(bench.root().join("elsewhere/b.txt"), "new").unwrap();
    fs::remove_dir_all(bench.path("a")).unwrap();
    bench.link("a", "../elsewhere");
    let plan =
        bench.store.plan(RestoreTarget::Undo { workspace: &bench.work(), turns: 1 }).unwrap();
    let error = bench.store.apply_plan(&plan, true).unwrap_err();
    assert!(error.message().contains("a parent directory is a symlink"), "{error}");
    assert_eq!(fs::read(bench.root().join("elsewhere/b.txt")).unwrap(), b"new");
}

#[test]
fn a_folder_that_moved_moves_back() {
    let bench = Bench::new();
    bench.write("a/one.txt", "1");
    bench.write("a/deep/two.txt", "2");
    bench.chmod("a/deep", 0o750);
    let before = bench.picture();
    bench.turn(&["a", "b"], || fs::rename(bench.path("a"), bench.path("b")).unwrap());
    assert!(bench.path("b/deep/two.txt").exists());
    bench.undo(1).unwrap();
    assert_eq!(bench.picture(), before);
    bench.redo().unwrap();
    assert_eq!(bench.read("b/deep/two.txt").as_deref(), Some("2"));
    assert!(!bench.path("a").exists());
}

#[test]
fn a_file_in_the_place_of_a_folder_and_back() {
    let bench = Bench::new();
    bench.write("x/y.txt", "inside");
    bench.write("z", "a file");
    let before = bench.picture();
    bench.turn(&["x", "z"], || {
        fs::remove_dir_all(bench.path("x")).unwrap();
        bench.write("x", "a file now");
        fs::remove_file(bench.path("z")).unwrap();
        bench.write("z/w.txt", "a folder now");
    });
    let after = bench.picture();
    bench.undo(1).unwrap();
    assert_eq!(bench.picture(), before);
    bench.redo().unwrap();
    assert_eq!(bench.picture(), after);
}

#[test]
fn files_outside_the_workspace_belong_to_the_turn_too() {
    let bench = Bench::new();
    let outside = bench.root().canonicalize().unwrap().join("outside.txt");
    fs::write(&outside, "old").unwrap();
    bench.turn(&[outside.to_str().unwrap()], || fs::write(&outside, "new").unwrap());
    bench.undo(1).unwrap();
    assert_eq!(fs::read(&outside).unwrap(), b"old");
}

#[test]
fn a_turn_that_was_cut_off_is_undone_only_by_force() {
    let mut bench = Bench::new();
    bench.write("a.txt", "old");
    let cut_off = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        bench.turn(&["a.txt"], || {
            bench.write("a.txt", "half");
            std::panic::resume_unwind(Box::new("gone"));
        })
    }));
    assert!(cut_off.is_err());
    bench.reopen(hermes_checkpoints::CheckpointLimits::default());
    let error = bench.undo(1).unwrap_err();
    assert!(error.message().contains("interrupted"), "{error}");
    let plan =
        bench.store.plan(RestoreTarget::Undo { workspace: &bench.work(), turns: 1 }).unwrap();
    bench.store.apply_plan(&plan, true).unwrap();
    assert_eq!(bench.read("a.txt").as_deref(), Some("old"));
}

#[test]
fn tools_can_read_what_a_file_was() {
    let bench = Bench::new();
    bench.write("a.txt", "one");
    let first = bench.turn(&["a.txt"], || bench.write("a.txt", "two")).unwrap();
    let second = bench.turn(&["a.txt", "b.txt"], || {
        bench.write("a.txt", "three");
        bench.write("b.txt", "new");
    });
    let content = |id: &str, name: &str| bench.store.file_content(id, &bench.path(name));
    assert_eq!(content(&first, "a.txt").unwrap().unwrap(), b"one");
    assert_eq!(content(&second.unwrap(), "a.txt").unwrap().unwrap(), b"two");
    assert_eq!(content("latest", "a.txt").unwrap().unwrap(), b"two");
    assert_eq!(content(&first, "b.txt").unwrap(), None);
    assert_eq!(content(&first, "c.txt").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(content("0000", "a.txt").unwrap_err().kind(), ErrorKind::NotFound);
    let listed = bench.store.list(1).unwrap();
    assert_eq!((listed.len(), listed[0].files), (1, 2));
    assert_eq!(listed[0].changed_by, ["tool"]);
}

#[test]
fn damage_is_found_and_said() {
    let bench = Bench::new();
    bench.write("a.txt", "one");
    let id = bench.turn(&["a.txt"], || bench.write("a.txt", "two")).unwrap();
    let manifest = bench.store.find(&id).unwrap();
    let (_, change) = manifest.changes().next().unwrap();
    let SavedState::File { hash, .. } = &change.before else { panic!("a file") };
    let hex = hash.to_hex();
    let object = bench.store.root().join("objects").join(&hex[..2]).join(&hex[2..]);
    let other = bench.turn(&["b.txt"], || bench.write("b.txt", "x")).unwrap();
    assert_ne!(id, other);
    bench.undo(1).unwrap();
    let mut bytes = fs::read(&object).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 0xff;
    fs::set_permissions(&object, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&object, bytes).unwrap();
    assert!(bench.store.file_content(&id, &bench.path("a.txt")).is_err());
    assert!(bench.undo(1).is_err());
    assert_eq!(bench.read("a.txt").as_deref(), Some("two"), "old or new, never broken");
    fs::remove_file(&object).unwrap();
    let plan =
        bench.store.plan(RestoreTarget::Undo { workspace: &bench.work(), turns: 1 }).unwrap();
    let whys: Vec<ObstacleReason> = plan.obstacles().map(|(_, obstacle)| obstacle.reason).collect();
    assert_eq!(whys, [ObstacleReason::Lost]);
}

#[test]
fn only_the_user_can_look_into_what_is_kept() {
    let bench = Bench::new();
    bench.write("a.txt", "one");
    bench.turn(&["a.txt"], || bench.write("a.txt", "two"));
    let mut open = vec![bench.store.root().to_path_buf()];
    let mut seen = 0;
    while let Some(path) = open.pop() {
        let found = fs::metadata(&path).unwrap();
        assert_eq!(found.permissions().mode() & 0o077, 0, "{}", path.display());
        seen += 1;
        if found.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().flatten().map(|entry| entry.path()));
        }
    }
    assert!(seen > 5, "{seen}");
}

#[test]
fn the_users_extended_attributes_come_back() {
    let bench = Bench::new();
    bench.write("a.txt", "old");
    let set = |name: &str, value: &[u8]| {
        rustix::fs::setxattr(bench.path("a.txt"), name, value, rustix::fs::XattrFlags::empty())
    };
    // Not every file system has them.
    if set("user.colour", b"red \xff").is_err() {
        return;
    }
    bench.turn(&["a.txt"], || {
        fs::remove_file(bench.path("a.txt")).unwrap();
        bench.write("a.txt", "new");
    });
    bench.undo(1).unwrap();
    let mut value = [0; 16];
    let len = rustix::fs::getxattr(bench.path("a.txt"), "user.colour", &mut value).unwrap();
    assert_eq!(&value[..len], b"red \xff");
}

#[test]
fn calls_side_by_side_share_one_checkpoint() {
    let bench = Bench::new();
    let names: Vec<String> = (0..24).map(|n| format!("dir/f{n}")).collect();
    names.iter().step_by(2).for_each(|name| bench.write(name, "old"));
    let before = bench.picture();
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| bench.named_turn("t", &[name], || bench.write(name, "new")));
        }
    });
    assert_eq!(bench.store.all().unwrap().len(), 1);
    bench.undo(1).unwrap();
    assert_eq!(bench.picture(), before);
}

#[test]
fn the_longest_names_work() {
    let bench = Bench::new();
    let long = "n".repeat(255);
    let mut name = String::new();
    while bench.work().as_os_str().len() + name.len() + 202 < 4_090 {
        name.push_str(&"d".repeat(200));
        name.push('/');
    }
    name.push_str("end");
    for name in [long, name] {
        bench.write(&name, "old");
        bench.turn(&[&name], || bench.write(&name, "new"));
        bench.undo(1).unwrap();
        assert_eq!(bench.read(&name).as_deref(), Some("old"));
        bench.command(|| fs::remove_file(bench.path(&name)).unwrap());
        bench.undo(1).unwrap();
        assert_eq!(bench.read(&name).as_deref(), Some("old"));
    }
}

#[test]
fn a_folder_that_became_a_link_comes_back_with_what_was_in_it() {
    let bench = Bench::new();
    bench.write("dir/a", "1");
    bench.write("other/a", "2");
    let before = bench.picture();
    bench.command(|| {
        fs::remove_dir_all(bench.path("dir")).unwrap();
        bench.link("dir", "other");
    });
    let after = bench.picture();
    bench.undo(1).unwrap();
    assert_eq!(bench.picture(), before);
    bench.redo().unwrap();
    assert_eq!(bench.picture(), after);
}
