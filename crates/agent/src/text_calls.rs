//! Tool calls written in the reply text, for models without native tool calls.

use std::borrow::Cow;

use hermes_core::CallArguments;
use hermes_llm::{FinishReason, ModelReply, RequestedCall};
use hermes_protocol::{CallDialect, parse};
use hermes_schema::parse_arguments;
use serde_json::Value;

/// Opening tag of a call.
const CALL_START_TAG: &str = "<tool_call>";
/// Closing tag of a call.
const CALL_END_TAG: &str = "</tool_call>";

/// Prompt that explains the call syntax.
const CALL_INSTRUCTIONS: &str = "\
To call a tool, write a block like this, and nothing after it:\n\
<tool_call>\n{\"name\": \"TOOL\", \"arguments\": {…}}\n</tool_call>\n\
Several blocks in one answer call several tools. The results come back as <tool_response> blocks.";

/// Builds the prompt section with the tool definitions and the call syntax.
pub(crate) fn tools_prompt(tools: &[Value]) -> String {
    let mut shown = String::from("# Tools\n\nThese tools can be called:\n<tools>\n");
    for tool in tools {
        shown.push_str(&tool.get("function").unwrap_or(tool).to_string());
        shown.push('\n');
    }
    shown.push_str("</tools>\n\n");
    shown.push_str(CALL_INSTRUCTIONS);
    shown
}

/// Finds the first call in streamed text. A call inside a code block is a quote
/// and is ignored.
#[derive(Debug, Default)]
struct CallFinder {
    text: String,
    /// Offset of the last line.
    line_start: usize,
    /// Marker of the open code fence, if any.
    fence: Option<String>,
}

impl CallFinder {
    /// Appends text; returns the offset of the first call, if found.
    fn push(&mut self, more: &str) -> Option<usize> {
        self.text.push_str(more);
        loop {
            let rest = &self.text[self.line_start..];
            let end = rest.find('\n');
            let line = &rest[..end.unwrap_or(rest.len())];
            if self.fence.is_none()
                && fence_marker(line).is_none()
                && let Some(at) = find_unquoted_call(line)
            {
                return Some(self.line_start + at);
            }
            let end = end?;
            self.fence = match (self.fence.take(), fence_marker(line)) {
                (None, opened) => opened.map(str::to_owned),
                (Some(open), Some(mark)) if closes_fence(&open, mark, line) => None,
                (open, _) => open,
            };
            self.line_start += end + 1;
        }
    }
}

/// Returns the code fence marker that a line starts with.
fn fence_marker(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|first| matches!(first, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(mark).len();
    (length >= 3).then(|| &line[..length])
}

fn closes_fence(open: &str, mark: &str, line: &str) -> bool {
    mark.starts_with(open) && line.trim() == mark
}

/// Returns the offset of a call in a line, unless it is in a code span.
fn find_unquoted_call(line: &str) -> Option<usize> {
    line.match_indices(CALL_START_TAG).map(|(at, _)| at).find(|at| !line[..*at].ends_with('`'))
}

/// Returns the offset of the first call in a reply.
pub(crate) fn find_call(text: &str) -> Option<usize> {
    CallFinder::default().push(text)
}

/// Whether a reply quotes a call and makes none.
pub(crate) fn only_quotes_call(text: &str) -> bool {
    text.contains(CALL_START_TAG) && find_call(text).is_none()
}

/// Filters calls out of streamed text that is shown to the user.
#[derive(Debug, Default)]
pub(crate) struct CallFilter {
    finder: CallFinder,
    /// Bytes already shown.
    shown_bytes: usize,
    in_call: bool,
}

impl CallFilter {
    /// Appends text; returns what can be shown so far.
    pub(crate) fn push(&mut self, text: &str) -> String {
        if self.in_call {
            return String::new();
        }
        let found = self.finder.push(text);
        self.in_call = found.is_some();
        let heard = &self.finder.text;
        // Hold back a possible start of a call.
        let may_begin = |at: &usize| CALL_START_TAG.starts_with(&heard[*at..]);
        let from = heard.ceil_char_boundary(heard.len().saturating_sub(CALL_START_TAG.len() - 1));
        let held = || {
            let mut places = (from..heard.len()).filter(|at| heard.is_char_boundary(*at));
            places.find(may_begin).unwrap_or(heard.len())
        };
        let until = found.unwrap_or_else(held).max(self.shown_bytes);
        let said = heard[self.shown_bytes..until].to_owned();
        self.shown_bytes = until;
        said
    }

    /// Ends the reply; returns the text that was held back.
    pub(crate) fn finish(self) -> String {
        match self.in_call {
            true => String::new(),
            false => self.finder.text[self.shown_bytes..].to_owned(),
        }
    }
}

/// Whether a text ends with a call.
pub(crate) fn ends_with_call(text: &str) -> bool {
    text.contains(CALL_START_TAG) && text.trim_end().ends_with(CALL_END_TAG)
}

/// Moves the calls from the reply text to `reply.calls`.
pub(crate) fn take_calls(reply: &mut ModelReply) {
    let Some(start) = find_call(&reply.text) else { return };
    let Ok(request) = parse(&repair_blocks(&reply.text[start..]), Some(CallDialect::HermesText))
    else {
        return;
    };
    reply.calls = request.calls.iter().map(to_requested_call).collect();
    // Text before the calls is for the user; text after them is hallucinated.
    reply.text.truncate(start);
    reply.text.truncate(reply.text.trim_end().len());
    if reply.finish == FinishReason::Stop {
        reply.finish = FinishReason::Calls;
    }
}

/// Repairs blocks that are almost JSON, as is done for arguments. Ambiguous
/// ones stay unchanged and get an error.
fn repair_blocks(text: &str) -> Cow<'_, str> {
    let mut repaired = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(CALL_START_TAG) {
        let Some((body, next)) = after.split_once(CALL_END_TAG) else { break };
        repaired.push_str(before);
        repaired.push_str(CALL_START_TAG);
        let parsed = match serde_json::from_str::<Value>(body) {
            Ok(_) => None,
            Err(_) => parse_arguments(&quote_bare_name(body.trim())).ok(),
        };
        match parsed.filter(|it| !it.is_guess && it.value["name"].is_string()) {
            Some(parsed) => repaired.push_str(&parsed.value.to_string()),
            None => repaired.push_str(body),
        }
        repaired.push_str(CALL_END_TAG);
        rest = next;
    }
    if repaired.is_empty() {
        return text.into();
    }
    repaired.push_str(rest);
    repaired.into()
}

/// Quotes a bare value of `name`, which is unambiguous.
fn quote_bare_name(body: &str) -> Cow<'_, str> {
    let quoted = || {
        let (before, after) = body.split_once("name")?;
        let value = after.trim_start().strip_prefix(':')?.trim_start();
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
        let end = value.find(|c: char| !is_part(c))?;
        let is_bare = before.ends_with(['{', ',', ' ', '\n']) && end > 0;
        let (name, rest) = value.split_at(end);
        is_bare.then(|| format!("{before}\"name\": \"{name}\"{rest}"))
    };
    quoted().map_or(body.into(), Cow::Owned)
}

fn to_requested_call(call: &hermes_core::ToolCall) -> RequestedCall {
    let arguments = match &call.arguments {
        CallArguments::Json(value) => value.to_string(),
        CallArguments::Text(text) => text.clone(),
    };
    RequestedCall { id: String::new(), name: call.name.clone(), arguments }
}

#[cfg(test)]
mod tests {
    use hermes_llm::ModelReply;

    use super::{CallFilter, take_calls};

    fn said(pieces: &[&str]) -> (Vec<String>, String) {
        let mut aloud = CallFilter::default();
        let shown = pieces.iter().map(|piece| aloud.push(piece)).collect();
        (shown, aloud.finish())
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
    fn a_call_in_a_block_of_code_is_quoted() {
        let call = "<tool_call>\n{\"name\": \"write_file\", \"arguments\": {}}\n</tool_call>";
        for (text, calls) in [
            (format!("An example:\n```\n{call}\n```\nThat is how."), 0),
            (format!("~~~~xml\n~~~\n{call}\n~~~~"), 0),
            (format!("Write `{call}`."), 0),
            (format!("```\nls\n```\n{call}"), 1),
            (format!("I do it.\n{call}\nDone."), 1),
            (format!("{call}\n{call}"), 2),
        ] {
            let mut reply = ModelReply { text: text.clone(), ..ModelReply::default() };
            take_calls(&mut reply);
            assert_eq!(reply.calls.len(), calls, "{text}");
            let pieces: Vec<String> = text.chars().map(String::from).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let (shown, rest) = said(&pieces);
            assert_eq!((shown.concat() + &rest).contains("<tool_call>"), calls == 0, "{text}");
        }
    }

    #[test]
    fn a_call_that_is_nearly_json_is_made() {
        for body in [
            "{name: read_file, arguments: {path: \"a.txt\"}}",
            "{'name': 'read_file', 'arguments': {'path': 'a.txt',}}",
            "{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}",
        ] {
            let text = format!("I look.\n<tool_call>\n{body}\n</tool_call>");
            let mut reply = ModelReply { text, ..ModelReply::default() };
            take_calls(&mut reply);
            assert_eq!(reply.calls.len(), 1, "{body}");
            assert_eq!(reply.calls[0].name, "read_file", "{body}");
            assert_eq!(reply.calls[0].arguments, "{\"path\":\"a.txt\"}", "{body}");
        }
    }

    #[test]
    fn what_only_looks_like_one_is_said_in_the_end() {
        let (shown, rest) = said(&["a <tool", "_box> and <tool_ca"]);
        assert_eq!(shown.concat(), "a <tool_box> and ");
        assert_eq!(rest, "<tool_ca");
    }
}
