use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;

use hermes_core::{Effect, ErrorKind, Grant, Grants, Scope, ToolError};
use hermes_files::{FileAccess, FileKind, open_dir, open_file};
use proptest::prelude::*;

use crate::harness::{WALKS, World, judged};

fn text(files: &FileAccess<'_>, path: &Path) -> Result<String, ToolError> {
    let mut text = String::new();
    files.open(path)?.read_to_string(&mut text).unwrap();
    Ok(text)
}

#[test]
fn what_was_judged_is_read() {
    let world = World::new();
    let file = world.write("a/b.txt", "hello");
    symlink("a", world.ws("link")).unwrap();
    for walk in WALKS {
        for path in [file.clone(), world.ws("link/b.txt")] {
            let grants = judged(&path);
            let files = FileAccess::with_grants(&grants).with_walk(walk);
            assert_eq!(text(&files, &path).unwrap(), "hello");
            let facts = files.metadata(&path).unwrap();
            assert_eq!((facts.kind, facts.len), (FileKind::File, 5));
            assert!(files.exists(&path).unwrap());
        }
        let missing = world.ws("a/none");
        let grants = judged(&missing);
        let files = FileAccess::with_grants(&grants).with_walk(walk);
        assert!(!files.exists(&missing).unwrap());
        assert_eq!(files.metadata(&missing).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(files.open(&missing).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(files.open(&file).unwrap_err().kind(), ErrorKind::Denied);
    }
}

#[test]
fn a_link_that_came_later_is_not_followed() {
    for walk in WALKS {
        let world = World::new();
        let file = world.write("a/secret", "mine");
        let grants = judged(&file);
        let files = FileAccess::with_grants(&grants).with_walk(walk);
        // In the middle of the path.
        fs::rename(world.ws("a"), world.ws("b")).unwrap();
        symlink(world.out(""), world.ws("a")).unwrap();
        let error = files.open(&file).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.message().ends_with("changed during the call; nothing was done"), "{error}");
        assert_eq!(files.metadata(&file).unwrap_err().kind(), ErrorKind::Conflict);
        // At its end.
        fs::remove_file(world.ws("a")).unwrap();
        fs::create_dir(world.ws("a")).unwrap();
        symlink(world.out("secret"), &file).unwrap();
        assert_eq!(files.open(&file).unwrap_err().kind(), ErrorKind::Conflict);
        assert!(open_file(&file, walk).is_err());
        assert!(open_dir(&world.ws("a"), walk).is_ok());
    }
}

#[test]
fn links_below_a_granted_folder_stay_in_it() {
    let world = World::new();
    world.write("a/real/x", "inside");
    symlink("real", world.ws("a/in")).unwrap();
    symlink(world.out(""), world.ws("a/escape")).unwrap();
    symlink(world.ws("a/real"), world.ws("a/absolute")).unwrap();
    let dir = world.ws("a");
    let unseen = Grants::from_effects(&[Effect::path(Scope::FILE_READ, &dir)]);
    for grants in [judged(&dir), unseen] {
        for walk in WALKS {
            let files = FileAccess::with_grants(&grants).with_walk(walk);
            assert_eq!(text(&files, &dir.join("in/x")).unwrap(), "inside");
            assert_eq!(text(&files, &dir.join("absolute/x")).unwrap(), "inside");
            for out in ["escape/secret", "real/../../../out/secret", "escape"] {
                let error = files.open(&dir.join(out)).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Denied, "{out}: {error}");
            }
        }
    }
}

#[test]
fn the_narrowest_grant_decides() {
    let world = World::new();
    symlink(world.out("secret"), world.ws("link")).unwrap();
    let grant =
        |path, real| Grant { effect: Effect::path(Scope::FILE_READ, path), real_path: Some(real) };
    let grants = Grants::new(vec![
        grant(world.ws(""), world.ws("")),
        grant(world.ws("link"), world.out("secret")),
    ]);
    assert_eq!(text(&FileAccess::with_grants(&grants), &world.ws("link")).unwrap(), "secret");
}

#[test]
fn only_regular_files_are_opened() {
    let world = World::new();
    let made = std::process::Command::new("mkfifo").arg(world.ws("pipe")).status();
    assert!(made.unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(world.ws("socket")).unwrap();
    symlink("pipe", world.ws("link")).unwrap();
    let everything = Grants::allow_all();
    for walk in WALKS {
        let files = FileAccess::with_grants(&everything).with_walk(walk);
        for (path, what) in [
            (world.ws("pipe"), "a named pipe"),
            (world.ws("link"), "a named pipe"),
            (world.ws("socket"), "a socket"),
            ("/dev/null".into(), "a device"),
            ("/dev/zero".into(), "a device"),
            (world.ws(""), "a directory"),
            ("/".into(), "a directory"),
        ] {
            let error = files.open(&path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArguments, "{error}");
            assert!(error.message().contains(what), "{error}");
            if what != "a directory" {
                let error = files.open_dir(&path).unwrap_err();
                assert!(error.message().contains(what), "{error}");
            }
        }
    }
}

#[test]
fn traps_are_refused_by_every_way() {
    let world = World::new();
    symlink("/proc/self/environ", world.ws("env")).unwrap();
    let everything = Grants::allow_all();
    for walk in WALKS {
        let files = FileAccess::with_grants(&everything).with_walk(walk);
        for path in ["/proc/self/environ", "/proc/self/root/proc/self/mem", "/dev/stdin"] {
            assert_eq!(files.open(Path::new(path)).unwrap_err().kind(), ErrorKind::Denied);
        }
        assert_eq!(files.open(&world.ws("env")).unwrap_err().kind(), ErrorKind::Denied);
        let process = files.open_dir(Path::new("/proc/self")).unwrap();
        let error = process.open(Path::new("environ")).unwrap_err();
        assert!(error.to_string().contains("never read"), "{error}");
        assert!(text(&files, Path::new("/proc/self/status")).unwrap().starts_with("Name:"));
    }
}

#[test]
fn a_folder_is_listed_without_following() {
    let world = World::new();
    world.write("a/file", "x");
    fs::create_dir(world.ws("a/dir")).unwrap();
    symlink(world.out("secret"), world.ws("a/link")).unwrap();
    let grants = judged(&world.ws("a"));
    for walk in WALKS {
        let files = FileAccess::with_grants(&grants).with_walk(walk);
        let entries = files.read_dir(&world.ws("a")).unwrap();
        let seen: Vec<_> =
            entries.iter().map(|entry| (entry.name.to_str().unwrap(), entry.kind)).collect();
        assert_eq!(
            seen,
            [("dir", FileKind::Directory), ("file", FileKind::File), ("link", FileKind::Link)]
        );
        let dir = files.open_dir(&world.ws("a")).unwrap();
        let link = Path::new("link");
        assert_eq!(dir.metadata(link).unwrap().kind, FileKind::Link);
        assert_eq!(dir.read_link(link).unwrap(), Some(world.out("secret")));
        assert_eq!(dir.read_link(Path::new("file")).unwrap(), None);
        assert!(dir.open(link).is_err() && dir.open_dir(link).is_err());
        for out in ["..", "../../out/secret", "/etc/passwd", "dir/../.."] {
            assert!(dir.metadata(Path::new(out)).is_err(), "{out}");
        }
        assert!(files.read_dir(Path::new("/")).is_err(), "not granted");
    }
    let everything = Grants::allow_all();
    assert!(!FileAccess::with_grants(&everything).read_dir(Path::new("/")).unwrap().is_empty());
}

#[test]
fn errors_say_what_to_do() {
    let world = World::new();
    world.write("file", "");
    symlink("round", world.ws("round")).unwrap();
    let everything = Grants::allow_all();
    let files = FileAccess::with_grants(&everything);
    let error = files.open(&world.ws("round/x")).unwrap_err();
    assert!(error.message().ends_with("round is a symlink that leads back to itself"), "{error}");
    let error = files.open(&world.ws("file/x")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let error = files.open(&world.ws(&"x".repeat(300))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArguments);
    assert_eq!(files.open(&world.ws("a\0b")).unwrap_err().kind(), ErrorKind::InvalidArguments);
    assert_eq!(files.open(Path::new("file")).unwrap_err().kind(), ErrorKind::InvalidArguments);
}

#[test]
fn nothing_granted_means_nothing_done() {
    let world = World::new();
    let file = world.write("file", "x");
    let none = Grants::from_effects(&[]);
    let files = FileAccess::with_grants(&none);
    let mode = hermes_files::WriteOptions::default();
    let existing = hermes_files::ExistingFile::Replace;
    for refused in [
        files.open(&file).map(drop),
        files.metadata(&file).map(drop),
        files.exists(&file).map(drop),
        files.read_dir(&world.ws("")).map(drop),
        files.write(&file, b"y", mode),
        files.append(&file, b"y"),
        files.create_dir(&world.ws("d")),
        files.create_dir_all(&world.ws("d/e")),
        files.remove_file(&file),
        files.remove_dir(&file),
        files.remove_tree(&file).map(drop),
        files.rename(&file, &world.ws("g"), existing),
    ] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Denied);
    }
    let one = Grants::from_effects(&[Effect::path(Scope::FILE_DELETE, &file)]);
    let refused =
        FileAccess::with_grants(&one).rename(&file, &world.ws("g"), existing).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Denied);
    assert_eq!(fs::read_to_string(&file).unwrap(), "x");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any spelling of a path stays in the granted directory.
    #[test]
    fn no_path_leads_out(
        parts in prop::collection::vec(
            prop::sample::select(vec!["a", "up", "over", "root", "file", "secret", "..", ".", "", "out"]),
            1..8,
        ),
        is_judged: bool,
    ) {
        let world = World::new();
        world.write("a/secret", "mine");
        symlink("..", world.ws("a/up")).unwrap();
        symlink("../out", world.ws("over")).unwrap();
        symlink(world.out("secret"), world.ws("file")).unwrap();
        symlink("/proc/self/root", world.ws("a/root")).unwrap();
        let ws = world.ws("");
        let path = format!("{}/{}", ws.display(), parts.join("/"));
        let grants =
            if is_judged { judged(&ws) } else { Grants::from_effects(&[Effect::path(Scope::FILE_READ, &ws)]) };
        for walk in WALKS {
            if let Ok(text) = text(&FileAccess::with_grants(&grants).with_walk(walk), Path::new(&path)) {
                prop_assert_eq!(&text, "mine", "{}", path);
            }
        }
    }
}

#[test]
fn the_time_of_a_change_cannot_be_put_back() {
    let world = World::new();
    let path = world.write("a", "one");
    let grants = judged(&path);
    let files = FileAccess::with_grants(&grants);
    let before = files.metadata(&path).unwrap();
    // File system timestamps are coarse.
    let after = loop {
        fs::write(&path, "two").unwrap();
        fs::File::open(&path).unwrap().set_modified(before.modified.unwrap()).unwrap();
        let after = files.metadata(&path).unwrap();
        if after.changed != before.changed {
            break after;
        }
    };
    assert_eq!((after.modified, after.len), (before.modified, before.len));
    assert!(after.changed > before.changed);
}
