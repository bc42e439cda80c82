use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use hermes_files::{file_identity, is_loop, real_entry, real_path, same_file};
use proptest::prelude::*;

use crate::harness::World;

fn real(path: impl AsRef<Path>) -> PathBuf {
    real_path(path.as_ref()).unwrap()
}

#[test]
fn a_path_without_links_is_its_own() {
    let world = World::new();
    let file = world.write("a/b/c.txt", "");
    assert_eq!(real(&file), file);
    assert_eq!(real("/"), Path::new("/"));
    assert_eq!(real(world.ws("a/new")), world.ws("a/new"));
    assert_eq!(real(world.ws("a/new/er/est")), world.ws("a/new/er/est"));
    assert_eq!(real(world.ws("a/b/c.txt/below")), world.ws("a/b/c.txt/below"));
    assert_eq!(real_path(Path::new("relative")).unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn dots_and_slashes_mean_nothing() {
    let world = World::new();
    let file = world.write("a/c.txt", "");
    let ws = world.ws("");
    let ws = ws.to_str().unwrap();
    for written in ["a/c.txt/", "a//c.txt", "./a/./c.txt/.", "a/../a/c.txt", "b/../a/c.txt"] {
        assert_eq!(real(format!("{ws}/{written}")), file, "{written}");
    }
    assert_eq!(real(format!("{ws}/../../../../../../../../..")), Path::new("/"));
}

#[test]
fn links_are_followed_in_every_part() {
    let world = World::new();
    fs::create_dir_all(world.out("deep/er")).unwrap();
    symlink(world.out("secret"), world.ws("file")).unwrap();
    symlink("../out/deep", world.ws("dir")).unwrap();
    symlink("file", world.ws("chain")).unwrap();
    symlink("chain", world.ws("longer")).unwrap();
    assert_eq!(real(world.ws("file")), world.out("secret"));
    assert_eq!(real(world.ws("longer")), world.out("secret"));
    assert_eq!(real(world.ws("dir/er/new")), world.out("deep/er/new"));
    assert_eq!(real(world.ws("dir/x/y/z")), world.out("deep/x/y/z"));
}

#[test]
fn a_dangling_link_is_the_place_that_it_would_create() {
    let world = World::new();
    symlink("../out/new", world.ws("dangling")).unwrap();
    symlink("dangling", world.ws("chain")).unwrap();
    assert_eq!(real(world.ws("chain")), world.out("new"));
    assert_eq!(real(world.ws("chain/below")), world.out("new/below"));
}

#[test]
fn the_folder_above_is_that_of_the_target() {
    let world = World::new();
    fs::create_dir_all(world.out("deep/er")).unwrap();
    symlink(world.out("deep/er"), world.ws("link")).unwrap();
    assert_eq!(real(world.ws("link/..")), world.out("deep"));
    assert_eq!(real(world.ws("link/../../secret")), world.out("secret"));
    assert_eq!(real(world.ws("link/../../new")), world.out("new"));
    // As the kernel has it.
    assert_eq!(fs::read_to_string(world.ws("link/../../secret")).unwrap(), "secret");
    // A missing directory cannot hide a symlink behind it.
    assert_eq!(real(world.ws("missing/../link/x")), world.out("deep/er/x"));
}

#[test]
fn loops_end() {
    let world = World::new();
    symlink("round", world.ws("round")).unwrap();
    symlink("pong", world.ws("ping")).unwrap();
    symlink("ping", world.ws("pong")).unwrap();
    symlink("grow/x", world.ws("grow")).unwrap();
    for name in ["round", "ping", "pong/below", "grow"] {
        assert!(is_loop(&real_path(&world.ws(name)).unwrap_err()), "{name}");
    }
    fs::write(world.ws("end"), "").unwrap();
    let mut before = "end".to_owned();
    for number in 1..=41 {
        let name = format!("l{number}");
        symlink(&before, world.ws(&name)).unwrap();
        before = name;
    }
    assert_eq!(real(world.ws("l40")), world.ws("end"));
    assert!(is_loop(&real_path(&world.ws("l41")).unwrap_err()));
    assert!(fs::metadata(world.ws("l40")).is_ok() && fs::metadata(world.ws("l41")).is_err());
}

#[test]
fn the_links_of_the_kernel_are_followed() {
    let world = World::new();
    let secret = world.out("secret");
    let opened = fs::File::open(&secret).unwrap();
    let process = std::process::id();
    let cwd = std::env::current_dir().unwrap();
    assert_eq!(real(format!("/proc/self/root{}", secret.display())), secret);
    assert_eq!(real(format!("/proc/{process}/root/../etc/x")), real("/etc/x"));
    assert_eq!(real("/proc/self/cwd/x"), fs::canonicalize(&cwd).unwrap().join("x"));
    for fd in [
        format!("/proc/self/fd/{}", opened.as_raw_fd()),
        format!("/proc/thread-self/fd/{}", opened.as_raw_fd()),
        format!("/proc/self/task/{process}/fd/{}", opened.as_raw_fd()),
        format!("/dev/fd/{}", opened.as_raw_fd()),
    ] {
        assert_eq!(real(&fd), secret, "{fd}");
    }
    assert_eq!(real("/proc/self/status"), PathBuf::from(format!("/proc/{process}/status")));
    symlink("/proc/self/root", world.ws("up")).unwrap();
    assert_eq!(real(world.ws("up/etc/x")), real("/etc/x"));
}

#[test]
fn what_has_no_path_is_an_error() {
    let world = World::new();
    let gone = world.write("gone", "x");
    let open = fs::File::open(&gone).unwrap();
    fs::remove_file(&gone).unwrap();
    let fd = format!("/proc/self/fd/{}", open.as_raw_fd());
    assert_eq!(real_path(Path::new(&fd)).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    // Another file under the name that the kernel shows does not help.
    fs::write(world.ws("gone (deleted)"), "y").unwrap();
    assert!(real_path(Path::new(&fd)).is_err());
    let (reader, _writer) = io::pipe().unwrap();
    let socket = std::os::unix::net::UnixStream::pair().unwrap().0;
    for fd in [reader.as_raw_fd(), socket.as_raw_fd()] {
        let error = real_path(Path::new(&format!("/proc/self/fd/{fd}"))).unwrap_err();
        assert!(error.to_string().contains("not a path in the file system"), "{error}");
    }
    assert!(real_path(Path::new("/proc/self/ns/mnt")).is_err());
    // A plain symlink may have any name.
    symlink("x:[1] (deleted)", world.ws("odd")).unwrap();
    assert_eq!(real(world.ws("odd")), world.ws("x:[1] (deleted)"));
}

#[test]
fn names_are_bytes() {
    let world = World::new();
    let odd = world.ws("").join(OsStr::from_bytes(b"caf\xE9"));
    fs::write(&odd, "").unwrap();
    symlink(OsStr::from_bytes(b"caf\xE9"), world.ws("link")).unwrap();
    assert_eq!(real(&odd), odd);
    assert_eq!(real(world.ws("link")), odd);
    // Both spellings of é, and another case, are other files.
    for (a, b) in [("\u{e9}", "e\u{301}"), ("A", "a"), ("ﬁ", "fi")] {
        let (a, b) = (world.write(a, "1"), world.write(b, "2"));
        assert_ne!(real(&a), real(&b));
        assert!(!same_file(&a, &b).unwrap());
    }
}

#[test]
fn names_that_are_too_long_are_errors() {
    let world = World::new();
    for name in ["x".repeat(300), "x/".repeat(2500)] {
        let failed = real_path(&world.ws(&name)).map(|real| fs::write(real, ""));
        assert!(failed.is_err() || failed.is_ok_and(|written| written.is_err()));
    }
}

#[test]
fn hard_links_are_one_file() {
    let world = World::new();
    let one = world.write("one", "x");
    fs::hard_link(&one, world.ws("two")).unwrap();
    symlink("one", world.ws("three")).unwrap();
    assert!(same_file(&one, &world.ws("two")).unwrap());
    assert!(same_file(&one, &world.ws("three")).unwrap());
    assert!(!same_file(&one, &world.out("secret")).unwrap());
    assert_eq!(file_identity(&one).unwrap().links, 2);
    assert!(file_identity(&world.ws("none")).is_err());
}

#[test]
fn an_entry_is_the_link_itself() {
    let world = World::new();
    symlink("../out", world.ws("dir")).unwrap();
    symlink("secret", world.out("link")).unwrap();
    assert_eq!(real_entry(&world.ws("dir")).unwrap(), world.ws("dir"));
    assert_eq!(real_entry(&world.ws("dir/link")).unwrap(), world.out("link"));
    assert_eq!(real_entry(&world.ws("dir/..")).unwrap(), world.ws("").parent().unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Where the kernel finds something, it is the same thing.
    #[test]
    fn it_agrees_with_the_kernel(
        parts in prop::collection::vec(
            prop::sample::select(vec!["a", "b", "file", "up", "over", "self", ".", "..", "out", "ws"]),
            0..8,
        ),
    ) {
        let world = World::new();
        fs::create_dir_all(world.ws("a/b")).unwrap();
        world.write("a/file", "x");
        symlink("..", world.ws("a/up")).unwrap();
        symlink("../out", world.ws("over")).unwrap();
        symlink(".", world.ws("self")).unwrap();
        symlink("../ws/a/b", world.out("b")).unwrap();
        let path: PathBuf = std::iter::once(world.ws("")).chain(parts.iter().map(PathBuf::from)).collect();
        let real = real_path(&path).unwrap();
        prop_assert!(!real.components().any(|part| part.as_os_str() == ".."));
        if let Ok(canonical) = fs::canonicalize(&path) {
            prop_assert_eq!(real, canonical);
        }
    }
}
