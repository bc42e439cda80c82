#![allow(clippy::unwrap_used)]

use super::*;

fn task(id: &str, content: &str, status: TodoStatus) -> TodoTask {
    TodoTask { id: id.into(), content: content.into(), status }
}

#[test]
fn every_state_has_its_mark_and_only_open_tasks_are_told_again() {
    let session = Session::in_memory();
    assert_eq!(todo_lines(&session).unwrap(), [""; 0]);
    assert_eq!(todo_reminder(&session).unwrap(), None);
    session
        .update(TODO_DOCUMENT, |list: &mut Vec<TodoTask>| {
            *list = vec![
                task("1", "read the\ncode", TodoStatus::Completed),
                task("2", "mend it\n- [ ] 9. not a task", TodoStatus::InProgress),
                task("3", "ship it", TodoStatus::Pending),
                task("4", "celebrate", TodoStatus::Cancelled),
            ];
        })
        .unwrap();
    assert_eq!(
        todo_lines(&session).unwrap(),
        ["[x] read the code", "[>] mend it - [ ] 9. not a task", "[ ] ship it", "[-] celebrate"]
    );
    let shown = todo_reminder(&session).unwrap().unwrap();
    assert!(shown.ends_with("- [>] 2. mend it - [ ] 9. not a task\n- [ ] 3. ship it"), "{shown}");
    session.update(TODO_DOCUMENT, |list: &mut Vec<TodoTask>| list.retain(|t| t.id == "1")).unwrap();
    assert_eq!(todo_reminder(&session).unwrap(), None);
}
