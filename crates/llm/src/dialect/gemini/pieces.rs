//! How an answer is read.

use serde_json::{Value, json};

use super::super::{Heard, Pieces, count, error};
use crate::fault::{Fault, FaultKind};
use crate::kept::keep;
use crate::reply::{Event, Finish, Usage};

/// Reads the chunks of one answer.
#[derive(Debug)]
pub(crate) struct Reader {
    origin: String,
    named: bool,
    calls: usize,
}

impl Reader {
    pub(crate) fn new(origin: String) -> Self {
        Self { origin, named: false, calls: 0 }
    }

    fn part(&mut self, part: &Value, events: &mut Vec<Event>) {
        let mut of = json!("text");
        if let Some(call) = part.get("functionCall") {
            let index = self.calls;
            self.calls += 1;
            of = json!(index);
            let id = call["id"].as_str().map(str::to_owned);
            let name = call["name"].as_str().unwrap_or_default().to_owned();
            events.push(Event::Call { index, id, name });
            let arguments = call.get("args").filter(|args| !args.is_null());
            let text = arguments.map_or_else(|| "{}".to_owned(), Value::to_string);
            events.push(Event::Arguments { index, text });
        } else if let Some(text) = part["text"].as_str().filter(|text| !text.is_empty()) {
            let text = text.to_owned();
            events.push(if part["thought"] == true {
                Event::Thought(text)
            } else {
                Event::Text(text)
            });
        }
        if let Some(signature) = part.get("thoughtSignature") {
            let piece = json!({"of": of, "thoughtSignature": signature});
            events.push(Event::Opaque(keep(&self.origin, 0, self.calls, piece)));
        }
    }
}

impl Pieces for Reader {
    fn take(&mut self, data: &Value, events: &mut Vec<Event>) -> Result<Heard, Fault> {
        if data.get("error").is_some_and(|error| !error.is_null()) {
            return Err(error(data));
        }
        if let Some(reason) = data["promptFeedback"]["blockReason"].as_str() {
            let message = format!("the server refuses the request: {reason}");
            return Err(Fault::new(FaultKind::Refused, message));
        }
        if !self.named
            && let Some(model) = data["modelVersion"].as_str()
        {
            self.named = true;
            events.push(Event::Model(model.to_owned()));
        }
        let candidate = &data["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            self.part(part, events);
        }
        if data["usageMetadata"].is_object() {
            events.push(Event::Usage(usage(&data["usageMetadata"])));
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            events.push(Event::Finish(match reason {
                "STOP" if self.calls > 0 => Finish::Calls,
                "MAX_TOKENS" => Finish::Length,
                "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => Finish::Malformed,
                "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
                | "IMAGE_SAFETY" | "LANGUAGE" => Finish::Filtered,
                _ => Finish::Stop,
            }));
        }
        Ok(Heard::More)
    }
}

fn usage(usage: &Value) -> Usage {
    let thought = count(&usage["thoughtsTokenCount"]);
    Usage {
        input: count(&usage["promptTokenCount"]) + count(&usage["toolUsePromptTokenCount"]),
        output: count(&usage["candidatesTokenCount"]) + thought,
        cache_read: count(&usage["cachedContentTokenCount"]),
        cache_write: 0,
        reasoning: thought,
        cost: None,
    }
}
