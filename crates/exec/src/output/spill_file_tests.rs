use std::os::unix::fs::PermissionsExt;

use super::*;

fn spill(dir: &Path, most: u64) -> SpillTarget {
    SpillTarget {
        directory: dir.to_path_buf(),
        name: "job.log".to_owned(),
        max_bytes: most,
        mask: None,
    }
}

#[test]
fn file_and_folder_are_for_the_user_alone() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("a/b");
    let disk = SpillFile::create(&spill(&dir, 10)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(disk.path()), 0o600);
    assert_eq!(mode(&dir), 0o700);
    assert_eq!(mode(&place.path().join("a")), 0o700);
}

#[test]
fn a_file_of_the_same_name_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("job.log"), "mine").unwrap();
    std::os::unix::fs::symlink("elsewhere", place.path().join("job.log.2")).unwrap();
    let disk = SpillFile::create(&spill(place.path(), 10)).unwrap();
    assert_eq!(disk.path(), place.path().join("job.log.3"));
    assert_eq!(fs::read(place.path().join("job.log")).unwrap(), b"mine");
    assert!(!place.path().join("elsewhere").exists());
}

#[test]
fn a_name_that_leads_elsewhere_is_refused() {
    let place = tempfile::tempdir().unwrap();
    for name in ["", "..", ".", "a/b", "/etc/x"] {
        let spill = SpillTarget { name: name.to_owned(), ..spill(place.path(), 10) };
        assert!(SpillFile::create(&spill).is_err(), "{name:?}");
    }
}

#[test]
fn it_takes_no_more_than_it_may() {
    let place = tempfile::tempdir().unwrap();
    let mut disk = SpillFile::create(&spill(place.path(), 10)).unwrap();
    disk.append(b"1234\n6", 1);
    disk.append(b"\n8\n0\n2", 3);
    disk.append(b"x", 0);
    assert_eq!((disk.len(), disk.newlines()), (10, 3));
    assert_eq!(fs::read(disk.path()).unwrap(), b"1234\n6\n8\n0");
    let mut bytes = Vec::new();
    assert_eq!(disk.read(5, 100, &mut bytes), 5);
    assert_eq!(bytes, b"6\n8\n0");
    disk.remove().unwrap();
    assert!(!place.path().join("job.log").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_it() {
    let place = tempfile::tempdir().unwrap();
    let mut disk = SpillFile::create(&spill(place.path(), 100)).unwrap();
    disk.append(b"one\n", 1);
    let kept = std::mem::replace(
        &mut disk.file,
        OpenOptions::new().read(true).write(true).open("/dev/full").unwrap(),
    );
    disk.append(b"two\n", 1);
    disk.file = kept;
    disk.append(b"three\n", 1);
    assert_eq!((disk.len(), disk.newlines()), (4, 1));
    assert_eq!(fs::read(disk.path()).unwrap(), b"one\n");
}

#[derive(Debug)]
struct Word;

impl super::OutputMask for Word {
    fn mask(&self, bytes: &mut [u8]) {
        let found: Vec<usize> = memchr::memmem::find_iter(bytes, b"s3cret").collect();
        found.into_iter().for_each(|at| bytes[at..at + 6].fill(b'*'));
    }
}

#[test]
fn no_secret_lies_in_it_however_it_comes() {
    let text = b"a s3cret b s3crs3cret c".repeat(3);
    for size in 1..=text.len() {
        let place = tempfile::tempdir().unwrap();
        let spill =
            SpillTarget { mask: Some(std::sync::Arc::new(Word)), ..spill(place.path(), 1 << 20) };
        let mut disk = SpillFile::create(&spill).unwrap();
        text.chunks(size).for_each(|piece| disk.append(piece, 0));
        let kept = std::fs::read(disk.path()).unwrap();
        assert_eq!(kept, b"a ****** b s3cr****** c".repeat(3), "in pieces of {size}");
    }
}

/// Replaces the file with one that can be cut but not written.
#[cfg(target_os = "linux")]
fn seal(disk: &mut SpillFile) {
    use rustix::fs::{MemfdFlags, SealFlags};
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut sealed = File::from(rustix::fs::memfd_create("spill", flags).unwrap());
    sealed.write_all(&fs::read(disk.path()).unwrap()).unwrap();
    rustix::fs::fcntl_add_seals(&sealed, SealFlags::WRITE).unwrap();
    disk.file = sealed;
}

#[cfg(target_os = "linux")]
#[test]
fn the_start_of_a_secret_that_cannot_be_masked_is_cut_off() {
    let place = tempfile::tempdir().unwrap();
    let spill =
        SpillTarget { mask: Some(std::sync::Arc::new(Word)), ..spill(place.path(), 1 << 20) };
    let mut disk = SpillFile::create(&spill).unwrap();
    disk.append(b"a\nb s3cr", 1);
    seal(&mut disk);
    disk.append(b"et\n", 1);
    disk.append(b"c\n", 1);
    assert_eq!((disk.len(), disk.newlines()), (4, 1));
    let mut bytes = Vec::new();
    disk.read(0, 100, &mut bytes);
    assert_eq!(bytes, b"a\nb ");
    assert_eq!(disk.file.metadata().unwrap().len(), 4);
}
