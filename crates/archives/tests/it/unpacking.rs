//! Unpacking: where, what, and what is there already.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hermes_archives::{
    ArchiveLimits, GlobFilter, ListPage, ProgressHooks, UnpackConflictPolicy, UnpackRequest,
    extract, list,
};
use hermes_core::{Effect, ErrorKind, Grant, Grants, Scope};
use hermes_files::FileAccess;

use crate::harness::{Found, Place, furnish};

fn packed() -> Place {
    let place = Place::new();
    for name in ["top/a.txt", "top/d/b.txt", "top/d/c.rs"] {
        place.write(format!("in/{name}"), name);
    }
    place.pack("in", "a.tar.gz").unwrap();
    place
}

#[test]
fn some_entries_and_shorter_names() {
    let place = packed();
    let choice = GlobFilter::new(&["*.txt".to_owned()], &[]).unwrap();
    let out = place
        .unpack_with("a.tar.gz", "out", |u| {
            u.choice = Box::leak(Box::new(choice));
            u.strip = 1;
        })
        .unwrap();
    let names: Vec<_> = out.names.iter().map(|name| name.to_str().unwrap()).collect();
    assert_eq!(names, ["a.txt", "d/b.txt"]);
    assert_eq!(fs::read_to_string(place.at("out/d/b.txt")).unwrap(), "top/d/b.txt");
    assert!(!fs::exists(place.at("out/d/c.rs")).unwrap());
    let none = GlobFilter::new(&["*.zzz".to_owned()], &[]).unwrap();
    let error = place.unpack_with("a.tar.gz", "none", |u| u.choice = Box::leak(Box::new(none)));
    assert_eq!(error.expect_err("no match").kind(), ErrorKind::NotFound);
    assert!(!fs::exists(place.at("none")).unwrap());
}

#[test]
fn what_is_not_chosen_costs_nothing() {
    let place = Place::new();
    place.write("in/big", vec![9; 50_000]);
    place.write("in/small", "x");
    for archive in ["a.tar", "a.tar.gz", "a.zip", "a.7z"] {
        place.pack("in", archive).unwrap();
        let choice = GlobFilter::new(&["small".to_owned()], &[]).unwrap();
        let out = place.unpack_with(archive, &format!("out-{archive}"), |u| {
            u.choice = Box::leak(Box::new(choice));
            u.limits.bytes = 100;
        });
        assert_eq!(out.unwrap().bytes, 1, "{archive}");
    }
}

#[test]
fn what_exists_decides_by_request() {
    for (existing, content, names) in [
        (UnpackConflictPolicy::Overwrite, "top/a.txt", 2),
        (UnpackConflictPolicy::Skip, "old", 2),
        (UnpackConflictPolicy::Rename, "old", 3),
    ] {
        let place = packed();
        place.write("out/top/a.txt", "old");
        place.write("out/top/other", "kept");
        let out = place.unpack_with("a.tar.gz", "out", |u| u.existing = existing).unwrap();
        assert_eq!(fs::read_to_string(place.at("out/top/a.txt")).unwrap(), content, "{existing:?}");
        assert_eq!(fs::read_to_string(place.at("out/top/other")).unwrap(), "kept");
        assert_eq!(fs::read_to_string(place.at("out/top/d/c.rs")).unwrap(), "top/d/c.rs");
        let files = fs::read_dir(place.at("out/top")).unwrap();
        assert_eq!(files.filter(|f| f.as_ref().unwrap().path().is_file()).count(), names);
        match existing {
            UnpackConflictPolicy::Overwrite => assert_eq!(out.replaced, 1),
            UnpackConflictPolicy::Skip => assert_eq!(out.skipped[0].path, Path::new("top/a.txt")),
            _ => {
                assert_eq!(out.renamed[0].1.to_str().unwrap(), "top/a (1).txt");
                assert!(out.names.contains(&out.renamed[0].1));
            }
        }
        let left: Vec<_> = fs::read_dir(place.at("out")).unwrap().collect();
        assert_eq!(left.len(), 1, "no staging folder is left");
    }
}

#[test]
fn refused_means_nothing_happened() {
    let place = packed();
    place.write("out/top/d/c.rs", "old");
    let before = place.tree("out");
    let error = place.unpack("a.tar.gz", "out").expect_err("it exists");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(place.tree("out"), before);
}

#[test]
fn a_folder_and_a_file_of_one_name_undo_the_rest() {
    for existing in
        [UnpackConflictPolicy::Overwrite, UnpackConflictPolicy::Rename, UnpackConflictPolicy::Skip]
    {
        let place = Place::new();
        place.write("in/a", "new");
        place.write("in/m/x", "new");
        place.write("in/z", "new");
        place.pack("in", "a.zip").unwrap();
        place.write("out/a", "old");
        place.write("out/m", "a file");
        place.write("out/z", "old");
        let before = place.tree("out");
        let failed = place.unpack_with("a.zip", "out", |u| u.existing = existing);
        let error = failed.expect_err("in the way");
        assert!(matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound), "{error}");
        assert_eq!(place.tree("out"), before, "{existing:?}");
    }
}

#[test]
fn folders_on_the_way_are_made_and_vanish_with_a_failure() {
    let place = packed();
    place.unpack("a.tar.gz", "x/y/z").unwrap();
    assert_eq!(place.tree("x/y/z"), place.tree("in"));
    let failed = place.unpack_with("a.tar.gz", "p/q/r", |u| u.limits.bytes = 1);
    assert_eq!(failed.expect_err("too much").kind(), ErrorKind::Limit);
    assert!(!fs::exists(place.at("p")).unwrap());
}

#[test]
fn a_stop_leaves_nothing() {
    let place = Place::new();
    place.write("in/a", vec![3; 600_000]);
    place.write("in/b", vec![4; 600_000]);
    for archive in ["a.tar", "a.zip", "a.7z", "a.tar.zst"] {
        place.pack("in", archive).unwrap();
        let calls = Cell::new(0);
        let stopped = || {
            calls.set(calls.get() + 1);
            calls.get() > 8
        };
        let (path, target, choice) = (place.at(archive), place.at("out"), GlobFilter::all());
        let unpacking = UnpackRequest {
            archive: &path,
            target: &target,
            choice: &choice,
            strip: 0,
            existing: UnpackConflictPolicy::Refuse,
            limits: ArchiveLimits { ratio: u64::MAX, ..ArchiveLimits::default() },
            journals: None,
        };
        let oversight = ProgressHooks { stopped: &stopped, progress: &|_, _| {} };
        let error = extract(&Grants::allow_all(), &unpacking, oversight).expect_err("stopped");
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{archive}: {error}");
        assert!(!place.names().iter().any(|name| name == "out" || name.starts_with('.')));
    }
}

#[test]
fn only_the_granted_folder_is_written() {
    let place = packed();
    let (archive, target, choice) = (place.at("a.tar.gz"), place.at("out"), GlobFilter::all());
    let unpacking = UnpackRequest {
        archive: &archive,
        target: &target,
        choice: &choice,
        strip: 0,
        existing: UnpackConflictPolicy::Refuse,
        limits: ArchiveLimits::default(),
        journals: None,
    };
    let read = Effect::path(Scope::FILE_READ, &archive);
    let write = Effect::path(Scope::FILE_WRITE, &target);
    let elsewhere = Effect::path(Scope::FILE_WRITE, place.at("other"));
    for grants in [vec![read.clone()], vec![write.clone()], vec![read.clone(), elsewhere]] {
        let refused = extract(&Grants::from_effects(&grants), &unpacking, ProgressHooks::NONE)
            .expect_err("denied");
        assert_eq!(refused.kind(), ErrorKind::Denied);
        assert!(!fs::exists(&target).unwrap());
    }
    extract(&Grants::from_effects(&[read, write]), &unpacking, ProgressHooks::NONE).unwrap();
}

#[test]
fn the_target_is_the_place_that_was_judged() {
    let place = packed();
    fs::create_dir_all(place.at("real")).unwrap();
    fs::create_dir_all(place.at("secret")).unwrap();
    let (archive, target, choice) = (place.at("a.tar.gz"), place.at("real"), GlobFilter::all());
    let judged = |scope: Scope, path: &std::path::Path| Grant {
        effect: Effect::path(scope, path),
        real_path: Some(path.canonicalize().unwrap()),
    };
    let grants =
        Grants::new(vec![judged(Scope::FILE_READ, &archive), judged(Scope::FILE_WRITE, &target)]);
    fs::remove_dir(&target).unwrap();
    std::os::unix::fs::symlink("secret", &target).unwrap();
    let unpacking = UnpackRequest {
        archive: &archive,
        target: &target,
        choice: &choice,
        strip: 0,
        existing: UnpackConflictPolicy::Refuse,
        limits: ArchiveLimits::default(),
        journals: None,
    };
    extract(&grants, &unpacking, ProgressHooks::NONE).expect_err("a link took its place");
    assert!(fs::read_dir(place.at("secret")).unwrap().next().is_none());
}

#[test]
fn a_full_disk_is_told_and_leaves_nothing() {
    let place = Place::new();
    place.write("in/a", vec![3; 300_000]);
    place.pack("in", "a.tar").unwrap();
    // A file of the archive may not be larger than the system lets us write.
    let Some(_) = place.run("sh", &["-c", "command -v mount >/dev/null && test -w /dev/shm"])
    else {
        return;
    };
    let shm = tempfile::tempdir_in("/dev/shm").unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=100k", "tmpfs"])
        .arg(shm.path())
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        println!("skipped: no small file system can be mounted here");
        return;
    }
    let target = shm.path().join("out");
    let (archive, choice) = (place.at("a.tar"), GlobFilter::all());
    let unpacking = UnpackRequest {
        archive: &archive,
        target: &target,
        choice: &choice,
        strip: 0,
        existing: UnpackConflictPolicy::Refuse,
        limits: ArchiveLimits::default(),
        journals: None,
    };
    let failed = extract(&Grants::allow_all(), &unpacking, ProgressHooks::NONE);
    let left = fs::read_dir(shm.path()).unwrap().count();
    std::process::Command::new("umount").arg(shm.path()).status().unwrap();
    let error = failed.expect_err("full");
    assert_eq!((error.kind(), left), (ErrorKind::Limit, 0), "{error}");
}

#[test]
fn lists_have_pages_and_totals() {
    let place = Place::new();
    furnish(&place, "in");
    place.pack("in", "a.zip").unwrap();
    let grants = Grants::allow_all();
    let files = FileAccess::with_grants(&grants);
    let all = place.list("a.zip").unwrap();
    let mut seen = Vec::new();
    for offset in (0..).step_by(3).take_while(|&offset| offset < all.total) {
        let page = ListPage { offset, limit: 3 };
        let part = list(
            &files,
            &place.at("a.zip"),
            &GlobFilter::all(),
            page,
            ArchiveLimits::default(),
            ProgressHooks::NONE,
        )
        .unwrap();
        assert_eq!((part.total, part.bytes), (all.total, all.bytes));
        seen.extend(part.members);
    }
    assert_eq!(seen, all.members);
    let link = all.members.iter().find(|member| member.name == b"link").unwrap();
    assert_eq!(link.kind, hermes_archives::MemberKind::Link(b"plain.txt".to_vec()));
    let tree = place.tree("in");
    let script = all.members.iter().find(|member| member.name == b"run.sh").unwrap();
    let Found::File(content, mode) = &tree[std::path::Path::new("run.sh")] else { panic!() };
    assert_eq!((script.size, script.mode), (Some(content.len() as u64), Some(*mode)));
}

#[test]
fn what_a_killed_unpacking_left_goes_with_the_next_one() {
    use hermes_files::ScratchKind;
    let place = Place::new();
    place.write("in/a.txt", "a");
    place.pack("in", "a.tar").unwrap();
    let left = ScratchKind::Directory.new_name().into_string().unwrap();
    place.write(format!("{left}/deep/file"), "half");
    // Somebody is still at it.
    let alive = ScratchKind::Directory.new_name().into_string().unwrap();
    fs::create_dir(place.at(&alive)).unwrap();
    let held = fs::File::open(place.at(&alive)).unwrap();
    assert!(hermes_files::claim(&held));
    let users = ".hermes-unpack-0123456789abcdef.tmp";
    fs::create_dir(place.at(users)).unwrap();
    place.unpack("a.tar", "out").unwrap();
    let mut expected = vec![users.to_owned(), alive, "a.tar".into(), "in".into(), "out".into()];
    expected.sort();
    assert_eq!(place.names(), expected);
}

#[test]
fn a_folder_that_its_owner_could_not_use_is_told() {
    let place = Place::new();
    place.python(
        "import tarfile\nt = tarfile.open('a.tar', 'w')\nfor n, m in (('a', 0), ('b', 0o500), ('c', 0o755)):\n    i = tarfile.TarInfo(n); i.type = tarfile.DIRTYPE; i.mode = m; t.addfile(i)\nt.close()",
    );
    let out = place.unpack("a.tar", "out").unwrap();
    let [shown] = out.not_kept.as_slice() else { panic!("{:?}", out.not_kept) };
    assert_eq!((shown.first.as_path(), shown.count), (Path::new("a"), 2));
    assert!(shown.what.contains("owner"), "{shown:?}");
}

#[test]
fn taking_off_every_part_of_every_name_is_an_error() {
    let place = packed();
    let error = place.unpack_with("a.tar.gz", "out", |u| u.strip = 9).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("strip_components=9"), "{error:?}");
    assert!(!place.at("out").exists());
    let out = place.unpack_with("a.tar.gz", "out", |u| u.strip = 2).unwrap();
    assert!(out.files > 0 && !out.skipped.is_empty(), "{out:?}");
}

#[test]
fn a_name_that_the_archive_has_itself_is_not_given_to_another_entry() {
    let place = Place::new();
    place.write("in/a.txt", "one");
    place.write("in/a (1).txt", "two");
    place.pack("in", "a.tar").unwrap();
    place.write("out/a.txt", "old");
    let out =
        place.unpack_with("a.tar", "out", |u| u.existing = UnpackConflictPolicy::Rename).unwrap();
    let read = |name: &str| fs::read_to_string(place.at(format!("out/{name}"))).unwrap();
    assert_eq!(
        (read("a.txt"), read("a (1).txt"), read("a (2).txt")),
        ("old".into(), "two".into(), "one".into())
    );
    assert_eq!(out.renamed.len(), 1);
}

#[test]
fn what_the_umask_takes_is_told() {
    let place = Place::new();
    place.python(
        "
import tarfile, io
t = tarfile.open('a.tar', 'w')
for name, mode in (('a', 0o666), ('b', 0o644), ('d', 0o777)):
    i = tarfile.TarInfo(name); i.mode = mode
    i.type = tarfile.DIRTYPE if name == 'd' else tarfile.REGTYPE
    t.addfile(i, io.BytesIO(b''))
t.close()
",
    );
    let umask = umask_at(&place);
    let out = place.unpack("a.tar", "out").unwrap();
    let shown: Vec<_> = out.not_kept.iter().map(|kept| (kept.what, kept.count)).collect();
    let lost =
        u64::from(umask & 0o666 != 0) + u64::from(umask & 0o644 != 0) + u64::from(umask != 0);
    let expected = (lost > 0).then_some(("permission bits removed by the umask", lost));
    assert_eq!(shown, Vec::from_iter(expected));
}

/// What the umask takes of a new file or folder here.
fn umask_at(place: &Place) -> u32 {
    fs::create_dir(place.at("probe")).unwrap();
    !fs::metadata(place.at("probe")).unwrap().permissions().mode() & 0o777
}

#[test]
fn an_archive_over_the_ratio_is_listed_and_not_unpacked() {
    let place = Place::new();
    place.write("in/zeros", vec![0; 30 << 20]);
    for archive in ["a.tar.zst", "a.tar.gz", "a.zip"] {
        place.pack("in", archive).unwrap();
        assert_eq!(place.list(archive).unwrap().bytes, 30 << 20, "{archive}");
        let refused = place.unpack(archive, "out").expect_err("over the ratio");
        assert!(refused.hint().contains("max_ratio"), "{archive}: {refused}");
    }
    let bounded = ArchiveLimits { bytes: 20 << 20, ..ArchiveLimits::default() };
    let grants = Grants::allow_all();
    let files = FileAccess::with_grants(&grants);
    let page = ListPage { offset: 0, limit: 10 };
    let listed =
        list(&files, &place.at("a.tar.gz"), &GlobFilter::all(), page, bounded, ProgressHooks::NONE);
    assert_eq!(listed.expect_err("bounded").kind(), ErrorKind::Limit);
}
