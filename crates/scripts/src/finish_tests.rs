use super::*;

#[test]
fn the_cause_is_the_line_that_names_it() {
    let python =
        "Traceback (most recent call last):\n  File \"x\", line 1\nValueError: bad\n  thing\n";
    assert_eq!(cause(python).as_deref(), Some("ValueError: bad"));
    let node =
        "[stdin]:1\nthrow new Error('x')\n^\n\nError: x\n    at [stdin]:1:7\n\nNode.js v20.1.0\n";
    assert_eq!(cause(node).as_deref(), Some("Error: x"));
    assert_eq!(cause("\nsomething odd\n\nNode.js v20.1.0\n").as_deref(), Some("something odd"));
    assert_eq!(cause("\n \n"), None);
}

#[test]
fn the_end_of_errors_begins_with_a_line() {
    assert_eq!(tail("short", 10), "short");
    assert_eq!(tail("one\ntwo\nthree", 9), "three");
    assert_eq!(tail("ééééé", 3), "é");
    assert_eq!(tail("one long line\n", 5), "line\n");
}
