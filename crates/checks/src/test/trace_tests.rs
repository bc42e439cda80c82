use super::*;

#[test]
fn frames_of_others_are_left_out() {
    let python = "Traceback (most recent call last):\n  File \"/w/a.py\", line 3, in f\n    g()\n  File \"/x/site-packages/lib/b.py\", line 9, in g\n    raise E\nValueError: odd";
    let trimmed = trim_traceback(python);
    assert!(trimmed.contains("/w/a.py") && trimmed.contains("    g()"), "{trimmed}");
    assert!(!trimmed.contains("site-packages") && !trimmed.contains("raise E"), "{trimmed}");
    assert!(trimmed.ends_with("ValueError: odd"));
    assert_eq!(failure_location(python, true), Some(("/w/a.py".to_owned(), 3)));
}

#[test]
fn a_folder_of_the_project_may_be_called_anything() {
    for dir in ["unittest", "runtime", "importlib", "internal/process", "pytest"] {
        let python = format!("Traceback:\n  File \"/w/{dir}/a.py\", line 3, in f\n    g()\nE: x");
        assert_eq!(failure_location(&python, true), Some((format!("/w/{dir}/a.py"), 3)));
        assert_eq!(trim_traceback(&python), python);
        let script = format!("Error: x\n    at f (/w/{dir}/a.js:3:69)");
        assert_eq!(failure_location(&script, false), Some((format!("/w/{dir}/a.js"), 3)));
    }
    for runner in [
        "  File \"/usr/lib/python3.11/unittest/case.py\", line 57, in run",
        "  File \"/home/me/.pyenv/versions/3.11.7/lib/python3.11/importlib/x.py\", line 1, in f",
        "    at process.processTicksAndRejections (internal/process/task_queues.js:93:5)",
        "    at node:internal/process/task_queues:95:5",
    ] {
        assert_eq!(failure_location(runner, true), None, "{runner}");
    }
}

#[test]
fn places_of_frames() {
    let cases = [
        ("    at f (/w/a.js:3:69)", Some(("/w/a.js", 3))),
        ("    at file:///w/a.mjs:4:1", Some(("/w/a.mjs", 4))),
        ("  File \"a b.py\", line 12, in f", Some(("a b.py", 12))),
        ("tests/a.py:7: in test", Some(("tests/a.py", 7))),
        ("    at new Promise (<anonymous>)", None),
        ("just words", None),
    ];
    for (line, expected) in cases {
        let expected = expected.map(|(file, line)| (file.to_owned(), line));
        assert_eq!(parse_location(line), expected, "{line}");
    }
    let script = "Error: x\n    at g (/w/node_modules/e.js:1:1)\n    at f (/w/a.js:3:69)\n    at main (/w/b.js:9:1)";
    assert_eq!(failure_location(script, false), Some(("/w/a.js".to_owned(), 3)));
}

#[test]
fn long_ones_keep_their_end() {
    let long: String = (0..500).map(|n| format!("line {n}\n")).collect();
    let trimmed = trim_traceback(&long);
    assert!(
        trimmed.starts_with("(460 lines before)\n") && trimmed.ends_with("line 499"),
        "{trimmed}"
    );
    let wide = trim_traceback(&"ä".repeat(10_000));
    assert!(wide.len() <= MAX_TRACE_CHARS && wide.starts_with('ä'));
}
