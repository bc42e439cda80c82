use std::ffi::OsStr;

use super::*;

#[test]
fn a_path_that_is_no_text_is_an_address_and_back() {
    let odd = Path::new(OsStr::from_bytes(b"/w/bad\xff 50%"));
    assert_eq!(path_to_text(odd), "file:///w/bad%FF%2050%25");
    assert_eq!(path_from_text(Path::new(&path_to_text(odd))), odd);
    assert_eq!(relative_path_text(odd, Path::new("/w")), "file:///w/bad%FF%2050%25");
    for text in ["/w/caf\u{e9} 50%", "a", "file:/x"] {
        assert_eq!(path_to_text(Path::new(text)), text);
        assert_eq!(path_from_text(Path::new(text)), Path::new(text));
    }
    assert_eq!(relative_path_text(Path::new("/w/a/b"), Path::new("/w")), "a/b");
    assert_eq!(relative_path_text(Path::new("/x/a"), Path::new("/w")), "/x/a");
    assert_eq!(path_from_text(Path::new("file:///a%zz%4")), Path::new("/a%zz%4"));
}
