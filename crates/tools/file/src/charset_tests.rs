use super::*;

#[test]
fn encodings_are_known_by_the_names_that_other_programs_have_for_them() {
    for (name, encoding, mark) in [
        ("latin-1", "windows-1252", false),
        ("utf_8", "UTF-8", false),
        ("UTF-16-LE", "UTF-16LE", false),
        ("utf16", "UTF-16LE", false),
        ("cp932", "Shift_JIS", false),
        ("windows1252", "windows-1252", false),
        ("cp1251", "windows-1251", false),
        ("iso8859_2", "ISO-8859-2", false),
        ("utf-8-sig", "UTF-8", true),
    ] {
        let (found, wants_mark) = parse_encoding(name).expect(name);
        assert_eq!((found.name(), wants_mark), (encoding, mark), "{name}");
    }
    assert!(parse_encoding("klingon").is_err());
}
