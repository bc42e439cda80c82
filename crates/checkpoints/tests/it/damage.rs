//! Logs and contents that something has happened to.

use std::fs;
use std::path::PathBuf;

use hermes_checkpoints::{ContentHash, RestoreTarget};
use hermes_core::ErrorKind;

use crate::bench::Bench;

/// Three turns that make "1", "2" and "3" of a file; their names.
fn three() -> (Bench, Vec<String>) {
    let bench = Bench::new();
    bench.write("n", "0");
    let turns = (1..=3).map(|n| bench.turn(&["n"], || bench.write("n", n.to_string())).unwrap());
    let turns = turns.collect();
    (bench, turns)
}

fn log_of(bench: &Bench, id: &str) -> PathBuf {
    let end = format!("-{id}.log");
    let dirs = fs::read_dir(bench.store.root().join("workspaces")).unwrap().flatten();
    let mut logs = dirs.flat_map(|dir| fs::read_dir(dir.path()).unwrap().flatten());
    logs.find(|log| log.file_name().to_string_lossy().ends_with(&end)).unwrap().path()
}

fn object(bench: &Bench, content: &[u8]) -> PathBuf {
    let hex = ContentHash::for_content(content).to_hex();
    bench.store.root().join("objects").join(&hex[..2]).join(&hex[2..])
}

#[test]
fn a_newest_turn_that_cannot_be_read_stops_an_undo() {
    let (bench, turns) = three();
    let log = log_of(&bench, &turns[2]);
    let whole = fs::read_to_string(&log).unwrap();
    let head = whole.lines().next().unwrap().to_owned();
    let broken = [
        String::new(),
        "rubbish".into(),
        "rub\nbish\n".into(),
        format!("{head}\n"),
        format!("{head}\n\0\0\n"),
        whole[..whole.find("\"before\"").unwrap() + 20].to_owned(),
        whole.replacen("\"before\"", "\"befxre\"", 1),
        format!("{}{}", &whole[..whole.len() / 2], "\0".repeat(whole.len() / 2)),
    ];
    for damage in broken {
        fs::write(&log, &damage).unwrap();
        let damaged = bench.store.damaged(&bench.work()).unwrap();
        assert_eq!(damaged.len(), 1, "{damage:?}");
        assert_eq!((&damaged[0].id, &damaged[0].path), (&turns[2], &log));
        assert_eq!(bench.store.all_damaged().unwrap(), damaged);
        for turns in [1, 2] {
            let error = bench.undo(turns).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict);
            assert!(error.message().contains("cannot be read"), "{error}");
        }
        assert_eq!(bench.read("n").as_deref(), Some("3"), "nothing is changed");
    }
    let error = bench.store.find(&turns[2]).unwrap_err();
    assert!(error.message().contains("cannot be read"), "{error}");
}

#[test]
fn force_goes_past_a_turn_that_cannot_be_read_once_and_for_all() {
    let (bench, turns) = three();
    fs::write(log_of(&bench, &turns[2]), "").unwrap();
    let plan =
        bench.store.plan(RestoreTarget::Undo { workspace: &bench.work(), turns: 1 }).unwrap();
    assert_eq!(plan.damaged.len(), 1);
    bench.store.apply_plan(&plan, true).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("1"));
    bench.undo(1).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("0"));
    assert_eq!(bench.undo(1).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn an_older_turn_that_cannot_be_read_is_no_matter_until_its_turn_comes() {
    let (bench, turns) = three();
    fs::write(log_of(&bench, &turns[1]), "rubbish").unwrap();
    bench.undo(1).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("2"));
    assert_eq!(bench.undo(1).unwrap_err().kind(), ErrorKind::Conflict);
    bench.redo().unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("3"));
}

#[test]
fn an_undo_that_cannot_be_read_stops_a_redo_of_an_older_one() {
    let (bench, _) = three();
    bench.undo(1).unwrap();
    let second = bench.undo(1).unwrap().checkpoint.unwrap();
    fs::write(log_of(&bench, &second), "").unwrap();
    assert_eq!(bench.redo().unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(bench.read("n").as_deref(), Some("1"));
}

#[test]
fn a_later_turn_that_cannot_be_read_stops_a_restore() {
    let (bench, turns) = three();
    fs::write(log_of(&bench, &turns[2]), "").unwrap();
    let paths = [bench.path("n")];
    for paths in [&[][..], &paths[..]] {
        let plan =
            bench.store.plan(RestoreTarget::Restore { checkpoint: &turns[1], paths }).unwrap();
        assert_eq!(plan.damaged.len(), 1);
        let error = bench.store.apply_plan(&plan, false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.message().starts_with("A later turn cannot be read"), "{error}");
        assert_eq!(bench.read("n").as_deref(), Some("3"), "nothing is changed");
    }
    let plan =
        bench.store.plan(RestoreTarget::Restore { checkpoint: &turns[1], paths: &[] }).unwrap();
    bench.store.apply_plan(&plan, true).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("1"));
    // One that is older than the checkpoint is no matter.
    let (bench, turns) = three();
    fs::write(log_of(&bench, &turns[0]), "").unwrap();
    let plan =
        bench.store.plan(RestoreTarget::Restore { checkpoint: &turns[1], paths: &[] }).unwrap();
    bench.store.apply_plan(&plan, false).unwrap();
    assert_eq!(bench.read("n").as_deref(), Some("1"));
}

#[test]
fn the_only_turn_that_cannot_be_read_is_told() {
    let bench = Bench::new();
    let id = bench.turn(&["n"], || bench.write("n", "1")).unwrap();
    fs::write(log_of(&bench, &id), "").unwrap();
    let error = bench.undo(1).unwrap_err();
    assert!(error.message().starts_with("The newest turn cannot be read"), "{error}");
}

#[test]
fn a_content_that_is_damaged_is_kept_anew() {
    let bench = Bench::new();
    // A short one, a long one, and one that is written in pieces.
    for len in [10, 1_000_000, 9_000_000] {
        let text: Vec<u8> = (0..len).map(|n: u32| (n.wrapping_mul(n) >> 7) as u8).collect();
        let object = object(&bench, &text);
        let whole = {
            bench.write("n", &text);
            bench.turn(&["n"], || bench.write("n", "other"));
            fs::read(&object).unwrap()
        };
        let foreign = zstd::bulk::compress(b"not the one", 1).unwrap();
        let mut bent = whole.clone();
        let middle = bent.len() / 2;
        bent[middle] ^= 0x55;
        for damage in [&b"rubbish"[..], &whole[..whole.len() - 1], &foreign, &bent] {
            fs::write(&object, damage).unwrap();
            bench.write("n", &text);
            bench.turn(&["n"], || bench.write("n", "other"));
            bench.undo(1).unwrap();
            assert!(fs::read(bench.path("n")).unwrap() == text, "{len}");
            bench.redo().unwrap();
        }
    }
}
