//! Reply decoding for the Chat Completions API.

use serde_json::{Value, json};

use super::super::{DecodeStatus, StreamDecoder, stream_error, token_count};
use crate::model_error::ModelError;
use crate::opaque_blocks::wrap_opaque;
use crate::reply::{FinishReason, ReplyEvent, TokenUsage};
use crate::think_splitter::ThinkSplitter;

/// Decodes the chunks of one reply.
#[derive(Debug)]
pub(crate) struct ChatDecoder {
    origin: String,
    /// The requested model.
    model: String,
    model_reported: bool,
    /// The calls so far.
    calls: Vec<CallSlot>,
    /// The field that carries the reasoning.
    reasoning_field: Option<&'static str>,
    /// Reasoning details to send back to the server.
    details: Vec<Value>,
    refused: bool,
    think_splitter: ThinkSplitter,
}

#[derive(Debug, Default)]
struct CallSlot {
    /// Its position among the calls of the reply.
    place: usize,
    /// The index given by the server.
    index: Option<u64>,
    id: String,
    name: String,
    has_arguments: bool,
}

impl ChatDecoder {
    pub(crate) fn new(origin: String, model: &str) -> Self {
        Self {
            origin,
            model: model.to_owned(),
            model_reported: false,
            calls: Vec::new(),
            reasoning_field: None,
            details: Vec::new(),
            refused: false,
            think_splitter: ThinkSplitter::default(),
        }
    }

    fn decode_delta(&mut self, delta: &Value, events: &mut Vec<ReplyEvent>) {
        if let Some(details) = delta["reasoning_details"].as_array() {
            for detail in details {
                add_detail(&mut self.details, detail);
            }
        }
        for field in ["reasoning_content", "reasoning"] {
            if let Some(thought) = delta[field].as_str().filter(|thought| !thought.is_empty()) {
                self.reasoning_field = Some(field);
                events.push(ReplyEvent::Thought(thought.to_owned()));
                break;
            }
        }
        if let Some(text) = content_text(&delta["content"]) {
            self.think_splitter.push(&text, events);
        }
        if let Some(text) = delta["refusal"].as_str().filter(|text| !text.is_empty()) {
            self.refused = true;
            events.push(ReplyEvent::Text(text.to_owned()));
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.decode_call(call, events);
        }
    }

    fn decode_call(&mut self, call: &Value, events: &mut Vec<ReplyEvent>) {
        let id = call["id"].as_str().unwrap_or_default();
        let name = call.pointer("/function/name").and_then(Value::as_str).unwrap_or_default();
        let at = self.find_or_add_slot(call["index"].as_u64(), id, name);
        let slot = &mut self.calls[at];
        let is_new_id = slot.id.is_empty() && !id.is_empty();
        // Some servers repeat the name in every chunk; some split it across
        // chunks.
        let is_new_name = !name.is_empty() && name != slot.name && !slot.has_arguments;
        if is_new_id || is_new_name {
            slot.id.push_str(if is_new_id { id } else { "" });
            let name = if is_new_name { name } else { "" };
            slot.name.push_str(name);
            let id = (!slot.id.is_empty()).then(|| slot.id.clone());
            events.push(ReplyEvent::Call { index: slot.place, id, name: name.to_owned() });
        }
        let text = match call.pointer("/function/arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(object @ Value::Object(_)) => object.to_string(),
            _ => return,
        };
        if !text.is_empty() {
            slot.has_arguments = true;
            events.push(ReplyEvent::Arguments { index: slot.place, text });
        }
    }

    /// Finds the call that a chunk belongs to. Some servers send no index, and
    /// some send the same one for every call.
    fn find_or_add_slot(&mut self, index: Option<u64>, id: &str, name: &str) -> usize {
        let is_other = |slot: &CallSlot| !id.is_empty() && !slot.id.is_empty() && slot.id != id;
        let found = match index {
            Some(_) => self.calls.iter().rposition(|slot| slot.index == index),
            None if id.is_empty() && !name.is_empty() => {
                // A name without an id starts another call if the last one has
                // arguments.
                self.calls.iter().rposition(|slot| !slot.has_arguments)
            }
            None if id.is_empty() => self.calls.len().checked_sub(1),
            None => self.calls.iter().rposition(|slot| slot.id == id),
        };
        match found {
            Some(at) if !is_other(&self.calls[at]) => at,
            _ => {
                // Calls may start out of order.
                let is_free = |place: &usize| self.calls.iter().all(|slot| slot.place != *place);
                let wanted = index.and_then(|index| usize::try_from(index).ok()).filter(is_free);
                let last = self.calls.iter().map(|slot| slot.place + 1).max();
                let place = wanted.unwrap_or_else(|| last.unwrap_or_default());
                self.calls.push(CallSlot { place, index, ..CallSlot::default() });
                self.calls.len() - 1
            }
        }
    }

    fn push_finish(&mut self, reason: &str, events: &mut Vec<ReplyEvent>) {
        self.think_splitter.finish(events);
        let piece = if !self.details.is_empty() {
            Some(json!({"reasoning_details": std::mem::take(&mut self.details)}))
        } else {
            self.reasoning_field.take().map(|field| json!({"field": field, "model": self.model}))
        };
        events
            .extend(piece.map(|piece| ReplyEvent::Opaque(wrap_opaque(&self.origin, 0, 0, piece))));
        events.push(ReplyEvent::Finish(match reason {
            _ if self.refused => FinishReason::Filtered,
            "length" | "max_tokens" => FinishReason::Length,
            "tool_calls" | "function_call" => FinishReason::Calls,
            "content_filter" => FinishReason::Filtered,
            _ => FinishReason::Stop,
        }));
    }
}

impl StreamDecoder for ChatDecoder {
    fn decode(
        &mut self,
        data: &Value,
        events: &mut Vec<ReplyEvent>,
    ) -> Result<DecodeStatus, ModelError> {
        if data.get("error").is_some_and(|error| !error.is_null()) {
            return Err(stream_error(data));
        }
        if !self.model_reported
            && let Some(model) = data["model"].as_str().filter(|model| !model.is_empty())
        {
            self.model_reported = true;
            events.push(ReplyEvent::Model(model.to_owned()));
        }
        if let Some(choice) = data["choices"].get(0) {
            if choice.get("error").is_some_and(|error| !error.is_null()) {
                return Err(stream_error(choice));
            }
            // A server that does not stream sends a message.
            let delta = choice.get("delta").filter(|delta| delta.is_object());
            self.decode_delta(delta.unwrap_or(&choice["message"]), events);
            if let Some(reason) =
                choice["finish_reason"].as_str().filter(|reason| !reason.is_empty())
            {
                self.push_finish(reason, events);
            }
        }
        if data["usage"].is_object() {
            events.push(ReplyEvent::Usage(parse_usage(&data["usage"])));
        }
        Ok(DecodeStatus::Continue)
    }
}

/// Returns the text of a string or of a list of parts.
fn content_text(content: &Value) -> Option<String> {
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Appends a reasoning detail, merging chunks of the same one.
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

fn parse_usage(usage: &Value) -> TokenUsage {
    let input = &usage["prompt_tokens_details"];
    let cached = input["cached_tokens"].as_u64().or(usage["prompt_cache_hit_tokens"].as_u64());
    TokenUsage {
        input: token_count(&usage["prompt_tokens"]),
        output: token_count(&usage["completion_tokens"]),
        cache_read: cached.unwrap_or_default(),
        cache_write: token_count(&input["cache_write_tokens"]),
        reasoning: token_count(&usage["completion_tokens_details"]["reasoning_tokens"]),
        cost: usage["cost"].as_f64(),
    }
}

#[cfg(test)]
#[path = "decoder_tests.rs"]
mod tests;
