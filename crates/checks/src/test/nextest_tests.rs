use super::*;

#[test]
fn lines_and_blocks_belong_together() {
    let stderr = "    Starting 3 tests across 1 binary\n        FAIL [   0.032s] (1/3) small tests::bad\n  stdout ───\n\n    running 1 test\n    hello\n    test tests::bad ... FAILED\n\n    failures:\n\n    failures:\n        tests::bad\n\n    test result: FAILED. 0 passed; 1 failed; finished in 0.35s\n\n  stderr ───\n\n    thread 'tests::bad' (7880) panicked at src/lib.rs:11:35:\n    assertion `left == right` failed\n      left: 1\n     right: 2\n    note: run with `RUST_BACKTRACE=1` environment variable\n\n        PASS [   0.009s] (2/3) small tests::good\n        SKIP [         ] (───) small tests::skipped\n────────────\n     Summary [   0.365s] 2 tests run: 1 passed, 1 failed, 1 skipped\nerror: test run failed\n";
    let results = read(&CheckOutput { stderr, ..CheckOutput::default() }, 100).unwrap();
    assert_eq!([results.passed, results.failed, results.skipped, results.errors], [1, 1, 1, 0]);
    assert_eq!(results.seconds, Some(0.365));
    let bad = &results.cases[0];
    assert_eq!((bad.name.as_str(), bad.id.as_str()), ("small tests::bad", "tests::bad"));
    assert_eq!(bad.message, "assertion `left == right` failed\n  left: 1\n right: 2");
    assert_eq!((bad.output.as_str(), bad.seconds, bad.line), ("hello", Some(0.032), Some(11)));
}

#[test]
fn nothing_to_run_and_nothing_built() {
    assert_eq!(
        read(&CheckOutput { stderr: "error: no tests to run\n", ..CheckOutput::default() }, 4)
            .unwrap()
            .total(),
        0
    );
    let broken =
        read(&CheckOutput { stderr: "error[E0308]: mismatched\n", ..CheckOutput::default() }, 101)
            .unwrap();
    assert_eq!(broken.errors, 1);
}
