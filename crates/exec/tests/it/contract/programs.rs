//! What a program is given, and what comes back.

use std::os::unix::ffi::OsStringExt as _;
use std::sync::Arc;

use hermes_exec::output::OutputStream;
use hermes_exec::{ProcessExit, StdioMode};

use super::Scene;

pub(super) async fn streams_come_together_in_order(scene: Arc<Scene>) {
    let script = "i=0; while [ $i -lt 50 ]; do echo out$i; echo err$i >&2; i=$((i+1)); done";
    let outcome = scene.run(scene.sh(script)).await;
    let expected: String = (0..50).map(|i| format!("out{i}\nerr{i}\n")).collect();
    assert_eq!(outcome.text(), expected);
}

pub(super) async fn streams_come_apart(scene: Arc<Scene>) {
    let mut spec = scene.sh("echo out; echo err >&2; echo more");
    spec.output = StdioMode::Separate;
    let job = scene.start(spec).await;
    scene.finish(&job).await;
    let of = |source| job.log().stream_summary(source, 1000).text;
    assert_eq!(of(OutputStream::Stdout).trim_end(), "out\nmore");
    assert_eq!(of(OutputStream::Stderr).trim_end(), "err");
}

pub(super) async fn an_end_has_its_code(scene: Arc<Scene>) {
    for code in [0, 1, 2, 42, 125, 126, 127, 255] {
        let outcome = scene.run(scene.sh(&format!("exit {code}"))).await;
        assert_eq!((outcome.exit, outcome.text().as_str()), (ProcessExit::Code(code), ""));
    }
}

pub(super) async fn an_end_by_a_signal_is_told(scene: Arc<Scene>) {
    for signal in [9, 15] {
        let outcome = scene.run(scene.sh(&format!("kill -{signal} $$; sleep 60"))).await;
        assert_eq!(outcome.exit.code(), 128 + signal, "{outcome:?}");
    }
}

pub(super) async fn it_begins_in_its_folder(scene: Arc<Scene>) {
    let outcome = scene.run(scene.sh("pwd; mkdir 'a b\n\"c'")).await;
    assert_eq!(outcome.text().trim_end(), scene.dir.to_str().unwrap());
    let mut spec = scene.sh("pwd");
    spec.directory = scene.dir.join("a b\n\"c");
    let expected = format!("{}\n", spec.directory.display());
    assert_eq!(scene.run(spec).await.text(), expected);
}

pub(super) async fn the_environment_is_what_was_ordered(scene: Arc<Scene>) {
    let mut spec = scene.sh("echo \"${HOME-none} ${new_one-none} ${HERMES_JOB:+marked}\"");
    spec.environment.remove(std::ffi::OsStr::new("HOME"));
    spec.environment.insert("new_one".into(), "here".into());
    let outcome = scene.run(spec).await;
    // Some shells look their home up again.
    let text = outcome.text();
    assert!(text.ends_with(" here marked\n"), "{text:?}");
}

pub(super) async fn odd_values_arrive_as_they_are(scene: Arc<Scene>) {
    let values: [&[u8]; 6] =
        [b"", b"it's \"quoted\" $HOME `x` \\", b"two\nlines\n\n", b" lead", b"\xff\xfe\x01", b"*"];
    for value in values {
        let mut spec = scene.sh("printf '<%s>' \"$odd\"");
        spec.environment.insert("odd".into(), std::ffi::OsString::from_vec(value.to_vec()));
        assert_eq!(scene.run(spec).await.all, [b"<", value, b">"].concat());
    }
}

pub(super) async fn odd_words_arrive_as_they_are(scene: Arc<Scene>) {
    let words = ["-n", "", "a b", "it's", "$HOME", "x\ny\n", "\\n", "~", "*", "--"];
    let mut spec = scene.spec("sh", &["-c", "printf '<%s>' \"$@\"", "sh"]);
    spec.arguments.extend(words.map(Into::into));
    spec.arguments.push(std::ffi::OsString::from_vec(b"\xff\x80".to_vec()));
    let mut expected: Vec<u8> = words.map(|word| format!("<{word}>")).concat().into();
    expected.extend_from_slice(b"<\xff\x80>");
    assert_eq!(scene.run(spec).await.all, expected);
}

pub(super) async fn much_output_arrives_whole(scene: Arc<Scene>) {
    const SIZE: u64 = 50_000_000;
    let script = "yes 0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM | head -c 50000000";
    let job = scene.start(scene.sh(script)).await;
    scene.finish_within(&job, 100).await;
    let log = job.log();
    assert_eq!((log.len(), log.lost_bytes()), (SIZE, 0));
    let line = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM\n";
    for at in [0, 20_000_000, SIZE - 50] {
        assert_eq!(log.read_from(at, 50).bytes, line);
    }
}

pub(super) async fn bytes_that_are_no_text_arrive(scene: Arc<Scene>) {
    let outcome = scene.run(scene.sh("printf '\\377\\376a\\000b\\r\\n\\200'")).await;
    assert_eq!(outcome.all, b"\xff\xfea\0b\r\n\x80");
}

pub(super) async fn a_last_line_needs_no_end(scene: Arc<Scene>) {
    assert_eq!(scene.run(scene.sh("printf 'no end'")).await.text(), "no end");
}

pub(super) async fn much_to_say_arrives(scene: Arc<Scene>) {
    let mut spec = scene.sh("echo ${#one} ${#two} ${#three} $#; printf '%s' \"$5\"");
    spec.arguments.push("sh".into());
    for name in ["one", "two", "three"] {
        spec.environment.insert(name.into(), "v\n".repeat(50_000).into());
    }
    let words = (0..5).map(|at| "'".repeat(100_000 + at).into());
    spec.arguments.extend(words);
    let text = scene.run(spec).await.text();
    assert!(text.starts_with("100000 100000 100000 5\n'''"), "{}", &text[..100.min(text.len())]);
    assert_eq!(text.len(), 23 + 100_004);
}

pub(super) async fn a_missing_folder_is_told(scene: Arc<Scene>) {
    let mut spec = scene.sh("echo ran");
    spec.directory = scene.dir.join("no such folder");
    is_told(&scene, spec, "ran").await;
}

pub(super) async fn a_missing_program_is_told(scene: Arc<Scene>) {
    let spec = scene.spec("no-such-program-at-all", &["ran"]);
    is_told(&scene, spec, "never").await;
}

/// Either it does not start, or it ends as a shell would have it.
async fn is_told(scene: &Scene, spec: hermes_exec::CommandSpec, never: &str) {
    match scene.try_start(spec).await {
        Ok(job) => {
            let outcome = scene.finish(&job).await;
            assert!([126, 127].contains(&outcome.exit.code()), "{outcome:?}");
            assert!(outcome.text().contains("no"), "{outcome:?}");
            assert!(!outcome.text().starts_with(never), "{outcome:?}");
        }
        Err(error) => {
            assert_eq!(error.kind(), hermes_core::ErrorKind::NotFound, "{}", error.message());
        }
    }
}
