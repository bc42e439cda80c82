#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{ErrorKind, Grants, erase};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::desktop::tests::{Screen, all_installed, desktop, path_of};

struct Place {
    dir: TempDir,
    desktop: DesktopEnv,
    cx: ToolContext,
}

impl Place {
    fn on(desktop: DesktopEnv) -> Self {
        let dir = TempDir::new().unwrap();
        let cx = ToolContext::bare(dir.path());
        Self { dir, desktop, cx }
    }

    async fn call(&self, arguments: Value) -> Result<Value, ToolError> {
        let tool = Clipboard { desktop: self.desktop.clone() };
        let bound = erase(tool).bind(&arguments)?;
        // Restricted to its declared effects, as in the engine.
        let mut cx = self.cx.clone();
        cx.grants = Arc::new(Grants::from_effects(&bound.effects(&cx.working_dir)));
        let output = bound.run(cx).await?;
        Ok(serde_json::from_str(output.content()).unwrap())
    }

    async fn read(&self) -> String {
        let answer = self.call(json!({"action": "read"})).await.unwrap();
        answer["text"].as_str().unwrap().to_owned()
    }

    async fn fails(&self, arguments: Value) -> ToolError {
        self.call(arguments).await.unwrap_err()
    }
}

fn picture() -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02\x08\x02\0\0\0".to_vec();
    bytes.extend((0..2_000_000_u32).map(|i| (i % 253) as u8));
    bytes
}

/// Text is read back unchanged with every backend.
async fn carries_text(place: &Place, backend: &str, lines: usize) {
    assert_eq!(place.read().await, "");
    let long = "añb\n".repeat(lines);
    for text in
        ["plain", "no newline added", "ends in one\n", "日本語 \u{1f600}\t", "-o --help", &long]
    {
        let written = place.call(json!({"action": "write", "text": text})).await.unwrap();
        assert_eq!(written["bytes_written"], text.len());
        assert_eq!(written["backend"], backend);
        let read = json!({"action": "read", "limit": 100_000});
        let answer = place.call(read).await.unwrap();
        let shown: String = text.chars().take(100_000).collect();
        assert!(answer["text"] == shown.as_str(), "{} bytes", text.len());
        assert_eq!(answer["characters"], text.chars().count());
    }
    let last = 4 * lines - 1;
    let next = json!({"action": "read", "offset": last - 1, "limit": 1});
    let page = place.call(next).await.unwrap();
    assert_eq!((&page["text"], &page["next_offset"]), (&json!("b"), &json!(last)));

    let saved = place.call(json!({"action": "read", "path": "out/all.txt"})).await.unwrap();
    assert_eq!(saved["bytes"], long.len());
    assert!(fs::read_to_string(place.dir.path().join("out/all.txt")).unwrap() == long);
    fs::write(place.dir.path().join("in.txt"), "from a file").unwrap();
    place.call(json!({"action": "write", "path": "in.txt"})).await.unwrap();
    assert_eq!(place.read().await, "from a file");
}

#[tokio::test]
async fn xclip_carries_text() {
    let Some(screen) = Screen::start(&["xclip"]) else { return };
    let place = Place::on(screen.desktop());
    carries_text(&place, "xclip", 100_000).await;
    let primary = json!({"action": "read", "selection": "primary"});
    assert_eq!(place.call(primary.clone()).await.unwrap()["text"], "");
    let mark = json!({"action": "write", "selection": "primary", "text": "marked"});
    place.call(mark).await.unwrap();
    assert_eq!(place.call(primary).await.unwrap()["text"], "marked");
    assert_eq!(place.read().await, "from a file");
    let cleared = place.call(json!({"action": "clear"})).await.unwrap();
    assert_eq!(cleared, json!({"cleared": true, "backend": "xclip"}));
    assert_eq!(place.read().await, "");
}

#[tokio::test]
async fn xsel_carries_text() {
    let Some(screen) = Screen::start(&["xsel"]) else { return };
    let path = path_of(&["xsel"]);
    let place = Place::on(screen.desktop_with(path.path().to_str().unwrap()));
    carries_text(&place, "xsel", 800).await;
    place.call(json!({"action": "clear"})).await.unwrap();
    assert_eq!(place.read().await, "");
    let large = json!({"action": "write", "text": "x".repeat(4_001)});
    assert_eq!(place.fails(large).await.kind(), ErrorKind::Limit);
    let error = place.fails(json!({"action": "read", "path": "a.png"})).await;
    assert_eq!(error.message(), "xsel carries text only, no images");
}

#[tokio::test]
async fn images_go_through_files() {
    let Some(screen) = Screen::start(&["xclip"]) else { return };
    let place = Place::on(screen.desktop());
    let error = place.fails(json!({"action": "read", "path": "a.png"})).await;
    assert_eq!((error.kind(), error.message()), (ErrorKind::NotFound, "The clipboard is empty"));

    let bytes = picture();
    fs::write(place.dir.path().join("in.png"), &bytes).unwrap();
    let written = place.call(json!({"action": "write", "path": "in.png"})).await.unwrap();
    assert_eq!((&written["format"], &written["width"]), (&json!("image"), &json!(3)));
    let read = json!({"action": "read", "path": "pictures/my copy.png"});
    let saved = place.call(read).await.unwrap();
    assert_eq!((&saved["width"], &saved["height"]), (&json!(3), &json!(2)));
    assert!(fs::read(place.dir.path().join("pictures/my copy.png")).unwrap() == bytes);

    let error = place.fails(json!({"action": "read"})).await;
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.message(), "The clipboard holds no text, but image/png");

    fs::write(place.dir.path().join("fake.png"), "GIF89a").unwrap();
    let error = place.fails(json!({"action": "write", "path": "fake.png"})).await;
    assert_eq!(error.kind(), ErrorKind::InvalidArguments);
    place.call(json!({"action": "write", "text": "words"})).await.unwrap();
    let error = place.fails(json!({"action": "read", "path": "a.png"})).await;
    assert_eq!(error.message(), "The clipboard holds no PNG image, but TARGETS, UTF8_STRING");
}

/// Offers content with a custom type.
fn offer(screen: &Screen, kind: &str, what: &str) {
    let mut copy = Command::new("xclip")
        .args(["-selection", "clipboard", "-i", "-t", kind])
        .env("DISPLAY", screen.variable("DISPLAY"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut copy.stdin.take().unwrap(), what.as_bytes()).unwrap();
    assert!(copy.wait().unwrap().success());
}

#[tokio::test]
async fn what_a_password_manager_put_there_is_not_shown() {
    let Some(screen) = Screen::start(&["xclip"]) else { return };
    let place = Place::on(screen.desktop());
    offer(&screen, "x-kde-passwordManagerHint", "secret");
    // The offer takes effect once the server has processed it.
    let error = loop {
        match place.call(json!({"action": "read"})).await {
            Ok(answer) => assert_eq!(answer["text"], ""),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Denied);
    let save = json!({"action": "read", "path": "x.txt"});
    assert_eq!(place.fails(save).await.kind(), ErrorKind::Denied);
}

/// The processes of that name on that display.
#[cfg(target_os = "linux")]
fn processes(name: &str, display: &str) -> Vec<String> {
    let wanted = format!("DISPLAY={display}\0");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let is_named =
            fs::read_to_string(entry.path().join("comm")).is_ok_and(|c| c.trim() == name);
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if is_named && String::from_utf8_lossy(&environment).contains(&wanted) {
            found.push(entry.file_name().into_string().unwrap());
        }
    }
    found
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_owner_that_hangs_does_not_hang_the_call() {
    let Some(screen) = Screen::start(&["xclip"]) else { return };
    let mut place = Place::on(screen.desktop());
    place.call(json!({"action": "write", "text": "x"})).await.unwrap();
    let owners = processes("xclip", screen.variable("DISPLAY"));
    assert_eq!(owners.len(), 1);
    assert!(Command::new("kill").arg("-STOP").args(&owners).status().unwrap().success());
    place.cx.deadline = Some(Instant::now() + Duration::from_millis(500));
    let error = place.fails(json!({"action": "read"})).await;
    assert_eq!(error.kind(), ErrorKind::Timeout);
    // The process that asked has exited; only the one that hangs is left.
    assert_eq!(processes("xclip", screen.variable("DISPLAY")), owners);
    assert!(Command::new("kill").arg("-KILL").args(&owners).status().unwrap().success());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_is_left_open_and_one_program_serves() {
    let Some(screen) = Screen::start(&["xclip"]) else { return };
    let place = Place::on(screen.desktop());
    let open = || fs::read_dir("/proc/self/fd").unwrap().count();
    place.call(json!({"action": "write", "text": "first"})).await.unwrap();
    let before = open();
    for round in 0..30 {
        place.call(json!({"action": "write", "text": format!("{round}")})).await.unwrap();
    }
    // Other tests of this process have some open, but not one for each round.
    assert!(open() < before + 30);
    assert_eq!(place.read().await, "29");
    // Earlier ones exit once they lose the selection.
    while processes("xclip", screen.variable("DISPLAY")).len() > 1 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_display_that_is_gone_is_unavailable() {
    if !all_installed(&["xclip"]) {
        return;
    }
    let path = std::env::var("PATH").unwrap();
    let place = Place::on(desktop(&[("PATH", &path), ("DISPLAY", ":64999")]));
    for arguments in [json!({"action": "read"}), json!({"action": "write", "text": "x"})] {
        let error = place.fails(arguments).await;
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.message().contains("Can't open display"), "{error}");
        assert_eq!(error.hint(), "Check DISPLAY and XAUTHORITY.");
    }
}

#[tokio::test]
async fn tmux_is_used_where_there_is_no_display_and_says_so() {
    if !all_installed(&["tmux"]) {
        return;
    }
    let dir = TempDir::new().unwrap();
    let socket = dir.path().join("tmux");
    let tmux = |arguments: &[&str]| {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&socket).args(["-f", "/dev/null"]).args(arguments);
        command.env_remove("TMUX").stdin(Stdio::null());
        assert!(command.status().unwrap().success());
    };
    tmux(&["new-session", "-d", "sleep 600"]);
    let path = std::env::var("PATH").unwrap();
    let variable = format!("{},0,0", socket.display());
    let place = Place::on(desktop(&[("PATH", &path), ("TMUX", &variable)]));
    carries_text(&place, "tmux", 100_000).await;
    let answer = place.call(json!({"action": "read"})).await.unwrap();
    assert!(answer["note"].as_str().unwrap().contains("no display"));
    place.call(json!({"action": "clear"})).await.unwrap();
    assert_ne!(place.read().await, "from a file");
    let primary = json!({"action": "read", "selection": "primary"});
    assert_eq!(place.fails(primary).await.message(), "tmux has no primary selection");
    tmux(&["kill-server"]);
    let error = place.fails(json!({"action": "read"})).await;
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[cfg(not(target_os = "macos"))]
#[tokio::test]
async fn without_a_desktop_the_reason_is_told() {
    let place = Place::on(desktop(&[]));
    let error = place.fails(json!({"action": "read"})).await;
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("WAYLAND_DISPLAY and DISPLAY are not set"));
    assert!(error.hint().contains("tmux"));
    let check = Clipboard { desktop: desktop(&[]) }.check().await;
    assert_eq!(check.reason(), Some("No display: WAYLAND_DISPLAY and DISPLAY are not set"));
}

#[tokio::test]
async fn arguments_that_make_no_sense_are_refused() {
    let place = Place::on(desktop(&[]));
    for arguments in [
        json!({"action": "write"}),
        json!({"action": "write", "text": "x", "path": "y"}),
        json!({"action": "write", "text": "x", "format": "image"}),
        json!({"action": "read", "text": "x"}),
        json!({"action": "read", "format": "image"}),
        json!({"action": "clear", "text": "x"}),
        json!({"action": "clear", "path": "x"}),
        json!({"action": "paste"}),
        json!({"action": "read", "selection": "secondary"}),
        json!({}),
    ] {
        let error = place.fails(arguments.clone()).await;
        assert_eq!(error.kind(), ErrorKind::InvalidArguments, "{arguments}");
    }
}

#[test]
fn the_files_are_effects_too() {
    let at = WorkingDir::new("/srv", None);
    let effects = |arguments: Value| -> Vec<String> {
        let bound = erase(Clipboard::default()).bind(&arguments).unwrap();
        bound.effects(&at).iter().map(ToString::to_string).collect()
    };
    let (read, write) = ("clipboard:read clipboard", "clipboard:write clipboard");
    assert_eq!(effects(json!({"action": "read"})), [read]);
    let save = json!({"action": "read", "path": "a.png"});
    assert_eq!(effects(save), [read, "file:write /srv/a.png"]);
    let copy = json!({"action": "write", "path": "a.png"});
    assert_eq!(effects(copy), [write, "file:read /srv/a.png"]);
    assert_eq!(effects(json!({"action": "clear"})), [write]);
}

/// Uses the real Wayland display, so it only runs on request.
#[tokio::test]
#[ignore = "needs WAYLAND_DISPLAY, and overwrites its clipboard"]
async fn wl_clipboard_carries_text_and_images() {
    let place = Place::on(DesktopEnv::default());
    place.call(json!({"action": "clear"})).await.unwrap();
    carries_text(&place, "wl-clipboard", 100_000).await;
    let mark = json!({"action": "write", "selection": "primary", "text": "marked"});
    place.call(mark).await.unwrap();
    let primary = json!({"action": "read", "selection": "primary"});
    assert_eq!(place.call(primary).await.unwrap()["text"], "marked");
    let bytes = picture();
    fs::write(place.dir.path().join("in.png"), &bytes).unwrap();
    place.call(json!({"action": "write", "path": "in.png"})).await.unwrap();
    place.call(json!({"action": "read", "path": "out.png"})).await.unwrap();
    assert!(fs::read(place.dir.path().join("out.png")).unwrap() == bytes);
    let error = place.fails(json!({"action": "read"})).await;
    assert_eq!(error.message(), "The clipboard holds no text, but image/png");
    place.call(json!({"action": "clear"})).await.unwrap();
    assert_eq!(place.read().await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_read_where_commands_run() {
    let there = TempDir::new().unwrap();
    fs::write(there.path().join("note.txt"), "from there").unwrap();
    let backend = Arc::new(hermes_testkit::backends::PathMappedBackend::new(there.path()));
    let own = TempDir::new().unwrap();
    let jobs = hermes_exec::JobRegistry::new(backend, own.path().join("jobs"));
    let mut cx = ToolContext::bare(own.path());
    cx.ports = Arc::new(hermes_core::Ports::new().with(Arc::new(jobs)));
    let source = request::ClipboardInput::File("/behind/note.txt".into());
    let (bytes, _) = source.bytes(ClipboardFormat::Text, &cx).await.unwrap();
    assert_eq!(bytes, b"from there");
}
