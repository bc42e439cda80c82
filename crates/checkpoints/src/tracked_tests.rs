use std::process::{Command, Stdio};

use super::*;

/// A repository, in which git is told a few things.
fn repository(orders: &[&[&str]]) -> tempfile::TempDir {
    let held = tempfile::tempdir().unwrap();
    let files = ["a.log", "build-x", "build/deep/y", "build/x", "other/\u{e9}", "z"];
    for name in files {
        let path = held.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }
    orders.iter().for_each(|order| git(held.path(), order));
    held
}

fn git(dir: &Path, order: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "splitIndex.maxPercentChange=100"]).args(order).current_dir(dir);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git.env_remove("GIT_DIR").env_remove("GIT_INDEX_FILE").env_remove("GIT_WORK_TREE");
    assert!(git.stdout(Stdio::null()).status().unwrap().success(), "git {order:?}");
}

fn names(index: &Path) -> Vec<String> {
    let tracked = TrackedFiles::read(index).unwrap();
    let name = |span| String::from_utf8_lossy(tracked.name(span)).into_owned();
    tracked.spans.iter().map(name).collect()
}

const ALL: [&str; 6] = ["a.log", "build-x", "build/deep/y", "build/x", "other/\u{e9}", "z"];

#[test]
fn every_version_of_an_index_is_read() {
    for version in ["2", "3", "4"] {
        let new: &[&str] = if version == "3" { &["add", "-N", "z"] } else { &["add", "z"] };
        let held = repository(&[
            &["init", "-q"],
            &["add", "a.log", "build-x", "build", "other"],
            new,
            &["update-index", "--index-version", version],
        ]);
        let index = held.path().join(".git/index");
        assert_eq!(names(&index), ALL, "version {version}");
        assert_eq!(fs::read(&index).unwrap()[7].to_string(), version);
    }
}

#[test]
fn an_index_with_longer_hashes_is_read() {
    let held = repository(&[&["init", "-q", "--object-format=sha256"], &["add", "."]]);
    assert_eq!(names(&held.path().join(".git/index")), ALL);
}

#[test]
fn an_index_that_is_split_is_read_with_the_one_that_it_shares() {
    for version in ["2", "4"] {
        let held = repository(&[
            &["init", "-q"],
            &["add", "build", "z"],
            &["update-index", "--index-version", version],
            &["update-index", "--split-index"],
        ]);
        fs::write(held.path().join("z"), "changed").unwrap();
        git(held.path(), &["add", "a.log", "build-x", "other", "z"]);
        let index = held.path().join(".git/index");
        let mut found = names(&index);
        found.dedup();
        assert_eq!(found, ALL);
        // Without the other one nobody knows.
        for entry in fs::read_dir(held.path().join(".git")).unwrap().flatten() {
            if entry.file_name().to_string_lossy().starts_with("sharedindex.") {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        assert!(TrackedFiles::read(&index).is_none());
    }
}

#[test]
fn a_folder_counts_with_what_is_in_it() {
    let held = repository(&[&["init", "-q"], &["add", "build-x", "build", "z"]]);
    let tracked = TrackedFiles::read(&held.path().join(".git/index")).unwrap();
    for (name, is_folder) in
        [("build", true), ("build/deep", true), ("build/x", false), ("build-x", false)]
    {
        assert!(tracked.contains(Path::new(name), is_folder), "{name}");
    }
    for (name, is_folder) in
        [("build", false), ("buil", true), ("build/dee", true), ("zz", false), ("other", true)]
    {
        assert!(!tracked.contains(Path::new(name), is_folder), "{name}");
    }
}

#[test]
fn a_damaged_index_is_none() {
    for version in ["2", "4"] {
        let held = repository(&[
            &["init", "-q"],
            &["add", "."],
            &["update-index", "--index-version", version],
        ]);
        let index = held.path().join(".git/index");
        let whole = fs::read(&index).unwrap();
        for len in 0..whole.len() {
            assert!(parse(&whole[..len]).is_none(), "cut off after {len}");
        }
        for at in 0..whole.len() {
            for value in [0, 0x7f, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                // It may be read, but it does not break anything.
                let _ = parse(&damaged);
            }
        }
    }
}

#[test]
fn names_that_say_much_in_few_bytes_are_not_spelt_out() {
    let mut index = b"DIRC\0\0\0\x04".to_vec();
    index.extend(2000_u32.to_be_bytes());
    for number in 0..2000 {
        index.extend([0; 60]);
        index.extend(0x0fff_u16.to_be_bytes());
        index.push(0);
        index.extend(if number == 0 { vec![b'x'; 200_000] } else { Vec::new() });
        index.push(0);
    }
    index.extend([0; 20]);
    assert!(parse(&index).is_none());
}

#[test]
fn an_index_is_read_again_when_it_has_changed() {
    let held = repository(&[&["init", "-q"], &["add", "z"]]);
    let git_folder = held.path().join(".git");
    let indexes = IndexCache::default();
    let first = indexes.load(&git_folder);
    assert!(Arc::ptr_eq(&first, &indexes.load(&git_folder)));
    assert!(!first.contains(Path::new("a.log"), false));
    git(held.path(), &["add", "a.log"]);
    assert!(indexes.load(&git_folder).contains(Path::new("a.log"), false));
    fs::remove_file(git_folder.join("index")).unwrap();
    assert!(!indexes.load(&git_folder).contains(Path::new("z"), false));
}
