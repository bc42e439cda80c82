//! Tools touch what they declared and were allowed, and nothing else.

use std::fs;
use std::os::unix::fs::symlink;

use hermes_core::{Effect, Grant, Grants, Scope};
use hermes_files::real_path;
use serde_json::{Value, json};

use crate::harness::Place;

fn place() -> Place {
    let place = Place::new();
    place.write("ws/a.txt", "inside\n");
    place.write("ws/sub/b.log", "b\n");
    place.write("out/secret.txt", "secret\n");
    place
}

const CALLS: [(&str, &str); 2] = [("read_file", "ws/a.txt"), ("directory_list", "ws")];

/// The declared effects, looked up as a policy does.
fn judged(place: &Place, name: &str, arguments: &Value) -> Grants {
    let effects = place.effects(name, arguments.clone());
    let grants = effects.into_iter().map(|effect| {
        let real = effect.resource.as_path().map(|path| real_path(path).unwrap());
        Grant { effect, real_path: real }
    });
    Grants::new(grants.collect())
}

#[tokio::test]
async fn nothing_granted_means_denied() {
    let place = place();
    for (name, path) in CALLS {
        let arguments = json!({"path": path});
        let elsewhere = Effect::path(Scope::FILE_READ, place.path().join("out"));
        let writes = Effect::path(Scope::FILE_WRITE, place.path());
        for grants in [
            Grants::from_effects(&[]),
            Grants::from_effects(&[elsewhere]),
            Grants::from_effects(&[writes]),
        ] {
            let refused = place.call_within(grants, name, arguments.clone()).await;
            assert_eq!(refused["kind"], "denied", "{name}: {refused}");
            assert_eq!(refused["rule"], "undeclared-effect", "{name}: {refused}");
        }
        let missing = json!({"path": "ws/none"});
        let refused = place.call_within(Grants::from_effects(&[]), name, missing).await;
        assert_eq!(refused["kind"], "denied", "{name} tells what exists: {refused}");
    }
}

#[tokio::test]
async fn the_declared_effects_are_enough() {
    let place = place();
    for (name, path) in CALLS {
        let arguments = json!({"path": path});
        let free = place.call(name, arguments.clone()).await;
        assert!(free.get("error").is_none(), "{free}");
        let unseen = Grants::from_effects(&place.effects(name, arguments.clone()));
        for grants in [unseen, judged(&place, name, &arguments)] {
            assert_eq!(place.call_within(grants, name, arguments.clone()).await, free);
        }
    }
}

#[tokio::test]
async fn a_link_that_came_after_the_judgement_is_a_conflict() {
    let place = place();
    for (name, path) in [("read_file", "ws/sub/secret.txt"), ("directory_list", "ws/sub")] {
        let arguments = json!({"path": path});
        let grants = judged(&place, name, &arguments);
        fs::rename(place.path().join("ws/sub"), place.path().join("aside")).unwrap();
        symlink("../out", place.path().join("ws/sub")).unwrap();
        let answer = place.call_within(grants, name, arguments).await;
        assert_eq!(answer["kind"], "conflict", "{answer}");
        fs::remove_file(place.path().join("ws/sub")).unwrap();
        fs::rename(place.path().join("aside"), place.path().join("ws/sub")).unwrap();
    }
}

#[tokio::test]
async fn a_missing_file_is_explained_by_its_neighbours_names() {
    let place = place();
    let arguments = json!({"path": "ws/b.txt"});
    let grants = judged(&place, "read_file", &arguments);
    let bounded = place.call_within(grants, "read_file", arguments).await;
    assert_eq!(bounded["similar_files"], json!(["ws/a.txt"]));
}

#[tokio::test]
async fn the_rules_of_the_repository_hold_in_every_folder() {
    let place = place();
    fs::create_dir_all(place.path().join("ws/.git/info")).unwrap();
    place.write("ws/.gitignore", "*.log\n!.shown\n/sub/anchored\n");
    place.write("ws/.git/info/exclude", "excluded\n");
    place.write("ws/sub/.ignore", "deep/*.tmp\n");
    for name in ["kept", "anchored", "excluded", ".shown", ".hidden", "deep/x.tmp", "deep/y"] {
        place.write(&format!("ws/sub/{name}"), "");
    }
    place.write(".gitignore", "kept\n");
    let arguments = json!({"path": "ws/sub", "depth": 3});
    let grants = judged(&place, "directory_list", &arguments);
    let listed = place.call_within(grants, "directory_list", arguments).await;
    let mut paths: Vec<_> =
        listed["entries"].as_array().unwrap().iter().map(|e| e["path"].as_str().unwrap()).collect();
    paths.sort_unstable();
    assert_eq!(paths, [".shown", "deep", "deep/y", "kept"]);
}
