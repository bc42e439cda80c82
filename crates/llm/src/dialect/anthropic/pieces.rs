//! How an answer is read.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::{Heard, Pieces, count, error};
use super::ANSWER;
use crate::fault::Fault;
use crate::kept::keep;
use crate::reply::{Event, Finish, Usage};

/// Reads the events of one answer.
#[derive(Debug)]
pub(crate) struct Reader {
    origin: String,
    /// Whether the answer is the arguments of a call.
    has_schema: bool,
    blocks: BTreeMap<u64, Open>,
    usage: Usage,
    text: usize,
    calls: usize,
    answered: bool,
}

/// A block that is being sent.
#[derive(Debug)]
enum Open {
    Text,
    /// An answer that fits a schema.
    Answer,
    Call {
        index: usize,
        has_arguments: bool,
    },
    /// Goes back unchanged, to the place where it was.
    Thought {
        block: Value,
        text: usize,
        calls: usize,
    },
}

impl Reader {
    pub(crate) fn new(origin: String, has_schema: bool) -> Self {
        Self {
            origin,
            has_schema,
            blocks: BTreeMap::new(),
            usage: Usage::default(),
            text: 0,
            calls: 0,
            answered: false,
        }
    }

    fn begin(&mut self, at: u64, block: &Value, events: &mut Vec<Event>) {
        let open = match block["type"].as_str().unwrap_or_default() {
            "text" => {
                self.say(block["text"].as_str().unwrap_or_default(), events);
                Open::Text
            }
            "tool_use" if self.has_schema && block["name"] == ANSWER => {
                self.answered = true;
                Open::Answer
            }
            "tool_use" => {
                let index = self.calls;
                self.calls += 1;
                let id = block["id"].as_str().map(str::to_owned);
                let name = block["name"].as_str().unwrap_or_default().to_owned();
                events.push(Event::Call { index, id, name });
                let whole = block["input"].as_object().filter(|input| !input.is_empty());
                if let Some(input) = whole {
                    let text = Value::Object(input.clone()).to_string();
                    events.push(Event::Arguments { index, text });
                }
                Open::Call { index, has_arguments: whole.is_some() }
            }
            "thinking" | "redacted_thinking" => {
                if let Some(thought) = block["thinking"].as_str().filter(|text| !text.is_empty()) {
                    events.push(Event::Thought(thought.to_owned()));
                }
                Open::Thought { block: block.clone(), text: self.text, calls: self.calls }
            }
            _ => return,
        };
        self.blocks.insert(at, open);
    }

    fn say(&mut self, text: &str, events: &mut Vec<Event>) {
        if !text.is_empty() {
            self.text += text.len();
            events.push(Event::Text(text.to_owned()));
        }
    }

    fn go_on(&mut self, at: u64, delta: &Value, events: &mut Vec<Event>) {
        let piece = |key: &str| delta[key].as_str().unwrap_or_default();
        match self.blocks.get_mut(&at) {
            Some(Open::Text) => self.say(piece("text"), events),
            Some(Open::Answer) => self.say(piece("partial_json"), events),
            Some(Open::Call { index, has_arguments }) => {
                let text = piece("partial_json");
                if !text.is_empty() {
                    *has_arguments = true;
                    events.push(Event::Arguments { index: *index, text: text.to_owned() });
                }
            }
            Some(Open::Thought { block, .. }) => {
                for key in ["thinking", "signature"] {
                    let more = piece(key);
                    if more.is_empty() {
                        continue;
                    }
                    match &mut block[key] {
                        Value::String(text) => text.push_str(more),
                        other => *other = json!(more),
                    }
                    if key == "thinking" {
                        events.push(Event::Thought(more.to_owned()));
                    }
                }
            }
            None => {}
        }
    }

    fn end(&mut self, at: u64, events: &mut Vec<Event>) {
        match self.blocks.remove(&at) {
            Some(Open::Thought { block, text, calls }) => {
                events.push(Event::Opaque(keep(&self.origin, text, calls, block)));
            }
            Some(Open::Call { index, has_arguments: false }) => {
                events.push(Event::Arguments { index, text: "{}".to_owned() });
            }
            _ => {}
        }
    }

    fn count(&mut self, usage: &Value, events: &mut Vec<Event>) {
        if !usage.is_object() {
            return;
        }
        let known = &mut self.usage;
        if usage.get("input_tokens").is_some_and(Value::is_u64) {
            known.cache_read = count(&usage["cache_read_input_tokens"]);
            known.cache_write = count(&usage["cache_creation_input_tokens"]);
            known.input = count(&usage["input_tokens"]) + known.cache_read + known.cache_write;
        }
        if let Some(output) = usage["output_tokens"].as_u64() {
            known.output = output;
        }
        events.push(Event::Usage(*known));
    }

    fn finish(&self, reason: &str) -> Finish {
        match reason {
            "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            "tool_use" if self.answered && self.calls == 0 => Finish::Stop,
            "tool_use" => Finish::Calls,
            "refusal" => Finish::Filtered,
            "pause_turn" => Finish::Paused,
            _ => Finish::Stop,
        }
    }

    /// A server that does not stream answers with the whole message.
    fn whole(&mut self, message: &Value, events: &mut Vec<Event>) -> Heard {
        for (at, block) in (0..).zip(message["content"].as_array().into_iter().flatten()) {
            self.begin(at, block, events);
            if let Some(Open::Answer) = self.blocks.get(&at) {
                self.say(&block["input"].to_string(), events);
            }
            self.end(at, events);
        }
        let reason = message["stop_reason"].as_str().unwrap_or_default();
        events.push(Event::Finish(self.finish(reason)));
        Heard::All
    }
}

impl Pieces for Reader {
    fn take(&mut self, data: &Value, events: &mut Vec<Event>) -> Result<Heard, Fault> {
        let at = count(&data["index"]);
        let kind = data["type"].as_str().unwrap_or_default();
        match kind {
            "message_start" | "message" => {
                let message = if kind == "message" { data } else { &data["message"] };
                if let Some(model) = message["model"].as_str() {
                    events.push(Event::Model(model.to_owned()));
                }
                self.count(&message["usage"], events);
                if kind == "message" {
                    return Ok(self.whole(message, events));
                }
            }
            "content_block_start" => self.begin(at, &data["content_block"], events),
            "content_block_delta" => self.go_on(at, &data["delta"], events),
            "content_block_stop" => self.end(at, events),
            "message_delta" => {
                self.count(&data["usage"], events);
                if let Some(reason) = data["delta"]["stop_reason"].as_str() {
                    events.push(Event::Finish(self.finish(reason)));
                }
            }
            "message_stop" => return Ok(Heard::All),
            "error" => return Err(error(data)),
            _ if data.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(error(data));
            }
            _ => {}
        }
        Ok(Heard::More)
    }
}
