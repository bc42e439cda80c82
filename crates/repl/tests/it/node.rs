use std::fs;
use std::time::Duration;

use hermes_repl::{ReplLanguage, ReplStatus};

use crate::bench::{Bench, has};

const NODE: ReplLanguage = ReplLanguage::Javascript;

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_before_is_known() {
    if !has("node") {
        return;
    }
    let bench = Bench::new();
    assert_eq!(bench.value(NODE, "const x = 1; let y = 2").await, "");
    assert_eq!(bench.value(NODE, "const x = 5; x + y").await, "7");
    assert_eq!(
        bench.value(NODE, "await new Promise((done) => setTimeout(() => done(x), 5))").await,
        "5"
    );
    assert_eq!(bench.value(NODE, "_ * 2").await, "10");
    assert_eq!(bench.value(NODE, "{ a: [1, 'two'] }").await, "{ a: [ 1, 'two' ] }");
    assert_eq!(bench.value(NODE, "class A { z = 1 }; new A()").await, "A { z: 1 }");
    assert_eq!(
        bench.value(NODE, "[NaN, -0, 10n, null, Symbol('s')]").await,
        "[ NaN, -0, 10n, null, Symbol(s) ]"
    );
    assert_eq!(bench.value(NODE, "12345678901234567890n").await, "12345678901234567890n");
    assert_eq!(bench.value(NODE, "null").await, "null");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn modules_are_imported_as_in_a_module() {
    if !has("node") {
        return;
    }
    let bench = Bench::new();
    fs::write(bench.path().join("own.mjs"), "export default 6; export const seven = 7;").unwrap();
    let code = "import path, { join as glue } from 'path'\nimport * as fs from 'node:fs'\n\
                import {\n  seven,\n} from './own.mjs';\nimport six from \"./own.mjs\"\n\
                [glue('a', 'b'), typeof path.join, typeof fs.statSync, six, seven]";
    assert_eq!(bench.value(NODE, code).await, "[ 'a/b', 'function', 'function', 6, 7 ]");
    let code =
        "const text = `import('x')`; const own = await import('./own.mjs'); [text, own.seven]";
    assert_eq!(bench.value(NODE, code).await, "[ \"import('x')\", 7 ]");
    assert_eq!(bench.value(NODE, "require('os').EOL").await, "'\\n'");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_names_the_line() {
    if !has("node") {
        return;
    }
    let bench = Bench::new();
    let answer =
        bench.answer(NODE, "function f() {\n  throw new TypeError('no')\n}\nlet z = 3\nf()").await;
    assert_eq!(answer.status, ReplStatus::Error);
    let error = answer.error.unwrap();
    assert_eq!(
        (error.kind.as_str(), error.message.as_str(), error.line),
        ("TypeError", "no", Some(2))
    );
    assert!(error.traceback.contains("at f (repl-1.js:2"), "{}", error.traceback);
    assert!(!error.traceback.contains("node:"), "{}", error.traceback);
    assert_eq!(bench.value(NODE, "z").await, "3");
    let error = bench.answer(NODE, "let ok = 1;\nlet = = 2").await.error.unwrap();
    assert_eq!((error.kind.as_str(), error.line), ("SyntaxError", Some(2)), "{error:?}");
    let error = bench.answer(NODE, "await Promise.reject('plain')").await.error.unwrap();
    assert_eq!(error.message, "'plain'");
    let answer = bench.answer(NODE, "setTimeout(() => { throw new Error('late') }, 0); 1").await;
    assert_eq!(answer.status, ReplStatus::Ok);
    // It may come with this result or with the next.
    let first = answer.stderr.text;
    let answer = bench.answer(NODE, "await new Promise((done) => setTimeout(done, 50)); 2").await;
    assert!((first + &answer.stderr.text).contains("Error: late"), "{answer:?}");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_arrives_and_nobody_can_type() {
    if !has("node") {
        return;
    }
    let bench = Bench::new();
    let code = "console.log('one'); console.error('two'); require('fs').writeSync(1, 'three\\n');\
                require('child_process').execSync('echo four >&2; echo five', { stdio: 'inherit' }); 6";
    let answer = bench.answer(NODE, code).await;
    assert_eq!(answer.stdout.text, "one\nthree\nfive\n");
    assert_eq!(answer.stderr.text, "two\nfour\n");
    let code = "const rl = require('readline/promises').createInterface({ input: process.stdin });\n\
                await rl.question('Name? ')";
    let error = bench.answer(NODE, code).await.error.unwrap();
    assert!(error.message.contains("Standard input is not available"), "{error:?}");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_takes_too_long_is_stopped_and_the_state_kept() {
    if !has("node") {
        return;
    }
    let bench = Bench::new();
    bench.value(NODE, "const kept = 7").await;
    for code in ["while (true) {}", "await new Promise(() => {})"] {
        let mut ask = bench.ask(NODE, code);
        ask.timeout = Some(Duration::from_millis(700));
        let answer = bench.try_ask(ask).await.unwrap();
        assert_eq!(answer.status, ReplStatus::Timeout, "{code}: {answer:?}");
        assert_eq!(bench.value(NODE, "kept").await, "7", "{code}");
    }
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn types_are_taken_out_where_that_can_be_done() {
    if !has("node") {
        return;
    }
    let bench = Bench::new();
    if let Some(packages) = std::env::var_os("HERMES_TEST_CODE_NODE") {
        std::os::unix::fs::symlink(packages, bench.path().join("node_modules")).unwrap();
    }
    let mut ask =
        bench.ask(NODE, "interface P { x: number }\nconst p: P = { x: 4 }; p.x as number");
    ask.typescript = true;
    let answer = bench.try_ask(ask).await.unwrap();
    match answer.error {
        Some(error) => {
            assert_eq!(error.kind, "Unavailable", "{error:?}");
            assert!(error.message.contains("typescript"), "{error:?}");
            eprintln!("skipped: {}", error.message);
        }
        None => assert_eq!(answer.value.unwrap().text, "4"),
    }
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_character_stops_nothing() {
    if !has("node") {
        return;
    }
    let bench = Bench::new();
    let answer = bench.answer(NODE, "let x = 1; throw new Error('😀'[0])").await;
    assert_eq!(answer.status, ReplStatus::Error, "{answer:?}");
    assert!(answer.error.unwrap().message.contains('\u{fffd}'));
    // Long texts are cut between any two halves.
    for lead in ["", "a"] {
        let code = format!("'{lead}' + '😀'.repeat(50_000)");
        assert!(bench.value(NODE, &code).await.contains("characters left out"));
    }
    assert_eq!(bench.value(NODE, "x").await, "1");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_declared_again_with_whatever_word() {
    if !has("node") {
        return;
    }
    let bench = Bench::new();
    let words = [
        ("const", "const z = '@';\n", "z"),
        ("let", "let z = '@';\n", "z"),
        ("var", "var z = '@';\n", "z"),
        ("function", "function z(a, b = {}) { return '@'; }\n[1].length;", "z()"),
        ("async", "async function z() { return '@'; }\n", "await z()"),
        ("class", "class z { static a = '@'; }\n(1);", "z.a"),
        ("pattern", "const { y, z } = { y: 1, z: '@' };\n", "z"),
        ("await", "const z = await Promise.resolve('@');\n", "z"),
    ];
    for (first, before, read_before) in words {
        for (second, after, read) in words {
            let code = before.replace('@', first);
            let set = bench.answer(NODE, &code).await;
            assert_eq!(set.status, ReplStatus::Ok, "{second} before, then {code}: {set:?}");
            assert_eq!(bench.value(NODE, read_before).await, format!("'{first}'"), "{code}");
            let code = after.replace('@', second);
            let set = bench.answer(NODE, &code).await;
            assert_eq!(set.status, ReplStatus::Ok, "{first}, then {code}: {set:?}");
            assert_eq!(
                bench.value(NODE, read).await,
                format!("'{second}'"),
                "{first}, then {code}"
            );
        }
    }
    let twice = bench.answer(NODE, "let q = 1;\nlet q = 2").await;
    assert_eq!(twice.status, ReplStatus::Error, "{twice:?}");
    let inner = bench
        .answer(NODE, "globalThis.runs = (globalThis.runs || 0) + 1;\neval('let w; let w')")
        .await;
    assert_eq!(inner.status, ReplStatus::Error, "{inner:?}");
    assert_eq!(bench.value(NODE, "runs").await, "1");
    bench.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_has_used_up_its_memory_says_so() {
    let bench = Bench::new();
    // As Node does it, without exhausting the memory of the machine.
    let code = "process.stderr.write('FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\\n'); process.abort()";
    let answer = bench.answer(ReplLanguage::Javascript, code).await;
    assert_eq!(answer.status, ReplStatus::Ended, "{answer:?}");
    assert!(answer.notes.concat().contains("ran out of memory"), "{answer:?}");
    bench.close().await;
}
