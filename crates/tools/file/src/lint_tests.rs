use std::path::Path;

use super::*;

fn lint(name: &str, old: Option<&str>, new: &str) -> Option<LintReport> {
    check(Path::new(name), old, new)
}

fn status(name: &str, text: &str) -> Option<LintStatus> {
    lint(name, None, text).map(|lint| lint.status)
}

#[test]
fn only_what_is_known_is_checked() {
    assert_eq!(lint("a.txt", None, "{"), None);
    assert_eq!(lint("json", None, "{"), None);
    assert_eq!(lint("a.json", None, ""), None);
    assert_eq!(lint("a.json", None, " \n"), None);
    assert_eq!(status("a.json", "{}"), Some(LintStatus::Ok));
    assert_eq!(status("A.JSON", "{"), Some(LintStatus::Error));
    assert_eq!(status("a.toml", "a = 1\n[b]\n"), Some(LintStatus::Ok));
}

#[test]
fn a_problem_has_its_place() {
    let found = lint("a.json", None, "{\n  \"a\": 1\n  \"b\": 2\n}").expect("checked");
    assert_eq!(found.problems.len(), 1);
    assert_eq!(found.problems[0].line, 3);
    assert!(!found.problems[0].message.contains("line"), "{:?}", found.problems);
    let found = lint("a.toml", None, "a = 1\nö = \n").expect("checked");
    assert_eq!(found.problems[0].line, 2);
    let found = lint("a.jsonl", None, "{}\n{\n\n[]\n[\n").expect("checked");
    assert_eq!(found.problems.iter().map(|p| p.line).collect::<Vec<_>>(), [2, 5]);
}

#[test]
fn comments_and_trailing_commas_are_no_errors() {
    let text =
        "// one\n{\n  /* two * / ** */ \"a\": [1, 2, // three\n  ],\n  \"b\": \"//,}\",\n}\n";
    let plain = without_comments(text);
    assert_eq!(plain.len(), text.len());
    assert_eq!(status("tsconfig.base.json", text), Some(LintStatus::Ok));
    assert_eq!(lint("tsconfig.json", None, text).expect("checked").message, None);
    assert_eq!(lint(".vscode/settings.json", None, text).expect("checked").message, None);
    let noted = lint("package.json", None, text).expect("checked");
    assert_eq!(noted.status, LintStatus::Ok);
    assert!(noted.message.is_some_and(|message| message.contains("strict")));
    assert_eq!(status("tsconfig.json", "{ /* open"), Some(LintStatus::Error));
    assert_eq!(status("tsconfig.json", "{\"a\": /*/ 1}"), Some(LintStatus::Error));
    assert_eq!(status("tsconfig.json", "{,}"), Some(LintStatus::Ok), "as lenient readers do");
}

#[test]
fn templates_are_left_alone() {
    assert_eq!(status("a.json", "{\"a\": {{ value }} }"), Some(LintStatus::Skipped));
    assert_eq!(status("a.json", "{\"a\": \"{{ value }}\"}"), Some(LintStatus::Ok));
}

#[test]
fn what_was_wrong_before_is_not_told_again() {
    let old = "{\n\"a\" 1\n}";
    let new = "{\n\n\n\"a\" 1\n}";
    let found = lint("a.json", Some(old), new).expect("checked");
    assert_eq!((found.status, found.problems.len()), (LintStatus::Error, 0));
    assert!(found.message.is_some_and(|message| message.contains("before")));
    let found = lint("a.json", Some("{}"), new).expect("checked");
    assert_eq!(found.problems.len(), 1);
    let found = lint("a.jsonl", Some("{\n{}\n"), "{\n{}\n[1\n").expect("checked");
    assert_eq!(found.problems.iter().map(|p| p.line).collect::<Vec<_>>(), [3]);
}

#[test]
fn depth_and_length_are_no_danger() {
    let deep = "[".repeat(1_000_000);
    assert_eq!(status("a.json", &deep), Some(LintStatus::Error));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(status("a.json", &deep), Some(LintStatus::Ok));
    assert_eq!(status("a.toml", &format!("a = {deep}")), Some(LintStatus::Error));
    let many = "/*".repeat(500_000);
    assert_eq!(status("a.json", &many), Some(LintStatus::Error));
    let commas = format!("[{}", ",".repeat(1_000_000));
    assert_eq!(status("a.json", &commas), Some(LintStatus::Error));
}

#[test]
fn yaml_is_checked_by_its_events() {
    for text in ["a: 1\n---\nb: !unknown x\n", "{{ a }}: b\n", "- a\n- b: [1, 2]\n", "# only\n"] {
        assert_eq!(status("a.yaml", text), Some(LintStatus::Ok), "{text}");
    }
    for (text, line) in [("a: 1\nb: [1, 2\n", 2), ("a: 1\n b: 2\n", 2), ("a:\n\t- b\n", 2)] {
        let found = lint("a.yml", None, text).expect("checked");
        assert_eq!((found.status, found.problems[0].line), (LintStatus::Error, line), "{text}");
    }
    assert_eq!(status("a.yaml", "{% if x %}\na: 1\n{% endif %}\n"), Some(LintStatus::Skipped));
    let deep = lint("a.yaml", None, &"[".repeat(20_000)).expect("told");
    assert_eq!(deep.status, LintStatus::Skipped, "too deep to tell");
    assert!(deep.message.is_some_and(|message| message.contains("levels deep")));
    let before = lint("a.yaml", Some(&"[".repeat(20_000)), "a: [\n").expect("told");
    assert_eq!((before.status, before.problems.len()), (LintStatus::Error, 1));
}

#[test]
fn a_key_that_is_there_twice_is_told() {
    for (text, line) in [
        ("a: 1\na: 2\n", 2),
        ("x:\n  - b: 1\n    c: 2\n    b: 3\n", 4),
        ("{a: [1, a], b: a, \"c\": 1, 'c': 2}\n", 1),
    ] {
        let found = lint("a.yaml", None, text).expect("checked");
        assert_eq!((found.status, found.problems[0].line), (LintStatus::Error, line), "{text}");
        assert!(found.problems[0].message.contains("already"), "{found:?}");
    }
    for text in [
        "a: 1\n---\na: 2\n",
        "- a: 1\n- a: 2\n",
        "a: {b: 1}\nb: {a: 1}\n",
        "x: &x {a: 1}\ny: &y {b: 1}\nz:\n  <<: *x\n  <<: *y\n",
        "1: a\n\"1\": b\n",
        "? [a, b]\n: 1\n? a\n: b\nb: a\n",
    ] {
        assert_eq!(status("a.yaml", text), Some(LintStatus::Ok), "{text}");
    }
}

#[test]
fn what_was_not_read_to_the_end_is_not_called_ok() {
    let found = lint("a.py", None, "x = 1\ny = f'{a # why\n}'\n").expect("told");
    assert_eq!(found.status, LintStatus::Skipped);
    assert!(found.message.is_some_and(|message| message.contains("line 2")));
}

#[test]
fn python_and_xml_are_looked_at() {
    let lint = check(Path::new("b.py"), None, "def f(:\n").expect("python");
    assert_eq!((lint.status, lint.problems.len()), (LintStatus::Error, 1));
    let lint = check(Path::new("b.py"), None, "def f():\n    return '{{'\n").expect("python");
    assert_eq!(lint.status, LintStatus::Ok);
    // An existing problem is not reported again.
    let lint = check(Path::new("b.py"), Some("x = (\n"), "y = 1\nx = (\n").expect("python");
    assert!(lint.problems.is_empty(), "{lint:?}");
    let lint = check(Path::new("x.svg"), None, "<a>\n<b></a>\n").expect("xml");
    assert_eq!((lint.status, lint.problems.len()), (LintStatus::Error, 1));
    assert_eq!(check(Path::new("b.rs"), None, "fn f(\n"), None);
}
