use super::*;

#[test]
fn events_become_tests() {
    let stdout = [
        r#"{"Action":"start","Package":"m/a"}"#,
        r#"{"Action":"run","Package":"m/a","Test":"TestBad"}"#,
        r#"{"Action":"output","Package":"m/a","Test":"TestBad","Output":"=== RUN   TestBad\n"}"#,
        r#"{"Action":"output","Package":"m/a","Test":"TestBad","Output":"    a_test.go:7: got 1, want 2\n"}"#,
        r#"{"Action":"output","Package":"m/a","Test":"TestBad","Output":"--- FAIL: TestBad (0.01s)\n"}"#,
        r#"{"Action":"fail","Package":"m/a","Test":"TestBad","Elapsed":0.01}"#,
        r#"{"Action":"pass","Package":"m/a","Test":"TestOk","Elapsed":0}"#,
        r#"{"Action":"output","Package":"m/a","Test":"TestSkip","Output":"    a_test.go:9: no network\n"}"#,
        r#"{"Action":"skip","Package":"m/a","Test":"TestSkip","Elapsed":0}"#,
        r#"{"Action":"fail","Package":"m/a","Elapsed":0.2}"#,
        r#"{"Action":"output","Package":"m/b","Output":"FAIL\tm/b [build failed]\n"}"#,
        r#"{"Action":"fail","Package":"m/b","Elapsed":0}"#,
    ]
    .join("\n");
    let stderr = "# m/b\nb/b.go:3:2: undefined: x\n";
    let results = read(&CheckOutput { stdout: &stdout, stderr, report: "" }, 1).unwrap();
    assert_eq!([results.passed, results.failed, results.skipped, results.errors], [1, 1, 1, 1]);
    let bad = &results.cases[0];
    assert_eq!((bad.name.as_str(), bad.id.as_str()), ("m/a.TestBad", "TestBad"));
    assert_eq!((bad.file.as_deref(), bad.line), (Some("a_test.go"), Some(7)));
    assert_eq!(bad.message, "a_test.go:7: got 1, want 2");
    assert_eq!(results.cases[2].message, "a_test.go:9: no network");
    let unbuilt = results.cases.last().unwrap();
    assert_eq!(unbuilt.name, "m/b");
    assert!(unbuilt.message.contains("undefined: x"), "{}", unbuilt.message);
    assert_eq!(read(&CheckOutput::default(), 0), None);
}

#[test]
fn a_package_that_does_not_build_is_an_error_of_its_own() {
    let stdout = "{\"Action\":\"pass\",\"Package\":\"m/a\",\"Test\":\"TestOk\"}\n{\"Action\":\"output\",\"Package\":\"m/a\",\"Output\":\"ok m/a\\n\"}\nFAIL\tm/sub [build failed]\n";
    let stderr =
        "# m/other\nother/o.go:1:1: odd\n# m/sub [m/sub.test]\nsub/x_test.go:3:9: undefined: x\n";
    let results = read(&CheckOutput { stdout, stderr, report: "" }, 2).unwrap();
    assert_eq!([results.passed, results.errors], [1, 1]);
    let case = results.cases.last().unwrap();
    assert_eq!(
        (case.name.as_str(), case.file.as_deref(), case.line),
        ("m/sub", Some("sub/x_test.go"), Some(3))
    );
    assert!(!case.message.contains("other"), "{}", case.message);
    let printed = results.printed.unwrap();
    assert!(printed.starts_with("ok m/a\nFAIL\tm/sub"), "{printed}");
}

#[test]
fn a_panic_is_placed_in_the_project() {
    let output = "--- FAIL: TestP (0.00s)\npanic: boom [recovered]\n\ngoroutine 6 [running]:\ntesting.tRunner.func1.2({0x1, 0x2})\n\t/usr/lib/go-1.19/src/testing/testing.go:1396 +0x24e\nm.TestP(0x0?)\n\t/w/a_test.go:4 +0x39\n";
    let case = make_case("m", "TestP", TestOutcome::Failed, output, &Value::Null);
    assert_eq!((case.file.as_deref(), case.line), (Some("/w/a_test.go"), Some(4)));
    assert_eq!(case.message, "panic: boom [recovered]");
    assert_eq!(case.traceback, "m.TestP(0x0?)\n\t/w/a_test.go:4 +0x39");
}

#[test]
fn the_only_package_does_not_build() {
    let said = CheckOutput {
        stdout: "FAIL\tm [build failed]\n",
        stderr: "# m\n./a.go:3:25: odd\n",
        report: "",
    };
    let results = read(&said, 2).unwrap();
    assert_eq!((results.errors, results.cases[0].name.as_str()), (1, "m"));
}
