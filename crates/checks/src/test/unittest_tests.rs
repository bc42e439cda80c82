use super::*;

#[test]
fn verbose_output_is_read() {
    let stderr = "test_bad (test_a.A.test_bad) ... FAIL\ntest_err (test_a.A) ... ERROR\ntest_ok (test_a.A.test_ok) ... ok\ntest_s (test_a.A.test_s) ... skipped 'later'\ntest_c (unittest.loader._FailedTest.test_c) ... ERROR\n\n======================================================================\nERROR: test_err (test_a.A)\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"/w/test_a.py\", line 9, in test_err\n    raise ValueError('odd')\nValueError: odd\n\n======================================================================\nFAIL: test_bad (test_a.A.test_bad)\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"/w/test_a.py\", line 6, in test_bad\n    self.assertEqual(1, 2)\nAssertionError: 1 != 2\n\n----------------------------------------------------------------------\nRan 5 tests in 0.001s\n\nFAILED (failures=1, errors=2, skipped=1)\n";
    let results = read(&Said { stderr, ..Said::default() }, 1).unwrap();
    assert_eq!([results.passed, results.failed, results.skipped, results.errors], [1, 1, 1, 2]);
    assert_eq!(results.seconds, Some(0.001));
    let case = |name: &str| results.cases.iter().find(|case| case.name == name).unwrap();
    let bad = case("test_a.A.test_bad");
    assert_eq!(
        (bad.message.as_str(), bad.file.as_deref(), bad.line),
        ("AssertionError: 1 != 2", Some("/w/test_a.py"), Some(6))
    );
    assert_eq!(case("test_a.A.test_err").message, "ValueError: odd");
    assert_eq!(case("test_a.A.test_s").message, "later");
    assert_eq!(case("test_c").outcome, Outcome::Error);
    assert_eq!(read(&Said { stderr: "no module named unittest", ..Said::default() }, 1), None);
}
