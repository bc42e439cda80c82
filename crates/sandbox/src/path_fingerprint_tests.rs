use std::os::unix::fs::symlink;
use std::thread::sleep;

use super::*;

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            fs::write(dir.path().join(name), name).unwrap();
        }
        Self { dir }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn watch(&self, names: &[&str]) -> PathFingerprint {
        PathFingerprint::from_paths(names.iter().map(|name| self.at(name)))
    }
}

/// Until the stamps of folders count.
fn settle() {
    sleep(3 * MIN_CTIME_AGE);
}

#[test]
fn whatever_becomes_of_a_file_is_noticed() {
    type Change = fn(&Place);
    let changes: [(&str, Change); 5] = [
        ("replaced", |place| {
            fs::write(place.at("new"), "").unwrap();
            fs::rename(place.at("new"), place.at("a")).unwrap();
        }),
        ("gone", |place| fs::remove_file(place.at("b")).unwrap()),
        ("made", |place| fs::write(place.at("c"), "").unwrap()),
        ("exchanged", |place| {
            fs::rename(place.at("a"), place.at("x")).unwrap();
            fs::rename(place.at("b"), place.at("a")).unwrap();
            fs::rename(place.at("x"), place.at("b")).unwrap();
        }),
        ("another folder", |place| {
            let other = place.dir.path().with_extension("other");
            fs::create_dir(&other).unwrap();
            fs::rename(place.dir.path(), other.join("old")).unwrap();
            fs::create_dir(place.dir.path()).unwrap();
            fs::remove_dir_all(other).unwrap();
        }),
    ];
    for (what, change) in changes {
        for is_settled in [true, false] {
            let place = Place::new();
            if is_settled {
                settle();
            }
            let mut watch = place.watch(&["a", "b", "c"]);
            assert!(!watch.has_changed(), "{what}");
            assert!(!watch.has_changed(), "{what}");
            change(&place);
            assert!(watch.has_changed(), "{what}");
        }
    }
}

#[test]
fn what_others_do_beside_is_no_change_and_hides_none() {
    let place = Place::new();
    settle();
    let mut watch = place.watch(&["a", "b"]);
    for round in 0..3 {
        fs::write(place.at(&format!("other{round}")), "").unwrap();
        assert!(!watch.has_changed());
        if round == 1 {
            settle();
            assert!(!watch.has_changed());
        }
    }
    fs::remove_file(place.at("a")).unwrap();
    assert!(watch.has_changed());
}

#[test]
fn a_link_is_followed() {
    let (place, elsewhere) = (Place::new(), Place::new());
    symlink(elsewhere.at("a"), place.at("link")).unwrap();
    settle();
    let mut watch = place.watch(&["a", "b", "link"]);
    assert!(!watch.has_changed());
    fs::remove_file(elsewhere.at("a")).unwrap();
    assert!(watch.has_changed());
}

#[test]
fn content_and_times_are_nobodys_business() {
    let place = Place::new();
    settle();
    let mut watch = place.watch(&["a", "b"]);
    fs::write(place.at("a"), "more").unwrap();
    fs::File::open(place.at("b")).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    assert!(!watch.has_changed());
}
