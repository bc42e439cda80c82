//! Killed while it moves files into place, an extraction leaves all of them or
//! none, as soon as somebody looks next.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use hermes_archives::{
    ArchiveLimits, GlobFilter, ProgressHooks, UnpackConflictPolicy, UnpackRequest, extract,
};
use hermes_core::Grants;
use hermes_files::JournalDir;

use crate::harness::Place;

const FOLDER: &str = "HERMES_TEST_KILLED_UNPACKING_IN";
const EXISTING: &str = "HERMES_TEST_KILLED_UNPACKING_AS";
const OLD: usize = 1000;
const NEW: usize = 1500;
/// How often it is killed in the middle, and how often that is tried.
const KILLS: (usize, usize) = (2, 20);

fn journals(dir: &Path) -> JournalDir {
    JournalDir::new(dir.join("journals"))
}

/// Not a test: what the test kills.
#[test]
#[ignore = "started by another test"]
fn unpack_once() {
    let Some(dir) = env::var_os(FOLDER).map(PathBuf::from) else { return };
    let is_over = env::var_os(EXISTING).is_some_and(|how| how == "overwrite");
    let unpacking = UnpackRequest {
        archive: &dir.join("a.tar"),
        target: &dir.join("out"),
        choice: &GlobFilter::all(),
        strip: 0,
        existing: if is_over {
            UnpackConflictPolicy::Overwrite
        } else {
            UnpackConflictPolicy::Refuse
        },
        limits: ArchiveLimits::default(),
        journals: Some(&journals(&dir)),
    };
    extract(&Grants::allow_all(), &unpacking, ProgressHooks::NONE).unwrap();
}

fn start(dir: &Path, existing: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "killing::unpack_once", "--ignored", "--nocapture"])
        .env(FOLDER, dir)
        .env(EXISTING, existing)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// How many files of a folder have which content.
fn contents(dir: &Path) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        *found.entry(text).or_default() += 1;
    }
    found
}

fn kill_in_the_middle(existing: &str, old: usize) {
    let place = Place::in_memory();
    for at in 0..NEW {
        place.write(format!("in/d/f{at:04}"), "new");
    }
    place.pack("in", "a.tar").unwrap();
    // The first that comes, since the last name goes first.
    let first = place.at(format!("out/d/f{:04}", NEW - 1));
    let mut hits = 0;
    for _ in 0..KILLS.1 {
        let _ = fs::remove_dir_all(place.at("out"));
        fs::create_dir_all(place.at("out/d")).unwrap();
        (0..old).for_each(|at| drop(place.write(format!("out/d/f{at:04}"), "old")));
        let mut child = start(place.path(), existing);
        while !first.exists() && child.try_wait().unwrap().is_none() {}
        child.kill().unwrap();
        child.wait().unwrap();
        let cut = contents(&place.at("out/d"));
        let recovered = journals(place.path()).recover();
        let found = contents(&place.at("out/d"));
        let none = BTreeMap::from([("old".to_owned(), old)]);
        let none = if old == 0 { BTreeMap::new() } else { none };
        let all = BTreeMap::from([("new".to_owned(), NEW)]);
        assert!(found == none || found == all, "{existing}: {cut:?}, then {found:?}");
        if cut != none && cut != all {
            assert_eq!((recovered.len(), recovered[0].files.len()), (1, NEW), "it is told");
            assert_eq!(recovered[0].not_restored, [""; 0].map(PathBuf::from));
            let left = fs::read_dir(place.at("out")).unwrap().count();
            assert_eq!(left, 1, "nothing of ours is left");
            hits += 1;
        }
        if hits == KILLS.0 {
            return;
        }
    }
    assert!(hits > 0, "{existing}: it was never killed in the middle");
}

#[test]
fn a_killed_extraction_over_old_files_is_taken_back() {
    kill_in_the_middle("overwrite", OLD);
}

#[test]
fn a_killed_extraction_of_new_files_is_taken_back() {
    kill_in_the_middle("refuse", 0);
}
