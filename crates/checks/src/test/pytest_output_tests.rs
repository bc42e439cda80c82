use super::*;

const RAN: &str = "============ test session starts ============\nrootdir: /w\nconfigfile: pytest.ini\ncollecting ... collected 5 items\n\ntests/test_a.py::test_one PASSED                [ 20%]\ntests/test_a.py::A::test_p[a b-PASSED x] FAILED [ 40%]\ntests/test_a.py::test_s SKIPPED (later)         [ 60%]\n[gw0] [ 80%] PASSED tests/test_a.py::test_w[x y] \ntests/test_a.py::test_h ";

fn read_of(stdout: &str, stderr: &str, code: i32) -> Option<TestResults> {
    read(&CheckOutput { stdout, stderr, report: "" }, code)
}

#[test]
fn a_run_that_was_cut_off_says_how_far_it_came() {
    let results = read_of(RAN, "", 124).unwrap();
    let counts = (results.passed, results.failed, results.skipped, results.errors);
    assert_eq!(counts, (2, 1, 1, 1));
    assert_eq!(results.root.as_deref(), Some("/w"));
    let ids: Vec<&str> = results.cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(ids[1], "tests/test_a.py::A::test_p[a b-PASSED x]");
    assert_eq!(ids[3], "tests/test_a.py::test_w[x y]");
    let hung = results.cases.last().unwrap();
    assert_eq!((hung.id.as_str(), hung.outcome), ("tests/test_a.py::test_h", TestOutcome::Error));
    assert!(hung.message.starts_with("Timed out"), "{}", hung.message);
    assert_eq!(read_of("nothing of it\n", "", 1), None);
}

#[test]
fn a_crash_is_told_by_its_begin_and_its_own_frames() {
    let frames: String = (0..60)
        .map(|n| {
            format!("  File \"/v/site-packages/pluggy/_callers.py\", line {n} in _multicall\n")
        })
        .collect();
    let dump = format!(
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n  File \"/w/tests/test_a.py\", line 3 in test_h\n{frames}"
    );
    let results = read_of(RAN, &dump, 139).unwrap();
    let case = results.cases.last().unwrap();
    assert!(case.message.contains("signal 11"), "{}", case.message);
    assert!(case.message.contains("Segmentation fault"), "{}", case.message);
    assert_eq!((case.file.as_deref(), case.line), (Some("/w/tests/test_a.py"), Some(3)));
    assert!(!case.traceback.contains("pluggy"), "{}", case.traceback);
}
