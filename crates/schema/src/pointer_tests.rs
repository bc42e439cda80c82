#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

#[test]
fn keys_are_escaped() {
    let mut pointer = String::new();
    push_key(&mut pointer, "a/b~c");
    push_index(&mut pointer, 3);
    assert_eq!(pointer, "/a~1b~0c/3");
    assert_eq!(to_dotted(&pointer), r#"$["a/b~c"][3]"#);
}

#[test]
fn dotted_paths_read_like_code() {
    assert_eq!(to_dotted(""), "$");
    assert_eq!(to_dotted("/a/0/b"), "$.a[0].b");
    assert_eq!(to_dotted("/größe/x-y"), "$.größe.x-y");
    assert_eq!(to_dotted("/"), r#"$[""]"#);
    assert_eq!(to_dotted("/say \"hi\""), r#"$["say \"hi\""]"#);
}

#[test]
fn references_are_followed_within_the_document() {
    let root = json!({"$defs": {"a b": {"x": 1}, "c/d": 2}});
    let (target, pointer) = follow_ref(&root, "#/$defs/a%20b").unwrap();
    assert_eq!((target, pointer.as_str()), (&json!({"x": 1}), "/$defs/a b"));
    assert_eq!(follow_ref(&root, "#/$defs/c~1d").unwrap().0, &json!(2));
    assert_eq!(follow_ref(&root, "#").unwrap().0, &root);
    for foreign in ["#/nowhere", "other.json#/a", "#anchor", "#/%zz", "#/%", "#/%ff"] {
        assert!(follow_ref(&root, foreign).is_none(), "{foreign}");
    }
}

#[test]
fn fragments_survive_encoding_and_decoding() {
    let pointer = "/a b/%/ü/~1/$defs";
    let encoded = percent_encode(pointer);
    assert!(encoded.is_ascii() && !encoded.contains(' '));
    assert_eq!(percent_decode(&encoded).unwrap(), pointer);
}
