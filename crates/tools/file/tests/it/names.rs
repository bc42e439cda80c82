//! Names that are not UTF-8: tools accept the names that other tools report.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::Place;

/// A place with one file whose name and directory are not UTF-8.
fn odd() -> (Place, PathBuf) {
    let place = Place::new();
    let dir = place.path().join(OsStr::from_bytes(b"d\xE9 1"));
    fs::create_dir(&dir).unwrap();
    let file = dir.join(OsStr::from_bytes(b"caf\xE9\n%41.txt"));
    fs::write(&file, "one\ntwo\n").unwrap();
    (place, file)
}

/// The path argument for that file.
fn address(place: &Place) -> Value {
    json!(format!("file://{}/d%E9%201/caf%E9%0A%2541.txt", place.path().display()))
}

async fn content(place: &Place, path: &Value) -> Value {
    let read = place.call("read_file", json!({"path": path})).await;
    assert_eq!(&read["path"], path, "{read}");
    read["content"].clone()
}

#[tokio::test]
async fn what_search_files_finds_can_be_read() {
    let (place, _) = odd();
    for arguments in [
        json!({"pattern": "two"}),
        json!({"pattern": "two", "output_mode": "files_only"}),
        json!({"pattern": "*.txt", "target": "files"}),
        json!({"pattern": "caftxt", "target": "fuzzy"}),
    ] {
        let found = place.call("search_files", arguments.clone()).await;
        let first =
            if found["files"].is_null() { &found["matches"][0] } else { &found["files"][0] };
        let path = if first.is_string() { first } else { &first["path"] };
        assert_eq!(path, &address(&place), "{arguments}: {found}");
        assert!(first.get("positions").is_none(), "{found}");
        assert_eq!(content(&place, path).await, "1|one\n2|two");
    }
    let counted = json!({"pattern": "o", "output_mode": "count"});
    let counted = place.call("search_files", counted).await;
    assert_eq!(counted["counts"][address(&place).as_str().unwrap()], 2);
}

#[tokio::test]
async fn search_files_looks_where_directory_list_says() {
    let (place, _) = odd();
    let listed = place.call("directory_list", json!({})).await;
    let dir = listed["entries"][0]["path"].clone();
    assert!(dir.as_str().unwrap().starts_with("file:///"), "{listed}");
    let found = place.call("search_files", json!({"pattern": "two", "path": dir})).await;
    assert_eq!(found["matches"][0]["path"], address(&place), "{found}");
    let within = place.call("directory_list", json!({"path": dir})).await;
    assert_eq!((&within["path"], &within["total"]), (&dir, &json!(1)));
    let file = within["entries"][0]["path"].clone();
    assert_eq!(content(&place, &file).await, "1|one\n2|two");
    let in_file = place.call("search_files", json!({"pattern": "two", "path": file})).await;
    assert_eq!(in_file["matches"][0]["path"], file, "{in_file}");
}

#[tokio::test]
async fn what_read_file_read_can_be_written() {
    let (place, file) = odd();
    let path = address(&place);
    content(&place, &path).await;
    let arguments = json!({"path": path, "content": "one\n2\n"});
    let written = place.call("write_file", arguments).await;
    assert_eq!((&written["resolved_path"], &written["files_modified"][0]), (&path, &path));
    // As git would write it.
    let diff = written["diff"].as_str().unwrap();
    assert!(diff.starts_with("--- \"a/d\\351 1/caf\\351\\n%41.txt\"\n"), "{diff}");
    assert_eq!(fs::read_to_string(file).unwrap(), "one\n2\n");
    assert_eq!(content(&place, &written["resolved_path"]).await, "1|one\n2|2");
}

#[tokio::test]
async fn folders_that_write_file_makes_are_told_in_a_way_that_leads_there() {
    let (place, _) = odd();
    let path = format!("file://{}/n%FF/x", place.path().display());
    let written = place.call("write_file", json!({"path": path, "content": "x\n"})).await;
    let dir = written["dirs_created"][0].clone();
    let listed = place.call("directory_list", json!({"path": dir})).await;
    assert_eq!(listed["entries"][0]["path"], "x", "{written} {listed}");
}

#[tokio::test]
async fn what_file_diff_names_can_be_compared_by_itself() {
    let (place, file) = odd();
    let other = place.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join(file.file_name().unwrap()), "one\n2\n").unwrap();
    let old = format!("file://{}/d%E9%201", place.path().display());
    let dirs = place.call("file_diff", json!({"path": old, "other_path": "other"})).await;
    let new = dirs["files"][0]["path"].clone();
    assert!(new.as_str().unwrap().ends_with("/other/caf%E9%0A%2541.txt"), "{dirs}");
    let arguments = json!({"path": address(&place), "other_path": new});
    let files = place.call("file_diff", arguments).await;
    assert_eq!((&files["added_lines"], &files["removed_lines"]), (&json!(1), &json!(1)));
    assert_eq!(files["old"]["name"], address(&place));
    assert_eq!(content(&place, &new).await, "1|one\n2|2");
}

#[tokio::test]
async fn what_is_suggested_for_a_missing_file_can_be_read() {
    let (place, _) = odd();
    let wrong = address(&place).as_str().unwrap().replace("caf", "cfa");
    let missing = place.call("read_file", json!({"path": wrong})).await;
    assert!(missing["error"].as_str().unwrap().contains(&wrong), "{missing}");
    assert_eq!(content(&place, &missing["similar_files"][0]).await, "1|one\n2|two");
}

#[tokio::test]
async fn what_search_files_finds_can_be_patched() {
    let (place, file) = odd();
    let found = place.call("search_files", json!({"pattern": "two"})).await;
    let path = found["matches"][0]["path"].clone();
    let arguments = json!({"path": path, "old_string": "two", "new_string": "2"});
    let patched = place.call("patch", arguments).await;
    assert_eq!(patched["files_modified"][0], path, "{patched}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n2\n");
    // The name in the diff can be used as a path.
    let written = place.call("write_file", json!({"path": path, "content": "1\n2\n"})).await;
    fs::write(&file, "one\n2\n").unwrap();
    let again = place.call("patch", json!({"patch": written["diff"]})).await;
    assert_eq!(again["files_modified"][0], path, "{again}");
}

#[tokio::test]
async fn what_directory_list_shows_can_be_packed_and_unpacked() {
    let (place, _) = odd();
    let listed = place.call("directory_list", json!({})).await;
    let dir = listed["entries"][0]["path"].clone();
    let archive = format!("file://{}/n%FF.tar", place.path().display());
    let arguments = json!({"action": "create", "archive": archive, "paths": [dir]});
    let packed = place.call("file_compress", arguments).await;
    assert_eq!(packed["archive"], archive, "{packed}");
    let arguments = json!({"action": "extract", "archive": archive, "target": "out"});
    let unpacked = place.call("file_compress", arguments).await;
    assert!(unpacked.get("error").is_none(), "{unpacked}");
    let found = place.call("search_files", json!({"pattern": "two", "path": "out"})).await;
    assert_eq!(content(&place, &found["matches"][0]["path"]).await, "1|one\n2|two");
}

#[tokio::test]
async fn what_a_zip_was_made_of_can_be_read() {
    let (place, _) = odd();
    for paths in [json!(["."]), json!([place.path().to_str().unwrap()])] {
        let arguments = json!({
            "action": "create", "archive": "../odd.zip", "paths": paths, "existing": "overwrite"
        });
        let mut packed = place.call("file_compress", arguments).await;
        assert!(packed.get("skipped").is_none(), "{packed}");
        let paths = packed["paths"].as_array_mut().unwrap();
        paths.retain(|path| path.as_str().unwrap().ends_with(".txt"));
        assert_eq!(content(&place, &paths[0]).await, "1|one\n2|two");
    }
    fs::remove_file(place.path().join("../odd.zip")).unwrap();
}

#[tokio::test]
async fn what_file_watch_saw_can_be_read() {
    let (place, file) = odd();
    let cx = hermes_core::ToolContext::bare(place.path());
    let watch = async |arguments: Value| -> Value {
        let call = crate::harness::tool("file_watch").bind(&arguments).unwrap();
        serde_json::from_str(call.run(cx.clone()).await.unwrap().content()).unwrap()
    };
    let before = watch(json!({"timeout": 0})).await;
    fs::write(file, "one\ntwo\nthree\n").unwrap();
    let seen = watch(json!({"timeout": 60, "since": before["cursor"]})).await;
    let path = &seen["events"][0]["path"];
    assert_eq!(path, &address(&place), "{seen}");
    assert_eq!(content(&place, path).await, "1|one\n2|two\n3|three");
}

#[tokio::test]
async fn a_slash_at_the_end_asks_for_a_folder() {
    let place = Place::new();
    let file = place.write("a.txt", "one\n");
    let packed = json!({"action": "create", "archive": "a.zip", "paths": ["a.txt"]});
    assert_eq!(place.call("file_compress", packed).await["files"], 1);
    let change = json!({"path": "a.txt/", "old_string": "one", "new_string": "two"});
    let update = "*** Begin Patch\n*** Update File: a.txt/\n@@\n-one\n+two\n*** End Patch";
    let add = "*** Begin Patch\n*** Add File: new/\n+one\n*** End Patch";
    for (tool, arguments) in [
        ("read_file", json!({"path": "a.txt/"})),
        ("read_file", json!({"path": "a.txt/."})),
        ("read_file", json!({"path": format!("file://{}/", file.display())})),
        ("write_file", json!({"path": "a.txt/", "content": "two\n"})),
        ("write_file", json!({"path": "new/", "content": "two\n"})),
        ("patch", change),
        ("patch", json!({"patch": update})),
        ("patch", json!({"patch": add})),
        ("search_files", json!({"pattern": "one", "path": "a.txt/"})),
        ("directory_list", json!({"path": "a.txt/"})),
        ("file_diff", json!({"path": "a.txt/", "content": "two\n"})),
        ("file_diff", json!({"path": "a.txt", "other_path": "a.txt/"})),
        ("file_watch", json!({"paths": ["a.txt/"], "timeout": 0})),
        ("file_compress", json!({"action": "list", "archive": "a.zip/"})),
        ("file_compress", json!({"action": "extract", "archive": "a.zip/"})),
        ("file_compress", json!({"action": "create", "archive": "b.zip/", "paths": ["a.txt"]})),
        ("file_compress", json!({"action": "create", "archive": "b.zip", "paths": ["a.txt/"]})),
    ] {
        let answer = place.call(tool, arguments.clone()).await;
        assert_eq!(answer["kind"], "invalid_arguments", "{tool} {arguments}: {answer}");
        assert!(answer["error"].as_str().unwrap().contains("directory"), "{tool}: {answer}");
        assert!(answer["hint"].is_string(), "{tool}: {answer}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n");
    let names = fs::read_dir(place.path()).unwrap().count();
    assert_eq!(names, 2, "nothing was created");
    // Directories and missing paths behave as before.
    fs::create_dir(place.path().join("folder")).unwrap();
    let listed = place.call("directory_list", json!({"path": "folder/"})).await;
    assert_eq!(listed["total"], 0, "{listed}");
    let missing = place.call("read_file", json!({"path": "none.txt/"})).await;
    assert_eq!(missing["kind"], "not_found", "{missing}");
}
