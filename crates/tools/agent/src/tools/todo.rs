//! The session's task list.

use hermes_core::{
    Effect, JsonSchema, SchemaOverride, Scope, Session, SessionError, Tool, ToolContext, ToolError,
    ToolExample, ToolSpec, WorkingDir, answer_schema,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tasks::{self, TODO_DOCUMENT, TodoChangeReport, TodoStatus, TodoTask};
use crate::todo_patch::TodoRequest;
use crate::todo_schema;

#[derive(Debug, Default)]
pub(crate) struct Todo;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    #[serde(default)]
    #[schemars(description = todo_schema::TODOS_DESCRIPTION)]
    todos: TodoRequest,
    #[serde(default)]
    #[schemars(description = todo_schema::MERGE_DESCRIPTION)]
    merge: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TodoList {
    todos: Vec<TodoTask>,
    summary: TodoSummary,
    /// Number of items over the limit, which are not in the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<usize>,
    /// Corrections made to the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
struct TodoSummary {
    total: usize,
    pending: usize,
    in_progress: usize,
    completed: usize,
    cancelled: usize,
}

impl TodoList {
    fn new(todos: Vec<TodoTask>, TodoChangeReport { dropped, notes }: TodoChangeReport) -> Self {
        let mut summary = TodoSummary { total: todos.len(), ..TodoSummary::default() };
        for task in &todos {
            match task.status {
                TodoStatus::Pending => summary.pending += 1,
                TodoStatus::InProgress => summary.in_progress += 1,
                TodoStatus::Completed => summary.completed += 1,
                TodoStatus::Cancelled => summary.cancelled += 1,
            }
        }
        Self { todos, summary, dropped: (dropped > 0).then_some(dropped), notes }
    }
}

impl Args {
    fn apply(self, session: &Session) -> Result<TodoList, SessionError> {
        match self.todos {
            TodoRequest::Read => session
                .read(TODO_DOCUMENT)
                .map(|list| TodoList::new(list, TodoChangeReport::default())),
            TodoRequest::Write(patches) => {
                session.update(TODO_DOCUMENT, |list: &mut Vec<TodoTask>| {
                    let outcome = if self.merge {
                        tasks::merge(list, patches)
                    } else {
                        tasks::replace(list, patches)
                    };
                    TodoList::new(list.clone(), outcome)
                })
            }
        }
    }
}

impl Tool for Todo {
    type Args = Args;
    type Output = TodoList;

    fn spec() -> ToolSpec {
        ToolSpec::new("todo", "todo")
            .emoji("📋")
            .description(
                "The session's task list, for work of three or more steps. Returns the whole list. \
                 Keep exactly one item in_progress; mark items completed as soon as they are done.",
            )
            .alias("todo_write")
            .preset_alias("todo_read", r#"{"todos":null}"#)
            .alias("todo_list")
            .alias("write_todos")
            .parameter_alias("items", "todos")
            .parameter_alias("tasks", "todos")
            .idempotent()
            .keyword("plan")
            .keyword("task list")
            .keyword("checklist")
            .keyword("steps")
            .keyword("progress")
            .example(
                ToolExample::new(
                    "Start a list",
                    r#"{"todos":[{"id":"1","content":"Reproduce the bug","status":"in_progress"},{"id":"2","content":"Fix it","status":"pending"}]}"#,
                )
                .expects(r#"{"summary":{"total":2,"pending":1,"in_progress":1,"completed":0,"cancelled":0}}"#),
            )
            .example(
                ToolExample::new(
                    "Add one item to the list",
                    r#"{"merge":true,"todos":[{"id":"docs","content":"Update the manual","status":"pending"}]}"#,
                )
                .expects(r#"{"todos":[{"id":"docs","content":"Update the manual","status":"pending"}]}"#),
            )
            .example(ToolExample::new("Read the list", "{}").expects(r#"{"todos":[],"summary":{"total":0}}"#))
    }

    fn overrides(&self) -> Option<SchemaOverride> {
        Some(SchemaOverride::from_iter([(
            "parameters".to_owned(),
            todo_schema::strict_parameters(),
        )]))
    }

    fn output_schema() -> Option<Value> {
        Some(answer_schema::<TodoList>())
    }

    fn effects(&self, args: &Args, _at: &WorkingDir) -> Vec<Effect> {
        let scope = match args.todos {
            TodoRequest::Write(_) => Scope::PLAN_WRITE,
            TodoRequest::Read => Scope::PLAN_READ,
        };
        vec![Effect::name(scope, TODO_DOCUMENT)]
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<TodoList, ToolError> {
        let session = cx.session.clone();
        if !session.may_block() {
            return Ok(args.apply(&session)?);
        }
        // Another process may hold the session's lock.
        let work = tokio::task::spawn_blocking(move || args.apply(&session));
        let plan =
            work.await.map_err(|e| ToolError::internal(format!("The todo worker failed: {e}")))?;
        Ok(plan?)
    }
}

#[cfg(test)]
#[path = "todo_tests.rs"]
mod tests;
