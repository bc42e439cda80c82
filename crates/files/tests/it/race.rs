//! A folder on the path turns into a link to the outside and back, all the
//! time, while calls that were judged honestly write, read and remove.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use hermes_core::{ErrorKind, Grants, ToolError};
use hermes_files::{FileAccess, WalkMode, WriteOptions, real_path};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::harness::{World, judged};

const SWAPS: u64 = 100_000;

/// Does the calls until the swapping ends; how many succeeded and how many
/// were turned away.
#[derive(Default)]
struct Tally {
    done: u64,
    turned_away: u64,
}

impl Tally {
    fn add(&mut self, outcome: Result<(), ToolError>) {
        match outcome {
            Ok(()) => self.done += 1,
            Err(error) => {
                let is_clean = matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound);
                assert!(is_clean, "{error}");
                self.turned_away += 1;
            }
        }
    }
}

/// The grants of a call, unless the honest judge finds it outside.
fn judge(world: &World, path: &Path) -> Option<Grants> {
    let grants = judged(path);
    let is_inside = |real: &Path| real.starts_with(world.ws(""));
    grants
        .list()
        .unwrap()
        .iter()
        .all(|grant| is_inside(grant.real_path.as_ref().unwrap()))
        .then_some(grants)
}

fn attack(world: &World, round: u64, walk: WalkMode, tally: &mut Tally) {
    let file = world.ws("dir/file");
    let secret = world.ws("dir/secret");
    if let Some(grants) = judge(world, &file) {
        let files = FileAccess::with_grants(&grants).with_walk(walk);
        match round % 4 {
            0 => tally.add(files.write(&file, b"inside", WriteOptions::default())),
            1 => tally.add(files.append(&file, b"more")),
            2 => tally.add(files.remove_file(&file)),
            _ => {
                let mode = WriteOptions { make_parents: true, ..WriteOptions::default() };
                tally.add(files.write(&file, b"inside", mode));
            }
        }
    }
    if let Some(grants) = judge(world, &secret) {
        let files = FileAccess::with_grants(&grants).with_walk(walk);
        match files.open(&secret) {
            Ok(mut file) => {
                let mut text = String::new();
                file.read_to_string(&mut text).unwrap();
                assert_eq!(text, "mine", "the secret of the outside was read");
                tally.add(Ok(()));
            }
            Err(error) => tally.add(Err(error)),
        }
    }
    let tree = world.ws("dir/tree");
    if round.is_multiple_of(8)
        && let Some(grants) = judge(world, &tree)
    {
        let files = FileAccess::with_grants(&grants).with_walk(walk);
        tally.add(files.create_dir_all(&tree));
        tally.add(files.remove_tree(&tree).map(drop));
    }
}

fn race(walk: WalkMode) {
    let world = World::new();
    fs::create_dir_all(world.ws("dir")).unwrap();
    fs::write(world.ws("dir/secret"), "mine").unwrap();
    fs::create_dir(world.out("tree")).unwrap();
    fs::write(world.out("file"), "theirs").unwrap();
    symlink(world.out(""), world.ws("trap")).unwrap();
    let before = world.outside();
    let (dir, trap) = (world.ws("dir"), world.ws("trap"));
    let is_over = AtomicBool::new(false);
    let swaps = AtomicU64::new(0);
    let mut tally = Tally::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..SWAPS {
                renameat_with(CWD, &dir, CWD, &trap, RenameFlags::EXCHANGE).unwrap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
            is_over.store(true, Ordering::Release);
        });
        let mut round = 0;
        while !is_over.load(Ordering::Acquire) {
            attack(&world, round, walk, &mut tally);
            round += 1;
        }
    });
    assert_eq!(swaps.into_inner(), SWAPS);
    assert_eq!(world.outside(), before, "something outside was touched");
    assert!(tally.done > 0 && tally.turned_away > 0, "there was no race");
    // An even number of swaps: the folder is itself again, and clean.
    assert_eq!(real_path(&dir).unwrap(), dir);
    let left = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with(".hermes-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn nothing_outside_is_touched_in_one_call_to_the_kernel() {
    race(WalkMode::Kernel);
}

#[test]
fn nothing_outside_is_touched_step_by_step() {
    race(WalkMode::Stepwise);
}
