use super::*;

const TAP: &str = "TAP version 13
# Subtest: top
not ok 1 - top
  ---
  duration_ms: 1500
  location: '/w/a.test.js:3:1'
  error: |-
    The expression evaluated to a falsy value:
    
      assert.ok(fixed)
    
  code: 'ERR_ASSERTION'
  stack: |-
    TestContext.<anonymous> (file:///w/a.test.js:3:26)
    Test.run (node:internal/test_runner/test:796:25)
  ...
# Subtest: grp
    # Subtest: inner ok
    ok 1 - inner ok
      ---
      duration_ms: 0.3
      ...
    not ok 2 - inner bad
      ---
      location: '/w/a.test.js:4:46'
      error: 'still'
      ...
    1..2
not ok 2 - grp
  ---
  failureType: 'subtestsFailed'
  error: '1 subtest failed'
  ...
ok 3 - later # SKIP no network
1..3
# pass 1
# fail 2
";

#[test]
fn tests_within_others_are_told_with_their_names() {
    let cases = parse_tap(TAP).unwrap();
    let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, ["top", "grp > inner ok", "grp > inner bad", "later"]);
    let top = &cases[0];
    assert_eq!((top.file.as_deref(), top.line), (Some("/w/a.test.js"), Some(3)));
    assert_eq!(top.message, "The expression evaluated to a falsy value:\n\n  assert.ok(fixed)");
    assert_eq!((top.seconds, top.outcome), (Some(1.5), TestOutcome::Failed));
    assert!(!top.traceback.contains("node:internal"), "{}", top.traceback);
    let inner = &cases[2];
    assert_eq!((inner.message.as_str(), inner.line), ("still", Some(4)));
    assert_eq!((cases[3].outcome, cases[3].message.as_str()), (TestOutcome::Skipped, "no network"));
    assert_eq!(parse_tap("ok 1 - a\nnot ok 2 - b\n"), None);
}

#[test]
fn jest_names_what_failed() {
    let text = "FAIL ./sum.test.js\n  ✕ bad (43 ms)\n\n  ● Console\n\n  ● sum > group › bad\n\n    expect(received).toBe(expected) // Object.is equality\n\n    Expected: 4\n    Received: 3\n\n      3 |   test('adds')\n    > 4 |   test('bad')\n\n      at Object.toBe (sum.test.js:4:40)\n      at run (node_modules/jest/x.js:1:1)\n\nTest Suites: 1 failed\n";
    let cases = parse_jest_failures(&format!("{text}{text}"));
    assert_eq!(cases.len(), 1);
    let case = &cases[0];
    assert_eq!(case.name, "sum > group > bad");
    assert_eq!(
        case.message,
        "expect(received).toBe(expected) // Object.is equality\nExpected: 4\nReceived: 3"
    );
    assert_eq!((case.file.as_deref(), case.line), (Some("sum.test.js"), Some(4)));
}
