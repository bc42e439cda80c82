use super::*;

const OUTPUT: &str = "\nrunning 5 tests\ntest tests::calm - should panic ... FAILED\ntest tests::good ... ok\ntest tests::res ... FAILED\ntest tests::skipped ... ignored, later\ntest tests::bad ... FAILED\n\nfailures:\n\n---- tests::calm stdout ----\nnote: test did not panic as expected at src/lib.rs:17:8\n---- tests::res stdout ----\nError: \"e\"\n\n---- tests::bad stdout ----\nhello\n\nthread 'tests::bad' (7645) panicked at src/lib.rs:11:35:\nassertion `left == right` failed: no two\n  left: 1\n right: 2\nstack backtrace:\n   0: core::panicking::panic_fmt\n             at /rustc/59/library/core/src/panicking.rs:80:14\n   1: small::tests::bad\n             at ./src/lib.rs:11:35\n   2: core::ops::function::FnOnce::call_once\nnote: Some details are omitted\n\n\nfailures:\n    tests::bad\n    tests::calm\n    tests::res\n\ntest result: FAILED. 1 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.24s\n";

#[test]
fn each_failure_has_its_place_and_assertion() {
    let results = read(&CheckOutput { stdout: OUTPUT, ..CheckOutput::default() }, 101).unwrap();
    assert_eq!([results.passed, results.failed, results.skipped, results.errors], [1, 3, 1, 0]);
    assert_eq!(results.seconds, Some(0.24));
    let case = |name: &str| results.cases.iter().find(|case| case.name == name).unwrap();
    let bad = case("tests::bad");
    assert_eq!((bad.file.as_deref(), bad.line), (Some("src/lib.rs"), Some(11)));
    assert_eq!(bad.message, "assertion `left == right` failed: no two\n  left: 1\n right: 2");
    assert_eq!(bad.traceback, "small::tests::bad at ./src/lib.rs:11:35");
    assert_eq!(bad.output, "hello");
    assert_eq!(case("tests::calm").line, Some(17));
    assert_eq!(case("tests::res").message, "Error: \"e\"");
    assert_eq!(case("tests::skipped").message, "later");
}

#[test]
fn what_cannot_be_built_is_an_error() {
    let stderr = "   Compiling x v0.1.0\nwarning: unused\n --> src/lib.rs:1:1\n\nerror[E0308]: mismatched types\n --> src/lib.rs:2:5\n  |\n2 |     \"x\"\n\nerror: could not compile `x`\n";
    let results = read(&CheckOutput { stderr, ..CheckOutput::default() }, 101).unwrap();
    assert_eq!((results.errors, results.total()), (1, 1));
    let message = &results.cases[0].message;
    assert!(
        message.starts_with("error[E0308]: mismatched types\n --> src/lib.rs:2:5"),
        "{message}"
    );
    assert!(!message.contains("unused"));
    assert_eq!(read(&CheckOutput::default(), 101), None, "nothing is known of what happened");
    assert_eq!(read(&CheckOutput::default(), 0).unwrap().total(), 0);
}

#[test]
fn an_older_compiler_puts_the_message_first() {
    let mut case = TestCase::new("a", TestOutcome::Failed);
    apply_failure(
        &mut case,
        "thread 'a' panicked at 'oh, no', src/main.rs:4:5\nnote: run with `RUST_BACKTRACE=1`\n",
    );
    assert_eq!(
        (case.message.as_str(), case.file.as_deref(), case.line),
        ("oh, no", Some("src/main.rs"), Some(4))
    );
}

#[test]
fn a_test_program_that_a_signal_ends_is_no_fault_of_the_build() {
    let stderr = "error: test failed, to rerun pass `--lib`\n\nCaused by:\n  process didn't exit successfully: `/w/t` (signal: 6, SIGABRT: process abort signal)\n";
    let results =
        read(&CheckOutput { stdout: "running 1 test\n", stderr, report: "" }, 101).unwrap();
    assert_eq!((results.errors, results.cases[0].name.as_str()), (1, "a test program"));
    assert!(results.cases[0].message.contains("SIGABRT"), "{}", results.cases[0].message);
}
