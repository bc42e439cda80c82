//! What a file keeps when it is written anew, and what is never left behind.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use hermes_core::CancellationToken;
use hermes_files::{ExistingFile, FileAccess, FileChange, ScratchKind, WriteOptions};
use rustix::fs::{XattrFlags, getxattr, setxattr};
use rustix::io::Errno;

use crate::harness::{World, judged};

/// Whether the file system of the test knows such attributes.
fn set(path: &Path, name: &str, value: &[u8]) -> bool {
    match setxattr(path, name, value, XattrFlags::empty()) {
        Ok(()) => true,
        Err(Errno::NOTSUP | Errno::PERM) => false,
        Err(error) => panic!("{name}: {error}"),
    }
}

fn get(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut buffer = vec![0; 4096];
    let len = getxattr(path, name, &mut *buffer).ok()?;
    buffer.truncate(len);
    Some(buffer)
}

/// An access list: the owner, user 12345, the group, the mask, the others.
fn access_list(bits: [u16; 5]) -> Vec<u8> {
    let mut list = 2_u32.to_le_bytes().to_vec();
    let tags = [(1_u16, u32::MAX), (2, 12_345), (4, u32::MAX), (16, u32::MAX), (32, u32::MAX)];
    for ((tag, id), bits) in tags.into_iter().zip(bits) {
        list.extend(tag.to_le_bytes());
        list.extend(bits.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}

const ACCESS: &str = "system.posix_acl_access";

#[test]
fn attributes_and_access_lists_stay() {
    let world = World::new();
    let file = world.write("a", "old");
    if !set(&file, "user.note", b"mine") {
        return;
    }
    let long = vec![b'x'; 2000];
    assert!(set(&file, "user.long", &long));
    let has_list = set(&file, ACCESS, &access_list([6, 4, 4, 6, 0]));
    let list = get(&file, ACCESS);
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    let grants = judged(&file);
    let files = FileAccess::with_grants(&grants);
    for round in 0..2 {
        if round == 0 {
            files.write(&file, b"new", WriteOptions::default()).unwrap();
        } else {
            let held =
                files.lock(&[&file], Duration::from_secs(60), &CancellationToken::new()).unwrap();
            let bytes = "newer".into();
            let change =
                FileChange::Write { path: file.clone(), bytes, existing: ExistingFile::Replace };
            let changed = held.change(&[change]).unwrap();
            assert!(changed[0].lost_attributes.is_empty(), "{changed:?}");
        }
        assert_eq!(get(&file, "user.note").as_deref(), Some(&b"mine"[..]));
        assert_eq!(get(&file, "user.long"), Some(long.clone()));
        assert_eq!(get(&file, ACCESS), list);
        assert_eq!(list.is_some(), has_list);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode(), mode);
    }
}

#[test]
fn what_lets_a_program_do_more_is_not_given_to_new_content() {
    let world = World::new();
    let file = world.write("a", "old");
    // A capability to bind low ports, as setcap writes it.
    let capability = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    if !set(&file, "security.capability", &capability) {
        return;
    }
    FileAccess::with_grants(&judged(&file)).write(&file, b"new", WriteOptions::default()).unwrap();
    assert_eq!(get(&file, "security.capability"), None);
}

/// A folder may hand its own access list to new files; one that takes the
/// place of another does not get it.
#[test]
fn the_list_of_the_folder_is_not_put_on_an_old_file() {
    let world = World::new();
    fs::create_dir(world.ws("d")).unwrap();
    let file = world.write("d/a", "old");
    if !set(&world.ws("d"), "system.posix_acl_default", &access_list([7, 7, 7, 7, 7])) {
        return;
    }
    let grants = judged(&world.ws("d"));
    FileAccess::with_grants(&grants).write(&file, b"new", WriteOptions::default()).unwrap();
    assert_eq!(get(&file, ACCESS), None);
    FileAccess::with_grants(&grants)
        .write(&world.ws("d/b"), b"new", WriteOptions::default())
        .unwrap();
    assert!(get(&world.ws("d/b"), ACCESS).is_some(), "a new file gets it");
}

#[test]
fn what_a_dead_process_left_goes_with_the_next_write() {
    let world = World::new();
    let file = world.write("a", "old");
    let left = [0, 1, 2].map(|_| world.ws(ScratchKind::File.new_name().to_str().unwrap()));
    for (at, path) in left.iter().enumerate() {
        fs::write(path, "half of it").unwrap();
        if at == 1 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o200)).unwrap();
        }
    }
    let tree = world.ws(ScratchKind::Directory.new_name().to_str().unwrap());
    fs::create_dir_all(tree.join("p/q")).unwrap();
    fs::write(tree.join("p/q/f"), "unpacked").unwrap();
    symlink(world.out(""), tree.join("p/out")).unwrap();
    // Only a name of ours that stands for what is there.
    let others = [
        ".hermes-write-.tmp",
        ".hermes-write-0.tmp",
        ".hermes-write-0123456789abcdef.tmp",
        ".hermes-unpack-0123456789abcdef.tmp",
        ".hermes",
    ];
    for name in others {
        world.write(name, "not ours");
    }
    let crossed =
        [ScratchKind::Directory, ScratchKind::File].map(|s| s.new_name().into_string().unwrap());
    world.write(&crossed[0], "a file under the name of a folder");
    fs::create_dir(world.ws(&crossed[1])).unwrap();
    let alive = world.ws(ScratchKind::File.new_name().to_str().unwrap());
    let held = fs::File::create(&alive).unwrap();
    held.lock().unwrap();
    let grants = judged(&file);
    FileAccess::with_grants(&grants).write(&file, b"new", WriteOptions::default()).unwrap();
    for path in left.iter().chain([&tree]) {
        assert!(!path.exists(), "{}", path.display());
    }
    for name in others.into_iter().chain(crossed.iter().map(String::as_str)) {
        assert!(world.ws(name).exists(), "{name}");
    }
    assert!(world.out("secret").exists());
    assert!(alive.exists(), "its maker lives");
    drop(held);
    FileAccess::with_grants(&grants).write(&file, b"newer", WriteOptions::default()).unwrap();
    assert!(!alive.exists());
    assert_eq!(fs::read_to_string(file).unwrap(), "newer");
}

#[test]
fn a_change_removes_what_was_left_also_links() {
    let world = World::new();
    let file = world.write("a", "old");
    let left = [0, 1].map(|_| world.ws(ScratchKind::File.new_name().to_str().unwrap()));
    fs::write(&left[0], "put aside").unwrap();
    symlink("a", &left[1]).unwrap();
    let grants = judged(&file);
    let hold =
        FileAccess::with_grants(&grants).lock(&[&file], Duration::ZERO, &CancellationToken::new());
    let change = FileChange::Write {
        path: file.clone(),
        bytes: "new".into(),
        existing: ExistingFile::Replace,
    };
    hold.unwrap().change(&[change]).unwrap();
    assert!(left.iter().all(|path| fs::symlink_metadata(path).is_err()));
    assert_eq!(fs::read_to_string(file).unwrap(), "new");
}

#[test]
fn what_new_content_does_not_get_is_told() {
    let world = World::new();
    let file = world.write("a", "old");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o6755)).unwrap();
    fs::hard_link(&file, world.ws("b")).unwrap();
    fs::hard_link(&file, world.ws("c")).unwrap();
    let grants = judged(&world.ws(""));
    let hold =
        FileAccess::with_grants(&grants).lock(&[&file], Duration::ZERO, &CancellationToken::new());
    let change = FileChange::Write {
        path: file.clone(),
        bytes: "new".into(),
        existing: ExistingFile::Replace,
    };
    let changed = hold.unwrap().change(&[change]).unwrap();
    let shown = changed[0].lost_attributes.join("; ");
    assert!(shown.contains("set-user-ID") && shown.contains("set-group-ID"), "{shown}");
    assert!(shown.contains("2 other names"), "{shown}");
    assert_eq!(fs::read_to_string(world.ws("b")).unwrap(), "old");
    assert_eq!(fs::read_to_string(file).unwrap(), "new");
}
