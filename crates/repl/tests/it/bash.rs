use std::time::Duration;

use hermes_repl::{ReplLanguage, ReplStatus};

use crate::bench::Bench;

const BASH: ReplLanguage = ReplLanguage::Bash;

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_before_is_known() {
    let bench = Bench::new();
    let answer = bench
        .answer(
            BASH,
            "declare -A m=([a]=1); f() { echo \"f: $1 it's\"; }; cd /; alias hi='echo hello'",
        )
        .await;
    assert_eq!((answer.status, answer.exit_code), (ReplStatus::Ok, Some(0)), "{answer:?}");
    assert_eq!((answer.stdout.text.as_str(), answer.stderr.text.as_str()), ("", ""));
    let answer = bench.answer(BASH, "f 'x y'; echo ${m[a]}; pwd; hi; echo oops >&2; false").await;
    assert_eq!(answer.stdout.text, "f: x y it's\n1\n/\nhello\n");
    assert_eq!(answer.stderr.text, "oops\n");
    assert_eq!((answer.status, answer.exit_code), (ReplStatus::Error, Some(1)));
    assert_eq!(bench.answer(BASH, "echo $?").await.stdout.text, "1\n");
    let answer =
        bench.answer(BASH, "read x; echo \"<$x>\"; cat; echo !x; cat <<'E'\nin 'here'\nE").await;
    assert_eq!(answer.stdout.text, "<>\n!x\nin 'here'\n");
    let answer = bench.answer(BASH, "for i in").await;
    assert_eq!(answer.status, ReplStatus::Error);
    assert!(answer.stderr.text.contains("syntax error"), "{answer:?}");
    assert_eq!(bench.answer(BASH, "nonesuch-program").await.exit_code, Some(127));
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_takes_too_long_is_stopped_and_the_state_kept() {
    let bench = Bench::new();
    bench.answer(BASH, "kept=7").await;
    for code in [
        "for i in 1 2 3; do sleep 600; done; echo no",
        "f() { while :; do :; done; }; f; echo no",
        "sleep 600 | cat",
    ] {
        let mut ask = bench.ask(BASH, code);
        ask.timeout = Some(Duration::from_millis(700));
        let answer = bench.try_ask(ask).await.unwrap();
        assert_eq!(answer.status, ReplStatus::Timeout, "{code}: {answer:?}");
        assert_eq!((answer.stdout.text.as_str(), answer.stderr.text.trim()), ("", ""), "{code}");
        assert_eq!(bench.answer(BASH, "echo $kept").await.stdout.text, "7\n", "{code}");
    }
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_the_code_leads_elsewhere_does_not_disturb() {
    let bench = Bench::new();
    let answer = bench.answer(BASH, "exec >file 2>&1; echo into it").await;
    assert_eq!((answer.status, answer.stdout.text.as_str()), (ReplStatus::Ok, ""));
    let answer = bench.answer(BASH, "exec >/dev/null; exit 4").await;
    assert_eq!((answer.status, answer.exit_code), (ReplStatus::Ended, Some(4)), "{answer:?}");
    assert_eq!(bench.answer(BASH, "cat file").await.stdout.text, "into it\n");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_that_tells_what_it_does_tells_of_the_code_alone() {
    let bench = Bench::new();
    let first = bench.answer(BASH, "set -x; echo q").await;
    assert_eq!(first.stdout.text, "q\n");
    let answer = bench.answer(BASH, "echo w\necho \"it's\"").await;
    assert_eq!(answer.stdout.text, "w\nit's\n", "{answer:?}");
    assert_eq!(answer.stderr.text, "++ echo w\n++ echo 'it'\\''s'\n", "{answer:?}");
    let quiet = bench.answer(BASH, "set +x; set -v; false").await;
    assert_eq!(quiet.exit_code, Some(1), "{quiet:?}");
    let answer = bench.answer(BASH, "echo $?").await;
    assert_eq!(answer.stdout.text, "1\n", "{answer:?}");
    assert!(!answer.stderr.text.contains("hermes"), "{answer:?}");
    bench.close().await;
}
