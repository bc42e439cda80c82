use serde_json::json;

use super::*;

#[test]
fn the_end_of_a_line_that_is_too_long_is_not_an_object() {
    let (to, lines) = mpsc::channel();
    let text = b"{\"a\":1}\n12345678{\"b\":2}\n{\"c\":3}\n";
    read_lines(&text[..], 8, &to);
    drop(to);
    assert_eq!(lines.iter().collect::<Vec<_>>(), [json!({"a": 1}), json!({"c": 3})]);
}
