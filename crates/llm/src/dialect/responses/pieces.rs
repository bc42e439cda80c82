//! How an answer is read.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::{Heard, Pieces, count, error};
use crate::fault::Fault;
use crate::kept::keep;
use crate::reply::{Event, Finish, Usage};

/// Reads the events of one answer.
#[derive(Debug)]
pub(crate) struct Reader {
    origin: String,
    /// The calls by their place among all items: our own place, and whether
    /// arguments came.
    calls: BTreeMap<u64, (usize, bool)>,
    text: usize,
    refused: bool,
}

impl Reader {
    pub(crate) fn new(origin: String) -> Self {
        Self { origin, calls: BTreeMap::new(), text: 0, refused: false }
    }

    fn say(&mut self, text: &Value, events: &mut Vec<Event>) {
        if let Some(text) = text.as_str().filter(|text| !text.is_empty()) {
            self.text += text.len();
            events.push(Event::Text(text.to_owned()));
        }
    }

    /// Begins a call, unless it is known.
    fn call(&mut self, at: u64, item: &Value, events: &mut Vec<Event>) {
        if self.calls.contains_key(&at) {
            return;
        }
        let index = self.calls.len();
        self.calls.insert(at, (index, false));
        let id = item["call_id"].as_str().or(item["id"].as_str()).map(str::to_owned);
        let name = item["name"].as_str().unwrap_or_default().to_owned();
        events.push(Event::Call { index, id, name });
    }

    fn arguments(&mut self, at: u64, text: &Value, is_whole: bool, events: &mut Vec<Event>) {
        let Some((index, has_arguments)) = self.calls.get_mut(&at) else { return };
        let Some(text) = text.as_str().filter(|text| !text.is_empty()) else { return };
        // The whole is repeated at the end.
        if is_whole && *has_arguments {
            return;
        }
        *has_arguments = true;
        events.push(Event::Arguments { index: *index, text: text.to_owned() });
    }

    fn item_done(&mut self, at: u64, item: &Value, events: &mut Vec<Event>) {
        match item["type"].as_str().unwrap_or_default() {
            "function_call" => {
                self.call(at, item, events);
                self.arguments(at, &item["arguments"], true, events);
            }
            "reasoning" => {
                let mut item = item.clone();
                // It is said by the server, and refused when it comes back.
                item.as_object_mut().map(|item| item.shift_remove("status"));
                let piece = keep(&self.origin, self.text, self.calls.len(), item);
                events.push(Event::Opaque(piece));
            }
            _ => {}
        }
    }

    fn end(&mut self, response: &Value, events: &mut Vec<Event>) {
        if response["usage"].is_object() {
            events.push(Event::Usage(usage(&response["usage"])));
        }
        let why = response["incomplete_details"]["reason"].as_str().unwrap_or_default();
        events.push(Event::Finish(match (response["status"].as_str(), why) {
            (_, "content_filter") => Finish::Filtered,
            (Some("incomplete"), _) => Finish::Length,
            _ if self.refused => Finish::Filtered,
            _ if !self.calls.is_empty() => Finish::Calls,
            _ => Finish::Stop,
        }));
    }

    /// A server that does not stream answers with the whole response.
    fn whole(&mut self, response: &Value, events: &mut Vec<Event>) {
        for (at, item) in (0..).zip(response["output"].as_array().into_iter().flatten()) {
            for part in item["content"].as_array().into_iter().flatten() {
                if item["type"] == "message" {
                    self.say(&part["text"], events);
                }
            }
            self.item_done(at, item, events);
        }
        self.end(response, events);
    }
}

impl Pieces for Reader {
    fn take(&mut self, data: &Value, events: &mut Vec<Event>) -> Result<Heard, Fault> {
        let at = count(&data["output_index"]);
        match data["type"].as_str().unwrap_or_default() {
            "response.created" => {
                if let Some(model) = data["response"]["model"].as_str() {
                    events.push(Event::Model(model.to_owned()));
                }
            }
            "response.output_text.delta" => self.say(&data["delta"], events),
            "response.refusal.delta" => {
                self.refused = true;
                self.say(&data["delta"], events);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let thought = data["delta"].as_str().unwrap_or_default();
                events.push(Event::Thought(thought.to_owned()));
            }
            "response.reasoning_summary_part.added" if count(&data["summary_index"]) > 0 => {
                events.push(Event::Thought("\n\n".to_owned()));
            }
            "response.output_item.added" if data["item"]["type"] == "function_call" => {
                self.call(at, &data["item"], events);
            }
            "response.function_call_arguments.delta" => {
                self.arguments(at, &data["delta"], false, events);
            }
            "response.function_call_arguments.done" => {
                self.arguments(at, &data["arguments"], true, events);
            }
            "response.output_item.done" => self.item_done(at, &data["item"], events),
            "response.completed" | "response.incomplete" => {
                self.end(&data["response"], events);
                return Ok(Heard::All);
            }
            "response.failed" | "error" => return Err(error(data)),
            _ if data["object"] == "response" => {
                self.whole(data, events);
                return Ok(Heard::All);
            }
            _ if data.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(error(data));
            }
            _ => {}
        }
        Ok(Heard::More)
    }
}

fn usage(usage: &Value) -> Usage {
    Usage {
        input: count(&usage["input_tokens"]),
        output: count(&usage["output_tokens"]),
        cache_read: count(&usage["input_tokens_details"]["cached_tokens"]),
        cache_write: 0,
        reasoning: count(&usage["output_tokens_details"]["reasoning_tokens"]),
        cost: usage["cost"].as_f64(),
    }
}
