//! Several changes at once: all of them, or none.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_core::{CancellationToken, ErrorKind, Grants, ToolError};
use hermes_files::{ExistingFile, FileAccess, FileChange, FileChangeResult};
use proptest::prelude::*;

use crate::harness::World;

fn change(changes: &[FileChange]) -> Result<Vec<FileChangeResult>, ToolError> {
    let everything = Grants::allow_all();
    let paths: Vec<&Path> = changes.iter().flat_map(FileChange::paths).collect();
    let files = FileAccess::with_grants(&everything);
    files.lock(&paths, Duration::from_secs(60), &CancellationToken::new())?.change(changes)
}

fn write(path: PathBuf, text: &str) -> FileChange {
    FileChange::Write { path, bytes: text.into(), existing: ExistingFile::Replace }
}

fn create(path: PathBuf, text: &str) -> FileChange {
    FileChange::Write { path, bytes: text.into(), existing: ExistingFile::Refuse }
}

fn remove(path: PathBuf) -> FileChange {
    FileChange::Remove { path }
}

fn rename(from: PathBuf, to: PathBuf, text: Option<&str>) -> FileChange {
    FileChange::Move { from, to, bytes: text.map(Into::into) }
}

/// Every file and folder of the workspace: mode, number and content.
fn state(world: &World) -> BTreeMap<PathBuf, (u32, u64, Option<Vec<u8>>)> {
    let mut found = BTreeMap::new();
    let mut open = vec![world.ws("")];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let facts = fs::symlink_metadata(&path).unwrap();
            if facts.is_dir() {
                open.push(path.clone());
            }
            let content = facts.is_file().then(|| fs::read(&path).unwrap());
            found.insert(path, (facts.mode(), facts.ino(), content));
        }
    }
    found
}

fn read(path: PathBuf) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn all_kinds_of_changes_at_once() {
    let world = World::new();
    for name in ["edit", "gone", "moved", "moved and edited"] {
        world.write(name, name);
        fs::set_permissions(world.ws(name), fs::Permissions::from_mode(0o751)).unwrap();
    }
    let changed = change(&[
        write(world.ws("edit"), "new"),
        create(world.ws("p/q/fresh"), "fresh"),
        remove(world.ws("gone")),
        rename(world.ws("moved"), world.ws("m/one"), None),
        rename(world.ws("moved and edited"), world.ws("m/two"), Some("edited")),
    ])
    .unwrap();
    let created: Vec<bool> = changed.iter().map(|changed| changed.created).collect();
    assert_eq!(created, [false, true, false, true, true]);
    assert_eq!(changed[1].created_dirs, [world.ws("p"), world.ws("p/q")]);
    assert_eq!(changed[3].created_dirs, [world.ws("m")]);
    assert!(changed[4].created_dirs.is_empty());
    assert_eq!(changed[4].path, world.ws("m/two"));
    let files = ["edit", "m", "m/one", "m/two", "p", "p/q", "p/q/fresh"];
    let found: Vec<_> = state(&world).into_keys().collect();
    assert_eq!(found, files.map(|name| world.ws(name)));
    assert_eq!(read(world.ws("edit")), "new");
    assert_eq!(read(world.ws("m/one")), "moved");
    assert_eq!(read(world.ws("m/two")), "edited");
    for name in ["edit", "m/one", "m/two"] {
        assert_eq!(fs::metadata(world.ws(name)).unwrap().mode() & 0o777, 0o751, "{name}");
    }
}

/// The last change cannot be made; everything is as it was, down to the very
/// files.
#[test]
fn a_failure_takes_everything_back() {
    let world = World::new();
    for name in ["a", "b", "c", "d", "other"] {
        world.write(name, name);
    }
    world.write("fixed", "x");
    fs::set_permissions(world.ws("fixed"), fs::Permissions::from_mode(0o444)).unwrap();
    fs::create_dir(world.ws("folder")).unwrap();
    let before = state(&world);
    let bad = [
        write(world.ws("fixed"), "y"),
        write(world.ws("folder"), "y"),
        create(world.ws("other"), "y"),
        remove(world.ws("none")),
        remove(world.ws("folder")),
        rename(world.ws("none"), world.ws("n"), None),
        rename(world.ws("other"), world.ws("fixed"), None),
        rename(world.ws("other"), world.ws("fixed"), Some("y")),
        write(world.ws("other/below"), "y"),
    ];
    for bad in bad {
        for with_links in [false, true] {
            let mut changes = vec![
                write(world.ws("a"), "A"),
                remove(world.ws("b")),
                rename(world.ws("c"), world.ws("new/c"), None),
                rename(world.ws("d"), world.ws("new/d"), Some("D")),
                create(world.ws("new/deep/er"), "E"),
            ];
            if with_links {
                changes.rotate_left(2);
            }
            changes.push(bad.clone());
            let error = change(&changes).unwrap_err();
            assert!(error.details().get("not_put_back").is_none(), "{error:?}");
            assert_eq!(state(&world), before, "{bad:?}: {error}");
        }
    }
}

#[test]
fn a_failure_while_names_change_takes_everything_back() {
    let world = World::new();
    for name in ["a", "b", "c", "d"] {
        world.write(name, name);
    }
    let before = state(&world);
    // The second write is in the way of the last change, which is only seen
    // when the names are changed.
    let error = change(&[
        write(world.ws("a"), "A"),
        remove(world.ws("b")),
        rename(world.ws("c"), world.ws("new/c"), None),
        rename(world.ws("d"), world.ws("new/d"), Some("D")),
        create(world.ws("late"), "1"),
        create(world.ws("late"), "2"),
    ])
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!(state(&world), before);
}

#[test]
fn changes_of_one_file_come_one_after_the_other() {
    let world = World::new();
    world.write("a", "one");
    change(&[
        rename(world.ws("a"), world.ws("b"), None),
        create(world.ws("a"), "two"),
        write(world.ws("b"), "three"),
        write(world.ws("b"), "four"),
    ])
    .unwrap();
    assert_eq!((read(world.ws("a")).as_str(), read(world.ws("b")).as_str()), ("two", "four"));
    change(&[remove(world.ws("a")), create(world.ws("a"), "again")]).unwrap();
    assert_eq!(read(world.ws("a")), "again");
    assert_eq!(state(&world).len(), 2);
}

#[test]
fn a_file_that_changed_after_it_was_read_is_left_alone() {
    let world = World::new();
    let everything = Grants::allow_all();
    let files = FileAccess::with_grants(&everything);
    for (first, then) in [(Some("old"), Some("newer")), (Some("old"), None), (None, Some("new"))] {
        let file = world.ws("a");
        let _ = fs::remove_file(&file);
        if let Some(first) = first {
            world.write("a", first);
        }
        let held =
            files.lock(&[&file], Duration::from_secs(60), &CancellationToken::new()).unwrap();
        assert_eq!(held.read(&file).unwrap().as_deref(), first.map(str::as_bytes));
        fs::remove_file(&file).ok();
        if let Some(then) = then {
            world.write("a", then);
        }
        let error = held.change(&[write(file.clone(), "mine")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert_eq!(fs::read_to_string(&file).ok().as_deref(), then);
    }
}

#[test]
fn what_is_not_agreed_to_leaves_no_trace() {
    let world = World::new();
    let old = world.write("a", "old");
    let before = state(&world);
    let everything = Grants::allow_all();
    for size in [10, 300_000] {
        let files = FileAccess::with_grants(&everything);
        let new = world.ws("some/new/b");
        let changes = [write(old.clone(), &"x".repeat(size)), create(new.clone(), "y")];
        let held = files.lock(&[&old, &new], Duration::from_secs(60), &CancellationToken::new());
        let refused = held.unwrap().prepare(
            &changes,
            || (),
            || {
                assert_eq!(read(old.clone()), "old");
                Err::<(), _>(ToolError::denied("not so"))
            },
        );
        assert_eq!(refused.unwrap_err().message(), "not so");
        assert_eq!(state(&world), before);
    }
}

#[test]
fn work_aside_is_done_whatever_the_size() {
    let world = World::new();
    let everything = Grants::allow_all();
    for size in [10, 300_000] {
        let path = world.ws("a");
        let changes = [write(path.clone(), &"x".repeat(size))];
        let files = FileAccess::with_grants(&everything);
        let held = files.lock(&[&path], Duration::from_secs(60), &CancellationToken::new());
        let (secured, done, agreed) =
            held.unwrap().prepare(&changes, || changes.len(), || Ok("yes")).unwrap();
        assert_eq!((done, agreed), (1, "yes"));
        secured.commit().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), size as u64);
    }
}

#[test]
fn links_stay_and_lead_where_they_led() {
    let world = World::new();
    world.write("target", "old");
    symlink("target", world.ws("link")).unwrap();
    change(&[write(world.ws("link"), "new"), create(world.ws("x"), "")]).unwrap();
    assert_eq!(read(world.ws("target")), "new");
    assert!(fs::symlink_metadata(world.ws("link")).unwrap().is_symlink());
    change(&[rename(world.ws("link"), world.ws("other"), None)]).unwrap();
    assert_eq!(fs::read_link(world.ws("other")).unwrap(), Path::new("target"));
    change(&[remove(world.ws("other"))]).unwrap();
    assert_eq!(read(world.ws("target")), "new");
}

#[test]
fn a_file_is_not_moved_onto_itself() {
    let world = World::new();
    let path = world.write("c", "old");
    for first in [remove(path.clone()), write(path.clone(), "first")] {
        for bytes in [None, Some("new")] {
            let refused = change(&[first.clone(), rename(path.clone(), path.clone(), bytes)]);
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Conflict);
            assert_eq!(read(path.clone()), "old");
        }
    }
}

const NAMES: [&str; 5] = ["a", "b", "c", "d/e", "d/f"];

/// A change of one of a few files, by number.
fn numbered(world: &World, kind: u8, one: usize, two: usize, text: &str) -> FileChange {
    let (one, two) = (world.ws(NAMES[one]), world.ws(NAMES[two]));
    match kind {
        0 => write(one, text),
        1 => create(one, text),
        2 => remove(one),
        3 => rename(one, two, None),
        _ => rename(one, two, Some(text)),
    }
}

/// What the changes do to plain names and texts; none if they cannot be made.
fn model(
    files: &BTreeMap<PathBuf, Vec<u8>>,
    changes: &[FileChange],
) -> Option<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = files.clone();
    for change in changes {
        match change {
            FileChange::Write { path, bytes, existing } => {
                if *existing == ExistingFile::Refuse && files.contains_key(path) {
                    return None;
                }
                files.insert(path.clone(), bytes.to_vec());
            }
            FileChange::Remove { path } => {
                files.remove(path)?;
            }
            FileChange::Move { from, to, bytes } => {
                let old = files.remove(from)?;
                if files.contains_key(to) || from == to {
                    return None;
                }
                files.insert(to.clone(), bytes.as_ref().map_or(old, |bytes| bytes.to_vec()));
            }
        }
    }
    Some(files)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever is asked for happens as a whole, or nothing does.
    #[test]
    fn all_or_nothing(
        present in prop::collection::vec(any::<bool>(), 5),
        wanted in prop::collection::vec((0..5_u8, 0..5_usize, 0..5_usize, "[a-z]{0,8}"), 1..5),
    ) {
        let world = World::new();
        for (name, is_there) in NAMES.iter().zip(present) {
            if is_there {
                world.write(name, name);
            }
        }
        let changes: Vec<FileChange> = wanted
            .iter()
            .map(|(kind, one, two, text)| numbered(&world, *kind, *one, *two, text))
            .collect();
        let before = state(&world);
        let plain = before.iter().filter_map(|(p, (_, _, c))| Some((p.clone(), c.clone()?)));
        let expected = model(&plain.collect(), &changes);
        let mut paths: Vec<&Path> = changes.iter().flat_map(FileChange::paths).collect();
        let count = paths.len();
        paths.sort();
        paths.dedup();
        match change(&changes) {
            Ok(_) => {
                let after = state(&world).into_iter().filter_map(|(p, (_, _, c))| Some((p, c?)));
                prop_assert_eq!(Some(after.collect()), expected, "{:?}", changes);
            }
            Err(error) => {
                prop_assert_eq!(state(&world), before, "{:?}", changes);
                let is_simple = paths.len() == count;
                prop_assert!(!is_simple || expected.is_none(), "{:?}: {}", changes, error);
            }
        }
    }
}
