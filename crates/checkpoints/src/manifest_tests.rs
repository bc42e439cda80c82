use super::*;

fn seen(path: &str, text: &str) -> PathRecord {
    let state = SavedState::File {
        hash: ContentHash::for_content(text.as_bytes()),
        len: text.len() as u64,
        mode: 0o644,
        owner: Some((0, 0)),
        attributes: BTreeMap::new(),
        linked: None,
    };
    PathRecord { path: path.into(), state }
}

fn log() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("1-a.log");
    let manifest =
        CheckpointManifest::new("a".into(), "/w".into(), "s", "t", CheckpointKind::Turn, 1);
    let call = CallLine { id: "c".into(), tool: "x".into(), task: "k".into() };
    let lines = [
        CheckpointLine::Call(call),
        CheckpointLine::Before(seen("/w/a", "1")),
        CheckpointLine::Before(seen("/w/b\n", "1")),
        CheckpointLine::After(seen("/w/a", "2")),
        CheckpointLine::Before(seen("/w/a", "2")),
        CheckpointLine::After(seen("/w/a", "3")),
        CheckpointLine::After(seen("/w/never-seen-before", "3")),
        CheckpointLine::Finished(true),
    ];
    CheckpointLog::create(path.clone(), &manifest.header, &lines).expect("a log");
    (dir, path)
}

#[test]
fn the_first_before_and_the_last_after_count() {
    let (_folder, path) = log();
    let manifest = CheckpointManifest::load(&path).expect("a log").expect("whole");
    let changes: Vec<_> = manifest.changes().collect();
    assert_eq!(changes.len(), 2);
    assert_eq!(changes[0].1.before, seen("", "1").state);
    assert_eq!(changes[0].1.after, Some(seen("", "3").state));
    assert_eq!(changes[1].1.after, None);
    assert!(manifest.is_finished);
    assert_eq!(manifest.changed_by(), ["x"]);
}

#[test]
fn a_log_that_was_cut_off_anywhere_says_what_it_had_said() {
    let (_folder, path) = log();
    let whole = fs::read(&path).expect("bytes");
    let mut known = 0;
    for len in 0..whole.len() {
        fs::write(&path, &whole[..len]).expect("a shorter log");
        let changes = match CheckpointManifest::load(&path) {
            // Its first lines are there together, or something has happened to it.
            Err(_) if known == 0 => 0,
            Ok(None) => 0,
            loaded => loaded.expect("a log").expect("whole").changes.len(),
        };
        assert!(changes >= known, "at {len}");
        known = changes;
        // And it can be written on.
        if len % 50 == 0 && known > 0 {
            CheckpointLog::reopen(path.clone())
                .expect("a log")
                .write(&[CheckpointLine::Finished(true)])
                .expect("a line");
            assert!(CheckpointManifest::load(&path).expect("a log").expect("whole").is_finished);
        }
    }
    assert_eq!(known, 2);
}

#[test]
fn a_log_of_the_future_is_not_guessed_at() {
    let (_folder, path) = log();
    let text = fs::read_to_string(&path).expect("text");
    fs::write(&path, text.replacen("\"version\":3", "\"version\":4", 1)).expect("a newer log");
    assert!(CheckpointManifest::load(&path).is_err());
}

#[test]
fn a_line_that_cannot_be_read_makes_the_log_damaged() {
    let (_folder, path) = log();
    let whole = fs::read(&path).expect("bytes");
    let starts = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let starts: Vec<usize> = starts.map(|(at, _)| at + 1).collect();
    for start in &starts[..starts.len() - 1] {
        let mut bent = whole.clone();
        bent[start + 2] ^= 1;
        let mut zeroed = whole.clone();
        zeroed[start + 2..].fill(0);
        let mut followed = whole[..start + 2].to_vec();
        followed.extend(b"rubbish\n");
        for damage in [bent, zeroed, followed] {
            fs::write(&path, &damage).expect("a damaged log");
            let error = CheckpointManifest::load(&path).expect_err("damaged");
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "at {start}");
        }
    }
}
