use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Result<(Map<String, Value>, Option<FrontMatterError>), FrontMatterError> {
    parse_fields(split(text)?.matter)
}

#[test]
fn fields_and_body_are_told_apart() {
    let text = "\u{feff}---  \r\nname: a\r\n---\r\nbody\n---\nstill body\n";
    let parts = split(text).expect("whole");
    assert_eq!((parts.matter, parts.body), ("name: a\r\n", "body\n---\nstill body\n"));
    assert_eq!(split("---\nname: a\n---").expect("no body").body, "");
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (text, line, word) in [
        ("", 1, "begin with"),
        ("# Title\n", 1, "begin with"),
        ("---\nname: a\n", 1, "is missing"),
        ("---\n- a\n- b\n---\nbody", 2, "the fields must be a mapping"),
        ("---\n\ntags: [a\n---\nbody", 3, "bracket"),
    ] {
        let fault = read(text).expect_err(text);
        assert!(fault.line == line && fault.what.contains(word), "{text:?}: {fault:?}");
    }
}

#[test]
fn a_colon_that_is_not_quoted_is_forgiven_and_told() {
    let text = "---\nname: 'a'\ndescription: Use when: always\nmetadata:\n  x: y\n---\nbody";
    let (fields, fault) = read(text).expect("readable");
    assert_eq!(fields["name"], "a");
    assert_eq!(fields["description"], "Use when: always");
    assert!(!fields.contains_key("metadata") && !fields.contains_key("x"), "{fields:?}");
    assert_eq!(fault.expect("told").line, 3);
}

#[test]
fn texts_are_taken_as_they_are_written() {
    let (fields, fault) =
        read("---\nname: off\nversion: 1.10 # new\nyear: '2'\n---\n").expect("fine");
    assert_eq!(
        (&fields["name"], &fields["version"], &fields["year"]),
        (&"off".into(), &"1.10".into(), &"2".into())
    );
    assert_eq!(fault, None);
}

proptest! {
    #[test]
    fn nothing_is_lost_and_nothing_panics(text in "(---\n)?[-a-z: \n\u{feff}ü]{0,80}") {
        if let Ok(parts) = split(&text) {
            prop_assert!(parts.matter.len() + parts.body.len() < text.len());
            prop_assert!(text.ends_with(parts.body));
            let _ = parse_fields(parts.matter);
        }
    }
}
