//! The session's task list as text, for users and for a model whose earlier
//! messages were compacted.

use hermes_core::{Session, SessionError};

use crate::tasks::{TODO_DOCUMENT, TodoStatus, TodoTask};

/// Returns one line per task: `[ ]` pending, `[>]` in progress, `[x]`
/// completed, `[-]` cancelled.
pub fn todo_lines(session: &Session) -> Result<Vec<String>, SessionError> {
    let tasks: Vec<TodoTask> = session.read(TODO_DOCUMENT)?;
    Ok(tasks
        .iter()
        .map(|task| format!("{} {}", checkbox(task.status), on_one_line(&task.content)))
        .collect())
}

/// Returns the open tasks for a model that no longer sees the calls that
/// created them. None if no task is open.
pub fn todo_reminder(session: &Session) -> Result<Option<String>, SessionError> {
    let tasks: Vec<TodoTask> = session.read(TODO_DOCUMENT)?;
    let open =
        tasks.iter().filter(|t| matches!(t.status, TodoStatus::Pending | TodoStatus::InProgress));
    let lines: Vec<String> = open
        .map(|t| {
            format!("- {} {}. {}", checkbox(t.status), on_one_line(&t.id), on_one_line(&t.content))
        })
        .collect();
    if lines.is_empty() {
        return Ok(None);
    }
    Ok(Some(format!("Open items of your task list (the todo tool):\n{}", lines.join("\n"))))
}

fn checkbox(status: TodoStatus) -> &'static str {
    match status {
        TodoStatus::Pending => "[ ]",
        TodoStatus::InProgress => "[>]",
        TodoStatus::Completed => "[x]",
        TodoStatus::Cancelled => "[-]",
    }
}

/// Joins lines, so one task does not look like two.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[path = "todo_text_tests.rs"]
mod tests;
