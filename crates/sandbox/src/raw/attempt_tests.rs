use std::os::unix::ffi::OsStrExt;

use super::*;

#[test]
fn a_file_is_compared_to_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let name = CString::new(path.as_os_str().as_bytes()).unwrap();
    let compared = |wanted: &[u8]| ProbeAttempt::Compare(name.clone(), wanted.to_vec()).run();
    assert_eq!(compared(b""), libc::ENOENT);
    let content = "x".repeat(3000);
    std::fs::write(&path, &content).unwrap();
    assert_eq!(compared(content.as_bytes()), 0);
    for other in [&content[1..], &format!("{content}x"), &content.replace('x', "y"), ""] {
        assert_eq!(compared(other.as_bytes()), libc::EILSEQ);
    }
}
