#![allow(clippy::unwrap_used)]

use hermes_core::{BoxFuture, ToolCall, ToolMatch, ToolResult};
use serde_json::json;

use super::*;

/// A session with these tools, which can only be looked at.
pub(crate) struct Shelf(pub(crate) Vec<(&'static str, Value)>);

impl EngineHandle for Shelf {
    fn search_tools(&self, _query: &str, _limit: Option<usize>) -> (Vec<ToolMatch>, usize) {
        (Vec::new(), 0)
    }

    fn describe_tool(&self, name: &str) -> Option<Value> {
        let (name, properties) = self.0.iter().find(|(known, _)| *known == name)?;
        let parameters = json!({ "properties": properties, "required": ["path"] });
        Some(json!({ "name": name, "description": "Does it.", "parameters": parameters }))
    }

    fn similar_names(&self, _name: &str) -> Vec<String> {
        Vec::new()
    }

    fn tool_names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    fn call(&self, _call: ToolCall) -> BoxFuture<'_, ToolResult> {
        unreachable!("nothing is called here")
    }

    fn call_all(&self, _calls: Vec<ToolCall>) -> BoxFuture<'_, Vec<ToolResult>> {
        unreachable!("nothing is called here")
    }
}

fn names(host: &Shelf, more: &[&str]) -> Vec<String> {
    let more: Vec<String> = more.iter().map(|name| (*name).to_owned()).collect();
    callable_tools(Some(host), &more).into_iter().map(|tool| tool.name).collect()
}

#[test]
fn only_what_the_session_has_is_offered() {
    let shelf = Shelf(vec![
        ("execute_code", json!({})),
        ("read_file", json!({})),
        ("sleep", json!({})),
        ("terminal", json!({})),
    ]);
    assert_eq!(names(&shelf, &[]), ["read_file", "terminal"]);
    assert_eq!(
        names(&shelf, &["sleep", "sleep", "execute_code", "nonesuch"]),
        ["read_file", "terminal", "sleep"]
    );
    assert_eq!(names(&Shelf(vec![("sleep", json!({}))]), &[]), [""; 0], "none is none");
    assert!(callable_tools(None, &[]).is_empty());
}

#[test]
fn arguments_come_in_the_order_that_people_know() {
    let shelf = Shelf(vec![
        ("read_file", json!({ "limit": {}, "raw": {}, "offset": {}, "path": {} })),
        ("terminal", json!({ "background": {}, "workdir": {}, "command": {}, "detach": {} })),
    ]);
    let offered = callable_tools(Some(&shelf), &[]);
    let of = |at: usize| -> Vec<&str> {
        offered[at].parameters.iter().map(|it| it.name.as_str()).collect()
    };
    assert_eq!(of(0), ["path", "offset", "limit", "raw"]);
    assert_eq!(of(1), ["command", "workdir"], "nothing that outlives the script");
    assert!(offered[1].parameters[0].is_required);
}
