use super::*;

fn report(text: &str) -> CheckOutput<'_> {
    CheckOutput { report: text, ..CheckOutput::default() }
}

#[test]
fn a_report_of_jest() {
    let text = r#"{"testResults":[{"name":"/w/a.test.js","status":"failed","assertionResults":[
{"ancestorTitles":[],"title":"ok","fullName":"ok","status":"passed","duration":3},
{"ancestorTitles":["grp"],"title":"bad","fullName":"grp bad","status":"failed","duration":1500,"location":{"line":2,"column":1},"failureMessages":["Error: \u001b[2mexpect(\u001b[22mx)\n\nExpected: 2\n    at Object.toBe (/w/a.test.js:2:72)\n    at run (/w/node_modules/jest/x.js:1:1)"]},
{"ancestorTitles":["grp"],"title":"sk","fullName":"grp sk","status":"pending","failureMessages":[]}]},
{"name":"/w/k.test.js","status":"failed","assertionResults":[],"message":"  ● Test suite failed to run\n\n    Cannot find module 'nonesuch' from 'k.test.js'\n\n    > 1 | require('nonesuch')\n        | ^\n\n      at Object.require (k.test.js:1:1)\n"}]}"#;
    let results = jest(&report(text), 1).unwrap();
    assert_eq!([results.passed, results.failed, results.skipped, results.errors], [1, 1, 1, 1]);
    let bad = &results.cases[1];
    assert_eq!((bad.name.as_str(), bad.id.as_str()), ("grp > bad", "grp bad"));
    assert_eq!(bad.message, "Error: expect(x)\nExpected: 2");
    assert_eq!(
        (bad.file.as_deref(), bad.line, bad.seconds),
        (Some("/w/a.test.js"), Some(2), Some(1.5))
    );
    assert!(!bad.traceback.contains("node_modules"), "{}", bad.traceback);
    let suite = &results.cases[3];
    assert_eq!(
        suite.message,
        "Test suite failed to run\nCannot find module 'nonesuch' from 'k.test.js'"
            .split_once('\n')
            .unwrap()
            .1
    );
    assert_eq!((suite.name.as_str(), suite.id.as_str()), ("/w/k.test.js", ""));
}

#[test]
fn a_report_of_mocha_behind_what_tests_print() {
    let text = "printed\n{\n\"stats\":{\"duration\":10},\"tests\":[{\"fullTitle\":\"grp bad\",\"file\":\"/w/m.js\",\"duration\":3,\"err\":{\"message\":\"1 !== 2\\n\",\"stack\":\"AssertionError: 1 !== 2\\n    at Context.<anonymous> (m.js:2:67)\"}},{\"fullTitle\":\"grp ok\",\"err\":{}},{\"fullTitle\":\"grp sk\",\"err\":{}}],\"pending\":[{\"fullTitle\":\"grp sk\"}]}";
    let results = mocha(&CheckOutput { stdout: text, ..CheckOutput::default() }, 1).unwrap();
    assert_eq!([results.passed, results.failed, results.skipped], [1, 1, 1]);
    let bad = &results.cases[0];
    assert_eq!(
        (bad.message.as_str(), bad.file.as_deref(), bad.line),
        ("1 !== 2", Some("m.js"), Some(2))
    );
}

#[test]
fn a_hook_of_mocha_that_fails_is_a_failure() {
    let text = r#"{"stats":{"duration":2},"tests":[{"fullTitle":"fine","err":{}}],"pending":[],"failures":[{"fullTitle":"hook \"before all\" hook for \"n\"","file":"/w/a.js","err":{"stack":"Error: hooked\n    at Context.<anonymous> (a.js:1:41)","message":"hooked"}}]}"#;
    let results = mocha(&report(text), 1).unwrap();
    assert_eq!([results.passed, results.failed], [1, 1]);
    let hook = &results.cases[1];
    assert_eq!((hook.message.as_str(), hook.line), ("hooked", Some(1)));
}

#[test]
fn an_error_outside_of_tests_is_read_from_what_vitest_prints() {
    let text = r#"{"testResults":[{"name":"/w/b.js","status":"passed","assertionResults":[{"title":"ok","fullName":"ok","status":"passed"}]}]}"#;
    let stderr = "⎯⎯⎯ Unhandled Errors ⎯⎯⎯\n\nVitest caught 1 unhandled error during the test run.\n\n⎯⎯⎯ Uncaught Exception ⎯⎯⎯\nError: unhandled\n ❯ Timeout._onTimeout b.test.js:1:117\n      1| code\n ❯ listOnTimeout node:internal/timers:581:17\n";
    let said = CheckOutput { report: text, stderr, ..CheckOutput::default() };
    let results = vitest(&said, 1).unwrap();
    assert_eq!([results.passed, results.errors], [1, 1]);
    let case = &results.cases[1];
    assert_eq!(case.message, "Error: unhandled");
    assert_eq!((case.file.as_deref(), case.line), (Some("b.test.js"), Some(1)));
    assert_eq!(vitest(&said, 0).unwrap().errors, 0);
}

#[test]
fn what_is_no_report() {
    assert_eq!(jest(&report(""), 1), None);
    assert_eq!(jest(&report("{}"), 1), None);
    assert_eq!(mocha(&report("[]"), 1), None);
}
