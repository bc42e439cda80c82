use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use rustix::fs::{CWD, FileType, Mode, XattrFlags};

use super::*;

const WORKSPACE: &str = "/home/me/code/My project!";

/// A store, and a home with a cache in it.
struct Fixture {
    _root: tempfile::TempDir,
    store: OverlayStore,
    home: PathBuf,
    upper: PathBuf,
    lower: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let (store, home) = (OverlayStore::new(root.path().join("o")), root.path().join("home"));
        let lower = home.join(".npm");
        fs::create_dir_all(&lower).unwrap();
        let kept = store.ensure(Path::new(WORKSPACE), &home, Path::new(".npm")).unwrap();
        Self { _root: root, store, home, upper: kept.join("upper"), lower }
    }

    fn entry(&self) -> OverlayEntry {
        self.store.list().unwrap().remove(0)
    }

    fn changes(&self) -> Vec<(String, OverlayChangeKind)> {
        let changes = self.store.diff(&self.entry()).unwrap();
        let shown = |change: OverlayChange| (change.path.display().to_string(), change.kind);
        changes.into_iter().map(shown).collect()
    }
}

fn put(directory: &Path, name: &str, text: &str) {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Marks a path as deleted; false where the system does not let a user do so.
fn whiteout(path: &Path) -> bool {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let made = rustix::fs::mknodat(CWD, path, FileType::CharacterDevice, Mode::empty(), 0);
    if let Err(error) = made {
        println!("skipped: no whiteout can be made here: {error}");
    }
    made.is_ok()
}

/// Sets an attribute; false where the file system has none.
fn mark(path: &Path, name: &str, value: &[u8]) -> bool {
    let set = rustix::fs::lsetxattr(path, name, value, XattrFlags::empty());
    if let Err(error) = set {
        println!("skipped: {name} cannot be set here: {error}");
    }
    set.is_ok()
}

#[test]
fn a_store_is_laid_out_by_workspace_and_directory() {
    let fixture = Fixture::new();
    let parent = fixture.store.for_workspace(Path::new(WORKSPACE));
    let key = parent.file_name().unwrap().to_str().unwrap();
    assert!(key.starts_with("My_project_-"), "{key}");
    assert_eq!(key.rsplit('-').next().unwrap().len(), 12, "{key}");
    assert_eq!(fs::read_to_string(parent.join("workspace")).unwrap(), WORKSPACE);
    let target = fs::read_to_string(parent.join("npm/target")).unwrap();
    assert_eq!(Path::new(&target), fixture.lower);
    for directory in ["npm", "npm/upper", "npm/work", "."] {
        let about = fs::metadata(parent.join(directory)).unwrap();
        assert_eq!(about.mode() & 0o777, 0o700, "{directory}");
    }
    let ensure = |relative: &str| {
        fixture.store.ensure(Path::new(WORKSPACE), &fixture.home, Path::new(relative))
    };
    assert_eq!(ensure(".local/share/x").unwrap(), parent.join("local_share_x"));
    assert_eq!(ensure(".npm").unwrap(), parent.join("npm"));
    // Another directory that would have the same name has one of its own.
    let other = ensure("local/share/x").unwrap();
    assert_ne!(other, parent.join("local_share_x"));
    assert_eq!(ensure("local/share/x").unwrap(), other);
    for wrong in ["", "..", "/etc", "a/../../b"] {
        assert!(ensure(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn names_of_workspaces_are_short_and_plain() {
    let key = |path: &str| workspace_key(Path::new(path));
    assert_eq!(key(&format!("/{}", "x".repeat(90))).len(), 32 + 1 + 12);
    assert_ne!(key("/a/site"), key("/b/site"));
    assert!(key("/").starts_with("root-"));
    assert!(key("/a/.dot").starts_with("dot-"));
    assert!(key("/a/é/..b c").starts_with("b_c-"), "{}", key("/a/é/..b c"));
}

#[test]
fn the_list_counts_files_bytes_and_no_links() {
    let fixture = Fixture::new();
    put(&fixture.upper, "a/one", "12345");
    symlink("/etc", fixture.upper.join("a/out")).unwrap();
    let entry = fixture.entry();
    assert_eq!((entry.name.as_str(), entry.files, entry.bytes), ("npm", 2, 5 + 4));
    assert_eq!(entry.workspace, Path::new(WORKSPACE));
    assert_eq!(entry.target, fixture.lower);
    assert!(entry.modified.is_some());
    assert!(OverlayStore::new("/nowhere/at/all").list().unwrap().is_empty());
}

#[test]
fn a_diff_tells_what_was_added_changed_and_deleted() {
    let fixture = Fixture::new();
    put(&fixture.lower, "kept", "same");
    put(&fixture.lower, "was/there", "old");
    put(&fixture.lower, "gone", "x");
    put(&fixture.upper, "kept", "same");
    put(&fixture.upper, "was/there", "new");
    put(&fixture.upper, "new/file", "x");
    fs::create_dir(fixture.upper.join("empty")).unwrap();
    use OverlayChangeKind::{Added, Changed, Deleted};
    let mut expected = vec![
        ("empty".to_owned(), Added),
        ("new/file".to_owned(), Added),
        ("was/there".to_owned(), Changed),
    ];
    assert_eq!(fixture.changes(), expected);
    if whiteout(&fixture.upper.join("gone")) && whiteout(&fixture.upper.join("never-was")) {
        expected.insert(1, ("gone".to_owned(), Deleted));
        assert_eq!(fixture.changes(), expected);
    }
}

#[test]
fn an_opaque_directory_deletes_what_it_does_not_hold() {
    let fixture = Fixture::new();
    put(&fixture.lower, "d/old", "x");
    put(&fixture.lower, "d/both", "x");
    put(&fixture.upper, "d/both", "y");
    put(&fixture.upper, "w", "");
    put(&fixture.lower, "w", "x");
    if !mark(&fixture.upper.join("d"), "user.overlay.opaque", b"y")
        || !mark(&fixture.upper.join("w"), "user.overlay.whiteout", b"")
    {
        return;
    }
    use OverlayChangeKind::{Changed, Deleted};
    let expected = [("d/both", Changed), ("d/old", Deleted), ("w", Deleted)];
    assert_eq!(fixture.changes(), expected.map(|(path, kind)| (path.to_owned(), kind)));
    let done = fixture.store.apply(&fixture.entry()).unwrap();
    assert_eq!((done.written, done.deleted, done.skipped.len()), (1, 2, 0), "{done:?}");
    assert!(!fixture.lower.join("d/old").exists() && !fixture.lower.join("w").exists());
    assert_eq!(fs::read_to_string(fixture.lower.join("d/both")).unwrap(), "y");
    assert!(fixture.changes().is_empty());
}

#[test]
fn what_hermes_has_hidden_is_neither_shown_nor_deleted() {
    let fixture = Fixture::new();
    put(&fixture.lower, "credentials", "secret");
    put(&fixture.lower, "deep/token", "secret");
    put(&fixture.lower, "deep/other", "x");
    put(&fixture.upper, "deep/other", "y");
    let store = fixture.upper.parent().unwrap();
    OverlayStore::record_hidden(store, &["credentials".into()]).unwrap();
    OverlayStore::record_hidden(store, &["deep/token".into(), "credentials".into()]).unwrap();
    assert_eq!(fs::read_to_string(store.join("hidden")).unwrap(), "credentials\ndeep/token");
    if !whiteout(&fixture.upper.join("credentials")) || !whiteout(&fixture.upper.join("deep/token"))
    {
        return;
    }
    assert_eq!(fixture.changes(), [("deep/other".to_owned(), OverlayChangeKind::Changed)]);
    let done = fixture.store.apply(&fixture.entry()).unwrap();
    assert_eq!((done.written, done.deleted, done.skipped.len()), (1, 0, 0), "{done:?}");
    assert_eq!(fs::read_to_string(fixture.lower.join("credentials")).unwrap(), "secret");
    // Whatever a child puts there instead, the user's own stays.
    fs::remove_file(fixture.upper.join("credentials")).unwrap();
    fs::write(fixture.upper.join("credentials"), "mine now").unwrap();
    fs::remove_dir_all(fixture.upper.join("deep")).unwrap();
    fs::write(fixture.upper.join("deep"), "no directory any more").unwrap();
    let done = fixture.store.apply(&fixture.entry()).unwrap();
    assert_eq!((done.written, done.skipped.len()), (0, 2), "{done:?}");
    assert_eq!(fs::read_to_string(fixture.lower.join("credentials")).unwrap(), "secret");
    assert_eq!(fs::read_to_string(fixture.lower.join("deep/token")).unwrap(), "secret");
    assert_eq!(fs::read_dir(&fixture.lower).unwrap().count(), 2, "no temporary file is left");
}

#[test]
fn changes_are_applied_with_their_modes_and_links() {
    let fixture = Fixture::new();
    put(&fixture.lower, "bin/tool", "old");
    put(&fixture.lower, "file-then-directory", "x");
    put(&fixture.lower, "directory-then-file/x", "x");
    put(&fixture.upper, "bin/tool", "new");
    put(&fixture.upper, "bin/setuid", "x");
    put(&fixture.upper, "file-then-directory/x", "y");
    put(&fixture.upper, "directory-then-file", "y");
    fs::set_permissions(fixture.upper.join("bin/tool"), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(fixture.upper.join("bin/setuid"), Permissions::from_mode(0o4755)).unwrap();
    symlink("tool", fixture.upper.join("bin/alias")).unwrap();
    rustix::fs::mknodat(CWD, fixture.upper.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let done = fixture.store.apply(&fixture.entry()).unwrap();
    assert_eq!(done.written, 5, "{done:?}");
    let skipped: Vec<&Path> = done.skipped.iter().map(|skipped| &*skipped.path).collect();
    assert_eq!(skipped, [Path::new("bin/setuid"), Path::new("pipe")]);
    let about = fs::metadata(fixture.lower.join("bin/tool")).unwrap();
    assert_eq!(about.mode() & 0o7777, 0o755);
    let about = fs::metadata(fixture.lower.join("bin/setuid")).unwrap();
    assert_eq!(about.mode() & 0o7777, 0o755);
    assert_eq!(fs::read_link(fixture.lower.join("bin/alias")).unwrap(), Path::new("tool"));
    assert_eq!(fs::read_to_string(fixture.lower.join("file-then-directory/x")).unwrap(), "y");
    assert_eq!(fs::read_to_string(fixture.lower.join("directory-then-file")).unwrap(), "y");
    assert!(!fixture.lower.join("pipe").exists());
}

#[test]
fn a_link_in_the_way_is_replaced_and_not_followed() {
    let fixture = Fixture::new();
    let outside = fixture.home.join("outside");
    put(&outside, "file", "untouched");
    // The user's directory leads elsewhere where the overlay has a directory and a file.
    symlink(&outside, fixture.lower.join("directory")).unwrap();
    symlink(outside.join("file"), fixture.lower.join("file")).unwrap();
    put(&fixture.upper, "directory/file", "evil");
    put(&fixture.upper, "file", "evil");
    // And the overlay itself leads elsewhere.
    symlink(&outside, fixture.upper.join("way-out")).unwrap();
    let done = fixture.store.apply(&fixture.entry()).unwrap();
    assert_eq!((done.written, done.skipped.len()), (3, 0), "{done:?}");
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "untouched");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert!(fixture.lower.join("directory").symlink_metadata().unwrap().is_dir());
    assert_eq!(fs::read_to_string(fixture.lower.join("file")).unwrap(), "evil");
    assert_eq!(fs::read_link(fixture.lower.join("way-out")).unwrap(), outside);
    // A target that is a link itself is left alone.
    fs::rename(&fixture.lower, fixture.home.join("moved")).unwrap();
    symlink(&outside, &fixture.lower).unwrap();
    assert!(fixture.store.apply(&fixture.entry()).is_err());
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn a_target_that_is_not_there_is_made() {
    let fixture = Fixture::new();
    fs::remove_dir(&fixture.lower).unwrap();
    put(&fixture.upper, "a/b", "x");
    assert_eq!(fixture.changes(), [("a/b".to_owned(), OverlayChangeKind::Added)]);
    fixture.store.apply(&fixture.entry()).unwrap();
    assert_eq!(fs::read_to_string(fixture.lower.join("a/b")).unwrap(), "x");
}

#[test]
fn everything_is_discarded_whatever_its_mode_and_depth() {
    let fixture = Fixture::new();
    put(&fixture.upper, "closed/inner/file", "x");
    let mut deep = fixture.upper.join("deep");
    // Deeper than directories are held open at once.
    let name = "d".repeat(3);
    for _ in 0..500 {
        deep.push(&name);
    }
    fs::create_dir_all(&deep).unwrap();
    let outside = fixture.home.join("outside");
    put(&outside, "file", "untouched");
    symlink(&outside, fixture.upper.join("link")).unwrap();
    for closed in ["closed/inner", "closed"] {
        fs::set_permissions(fixture.upper.join(closed), Permissions::from_mode(0o000)).unwrap();
    }
    let entry = fixture.entry();
    fixture.store.discard(&entry).unwrap();
    assert!(!entry.store.exists());
    assert!(!fixture.store.for_workspace(Path::new(WORKSPACE)).exists());
    assert!(fixture.store.list().unwrap().is_empty());
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "untouched");
}

#[test]
fn mountinfo_names_an_upper_directory_in_its_own_spelling() {
    let option = mount_option(Path::new("/a b/c,d/upper"));
    assert_eq!(option, b"upperdir=/a\\040b/c\\054d/upper");
}
