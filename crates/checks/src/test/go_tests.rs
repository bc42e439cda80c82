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
        r#"{"Action":"skip","Package":"m/a","Test":"TestSkip","Elapsed":0}"#,
        r#"{"Action":"fail","Package":"m/a","Elapsed":0.2}"#,
        r#"{"Action":"output","Package":"m/b","Output":"FAIL\tm/b [build failed]\n"}"#,
        r#"{"Action":"fail","Package":"m/b","Elapsed":0}"#,
    ]
    .join("\n");
    let stderr = "# m/b\nb/b.go:3:2: undefined: x\n";
    let results = read(&Said { stdout: &stdout, stderr, report: "" }, 1).unwrap();
    assert_eq!([results.passed, results.failed, results.skipped, results.errors], [1, 1, 1, 1]);
    let bad = &results.cases[0];
    assert_eq!((bad.name.as_str(), bad.id.as_str()), ("m/a.TestBad", "TestBad"));
    assert_eq!((bad.file.as_deref(), bad.line), (Some("a_test.go"), Some(7)));
    assert_eq!(bad.message, "a_test.go:7: got 1, want 2");
    let unbuilt = results.cases.last().unwrap();
    assert_eq!(unbuilt.name, "m/b");
    assert!(unbuilt.message.contains("undefined: x"), "{}", unbuilt.message);
    assert_eq!(read(&Said::default(), 0), None);
}
