use super::*;

fn results(lines: &[&str]) -> TestResults {
    read(&CheckOutput { report: &lines.join("\n"), ..CheckOutput::default() }, 1).unwrap()
}

#[test]
fn tests_within_others_have_all_names() {
    let results = results(&[
        r#"{"what":"start","name":"grp","nesting":0,"file":"/w/a.js","line":1}"#,
        r#"{"what":"start","name":"say \"hi\" & <b>","nesting":1,"file":"/w/a.js","line":2}"#,
        r#"{"what":"fail","name":"say \"hi\" & <b>","nesting":1,"file":"/w/a.js","line":2,"ms":1500,"suite":false,"error":{"kind":"testCodeFailure","message":"no","stack":"AssertionError: not equal\n\n1 !== 2\n    at TestContext.<anonymous> (/w/a.js:3:69)\n    at Test.run (node:internal/test_runner/test:796:25)"}}"#,
        r#"{"what":"start","name":"other","nesting":1}"#,
        r#"{"what":"pass","name":"other","nesting":1,"skip":"test name does not match pattern"}"#,
        r#"{"what":"fail","name":"grp","nesting":0,"suite":true,"error":{"kind":"subtestsFailed","message":"1 subtest failed"}}"#,
        r#"{"what":"start","name":"later","nesting":0}"#,
        r#"{"what":"pass","name":"later","nesting":0,"skip":"why"}"#,
    ]);
    assert_eq!([results.passed, results.failed, results.skipped, results.errors], [0, 1, 1, 0]);
    let bad = &results.cases[0];
    assert_eq!(bad.name, "grp > say \"hi\" & <b>");
    assert_eq!(bad.id, "grp\u{1f}say \"hi\" & <b>");
    assert_eq!(bad.message, "AssertionError: not equal\n1 !== 2");
    assert_eq!((bad.file.as_deref(), bad.line, bad.seconds), (Some("/w/a.js"), Some(3), Some(1.5)));
    assert!(!bad.traceback.contains("node:internal"), "{}", bad.traceback);
}

#[test]
fn a_hook_that_fails_is_told_with_its_error() {
    let results = results(&[
        r#"{"what":"start","name":"s","nesting":0}"#,
        r#"{"what":"start","name":"x","nesting":1}"#,
        r#"{"what":"pass","name":"x","nesting":1}"#,
        r#"{"what":"fail","name":"s","nesting":0,"suite":true,"error":{"kind":"hookFailed","message":"failed running after hook","stack":"Error: after!\n    at SuiteContext.<anonymous> (/w/a.js:4:1)"}}"#,
    ]);
    assert_eq!([results.passed, results.errors], [1, 1]);
    let hook = &results.cases[1];
    assert_eq!(hook.message, "failed running after hook: Error: after!");
    assert_eq!((hook.file.as_deref(), hook.line), (Some("/w/a.js"), Some(4)));
}

#[test]
fn a_file_that_does_not_parse_has_its_place() {
    let results = results(&[
        r#"{"what":"stderr","file":"/w/a.js","message":"/w/a.js:2\n"}"#,
        r#"{"what":"stderr","file":"/w/a.js","message":"const x = ;\n          ^\n\n"}"#,
        r#"{"what":"stderr","file":"/w/a.js","message":"SyntaxError: Unexpected token ';'\n    at wrapSafe (node:internal/modules/cjs/loader:1464:18)\n\nNode.js v20.20.2\n"}"#,
        r#"{"what":"start","name":"/w/a.js","nesting":0,"file":"/w/a.js","line":1}"#,
        r#"{"what":"fail","name":"/w/a.js","nesting":0,"file":"/w/a.js","line":1,"error":{"kind":"testCodeFailure","message":"test failed","code":1}}"#,
    ]);
    let case = &results.cases[0];
    assert_eq!(case.message, "SyntaxError: Unexpected token ';'");
    assert_eq!(
        (case.file.as_deref(), case.line, case.outcome),
        (Some("/w/a.js"), Some(2), TestOutcome::Error)
    );
}

#[test]
fn what_is_no_report() {
    assert_eq!(read(&CheckOutput::default(), 1), None);
    assert!(
        report_args(vec!["--test".to_owned(), "a.js".to_owned()], "R")
            .iter()
            .all(|word| !word.contains(' '))
    );
}
