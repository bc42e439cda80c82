use super::*;

fn path(text: &str) -> &Path {
    Path::new(text)
}

#[test]
fn names_come_back_as_they_were_seen() {
    let names = [b"a".as_slice(), b"", b"b c\n", b"\xFF.gitignore", b".gitignore"];
    let mut raw = RawEntries::default();
    for name in names {
        raw.push(OsStr::from_bytes(name), FileKind::File);
    }
    let back: Vec<&[u8]> = raw.entries().map(|(name, _)| name.as_bytes()).collect();
    assert_eq!((raw.len(), back), (names.len(), names.to_vec()));
    let mut marks = IgnoreMarkers::default();
    marks.note(b".gitignore");
    assert_eq!(raw.markers, marks);
}

#[test]
fn paths_are_real_and_relative_at_once() {
    for (root, dir) in [("/", ""), ("/", "a/b"), ("/r", ""), ("/r", "a"), ("/r s/t", "a/b")] {
        let mut growing = PathBuffer::new(path(root), path(dir));
        for name in ["longer than the next", "x", ".y"] {
            let (real, relative) = growing.set_name(OsStr::new(name));
            let expected = path(dir).join(name);
            assert_eq!(relative.as_os_str(), expected.as_os_str());
            assert_eq!(real.as_os_str(), path(root).join(&expected).as_os_str());
        }
    }
}
