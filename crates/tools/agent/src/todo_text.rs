//! The session's task list as text: for people who watch, and for a model
//! whose earlier messages were summed up.

use hermes_core::{Session, SessionError};

use crate::tasks::{TODO_DOCUMENT, TodoStatus, TodoTask};

/// The list, a line for each task: `[ ]` to do, `[>]` under way, `[x]` done,
/// `[-]` cancelled.
pub fn todo_lines(session: &Session) -> Result<Vec<String>, SessionError> {
    let tasks: Vec<TodoTask> = session.read(TODO_DOCUMENT)?;
    Ok(tasks
        .iter()
        .map(|task| format!("{} {}", checkbox(task.status), on_one_line(&task.content)))
        .collect())
}

/// What a model must be told of the list once it no longer sees the calls that
/// made it: what is still to do. None if nothing is.
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
    Ok(Some(format!("Your task list (the todo tool), as far as it is open:\n{}", lines.join("\n"))))
}

fn checkbox(status: TodoStatus) -> &'static str {
    match status {
        TodoStatus::Pending => "[ ]",
        TodoStatus::InProgress => "[>]",
        TodoStatus::Completed => "[x]",
        TodoStatus::Cancelled => "[-]",
    }
}

/// A task must not look like two.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[path = "todo_text_tests.rs"]
mod tests;
