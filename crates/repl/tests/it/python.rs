use std::fs;
use std::time::Duration;

use hermes_repl::{InterruptOutcome, ReplLanguage, ReplStatus};

use crate::bench::Bench;

const PYTHON: ReplLanguage = ReplLanguage::Python;

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_before_is_known() {
    let bench = Bench::new();
    assert_eq!(bench.value(PYTHON, "x = [1, 2]").await, "");
    assert_eq!(bench.value(PYTHON, "x.append(3)\nx").await, "[1, 2, 3]");
    assert_eq!(bench.value(PYTHON, "_ + [4]").await, "[1, 2, 3, 4]");
    assert_eq!(bench.value(PYTHON, "def f(a):\n    return a * 2\n\nf('ab')").await, "'abab'");
    assert_eq!(bench.value(PYTHON, "None").await, "");
    assert_eq!(bench.value(PYTHON, "__name__, f.__module__").await, "('__main__', '__main__')");
    let answer = bench.answer(PYTHON, "{'a': 1}").await;
    assert_eq!(answer.value.unwrap().kind, "dict");
    assert_eq!(
        bench.value(PYTHON, "import os; os.getcwd()").await,
        format!("{:?}", bench.path()).replace('"', "'")
    );
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_is_written_arrives_apart_from_the_value() {
    let bench = Bench::new();
    let code = r#"
import os, subprocess, sys
print("one")
os.write(1, b"two\n")
subprocess.run(["sh", "-c", "echo three; echo four >&2"])
sys.stdout.buffer.write(b"\x1e\xff\x00five\n")
print("six", file=sys.stderr)
os.system("echo seven")
"end"
"#;
    let answer = bench.answer(PYTHON, code).await;
    assert_eq!(answer.value.unwrap().text, "'end'");
    for word in ["one", "two", "three", "five", "seven"] {
        assert!(answer.stdout.text.contains(word), "{word}: {:?}", answer.stdout);
    }
    assert_eq!(answer.stderr.text, "four\nsix\n");
    // What is written later comes with the next answer.
    bench.value(PYTHON, "p = subprocess.Popen(['sh', '-c', 'sleep 0.2; echo later'])").await;
    let answer = bench.answer(PYTHON, "p.wait()").await;
    assert_eq!(answer.stdout.text, "later\n");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_names_the_line_and_spares_the_rest() {
    let bench = Bench::new();
    fs::write(bench.path().join("mine.py"), "def g():\n    return {}['key']\n").unwrap();
    let code = "import mine, json\ndef f():\n    return mine.g()\ny = 5\nf()";
    let answer = bench.answer(PYTHON, code).await;
    assert_eq!(answer.status, ReplStatus::Error);
    let error = answer.error.unwrap();
    assert_eq!(
        (error.kind.as_str(), error.message.as_str(), error.line),
        ("KeyError", "'key'", Some(3))
    );
    for part in ["line 5, in <module>", "f()", "line 3, in f", "mine.py\", line 2, in g"] {
        assert!(error.traceback.contains(part), "{part}: {}", error.traceback);
    }
    assert!(!error.traceback.contains("hermes>"), "{}", error.traceback);
    assert_eq!(bench.value(PYTHON, "y").await, "5", "what ran before the error stays");
    let answer = bench.answer(PYTHON, "json.loads('{')").await;
    let error = answer.error.unwrap();
    assert_eq!(error.line, Some(1));
    assert!(error.traceback.contains("frames in json]"), "{}", error.traceback);
    let error = bench.answer(PYTHON, "x = 1\nif x\n    pass").await.error.unwrap();
    assert_eq!((error.kind.as_str(), error.line), ("SyntaxError", Some(2)));
    let answer = bench.answer(PYTHON, "raise SystemExit(3)").await;
    assert!(answer.notes.concat().contains("kept"), "{answer:?}");
    assert_eq!(bench.value(PYTHON, "y").await, "5");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_there_to_type() {
    let bench = Bench::new();
    let answer = bench.answer(PYTHON, "name = input('Name? ')").await;
    let error = answer.error.unwrap();
    assert_eq!(error.kind, "EOFError");
    assert!(error.message.contains("put the value into the code"), "{error:?}");
    assert_eq!(bench.value(PYTHON, "import sys; sys.stdin.read()").await, "''");
    assert_eq!(
        bench.value(PYTHON, "import subprocess; subprocess.run('cat').returncode").await,
        "0"
    );
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_takes_too_long_is_stopped_and_the_state_kept() {
    let bench = Bench::new();
    bench.value(PYTHON, "x = 7").await;
    for code in [
        "while True: pass",
        "import time; print('begun'); time.sleep(600)",
        "import subprocess; subprocess.run(['sleep', '600'])",
        "import asyncio; await asyncio.sleep(600)",
    ] {
        let mut ask = bench.ask(PYTHON, code);
        ask.timeout = Some(Duration::from_millis(700));
        let answer = bench.try_ask(ask).await.unwrap();
        assert_eq!(answer.status, ReplStatus::Timeout, "{code}: {answer:?}");
        assert!(answer.notes.concat().contains("state is kept"), "{answer:?}");
        assert_eq!(bench.value(PYTHON, "x").await, "7", "{code}");
    }
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_else_can_interrupt() {
    let bench = Bench::new();
    bench.value(PYTHON, "x = 8").await;
    let session = bench.cx.session.id().to_owned();
    let grace = Duration::from_secs(20);
    let idle = bench.all.interrupt(&session, PYTHON, "main", grace).await.unwrap();
    assert_eq!(idle, InterruptOutcome::Idle);
    let begun = bench.path().join("begun");
    let code = "open('begun', 'w').close()\nwhile True: pass";
    let (answer, stopped) = tokio::join!(bench.answer(PYTHON, code), async {
        while !begun.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        bench.all.interrupt(&session, PYTHON, "main", grace).await.unwrap()
    });
    assert_eq!(stopped, InterruptOutcome::Stopped);
    assert_eq!(answer.status, ReplStatus::Interrupted, "{answer:?}");
    assert_eq!(bench.value(PYTHON, "x").await, "8");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn values_are_awaited_and_large_ones_bounded() {
    let bench = Bench::new();
    bench
        .value(PYTHON, "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 3")
        .await;
    assert_eq!(bench.value(PYTHON, "await f() + 1").await, "4");
    let text = bench.value(PYTHON, "list(range(10_000_000))").await;
    assert!(text.contains("(10000000 items)") && text.len() < 30_000, "{}", text.len());
    let text = bench.value(PYTHON, "'x' * 15_000 + 'y' * 15_000").await;
    assert!(text.contains("long)") && text.len() < 30_000, "{}", text.len());
    let answer = bench.answer(PYTHON, "for i in range(200_000): print('line', i)").await;
    assert!(answer.stdout.omitted_bytes > 1_000_000, "{:?}", answer.stdout.omitted_bytes);
    let text = answer.stdout.text;
    assert!(text.starts_with("line 0\n") && text.ends_with("line 199999\n"));
    let path = text.split("both streams is in ").nth(1).unwrap().split(" ...]").next().unwrap();
    let whole = fs::read_to_string(path).unwrap();
    assert!(whole.contains("line 100000\n"), "{path}");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_text_and_no_size_is_told_all_the_same() {
    let bench = Bench::new();
    let answer = bench.answer(PYTHON, "x = 1\nraise ValueError('caf\\udce9')").await;
    assert_eq!(answer.status, ReplStatus::Error, "{answer:?}");
    assert_eq!(answer.error.unwrap().message, "caf\u{fffd}");
    let code = "class Odd:\n    shape = (-1, 10 ** 40)\n    \
                def __repr__(self): return '\\ud83d!'\nOdd()";
    assert_eq!(bench.value(PYTHON, code).await, "\u{fffd}!");
    let code = "class Large:\n    def __repr__(self): return '😀' * 3_000_000\nLarge()";
    assert!(bench.value(PYTHON, code).await.contains("characters left out"));
    assert_eq!(bench.value(PYTHON, "x").await, "1", "the state is kept");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_place_of_an_error_is_below_the_code() {
    let bench = Bench::new();
    let answer = bench.answer(PYTHON, "x = 1\nx / (1 - x)").await;
    let trace = answer.error.unwrap().traceback;
    let lines: Vec<&str> = trace.lines().collect();
    let at = lines.iter().position(|line| line.contains("x / (1 - x)")).unwrap();
    // Before 3.11 nothing is marked.
    if lines[at + 1].contains('^') {
        let begin = |line: &str| line.len() - line.trim_start().len();
        assert_eq!(begin(lines[at]), begin(lines[at + 1]), "{trace}");
    }
    bench.close().await;
}
