use super::*;

fn report(text: &str) -> CheckOutput<'_> {
    CheckOutput { report: text, ..CheckOutput::default() }
}

#[test]
fn a_report_of_pytest() {
    let xml = r#"<?xml version="1.0"?><testsuites><testsuite name="pytest" tests="4" time="0.098">
<testcase classname="tests.test_a.TestX" name="test_p[a&lt;b]" file="tests/test_a.py" line="4" time="0.5"><failure message="assert 1 == 2&#10;more">tests/test_a.py:7: in test_p
    helper(1)
tests/test_a.py:3: in helper
    assert 1 &lt; 0
E   assert 1</failure><system-out>said &amp; done</system-out></testcase>
<testcase classname="tests.test_a" name="test_ok" file="tests/test_a.py" line="10" time="0.000" />
<testcase classname="tests.test_a" name="test_s" file="tests/test_a.py" line="11"><skipped type="pytest.skip" message="later">why</skipped></testcase>
<testcase classname="" name="tests.test_c" file="tests/test_c.py"><error message="collection failure">tests/test_c.py:1: in &lt;module&gt;
    import x
E   ModuleNotFoundError: No module named 'x'</error></testcase>
</testsuite></testsuites>"#;
    let results = pytest(&report(xml), 1).unwrap();
    assert_eq!([results.passed, results.failed, results.skipped, results.errors], [1, 1, 1, 1]);
    assert_eq!(results.seconds, Some(0.098));
    let bad = &results.cases[0];
    assert_eq!(bad.name, "tests/test_a.py::TestX::test_p[a<b]");
    assert_eq!((bad.file.as_deref(), bad.line), (Some("tests/test_a.py"), Some(3)));
    assert_eq!(bad.message, "assert 1 == 2\nmore");
    assert!(bad.traceback.contains("assert 1 < 0"), "{}", bad.traceback);
    assert_eq!((bad.output.as_str(), bad.seconds), ("said & done", Some(0.5)));
    let unread = &results.cases[3];
    assert_eq!(unread.name, "tests/test_c.py");
    assert_eq!(unread.message, "ModuleNotFoundError: No module named 'x'");
}

#[test]
fn a_report_that_is_cut_or_none() {
    let cut = "<testsuites><testsuite name=\"p\"><testcase classname=\"a\" name=\"b\" file=\"a.py\"/><testcase classname=\"a\" na";
    assert_eq!(pytest(&report(cut), 0).unwrap().passed, 1);
    assert_eq!(pytest(&report(""), 0), None);
    assert_eq!(pytest(&report("<html>"), 0), None);
    let empty = "<testsuites><testsuite name=\"pytest\" tests=\"0\"/></testsuites>";
    assert_eq!(pytest(&report(empty), 5).unwrap().total(), 0);
    assert_eq!(pytest(&report(empty), 4), None, "pytest itself has failed");
    let deep = "<a>".repeat(200_000);
    assert_eq!(pytest(&report(&deep), 0), None);
}

#[test]
fn a_file_that_cannot_be_read_has_its_line() {
    let xml = r#"<testsuites><testsuite><testcase classname="" name="test_b" file="test_b.py"><error message="collection failure">/v/site-packages/_pytest/python.py:498: in importtestmodule
    mod = import_path(
E     File "/w/test_b.py", line 3
E       def x(
E            ^
E   SyntaxError: '(' was never closed</error></testcase>
<testcase classname="test_a" name="test_x" file="test_a.py"><skipped type="pytest.xfail" message="bug 1"/></testcase></testsuite></testsuites>"#;
    let results = pytest(&report(xml), 2).unwrap();
    let case = &results.cases[0];
    assert_eq!((case.file.as_deref(), case.line), (Some("/w/test_b.py"), Some(3)));
    assert_eq!(case.message, "SyntaxError: '(' was never closed");
    assert_eq!(results.cases[1].message, "expected to fail: bug 1");
}
