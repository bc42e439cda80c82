use std::fs;
use std::future::Future;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{Effect, Grants, Scope, Session, ToolContext};
use serde_json::{Value, json};

use crate::harness::{Place, check_examples, tool};

/// A place whose calls share a session.
struct Watch {
    place: Place,
    session: Session,
}

impl Watch {
    fn new() -> Self {
        Self { place: Place::new(), session: Session::in_memory() }
    }

    fn call(&self, arguments: Value) -> impl Future<Output = Value> + Send + use<> {
        let mut cx = ToolContext::bare(self.place.path());
        cx.session = self.session.clone();
        run(cx, arguments)
    }

    /// The cursor of how things are now.
    async fn mark(&self, mut arguments: Value) -> String {
        arguments["timeout"] = json!(0);
        let answer = self.call(arguments).await;
        answer["cursor"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// What happened since a cursor, in short.
    async fn since(&self, cursor: &str) -> Vec<String> {
        let answer = self.call(json!({"since": cursor, "timeout": 0})).await;
        events(&answer)
    }

    fn write(&self, name: &str, content: &str) {
        self.place.write(name, content);
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.place.path().join(from), self.place.path().join(to)).unwrap();
    }
}

async fn run(cx: ToolContext, arguments: Value) -> Value {
    match tool("file_watch").bind(&arguments).unwrap().run(cx).await {
        Ok(output) => serde_json::from_str(output.content()).unwrap(),
        Err(error) => error.to_value(),
    }
}

fn events(answer: &Value) -> Vec<String> {
    let list = answer["events"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let short = |event: &Value| {
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        match event["event"].as_str().unwrap() {
            "rename" => format!("rename {} {}", text("from"), text("to")),
            other => format!("{other} {}", text("path")),
        }
    };
    list.iter().map(short).collect()
}

#[tokio::test]
async fn examples_hold() {
    check_examples("file_watch").await;
}

#[tokio::test]
async fn what_comes_and_goes_while_one_waits_is_told() {
    let watch = Watch::new();
    watch.write(".gitignore", "*.log\n");
    fs::create_dir(watch.place.path().join(".git")).unwrap();
    fs::create_dir(watch.place.path().join("wd")).unwrap();
    for (asked, expected) in
        [(json!(["delete"]), &["delete wd/y"][..]), (json!([]), &["create wd/y", "delete wd/y"])]
    {
        let cursor = watch.mark(json!({})).await;
        let dir = watch.place.path().join("wd");
        let waiting =
            tokio::spawn(watch.call(json!({"since": cursor, "events": asked, "timeout": 20})));
        // The watch is there from the mark on, so that nothing has to be waited for.
        for name in ["x.log", "y"] {
            fs::write(dir.join(name), "").unwrap();
            fs::remove_file(dir.join(name)).unwrap();
        }
        assert_eq!(events(&waiting.await.unwrap()), expected);
    }
}

#[tokio::test]
async fn nothing_is_missed_between_two_calls() {
    let watch = Watch::new();
    watch.write("kept", "x");
    watch.write("changed", "x");
    watch.write("removed", "x");
    watch.write("old name", "some content");
    let cursor = watch.mark(json!({})).await;
    assert!(watch.since(&cursor).await.is_empty());
    watch.write("changed", "longer");
    watch.write("a/b/c/new", "x");
    fs::remove_file(watch.place.path().join("removed")).unwrap();
    watch.rename("old name", "new\nname");
    let answer = watch.call(json!({"since": cursor, "timeout": 60})).await;
    let expected = [
        "create a",
        "create a/b",
        "create a/b/c",
        "create a/b/c/new",
        "modify changed",
        "rename old name new\nname",
        "delete removed",
    ];
    assert_eq!(events(&answer), expected);
    assert_eq!((&answer["timed_out"], &answer["total"]), (&json!(false), &json!(7)));
    assert!(answer["events"].as_array().unwrap().iter().all(|e| e["while_away"] == true));
    let next = answer["cursor"].as_str().unwrap();
    assert!(watch.since(next).await.is_empty());
    // An old cursor is still good.
    assert_eq!(watch.since(&cursor).await.len(), 7);
}

/// Does something again and again until the call is answered, so that it
/// happens while the call waits.
async fn meanwhile(
    call: impl Future<Output = Value> + Send + 'static,
    mut stir: impl FnMut(u32),
) -> Value {
    let task = tokio::spawn(call);
    let mut round = 0;
    while !task.is_finished() {
        stir(round);
        round += 1;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    task.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_ends_the_wait() {
    let watch = Watch::new();
    watch.write("a.txt", "");
    let call = watch.call(json!({"timeout": 300, "debounce": 30, "patterns": ["*.txt"]}));
    let answer = meanwhile(call, |round| {
        watch.write("a.txt", &"x".repeat(round as usize + 1));
        watch.write("other.log", "not asked for");
    })
    .await;
    assert_eq!(events(&answer), ["modify a.txt"]);
    assert_eq!((&answer["timed_out"], &answer["watching"]), (&json!(false), &json!("inotify")));
    assert!(answer["events"][0].get("while_away").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_made_in_a_hurry_lose_none_of_their_files() {
    let watch = Watch::new();
    let cursor = watch.mark(json!({})).await;
    let place = watch.place.path().to_owned();
    let mut made = 0;
    let call = watch.call(json!({"timeout": 300, "debounce": 50, "patterns": ["leaf"]}));
    let answer = meanwhile(call, |round| {
        let dir = place.join(format!("d{round}/e/f"));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("leaf"), "x").unwrap();
        made = round + 1;
    })
    .await;
    assert!(!events(&answer).is_empty());
    // Whatever was reported, the cursor before it covers all events.
    let all = watch
        .call(json!({"since": cursor, "timeout": 0, "max_events": 1000, "patterns": ["leaf"]}))
        .await;
    assert_eq!(all["total"], made);
    let first = answer["total"].as_u64().unwrap();
    let rest = watch.call(json!({"since": answer["cursor"], "timeout": 0, "max_events": 1000, "patterns": ["leaf"]})).await;
    let before = all["total"].as_u64().unwrap() - rest["total"].as_u64().unwrap();
    // Changes from before the wait are not reported by it.
    assert!(first <= before, "{first} of {before}");
}

#[tokio::test]
async fn editors_that_replace_a_file_modify_it() {
    let watch = Watch::new();
    watch.write("doc.txt", "one");
    let cursor = watch.mark(json!({})).await;
    watch.write(".doc.txt.swp", "temporary");
    watch.write("doc.txt.new", "two");
    watch.rename("doc.txt.new", "doc.txt");
    fs::remove_file(watch.place.path().join(".doc.txt.swp")).unwrap();
    assert_eq!(watch.since(&cursor).await, ["modify doc.txt"]);
    let cursor = watch.mark(json!({})).await;
    watch.rename("doc.txt", "doc.txt~");
    watch.write("doc.txt", "three");
    fs::remove_file(watch.place.path().join("doc.txt~")).unwrap();
    assert_eq!(watch.since(&cursor).await, ["modify doc.txt"]);
}

#[tokio::test]
async fn a_moved_folder_is_one_event() {
    let watch = Watch::new();
    watch.write("a/x", "1");
    watch.write("a/deep/y", "2");
    let cursor = watch.mark(json!({})).await;
    watch.rename("a", "b");
    assert_eq!(watch.since(&cursor).await, ["rename a b"]);
}

#[tokio::test]
async fn what_does_not_fit_comes_with_the_next_call() {
    let watch = Watch::new();
    watch.write("gone", "x");
    let mut cursor = watch.mark(json!({})).await;
    for number in 0..25 {
        watch.write(&format!("f{number:02}"), "x");
    }
    fs::remove_file(watch.place.path().join("gone")).unwrap();
    let mut seen = Vec::new();
    loop {
        let answer = watch.call(json!({"since": cursor, "timeout": 0, "max_events": 10})).await;
        seen.extend(events(&answer));
        cursor = answer["cursor"].as_str().unwrap().to_owned();
        if answer["truncated"] == false {
            break;
        }
        assert!(answer["hint"].as_str().unwrap().contains("since"), "{answer}");
    }
    assert_eq!(seen.len(), 26);
    assert!(seen.contains(&"delete gone".to_owned()));
    seen.dedup();
    assert_eq!(seen.len(), 26);
}

#[tokio::test]
async fn kinds_globs_and_depth_choose() {
    for (arguments, expected) in [
        (json!({"events": ["delete"]}), vec!["delete b.rs"]),
        (json!({"patterns": ["*.rs"]}), vec!["delete b.rs", "create src/new.rs"]),
        (json!({"patterns": ["src/*.rs"]}), vec!["create src/new.rs"]),
        (json!({"recursive": false}), vec!["create a.txt", "delete b.rs"]),
        (json!({"gitignore": false, "patterns": ["*.log"]}), vec!["create x.log"]),
        (json!({"patterns": ["*.log"]}), vec![]),
    ] {
        let watch = Watch::new();
        fs::create_dir(watch.place.path().join(".git")).unwrap();
        watch.write(".gitignore", "*.log\n");
        watch.write("b.rs", "");
        watch.write("src/old.rs", "");
        let cursor = watch.mark(arguments.clone()).await;
        watch.write("a.txt", "");
        watch.write("x.log", "");
        watch.write("src/new.rs", "");
        watch.write(".git/index", "");
        fs::remove_file(watch.place.path().join("b.rs")).unwrap();
        let mut ask = arguments.clone();
        ask["since"] = json!(cursor);
        ask["timeout"] = json!(0);
        assert_eq!(events(&watch.call(ask).await), expected, "{arguments}");
    }
    let wrong = Watch::new().call(json!({"patterns": ["a["]})).await;
    assert_eq!(wrong["kind"], "invalid_arguments");
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_may_appear_and_vanish() {
    let watch = Watch::new();
    watch.write("there/x", "x");
    let paths = json!(["there", "not-yet/file"]);
    let first = watch.call(json!({"paths": paths, "timeout": 0})).await;
    assert_eq!(first["missing"], json!(["not-yet/file"]));
    let call = watch
        .call(json!({"paths": paths, "since": first["cursor"], "timeout": 300, "debounce": 10}));
    watch.write("not-yet/file", "now");
    let answer = call.await;
    assert_eq!(events(&answer), ["create not-yet/file"]);
    fs::remove_dir_all(watch.place.path().join("there")).unwrap();
    let answer =
        watch.call(json!({"paths": paths, "since": answer["cursor"], "timeout": 300})).await;
    assert_eq!(events(&answer), ["delete there", "delete there/x"]);
    assert_eq!(answer["missing"], json!(["there"]));
    // A file alone, waited for while it is missing.
    let call = watch.call(json!({"paths": ["late"], "timeout": 300, "debounce": 10}));
    let answer = meanwhile(call, |round| {
        if round == 3 {
            watch.write("late", "x");
        }
    })
    .await;
    assert_eq!(events(&answer), ["create late"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_file_is_watched_without_its_neighbours() {
    let watch = Watch::new();
    watch.write("one", "");
    watch.write("two", "");
    let call = watch.call(json!({"paths": ["one"], "timeout": 300, "debounce": 10}));
    let answer = meanwhile(call, |round| {
        watch.write("two", &"y".repeat(round as usize));
        watch.write("one", &"x".repeat(round as usize));
    })
    .await;
    assert_eq!(events(&answer), ["modify one"]);
}

#[tokio::test]
async fn names_that_are_no_text_are_told_and_kept() {
    let watch = Watch::new();
    let odd = std::ffi::OsStr::from_bytes(b"caf\xE9 %41");
    fs::write(watch.place.path().join(odd), "x").unwrap();
    let cursor = watch.mark(json!({})).await;
    assert!(watch.since(&cursor).await.is_empty());
    fs::write(watch.place.path().join(odd), "longer").unwrap();
    let answer = watch.call(json!({"since": cursor, "timeout": 0})).await;
    let address = answer["events"][0]["path"].as_str().unwrap();
    assert!(address.starts_with("file:///") && address.ends_with("/caf%E9%20%2541"), "{answer}");
    // It is good for other calls.
    let one = watch.call(json!({"paths": [address], "timeout": 0})).await;
    assert!(one.get("missing").is_none(), "{one}");
}

#[tokio::test]
async fn a_write_that_leaves_no_trace_is_heard_between_two_calls() {
    let watch = Watch::new();
    watch.write("a", "one");
    let path = watch.place.path().join("a");
    let then = fs::metadata(&path).unwrap().modified().unwrap();
    let mut cursor = watch.mark(json!({})).await;
    watch.write("a", "two");
    fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
    // The system's word may come a moment later than the next call.
    let mut heard = Vec::new();
    while heard.is_empty() {
        let answer = watch.call(json!({"since": cursor, "timeout": 1, "debounce": 10})).await;
        heard = events(&answer);
        cursor = answer["cursor"].as_str().unwrap().to_owned();
    }
    assert_eq!(heard, ["modify a"]);
}

#[tokio::test]
async fn more_watches_than_go_on_lose_nothing() {
    let watch = Watch::new();
    let mut cursors = Vec::new();
    for number in 0..12 {
        cursors.push(watch.mark(json!({})).await);
        watch.write(&format!("f{number:02}"), "");
    }
    for (at, cursor) in cursors.iter().enumerate() {
        assert_eq!(watch.since(cursor).await.len(), 12 - at);
    }
}

#[tokio::test]
async fn the_longest_paths_are_watched() {
    let watch = Watch::new();
    let mut path = watch.place.path().to_owned();
    while path.as_os_str().len() + 101 < 3950 {
        path.push("n".repeat(100));
    }
    fs::create_dir_all(&path).unwrap();
    let cursor = watch.mark(json!({})).await;
    let last = path.join("x".repeat(4094 - path.as_os_str().len()));
    fs::write(&last, "x").unwrap();
    let found = watch.since(&cursor).await;
    let below = last.strip_prefix(watch.place.path()).unwrap();
    assert_eq!(found, [format!("create {}", below.display())]);
}

#[tokio::test]
async fn the_time_runs_out_with_a_cursor() {
    let watch = Watch::new();
    let answer = watch.call(json!({"timeout": 1})).await;
    assert_eq!((&answer["timed_out"], &answer["events"]), (&json!(true), &json!([])));
    watch.write("a", "");
    assert_eq!(watch.since(answer["cursor"].as_str().unwrap()).await, ["create a"]);
}

#[tokio::test]
async fn a_call_ends_before_its_own_time_is_up() {
    let watch = Watch::new();
    let mut cx = ToolContext::bare(watch.place.path());
    cx.deadline = Some(std::time::Instant::now() + Duration::from_millis(700));
    let answer = run(cx, json!({"timeout": 3600})).await;
    assert_eq!(answer["timed_out"], true, "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_wait_stops_at_once() {
    let watch = Watch::new();
    let cx = ToolContext::bare(watch.place.path());
    let cancel = cx.cancel.clone();
    let task = tokio::spawn(run(cx, json!({"timeout": 3600})));
    cancel.cancel();
    let answer = tokio::time::timeout(Duration::from_secs(60), task).await.unwrap().unwrap();
    assert_eq!(answer["kind"], "cancelled");
}

#[tokio::test]
async fn cursors_belong_to_their_watch() {
    let watch = Watch::new();
    watch.write("src/a", "");
    let cursor = watch.mark(json!({"paths": ["src"]})).await;
    let other = watch.call(json!({"since": cursor, "timeout": 0})).await;
    assert_eq!(other["kind"], "invalid_arguments", "{other}");
    let unknown = watch.call(json!({"since": "w99", "timeout": 0})).await;
    assert_eq!(unknown["kind"], "not_found");
    let outsider = Watch::new().call(json!({"since": cursor, "timeout": 0})).await;
    assert_eq!(outsider["kind"], "not_found");
}

#[tokio::test]
async fn what_is_veiled_is_not_told() {
    let watch = Watch::new();
    let ask = |arguments: Value| {
        let mut cx = ToolContext::bare(watch.place.path());
        cx.session = watch.session.clone();
        let hides = |_: &hermes_core::Scope, path: &std::path::Path| path.ends_with(".env");
        cx.grants = Arc::new(hermes_core::Grants::allow_all().with_exceptions(Arc::new(hides)));
        run(cx, arguments)
    };
    let first = ask(json!({"timeout": 0})).await;
    watch.write(".env", "SECRET=1");
    watch.write("open", "x");
    let answer = ask(json!({"timeout": 0, "since": first["cursor"]})).await;
    assert_eq!(events(&answer), ["create open"]);
}

#[tokio::test]
async fn only_granted_paths_are_watched() {
    let watch = Watch::new();
    watch.write("in/a", "");
    watch.write("out/b", "");
    let arguments = json!({"paths": ["in"], "timeout": 0});
    let granted = watch.place.effects("file_watch", arguments.clone());
    assert_eq!(granted, [Effect::path(Scope::FILE_READ, watch.place.path().join("in"))]);
    for (grants, is_allowed) in [
        (Grants::from_effects(&granted), true),
        (
            Grants::from_effects(&[Effect::path(Scope::FILE_READ, watch.place.path().join("out"))]),
            false,
        ),
        (Grants::from_effects(&[]), false),
    ] {
        let mut cx = ToolContext::bare(watch.place.path());
        cx.grants = Arc::new(grants);
        let answer = run(cx, arguments.clone()).await;
        assert_eq!(answer["kind"] != "denied", is_allowed, "{answer}");
    }
}

#[tokio::test]
async fn a_folder_that_is_made_anew_is_another_one() {
    for session in [false, true] {
        let watch = Watch::new();
        let at = |name: &str| watch.place.path().join(name);
        watch.write("d/x", "1");
        fs::create_dir(at("empty")).unwrap();
        watch.write("file", "1");
        let cursor = watch.mark(json!({})).await;
        if session {
            // Another call takes the watch that is still going on.
            watch.since(&cursor).await;
        }
        fs::remove_dir_all(at("d")).unwrap();
        fs::create_dir(at("e")).unwrap();
        fs::remove_dir(at("empty")).unwrap();
        fs::create_dir(at("later")).unwrap();
        watch.write("e/y", "1");
        fs::remove_file(at("file")).unwrap();
        fs::create_dir(at("file")).unwrap();
        assert_eq!(
            watch.since(&cursor).await,
            [
                "delete d",
                "delete d/x",
                "create e",
                "create e/y",
                "delete empty",
                "delete file",
                "create file",
                "create later"
            ]
        );
    }
}

#[tokio::test]
async fn who_does_not_wait_does_not_wait_in_vain() {
    let watch = Watch::new();
    let answer = watch.call(json!({"timeout": 0})).await;
    assert_eq!((&answer["timed_out"], &answer["total"]), (&json!(false), &json!(0)));
}

#[tokio::test]
async fn folders_in_which_nothing_can_be_seen_are_told() {
    use std::os::unix::fs::PermissionsExt;
    let watch = Watch::new();
    watch.write("open/a", "");
    watch.write("closed/b", "");
    let closed = watch.place.path().join("closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let may_read = fs::read_dir(&closed).is_ok();
    let answer = watch.call(json!({"timeout": 0})).await;
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
    // The superuser reads everything.
    let expected = if may_read { Value::Null } else { json!(["closed"]) };
    assert_eq!(answer["unreadable"], expected, "{answer}");
    assert_eq!(answer["hint"].is_string(), !may_read, "{answer}");
}
