//! Reply decoding for OpenAI's Responses API.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::{DecodeStatus, StreamDecoder, stream_error, token_count};
use crate::model_error::ModelError;
use crate::opaque_blocks::wrap_opaque;
use crate::reply::{FinishReason, ReplyEvent, TokenUsage};

/// Decodes the events of one reply.
#[derive(Debug)]
pub(crate) struct ResponsesDecoder {
    origin: String,
    /// The calls by output index: their position among the calls, and whether
    /// arguments have arrived.
    calls: BTreeMap<u64, (usize, bool)>,
    text: usize,
    refused: bool,
}

impl ResponsesDecoder {
    pub(crate) fn new(origin: String) -> Self {
        Self { origin, calls: BTreeMap::new(), text: 0, refused: false }
    }

    fn push_text(&mut self, text: &Value, events: &mut Vec<ReplyEvent>) {
        if let Some(text) = text.as_str().filter(|text| !text.is_empty()) {
            self.text += text.len();
            events.push(ReplyEvent::Text(text.to_owned()));
        }
    }

    /// Starts a call unless it has already started.
    fn start_call(&mut self, at: u64, item: &Value, events: &mut Vec<ReplyEvent>) {
        if self.calls.contains_key(&at) {
            return;
        }
        let index = self.calls.len();
        self.calls.insert(at, (index, false));
        let id = item["call_id"].as_str().or(item["id"].as_str()).map(str::to_owned);
        let name = item["name"].as_str().unwrap_or_default().to_owned();
        events.push(ReplyEvent::Call { index, id, name });
    }

    fn push_arguments(
        &mut self,
        at: u64,
        text: &Value,
        is_whole: bool,
        events: &mut Vec<ReplyEvent>,
    ) {
        let Some((index, has_arguments)) = self.calls.get_mut(&at) else { return };
        let Some(text) = text.as_str().filter(|text| !text.is_empty()) else { return };
        // The final event repeats the complete arguments.
        if is_whole && *has_arguments {
            return;
        }
        *has_arguments = true;
        events.push(ReplyEvent::Arguments { index: *index, text: text.to_owned() });
    }

    fn finish_item(&mut self, at: u64, item: &Value, events: &mut Vec<ReplyEvent>) {
        match item["type"].as_str().unwrap_or_default() {
            "function_call" => {
                self.start_call(at, item, events);
                self.push_arguments(at, &item["arguments"], true, events);
            }
            "reasoning" => {
                let mut item = item.clone();
                // The server sends this field but rejects it in a request.
                item.as_object_mut().map(|item| item.shift_remove("status"));
                let piece = wrap_opaque(&self.origin, self.text, self.calls.len(), item);
                events.push(ReplyEvent::Opaque(piece));
            }
            _ => {}
        }
    }

    fn push_finish(&mut self, response: &Value, events: &mut Vec<ReplyEvent>) {
        if response["usage"].is_object() {
            events.push(ReplyEvent::Usage(parse_usage(&response["usage"])));
        }
        let why = response["incomplete_details"]["reason"].as_str().unwrap_or_default();
        events.push(ReplyEvent::Finish(match (response["status"].as_str(), why) {
            (_, "content_filter") => FinishReason::Filtered,
            (Some("incomplete"), _) => FinishReason::Length,
            _ if self.refused => FinishReason::Filtered,
            _ if !self.calls.is_empty() => FinishReason::Calls,
            _ => FinishReason::Stop,
        }));
    }

    /// Decodes a whole response from a server that does not stream.
    fn decode_whole(&mut self, response: &Value, events: &mut Vec<ReplyEvent>) {
        for (at, item) in (0..).zip(response["output"].as_array().into_iter().flatten()) {
            for part in item["content"].as_array().into_iter().flatten() {
                if item["type"] == "message" {
                    self.push_text(&part["text"], events);
                }
            }
            self.finish_item(at, item, events);
        }
        self.push_finish(response, events);
    }
}

impl StreamDecoder for ResponsesDecoder {
    fn decode(
        &mut self,
        data: &Value,
        events: &mut Vec<ReplyEvent>,
    ) -> Result<DecodeStatus, ModelError> {
        let at = token_count(&data["output_index"]);
        match data["type"].as_str().unwrap_or_default() {
            "response.created" => {
                if let Some(model) = data["response"]["model"].as_str() {
                    events.push(ReplyEvent::Model(model.to_owned()));
                }
            }
            "response.output_text.delta" => self.push_text(&data["delta"], events),
            "response.refusal.delta" => {
                self.refused = true;
                self.push_text(&data["delta"], events);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let thought = data["delta"].as_str().unwrap_or_default();
                events.push(ReplyEvent::Thought(thought.to_owned()));
            }
            "response.reasoning_summary_part.added" if token_count(&data["summary_index"]) > 0 => {
                events.push(ReplyEvent::Thought("\n\n".to_owned()));
            }
            "response.output_item.added" if data["item"]["type"] == "function_call" => {
                self.start_call(at, &data["item"], events);
            }
            "response.function_call_arguments.delta" => {
                self.push_arguments(at, &data["delta"], false, events);
            }
            "response.function_call_arguments.done" => {
                self.push_arguments(at, &data["arguments"], true, events);
            }
            "response.output_item.done" => self.finish_item(at, &data["item"], events),
            "response.completed" | "response.incomplete" => {
                self.push_finish(&data["response"], events);
                return Ok(DecodeStatus::Complete);
            }
            "response.failed" | "error" => return Err(stream_error(data)),
            _ if data["object"] == "response" => {
                self.decode_whole(data, events);
                return Ok(DecodeStatus::Complete);
            }
            _ if data.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(stream_error(data));
            }
            _ => {}
        }
        Ok(DecodeStatus::Continue)
    }
}

fn parse_usage(usage: &Value) -> TokenUsage {
    TokenUsage {
        input: token_count(&usage["input_tokens"]),
        output: token_count(&usage["output_tokens"]),
        cache_read: token_count(&usage["input_tokens_details"]["cached_tokens"]),
        cache_write: 0,
        reasoning: token_count(&usage["output_tokens_details"]["reasoning_tokens"]),
        cost: usage["cost"].as_f64(),
    }
}
