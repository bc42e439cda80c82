use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::AskpassHelper;

/// Calls the helper from a child process, as `sudo` does.
async fn ask(helper: std::path::PathBuf, times: usize) -> String {
    let output = tokio::task::spawn_blocking(move || {
        let lines = "\"$0\" prompt; ".repeat(times);
        let done = Command::new("sh").args(["-c", &format!("{lines} true")]).arg(helper).output();
        String::from_utf8(done.unwrap().stdout).unwrap()
    });
    output.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_is_answered_once() {
    let scratch = tempfile::tempdir().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let askpass = AskpassHelper::new(scratch.path(), move || {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Some("o'pen \"$sesame\\".to_owned()) }
    })
    .unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 0, "no helper ran");
    assert_eq!(ask(askpass.path(), 1).await, "o'pen \"$sesame\\\n");
    assert!(!askpass.was_rejected());
    assert_eq!(ask(askpass.path(), 1).await, "o'pen \"$sesame\\\n", "another one may ask");
    assert!(!askpass.was_rejected());
    assert_eq!(ask(askpass.path(), 2).await, "o'pen \"$sesame\\\n", "once is enough");
    assert!(askpass.was_rejected() && !askpass.was_missing());
    let mode = askpass.path().parent().unwrap().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "only the owner has access");
    drop(askpass);
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_password_nobody_waits() {
    let scratch = tempfile::tempdir().unwrap();
    let askpass = AskpassHelper::new(scratch.path(), || async { None }).unwrap();
    assert_eq!(ask(askpass.path(), 1).await, "");
    assert!(askpass.was_missing() && !askpass.was_rejected());
}
