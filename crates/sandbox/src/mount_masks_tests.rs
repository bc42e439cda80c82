use std::os::unix::fs::FileTypeExt;

use super::*;

fn confinement(read: &[&Path], write: &[&Path]) -> Confinement {
    let own = |paths: &[&Path]| paths.iter().map(|path| path.to_path_buf()).collect();
    Confinement { read: own(read), write: own(write), ..Confinement::default() }
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    (dir, real)
}

#[test]
fn nothing_inside_allowed_trees_needs_no_cover() {
    let (_keep, root) = folder();
    let (inside, outside) = (root.join("inside"), root.join("outside"));
    fs::create_dir_all(&inside).unwrap();
    fs::create_dir_all(&outside).unwrap();
    let mut wanted = confinement(&[&inside], &[&inside]);
    wanted.hidden = vec![outside.clone()];
    wanted.read_only = vec![outside];
    assert!(!MountMasks::plan(&wanted, true).unwrap().is_required);
}

#[test]
fn folders_on_the_way_are_pinned_and_outer_covers_win() {
    let (_keep, root) = folder();
    fs::create_dir_all(root.join("a/b/c/d")).unwrap();
    fs::write(root.join("a/b/c/secret"), "x").unwrap();
    let mut wanted = confinement(&[], &[&root, &root.join("a/b")]);
    wanted.read_only = vec![root.join("a/b/c"), root.join("a/b/c/d")];
    wanted.hidden = vec![root.join("a/b/c/secret")];
    let covers = MountMasks::plan(&wanted, true).unwrap();
    let found: Vec<_> = covers.masks.into_iter().collect();
    assert_eq!(
        found,
        [
            (root.join("a"), MaskKind::Pin),
            (root.join("a/b"), MaskKind::Pin),
            (root.join("a/b/c"), MaskKind::ReadOnly),
            (root.join("a/b/c/secret"), MaskKind::Hide),
        ]
    );
}

#[test]
fn what_is_missing_gets_a_placeholder_that_goes_with_the_last_user() {
    let (_keep, root) = folder();
    let mut wanted = confinement(&[], &[&root]);
    wanted.read_only = vec![root.join(".git/hooks"), root.join(".tool.json")];
    let first = MountMasks::plan(&wanted, true).unwrap();
    assert!(root.join(".git").is_dir());
    assert!(root.join(".tool.json").is_file());
    let second = MountMasks::plan(&wanted, true).unwrap();
    drop(first);
    assert!(root.join(".git").is_dir());
    drop(second);
    assert!(!root.join(".git").exists());
    assert!(!root.join(".tool.json").exists());
}

#[test]
fn a_placeholder_that_was_filled_stays() {
    let (_keep, root) = folder();
    let mut wanted = confinement(&[], &[&root]);
    wanted.read_only = vec![root.join("hooks")];
    let covers = MountMasks::plan(&wanted, true).unwrap();
    fs::write(root.join("hooks/own"), "x").unwrap();
    drop(covers);
    assert!(root.join("hooks/own").exists());
}

#[test]
fn a_hidden_socket_is_covered_wherever_it_is() {
    let (_keep, root) = folder();
    let dir = root.join("run/user");
    fs::create_dir_all(&dir).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(dir.join("agent")).unwrap();
    let mut wanted = confinement(&[], &[]);
    wanted.hidden = vec![root.join("run")];
    assert!(MountMasks::plan(&wanted, true).unwrap().is_required);
    assert!(!MountMasks::plan(&wanted, false).unwrap().is_required);
}

#[test]
fn a_protected_link_is_followed_and_told_about() {
    let (_keep, root) = folder();
    fs::create_dir(root.join("real")).unwrap();
    std::os::unix::fs::symlink("real", root.join("link")).unwrap();
    let mut wanted = confinement(&[], &[&root]);
    wanted.read_only = vec![root.join("link")];
    let covers = MountMasks::plan(&wanted, true).unwrap();
    assert_eq!(covers.paths().collect::<Vec<_>>(), [root.join("real")]);
    assert_eq!(covers.gaps.len(), 1);
}

#[test]
fn a_protected_link_to_nowhere_is_told_about() {
    let (_keep, root) = folder();
    std::os::unix::fs::symlink("nowhere", root.join("link")).unwrap();
    let mut wanted = confinement(&[], &[&root]);
    wanted.read_only = vec![root.join("link")];
    let covers = MountMasks::plan(&wanted, true).unwrap();
    assert!(!covers.is_required);
    assert_eq!(covers.gaps.len(), 1);
}

#[test]
fn disks_are_covered_where_all_may_be_read() {
    let covers = MountMasks::plan(&confinement(&[Path::new("/")], &[]), true).unwrap();
    let covered: Vec<_> = covers.paths().map(Path::to_owned).collect();
    let entries = fs::read_dir("/dev").unwrap().map(|entry| entry.unwrap());
    let mut disks: Vec<_> = entries
        .filter(|entry| entry.file_type().unwrap().is_block_device())
        .map(|entry| entry.path())
        .collect();
    disks.sort();
    if disks.iter().any(|disk| rustix::fs::access(disk, rustix::fs::Access::READ_OK).is_err()) {
        eprintln!("skipped: this user may not read every disk");
        return;
    }
    assert_eq!(covered, disks);
    assert!(!MountMasks::plan(&confinement(&[Path::new("/usr")], &[]), true).unwrap().is_required);
}

#[test]
fn a_repository_within_another_is_kept_and_its_folder_is_not_pinned() {
    let (_keep, root) = folder();
    fs::create_dir_all(root.join("a/b/.git/hooks")).unwrap();
    fs::create_dir_all(root.join("a/c")).unwrap();
    fs::write(root.join("a/c/.git"), "gitdir: ../x").unwrap();
    let mut wanted = confinement(&[], &[&root]);
    wanted.frozen_nested =
        ["a/b/.git/hooks", "a/c/.git", "a/gone"].map(|name| root.join(name)).to_vec();
    let covers = MountMasks::plan(&wanted, true).unwrap();
    assert!(!covers.is_required);
    let found: Vec<_> = covers.masks.into_iter().collect();
    assert_eq!(
        found,
        [
            (root.join("a/b/.git"), MaskKind::Pin),
            (root.join("a/b/.git/hooks"), MaskKind::ReadOnly),
            (root.join("a/c/.git"), MaskKind::ReadOnly),
        ]
    );
}

#[test]
fn what_is_not_to_be_made_is_told_about_where_nothing_can_be_covered() {
    let (_keep, root) = folder();
    let mut wanted = confinement(&[], &[&root]);
    wanted.masked_missing = vec![root.join(".tool"), root.join("no/folder/file")];
    let mut covers = MountMasks::plan(&wanted, true).unwrap();
    assert!(root.join(".tool").is_dir() && !covers.is_required);
    covers.drop_masks();
    assert!(!root.join(".tool").exists());
    assert_eq!(covers.gaps.len(), 1, "{:?}", covers.gaps);
}
