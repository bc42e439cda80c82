use std::fs;

use hermes_core::{CancellationToken, Grants};

use super::*;
use crate::files::Files;

/// A plan to bring `from` back to where it never was.
fn plan_to_move(from: &Path, to: &Path) -> Vec<u8> {
    let id = Id::of(&Facts::of(&rustix::fs::stat(from).expect("a file")));
    let entries = vec![Entry::Rename { from: bytes(to), to: bytes(from), old: id }];
    serde_json::to_vec(&Plan { entries, made: Vec::new(), marks: Vec::new() }).expect("text")
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
    let journals = Journals::new(&ours);

    let forged = users.join(Scratch::Journal.name());
    fs::write(&forged, plan_to_move(&file, &elsewhere)).expect("written");
    let everything = Grants::everything();
    let wait = Duration::ZERO;
    let hold = Files::with(&everything).hold(&[&file], wait, &CancellationToken::new());
    drop(hold.expect("held"));
    assert_eq!(journals.recover(), []);
    assert!(file.exists() && !elsewhere.exists());

    let real = ours.join(Scratch::Journal.name());
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
    let journals = Journals::new(root.join("ours"));
    let spot = Spot::reach(&file, Walk::default()).expect("there");
    let id = Id::of(&spot.facts().expect("there"));
    let entries = vec![Entry::Rename { from: bytes(&elsewhere), to: bytes(&file), old: id }];
    let marks = || {
        let names = fs::read_dir(&root).expect("a folder").map(|e| e.expect("one").file_name());
        names.filter(|name| Scratch::of(name) == Some(Scratch::Journal)).count()
    };

    let journal = journals.write(entries, &[], &[&spot]).expect("written down");
    assert_eq!((journals.recover().len(), marks()), (0, 1));
    // Its maker dies when all is done.
    let text = fs::read(&journal.path).expect("text");
    let done = journal.path.with_extension(DONE);
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
    let journals = Journals::new(root.join("ours"));
    let notes = || fs::read_dir(root.join("ours")).map_or(0, Iterator::count);
    let spot = Spot::reach(&file, Walk::default()).expect("there");

    let noted = journals.note(&spot).expect("noted");
    // As long as its maker lives nobody touches anything.
    assert_eq!((Journals::new(root.join("ours")).recover(), notes()), (Vec::new(), 1));
    let text = {
        let path = noted.0.as_ref().expect("a note").path.clone();
        fs::read(path).expect("text")
    };
    drop(noted);
    drop(journals);
    assert_eq!(notes(), 0);

    let stray = users.join(Scratch::File.name());
    fs::write(&stray, "new").expect("written");
    let dead = root.join("ours").join(Scratch::Journal.name()).with_extension(NOTE);
    fs::write(&dead, text).expect("written");
    assert_eq!(Journals::new(root.join("ours")).recover(), []);
    assert!(!stray.exists() && !dead.exists());
    assert_eq!(fs::read_to_string(&file).expect("text"), "old");
}
