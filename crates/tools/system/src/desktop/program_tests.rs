#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::time::Instant;

use tempfile::TempDir;

use super::super::tests::desktop;
use super::*;

fn here() -> DesktopEnv {
    desktop(&[("PATH", &std::env::var("PATH").unwrap()), ("DISPLAY", ":7"), ("TOKEN", "secret")])
}

fn context() -> ToolContext {
    ToolContext::bare("/")
}

fn shell<'a>(desktop: &'a DesktopEnv, script: &str) -> DesktopProgram<'a> {
    DesktopProgram::new(desktop, "sh").unwrap().args(["-c", script])
}

#[tokio::test]
async fn bytes_go_in_and_come_out_as_they_are() {
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
    let (desktop, cx) = (here(), context());
    let cat = DesktopProgram::new(&desktop, "cat").unwrap().input(bytes.clone()).output(4_000_000);
    let ended = cat.run(&cx).await.unwrap();
    assert!(ended.success);
    assert!(ended.output == bytes, "{} bytes came out", ended.output.len());
}

#[tokio::test]
async fn what_stays_in_the_background_is_not_waited_for() {
    let (desktop, cx) = (here(), context());
    // It keeps all three streams open for longer than the timeout.
    let ended = shell(&desktop, "sleep 300 & echo $!").output(100).run(&cx).await.unwrap();
    let pid = String::from_utf8(ended.output).unwrap();
    assert!(Path::new("/proc").join(pid.trim()).exists() || !cfg!(target_os = "linux"));
    let killed = Command::new("kill").arg(pid.trim()).status().unwrap();
    assert!(killed.success());
}

#[tokio::test]
async fn a_program_that_does_not_end_is_ended() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("pid");
    let script = format!("echo $$ >'{0}.new'; mv '{0}.new' '{0}'; exec sleep 300", file.display());
    for cancelled in [false, true] {
        let _ = fs::remove_file(&file);
        let (desktop, mut cx) = (here(), context());
        let cancel = cx.cancel.clone();
        if !cancelled {
            cx.deadline = Some(Instant::now() + Duration::from_millis(300));
        }
        let (script, at) = (script.clone(), file.clone());
        let watch = async {
            while cancelled && !at.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            if cancelled {
                cancel.cancel();
            }
        };
        let (ended, ()) = tokio::join!(shell(&desktop, &script).run(&cx), watch);
        let kind = if cancelled { ErrorKind::Cancelled } else { ErrorKind::Timeout };
        assert_eq!(ended.unwrap_err().kind(), kind);
        if let Ok(pid) = fs::read_to_string(&file) {
            assert!(!Path::new("/proc").join(pid.trim()).exists());
        }
    }
}

#[tokio::test]
async fn too_much_is_an_error_and_not_memory() {
    let (desktop, cx) = (here(), context());
    let endless = DesktopProgram::new(&desktop, "yes").unwrap().output(1 << 20);
    assert_eq!(endless.run(&cx).await.unwrap_err().kind(), ErrorKind::Limit);
}

#[tokio::test]
async fn a_failure_is_told_in_the_programs_words() {
    let (desktop, cx) = (here(), context());
    let ended = shell(&desktop, "echo no >&2; echo luck >&2; exit 3").run(&cx).await.unwrap();
    let error = ended.require_success().unwrap_err();
    assert_eq!(error.message(), "sh failed: no luck");
    let silent = shell(&desktop, "exit 1").run(&cx).await.unwrap().failure();
    assert_eq!(silent.message(), "sh failed: no error message");
    let missing = DesktopProgram::new(&desktop, "no-such-program").unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn input_may_be_left_unread() {
    let (desktop, cx) = (here(), context());
    let ended = shell(&desktop, "exit 0").input(vec![0; 1 << 20]).run(&cx).await.unwrap();
    assert!(ended.success);
    let nothing = shell(&desktop, "cat").output(10).run(&cx).await.unwrap();
    assert_eq!(nothing.output, b"");
}

#[tokio::test]
async fn programs_do_not_see_secrets_nor_the_folder() {
    let (desktop, cx) = (here(), context());
    let script = "echo $DISPLAY.$TOKEN.$ADDED; pwd";
    let program = shell(&desktop, script).env("ADDED", "x").output(1_000);
    assert_eq!(program.run(&cx).await.unwrap().output, b":7..x\n/\n");
}
