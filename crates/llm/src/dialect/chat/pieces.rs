//! How an answer is read.

use serde_json::{Value, json};

use super::super::{Heard, Pieces, count, error};
use crate::fault::Fault;
use crate::kept::keep;
use crate::musing::Musing;
use crate::reply::{Event, Finish, Usage};

/// Reads the chunks of one answer.
#[derive(Debug)]
pub(crate) struct Reader {
    origin: String,
    /// The model that was asked.
    model: String,
    named: bool,
    /// The calls so far.
    calls: Vec<Slot>,
    /// The field that thoughts come in.
    field: Option<&'static str>,
    /// Thoughts as the server wants them back.
    details: Vec<Value>,
    refused: bool,
    musing: Musing,
}

#[derive(Debug, Default)]
struct Slot {
    /// Its place among the calls of the answer.
    place: usize,
    /// The place that the server gives it.
    index: Option<u64>,
    id: String,
    name: String,
    has_arguments: bool,
}

impl Reader {
    pub(crate) fn new(origin: String, model: &str) -> Self {
        Self {
            origin,
            model: model.to_owned(),
            named: false,
            calls: Vec::new(),
            field: None,
            details: Vec::new(),
            refused: false,
            musing: Musing::default(),
        }
    }

    fn delta(&mut self, delta: &Value, events: &mut Vec<Event>) {
        if let Some(details) = delta["reasoning_details"].as_array() {
            for detail in details {
                add_detail(&mut self.details, detail);
            }
        }
        for field in ["reasoning_content", "reasoning"] {
            if let Some(thought) = delta[field].as_str().filter(|thought| !thought.is_empty()) {
                self.field = Some(field);
                events.push(Event::Thought(thought.to_owned()));
                break;
            }
        }
        if let Some(text) = text_of(&delta["content"]) {
            self.musing.hear(&text, events);
        }
        if let Some(text) = delta["refusal"].as_str().filter(|text| !text.is_empty()) {
            self.refused = true;
            events.push(Event::Text(text.to_owned()));
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(call, events);
        }
    }

    fn call(&mut self, call: &Value, events: &mut Vec<Event>) {
        let id = call["id"].as_str().unwrap_or_default();
        let name = call.pointer("/function/name").and_then(Value::as_str).unwrap_or_default();
        let at = self.slot(call["index"].as_u64(), id, name);
        let slot = &mut self.calls[at];
        let is_new_id = slot.id.is_empty() && !id.is_empty();
        // Some servers repeat the name with every piece; some give it in pieces.
        let is_new_name = !name.is_empty() && name != slot.name && !slot.has_arguments;
        if is_new_id || is_new_name {
            slot.id.push_str(if is_new_id { id } else { "" });
            let name = if is_new_name { name } else { "" };
            slot.name.push_str(name);
            let id = (!slot.id.is_empty()).then(|| slot.id.clone());
            events.push(Event::Call { index: slot.place, id, name: name.to_owned() });
        }
        let text = match call.pointer("/function/arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(object @ Value::Object(_)) => object.to_string(),
            _ => return,
        };
        if !text.is_empty() {
            slot.has_arguments = true;
            events.push(Event::Arguments { index: slot.place, text });
        }
    }

    /// Which call a piece belongs to. Some servers give no place, and some
    /// give every call the same.
    fn slot(&mut self, index: Option<u64>, id: &str, name: &str) -> usize {
        let is_other = |slot: &Slot| !id.is_empty() && !slot.id.is_empty() && slot.id != id;
        let found = match index {
            Some(_) => self.calls.iter().rposition(|slot| slot.index == index),
            None if id.is_empty() && !name.is_empty() => {
                // A name without an id begins another call, if arguments came before.
                self.calls.iter().rposition(|slot| !slot.has_arguments)
            }
            None if id.is_empty() => self.calls.len().checked_sub(1),
            None => self.calls.iter().rposition(|slot| slot.id == id),
        };
        match found {
            Some(at) if !is_other(&self.calls[at]) => at,
            _ => {
                // Calls may begin in another order than they stand in.
                let is_free = |place: &usize| self.calls.iter().all(|slot| slot.place != *place);
                let wanted = index.and_then(|index| usize::try_from(index).ok()).filter(is_free);
                let last = self.calls.iter().map(|slot| slot.place + 1).max();
                let place = wanted.unwrap_or_else(|| last.unwrap_or_default());
                self.calls.push(Slot { place, index, ..Slot::default() });
                self.calls.len() - 1
            }
        }
    }

    fn finish(&mut self, reason: &str, events: &mut Vec<Event>) {
        self.musing.end(events);
        let piece = if !self.details.is_empty() {
            Some(json!({"reasoning_details": std::mem::take(&mut self.details)}))
        } else {
            self.field.take().map(|field| json!({"field": field, "model": self.model}))
        };
        events.extend(piece.map(|piece| Event::Opaque(keep(&self.origin, 0, 0, piece))));
        events.push(Event::Finish(match reason {
            _ if self.refused => Finish::Filtered,
            "length" | "max_tokens" => Finish::Length,
            "tool_calls" | "function_call" => Finish::Calls,
            "content_filter" => Finish::Filtered,
            _ => Finish::Stop,
        }));
    }
}

impl Pieces for Reader {
    fn take(&mut self, data: &Value, events: &mut Vec<Event>) -> Result<Heard, Fault> {
        if data.get("error").is_some_and(|error| !error.is_null()) {
            return Err(error(data));
        }
        if !self.named
            && let Some(model) = data["model"].as_str().filter(|model| !model.is_empty())
        {
            self.named = true;
            events.push(Event::Model(model.to_owned()));
        }
        if let Some(choice) = data["choices"].get(0) {
            if choice.get("error").is_some_and(|error| !error.is_null()) {
                return Err(error(choice));
            }
            // A server that does not stream answers with a message.
            let delta = choice.get("delta").filter(|delta| delta.is_object());
            self.delta(delta.unwrap_or(&choice["message"]), events);
            if let Some(reason) =
                choice["finish_reason"].as_str().filter(|reason| !reason.is_empty())
            {
                self.finish(reason, events);
            }
        }
        if data["usage"].is_object() {
            events.push(Event::Usage(usage(&data["usage"])));
        }
        Ok(Heard::More)
    }
}

/// Text as a string, or in parts.
fn text_of(content: &Value) -> Option<String> {
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Pieces of one thought are put together again.
fn add_detail(details: &mut Vec<Value>, piece: &Value) {
    let same = |known: &&mut Value| {
        known["type"] == piece["type"]
            && known["index"] == piece["index"]
            && !piece["index"].is_null()
    };
    let Some(Value::Object(known)) = details.last_mut().filter(same) else {
        details.push(piece.clone());
        return;
    };
    for (key, value) in piece.as_object().into_iter().flatten() {
        match (known.get_mut(key), value) {
            (Some(Value::String(text)), Value::String(more))
                if matches!(key.as_str(), "text" | "summary" | "data") =>
            {
                text.push_str(more);
            }
            (_, Value::Null) => {}
            _ => drop(known.insert(key.clone(), value.clone())),
        }
    }
}

fn usage(usage: &Value) -> Usage {
    let input = &usage["prompt_tokens_details"];
    let cached = input["cached_tokens"].as_u64().or(usage["prompt_cache_hit_tokens"].as_u64());
    Usage {
        input: count(&usage["prompt_tokens"]),
        output: count(&usage["completion_tokens"]),
        cache_read: cached.unwrap_or_default(),
        cache_write: count(&input["cache_write_tokens"]),
        reasoning: count(&usage["completion_tokens_details"]["reasoning_tokens"]),
        cost: usage["cost"].as_f64(),
    }
}

#[cfg(test)]
#[path = "pieces_tests.rs"]
mod tests;
