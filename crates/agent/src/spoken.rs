//! Models that have no other way ask for tools in the middle of their text.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use hermes_core::Arguments;
use hermes_llm::{Asked, Finish, Reply};
use hermes_protocol::{Dialect, parse};
use serde_json::Value;

/// What such a model is told about asking for tools.
const HOW_TO_ASK: &str = "\
To call a tool, write a block like this, and nothing after it:\n\
<tool_call>\n{\"name\": \"TOOL\", \"arguments\": {…}}\n</tool_call>\n\
Several blocks in one answer call several tools. The results come back as <tool_response> blocks.";

/// What such a model is told: its tools, and how to ask for them.
pub(crate) fn told(tools: &[Value]) -> String {
    let mut told = String::from("# Tools\n\nThese tools can be called:\n<tools>\n");
    for tool in tools {
        told.push_str(&tool.get("function").unwrap_or(tool).to_string());
        told.push('\n');
    }
    told.push_str("</tools>\n\n");
    told.push_str(HOW_TO_ASK);
    told
}

/// Takes the calls out of the text of an answer.
pub(crate) fn take_calls(reply: &mut Reply) {
    let Some(start) = reply.text.find("<tool_call>") else { return };
    let Ok(request) = parse(&reply.text, Some(Dialect::HermesText)) else { return };
    reply.calls = request.calls.iter().map(asked).collect();
    // What comes before is said to the user; what comes after is made up.
    reply.text.truncate(start);
    reply.text.truncate(reply.text.trim_end().len());
    if reply.finish == Finish::Stop {
        reply.finish = Finish::Calls;
    }
}

fn asked(call: &hermes_core::ToolCall) -> Asked {
    let arguments = match &call.arguments {
        Arguments::Json(value) => value.to_string(),
        Arguments::Text(text) => text.clone(),
    };
    Asked { id: String::new(), name: call.name.clone(), arguments }
}

/// A word for ids that no other call of this program has.
pub(crate) fn fresh() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}{:x}", now.as_micros() & 0xffff_ffff, NEXT.fetch_add(1, Ordering::Relaxed))
}
