use std::fs;

use hermes_core::{CancellationToken, Grants};

use rustix::fs::{CWD, RenameFlags};

use super::*;
use crate::access::FileAccess;
use crate::incoming::IncomingTree;

/// A plan to bring `from` back to where it never was.
fn plan_to_move(from: &Path, to: &Path) -> Vec<u8> {
    let id =
        InodeId::from_metadata(&FileMetadata::from_stat(&rustix::fs::stat(from).expect("a file")));
    let entries =
        vec![RollbackEntry::Rename { from: path_bytes(to), to: path_bytes(from), old: id }];
    serde_json::to_vec(&JournalPlan { entries, made: Vec::new(), marks: Vec::new() }).expect("text")
}

#[test]
fn only_a_journal_among_our_own_is_obeyed() {
    let world = tempfile::tempdir().expect("a folder");
    let root = fs::canonicalize(world.path()).expect("a folder");
    let (ours, users) = (root.join("ours"), root.join("users"));
    fs::create_dir(&ours).expect("made");
    fs::create_dir(&users).expect("made");
    let (file, elsewhere) = (users.join("file"), root.join("elsewhere"));
    fs::write(&file, "x").expect("written");
    let journals = JournalDir::new(&ours);

    let forged = users.join(ScratchKind::Journal.new_name());
    fs::write(&forged, plan_to_move(&file, &elsewhere)).expect("written");
    let everything = Grants::allow_all();
    let wait = Duration::ZERO;
    let hold = FileAccess::with_grants(&everything).lock(&[&file], wait, &CancellationToken::new());
    drop(hold.expect("held"));
    assert_eq!(journals.recover(), []);
    assert!(file.exists() && !elsewhere.exists());

    let real = ours.join(ScratchKind::Journal.new_name());
    fs::write(&real, plan_to_move(&file, &elsewhere)).expect("written");
    assert_eq!(journals.recover().len(), 1);
    assert!(!file.exists() && elsewhere.exists() && !real.exists());
    assert_eq!(journals.recover(), []);
}

#[test]
fn nothing_is_taken_back_of_what_is_done_or_still_being_done() {
    let world = tempfile::tempdir().expect("a folder");
    let root = fs::canonicalize(world.path()).expect("a folder");
    let (file, elsewhere) = (root.join("file"), root.join("elsewhere"));
    fs::write(&file, "x").expect("written");
    let journals = JournalDir::new(root.join("ours"));
    let spot = AnchoredName::resolve(&file, WalkMode::default()).expect("there");
    let id = InodeId::from_metadata(&spot.metadata().expect("there"));
    let entries = vec![RollbackEntry::Rename {
        from: path_bytes(&elsewhere),
        to: path_bytes(&file),
        old: id,
    }];
    let marks = || {
        let names = fs::read_dir(&root).expect("a folder").map(|e| e.expect("one").file_name());
        names.filter(|name| ScratchKind::from_name(name) == Some(ScratchKind::Journal)).count()
    };

    let journal = journals.write(entries, &[], &[&spot]).expect("written down");
    assert_eq!((journals.recover().len(), marks()), (0, 1));
    // Its maker dies when all is done.
    let text = fs::read(&journal.path).expect("text");
    let done = journal.path.with_extension(DONE_EXTENSION);
    let mark = root.join(journal.path.file_name().expect("a name"));
    drop(journal);
    assert_eq!(marks(), 0);
    fs::write(&done, text).expect("written");
    fs::write(mark, "").expect("written");
    assert_eq!((journals.recover().len(), marks()), (0, 0));
    assert!(file.exists() && !elsewhere.exists() && !done.exists());
}

#[test]
fn a_name_that_a_killed_single_write_left_goes_at_the_next_look() {
    let world = tempfile::tempdir().expect("a folder");
    let root = fs::canonicalize(world.path()).expect("a folder");
    let users = root.join("users");
    fs::create_dir(&users).expect("made");
    let file = users.join("file");
    fs::write(&file, "old").expect("written");
    let journals = JournalDir::new(root.join("ours"));
    let notes = || fs::read_dir(root.join("ours")).map_or(0, Iterator::count);
    let spot = AnchoredName::resolve(&file, WalkMode::default()).expect("there");

    // One that is longer goes before: nothing of it may be left behind it.
    let deep = users.join("a folder with a much longer name");
    fs::create_dir(&deep).expect("made");
    let longer = AnchoredName::resolve(&deep.join("file"), WalkMode::default()).expect("there");
    drop(journals.note_parent(&longer).expect("noted"));
    let noted = journals.note_parent(&spot).expect("noted");
    // As long as its maker lives nobody touches anything.
    assert_eq!((JournalDir::new(root.join("ours")).recover(), notes()), (Vec::new(), 1));
    let text = {
        let path = noted._note.as_ref().expect("a note").path.clone();
        fs::read(path).expect("text")
    };
    drop(noted);
    drop(journals);
    assert_eq!(notes(), 0);

    let stray = users.join(ScratchKind::File.new_name());
    fs::write(&stray, "new").expect("written");
    let dead =
        root.join("ours").join(ScratchKind::Journal.new_name()).with_extension(NOTE_EXTENSION);
    fs::write(&dead, text).expect("written");
    assert_eq!(JournalDir::new(root.join("ours")).recover(), []);
    assert!(!stray.exists() && !dead.exists());
    assert_eq!(fs::read_to_string(&file).expect("text"), "old");
}

#[test]
fn what_comes_after_a_look_at_an_empty_folder_is_seen() {
    let world = tempfile::tempdir().expect("a folder");
    let root = fs::canonicalize(world.path()).expect("a folder");
    fs::create_dir(root.join("ours")).expect("made");
    let journals = JournalDir::new(root.join("ours"));
    std::thread::sleep(2 * DIR_MTIME_GRANULARITY);
    assert_eq!((journals.recover(), journals.recover()), (Vec::new(), Vec::new()));
    assert!(journals.lock_clean_mtime().is_some());
    let stray = root.join(ScratchKind::File.new_name());
    fs::write(&stray, "new").expect("written");
    let at = AnchoredName::resolve(&root.join("file"), WalkMode::default()).expect("there");
    let other = JournalDir::new(root.join("ours"));
    let noted = other.note_parent(&at).expect("noted");
    let path = noted._note.as_ref().expect("a note").path.clone();
    let text = fs::read(&path).expect("text");
    // It lives; then it is dead, which changes nothing in the folder.
    assert_eq!((journals.recover(), path.exists()), (Vec::new(), true));
    fs::write(root.join("ours/text"), &text).expect("written");
    fs::rename(root.join("ours/text"), &path).expect("renamed");
    assert_eq!(journals.recover(), []);
    assert!(!stray.exists() && !path.exists());
}

/// A journal of a process that was killed.
fn die_with(journal: ChangeJournal) {
    let (path, text) = (journal.path.clone(), fs::read(&journal.path).expect("text"));
    drop(journal);
    fs::write(path, text).expect("written");
}

#[test]
fn a_tree_that_was_cut_off_on_its_way_goes_back() {
    let world = tempfile::tempdir().expect("a folder");
    let root = fs::canonicalize(world.path()).expect("a folder").join("users");
    let tree_name = ScratchKind::Directory.new_name();
    let tree = root.join(&tree_name);
    fs::create_dir_all(tree.join("sub")).expect("made");
    for name in ["new", "over", "waits", "edited", "lost", "sub/deep"] {
        fs::write(tree.join(name), "new").expect("written");
    }
    for name in ["over", "waits", "lost"] {
        fs::write(root.join(name), "old").expect("written");
    }
    let journals = JournalDir::new(world.path().join("ours"));
    let here = File::open(&root).expect("a folder");
    let mut arrival = IncomingTree::new(&here, &tree_name).expect("told").expect("a place");
    let facts = |path: PathBuf| FileMetadata::from_stat(&rustix::fs::lstat(path).expect("there"));
    arrival.add_dir(Path::new("sub"));
    for name in ["new", "edited", "sub/deep"].map(Path::new) {
        arrival.add_file(name, name, &facts(tree.join(name)), None);
    }
    for name in ["over", "waits", "lost"].map(Path::new) {
        arrival.add_file(name, name, &facts(tree.join(name)), Some(&facts(root.join(name))));
    }
    let journal = journals.record_incoming(arrival).expect("written down");
    for name in ["new", "edited", "sub"] {
        fs::rename(tree.join(name), root.join(name)).expect("moved");
    }
    for name in ["over", "lost"] {
        let (from, to) = (tree.join(name), root.join(name));
        rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::EXCHANGE).expect("swapped");
    }
    die_with(journal);
    // Somebody works with what is there.
    fs::write(root.join("edited"), "edited by the user").expect("written");
    fs::write(root.join("lost"), "edited by the user").expect("written");

    let recovered = journals.recover();
    assert_eq!(recovered.len(), 1);
    let left: Vec<_> = ["lost", "edited"].map(|name| root.join(name)).into();
    assert_eq!((recovered[0].files.len(), &recovered[0].not_restored), (6, &left));
    let read = |name: &str| fs::read_to_string(root.join(name)).ok();
    assert_eq!((read("over").as_deref(), read("waits").as_deref()), (Some("old"), Some("old")));
    assert_eq!(read("edited").as_deref(), Some("edited by the user"));
    assert!(!root.join("new").exists() && !root.join("sub").exists() && !tree.exists());
    // What was there before is not lost.
    let mut kept = fs::read_dir(&root).expect("a folder").map(|entry| entry.expect("one").path());
    let kept = kept.find(|path| path.extension() == Some(OsStr::new("kept"))).expect("kept");
    assert_eq!(fs::read_to_string(kept).expect("text"), "old");
}
