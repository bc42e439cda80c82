//! Models that have no other way ask for tools in the middle of their text.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use hermes_core::Arguments;
use hermes_llm::{Asked, Finish, Reply};
use hermes_protocol::{Dialect, parse};
use serde_json::Value;

/// What a call begins with.
const MARK: &str = "<tool_call>";

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

/// What of an answer is said to the user, as it comes: not the calls in it.
#[derive(Debug, Default)]
pub(crate) struct Aloud {
    /// What may be the beginning of a call.
    held: String,
    in_call: bool,
}

impl Aloud {
    /// More of the answer; what of it can be shown by now.
    pub(crate) fn hear(&mut self, text: &str) -> String {
        if self.in_call {
            return String::new();
        }
        self.held.push_str(text);
        if let Some(start) = self.held.find(MARK) {
            self.in_call = true;
            self.held.truncate(start);
            return std::mem::take(&mut self.held);
        }
        let may_begin = |at: &usize| MARK.starts_with(&self.held[*at..]);
        let from = self.held.len().saturating_sub(MARK.len() - 1);
        let from = self.held.ceil_char_boundary(from);
        let kept =
            (from..self.held.len()).filter(|at| self.held.is_char_boundary(*at)).find(may_begin);
        let rest = self.held.split_off(kept.unwrap_or(self.held.len()));
        std::mem::replace(&mut self.held, rest)
    }

    /// The answer is complete; what was held back of it.
    pub(crate) fn end(self) -> String {
        self.held
    }
}

/// Whether a text ends with a call.
pub(crate) fn is_call(text: &str) -> bool {
    text.contains(MARK) && text.trim_end().ends_with("</tool_call>")
}

/// Takes the calls out of the text of an answer.
pub(crate) fn take_calls(reply: &mut Reply) {
    let Some(start) = reply.text.find(MARK) else { return };
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

#[cfg(test)]
mod tests {
    use super::Aloud;

    fn said(pieces: &[&str]) -> (Vec<String>, String) {
        let mut aloud = Aloud::default();
        let shown = pieces.iter().map(|piece| aloud.hear(piece)).collect();
        (shown, aloud.end())
    }

    #[test]
    fn calls_are_not_said_however_they_are_cut() {
        let text = "Ich schaue nach, größer <b> als. <tool_call>\n{}</tool_call>";
        for size in 1..text.len() {
            let chars: Vec<char> = text.chars().collect();
            let pieces: Vec<String> =
                chars.chunks(size).map(|piece| piece.iter().collect()).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let (shown, rest) = said(&pieces);
            assert_eq!(shown.concat() + &rest, "Ich schaue nach, größer <b> als. ");
        }
    }

    #[test]
    fn what_only_looks_like_one_is_said_in_the_end() {
        let (shown, rest) = said(&["a <tool", "_box> and <tool_ca"]);
        assert_eq!(shown.concat(), "a <tool_box> and ");
        assert_eq!(rest, "<tool_ca");
    }
}
