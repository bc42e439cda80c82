use serde_json::{Value, json};

use super::*;
use crate::shards::SHARD_COUNT;

fn context() -> ToolContext {
    ToolContext::bare("/tmp")
}

fn ask(cx: &ToolContext, what: &str, version: &str) -> bool {
    is_repeat(cx, Path::new("/tmp/x"), ShownPage { what, version, content: "1|x" }, false)
}

#[test]
fn the_second_time_is_a_repeat_and_the_third_is_not() {
    let cx = context();
    let answers: Vec<bool> = (0..5).map(|_| ask(&cx, "1", "v")).collect();
    assert_eq!(answers, [false, true, false, true, false]);
}

#[test]
fn another_version_range_or_task_is_no_repeat() {
    let cx = context();
    assert!(!ask(&cx, "1", "v"));
    assert!(!ask(&cx, "2", "v"));
    assert!(!ask(&cx, "1", "w"));
    let mut other = cx.clone();
    other.task_id = "sub".into();
    assert!(!ask(&other, "1", "w"));
    assert!(ask(&cx, "1", "w"));
    let again = ShownPage { what: "2", version: "v", content: "1|x" };
    assert!(!is_repeat(&cx, Path::new("/tmp/x"), again, true));
}

#[test]
fn what_a_script_reads_is_not_what_its_caller_was_shown() {
    let cx = context();
    let script = ToolContext { is_nested: true, ..cx.clone() };
    assert!(!ask(&script, "1", "v"));
    assert!(!ask(&script, "1", "v"), "a script sees it each time");
    assert!(!ask(&cx, "1", "v"), "the caller saw nothing of it");
    assert!(!ask(&script, "1", "v"));
    assert!(!ask(&script, "1", "w"));
    assert!(ask(&cx, "1", "v"));
}

#[test]
fn a_new_context_forgets() {
    let cx = context();
    assert!(!ask(&cx, "1", "v"));
    cx.session
        .update("context", |mark: &mut Value| *mark = json!({"generation": 1}))
        .expect("memory");
    assert!(!ask(&cx, "1", "v"));
    assert!(ask(&cx, "1", "v"));
}

#[test]
fn memory_is_bounded() {
    let mut cx = context();
    for at in 0..SHARD_COUNT * MAX_READS_PER_TASK * 2 {
        ask(&cx, &at.to_string(), "v");
    }
    for at in 0..MAX_TASKS_PER_SHARD + 10 {
        cx.task_id = format!("task {at}").into();
        ask(&cx, "1", "v");
    }
    let read = |shard: String| cx.session.read(&shard).expect("memory");
    let all: Vec<ReadHistory> = shards(READS_DOCUMENT).map(read).collect();
    assert_eq!(all.iter().map(|reads| reads.tasks.len()).max(), Some(MAX_TASKS_PER_SHARD));
    let longest = all.iter().flat_map(|reads| reads.tasks.values()).map(|task| task.reads.len());
    assert_eq!(longest.max(), Some(MAX_READS_PER_TASK));
}

#[test]
fn a_page_that_was_shown_is_known_again() {
    let cx = ToolContext::bare("/tmp");
    let page = ShownPage { what: "1", version: "v", content: "1|a | b\n2|c" };
    is_repeat(&cx, Path::new("/tmp/x"), page, false);
    for text in ["1|a | b\n2|c", "1|a | b\n2|c\n", "1|a | b\r\n2|c\r\n", "1|a | b\r2|c\r"] {
        assert!(was_shown(&cx, text), "{text:?}");
    }
    assert!(!was_shown(&cx, "1|a | b\n2|d"));
    assert!(!was_shown(&cx, ""));
}
