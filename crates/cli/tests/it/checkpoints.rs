//! `hermes undo`, `redo` and `checkpoints`, after real calls of real tools.

use std::fs;

use crate::context::TestContext;

/// A context in which `write_file` has changed one file and created another.
fn changed() -> TestContext {
    let context = TestContext::new();
    context.file("a.txt", "one\n");
    write(&context, "a.txt", "two\n");
    write(&context, "new/b.txt", "made\n");
    context
}

fn write(context: &TestContext, name: &str, text: &str) {
    // A file is read before it is overwritten, in the same session.
    if context.work().join(name).exists() {
        let read = format!("path={name}");
        context.run(["call", "--session", "s", "read_file", &read]).succeeds();
    }
    let arguments = serde_json::json!({ "path": name, "content": text }).to_string();
    context.run(["call", "--session", "s", "write_file", &arguments]).succeeds();
}

fn read(context: &TestContext, name: &str) -> Option<String> {
    fs::read_to_string(context.work().join(name)).ok()
}

#[test]
fn every_call_is_a_turn_that_can_be_undone_and_redone() {
    let context = changed();
    let undone = context.run(["undo", "--json"]).succeeds().json();
    assert_eq!(undone["action"], "undo");
    assert_eq!(undone["preview"], false);
    assert_eq!(read(&context, "new/b.txt"), None);
    assert!(!context.work().join("new").exists(), "the call created the directory");
    context.run(["undo"]).succeeds();
    assert_eq!(read(&context, "a.txt").as_deref(), Some("one\n"));
    let nothing = context.run(["undo", "--json"]).exits(1).json();
    assert_eq!(nothing["kind"], "not_found");
    context.run(["redo"]).succeeds();
    assert_eq!(read(&context, "a.txt").as_deref(), Some("two\n"));
    context.run(["redo"]).succeeds();
    assert_eq!(read(&context, "new/b.txt").as_deref(), Some("made\n"));
    context.run(["undo", "2"]).succeeds();
    assert_eq!(read(&context, "a.txt").as_deref(), Some("one\n"));
    assert_eq!(read(&context, "new/b.txt"), None);
}

#[test]
fn a_preview_changes_nothing_and_names_what_is_in_the_way() {
    let context = changed();
    context.file("new/b.txt", "mine\n");
    let seen = context.run(["undo", "--preview", "--json"]).succeeds().json();
    assert_eq!(seen["preview"], true);
    let steps = seen["steps"].as_array().expect("steps");
    let step = steps.iter().find(|s| s["path"].as_str().is_some_and(|p| p.ends_with("b.txt")));
    let step = step.expect("the file");
    assert_eq!(
        (step["do"].as_str(), step["can_be_forced"].as_bool()),
        (Some("remove"), Some(true))
    );
    assert_eq!(step["obstacle"], "it was changed since");
    assert_eq!(read(&context, "new/b.txt").as_deref(), Some("mine\n"));
    let refused = context.run(["undo", "--json"]).exits(1).json();
    assert_eq!(refused["kind"], "conflict");
    assert!(refused["error"].as_str().expect("text").contains("b.txt"), "{refused}");
    assert_eq!(read(&context, "new/b.txt").as_deref(), Some("mine\n"));
    context.run(["undo", "--force"]).succeeds();
    assert_eq!(read(&context, "new/b.txt"), None);
    context.run(["redo"]).succeeds();
    assert_eq!(read(&context, "new/b.txt").as_deref(), Some("mine\n"), "it was kept");
}

#[test]
fn a_batch_is_one_turn() {
    let context = TestContext::new();
    let calls = serde_json::json!({ "tool_calls": [
        { "id": "1", "type": "function", "function":
            { "name": "write_file", "arguments": r#"{"path":"x","content":"1\n"}"# } },
        { "id": "2", "type": "function", "function":
            { "name": "write_file", "arguments": r#"{"path":"y","content":"2\n"}"# } },
    ]});
    context.feed(["exec"], calls.to_string()).succeeds();
    assert!(read(&context, "x").is_some() && read(&context, "y").is_some());
    context.run(["undo"]).succeeds();
    assert!(read(&context, "x").is_none() && read(&context, "y").is_none());
}

#[test]
fn checkpoints_are_listed_shown_compared_and_restored() {
    let context = changed();
    let listed = context.run(["checkpoints", "list", "--json"]).succeeds().json();
    let list = listed["checkpoints"].as_array().expect("a list");
    assert_eq!(list.len(), 2);
    assert_eq!(list[0]["by"][0], "write_file");
    let first = list[1]["id"].as_str().expect("an id");

    let shown = context.run(["checkpoints", "show", first, "--json"]).succeeds().json();
    assert_eq!(shown["changes"][0]["change"], "changed");
    assert_eq!(shown["changes"][0]["before"]["len"], 4);

    let diff = context.run(["checkpoints", "diff", first, "a.txt"]).succeeds().stdout;
    assert!(diff.contains("-one") && diff.contains("+two"), "{diff}");
    assert!(!diff.contains("b.txt"), "{diff}");
    let diff = context.run(["checkpoints", "diff", first]).succeeds().stdout;
    assert!(diff.contains("+made"), "{diff}");

    context.run(["checkpoints", "restore", first, "a.txt"]).succeeds();
    assert_eq!(read(&context, "a.txt").as_deref(), Some("one\n"));
    assert_eq!(read(&context, "new/b.txt").as_deref(), Some("made\n"));
    context.run(["undo"]).succeeds();
    assert_eq!(read(&context, "a.txt").as_deref(), Some("two\n"));

    let unknown = context.run(["checkpoints", "show", "ffff", "--json"]).exits(1).json();
    assert_eq!(unknown["kind"], "not_found");
}

#[test]
fn latest_is_the_newest_checkpoint_of_the_workspace() {
    let context = changed();
    let shown = context.run(["checkpoints", "show", "latest", "--json"]).succeeds().json();
    assert!(shown["changes"].to_string().contains("b.txt"), "{shown}");
    assert!(!shown["changes"].to_string().contains("a.txt"), "{shown}");
    let diff = context.run(["checkpoints", "diff", "latest"]).succeeds().stdout;
    assert!(diff.contains("+made"), "{diff}");
    context.run(["checkpoints", "restore", "latest"]).succeeds();
    assert_eq!(read(&context, "new/b.txt"), None);
    assert_eq!(read(&context, "a.txt").as_deref(), Some("two\n"));
    let nothing = TestContext::new().run(["checkpoints", "show", "latest", "--json"]).exits(1);
    assert_eq!(nothing.json()["kind"], "not_found");
}

#[test]
fn status_tells_all_that_is_on_the_disk() {
    let context = changed();
    let status = context.run(["checkpoints", "status", "--json"]).succeeds().json();
    let bytes = |name: &str| status[name].as_u64().expect("bytes");
    assert_eq!(bytes("bytes"), bytes("object_bytes") + bytes("log_bytes"));
    assert!(bytes("log_bytes") > bytes("object_bytes"), "{status}");
    let shown = context.run(["checkpoints", "status"]).succeeds().stdout;
    assert!(shown.contains(" objects, ") && shown.contains(" in logs"), "{shown}");
}

#[test]
fn looking_makes_no_files_and_status_tells_the_bounds() {
    let context = TestContext::new();
    for command in ["list", "status", "prune"] {
        context.run(["checkpoints", command]).succeeds();
    }
    assert!(!context.home().join("checkpoints").exists());
    context.settings("checkpoints:\n  max_snapshots: 1\n  max_file_size_mb: 0\n");
    let status = context.run(["checkpoints", "status", "--json"]).succeeds().json();
    assert_eq!(status["max_snapshots"], 1);
    assert_eq!(status["retention_days"], 7);
    write(&context, "x", "1\n");
    write(&context, "y", "2\n");
    let status = context.run(["checkpoints", "status", "--json"]).succeeds().json();
    assert_eq!(status["checkpoints"], 1);
    let pruned = context.run(["checkpoints", "prune", "--json"]).succeeds().json();
    assert_eq!(pruned["checkpoints"], 0);
}

#[test]
fn nothing_is_kept_where_it_is_switched_off() {
    let context = TestContext::new();
    context.settings("checkpoints:\n  enabled: false\n");
    write(&context, "x", "1\n");
    assert!(!context.home().join("checkpoints").exists());
    context.run(["undo"]).exits(1);
}

#[test]
fn undo_from_a_folder_below_is_about_the_folder_above_and_says_so() {
    let context = changed();
    let seen = context.run(["undo", "-C", "new", "--preview", "--json"]).succeeds();
    assert!(seen.stderr.contains("(a parent directory)"), "{}", seen.stderr);
    let workspace = context.work().canonicalize().expect("the directory");
    assert_eq!(seen.json()["workspace"].as_str(), workspace.to_str());
    let own = context.run(["undo", "--preview"]).succeeds();
    assert!(!own.stderr.contains("a parent directory"), "{}", own.stderr);
    // A directory with its own checkpoints is its own workspace.
    let call = r#"{"path":"c.txt","content":"3\n"}"#;
    context.run(["call", "-C", "new", "write_file", call]).succeeds();
    let undone = context.run(["undo", "-C", "new"]).succeeds();
    assert!(!undone.stderr.contains("a parent directory"), "{}", undone.stderr);
    assert_eq!(read(&context, "new/c.txt"), None);
    context.run(["undo", "-C", "new"]).exits(1);
    assert_eq!(read(&context, "new/b.txt").as_deref(), Some("made\n"));
    context.run(["undo", "0"]).exits(2);
}

#[test]
fn what_an_extraction_replaces_is_brought_back_although_git_ignores_it() {
    let context = TestContext::new();
    fs::create_dir(context.work().join(".git")).expect("a directory");
    context.file(".gitignore", "*.log\n");
    context.file("a.log", "new");
    context.file("b.log", "made");
    let pack = r#"{"action":"create","archive":"i.tar","paths":["a.log","b.log"]}"#;
    context.run(["call", "file_compress", pack]).succeeds();
    context.file("a.log", "original");
    fs::remove_file(context.work().join("b.log")).expect("removed");
    let call = r#"{"action":"extract","archive":"i.tar","target":".","existing":"overwrite"}"#;
    context.run(["call", "file_compress", call]).succeeds();
    assert_eq!(read(&context, "a.log").as_deref(), Some("new"));
    context.run(["undo"]).succeeds();
    assert_eq!(read(&context, "a.log").as_deref(), Some("original"));
    assert_eq!(read(&context, "b.log"), None);
    assert!(read(&context, "i.tar").is_some());
    context.run(["redo"]).succeeds();
    assert_eq!(read(&context, "a.log").as_deref(), Some("new"));
    assert_eq!(read(&context, "b.log").as_deref(), Some("made"));
}

#[test]
fn each_of_several_processes_is_undone_for_itself() {
    const WRITERS: usize = 6;
    let context = TestContext::new();
    let original: String = (0..WRITERS).map(|n| format!("line {n}\n")).collect();
    for _ in 0..2 {
        context.file("shared.txt", &original);
        let writers: Vec<_> = (0..WRITERS)
            .map(|n| {
                let (old, new) = (format!("line {n}"), format!("changed {n}"));
                let call = serde_json::json!(
                    { "path": "shared.txt", "old_string": old, "new_string": new }
                );
                let mut command = context.command(["call", "patch", &call.to_string()]);
                command.stdout(std::process::Stdio::null()).spawn().expect("it starts")
            })
            .collect();
        for mut writer in writers {
            assert!(writer.wait().expect("it ends").success());
        }
        for left in (0..WRITERS).rev() {
            context.run(["undo"]).succeeds();
            let text = read(&context, "shared.txt").expect("the file");
            assert_eq!(text.matches("changed").count(), left, "{text}");
        }
        assert_eq!(read(&context, "shared.txt").as_deref(), Some(original.as_str()));
    }
}

#[test]
fn single_undos_get_to_the_first_of_many_turns() {
    let context = TestContext::new();
    context.settings("checkpoints:\n  max_snapshots: 5\n");
    for n in 0..5 {
        write(&context, &format!("f{n}"), "x\n");
    }
    for _ in 0..5 {
        context.run(["undo"]).succeeds();
    }
    assert!((0..5).all(|n| read(&context, &format!("f{n}")).is_none()));
    context.run(["undo"]).exits(1);
}

#[test]
fn fewer_turns_than_asked_for_are_undone_and_told() {
    let context = changed();
    let seen = context.run(["undo", "5", "--preview"]).succeeds();
    assert!(seen.stderr.contains("2 of 5 turns would be undone"), "{}", seen.stderr);
    let undone = context.run(["undo", "5", "--json"]).exits(1);
    assert!(undone.stderr.contains("2 of 5 turns were undone"), "{}", undone.stderr);
    let answer = undone.json();
    assert_eq!((answer["asked"].as_u64(), answer["turns"].as_u64()), (Some(5), Some(2)));
    assert_eq!(read(&context, "a.txt").as_deref(), Some("one\n"));
    assert_eq!(read(&context, "new/b.txt"), None);
}

#[test]
fn a_file_that_is_too_large_is_warned_about_shown_and_left_in_force() {
    let context = TestContext::new();
    context.settings("checkpoints:\n  max_file_size_mb: 1\n");
    context.file("big.txt", "0123456789abcde\n".repeat(70_000));
    let patch =
        r#"{"mode":"patch","patch":"*** Begin Patch\n*** Delete File: big.txt\n*** End Patch"}"#;
    let made = context.run(["call", "patch", patch]).succeeds();
    assert_eq!(read(&context, "big.txt"), None);
    let warned = made.stderr.contains("cannot be undone") && made.stderr.contains("big.txt");
    assert!(warned, "{}", made.stderr);
    let listed = context.run(["checkpoints", "list", "--json"]).succeeds().json();
    let id = listed["checkpoints"][0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(listed["checkpoints"][0]["not_kept"], 1);
    let shown = context.run(["checkpoints", "show", &id]).succeeds().stdout;
    assert!(shown.contains("not kept: it is larger"), "{shown}");
    for _ in 0..2 {
        let refused = context.run(["undo", "--force", "--json"]).exits(1).json();
        assert_eq!(refused["kind"], "conflict");
        assert!(refused["error"].as_str().is_some_and(|e| e.contains("big.txt")), "{refused}");
    }
}

#[test]
fn a_damaged_content_is_named_and_force_does_the_rest() {
    let context = TestContext::new();
    context.file("a.txt", "old a\n");
    context.file("b.txt", "old b\n");
    let edit = "*** Begin Patch\n*** Delete File: a.txt\n*** Delete File: b.txt\n*** End Patch";
    let call = serde_json::json!({ "mode": "patch", "patch": edit }).to_string();
    context.run(["call", "patch", &call]).succeeds();
    let listed = context.run(["checkpoints", "list", "--json"]).succeeds().json();
    let id = listed["checkpoints"][0]["id"].as_str().expect("an id").to_owned();
    let shown = context.run(["checkpoints", "show", &id, "--json"]).succeeds().json();
    let hash = shown["changes"][0]["before"]["hash"].as_str().expect("a hash");
    let objects = context.home().join("checkpoints/files/objects");
    let object = objects.join(&hash[..2]).join(&hash[2..]);
    fs::write(&object, "rotten").expect("damaged");
    for _ in 0..2 {
        let refused = context.run(["undo", "--json"]).exits(1).json();
        assert!(refused["error"].as_str().is_some_and(|e| e.contains("a.txt")), "{refused}");
        assert_eq!(read(&context, "b.txt"), None, "nothing is done by half");
    }
    let forced = context.run(["undo", "--force"]).exits(1);
    assert!(forced.stderr.contains("a.txt was left unchanged"), "{}", forced.stderr);
    assert_eq!(read(&context, "b.txt").as_deref(), Some("old b\n"));
}

#[test]
fn a_store_that_cannot_be_written_is_told_and_the_call_is_made() {
    let context = TestContext::new();
    fs::write(context.home().join("checkpoints"), "in the way").expect("a file");
    let run = context.run(["call", "write_file", r#"{"path":"x","content":"1\n"}"#]).succeeds();
    assert!(run.stderr.contains("cannot be undone"), "{}", run.stderr);
    assert!(read(&context, "x").is_some());
}

#[test]
fn what_force_cannot_keep_is_named_as_lost_for_good() {
    let context = TestContext::new();
    context.settings("checkpoints:\n  max_file_size_mb: 1\n");
    context.file("a.txt", "old\n");
    write(&context, "small.txt", "1\n");
    let big = "0123456789abcde\n".repeat(70_000);
    context.run(["call", "--session", "s", "read_file", "path=a.txt"]).succeeds();
    let call = serde_json::json!({ "tool_calls": [{ "id": "1", "type": "function", "function":
        { "name": "write_file", "arguments":
            serde_json::json!({ "path": "a.txt", "content": big }).to_string() } }]});
    let made = context.feed(["exec", "--session", "s"], call.to_string()).succeeds();
    let warned = made.stderr.contains("cannot be undone") && made.stderr.contains("a.txt");
    assert!(warned, "{}", made.stderr);
    let refused = context.run(["undo"]).exits(1);
    assert!(refused.stderr.contains("lost for good"), "{}", refused.stderr);
    let seen = context.run(["undo", "--preview", "--json"]).succeeds().json();
    assert_eq!(seen["steps"][0]["lost_for_good"], true);
    let forced = context.run(["undo", "--force"]).succeeds();
    let shown = &forced.stderr;
    assert!(shown.contains("The contents of a.txt are lost"), "{shown}");
    assert!(shown.contains("cannot be reverted") && !shown.contains("hermes redo"), "{shown}");
    assert_eq!(read(&context, "a.txt").as_deref(), Some("old\n"));
    let undone = context.run(["undo"]).succeeds();
    assert!(undone.stderr.contains("Run `hermes redo` to revert this"), "{}", undone.stderr);

    write(&context, "small.txt", "1\n");
    context.run(["call", "--session", "t", "read_file", "path=a.txt"]).succeeds();
    context.feed(["exec", "--session", "t"], call.to_string()).succeeds();
    let forced = context.run(["undo", "2", "--force"]).succeeds();
    let shown = &forced.stderr;
    assert!(shown.contains("Run `hermes redo --force` to revert the rest"), "{shown}");
    assert_eq!(read(&context, "small.txt"), None);
    context.run(["redo"]).exits(1);
    context.run(["redo", "--force"]).exits(1);
    assert_eq!(read(&context, "small.txt").as_deref(), Some("1\n"));
}

#[test]
fn a_newest_turn_that_cannot_be_read_is_listed_and_stops_undo() {
    let context = changed();
    let listed = context.run(["checkpoints", "list", "--json"]).succeeds().json();
    let id = listed["checkpoints"][0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(listed["damaged"], serde_json::json!([]));
    let dirs = fs::read_dir(context.home().join("checkpoints/files/workspaces")).expect("some");
    let logs = dirs.flatten().flat_map(|dir| fs::read_dir(dir.path()).expect("a directory"));
    let mut logs = logs.flatten().filter(|log| log.file_name().to_string_lossy().contains(&id));
    fs::write(logs.next().expect("its log").path(), "").expect("emptied");
    let listed = context.run(["checkpoints", "list"]).succeeds().stdout;
    let first = listed.lines().next().expect("a line");
    assert!(first.starts_with(&id) && first.contains("damaged"), "{listed}");
    let listed = context.run(["checkpoints", "list", "--json"]).succeeds().json();
    assert_eq!(listed["damaged"][0]["id"], id.as_str());
    assert_eq!(listed["checkpoints"].as_array().map(Vec::len), Some(1));
    let refused = context.run(["undo"]).exits(1);
    let shown = &refused.stderr;
    assert!(shown.contains("The newest turn cannot be read") && shown.contains(&id), "{shown}");
    assert_eq!(read(&context, "a.txt").as_deref(), Some("two\n"));
    let forced = context.run(["undo", "--force"]).succeeds();
    assert!(forced.stderr.contains("Skipped an unreadable turn"), "{}", forced.stderr);
    assert_eq!(read(&context, "a.txt").as_deref(), Some("one\n"));
}

#[test]
fn an_extraction_that_changes_nothing_uses_no_undo_up() {
    let context = TestContext::new();
    context.file("a.txt", "one\n");
    let pack = r#"{"action":"create","archive":"i.tar","paths":["a.txt"]}"#;
    context.run(["call", "file_compress", pack]).succeeds();
    let call = r#"{"action":"extract","archive":"i.tar","target":".","existing":"overwrite"}"#;
    context.run(["call", "file_compress", call]).succeeds();
    let listed = context.run(["checkpoints", "list", "--json"]).succeeds().json();
    assert_eq!(listed["checkpoints"].as_array().map(Vec::len), Some(1), "{listed}");
    context.run(["undo"]).succeeds();
    assert_eq!(read(&context, "i.tar"), None);
    assert_eq!(read(&context, "a.txt").as_deref(), Some("one\n"));
}

#[test]
fn an_undo_of_a_patch_leaves_owner_and_group() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let context = TestContext::new();
    let path = context.file("a.txt", "one\n");
    // Only root can give files away.
    if chown(&path, Some(1000), Some(1001)).is_err() {
        return;
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).expect("permissions");
    let call = r#"{"path":"a.txt","old_string":"one","new_string":"two"}"#;
    context.run(["call", "patch", call]).succeeds();
    context.run(["undo"]).succeeds();
    assert_eq!(read(&context, "a.txt").as_deref(), Some("one\n"));
    let found = fs::metadata(&path).expect("the file");
    assert_eq!((found.uid(), found.gid(), found.mode() & 0o7777), (1000, 1001, 0o664));
}

#[test]
fn folders_that_a_long_file_brought_go_with_it() {
    let context = TestContext::new();
    write(&context, "new/deep/long.txt", &"x".repeat(100_000));
    context.run(["undo"]).succeeds();
    assert!(!context.work().join("new").exists());
    context.run(["redo"]).succeeds();
    assert_eq!(read(&context, "new/deep/long.txt").map(|text| text.len()), Some(100_000));
}

#[test]
fn a_file_that_a_command_names_by_a_way_out_of_the_folder_comes_back() {
    let context = TestContext::new();
    // No user can approve.
    context.settings("approvals:\n  mode: \"off\"\n");
    for dir in ["in", "out"] {
        fs::create_dir(context.work().join(dir)).expect("a directory");
    }
    context.file("in/x.txt", "x\n");
    context.file("out/precious.txt", "precious\n");
    let inside = context.work().join("in");
    let inside = inside.to_str().expect("a path");
    for command in ["rm ../out/precious.txt", "echo lost > ../out/precious.txt"] {
        let call = format!("command={command}");
        context.run(["call", "-C", inside, "terminal", &call]).succeeds();
        assert_ne!(read(&context, "out/precious.txt").as_deref(), Some("precious\n"));
        context.run(["undo", "-C", inside]).succeeds();
        assert_eq!(read(&context, "out/precious.txt").as_deref(), Some("precious\n"), "{command}");
    }
}

#[test]
fn an_ignored_file_that_a_command_names_comes_back() {
    let context = TestContext::new();
    // No user can approve.
    context.settings("approvals:\n  mode: \"off\"\n");
    for dir in [".git", "build"] {
        fs::create_dir(context.work().join(dir)).expect("a directory");
    }
    context.file(".gitignore", "*.local\nbuild/\n");
    context.file("db.local", "precious\n");
    context.file("build/a.o", "object\n");
    context.file("kept.txt", "kept\n");
    for command in ["rm db.local", "echo x > db.local; echo y > tracked", "rm -r build"] {
        let call = format!("command={command}");
        context.run(["call", "terminal", &call]).succeeds();
        context.run(["undo"]).succeeds();
        assert_eq!(read(&context, "db.local").as_deref(), Some("precious\n"), "{command}");
        assert_eq!(read(&context, "build/a.o").as_deref(), Some("object\n"), "{command}");
        assert_eq!(read(&context, "tracked"), None, "{command}");
    }
    context.run(["call", "terminal", "command=echo new > made.local"]).succeeds();
    context.run(["undo"]).succeeds();
    assert_eq!(read(&context, "made.local"), None);
    assert_eq!(read(&context, "kept.txt").as_deref(), Some("kept\n"));
}

/// A project with ignored files, next to a directory outside of it.
fn project() -> TestContext {
    let context = TestContext::new();
    // No user can approve.
    context.settings("approvals:\n  mode: \"off\"\n");
    for dir in ["in/.git", "in/dist", "in/src", "out"] {
        fs::create_dir_all(context.work().join(dir)).expect("a directory");
    }
    context.file("in/.gitignore", "*.local\n*.o\ndist/\n");
    for name in ["a.txt", "src/b.txt", "src/x.local"] {
        context.file(&format!("in/{name}"), "new\n");
    }
    for name in ["in/dist/a.txt", "in/x.o", "in/y.local", "out/a.txt", "out/b.txt"] {
        context.file(name, "old\n");
    }
    context
}

/// The files in the project and next to it.
fn picture(context: &TestContext) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut ahead = vec![context.work()];
    while let Some(dir) = ahead.pop() {
        for entry in fs::read_dir(&dir).expect("a directory").flatten() {
            let path = entry.path();
            if path.is_dir() {
                ahead.push(path);
            } else {
                let text = fs::read_to_string(&path).expect("text");
                found.push((path.to_string_lossy().into_owned(), text));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn what_a_command_puts_into_a_folder_or_finds_by_a_pattern_is_taken_back() {
    let context = project();
    let inside = context.work().join("in");
    let outside = context.work().join("out").to_string_lossy().into_owned();
    let packed = std::process::Command::new("tar")
        .args(["cf", "x.tar", "a.txt"])
        .current_dir(&inside)
        .status()
        .expect("tar");
    assert!(packed.success());
    let before = picture(&context);
    for command in [
        "mv a.txt dist/",
        "cp a.txt dist",
        "cp -r src dist/; cp -r src dist/",
        "cp -rT src dist",
        "cp src/* OUT/",
        "cp -t OUT a.txt",
        "cd OUT && cp IN/a.txt .",
        "install a.txt OUT",
        "tar xf x.tar -C OUT",
        "tar xf x.tar -C dist",
        "mv x.o OUT/",
        "rm *.local",
        "rm x.?",
        "rm $(ls *.o)",
        "for f in *.o; do rm $f; done",
        "sed -i s/old/odd/ *.o",
        "sed -i s/old/odd/ OUT/*.txt",
        "rm -rf *",
        "rm -rf */",
    ] {
        let command = command.replace("OUT", &outside).replace("IN", &inside.to_string_lossy());
        let call = format!("command={command}");
        let inside = inside.to_str().expect("text");
        context.run(["call", "terminal", &call, "-C", inside]).succeeds();
        assert_ne!(picture(&context), before, "{command}");
        context.run(["undo", "-C", inside]).succeeds();
        assert_eq!(picture(&context), before, "{command}");
    }
}

#[test]
fn an_undo_does_not_take_an_older_turn_for_a_command_that_lost_what_is_ignored() {
    let context = TestContext::new();
    context.settings("approvals:\n  mode: \"off\"\n");
    fs::create_dir(context.work().join(".git")).expect("a directory");
    context.file(".gitignore", "*.local\n");
    context.file("cfg.local", "K=1\n");
    context.file("clean.sh", "rm cfg.local\n");
    context.file("code.txt", "v1\n");
    write(&context, "code.txt", "v2\n");
    // Commands that change nothing do not count as turns.
    context.run(["call", "terminal", "command=bash -c 'true'"]).succeeds();
    let done = context.run(["call", "terminal", "command=bash clean.sh"]).succeeds();
    assert!(done.stderr.contains("cannot be undone") && done.stderr.contains("cfg.local"));
    let refused = context.run(["undo"]).exits(1);
    assert!(refused.stderr.contains("terminal") && refused.stderr.contains("cfg.local"));
    assert!(refused.stderr.contains("hermes undo 2"), "{}", refused.stderr);
    assert_eq!(read(&context, "code.txt").as_deref(), Some("v2\n"));
    let listed = context.run(["checkpoints", "list"]).succeeds();
    assert!(listed.stdout.contains("1 deleted without a copy"), "{}", listed.stdout);
    let undone = context.run(["undo", "2", "--json"]).succeeds();
    let shown = undone.json();
    assert_eq!(shown["undone"][0]["by"][0], "write_file", "{shown}");
    assert!(
        shown["missing"][0].as_str().is_some_and(|path| path.ends_with("cfg.local")),
        "{shown}"
    );
    assert_eq!(read(&context, "code.txt").as_deref(), Some("v1\n"));
}

#[test]
fn a_name_that_is_no_text_is_written_as_an_address() {
    use std::os::unix::ffi::OsStrExt;
    let context = TestContext::new();
    context.settings("approvals:\n  mode: \"off\"\n");
    let odd = context.work().join(std::ffi::OsStr::from_bytes(b"bad\xff"));
    fs::write(&odd, "old\n").expect("a file");
    context.run(["call", "terminal", "command=rm bad*"]).succeeds();
    let undone = context.run(["undo"]).succeeds();
    assert!(undone.stdout.contains("restored  file:///"), "{}", undone.stdout);
    assert!(undone.stdout.contains("/bad%FF"), "{}", undone.stdout);
    assert_eq!(fs::read_to_string(&odd).expect("it is back"), "old\n");
    let redone = context.run(["redo", "--json"]).succeeds().json();
    assert!(redone["done"][0].as_str().is_some_and(|path| path.ends_with("/bad%FF")), "{redone}");
}
