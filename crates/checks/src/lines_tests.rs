use super::*;

#[test]
fn a_place_is_taken_apart() {
    let line = parse_located("a b/c.py:12:3: E501 line too long").unwrap();
    assert_eq!((line.file, line.rest), ("a b/c.py", "E501 line too long"));
    assert_eq!(line.numbers, [12, 3]);
    let odd = parse_located("src/x:y.go:7: bad").unwrap();
    assert_eq!((odd.file, odd.numbers.as_slice(), odd.rest), ("src/x:y.go", &[7][..], "bad"));
    let end = parse_located("a.py:1:2:3:4: error: x: 5").unwrap();
    assert_eq!((end.numbers.len(), end.rest), (4, "error: x: 5"));
    assert_eq!(parse_located("a.md:5 MD001 message").unwrap().rest, "MD001 message");
    for line in ["", "no place", "x: y", "::1", "a:1x: no", ":3: nothing before"] {
        assert_eq!(parse_located(line), None, "{line}");
    }
}

#[test]
fn a_code_at_the_end_is_taken_off() {
    assert_eq!(
        split_trailing_code("bad thing  [arg-type]", "[", ']'),
        ("bad thing", Some("arg-type"))
    );
    assert_eq!(split_trailing_code("expected list[int]", "[", ']').1, Some("int"));
    assert_eq!(split_trailing_code("see [the docs]", "[", ']'), ("see [the docs]", None));
    assert_eq!(split_trailing_code("nothing", "[", ']'), ("nothing", None));
}

#[test]
fn json_is_found_behind_other_lines() {
    assert_eq!(find_json("noise\n[noise]\n{\"a\":1}\nmore"), Some(serde_json::json!({ "a": 1 })));
    assert_eq!(find_json("no"), None);
    assert_eq!(find_json(""), None);
    let deep = "[".repeat(100_000);
    assert_eq!(find_json(&deep), None);
}
