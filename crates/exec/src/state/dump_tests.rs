use std::ffi::OsString;

use super::super::quote::quote;
use super::*;

fn dump(middle: &str) -> Vec<u8> {
    format!("0022\n{middle}__hermes_functions\n__hermes_end\n").into_bytes()
}

fn variable(state: &ShellState, name: &str) -> VariableValue {
    state.variables[name].clone().expect("not unset").value
}

fn one(text: &[u8]) -> VariableValue {
    VariableValue::One(ShellBytes(text.to_vec()))
}

#[test]
fn both_ways_of_quoting_are_read() {
    let text = "declare -- a=\"x \\\"\\$\\`\\\\ y\nz\"\ndeclare -- b=$'\\377\\E\\n\\'q\\\\'\n\
                declare -i c=\"5\"\ndeclare -- d=bare\ndeclare -- e='it'\\''s'\n";
    let state = parse_dump(&dump(text), &BTreeMap::new()).expect("complete");
    assert_eq!(variable(&state, "a"), one(b"x \"$`\\ y\nz"));
    assert_eq!(variable(&state, "b"), one(b"\xff\x1b\n'q\\"));
    assert_eq!(variable(&state, "c"), one(b"5"));
    assert_eq!(variable(&state, "d"), one(b"bare"));
    assert_eq!(variable(&state, "e"), one(b"it's"));
}

#[test]
fn arrays_of_old_and_new_shells_are_the_same() {
    let old = "declare -a x='([0]=\"a b\" [2]=\"it'\\''s)\")'\n";
    let new = "declare -a x=([0]=\"a b\" [2]=\"it's)\")\n";
    let old = parse_dump(&dump(old), &BTreeMap::new()).expect("complete");
    let new = parse_dump(&dump(new), &BTreeMap::new()).expect("complete");
    assert_eq!(old, new);
    let VariableValue::Many(items) = variable(&new, "x") else { panic!("an array") };
    assert_eq!(items[1], (ShellBytes(b"2".to_vec()), ShellBytes(b"it's)".to_vec())));
}

#[test]
fn keys_may_hold_anything() {
    let text = "declare -A m=([\"q\\\"'\"]=\"4\" [\"a]b\"]=\"1\" [$'\\n\\377']=\"5\" )\n";
    let state = parse_dump(&dump(text), &BTreeMap::new()).expect("complete");
    let VariableValue::Many(items) = variable(&state, "m") else { panic!("an array") };
    let keys: Vec<_> = items.iter().map(|(key, _)| key.0.as_slice()).collect();
    assert_eq!(keys, [&b"q\"'"[..], b"a]b", b"\n\xff"]);
}

#[test]
fn a_report_that_was_cut_off_is_none() {
    let whole = dump("declare -- a=\"1\"\nalias x='y'\n");
    assert!(parse_dump(&whole, &BTreeMap::new()).is_some());
    for length in 0..whole.len() {
        assert_eq!(parse_dump(&whole[..length], &BTreeMap::new()), None, "{length}");
    }
}

#[test]
fn only_what_differs_from_the_environment_is_kept() {
    let base: BTreeMap<OsString, OsString> = [("A", "1"), ("B", "2"), ("C", "3"), ("a.b", "x")]
        .map(|(name, value)| (name.into(), value.into()))
        .into();
    let text = "declare -x A=\"1\"\ndeclare -x B=\"changed\"\ndeclare -ir UID=\"0\"\n";
    let state = parse_dump(&dump(text), &base).expect("complete");
    assert_eq!(state.variables.keys().collect::<Vec<_>>(), ["B", "C"]);
    let environment = state.environment(base);
    assert_eq!(environment[&OsString::from("B")], "changed");
    assert!(!environment.contains_key(&OsString::from("C")));
    assert!(environment.contains_key(&OsString::from("a.b")));
}

#[test]
fn what_is_too_much_is_dropped_and_named() {
    let big = "x".repeat(700_000);
    let text = format!("declare -- a=\"{big}\"\ndeclare -- b=\"{big}\"\ndeclare -- c=\"1\"\n");
    let state = parse_dump(&dump(&text), &BTreeMap::new()).expect("complete");
    assert_eq!(state.variables.keys().collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(state.dropped(), ["variable b"]);
}

#[test]
fn garbage_is_no_report_and_no_panic() {
    for text in
        ["declare", "declare -", "declare - =", "declare -a x=([", "alias", "alias x=\\", "'"]
    {
        let _ = parse_dump(&dump(text), &BTreeMap::new());
        let _ = parse_dump(&dump(&format!("{text}\n")), &BTreeMap::new());
    }
}

#[test]
fn quoting_has_no_line_break_and_reads_back() {
    for bytes in [&b""[..], b"plain", b"it's", b"a\nb\\", b"\xff\x01\x7f1", "ü'\u{85}".as_bytes()]
    {
        let word = quote(bytes);
        assert!(!word.contains('\n'));
        assert_eq!(unquote(word.as_bytes(), b"\n"), Some((bytes.to_vec(), &b""[..])));
    }
}
