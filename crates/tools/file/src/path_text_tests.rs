use std::ffi::OsStr;

use proptest::prelude::*;

use super::*;

fn at() -> WorkingDir {
    WorkingDir::new("/srv", Some("/home/me".into()))
}

#[test]
fn plain_paths_are_plain() {
    assert_eq!(resolve(&at(), "a b/%41"), Path::new("/srv/a b/%41"));
    assert_eq!(resolve(&at(), "~/x"), Path::new("/home/me/x"));
    assert_eq!(resolve(&at(), "file://host/x"), Path::new("/srv/file:/host/x"));
    assert_eq!(display_path(Path::new("/a/ü b")), "/a/ü b");
}

#[test]
fn names_that_are_no_text_have_an_address() {
    let path = Path::new(OsStr::from_bytes(b"/t/caf\xE9 1"));
    assert_eq!(display_path(path), "file:///t/caf%E9%201");
    assert_eq!(resolve(&at(), "file:///t/caf%e9%201"), path);
    assert_eq!(resolve(&at(), "file:///a/../b/50%/%4"), Path::new("/b/50%/%4"));
}

proptest! {
    #[test]
    fn what_is_shown_can_be_asked_for(names in prop::collection::vec(prop::collection::vec(1_u8.., 1..9), 1..4)) {
        let name = |bytes: &Vec<u8>| {
            let clean: Vec<u8> = bytes.iter().map(|&b| if b == b'/' { b'x' } else { b }).collect();
            OsString::from_vec(clean)
        };
        let path = names.iter().fold(PathBuf::from("/"), |path, bytes| path.join(name(bytes)));
        prop_assume!(path.components().all(|part| !matches!(part.as_os_str().as_bytes(), b"." | b"..")));
        prop_assert_eq!(resolve(&at(), &display_path(&path)), path);
    }
}

#[test]
fn below_a_folder_the_callers_way_is_kept() {
    let odd = Path::new(OsStr::from_bytes(b"\xE9"));
    let dir = Path::new("/t/d");
    for (lead, below, shown) in [
        ("", "a/b", "a/b"),
        ("d", "a", "d/a"),
        ("d/", "a", "d/a"),
        ("/", "a", "/a"),
        ("../d", "", "../d"),
        ("file:///t/d", "a b", "/t/d/a b"),
        ("file:///t/d", "", "/t/d"),
    ] {
        assert_eq!(display_below(lead, dir, Path::new(below)), shown, "{lead}");
    }
    assert_eq!(display_below("d", dir, odd), "file:///t/d/%E9");
    assert_eq!(display_relative(Path::new("/srv/a"), &at()), "a");
    assert_eq!(display_relative(Path::new("/srv"), &at()), "/srv");
    assert_eq!(display_relative(&Path::new("/srv").join(odd), &at()), "file:///srv/%E9");
}
