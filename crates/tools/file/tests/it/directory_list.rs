use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use hermes_core::{Effect, Grants, Scope, ToolContext};
use serde_json::{Value, json};

use crate::harness::{Place, check_examples, tool};

fn paths(result: &Value) -> Vec<&str> {
    let entries = result["entries"].as_array().unwrap_or_else(|| panic!("{result}"));
    entries.iter().map(|entry| entry["path"].as_str().unwrap()).collect()
}

fn project() -> Place {
    let place = Place::new();
    place.write("src/lib.rs", "// lib\n");
    place.write("src/tools/a.rs", "a");
    place.write("Cargo.toml", "[package]\n");
    place.write("a.md", "");
    place.write(".env", "X=1\n");
    place
}

#[tokio::test]
async fn examples_hold() {
    check_examples("directory_list").await;
}

#[tokio::test]
async fn one_level_with_folders_first() {
    let place = project();
    let result = place.call("directory_list", json!({})).await;
    let expected = json!({
        "path": place.path().to_string_lossy(),
        "entries": [
            {"path": "src", "type": "dir"},
            {"path": "Cargo.toml", "type": "file", "size": 10},
            {"path": "a.md", "type": "file", "size": 0},
        ],
        "total": 3,
        "totals": {"files": 2, "dirs": 1, "bytes": 10},
        "truncated": false,
    });
    assert_eq!(result, expected);
    let effects = place.effects("directory_list", json!({}));
    assert_eq!(effects, [Effect::path(Scope::FILE_READ, place.path())]);
}

#[tokio::test]
async fn deeper_levels_come_after_near_ones() {
    let result = project().call("directory_list", json!({"depth": 3})).await;
    assert_eq!(
        paths(&result),
        ["src", "Cargo.toml", "a.md", "src/tools", "src/lib.rs", "src/tools/a.rs"]
    );
}

#[tokio::test]
async fn patterns_match_names_or_paths() {
    let place = project();
    for (pattern, expected) in [
        ("*.rs", vec!["src/lib.rs", "src/tools/a.rs"]),
        ("src/*.rs", vec!["src/lib.rs"]),
        ("**/a.*", vec!["a.md", "src/tools/a.rs"]),
        ("t*", vec!["src/tools"]),
        ("src/", vec!["src"]),
        ("*/", vec!["src", "src/tools"]),
        ("a.md/", vec![]),
        ("!*.rs", vec!["src", "Cargo.toml", "a.md", "src/tools"]),
        ("!src", vec!["Cargo.toml", "a.md"]),
        ("!src/tools/", vec!["src", "Cargo.toml", "a.md", "src/lib.rs"]),
    ] {
        let result = place.call("directory_list", json!({"depth": 5, "pattern": pattern})).await;
        assert_eq!(paths(&result), expected, "{pattern}");
        assert_eq!(result["total"], expected.len());
    }
    let wrong = place.call("directory_list", json!({"pattern": "a[", "depth": 2})).await;
    assert_eq!(wrong["kind"], "invalid_arguments");
}

#[tokio::test]
async fn hidden_and_ignored_entries_show_when_asked() {
    let place = project();
    fs::create_dir_all(place.path().join(".git/objects")).unwrap();
    place.write(".gitignore", "target/\n*.log\n");
    place.write("target/out", "");
    place.write("build.log", "");
    let plain = place.call("directory_list", json!({})).await;
    assert_eq!(paths(&plain), ["src", "Cargo.toml", "a.md"]);
    let hidden = place.call("directory_list", json!({"hidden": true, "depth": 2})).await;
    assert!(paths(&hidden).contains(&".env") && paths(&hidden).contains(&".git"));
    assert!(!paths(&hidden).contains(&".git/objects"));
    let all = place.call("directory_list", json!({"gitignore": false, "depth": 2})).await;
    assert!(paths(&all).contains(&"target/out") && paths(&all).contains(&"build.log"));
    let inside = place.call("directory_list", json!({"path": "target"})).await;
    assert_eq!(paths(&inside), ["out"]);
}

#[tokio::test]
async fn a_folder_that_only_looks_empty_is_explained() {
    let place = Place::new();
    let empty = place.call("directory_list", json!({})).await;
    assert_eq!((&empty["total"], empty.get("hint")), (&json!(0), None));
    place.write(".env", "");
    let hidden = place.call("directory_list", json!({})).await;
    assert_eq!(hidden["total"], 0);
    assert!(hidden["hint"].as_str().unwrap().contains("hidden=true"));
}

#[tokio::test]
async fn a_cut_list_keeps_the_total() {
    let place = Place::new();
    for number in 0..30 {
        place.write(&format!("f{number:02}"), "");
    }
    let result = place.call("directory_list", json!({"limit": 4})).await;
    assert_eq!(paths(&result), ["f00", "f01", "f02", "f03"]);
    assert_eq!((&result["total"], &result["truncated"]), (&json!(30), &json!(true)));
    assert_eq!(result["next_offset"], 4);
    assert!(result["hint"].as_str().unwrap().starts_with("1 to 4 of 30 shown"), "{result}");
}

#[tokio::test]
async fn sizes_and_times_order_the_list() {
    let place = Place::new();
    for (name, size, age) in [("small", 1, 10), ("large", 300, 30), ("middle", 20, 20)] {
        let path = place.write(name, "x".repeat(size));
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 - age);
        fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }
    let by_size = place.call("directory_list", json!({"sort": "size"})).await;
    assert_eq!(paths(&by_size), ["large", "middle", "small"]);
    assert!(by_size["entries"][0].get("modified").is_none());
    let by_time = place.call("directory_list", json!({"sort": "modified"})).await;
    assert_eq!(paths(&by_time), ["small", "middle", "large"]);
    assert_eq!(by_time["entries"][0]["modified"], "2023-11-14T22:13:10Z");
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_shown_and_not_followed() {
    use std::os::unix::fs::symlink;
    let place = project();
    symlink("..", place.path().join("src/up")).unwrap();
    symlink("src", place.path().join("shortcut")).unwrap();
    let result = place.call("directory_list", json!({"depth": 10})).await;
    assert_eq!(result["total"], 8);
    let entries = result["entries"].as_array().unwrap();
    let up = entries.iter().find(|entry| entry["path"] == "src/up").unwrap();
    assert_eq!(up, &json!({"path": "src/up", "type": "symlink", "target": ".."}));
    let through = place.call("directory_list", json!({"path": "shortcut"})).await;
    assert_eq!(paths(&through), ["tools", "lib.rs", "up"]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn odd_names_and_special_files_are_listed() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    fs::write(place.path().join(OsStr::from_bytes(b"caf\xE9.txt")), "x").unwrap();
    place.write("two\nlines", "");
    let made = std::process::Command::new("mkfifo").arg(place.path().join("pipe")).status();
    assert!(made.unwrap().success());
    let result = place.call("directory_list", json!({})).await;
    let address = format!("file://{}/caf%E9.txt", place.path().display());
    assert_eq!(
        result["entries"],
        json!([
            {"path": address, "type": "file", "size": 1},
            {"path": "pipe", "type": "other"},
            {"path": "two\nlines", "type": "file", "size": 0},
        ])
    );
}

#[tokio::test]
async fn files_and_missing_folders_are_explained() {
    let place = project();
    let file = place.call("directory_list", json!({"path": "a.md"})).await;
    assert_eq!(file["kind"], "invalid_arguments");
    assert!(file["hint"].as_str().unwrap().contains("read_file"));
    let missing = place.call("directory_list", json!({"path": "scr"})).await;
    assert_eq!(
        (&missing["kind"], &missing["similar_folders"]),
        (&json!("not_found"), &json!(["src"]))
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn special_files_and_broken_links_are_explained() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    let _socket = std::os::unix::net::UnixListener::bind(place.path().join("socket")).unwrap();
    symlink("round", place.path().join("round")).unwrap();
    symlink("gone", place.path().join("dangling")).unwrap();
    for (path, kind, says) in [
        ("socket", "invalid_arguments", "is a socket, not a directory"),
        ("/dev/null", "invalid_arguments", "is a device, not a directory"),
        ("round", "invalid_arguments", "round is a symlink that leads back to itself"),
        ("round/below", "invalid_arguments", "round is a symlink that leads back to itself"),
        ("dangling", "not_found", "a symlink to gone"),
    ] {
        let error = place.call("directory_list", json!({"path": path})).await;
        assert_eq!(error["kind"], kind, "{error}");
        assert!(error["error"].as_str().unwrap().contains(says), "{error}");
        assert!(!error["hint"].as_str().unwrap().contains("read_file"), "{error}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_closed_folder_below_does_not_spoil_the_list() {
    use std::os::unix::fs::PermissionsExt;
    let place = project();
    let closed = place.path().join("src/tools");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let may_read = fs::read_dir(&closed).is_ok();
    let result = place.call("directory_list", json!({"depth": 3})).await;
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(paths(&result).contains(&"src/lib.rs"));
    // The superuser reads everything.
    let expected = if may_read { Value::Null } else { json!(["src/tools"]) };
    assert_eq!(result["unreadable"], expected);
}

#[tokio::test]
async fn a_cancelled_call_stops() {
    let place = project();
    let cx = ToolContext::bare(place.path());
    cx.cancel.cancel();
    let call = tool("directory_list").bind(&json!({})).unwrap();
    assert_eq!(call.run(cx).await.unwrap_err().kind().name(), "cancelled");
}

#[tokio::test]
async fn pages_of_a_large_folder_meet() {
    let place = Place::new();
    for number in 0..2500 {
        place.write(&format!("d/{number}"), "x".repeat(number % 5));
    }
    for sort in ["name", "size", "modified"] {
        let mut seen = Vec::new();
        let mut offset = json!(0);
        while !offset.is_null() {
            let arguments = json!({"path": "d", "limit": 700, "offset": offset, "sort": sort});
            let page = place.call("directory_list", arguments).await;
            let totals = json!({"files": 2500, "dirs": 0, "bytes": 5000});
            assert_eq!((&page["total"], &page["totals"]), (&json!(2500), &totals));
            seen.extend(paths(&page).into_iter().map(str::to_owned));
            offset = page["next_offset"].clone();
        }
        assert_eq!(seen.len(), 2500, "{sort}");
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 2500, "{sort}");
    }
    let beyond = place.call("directory_list", json!({"path": "d", "offset": 2500})).await;
    assert_eq!((paths(&beyond), &beyond["truncated"]), (vec![], &json!(false)));
    assert!(beyond["hint"].as_str().unwrap().contains("only 2500"));
}

#[tokio::test]
async fn totals_count_every_level() {
    let result = project().call("directory_list", json!({"depth": 3, "limit": 1})).await;
    assert_eq!(result["totals"], json!({"files": 4, "dirs": 2, "bytes": 18}));
    assert_eq!((&result["total"], &result["truncated"]), (&json!(6), &json!(true)));
}

#[tokio::test]
async fn folders_are_added_up_when_asked() {
    let place = Place::new();
    place.write("big/a", "x".repeat(100));
    place.write("big/deep/.hidden", "x".repeat(50));
    place.write("big/deep/.ignore", "*.log\n");
    place.write("big/deep/er/a.log", "x".repeat(1000));
    place.write("small/a", "x");
    place.write("file", "x".repeat(120));
    fs::hard_link(place.path().join("big/a"), place.path().join("big/again")).unwrap();
    std::os::unix::fs::symlink("../file", place.path().join("small/link")).unwrap();
    let arguments = json!({"folder_sizes": true, "sort": "size"});
    let result = place.call("directory_list", arguments).await;
    assert_eq!(
        result["entries"],
        json!([
            {"path": "file", "type": "file", "size": 120},
            {"path": "big", "type": "dir", "size": 100},
            {"path": "small", "type": "dir", "size": 1},
        ])
    );
    // The bytes of the matching files, not of everything below.
    assert_eq!(result["totals"]["bytes"], 120);
    // The size of a directory is that of its listing.
    fs::remove_file(place.path().join("big/again")).unwrap();
    for more in [json!({}), json!({"hidden": true}), json!({"hidden": true, "gitignore": false})] {
        let call = |mut arguments: Value| {
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            place.call("directory_list", arguments)
        };
        let sized = call(json!({"folder_sizes": true, "pattern": "big"})).await;
        let listed = call(json!({"path": "big", "depth": 9})).await;
        assert_eq!(sized["entries"][0]["size"], listed["totals"]["bytes"], "{more}");
    }
}

#[tokio::test]
async fn when_time_is_up_the_list_says_so() {
    let place = project();
    let mut cx = ToolContext::bare(place.path());
    cx.deadline = Some(Instant::now());
    let call = tool("directory_list").bind(&json!({})).unwrap();
    let output = call.run(cx).await.unwrap();
    let result: Value = serde_json::from_str(output.content()).unwrap();
    assert_eq!((&result["total_is_exact"], &result["truncated"]), (&json!(false), &json!(true)));
    assert!(result["hint"].as_str().unwrap().contains("Time was up"));
}

#[tokio::test]
async fn what_is_veiled_is_not_looked_into() {
    let place = project();
    place.write("keys/id", "secret");
    let mut cx = ToolContext::bare(place.path());
    let hides = |_: &Scope, real: &Path| real.ends_with("keys");
    cx.grants = Arc::new(Grants::allow_all().with_exceptions(Arc::new(hides)));
    let arguments = json!({"depth": 3, "pattern": "{keys,id}", "folder_sizes": true});
    let output = tool("directory_list").bind(&arguments).unwrap().run(cx).await.unwrap();
    let result: Value = serde_json::from_str(output.content()).unwrap();
    assert_eq!(result["entries"], json!([{"path": "keys", "type": "dir"}]));
}

#[tokio::test]
async fn a_folder_of_git_that_is_not_looked_into_is_told() {
    let place = project();
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    let list = |more: Value| {
        let mut arguments = json!({"hidden": true});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        place.call("directory_list", arguments)
    };
    for more in [json!({"folder_sizes": true}), json!({"depth": 2})] {
        let result = list(more).await;
        assert!(result["hint"].as_str().unwrap().contains("gitignore=false"), "{result}");
    }
    assert_eq!(list(json!({})).await.get("hint"), None);
    let result = list(json!({"folder_sizes": true, "gitignore": false})).await;
    assert_eq!(result.get("hint"), None, "{result}");
}
