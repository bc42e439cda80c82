use super::*;

#[test]
fn the_cause_is_the_line_that_names_it() {
    let python =
        "Traceback (most recent call last):\n  File \"x\", line 1\nValueError: bad\n  thing\n";
    assert_eq!(error_line(python).as_deref(), Some("ValueError: bad"));
    let node =
        "[stdin]:1\nthrow new Error('x')\n^\n\nError: x\n    at [stdin]:1:7\n\nNode.js v20.1.0\n";
    assert_eq!(error_line(node).as_deref(), Some("Error: x"));
    assert_eq!(
        error_line("\nsomething odd\n\nNode.js v20.1.0\n").as_deref(),
        Some("something odd")
    );
    assert_eq!(error_line("\n \n"), None);
    let unnamed = "odd thing\n    at endReadableNT (node:internal/streams/readable:1698:12)\n";
    assert_eq!(error_line(unnamed).as_deref(), Some("odd thing"), "a frame says nothing");
}

#[test]
fn a_group_of_exceptions_is_told_with_the_first() {
    let tree = "  + Exception Group Traceback (most recent call last):\n  |   File \"x\", line 1, in <module>\n  | ExceptionGroup: g (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | ValueError: a\n    +------------------------------------\n";
    assert_eq!(
        error_line(tree).as_deref(),
        Some("ExceptionGroup: g (1 sub-exception): ValueError: a")
    );
    let later = format!("{tree}\nTypeError: later\n");
    assert_eq!(error_line(&later).as_deref(), Some("TypeError: later"));
}

#[test]
fn the_end_of_errors_begins_with_a_line() {
    assert_eq!(tail("short", 10), "short");
    assert_eq!(tail("one\ntwo\nthree", 9), "three");
    assert_eq!(tail("ééééé", 3), "é");
    assert_eq!(tail("one long line\n", 5), "line\n");
    assert_eq!(tail("a very long line\nend\n", 13), "ong line\nend\n", "most of it stays");
}
