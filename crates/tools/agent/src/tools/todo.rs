//! The session's task list.

use std::time::Duration;
use hermes_core::*;
use serde::{Deserialize, Serialize};

#[derive(Debug, Default)]
pub(crate) struct Todo;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// x
    todos: Option<Vec<String>>,
}
#[derive(Debug, Serialize)]
pub(crate) struct Out { n: usize }

impl Tool for Todo {
    type Args = Args;
    type Output = Out;
    fn spec() -> ToolSpec { ToolSpec::new("todo", "todo").timeout(Duration::from_secs(1)) }
    fn effects(&self, _: &Args, _: &Workplace) -> Vec<Effect> { vec![] }
    async fn run(&self, args: Args, _cx: &ToolContext) -> Result<Out, ToolError> { Ok(Out { n: args.todos.map_or(0, |t| t.len()) }) }
}
