//! What goes in comes out.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use crate::harness::{Found, Place, furnish, raw};

#[test]
fn trees_come_back_as_they_were() {
    for archive in ["a.zip", "a.tar", "a.tar.gz", "a.tgz", "a.tar.zst", "a.7z"] {
        let place = Place::new();
        furnish(&place, "in");
        let created = place.pack("in", archive).unwrap();
        assert!(created.skipped.is_empty(), "{archive}: {:?}", created.skipped);
        let out = place.unpack(archive, "out").unwrap();
        assert!(out.skipped.is_empty(), "{archive}: {:?}", out.skipped);
        assert_eq!(place.tree("out"), place.tree("in"), "{archive}");
        assert_eq!(
            (created.files, created.links, created.bytes),
            (out.files, out.links, out.bytes)
        );
        let listing = place.list(archive).unwrap();
        assert_eq!((listing.files, listing.dirs), (created.files, created.dirs), "{archive}");
        assert_eq!(listing.total, created.names.len() as u64);
        assert_eq!(place.names(), [archive, "in", "out"], "nothing is left behind");
    }
}

#[test]
fn times_come_back_to_the_second() {
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_234_567_891);
    for archive in ["a.zip", "a.tar", "a.tar.zst", "a.7z"] {
        let place = Place::new();
        place.write("in/d/f", "x");
        for path in ["in/d/f", "in/d"] {
            File::open(place.at(path)).unwrap().set_modified(then).unwrap();
        }
        place.pack("in", archive).unwrap();
        place.unpack(archive, "out").unwrap();
        for path in ["out/d/f", "out/d"] {
            let time = fs::metadata(place.at(path)).unwrap().modified().unwrap();
            assert_eq!(time, then, "{archive} {path}");
        }
        let listing = place.list(archive).unwrap();
        assert!(listing.members.iter().all(|member| member.modified == Some(then)), "{archive}");
    }
}

#[test]
fn the_same_tree_gives_the_same_bytes() {
    for archive in ["a.zip", "a.tar", "a.tar.gz", "a.tar.zst", "a.7z"] {
        let place = Place::new();
        furnish(&place, "in");
        place.pack("in", archive).unwrap();
        let first = fs::read(place.at(archive)).unwrap();
        place.pack("in", archive).unwrap();
        assert_eq!(fs::read(place.at(archive)).unwrap(), first, "{archive}");
    }
}

#[test]
fn single_files_lose_their_name_and_nothing_else() {
    for archive in ["notes.txt.gz", "notes.txt.zst"] {
        let place = Place::new();
        place.write("in.txt", "a line\n".repeat(10_000));
        place
            .pack_as(
                "in.txt",
                "in.txt",
                archive,
                hermes_archives::ArchiveFormat::from_name(archive.as_ref()).unwrap(),
                &hermes_archives::GlobFilter::all(),
            )
            .unwrap();
        let listing = place.list(archive).unwrap();
        assert_eq!((listing.total, listing.bytes), (1, 70_000));
        place.unpack(archive, "out").unwrap();
        assert_eq!(
            fs::read(place.at("out/notes.txt")).unwrap(),
            fs::read(place.at("in.txt")).unwrap()
        );
    }
}

#[test]
fn names_that_are_no_text_come_back_but_from_7z() {
    let place = Place::new();
    place.write(raw(b"in/caf\xE9"), "x");
    place.write(raw(b"in/d\xFF/e"), "z");
    place.write("in/b", "y");
    std::os::unix::fs::symlink(raw(b"caf\xE9"), place.at("in").join(raw(b"l\xFE"))).unwrap();
    for archive in ["a.tar.gz", "a.zip"] {
        let created = place.pack("in", archive).unwrap();
        assert_eq!((created.links, created.skipped.len()), (1, 0), "{:?}", created.skipped);
        place.unpack(archive, &format!("{archive}.out")).unwrap();
        assert_eq!(place.tree(&format!("{archive}.out")), place.tree("in"));
    }
    let created = place.pack("in", "a.7z").unwrap();
    assert_eq!(created.files, 1);
    assert!(created.skipped[0].reason.contains("UTF-8"), "{:?}", created.skipped);
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    let odd =
        prop::collection::vec(prop::sample::select(b"ab .\n\\\"'*\xC3\xA9\xFF-".to_vec()), 1..12);
    // A part that would lead up elsewhere is refused here as well.
    let leads_up = |name: &[u8]| name.split(|&b| b == b'\\').any(|part| part == b"..");
    odd.prop_filter("no name", move |name| {
        name != b"." && !leads_up(name) && !name.starts_with(b"\\")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_tree_comes_back(
        files in prop::collection::vec((prop::collection::vec(name(), 1..4), prop::collection::vec(any::<u8>(), 0..300)), 1..8),
        archive in prop::sample::select(vec!["a.tar", "a.tar.gz", "a.tar.zst", "a.zip", "a.7z"]),
    ) {
        let place = Place::new();
        fs::create_dir(place.at("in")).unwrap();
        for (parts, content) in files {
            let mut path = place.at("in");
            path.extend(parts.iter().map(|part| raw(part)));
            // A file may already be where a folder is wanted.
            if fs::create_dir_all(path.parent().unwrap()).is_ok() {
                let _ = fs::write(&path, content);
            }
        }
        let mut expected = place.tree("in");
        if archive.ends_with("7z") {
            expected.retain(|path, _| path.to_str().is_some());
        }
        prop_assume!(!expected.is_empty());
        place.pack("in", archive).unwrap();
        place.unpack(archive, "out").unwrap();
        let mut found = place.tree("out");
        // Folders of which all names were dropped are not made again.
        expected.retain(|path, what| *what != Found::Folder || found.contains_key(path));
        found.retain(|path, what| *what != Found::Folder || expected.contains_key(path));
        prop_assert_eq!(found, expected);
    }
}
