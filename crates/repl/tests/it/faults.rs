use std::fs;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{Confinement, ErrorKind};
use hermes_repl::{ReplLanguage, ReplLimits, ReplStatus};

use crate::bench::{Bench, is_alive};

const PYTHON: ReplLanguage = ReplLanguage::Python;

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_is_told_and_the_next_call_starts_anew() {
    let bench = Bench::new();
    bench.value(PYTHON, "x = 1").await;
    let code = "import os, sys, subprocess\nsubprocess.Popen(['sleep', '600'])\nprint('last words', file=sys.stderr)\nos.abort()";
    let answer = bench.answer(PYTHON, code).await;
    assert_eq!(answer.status, ReplStatus::Ended, "{answer:?}");
    assert!(answer.notes.concat().contains("signal 6 (aborted)"), "{answer:?}");
    assert!(answer.stderr.text.contains("last words"), "{answer:?}");
    assert_eq!(bench.value(PYTHON, "'x' in globals()").await, "False");
    // An interpreter that ends between two calls is reported, too.
    let pid: i32 = bench.value(PYTHON, "import os; os.getpid()").await.parse().unwrap();
    bench.answer(ReplLanguage::Bash, &format!("kill -KILL {pid}")).await;
    while is_alive(pid.unsigned_abs()) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let answer = bench.answer(PYTHON, "1").await;
    assert_eq!(answer.status, ReplStatus::Ok, "{answer:?}");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_does_not_listen_is_ended() {
    let bench =
        Bench::with(ReplLimits { grace: Duration::from_millis(500), ..ReplLimits::default() });
    let code = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('deaf')\nwhile True: time.sleep(1)";
    let mut ask = bench.ask(PYTHON, code);
    ask.timeout = Some(Duration::from_secs(2));
    let answer = bench.try_ask(ask).await.unwrap();
    assert_eq!(answer.status, ReplStatus::Ended, "{answer:?}");
    assert_eq!(answer.stdout.text, "deaf\n");
    assert!(answer.notes.concat().contains("state is lost"), "{answer:?}");
    assert_eq!(bench.value(PYTHON, "2").await, "2");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interpreter_that_nobody_uses_is_ended() {
    let bench = Bench::with(ReplLimits {
        idle_timeout: Duration::from_millis(400),
        ..ReplLimits::default()
    });
    let pid: u32 = bench.value(PYTHON, "import os; os.getpid()").await.parse().unwrap();
    // A busy interpreter is not idle.
    assert_eq!(
        bench.value(PYTHON, "import time; time.sleep(1); os.getpid()").await,
        pid.to_string()
    );
    while is_alive(pid) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    while !bench.all.list(bench.cx.session.id()).is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let answer = bench.answer(PYTHON, "3").await;
    assert!(answer.notes.concat().contains("idle for 0.4 s"), "{answer:?}");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_bounded_and_the_state_kept() {
    let bench = Bench::with(ReplLimits { memory: Some(300 << 20), ..ReplLimits::default() });
    bench.value(PYTHON, "x = 4").await;
    let answer = bench.answer(PYTHON, "b = bytearray(1 << 30)").await;
    assert_eq!(answer.error.unwrap().kind, "MemoryError");
    assert_eq!(bench.value(PYTHON, "x").await, "4");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interpreter_without_memory_says_so_and_goes_on() {
    let bench = Bench::with(ReplLimits { memory: Some(150 << 20), ..ReplLimits::default() });
    bench.value(PYTHON, "x = 4").await;
    let fill = "i = 0\nl = []\nwhile True:\n    i += 1\n    l.append(str(i) * 3)";
    // Also if it is full already.
    for code in [fill, "while True:\n    i += 1\n    l.append(str(i) * 3)"] {
        let answer = bench.answer(PYTHON, code).await;
        assert_eq!(answer.status, ReplStatus::Error, "{answer:?}");
        let note = answer.notes.concat();
        assert!(note.contains("(150 MiB)") && note.contains("action=reset"), "{note}");
        let error = answer.error.unwrap();
        assert_eq!(error.kind, "MemoryError");
        assert!(error.traceback.contains("line"), "it can be shown: {error:?}");
    }
    bench.value(PYTHON, "del l").await;
    assert_eq!(bench.value(PYTHON, "len(bytearray(50 << 20)) + x").await, "52428804");
    // What a function held is free again.
    let inner = "def fill():\n    l = []\n    while True: l.append(bytearray(1 << 20))\nfill()";
    assert_eq!(bench.answer(PYTHON, inner).await.error.unwrap().kind, "MemoryError");
    assert_eq!(bench.value(PYTHON, "len(bytearray(50 << 20)) + x").await, "52428804");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_to_one_take_turns_and_calls_to_others_do_not() {
    let bench = Bench::new();
    bench.value(PYTHON, "n = 0").await;
    let add = "import time\nm = n; time.sleep(0.2); n = m + 1";
    tokio::join!(bench.answer(PYTHON, add), bench.answer(PYTHON, add), bench.answer(PYTHON, add));
    assert_eq!(bench.value(PYTHON, "n").await, "3");
    // Each waits for the other: one after the other would never end.
    let meet = |name: &str, own: &str, other: &str| {
        let mut ask = bench.ask(PYTHON, &format!(
            "import os, time\nopen('{own}', 'w').close()\nwhile not os.path.exists('{other}'): time.sleep(0.01)\n'met'"
        ));
        ask.name = name.to_owned();
        ask
    };
    let (a, b) = tokio::join!(
        bench.try_ask(meet("a", "one", "two")),
        bench.try_ask(meet("b", "two", "one"))
    );
    assert_eq!(a.unwrap().value.unwrap().text, "'met'");
    assert_eq!(b.unwrap().value.unwrap().text, "'met'");
    let names: Vec<String> =
        bench.all.list(bench.cx.session.id()).into_iter().map(|one| one.session).collect();
    assert_eq!(names, ["a", "b", "main"]);
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_only_so_many() {
    let bench = Bench::with(ReplLimits { sessions: 1, ..ReplLimits::default() });
    bench.value(ReplLanguage::Bash, "true").await;
    let error = bench.try_ask(bench.ask(PYTHON, "1")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.hint().contains("bash main"), "{error:?}");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_come_at_once_do_not_get_around_the_limit() {
    let bench = Bench::with(ReplLimits { sessions: 2, ..ReplLimits::default() });
    let ask = |name: &str| {
        let mut ask = bench.ask(ReplLanguage::Bash, "true");
        ask.name = name.to_owned();
        bench.try_ask(ask)
    };
    let (a, b, c, d) = tokio::join!(ask("a"), ask("b"), ask("c"), ask("d"));
    let (well, refused): (Vec<_>, Vec<_>) = [a, b, c, d].into_iter().partition(Result::is_ok);
    assert_eq!((well.len(), refused.len()), (2, 2), "{refused:?}");
    assert!(refused.into_iter().all(|one| one.unwrap_err().kind() == ErrorKind::Limit));
    let running: Vec<String> =
        bench.all.list(bench.cx.session.id()).into_iter().map(|one| one.session).collect();
    let [first, _] = running.as_slice() else { panic!("{running:?}") };
    // A terminated interpreter has no claim to its slot if another took it.
    bench.all.close(bench.cx.session.id(), ReplLanguage::Bash, first).await.unwrap();
    ask("e").await.unwrap();
    assert_eq!(ask(first).await.unwrap_err().kind(), ErrorKind::Limit);
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_goes_away_stops_its_code() {
    let bench = Bench::new();
    bench.value(PYTHON, "x = 6").await;
    let begun = bench.path().join("begun");
    let ask = bench.ask(PYTHON, "open('begun', 'w').close()\nimport time; time.sleep(600)");
    tokio::select! {
        answer = bench.try_ask(ask) => panic!("{answer:?}"),
        () = async {
            while !begun.exists() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        } => {}
    }
    assert_eq!(bench.value(PYTHON, "x").await, "6");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_runs_on_when_all_are_closed() {
    let bench = Bench::new();
    let code = "import subprocess; [subprocess.Popen(['sleep', '600'], start_new_session=True).pid for _ in range(2)]";
    let text = bench.value(PYTHON, code).await;
    let pids: Vec<u32> =
        text.trim_matches(['[', ']']).split(", ").map(|pid| pid.parse().unwrap()).collect();
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    bench.close().await;
    assert!(!pids.iter().any(|pid| is_alive(*pid)), "{pids:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_become_narrower_count_at_once() {
    let mut bench = Bench::new();
    let held = Confinement {
        read: vec!["/".into()],
        write: vec![bench.path().to_owned()],
        ..Confinement::default()
    };
    bench.cx.confinement = Some(Arc::new(held.clone()));
    fs::write(bench.path().join("old"), "secret").unwrap();
    let first = bench.try_ask(bench.ask(PYTHON, "x = 1; open('a', 'w').write('text')")).await;
    if let Err(error) = &first
        && error.message().contains("cannot be confined")
    {
        eprintln!("skipped: {error}");
        return;
    }
    assert_eq!(first.unwrap().value.unwrap().text, "4");
    let outside = tempfile::tempdir().unwrap();
    let code = format!("open({:?}, 'w')", outside.path().join("b"));
    // A sealed directory is a read-only file system.
    let refused = bench.answer(PYTHON, &code).await.error.unwrap();
    assert!(["PermissionError", "OSError"].contains(&refused.kind.as_str()), "{refused:?}");
    let secret = bench.path().join("old");
    bench.cx.confinement = Some(Arc::new(Confinement { hidden: vec![secret], ..held }));
    let answer = bench.answer(PYTHON, "open('old').read()").await;
    assert!(answer.notes.concat().contains("narrowed"), "{answer:?}");
    assert_eq!(answer.status, ReplStatus::Error, "{answer:?}");
    assert!(fs::read_dir(outside.path()).unwrap().next().is_none());
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_to_be_ends_an_interpreter_only_if_it_is_secret() {
    let mut bench = Bench::new();
    let held = Confinement {
        read: vec!["/".into()],
        write: vec![bench.path().to_owned()],
        ..Confinement::default()
    };
    bench.cx.confinement = Some(Arc::new(held.clone()));
    if let Err(error) = bench.try_ask(bench.ask(PYTHON, "x = 1")).await
        && error.message().contains("cannot be confined")
    {
        eprintln!("skipped: {error}");
        return;
    }
    let [settings, secret] = ["settings", ".env"].map(|name| bench.path().join(name));
    tokio::time::sleep(Duration::from_millis(20)).await;
    fs::write(&settings, "a").unwrap();
    fs::write(&secret, "a").unwrap();
    if fs::metadata(&secret).unwrap().created().is_err() {
        eprintln!("skipped: the file system does not know when a file was made");
        return;
    }
    let held = Confinement { read_only: vec![settings], ..held };
    bench.cx.confinement = Some(Arc::new(held.clone()));
    assert_eq!(bench.value(PYTHON, "x").await, "1", "nothing was lost");
    bench.cx.confinement = Some(Arc::new(Confinement { hidden: vec![secret.clone()], ..held }));
    let answer = bench.answer(PYTHON, "x").await;
    let note = answer.notes.concat();
    assert!(note.contains(&format!("{} is protected", secret.display())), "{note}");
    assert_eq!(answer.error.unwrap().kind, "NameError");
    bench.close().await;
}
