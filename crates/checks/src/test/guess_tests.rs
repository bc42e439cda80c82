use super::*;

fn counts(stdout: &str, code: i32) -> [u64; 4] {
    let results = read(&CheckOutput { stdout, ..CheckOutput::default() }, code).unwrap();
    assert!(results.is_guess);
    [results.passed, results.failed, results.skipped, results.errors]
}

#[test]
fn well_known_lines_are_added_up() {
    let cases = [
        ("==== 1 failed, 2 passed, 3 skipped in 0.12s ====\n", 1, [2, 1, 3, 0]),
        ("Tests:       1 failed, 1 skipped, 4 passed, 6 total\n", 1, [4, 1, 1, 0]),
        ("# tests 4\n# pass 1\n# fail 1\n# skipped 2\n", 1, [1, 1, 2, 0]),
        ("  3 passing (10ms)\n  1 pending\n  2 failing\n", 1, [3, 2, 1, 0]),
        ("--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\n", 1, [1, 1, 0, 0]),
        ("test a ... ok\ntest b ... FAILED\n", 1, [1, 1, 0, 0]),
        ("TAP version 13\nok 1 - a\nnot ok 2 - b\nok 3 c # SKIP later\n", 1, [1, 1, 1, 0]),
        ("ok then\n", 0, [0, 0, 0, 0]),
        ("It passed the test of time\n", 0, [0, 0, 0, 0]),
        ("2 passed\n", 3, [2, 0, 0, 1]),
        ("", 2, [0, 0, 0, 1]),
    ];
    for (text, code, expected) in cases {
        assert_eq!(counts(text, code), expected, "{text}");
    }
}

#[test]
fn tests_that_failed_are_named() {
    let pytest =
        "FAILED t/test_a.py::test_x[a - b] - assert 1 == 2\n== 1 failed, 2 passed in 0.1s ==\n";
    let results = read(&CheckOutput { stdout: pytest, ..CheckOutput::default() }, 1).unwrap();
    assert_eq!((results.passed, results.failed, results.cases.len()), (2, 1, 1));
    assert_eq!(results.cases[0].file.as_deref(), Some("t/test_a.py"));
    assert_eq!(results.cases[0].message, "assert 1 == 2");
    assert_eq!(results.cases[0].name, "t/test_a.py::test_x[a - b]");
    let tap = "not ok 2 - second thing\n# pass 1\n# fail 1\n";
    let results = read(&CheckOutput { stdout: tap, ..CheckOutput::default() }, 1).unwrap();
    assert_eq!((results.failed, results.cases[0].name.as_str()), (1, "second thing"));
}
