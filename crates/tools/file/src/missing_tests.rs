use std::fs;

use std::sync::Arc;

use hermes_core::{Effect, Grants, Scope};
use serde_json::json;

use super::*;

fn explained(wanted: MissingKind, root: &Path, path: &str) -> Value {
    let cx = ToolContext::bare(root);
    explain_missing(wanted, &cx.working_dir.resolve(path), &cx).to_value()
}

#[test]
fn only_around_what_may_be_read_is_looked() {
    let root = tempfile::tempdir().expect("folder");
    fs::create_dir(root.path().join("src")).expect("folder");
    fs::write(root.path().join("src/main.rs"), "").expect("file");
    let mut cx = ToolContext::bare(root.path());
    for (granted, suggests) in [("src/mian.rs", true), ("src", true), ("other", false)] {
        let granted = cx.working_dir.resolve(granted);
        cx.grants = Arc::new(Grants::from_effects(&[Effect::path(Scope::FILE_READ, granted)]));
        let path = root.path().join("src/mian.rs");
        let error = explain_missing(MissingKind::File, &path, &cx).to_value();
        assert_eq!(error["kind"], "not_found");
        assert_eq!(error.get("similar_files").is_some(), suggests, "{error}");
    }
}

#[test]
fn similar_files_are_relative_to_the_working_folder() {
    let root = tempfile::tempdir().expect("folder");
    fs::create_dir(root.path().join("src")).expect("folder");
    fs::write(root.path().join("src/main.rs"), "").expect("file");
    let error = explained(MissingKind::File, root.path(), "src/mian.rs");
    assert_eq!(error["kind"], "not_found");
    assert_eq!(error["similar_files"], json!(["src/main.rs"]));
    assert!(error.get("existing_folder").is_none());
}

#[test]
fn the_same_name_is_looked_for_in_other_folders() {
    let root = tempfile::tempdir().expect("folder");
    fs::create_dir_all(root.path().join("src/deep")).expect("folder");
    fs::write(root.path().join("config.yaml"), "").expect("file");
    fs::write(root.path().join("src/deep/only.rs"), "").expect("file");
    for (path, expected) in [
        ("src/config.yaml", "config.yaml"),
        ("none/config.yaml", "config.yaml"),
        ("src/deep/config.yaml", "config.yaml"),
        ("src/only.rs", "src/deep/only.rs"),
    ] {
        let error = explained(MissingKind::File, root.path(), path);
        assert_eq!(error["similar_files"], json!([expected]), "{path}: {error}");
    }
    let error = explained(MissingKind::Directory, root.path(), "deep");
    assert_eq!(error["similar_folders"], json!(["src/deep"]), "{error}");
}

#[test]
fn a_missing_folder_is_named_and_looked_through() {
    let root = tempfile::tempdir().expect("folder");
    fs::create_dir_all(root.path().join("source/deep")).expect("folder");
    fs::write(root.path().join("source/deep/a.rs"), "").expect("file");
    fs::write(root.path().join("sourc"), "").expect("file");
    let error = explained(MissingKind::File, root.path(), "sorce/deep/a.rs");
    assert_eq!(error["similar_files"], json!(["source/deep/a.rs"]));
    assert_eq!(error["existing_folder"], json!(root.path().to_string_lossy()));
    assert!(error["error"].as_str().expect("text").ends_with("has no 'sorce')"), "{error}");
    let error = explained(MissingKind::Directory, root.path(), "sorce");
    assert_eq!(error["similar_folders"], json!(["source"]));
}

#[test]
fn a_file_in_the_middle_of_the_path_is_named() {
    let root = tempfile::tempdir().expect("folder");
    fs::write(root.path().join("a.txt"), "").expect("file");
    let error = explained(MissingKind::File, root.path(), "a.txt/b/c");
    assert!(
        error["error"].as_str().expect("text").ends_with("a.txt is not a directory)"),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn a_broken_link_is_told_from_nothing() {
    let root = tempfile::tempdir().expect("folder");
    std::os::unix::fs::symlink("gone", root.path().join("link")).expect("link");
    let error = explained(MissingKind::File, root.path(), "link");
    let text = error["error"].as_str().expect("text");
    assert!(text.ends_with("(a symlink to gone, which does not exist)"), "{error}");
    assert!(error["hint"].as_str().expect("text").starts_with("Fix the symlink"), "{error}");

    std::os::unix::fs::symlink("link", root.path().join("chain")).expect("link");
    let error = explained(MissingKind::File, root.path(), "chain");
    let end = root.path().join("gone");
    let way = format!("(a symlink to link, in the end to {}, which does not exist)", end.display());
    assert!(error["error"].as_str().expect("text").ends_with(&way), "{error}");

    let error = explained(MissingKind::File, root.path(), "link/below");
    let text = error["error"].as_str().expect("text");
    assert!(text.ends_with("link is a symlink to gone, which does not exist)"), "{error}");
}

#[test]
fn a_file_in_the_way_is_named() {
    let root = tempfile::tempdir().expect("folder");
    fs::write(root.path().join("file"), "").expect("file");
    let error = explained(MissingKind::File, root.path(), "file/below");
    assert!(
        error["error"].as_str().expect("text").ends_with("/file is not a directory)"),
        "{error}"
    );
    assert_eq!(error["hint"], "It cannot contain files; check the path.");
}
