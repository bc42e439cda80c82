//! Undos, redos and restores that are killed at any moment: the same command
//! goes on, and the opposite one takes them back.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

use hermes_checkpoints::{CheckpointKind, RestoreReport, RestoreTarget};
use hermes_core::{ErrorKind, ToolError};

use crate::bench::Bench;
use crate::processes::{many, start};

const FOLDERS: usize = 9;

/// How many are killed; `HERMES_KILLS` asks for more.
fn kills() -> u64 {
    std::env::var("HERMES_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(3)
}

/// Something up to a bound, another one each time.
fn chance(bound: u64) -> u64 {
    RandomState::new().hash_one(0) % bound.max(1)
}

/// A tree with one turn that has changed everything in it in every way.
struct Scene {
    bench: Bench,
    turn: String,
    old: BTreeMap<PathBuf, String>,
    new: BTreeMap<PathBuf, String>,
}

impl Scene {
    fn new() -> Self {
        let bench = Bench::with(many());
        for n in 0..FOLDERS {
            bench.write(&format!("gone{n}/f"), format!("old {n}"));
            bench.chmod(&format!("gone{n}"), [0o755, 0o750, 0o555, 0o2775][n % 4]);
            bench.write(&format!("f{n}"), format!("old {n}"));
            bench.write(&format!("swap{n}"), "a file");
        }
        fs::create_dir_all(bench.path("deep/er/empty")).unwrap();
        fs::create_dir(bench.path("closed")).unwrap();
        bench.write("mode", "content");
        bench.link("link", "f1");
        bench.write("name1", "linked");
        fs::hard_link(bench.path("name1"), bench.path("name2")).unwrap();
        fs::hard_link(bench.path("name1"), bench.path("deep/name3")).unwrap();
        let old = picture(&bench);
        let turn = bench.command(|| change(&bench)).unwrap();
        let new = picture(&bench);
        Self { bench, turn, old, new }
    }

    /// Runs a command in another process, and kills it some time after it has
    /// written down what it is about to do.
    fn kill(&self, role: &str, takes: Duration) {
        let begun = self.logs();
        let mut child = start(&self.bench, role);
        wait_for(&mut child, || self.logs() != begun);
        let nanos = u64::try_from(takes.as_nanos()).unwrap();
        std::thread::sleep(Duration::from_nanos(chance(nanos)));
        end(&mut child);
    }

    /// How long a command works after it has begun.
    fn time(&self, role: &str) -> Duration {
        let begun = self.logs();
        let mut child = start(&self.bench, role);
        wait_for(&mut child, || self.logs() != begun);
        let since = Instant::now();
        assert!(child.wait().unwrap().success(), "{role}");
        since.elapsed()
    }

    fn logs(&self) -> Vec<PathBuf> {
        let dirs = fs::read_dir(self.bench.store.root().join("workspaces")).unwrap().flatten();
        let files = dirs.filter_map(|dir| fs::read_dir(dir.path()).ok()).flatten();
        let files = files.flatten().map(|entry| entry.path());
        let mut logs: Vec<PathBuf> = files.filter(|p| p.extension().is_some()).collect();
        logs.sort();
        logs
    }

    fn assert_is(&self, wanted: &BTreeMap<PathBuf, String>, what: &str) {
        let found = picture(&self.bench);
        let is_other = |path: &&PathBuf| wanted.get(*path) != found.get(*path);
        let other: Vec<_> = wanted.keys().chain(found.keys()).filter(is_other).collect();
        assert!(other.is_empty(), "{what}: {other:?}");
    }

    fn restore(&self) -> Result<RestoreReport, ToolError> {
        self.bench.restore(&self.turn, &[])
    }

    /// Whether the last that was done is a restore, cut off or not.
    fn is_restored(&self) -> bool {
        let all = self.bench.store.checkpoints(&self.bench.work()).unwrap();
        matches!(all.last().unwrap().kind(), CheckpointKind::Restore(_))
    }

    fn assert_nothing_is_cut_off(&self) {
        let all = self.bench.store.checkpoints(&self.bench.work()).unwrap();
        assert!(all.iter().all(|checkpoint| !checkpoint.is_cut_off()));
    }
}

fn change(bench: &Bench) {
    for n in 0..FOLDERS {
        bench.chmod(&format!("gone{n}"), 0o755);
        fs::remove_dir_all(bench.path(format!("gone{n}"))).unwrap();
        bench.write(&format!("f{n}"), format!("new {n}"));
        bench.write(&format!("made{n}/x"), "made");
        fs::remove_file(bench.path(format!("swap{n}"))).unwrap();
        bench.write(&format!("swap{n}/inside"), "now a folder");
    }
    fs::remove_dir_all(bench.path("deep")).unwrap();
    bench.chmod("closed", 0o500);
    bench.chmod("mode", 0o4711);
    fs::remove_file(bench.path("link")).unwrap();
    bench.link("link", "f2");
    fs::remove_file(bench.path("name1")).unwrap();
    fs::remove_file(bench.path("name2")).unwrap();
}

/// With how many names each file has.
fn picture(bench: &Bench) -> BTreeMap<PathBuf, String> {
    let mut picture = bench.picture();
    for (path, what) in picture.iter_mut().filter(|(_, what)| what.starts_with("file")) {
        let names = fs::symlink_metadata(bench.path(path)).unwrap().nlink();
        what.push_str(&format!(" of {names} names"));
    }
    picture
}

/// Until it has come so far, or is through.
fn wait_for(child: &mut Child, is_so_far: impl Fn() -> bool) {
    while !is_so_far() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_micros(100));
    }
}

fn end(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// It goes on, unless it was through already.
fn go_on(done: Result<RestoreReport, ToolError>) {
    if let Err(error) = done {
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
}

#[test]
fn an_undo_that_is_killed_goes_on_and_can_be_taken_back() {
    let scene = Scene::new();
    let takes = scene.time("undo:");
    scene.assert_is(&scene.old, "the whole undo");
    scene.bench.redo().unwrap();
    scene.assert_is(&scene.new, "the whole redo");
    for n in 0..kills() {
        (0..=chance(2)).for_each(|_| scene.kill("undo:", takes));
        if n % 3 == 2 {
            go_on(scene.bench.redo());
            scene.assert_is(&scene.new, "taken back");
        } else {
            go_on(scene.bench.undo(1));
            scene.assert_is(&scene.old, "gone on with");
            scene.bench.redo().unwrap();
            scene.assert_is(&scene.new, "all of it is taken back, not only the rest");
        }
        scene.assert_nothing_is_cut_off();
    }
}

#[test]
fn a_redo_that_is_killed_goes_on_and_can_be_taken_back() {
    let scene = Scene::new();
    scene.bench.undo(1).unwrap();
    let takes = scene.time("redo:");
    scene.assert_is(&scene.new, "the whole redo");
    scene.bench.undo(1).unwrap();
    for n in 0..kills() {
        (0..=chance(2)).for_each(|_| scene.kill("redo:", takes));
        if n % 3 == 2 {
            go_on(scene.bench.undo(1));
            scene.assert_is(&scene.old, "taken back");
        } else {
            go_on(scene.bench.redo());
            scene.assert_is(&scene.new, "gone on with");
            scene.bench.undo(1).unwrap();
            scene.assert_is(&scene.old, "the turn can be undone again");
        }
        scene.assert_nothing_is_cut_off();
    }
}

#[test]
fn a_restore_that_is_killed_goes_on_and_can_be_taken_back() {
    let scene = Scene::new();
    let role = format!("restore:{}", scene.turn);
    let takes = scene.time(&role);
    scene.assert_is(&scene.old, "the whole restore");
    scene.bench.undo(1).unwrap();
    scene.assert_is(&scene.new, "the whole undo of it");
    for n in 0..kills() {
        (0..=chance(2)).for_each(|_| scene.kill(&role, takes));
        if n % 3 == 2 && scene.is_restored() {
            scene.bench.undo(1).unwrap();
            scene.assert_is(&scene.new, "taken back");
        } else {
            scene.restore().unwrap();
            scene.assert_is(&scene.old, "gone on with");
            scene.bench.undo(1).unwrap();
            scene.assert_is(&scene.new, "all of it is taken back, not only the rest");
        }
    }
}

/// Kills an undo as soon as a file of several is back.
fn half_undone() -> Scene {
    let scene = Scene::new();
    let mut child = start(&scene.bench, "undo:");
    let is_begun = || (0..FOLDERS).any(|n| scene.bench.path(format!("gone{n}")).exists());
    wait_for(&mut child, is_begun);
    end(&mut child);
    scene
}

#[test]
fn what_a_person_changed_after_an_undo_was_killed_is_not_overwritten() {
    let scene = half_undone();
    if picture(&scene.bench) == scene.old {
        return;
    }
    scene.bench.write("f3", "by a person");
    let error = scene.bench.undo(1).unwrap_err();
    assert!(error.message().contains("f3: it was changed since"), "{error}");
    assert!(!error.message().contains("gone"), "{error}");
    scene.bench.force_undo(1).unwrap();
    scene.assert_is(&scene.old, "by force");
    scene.bench.redo().unwrap();
    assert_eq!(scene.bench.read("f3").as_deref(), Some("by a person"));
}

#[test]
fn turns_after_a_killed_undo_do_not_keep_it_from_going_on() {
    let scene = half_undone();
    scene.bench.turn(&["between"], || scene.bench.write("between", "x"));
    scene.bench.undo(1).unwrap();
    assert_eq!(scene.bench.read("between"), None);
    go_on(scene.bench.undo(1));
    scene.assert_is(&scene.old, "gone on with");
    scene.bench.redo().unwrap();
    scene.assert_is(&scene.new, "taken back");
}

#[test]
fn a_killed_undo_of_several_turns_can_go_on_one_by_one() {
    let scene = Scene::new();
    scene.bench.turn(&["last"], || scene.bench.write("last", "x"));
    let mut child = start(&scene.bench, "undo2:");
    wait_for(&mut child, || scene.bench.path("gone1").exists());
    end(&mut child);
    if picture(&scene.bench) == scene.old {
        return;
    }
    scene.bench.undo(1).unwrap();
    assert_eq!(scene.bench.read("last"), None);
    scene.bench.undo(1).unwrap();
    scene.assert_is(&scene.old, "gone on with");
    scene.assert_nothing_is_cut_off();
    scene.bench.redo().unwrap();
    scene.assert_is(&scene.new, "taken back");
    scene.bench.redo().unwrap();
    assert_eq!(scene.bench.read("last").as_deref(), Some("x"));
}

#[test]
fn of_two_at_once_only_one_claims_a_turn() {
    let bench = Bench::new();
    for n in 0..2 {
        bench.turn(&["n"], || bench.write("n", n.to_string()));
    }
    let work = bench.work();
    let target = RestoreTarget::Undo { workspace: &work, turns: 1 };
    let twice = |target| [bench.store.plan(target).unwrap(), bench.store.plan(target).unwrap()];
    let assert_refused = |done: Result<RestoreReport, ToolError>| {
        let error = done.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.message().contains("just now"), "{error}");
    };
    let [one, other] = twice(target);
    bench.store.apply_plan(&one, false).unwrap();
    assert_refused(bench.store.apply_plan(&other, true));
    assert_eq!(bench.read("n").as_deref(), Some("0"));
    assert_eq!(bench.store.all().unwrap().len(), 3);

    let [one, other] = twice(RestoreTarget::Redo { workspace: &work });
    bench.store.apply_plan(&one, false).unwrap();
    assert_refused(bench.store.apply_plan(&other, true));
    assert_eq!(bench.read("n").as_deref(), Some("1"));

    let first = bench.store.all().unwrap()[0].id().to_owned();
    let [one, other] = twice(RestoreTarget::Restore { checkpoint: &first, paths: &[] });
    bench.store.apply_plan(&one, false).unwrap();
    assert_refused(bench.store.apply_plan(&other, true));
    assert_eq!(bench.read("n"), None);
}

#[test]
fn processes_that_undo_at_once_undo_a_turn_each_or_are_refused() {
    const TURNS: usize = 16;
    let bench = Bench::new();
    for n in 0..TURNS {
        let name = format!("f{n}");
        bench.turn(&[&name], || bench.write(&name, "x"));
    }
    let mut undone = 0;
    for _ in 0..TURNS / 2 {
        let children = [start(&bench, "undo:"), start(&bench, "undo:")];
        for mut child in children {
            undone += usize::from(child.wait().unwrap().success());
        }
        assert_eq!(bench.picture().len(), TURNS - undone);
    }
    for _ in 0..undone {
        bench.redo().unwrap();
    }
    assert_eq!(bench.picture().len(), TURNS);
}
