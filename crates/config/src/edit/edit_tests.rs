#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn path(text: &str) -> KeyPath {
    text.parse().unwrap()
}

fn edited(text: &str, at: &str, value: Value) -> String {
    set(text, &path(at), &value).unwrap()
}

fn removed(text: &str, at: &str) -> String {
    unset(text, &path(at)).unwrap()
}

#[test]
fn one_scalar_changes_and_nothing_else() {
    let text =
        "# top\n\na:   1   # one\n\"b\": 'two' # two\nc: |\n  text\n  # not a comment\n\n# end\n";
    assert_eq!(edited(text, "a", json!(2)), text.replace("   1 ", "   2 "));
    assert_eq!(edited(text, "b", json!("x y")), text.replace("'two'", "x y"));
    assert_eq!(
        edited(text, "c", json!("new")),
        "# top\n\na:   1   # one\n\"b\": 'two' # two\nc: new\n\n# end\n"
    );
}

#[test]
fn setting_what_is_there_changes_no_byte() {
    let text = "a: [ 1,2 ]\nb: {x : 'y'}\nc: 0x10\n";
    assert_eq!(edited(text, "a", json!([1, 2])), text);
    assert_eq!(edited(text, "b.x", json!("y")), text);
    assert_eq!(edited(text, "c", json!(16)), text);
}

#[test]
fn texts_that_look_like_something_else_are_quoted() {
    for word in [
        "yes",
        "on",
        "null",
        "~",
        "3",
        "0600",
        "1:30",
        "",
        " x",
        "a: b",
        "#c",
        "- d",
        "[",
        "2024-01-01",
        "1_0",
        "=",
        "<<",
    ] {
        let text = edited("a: 1\n", "a", json!(word));
        assert!(text.contains('"') || text.contains('\''), "{text}");
        assert_eq!(parse_document(&text).unwrap().1, json!({"a": word}));
    }
    assert_eq!(edited("a: 1\n", "a", json!("gpt-4 turbo")), "a: gpt-4 turbo\n");
    assert_eq!(edited("a: 1\n", "a", json!("x\ny\u{7f}")), "a: \"x\\ny\\x7F\"\n");
}

#[test]
fn missing_sections_follow_the_style_of_the_file() {
    let text = "one:\n    two: 3\nlist:\n- a\n";
    assert_eq!(
        edited(text, "x.v.z", json!({"k": [1, {"l": [2], "m": 3}]})),
        "one:\n    two: 3\nlist:\n- a\nx:\n    v:\n        z:\n            k:\n            - 1\n            - l:\n              - 2\n              m: 3\n"
    );
    assert_eq!(
        edited(text, "one.more", json!(true)),
        "one:\n    two: 3\n    more: true\nlist:\n- a\n"
    );
    assert_eq!(edited("a: 1", "b.c", json!(2)), "a: 1\nb:\n  c: 2");
}

#[test]
fn an_empty_document_gets_its_first_entry() {
    assert_eq!(edited("", "a.b", json!(1)), "a:\n  b: 1\n");
    assert_eq!(edited("# only\n", "a", json!(1)), "# only\na: 1\n");
    assert_eq!(edited("# only", "a", json!(1)), "# only\na: 1\n");
    assert_eq!(edited("---\n", "a", json!(1)), "---\na: 1\n");
    assert_eq!(edited("---\n# c\n...\n", "a", json!(1)), "---\n# c\na: 1\n...\n");
    assert_eq!(edited("\u{feff}", "a", json!(1)), "\u{feff}a: 1\n");
    assert_eq!(edited("{}\n", "a", json!(1)), "{a: 1}\n");
}

#[test]
fn an_empty_value_becomes_a_section() {
    assert_eq!(edited("a:\nb: 1\n", "a.x", json!(1)), "a:\n  x: 1\nb: 1\n");
    assert_eq!(edited("a: # note\nb: 1\n", "a.x", json!(1)), "a: # note\n  x: 1\nb: 1\n");
    assert_eq!(edited("a: {}  # note\nb: 1\n", "a.x", json!(1)), "a:  # note\n  x: 1\nb: 1\n");
    assert_eq!(edited("a: ~\n", "a.x", json!([1])), "a:\n  x:\n    - 1\n");
    assert_eq!(edited("a: {b: {}}\n", "a.b.c", json!(1)), "a: {b: {c: 1}}\n");
}

#[test]
fn brackets_are_kept() {
    assert_eq!(
        edited("a: {b: 1, c: [x]} # n\n", "a.b", json!("p, q")),
        "a: {b: \"p, q\", c: [x]} # n\n"
    );
    assert_eq!(edited("a: {b: 1} # n\n", "a.c", json!({"d": [1]})), "a: {b: 1, c: {d: [1]}} # n\n");
    assert_eq!(edited("a: {b: 1,}\n", "a.c", json!(2)), "a: {b: 1, c: 2,}\n");
    assert_eq!(edited("a: {b, c: }\n", "a.b", json!(2)), "a: {b: 2, c: }\n");
    assert_eq!(edited("a: {b, c: }\n", "a.c", json!(2)), "a: {b, c: 2 }\n");
    assert_eq!(edited("a: {\n  b: 1 # n\n}\n", "a.c", json!(2)), "a: {\n  b: 1, c: 2 # n\n}\n");
    assert_eq!(edited("a: [x, w] # n\n", "a", json!(["x", "w", "z"])), "a: [x, w, z] # n\n");
    assert_eq!(edited("a: [x, y]\n", "a.1", json!("z")), "a: [x, z]\n");
    assert_eq!(edited("{a: 1}\n", "b", json!(2)), "{a: 1, b: 2}\n");
    let long: Vec<String> = (0..40).map(|n| format!("item{n}")).collect();
    assert!(edited("a: [x]\nb: 1\n", "a", json!(long)).starts_with("a:\n  - item0\n  - item1\n"));
}

#[test]
fn lists_change_only_where_they_differ() {
    let text = "a:\n  # first\n  - x  # ex\n  # second\n  - y\n  - z # zed\n# after\nb: 1\n";
    assert_eq!(
        edited(text, "a", json!(["x", "new", "y", "z"])),
        "a:\n  # first\n  - x  # ex\n  - new\n  # second\n  - y\n  - z # zed\n# after\nb: 1\n"
    );
    assert_eq!(
        edited(text, "a", json!(["x", "z"])),
        "a:\n  # first\n  - x  # ex\n  # second\n  - z # zed\n# after\nb: 1\n"
    );
    assert_eq!(edited(text, "a", json!(["x", "why", "z"])), text.replace("- y", "- why"));
    assert_eq!(
        edited(text, "a", json!(["new", "x", "y", "z"])),
        text.replace("  - x", "  - new\n  - x")
    );
    assert_eq!(edited(text, "a", json!([])), "a: []\n  # first\n  # second\n# after\nb: 1\n");
}

#[test]
fn mappings_change_only_where_they_differ() {
    let text = "m:\n  a: 1 # one\n  b: 2 # two\n  # about c\n  c: {d: 3}\nn: 0\n";
    assert_eq!(
        edited(text, "m", json!({"a": 1, "c": {"d": 4}, "e": [5]})),
        "m:\n  a: 1 # one\n  # about c\n  c: {d: 4}\n  e:\n    - 5\nn: 0\n"
    );
    assert_eq!(edited(text, "m", json!({"x": 1})), "m:\n  x: 1\n  # about c\nn: 0\n");
    assert_eq!(edited(text, "m", json!(null)), "m: null\n  # about c\nn: 0\n");
}

#[test]
fn values_change_shape() {
    assert_eq!(edited("a: 1 # n\nb: 2\n", "a", json!({"x": [1]})), "a: # n\n  x:\n    - 1\nb: 2\n");
    assert_eq!(edited("a: 'long\n  text' # n\nb: 2\n", "a", json!([1])), "a: # n\n  - 1\nb: 2\n");
    assert_eq!(edited("a: | # n\n  text\nb: 2\n", "a", json!(1)), "a: 1 # n\nb: 2\n");
    assert_eq!(edited("a: # n\n  x: 1\nb: 2\n", "a", json!(1)), "a: 1 # n\nb: 2\n");
    assert_eq!(edited("a: # n\n  word # m\nb: 2\n", "a", json!(1)), "a: 1 # n # m\nb: 2\n");
    assert_eq!(edited("a:\n- x\nb: 2\n", "a", json!({"k": 1})), "a:\n  k: 1\nb: 2\n");
}

#[test]
fn items_are_reached_by_number() {
    let text = "a:\n  - x: 1\n    y: 2\n  -\n    z: 3\n  - - p\n    - q\n  - # none\n";
    assert_eq!(edited(text, "a.0.y", json!(9)), text.replace("y: 2", "y: 9"));
    assert_eq!(edited(text, "a.0.w", json!(9)), text.replace("    y: 2\n", "    y: 2\n    w: 9\n"));
    assert_eq!(edited(text, "a.1.z", json!(9)), text.replace("z: 3", "z: 9"));
    assert_eq!(edited(text, "a.2.1", json!(9)), text.replace("- q", "- 9"));
    assert_eq!(edited(text, "a.3", json!(9)), text.replace("- # none", "- 9 # none"));
    assert_eq!(edited(text, "a.3.k", json!(9)), text.replace("- # none", "- # none\n    k: 9"));
    assert_eq!(edited(text, "a.0", json!({"x": 1})), text.replace("    y: 2\n", ""));
    assert_eq!(edited("a:\n  - 1\n", "a.0", json!({"k": 1, "l": 2})), "a:\n  - k: 1\n    l: 2\n");
}

#[test]
fn line_breaks_and_marks_of_other_systems_are_kept() {
    let text = "\u{feff}a: 1\r\nb:\r\n  c: 2\r\n";
    assert_eq!(
        edited(text, "b.d", json!([1])),
        "\u{feff}a: 1\r\nb:\r\n  c: 2\r\n  d:\r\n    - 1\r\n"
    );
    assert_eq!(edited(text, "a", json!("x")), "\u{feff}a: x\r\nb:\r\n  c: 2\r\n");
    assert_eq!(removed(text, "a"), "\u{feff}b:\r\n  c: 2\r\n");
}

#[test]
fn anchors_are_respected() {
    let text = "base: &b\n  x: 1\nuse:\n  <<: *b\n  y: 2\nalias: *b\nown: &o 5\n";
    assert_eq!(edited(text, "use.x", json!(9)), text.replace("  y: 2\n", "  y: 2\n  x: 9\n"));
    assert_eq!(edited(text, "alias", json!(1)), text.replace("*b\nown", "1\nown"));
    assert_eq!(edited(text, "own", json!("t")), text.replace("&o 5", "&o t"));
    assert_eq!(edited("a: !!str 5\n", "a", json!(6)), "a: 6\n");
    for at in ["base.x", "base", "alias.x"] {
        let error = set(text, &path(at), &json!(0)).unwrap_err();
        assert!(matches!(error, EditError::Refused { .. }), "{at}: {error}");
    }
    for at in ["base", "use.x", "alias.x"] {
        let error = unset(text, &path(at)).unwrap_err();
        assert!(matches!(error, EditError::Refused { .. }), "{at}: {error}");
    }
}

#[test]
fn trailing_lines_of_a_kept_text_are_part_of_it() {
    let text = "a:\n  b: |+\n    text\n\nc: 1\n";
    assert_eq!(edited(text, "a.d", json!(2)), "a:\n  b: |+\n    text\n\n  d: 2\nc: 1\n");
    let text = "a:\n  b: |\n    text\n\nc: 1\n";
    assert_eq!(edited(text, "a.d", json!(2)), "a:\n  b: |\n    text\n  d: 2\n\nc: 1\n");
}

#[test]
fn removing_an_entry() {
    let text =
        "# top\na: 1 # one\nb:\n  c: 2\n  # about d\n  d: [3]\n# end\ne: {f: 1, g: 2, h: 3}\n";
    assert_eq!(removed(text, "a"), text.replace("a: 1 # one\n", ""));
    assert_eq!(removed(text, "b"), text.replace("b:\n  c: 2\n  # about d\n  d: [3]\n", ""));
    assert_eq!(removed(text, "b.c"), text.replace("  c: 2\n", ""));
    assert_eq!(removed(text, "b.d"), text.replace("  d: [3]\n", ""));
    assert_eq!(removed(text, "e.f"), text.replace("f: 1, ", ""));
    assert_eq!(removed(text, "e.g"), text.replace("g: 2, ", ""));
    assert_eq!(removed(text, "e.h"), text.replace(", h: 3", ""));
    assert_eq!(removed("a:\n  b: 1 # n\n  # own\nc: 2\n", "a.b"), "a: {}\n  # own\nc: 2\n");
    assert_eq!(removed("a: {b: 1}\n", "a.b"), "a: {}\n");
    assert_eq!(removed("a: 1\n", "a"), "");
    assert_eq!(removed("l:\n  - a: 1\n    b: 2\n", "l.0.a"), "l:\n  - b: 2\n");
    assert_eq!(
        removed("l:\n  - a: 1\n    # own\n    b: 2\n", "l.0.a"),
        "l:\n  - \n    # own\n    b: 2\n"
    );
}

#[test]
fn what_cannot_be_done_is_said() {
    let error = set("a: 1\nb:\n  - x\n", &path("a.x"), &json!(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`a` on line 1 is the number 1, which has no key `x`\nhint: set `a` itself, or remove it first"
    );
    assert!(matches!(
        set("b:\n  - x\n", &path("b.1"), &json!(1)),
        Err(EditError::NoSuchItem { count: 1, .. })
    ));
    assert!(matches!(unset("a: 1\n", &path("b")), Err(EditError::NotSet { .. })));
    assert!(matches!(unset("a: [1]\n", &path("a.0")), Err(EditError::Refused { .. })));
    assert!(matches!(set("a: [\n", &path("a"), &json!(1)), Err(EditError::Broken(_))));
    assert!(matches!(set("? a\n: b\n", &path("a"), &json!(1)), Err(EditError::Refused { .. })));
    let deep = (0..300).fold(json!(1), |value, _| json!([value]));
    assert!(matches!(set("", &path("a"), &deep), Err(EditError::TooDeep { .. })));
    assert!(matches!(
        set("a: 1\n", &KeyPath::from_names(["k".repeat(5_000)]).unwrap(), &json!(1)),
        Err(EditError::Refused { .. })
    ));
}

#[test]
fn odd_names_are_quoted() {
    for name in ["a.b", "yes", "", "x: y", "#", "1", "é", "a b", "\n", "- x", "[", "a,b"] {
        let at = KeyPath::from_names(["s", name]).unwrap();
        for text in ["s:\n  k: 1\n", "s: {k: 1}\n"] {
            let edited = set(text, &at, &json!("v")).unwrap();
            assert_eq!(
                parse_document(&edited).unwrap().1,
                json!({"s": {"k": 1, name: "v"}}),
                "{edited}"
            );
            let back = unset(&edited, &at).unwrap();
            assert_eq!(back, text);
        }
    }
}
