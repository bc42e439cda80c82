use std::path::{Path, PathBuf};

use super::{WorkingDir, is_normalized};

#[test]
fn a_path_is_folded_whichever_way_it_is_written() {
    let at = WorkingDir::new("/srv/here", Some(PathBuf::from("/home/me")));
    for (written, folded) in [
        ("a/b", "/srv/here/a/b"),
        ("./a//b/", "/srv/here/a/b"),
        ("../a/./b", "/srv/a/b"),
        ("/etc/../usr/.x", "/usr/.x"),
        ("~/.x/y", "/home/me/.x/y"),
        ("..", "/srv"),
        ("/../../a", "/a"),
        ("../../../..", "/"),
        ("/", "/"),
        ("", "/srv/here"),
        ("a.b/c..", "/srv/here/a.b/c.."),
    ] {
        assert_eq!(at.resolve(written), Path::new(folded), "{written}");
    }
    assert!(is_normalized(Path::new("/a/b.c")) && is_normalized(Path::new("/")));
    for not in ["a", "", "/a/", "//a", "/a/.", "/a/../b", "/a//b"] {
        assert!(!is_normalized(Path::new(not)), "{not}");
    }
}
