//! The session's task list.

use hermes_core::{
    Effect, ToolExample, JsonSchema, SchemaOverride, Scope, Session, SessionError, Tool, ToolContext,
    ToolError, ToolSpec, WorkingDir, answer_schema,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::patch::Wish;
use crate::shape;
use crate::tasks::{self, DOCUMENT, Outcome, Status, Task};

#[derive(Debug, Default)]
pub(crate) struct Todo;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    #[serde(default)]
    #[schemars(description = shape::TODOS)]
    todos: Wish,
    #[serde(default)]
    #[schemars(description = shape::MERGE)]
    merge: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Plan {
    todos: Vec<Task>,
    summary: Summary,
    /// How many items were over the limit and are not in the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<usize>,
    /// What of the request was changed to make sense of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
struct Summary {
    total: usize,
    pending: usize,
    in_progress: usize,
    completed: usize,
    cancelled: usize,
}

impl Plan {
    fn new(todos: Vec<Task>, Outcome { dropped, notes }: Outcome) -> Self {
        let mut summary = Summary { total: todos.len(), ..Summary::default() };
        for task in &todos {
            match task.status {
                Status::Pending => summary.pending += 1,
                Status::InProgress => summary.in_progress += 1,
                Status::Completed => summary.completed += 1,
                Status::Cancelled => summary.cancelled += 1,
            }
        }
        Self { todos, summary, dropped: (dropped > 0).then_some(dropped), notes }
    }
}

impl Args {
    fn serve(self, session: &Session) -> Result<Plan, SessionError> {
        match self.todos {
            Wish::Read => session.read(DOCUMENT).map(|list| Plan::new(list, Outcome::default())),
            Wish::Write(patches) => session.update(DOCUMENT, |list: &mut Vec<Task>| {
                let outcome = if self.merge {
                    tasks::merge(list, patches)
                } else {
                    tasks::replace(list, patches)
                };
                Plan::new(list.clone(), outcome)
            }),
        }
    }
}

impl Tool for Todo {
    type Args = Args;
    type Output = Plan;

    fn spec() -> ToolSpec {
        ToolSpec::new("todo", "todo")
            .emoji("📋")
            .description(
                "The session's task list, for work of three or more steps. Returns the whole list. \
                 Keep exactly one item in_progress; mark items completed as soon as they are done.",
            )
            .alias("todo_write")
            .alias("todo_read")
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
                    "Add one item to whatever is there",
                    r#"{"merge":true,"todos":[{"id":"docs","content":"Update the manual","status":"pending"}]}"#,
                )
                .expects(r#"{"todos":[{"id":"docs","content":"Update the manual","status":"pending"}]}"#),
            )
            .example(ToolExample::new("Read the list", "{}").expects(r#"{"todos":[],"summary":{"total":0}}"#))
    }

    fn overrides(&self) -> Option<SchemaOverride> {
        Some(SchemaOverride::from_iter([("parameters".to_owned(), shape::strict())]))
    }

    fn output_schema() -> Option<Value> {
        Some(answer_schema::<Plan>())
    }

    fn effects(&self, args: &Args, _at: &WorkingDir) -> Vec<Effect> {
        let scope = match args.todos {
            Wish::Write(_) => Scope::PLAN_WRITE,
            Wish::Read => Scope::PLAN_READ,
        };
        vec![Effect::name(scope, DOCUMENT)]
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Plan, ToolError> {
        let session = cx.session.clone();
        if !session.may_block() {
            return Ok(args.serve(&session)?);
        }
        // Another process may hold the session's lock.
        let work = tokio::task::spawn_blocking(move || args.serve(&session));
        let plan =
            work.await.map_err(|e| ToolError::internal(format!("The list was lost: {e}")))?;
        Ok(plan?)
    }
}

#[cfg(test)]
#[path = "todo_tests.rs"]
mod tests;
