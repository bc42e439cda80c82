use super::*;

const REPORT: &str = r#"{"begin":"t.A.test_bad"}
{"end":"t.A.test_bad","outcome":"failed","part":"","why":"AssertionError: 1 != 2","trace":"Traceback (most recent call last):\n  File \"/w/t.py\", line 6, in test_bad\n    self.assertEqual(1, 2)\nAssertionError: 1 != 2\n","seconds":0.5}
{"begin":"t.A.test_sub"}
{"end":"t.A.test_sub","outcome":"failed","part":"(i=1)","why":"AssertionError: 1 != 0","trace":"","seconds":0.1}
{"begin":"t.A.test_ok"}
{"end":"t.A.test_ok","outcome":"passed","part":"","why":"","trace":"","seconds":0.1}
{"end":"setUpClass (t.B)","outcome":"error","part":"","why":"ValueError: odd","trace":"","seconds":null}
{"end":"unittest.loader._FailedTest.test_c","outcome":"error","part":"","why":"ImportError: Failed to import test module: test_c\nTraceback (most recent call last):\n  File \"/w/test_c.py\", line 1\nModuleNotFoundError: No module named 'x'","trace":"","seconds":0.1}
{"begin":"t.A.test_s"}
{"end":"t.A.test_s","outcome":"skipped","part":"","why":"later","trace":"","seconds":0.1}
"#;

#[test]
fn each_test_counts_once() {
    let report = format!("{REPORT}{{\"ran\":5,\"seconds\":1.5}}\n");
    let results = read(&CheckOutput { report: &report, ..CheckOutput::default() }, 1).unwrap();
    assert_eq!([results.passed, results.failed, results.skipped, results.errors], [1, 2, 1, 2]);
    assert_eq!(results.seconds, Some(1.5));
    let case = |name: &str| results.cases.iter().find(|case| case.name == name).unwrap();
    let bad = case("t.A.test_bad");
    assert_eq!(
        (bad.message.as_str(), bad.file.as_deref(), bad.line),
        ("AssertionError: 1 != 2", Some("/w/t.py"), Some(6))
    );
    assert_eq!(case("t.A.test_sub (i=1)").id, "t.A.test_sub");
    assert_eq!(case("setUpClass (t.B)").id, "t.B");
    assert_eq!(case("test_c").message, "ModuleNotFoundError: No module named 'x'");
    assert_eq!(case("t.A.test_s").message, "later");
}

#[test]
fn a_test_that_ends_the_interpreter_is_named() {
    let report = format!("{REPORT}{{\"begin\":\"t.A.test_exit\"}}\n");
    let results = read(&CheckOutput { report: &report, ..CheckOutput::default() }, 7).unwrap();
    let last = results.cases.last().unwrap();
    assert_eq!((last.name.as_str(), last.outcome), ("t.A.test_exit", TestOutcome::Error));
    assert!(last.message.contains('7'), "{}", last.message);
    assert_eq!(read(&CheckOutput::default(), 1), None);
}
