#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{Grants, erase};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::desktop::tests::{Screen, all_installed, desktop, path_of};

async fn call(tool: Notification, cwd: &TempDir, arguments: Value) -> Result<Value, ToolError> {
    let bound = erase(tool).bind(&arguments)?;
    let mut cx = ToolContext::bare(cwd.path());
    cx.grants = Arc::new(Grants::from_effects(&bound.effects(&cx.working_dir)));
    let output = bound.run(cx).await?;
    Ok(serde_json::from_str(output.content()).unwrap())
}

fn silent(desktop: DesktopEnv) -> Notification {
    Notification { desktop, has_bell: false }
}

/// What the daemon has shown, once it has shown this.
async fn shown(screen: &Screen, awaited: &str) -> String {
    for _ in 0..500 {
        let text = fs::read_to_string(screen.variable("DESKTOP_NOTIFICATIONS")).unwrap();
        if text.split(awaited).nth(1).is_some_and(|rest| rest.contains("script_count")) {
            return text;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("'{awaited}' was not shown");
}

#[tokio::test]
async fn the_daemon_shows_the_words_as_they_are() {
    let Some(screen) = Screen::start(&["notify-send"]) else { return };
    let dir = TempDir::new().unwrap();
    let say =
        async |arguments: Value| call(silent(screen.desktop()), &dir, arguments).await.unwrap();
    let answer = say(json!({
        "title": "--help; $(id) `id`",
        "message": "C:\\new\\table, a < b && <b>c</b>\nline \"2\" &amp;",
        "urgency": "critical",
        "icon": "dialog-warning",
        "timeout": 7,
    }));
    assert_eq!(answer.await, json!({"delivered_by": "notify-send"}));
    let text = shown(&screen, "summary: '--help; $(id) `id`'").await;
    // dunst parses markup, so this is the text that it shows.
    let body = "C:\\new\\table, a &lt; b &amp;&amp; &lt;b&gt;c&lt;/b&gt;\nline \"2\" &amp;amp;";
    for part in [
        format!("body: '{body}'"),
        "appname: 'hermes'".to_owned(),
        "icon: 'dialog-warning'".to_owned(),
        "timeout: 7000".to_owned(),
        "urgency: CRITICAL".to_owned(),
    ] {
        assert!(text.contains(&part), "{part} is not in {text}");
    }

    fs::write(dir.path().join("my icon.png"), "x").unwrap();
    say(json!({"message": "- plain", "icon": "./my icon.png", "urgency": "low"})).await;
    let text = shown(&screen, "body: '- plain'").await;
    let real = dir.path().canonicalize().unwrap().join("my icon.png");
    for part in
        ["summary: 'hermes'", "urgency: LOW", &format!("icon: '{}'", real.to_str().unwrap())]
    {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[tokio::test]
async fn a_bus_that_nobody_answers_on_is_an_error_with_the_cause() {
    if !all_installed(&["notify-send"]) {
        return;
    }
    let dir = TempDir::new().unwrap();
    let path = std::env::var("PATH").unwrap();
    let address = format!("unix:path={}/none", dir.path().display());
    let desktop = desktop(&[("PATH", &path), ("DBUS_SESSION_BUS_ADDRESS", &address)]);
    let error = call(silent(desktop), &dir, json!({"message": "x"})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().starts_with("notify-send failed: "), "{error}");
    assert!(error.hint().contains("notification daemon"));
}

#[cfg(not(target_os = "macos"))]
#[tokio::test]
async fn without_any_way_the_reason_is_told() {
    let dir = TempDir::new().unwrap();
    let error = call(silent(desktop(&[])), &dir, json!({"message": "x"})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("DBUS_SESSION_BUS_ADDRESS is not set"));

    let programs = path_of(&[]);
    let path = programs.path().to_str().unwrap();
    let bus = desktop(&[("PATH", path), ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/x")]);
    let check = silent(bus.clone()).check().await;
    assert_eq!(check.reason(), Some("notify-send is not installed"));
    let check = Notification { desktop: bus, has_bell: true }.check().await;
    assert!(check.is_ready());
}

/// Runs on a terminal, started by the next test.
#[cfg(not(target_os = "macos"))]
#[tokio::test]
#[ignore = "needs a terminal"]
async fn rings() {
    let dir = TempDir::new().unwrap();
    let tool = Notification { desktop: desktop(&[]), ..Notification::default() };
    let arguments = json!({"message": "x", "urgency": "low"});
    eprintln!("{}", call(tool, &dir, arguments).await.unwrap());
}

#[cfg(not(target_os = "macos"))]
#[test]
fn without_a_desktop_the_bell_of_the_terminal_rings() {
    if !all_installed(&["script"]) {
        return;
    }
    let name = "tools::notification::tests::rings";
    let this = std::env::current_exe().unwrap();
    let command = format!("'{}' --exact {name} --ignored --nocapture", this.display());
    let output = Command::new("script")
        .args(["-q", "-e", "-c", &command, "/dev/null"])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains('\x07'), "{text}");
    assert!(text.contains(r#""delivered_by":"bell""#), "{text}");
    assert!(text.contains("rang the bell, the text was not shown"), "{text}");
    assert!(text.contains(r#""ignored":["urgency"]"#), "{text}");
}

#[tokio::test]
async fn what_cannot_be_shown_is_refused() {
    let dir = TempDir::new().unwrap();
    for arguments in [
        json!({}),
        json!({"message": "  "}),
        json!({"message": "a\0b"}),
        json!({"message": "x".repeat(4_001)}),
        json!({"message": "x", "title": "x".repeat(201)}),
        json!({"message": "x", "urgency": "urgent"}),
        json!({"message": "x", "timeout": -1}),
    ] {
        let error = call(silent(desktop(&[])), &dir, arguments.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArguments, "{arguments}");
    }
    let missing = json!({"message": "x", "icon": "./none.png"});
    let error = call(silent(desktop(&[])), &dir, missing).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn an_icon_of_the_theme_is_no_file() {
    let at = WorkingDir::new("/srv", None);
    let effects = |arguments: Value| -> Vec<String> {
        let bound = erase(silent(desktop(&[]))).bind(&arguments).unwrap();
        bound.effects(&at).iter().map(ToString::to_string).collect()
    };
    let show = "notification:show desktop";
    assert_eq!(effects(json!({"message": "x", "icon": "face-smile"})), [show]);
    let file = json!({"message": "x", "icon": "img/a.png"});
    assert_eq!(effects(file), [show, "file:read /srv/img/a.png"]);
    let file = json!({"message": "x", "icon": "a.PNG"});
    assert_eq!(effects(file), [show, "file:read /srv/a.PNG"]);
    let named = json!({"message": "x", "icon": "org.gnome.Terminal"});
    assert_eq!(effects(named), [show]);
}
