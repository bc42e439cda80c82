//! `hermes sandbox overlays`: changes of commands in the caches of package
//! managers.

use std::fs;
use std::path::{Path, PathBuf};

use hermes::sandbox::OverlayStore;
use insta::assert_snapshot;

use crate::context::{TestContext, assert_fields};

/// An overlay of `~/.npm` with a new and a changed file; the home is the parent
/// of the working directory.
fn npm(context: &TestContext) -> PathBuf {
    overlay(context, &context.work(), ".npm")
}

fn overlay(context: &TestContext, workspace: &Path, name: &str) -> PathBuf {
    let workspace = fs::canonicalize(workspace).expect("a workspace");
    let store = OverlayStore::new(context.home().join("sandbox/overlays"));
    let kept = store.ensure(&workspace, context.root(), Path::new(name)).expect("an overlay");
    let own = context.root().join(name);
    fs::create_dir_all(&own).expect("a directory");
    fs::write(own.join("old.txt"), "old").expect("a file");
    fs::create_dir(kept.join("upper/lib")).expect("a directory");
    fs::write(kept.join("upper/old.txt"), "changed").expect("a file");
    fs::write(kept.join("upper/lib/new.js"), "x".repeat(2_300)).expect("a file");
    own
}

fn overlays<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [&["sandbox", "overlays"][..], words].concat()
}

#[test]
fn without_overlays_there_is_nothing_to_do() {
    let context = TestContext::new();
    for words in [&["list"][..], &["diff"], &["apply"], &["discard", "--yes"]] {
        let run = context.run(overlays(words)).succeeds();
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", "No overlays.\n"), "{words:?}");
    }
    let shown = context.run(overlays(&["list", "--json"])).succeeds().json();
    assert_eq!(shown["overlays"], serde_json::json!([]));
    context.run(overlays(&["diff", "npm"])).exits(1);
}

#[test]
fn overlays_are_listed_with_sizes() {
    let context = TestContext::new();
    npm(&context);
    let other = context.root().join("other");
    fs::create_dir(&other).expect("a directory");
    overlay(&context, &other, ".cargo");
    let run = context.run(overlays(&["list"])).succeeds().silent();
    let words: Vec<&str> = run.stdout.split_whitespace().take(5).collect();
    assert_eq!(words, ["npm", "2", "kB", "2", "files"], "{}", run.stdout);
    assert!(run.stdout.trim_end().ends_with("/.npm"), "{}", run.stdout);
    let all = context.run(overlays(&["list", "--all", "--json"])).succeeds().json();
    let all = all["overlays"].as_array().expect("a list");
    assert_eq!(all.len(), 2);
    for overlay in all {
        let fields = ["workspace", "name", "target", "store", "files", "bytes", "modified"];
        assert_fields(overlay, &fields);
    }
    let path = other.display().to_string();
    let run = context.run(overlays(&["list", "--workspace", &path])).succeeds();
    assert!(run.stdout.starts_with("cargo "), "{}", run.stdout);
    context.run(overlays(&["list", "--workspace", &path, "--all"])).exits(2);
    let run = context.run(overlays(&["diff", "npmm"])).exits(1);
    assert!(run.stderr.contains("Did you mean 'npm'?"), "{}", run.stderr);
}

#[test]
fn a_diff_shows_what_would_be_applied() {
    let context = TestContext::new();
    npm(&context);
    let run = context.run(overlays(&["diff"])).succeeds();
    let shown = run.transcript().replace(&context.root().display().to_string(), "[ROOT]");
    assert_snapshot!(shown, @r"
    exit 0
    --- stdout
    npm ([ROOT]/.npm)
      added    lib/new.js
      changed  old.txt
    --- stderr
    ");
    let reported = context.run(overlays(&["diff", "npm", "--json"])).succeeds().json();
    let changes = &reported["overlays"][0]["changes"];
    assert_eq!(changes[0], serde_json::json!({ "path": "lib/new.js", "kind": "added" }));
}

#[test]
fn changes_are_applied_only_when_somebody_agrees() {
    let context = TestContext::new();
    let own = npm(&context);
    let run = context.run(overlays(&["apply"])).exits(2);
    assert!(run.stderr.contains("--yes"), "{}", run.stderr);
    assert!(!own.join("lib").exists());
    if let Some(command) = context.script("exec \"$HERMES\" sandbox overlays apply") {
        let run = context.finish(command, b"n\n").exits(1);
        assert!(run.stdout.contains("1 added, 1 changed to"), "{}", run.stdout);
        assert!(!own.join("lib").exists());
    }
    let run = context.run(overlays(&["apply", "--yes"])).succeeds();
    assert_eq!(run.stderr, "npm: 2 written, 0 deleted.\n");
    assert_eq!(fs::read_to_string(own.join("old.txt")).expect("text"), "changed");
    assert!(own.join("lib/new.js").exists());
    // Applied changes are removed from the overlay.
    assert_eq!(context.run(overlays(&["list"])).succeeds().stderr, "No overlays.\n");
}

#[test]
fn what_cannot_be_applied_is_told_and_stays() {
    let context = TestContext::new();
    let own = npm(&context);
    let shown = context.run(overlays(&["list", "--json"])).succeeds().json();
    let store = PathBuf::from(shown["overlays"][0]["store"].as_str().expect("a path"));
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o4755);
    fs::set_permissions(store.join("upper/lib/new.js"), mode).expect("a mode");
    let run = context.run(overlays(&["apply", "npm", "-y"])).exits(1);
    assert!(run.stderr.contains("set-uid"), "{}", run.stderr);
    assert!(own.join("lib/new.js").exists());
    assert!(context.run(overlays(&["list"])).succeeds().stdout.starts_with("npm"));
}

#[test]
fn changes_are_discarded_and_the_users_files_stay() {
    let context = TestContext::new();
    let own = npm(&context);
    context.run(overlays(&["discard", "npm"])).exits(2);
    let shown = context.run(overlays(&["discard", "npm", "--yes", "--json"])).succeeds().json();
    assert_eq!(shown["overlays"][0]["name"], "npm");
    assert_eq!(fs::read_to_string(own.join("old.txt")).expect("text"), "old");
    assert!(!own.join("lib").exists());
    assert_eq!(fs::read_dir(context.home().join("sandbox/overlays")).expect("a store").count(), 0);
}
