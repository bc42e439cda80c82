//! Making archives.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use hermes_archives::{
    ArchiveFormat, ArchiveLimits, GlobFilter, PackRequest, PackSource, ProgressHooks,
    UnpackConflictPolicy, UnpackRequest, create, extract,
};
use hermes_core::{Effect, ErrorKind, Grants, Scope};

use crate::harness::{Place, furnish};

fn names(created: &hermes_archives::PackReport) -> Vec<String> {
    created.names.iter().map(|name| name.to_string_lossy().into_owned()).collect()
}

#[test]
fn globs_choose_and_leave_out() {
    let place = Place::new();
    for name in ["a.rs", "b.txt", "d/c.rs", "target/x.rs"] {
        place.write(format!("in/{name}"), "x");
    }
    let choice = GlobFilter::new(&["*.rs".to_owned()], &["target".to_owned()]).unwrap();
    let created = place.pack_as("in", "in", "a.zip", ArchiveFormat::Zip, &choice).unwrap();
    assert_eq!(names(&created), ["in/a.rs", "in/d/c.rs"]);
}

#[test]
fn git_decides_when_it_is_asked() {
    let place = Place::new();
    fs::create_dir_all(place.at("in/.git")).unwrap();
    place.write("in/.gitignore", "*.log\n/out\n!keep.log\n");
    place.write("in/sub/.ignore", "tmp\n");
    for name in ["a", "b.log", "keep.log", "out/x", "sub/out/y", "sub/tmp"] {
        place.write(format!("in/{name}"), "");
    }
    let sources = [PackSource { path: place.at("in"), name: "".into() }];
    let archive = place.at("a.tar");
    let mut packing = PackRequest {
        max_bytes: u64::MAX,
        sources: &sources,
        archive: &archive,
        format: ArchiveFormat::Tar,
        level: None,
        choice: &GlobFilter::all(),
        gitignore: true,
        existing: hermes_files::ExistingFile::Refuse,
    };
    let created = create(&Grants::allow_all(), &packing, ProgressHooks::NONE).unwrap();
    let expected = [".gitignore", "a", "keep.log", "sub", "sub/.ignore", "sub/out", "sub/out/y"];
    assert_eq!(names(&created), expected);
    let again = create(&Grants::allow_all(), &packing, ProgressHooks::NONE).expect_err("it exists");
    assert_eq!(again.kind(), ErrorKind::Conflict);
    packing.existing = hermes_files::ExistingFile::Replace;
    packing.gitignore = false;
    let all = create(&Grants::allow_all(), &packing, ProgressHooks::NONE).unwrap();
    assert_eq!(all.files, 8);
}

#[test]
fn an_archive_is_never_packed_into_itself() {
    let place = Place::new();
    place.write("in/a", "x");
    for _ in 0..2 {
        let created = place.pack("in", "in/own.tar").unwrap();
        assert_eq!(names(&created), ["a"]);
    }
    let created = place.pack("in", "in/own.tar").unwrap();
    assert_eq!(created.skipped[0].reason, "it is the archive itself");
    let only = place.pack_as(
        "in/own.tar",
        "own.tar",
        "in/own.tar",
        ArchiveFormat::Tar,
        &GlobFilter::all(),
    );
    assert_eq!(only.expect_err("itself").kind(), ErrorKind::InvalidArguments);
}

#[test]
fn a_failure_leaves_the_old_archive() {
    let place = Place::new();
    place.write("in/a", vec![7; 3_000_000]);
    place.write("a.zip", "the old one");
    for archive in ["a.zip", "a.tar.gz", "a.7z", "a.tar.zst"] {
        let calls = Cell::new(0);
        let stopped = || {
            calls.set(calls.get() + 1);
            calls.get() > 20
        };
        let sources = [PackSource { path: place.at("in"), name: "".into() }];
        let path = place.at(archive);
        let packing = PackRequest {
            max_bytes: u64::MAX,
            sources: &sources,
            archive: &path,
            format: ArchiveFormat::from_name(&path).unwrap(),
            level: None,
            choice: &GlobFilter::all(),
            gitignore: false,
            existing: hermes_files::ExistingFile::Replace,
        };
        let oversight = ProgressHooks { stopped: &stopped, progress: &|_, _| {} };
        let error = create(&Grants::allow_all(), &packing, oversight).expect_err("stopped");
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{archive}: {error}");
    }
    assert_eq!(fs::read_to_string(place.at("a.zip")).unwrap(), "the old one");
    assert_eq!(place.names(), ["a.zip", "in"]);
}

#[test]
fn levels_and_formats_are_checked() {
    let place = Place::new();
    furnish(&place, "in");
    let sources = [PackSource { path: place.at("in"), name: "in".into() }];
    for (archive, format, level, kind) in [
        ("a.zip", ArchiveFormat::Zip, Some(10), ErrorKind::InvalidArguments),
        ("a.tar", ArchiveFormat::Tar, Some(1), ErrorKind::InvalidArguments),
        ("a.tar.zst", ArchiveFormat::TarZst, Some(0), ErrorKind::InvalidArguments),
        ("a.gz", ArchiveFormat::Gz, None, ErrorKind::InvalidArguments),
    ] {
        let packing = PackRequest {
            max_bytes: u64::MAX,
            sources: &sources,
            archive: &place.at(archive),
            format,
            level,
            choice: &GlobFilter::all(),
            gitignore: false,
            existing: hermes_files::ExistingFile::Refuse,
        };
        let error = create(&Grants::allow_all(), &packing, ProgressHooks::NONE).expect_err(archive);
        assert_eq!(error.kind(), kind, "{error}");
    }
    for (format, levels) in [
        (ArchiveFormat::Zip, [0, 9]),
        (ArchiveFormat::SevenZip, [0, 1]),
        (ArchiveFormat::TarZst, [1, 19]),
    ] {
        let sizes: Vec<u64> = levels
            .iter()
            .map(|&level| {
                let packing = PackRequest {
                    max_bytes: u64::MAX,
                    sources: &sources,
                    archive: &place.at("level"),
                    format,
                    level: Some(level),
                    choice: &GlobFilter::all(),
                    gitignore: false,
                    existing: hermes_files::ExistingFile::Replace,
                };
                create(&Grants::allow_all(), &packing, ProgressHooks::NONE).unwrap().packed
            })
            .collect();
        assert!(sizes[0] > sizes[1] || format == ArchiveFormat::TarZst, "{format}: {sizes:?}");
        place.unpack("level", &format!("out-{format}")).unwrap();
        assert_eq!(place.tree(&format!("out-{format}/in")), place.tree("in"));
    }
}

#[test]
fn only_what_was_granted_is_read_and_written() {
    let place = Place::new();
    place.write("in/a", "x");
    let sources = [PackSource { path: place.at("in"), name: "".into() }];
    let archive = place.at("a.zip");
    let packing = PackRequest {
        max_bytes: u64::MAX,
        sources: &sources,
        archive: &archive,
        format: ArchiveFormat::Zip,
        level: None,
        choice: &GlobFilter::all(),
        gitignore: false,
        existing: hermes_files::ExistingFile::Refuse,
    };
    let read = Effect::path(Scope::FILE_READ, place.at("in"));
    let write = Effect::path(Scope::FILE_WRITE, &archive);
    for grants in [vec![], vec![read.clone()], vec![write.clone()]] {
        let refused = create(&Grants::from_effects(&grants), &packing, ProgressHooks::NONE)
            .expect_err("denied");
        assert_eq!(refused.kind(), ErrorKind::Denied, "{refused}");
    }
    create(&Grants::from_effects(&[read, write]), &packing, ProgressHooks::NONE).unwrap();
}

#[test]
fn nothing_to_pack_is_said() {
    let place = Place::new();
    fs::create_dir(place.at("in")).unwrap();
    assert_eq!(place.pack("in", "a.zip").expect_err("empty").kind(), ErrorKind::InvalidArguments);
    assert_eq!(place.pack("gone", "a.zip").expect_err("gone").kind(), ErrorKind::NotFound);
    assert_eq!(place.names(), ["in"]);
}

#[test]
fn progress_ends_at_the_end() {
    let place = Place::new();
    place.write("in/a", vec![1; 5 << 20]);
    let sources = [PackSource { path: place.at("in"), name: "".into() }];
    let packing = PackRequest {
        max_bytes: u64::MAX,
        sources: &sources,
        archive: &place.at("a.tar"),
        format: ArchiveFormat::Tar,
        level: None,
        choice: &GlobFilter::all(),
        gitignore: false,
        existing: hermes_files::ExistingFile::Refuse,
    };
    let seen = std::cell::RefCell::new(Vec::new());
    let progress = |done, total| seen.borrow_mut().push((done, total));
    let oversight = ProgressHooks { stopped: &|| false, progress: &progress };
    create(&Grants::allow_all(), &packing, oversight).unwrap();
    let seen = seen.into_inner();
    assert!(seen.len() >= 4 && seen.is_sorted(), "{seen:?}");
    assert!(seen.iter().all(|&(done, total)| done <= total && total == 5 << 20));
}

#[test]
fn closed_places_are_neither_packed_nor_unpacked() {
    let place = Place::new();
    place.write("in/.env", "SECRET=1");
    place.write("in/keys/a", "key");
    place.write("in/open", "x");
    place.pack("in", "all.tar").unwrap();
    let real = place.at("in").canonicalize().unwrap();
    let closed = move |_: &Scope, path: &Path| path.ends_with(".env") || path == real.join("keys");
    let grants = Grants::allow_all().with_exceptions(Arc::new(closed));
    let sources = [PackSource { path: place.at("in"), name: "".into() }];
    let packing = PackRequest {
        max_bytes: u64::MAX,
        sources: &sources,
        archive: &place.at("a.tar"),
        format: ArchiveFormat::Tar,
        level: None,
        choice: &GlobFilter::all(),
        gitignore: false,
        existing: hermes_files::ExistingFile::Refuse,
    };
    let created = create(&grants, &packing, ProgressHooks::NONE).unwrap();
    assert_eq!(names(&created), ["open"]);
    assert_eq!(created.skipped.len(), 2, "{:?}", created.skipped);
    let (archive, out) = (place.at("all.tar"), place.at("out"));
    let choice = GlobFilter::all();
    let unpacking = UnpackRequest {
        archive: &archive,
        target: &out,
        choice: &choice,
        strip: 0,
        existing: UnpackConflictPolicy::Refuse,
        limits: ArchiveLimits::default(),
        journals: None,
    };
    let refused = extract(&grants, &unpacking, ProgressHooks::NONE).expect_err("closed");
    assert_eq!(refused.details()["rule"], "protected");
    assert_eq!(place.names(), ["a.tar", "all.tar", "in"]);
}

#[test]
fn bits_that_are_not_packed_are_told() {
    let place = Place::new();
    for (name, mode) in [("su", 0o4755), ("sg", 0o2755), ("plain", 0o755)] {
        let path = place.write(format!("in/{name}"), "x");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    for archive in ["a.tar", "a.zip", "a.7z"] {
        let created = place.pack("in", archive).unwrap();
        let [shown] = created.not_kept.as_slice() else { panic!("{:?}", created.not_kept) };
        assert_eq!((shown.first.as_path(), shown.count), (Path::new("sg"), 2), "{archive}");
        assert!(place.unpack(archive, &format!("out-{archive}")).unwrap().not_kept.is_empty());
    }
}

#[test]
fn what_could_not_be_unpacked_is_not_packed() {
    let place = Place::new();
    for name in ["C:\\w", "\\x", "a\\..\\b", "C:/in", "fine\\y", "plain"] {
        place.write(format!("in/{name}"), "x");
    }
    for archive in ["a.tar", "a.zip", "a.7z"] {
        let created = place.pack("in", archive).unwrap();
        let names: Vec<_> = created.skipped.iter().map(|skipped| skipped.path.clone()).collect();
        let expected = ["C:", "C:/in", "C:\\w", "\\x", "a\\..\\b"].map(std::path::PathBuf::from);
        assert_eq!(names, expected, "{archive}");
        assert!(created.skipped[2].reason.contains("drive letter"), "{:?}", created.skipped);
        let out = place.unpack(archive, &format!("out-{archive}")).unwrap();
        assert_eq!((created.files, out.files, out.skipped.len()), (2, 2, 0), "{archive}");
    }
}

#[test]
fn an_include_that_matches_nothing_is_to_blame() {
    let place = Place::new();
    place.write("in/a.txt", "1");
    place.write("in/b/c.txt", "2");
    assert!(place.run("mkfifo", &["in/pipe"]).is_some());
    let choice = GlobFilter::new(&["*.rs".to_owned()], &[]).unwrap();
    for (archive, format) in [("a.zip", ArchiveFormat::Zip), ("a.gz", ArchiveFormat::Gz)] {
        let refused = place.pack_as("in", "", archive, format, &choice).expect_err("nothing");
        assert!(
            refused.message().contains("include does not match any of the 2 files"),
            "{refused}"
        );
        assert!(!refused.hint().contains("pipe"), "{refused}");
    }
}
