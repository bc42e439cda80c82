//! Files, as they are read and written from outside.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;
use std::sync::Arc;

use hermes_core::ErrorKind;
use hermes_exec::file_transfer::{self, RemoteFileKind};

use super::Scene;

const MOST: usize = 16 << 20;

async fn read(scene: &Scene, path: &Path) -> Vec<u8> {
    file_transfer::read(&*scene.backend, path, MOST).await.unwrap().bytes
}

async fn write(scene: &Scene, path: &Path, bytes: &[u8]) {
    file_transfer::write(&*scene.backend, path, bytes.to_vec(), None).await.unwrap();
}

pub(super) async fn what_is_written_can_be_read(scene: Arc<Scene>) {
    let path = scene.dir.join("written");
    let all: Vec<u8> = (0..=255).cycle().take(3_000_000).collect();
    for bytes in [&b""[..], b"\n", b"text", b"\xff\0\r\n\n\n", &all] {
        write(&scene, &path, bytes).await;
        assert!(read(&scene, &path).await == bytes, "{} bytes", bytes.len());
    }
    // A program there sees the same.
    let outcome = scene.run(scene.sh("wc -c <written; echo there >>written")).await;
    assert_eq!(outcome.text().trim(), "3000000");
    assert!(read(&scene, &path).await.ends_with(b"there\n"));
}

pub(super) async fn a_part_is_read(scene: Arc<Scene>) {
    let path = scene.dir.join("part");
    write(&scene, &path, b"0123456789").await;
    let contents = file_transfer::read(&*scene.backend, &path, 4).await.unwrap();
    assert_eq!((contents.bytes.as_slice(), contents.metadata.size), (&b"0123"[..], 10));
    assert!(contents.is_cut());
}

pub(super) async fn an_old_file_is_kept_when_writing_fails(scene: Arc<Scene>) {
    let made = scene.run(scene.sh("mkdir folder && echo old >folder/old && echo old >old")).await;
    assert_eq!(made.exit.code(), 0);
    let backend = &*scene.backend;
    let onto = scene.dir.join("folder");
    let failed = file_transfer::write(backend, &onto, b"new".to_vec(), None).await.unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::InvalidArguments);
    let below = scene.dir.join("old/below");
    assert!(file_transfer::write(backend, &below, b"new".to_vec(), None).await.is_err());
    assert_eq!(read(&scene, &scene.dir.join("old")).await, b"old\n");
    assert_eq!(read(&scene, &onto.join("old")).await, b"old\n");
    // Nothing of the attempts is left.
    let names = scene.run(scene.sh("ls -a . folder | grep hermes")).await;
    assert_eq!(names.text(), "");
}

pub(super) async fn a_mode_is_kept_or_set(scene: Arc<Scene>) {
    let made = scene.run(scene.sh("echo x >script; chmod 751 script")).await;
    assert_eq!(made.exit.code(), 0);
    let path = scene.dir.join("script");
    write(&scene, &path, b"new").await;
    let backend = &*scene.backend;
    assert_eq!(file_transfer::read(backend, &path, 9).await.unwrap().metadata.mode, 0o751);
    file_transfer::write(backend, &path, b"newer".to_vec(), Some(0o600)).await.unwrap();
    assert_eq!(file_transfer::read(backend, &path, 9).await.unwrap().metadata.mode, 0o600);
}

pub(super) async fn a_folder_tells_its_entries(scene: Arc<Scene>) {
    let script = "mkdir -p list/sub && cd list && printf abc >file && printf x >.hidden && \
                  ln -s nowhere link && mkfifo pipe";
    assert_eq!(scene.run(scene.sh(script)).await.exit.code(), 0);
    let dir = scene.dir.join("list");
    let mut entries = file_transfer::list(&*scene.backend, &dir).await.unwrap();
    entries.sort_by(|one, two| one.name.cmp(&two.name));
    let seen: Vec<_> = entries.iter().map(|it| (it.name.to_str().unwrap(), it.kind)).collect();
    let expected = [
        (".hidden", RemoteFileKind::File),
        ("file", RemoteFileKind::File),
        ("link", RemoteFileKind::Link),
        ("pipe", RemoteFileKind::Other),
        ("sub", RemoteFileKind::Directory),
    ];
    assert_eq!(seen, expected);
    assert_eq!(entries[1].metadata.size, 3);
    assert!(entries[1].metadata.modified > 1_600_000_000);
    let empty = file_transfer::list(&*scene.backend, &dir.join("sub")).await.unwrap();
    assert!(empty.is_empty());
}

pub(super) async fn odd_names_are_names(scene: Arc<Scene>) {
    let made = scene.run(scene.sh("mkdir odd")).await;
    assert_eq!(made.exit.code(), 0);
    let dir = scene.dir.join("odd");
    let mut names: Vec<OsString> = vec![
        "a b".into(),
        "new\nline\n".into(),
        "-n".into(),
        "it's \"$HOME\"".into(),
        "\\n*".into(),
        OsString::from_vec(b"\xff\xfe".to_vec()),
        "81a4 3 1 .".into(),
    ];
    for name in &names {
        let path = dir.join(name);
        write(&scene, &path, b"content").await;
        assert_eq!(read(&scene, &path).await, b"content", "{name:?}");
    }
    let listed = file_transfer::list(&*scene.backend, &dir).await.unwrap();
    let mut listed: Vec<OsString> = listed.into_iter().map(|entry| entry.name).collect();
    listed.sort();
    names.sort();
    assert_eq!(listed, names);
    let odd = dir.join(OsStr::new("new\nline\n"));
    assert!(file_transfer::list(&*scene.backend, &odd).await.is_err());
}

pub(super) async fn what_is_missing_is_told(scene: Arc<Scene>) {
    let (backend, path) = (&*scene.backend, scene.dir.join("missing"));
    let read = file_transfer::read(backend, &path, 9).await.unwrap_err();
    let list = file_transfer::list(backend, &path).await.unwrap_err();
    let write = file_transfer::write(backend, &path.join("x"), vec![], None).await.unwrap_err();
    for error in [read, list, write] {
        assert_eq!(error.kind(), ErrorKind::NotFound, "{}", error.message());
    }
    let dir = file_transfer::read(backend, &scene.dir, 9).await.unwrap_err();
    assert_eq!(dir.kind(), ErrorKind::InvalidArguments);
}

pub(super) async fn a_link_is_followed(scene: Arc<Scene>) {
    let made = scene.run(scene.sh("echo old >real && ln -s real alias")).await;
    assert_eq!(made.exit.code(), 0);
    let path = scene.dir.join("alias");
    assert_eq!(read(&scene, &path).await, b"old\n");
    write(&scene, &path, b"new\n").await;
    let outcome = scene.run(scene.sh("cat real; [ -L alias ] && echo link")).await;
    assert_eq!(outcome.text(), "new\nlink\n");
}
