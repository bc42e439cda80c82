#![allow(clippy::unwrap_used)]

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn patches(items: Value) -> Vec<TodoPatch> {
    serde_json::from_value(items).unwrap()
}

fn written(items: Value) -> Vec<TodoTask> {
    let mut list = Vec::new();
    replace(&mut list, patches(items));
    list
}

fn shown(list: &[TodoTask]) -> Value {
    serde_json::to_value(list).unwrap()
}

#[test]
fn a_list_of_bad_items_is_still_a_list() {
    let list = written(json!([
        {"id": 1, "content": "a", "status": "DONE"},
        {"id": "1", "content": "b", "status": "in_progress"},
        {"content": ""},
        "x"
    ]));
    assert_eq!(
        shown(&list),
        json!([
            {"id": "1", "content": "b", "status": "in_progress"},
            {"id": "2", "content": "(no description)", "status": "pending"},
            {"id": "3", "content": "(invalid item)", "status": "pending"}
        ])
    );
}

#[test]
fn a_merge_changes_what_is_given_and_appends_what_is_new() {
    let mut list = written(json!([
        {"id": "1", "content": "b", "status": "in_progress"},
        {"content": ""},
        "x"
    ]));
    merge(
        &mut list,
        patches(json!([{"id": 1, "status": "completed"}, {"id": 9, "content": "new"}])),
    );
    assert_eq!(
        shown(&list),
        json!([
            {"id": "1", "content": "b", "status": "completed"},
            {"id": "2", "content": "(no description)", "status": "pending"},
            {"id": "3", "content": "(invalid item)", "status": "pending"},
            {"id": "9", "content": "new", "status": "pending"}
        ])
    );
}

#[test]
fn the_last_of_a_kind_stands_where_it_stood() {
    let list = written(json!([
        {"id": "a", "content": "first"},
        {"id": "b", "content": "between"},
        {"id": "a", "content": "last"}
    ]));
    let contents: Vec<&str> = list.iter().map(|task| task.content.as_str()).collect();
    assert_eq!(contents, ["between", "last"]);
}

#[test]
fn a_status_is_read_in_any_case_and_unknown_is_pending() {
    let list = written(json!([
        {"id": "a", "status": " Completed "},
        {"id": "b", "status": "IN_PROGRESS"},
        {"id": "c", "status": "halfway"},
        {"id": "d", "status": 7},
        {"id": "e", "status": "cancelled"}
    ]));
    let statuses: Vec<TodoStatus> = list.iter().map(|task| task.status).collect();
    use TodoStatus::{Cancelled, Completed, InProgress, Pending};
    assert_eq!(statuses, [Completed, InProgress, Pending, Pending, Cancelled]);
}

#[test]
fn words_that_mean_a_status_are_read_as_it() {
    for (words, status) in [
        ("pending todo open new not-started NOT_STARTED To-Do", TodoStatus::Pending),
        ("in-progress InProgress doing started active WIP", TodoStatus::InProgress),
        ("Done complete finished closed", TodoStatus::Completed),
        ("canceled dropped skipped CANCELLED", TodoStatus::Cancelled),
    ] {
        for word in words.split(' ') {
            assert_eq!(TodoStatus::from_name(word), Some(status), "{word}");
        }
    }
    assert_eq!(TodoStatus::from_name("in progress"), Some(TodoStatus::InProgress));
    assert_eq!(TodoStatus::from_name("Not started"), Some(TodoStatus::Pending));
    for word in ["", "-", "halfway", "undone", "7"] {
        assert_eq!(TodoStatus::from_name(word), None, "{word}");
    }
}

#[test]
fn what_was_changed_is_noted() {
    let mut list = Vec::new();
    let outcome = replace(
        &mut list,
        patches(json!([
            {"id": "a", "content": "first", "status": "done"},
            {"id": "a", "content": "again", "status": "halfway"},
            {"id": "b"},
            {"content": "c"},
            "x"
        ])),
    );
    assert_eq!(
        outcome.notes,
        [
            "Item 1 dropped: item 2 has the same id 'a'.",
            "Item 2: unknown status 'halfway', set to pending.",
            "Item 3 has no content.",
            "Item 5 is not an object.",
        ]
    );
    let changed = patches(json!([{"id": "a", "status": "odd"}, {"id": "b", "status": "done"}]));
    let outcome = merge(&mut list, changed);
    assert_eq!(outcome.notes, ["Item 1: unknown status 'odd', left as it was."]);
}

#[test]
fn a_merge_leaves_what_it_does_not_understand() {
    let mut list = written(json!([{"id": "a", "content": "keep", "status": "completed"}]));
    merge(&mut list, patches(json!([{"id": "a", "content": "  ", "status": "halfway"}])));
    assert_eq!(shown(&list), json!([{"id": "a", "content": "keep", "status": "completed"}]));
}

#[test]
fn items_without_an_id_get_distinct_ones() {
    let list = written(json!([
        {"content": "a"},
        {"id": null, "content": "b"},
        {"id": 2, "content": "c"},
        {"id": " ", "description": "d", "status": "in_progress"}
    ]));
    let ids: Vec<&str> = list.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, ["1", "3", "2", "4"]);
    assert_eq!(list[3].content, "d");
}

#[test]
fn a_merged_item_without_an_id_is_the_task_with_its_content() {
    let mut list = written(json!([{"content": "a"}, {"content": "b"}]));
    merge(
        &mut list,
        patches(json!([{"description": "b", "status": "completed"}, {"content": "c"}])),
    );
    assert_eq!(
        shown(&list),
        json!([
            {"id": "1", "content": "a", "status": "pending"},
            {"id": "2", "content": "b", "status": "completed"},
            {"id": "3", "content": "c", "status": "pending"}
        ])
    );
}

#[test]
fn a_list_holds_no_more_than_its_limit() {
    let items: Vec<Value> = (0..300).map(|n| json!({"id": n, "content": "x"})).collect();
    let mut list = Vec::new();
    assert_eq!(replace(&mut list, patches(json!(items))).dropped, 44);
    assert_eq!(list.len(), MAX_TASKS);
    assert_eq!(list.last().unwrap().id, "255");
    let late = patches(json!([{"id": 0, "status": "completed"}, {"id": "new"}]));
    assert_eq!(merge(&mut list, late).dropped, 1);
    assert_eq!(list.first().unwrap().status, TodoStatus::Completed);
    assert_eq!(list.len(), MAX_TASKS);
}

fn any_item() -> impl Strategy<Value = Value> {
    let id = prop_oneof![
        Just(json!(null)),
        "[ab?]{0,1}".prop_map(Value::from),
        (0..4).prop_map(Value::from)
    ];
    let content = prop_oneof![Just(json!(null)), ".{0,5}".prop_map(Value::from)];
    let status = prop_oneof![Just("pending"), Just("completed"), Just("?")];
    prop_oneof![
        8 => (id, content, status)
            .prop_map(|(id, content, status)| json!({"id": id, "content": content, "status": status})),
        1 => Just(json!("loose")),
    ]
}

proptest! {
    #[test]
    fn a_merge_gives_every_id_once_and_repeating_it_changes_nothing(
        first in prop::collection::vec(any_item(), 0..12),
        second in prop::collection::vec(any_item(), 0..12),
    ) {
        let mut list = written(json!(first));
        merge(&mut list, patches(json!(second.clone())));
        let ids: HashSet<&str> = list.iter().map(|task| task.id.as_str()).collect();
        prop_assert_eq!(ids.len(), list.len());
        prop_assert!(list.iter().all(|task| !task.content.is_empty() && !task.id.is_empty()));
        let once = list.clone();
        merge(&mut list, patches(json!(second)));
        prop_assert_eq!(list, once);
    }
}
