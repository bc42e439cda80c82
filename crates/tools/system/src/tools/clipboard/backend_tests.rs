#![allow(clippy::unwrap_used)]

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::desktop::tests::{desktop, path_of};

/// The backend chosen on a desktop with these programs and variables.
fn way(
    programs: &[&str],
    variables: &[(&str, &str)],
) -> Result<BackendChoice, ClipboardUnavailable> {
    let dir = path_of(programs);
    let mut all = vec![("PATH", dir.path().to_str().unwrap())];
    all.extend(variables);
    BackendChoice::detect(&desktop(&all))
}

#[cfg(not(target_os = "macos"))]
#[test]
fn the_best_way_that_is_there_is_taken() {
    let runtime = TempDir::new().unwrap();
    fs::write(runtime.path().join("wayland-1"), "").unwrap();
    let wayland = ("WAYLAND_DISPLAY", "wayland-1");
    let place = ("XDG_RUNTIME_DIR", runtime.path().to_str().unwrap());
    let (x, tmux) = (("DISPLAY", ":7"), ("TMUX", "/tmp/tmux,1,0"));
    let all = ["wl-copy", "wl-paste", "xclip", "xsel", "tmux"];
    let backend = |programs: &[&str], variables: &[_]| way(programs, variables).unwrap().backend;

    assert_eq!(backend(&all, &[wayland, place, x, tmux]), ClipboardBackend::WlClipboard);
    assert_eq!(backend(&all[2..], &[wayland, place, x, tmux]), ClipboardBackend::Xclip);
    assert_eq!(backend(&all, &[wayland, x]), ClipboardBackend::Xclip);
    assert_eq!(backend(&["xsel"], &[x, tmux]), ClipboardBackend::Xsel);
    assert_eq!(backend(&all, &[tmux]), ClipboardBackend::Tmux);

    let fallback = way(&["tmux"], &[x, tmux]).unwrap();
    assert_eq!(fallback.backend, ClipboardBackend::Tmux);
    assert_eq!(fallback.drawback.unwrap(), "neither xclip nor xsel is installed");
}

#[cfg(not(target_os = "macos"))]
#[test]
fn what_is_missing_is_named_with_what_to_do() {
    let bare = way(&["xclip", "wl-copy", "tmux"], &[]).unwrap_err();
    assert_eq!(bare.reason, "No display: WAYLAND_DISPLAY and DISPLAY are not set");
    assert_eq!(bare.fix, "Start hermes in a desktop session, with ssh -X, or in tmux.");
    let programless = way(&[], &[("DISPLAY", ":7"), ("TMUX", "x")]).unwrap_err();
    assert_eq!(programless.reason, "Neither xclip nor xsel is installed");
    assert_eq!(programless.fix, "Install xclip.");
    let stale = way(&[], &[("WAYLAND_DISPLAY", "/nowhere/wayland-0")]).unwrap_err();
    assert_eq!(stale.reason, "No Wayland display at /nowhere/wayland-0");
}
