//! Concurrent changes by other processes, other programs and editors.

use std::fs::File;
use std::process::Command;

use hermes_memory::{MemoryError, MemoryLimits, MemoryStore, MemoryTarget};

use crate::lists::{add, remove};

#[test]
fn what_another_program_wrote_stays_and_becomes_a_version() {
    let home = tempfile::tempdir().expect("a directory");
    let memory = MemoryStore::new(home.path(), MemoryLimits::default());
    memory.apply(MemoryTarget::Memory, &[add("ours")]).expect("written");
    std::fs::write(memory.file(MemoryTarget::Memory), "ours\n§\ntheirs").expect("their write");
    memory.apply(MemoryTarget::Memory, &[add("ours again")]).expect("written");
    let text = std::fs::read_to_string(memory.file(MemoryTarget::Memory)).expect("the file");
    assert_eq!(text, "ours\n§\ntheirs\n§\nours again");
    let causes: Vec<String> = memory
        .history(MemoryTarget::Memory)
        .expect("versions")
        .into_iter()
        .map(|v| v.cause)
        .collect();
    assert_eq!(causes, ["add", "another program", "add"]);
}

#[test]
fn text_of_a_persons_own_is_not_reshaped() {
    let home = tempfile::tempdir().expect("a directory");
    let memory = MemoryStore::new(home.path(), MemoryLimits { memory: Some(40), user: None });
    let file = memory.file(MemoryTarget::Memory);
    for text in
        ["one\n§\n\n§\n   two", "one\n§\na long paragraph that somebody has pasted at the end"]
    {
        std::fs::write(&file, text).expect("by hand");
        let refused = memory.apply(MemoryTarget::Memory, &[remove("one")]);
        let Err(MemoryError::Drift { backup, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(std::fs::read_to_string(&backup).expect("a copy"), text);
        assert_eq!(std::fs::read_to_string(&file).expect("the file"), text);
    }
    let added =
        memory.apply(MemoryTarget::Memory, &[add("new")]).expect("an addition harms nothing");
    assert_eq!((added.archived_count, added.moved.len()), (1, 1));
    assert!(std::fs::read_to_string(&file).expect("the file").contains("long paragraph"));
}

#[test]
fn a_file_that_is_not_text_is_left_alone() {
    let home = tempfile::tempdir().expect("a directory");
    let memory = MemoryStore::new(home.path(), MemoryLimits::default());
    std::fs::write(memory.file(MemoryTarget::Memory), b"\x7fELF\0\xe9\0\0").expect("by hand");
    assert!(matches!(memory.apply(MemoryTarget::Memory, &[add("x")]), Err(MemoryError::Io { .. })));
    assert_eq!(
        std::fs::read(memory.file(MemoryTarget::Memory)).expect("the file"),
        b"\x7fELF\0\xe9\0\0"
    );
    assert_eq!(memory.snapshot().warnings.len(), 1);
}

#[test]
fn many_writers_lose_nothing() {
    let home = tempfile::tempdir().expect("a directory");
    let memory = MemoryStore::new(home.path(), MemoryLimits { memory: Some(200), user: None });
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let memory = memory.clone();
            scope.spawn(move || {
                for number in 0..15 {
                    let content = format!("writer {writer} wrote {number}");
                    memory.apply(MemoryTarget::Memory, &[add(&content)]).expect("written");
                }
            });
        }
    });
    let all = memory.search(MemoryTarget::Memory, "").expect("all");
    assert_eq!(all.len(), 60);
}

/// The lock is the one that `flock` and Python's `fcntl.flock` take.
#[test]
fn the_lock_is_shared_with_other_programs() {
    let home = tempfile::tempdir().expect("a directory");
    let memory = MemoryStore::new(home.path(), MemoryLimits::default());
    let lock = home.path().join("MEMORY.md.lock");
    let held = File::create(&lock).expect("a lock file");
    held.lock().unwrap();
    let (sent, got) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let written = memory.apply(MemoryTarget::Memory, &[add("later")]);
            sent.send(()).expect("a reader");
            written.expect("written in the end");
        });
        let early = got.recv_timeout(std::time::Duration::from_millis(200));
        assert!(early.is_err(), "it did not wait");
        assert!(!memory.file(MemoryTarget::Memory).exists());
        held.unlock().expect("let go");
    });
    assert_eq!(memory.read(MemoryTarget::Memory).expect("a list").entries, ["later"]);
}

#[test]
fn python_takes_the_same_lock() {
    let home = tempfile::tempdir().expect("a directory");
    let memory = MemoryStore::new(home.path(), MemoryLimits::default());
    memory.apply(MemoryTarget::Memory, &[add("zero")]).expect("written");
    // What Hermes Agent does: lock the file beside, read, join, replace.
    let script = r#"
import fcntl, os, sys
path = sys.argv[1]
for n in range(30):
    with open(path + ".lock", "a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        entries = [e.strip() for e in open(path, encoding="utf-8").read().split("\n§\n") if e.strip()]
        entries.append(f"python {n}")
        with open(path + ".new", "w", encoding="utf-8") as out:
            out.write("\n§\n".join(entries))
        os.replace(path + ".new", path)
"#;
    let child =
        Command::new("python3").args(["-c", script]).arg(memory.file(MemoryTarget::Memory)).spawn();
    let Ok(mut child) = child else {
        eprintln!("skipped: python3 is not installed");
        return;
    };
    for number in 0..30 {
        memory.apply(MemoryTarget::Memory, &[add(&format!("rust {number}"))]).expect("written");
    }
    assert!(child.wait().expect("it ends").success());
    assert_eq!(memory.search(MemoryTarget::Memory, "").expect("all").len(), 61);
}

#[test]
fn a_list_in_another_encoding_is_read_told_of_and_kept() {
    let home = tempfile::tempdir().expect("a directory");
    let memory = MemoryStore::new(home.path(), MemoryLimits::default());
    let written = b"Caf\xe9 cr\xe8me, d\xe9j\xe0 vu\n\xa7\nother";
    std::fs::write(memory.file(MemoryTarget::User), written).expect("by hand");
    let snapshot = memory.snapshot();
    assert!(snapshot.text().contains("Café crème"), "{snapshot:?}");
    assert!(snapshot.warnings[0].contains("USER.md is not UTF-8"), "{snapshot:?}");
    let done = memory.apply(MemoryTarget::User, &[add("new")]).expect("an addition");
    assert!(done.notes.iter().any(|note| note.contains("the original was copied to")), "{done:?}");
    let text = std::fs::read_to_string(memory.file(MemoryTarget::User)).expect("UTF-8 now");
    assert_eq!(text, "Café crème, déjà vu\n§\nother\n§\nnew");
    let copies: Vec<_> = std::fs::read_dir(home.path())
        .expect("the directory")
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().contains(".bak."))
        .map(|entry| std::fs::read(entry.path()).expect("the copy"))
        .collect();
    assert_eq!(copies, [written.to_vec()]);
    assert_eq!(memory.snapshot().warnings, Vec::<String>::new());
}

#[test]
fn a_pipe_in_the_place_of_a_list_is_not_waited_for() {
    let home = tempfile::tempdir().expect("a directory");
    let memory = MemoryStore::new(home.path(), MemoryLimits::default());
    let made = Command::new("mkfifo").arg(memory.file(MemoryTarget::Memory)).status();
    assert!(made.expect("mkfifo").success());
    let snapshot = memory.snapshot();
    assert!(snapshot.warnings[0].contains("not a regular file"), "{snapshot:?}");
    let refused = memory.apply(MemoryTarget::Memory, &[add("x")]);
    assert!(matches!(refused, Err(MemoryError::Io { .. })), "{refused:?}");
}
