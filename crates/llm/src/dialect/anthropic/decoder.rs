//! Reply decoding for Anthropic's Messages API.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::{DecodeStatus, StreamDecoder, stream_error, token_count};
use super::ANSWER_TOOL_NAME;
use crate::model_error::ModelError;
use crate::opaque_blocks::wrap_opaque;
use crate::reply::{FinishReason, ReplyEvent, TokenUsage};

/// Decodes the events of one reply.
#[derive(Debug)]
pub(crate) struct AnthropicDecoder {
    origin: String,
    /// Whether the reply arrives as the arguments of a tool call.
    has_schema: bool,
    blocks: BTreeMap<u64, OpenBlock>,
    usage: TokenUsage,
    text: usize,
    calls: usize,
    answered: bool,
}

/// A content block that is still streaming.
#[derive(Debug)]
enum OpenBlock {
    Text,
    /// A reply that matches the requested schema.
    Answer,
    Call {
        index: usize,
        has_arguments: bool,
    },
    /// Sent back unchanged, at its original position.
    Thought {
        block: Value,
        text: usize,
        calls: usize,
    },
}

impl AnthropicDecoder {
    pub(crate) fn new(origin: String, has_schema: bool) -> Self {
        Self {
            origin,
            has_schema,
            blocks: BTreeMap::new(),
            usage: TokenUsage::default(),
            text: 0,
            calls: 0,
            answered: false,
        }
    }

    fn start_block(&mut self, at: u64, block: &Value, events: &mut Vec<ReplyEvent>) {
        let open = match block["type"].as_str().unwrap_or_default() {
            "text" => {
                self.push_text(block["text"].as_str().unwrap_or_default(), events);
                OpenBlock::Text
            }
            "tool_use" if self.has_schema && block["name"] == ANSWER_TOOL_NAME => {
                self.answered = true;
                OpenBlock::Answer
            }
            "tool_use" => {
                let index = self.calls;
                self.calls += 1;
                let id = block["id"].as_str().map(str::to_owned);
                let name = block["name"].as_str().unwrap_or_default().to_owned();
                events.push(ReplyEvent::Call { index, id, name });
                let whole = block["input"].as_object().filter(|input| !input.is_empty());
                if let Some(input) = whole {
                    let text = Value::Object(input.clone()).to_string();
                    events.push(ReplyEvent::Arguments { index, text });
                }
                OpenBlock::Call { index, has_arguments: whole.is_some() }
            }
            "thinking" | "redacted_thinking" => {
                if let Some(thought) = block["thinking"].as_str().filter(|text| !text.is_empty()) {
                    events.push(ReplyEvent::Thought(thought.to_owned()));
                }
                OpenBlock::Thought { block: block.clone(), text: self.text, calls: self.calls }
            }
            _ => return,
        };
        self.blocks.insert(at, open);
    }

    fn push_text(&mut self, text: &str, events: &mut Vec<ReplyEvent>) {
        if !text.is_empty() {
            self.text += text.len();
            events.push(ReplyEvent::Text(text.to_owned()));
        }
    }

    fn append_delta(&mut self, at: u64, delta: &Value, events: &mut Vec<ReplyEvent>) {
        let piece = |key: &str| delta[key].as_str().unwrap_or_default();
        match self.blocks.get_mut(&at) {
            Some(OpenBlock::Text) => self.push_text(piece("text"), events),
            Some(OpenBlock::Answer) => self.push_text(piece("partial_json"), events),
            Some(OpenBlock::Call { index, has_arguments }) => {
                let text = piece("partial_json");
                if !text.is_empty() {
                    *has_arguments = true;
                    events.push(ReplyEvent::Arguments { index: *index, text: text.to_owned() });
                }
            }
            Some(OpenBlock::Thought { block, .. }) => {
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
                        events.push(ReplyEvent::Thought(more.to_owned()));
                    }
                }
            }
            None => {}
        }
    }

    fn end_block(&mut self, at: u64, events: &mut Vec<ReplyEvent>) {
        match self.blocks.remove(&at) {
            Some(OpenBlock::Thought { block, text, calls }) => {
                events.push(ReplyEvent::Opaque(wrap_opaque(&self.origin, text, calls, block)));
            }
            Some(OpenBlock::Call { index, has_arguments: false }) => {
                events.push(ReplyEvent::Arguments { index, text: "{}".to_owned() });
            }
            _ => {}
        }
    }

    fn update_usage(&mut self, usage: &Value, events: &mut Vec<ReplyEvent>) {
        if !usage.is_object() {
            return;
        }
        let known = &mut self.usage;
        if usage.get("input_tokens").is_some_and(Value::is_u64) {
            known.cache_read = token_count(&usage["cache_read_input_tokens"]);
            known.cache_write = token_count(&usage["cache_creation_input_tokens"]);
            known.input =
                token_count(&usage["input_tokens"]) + known.cache_read + known.cache_write;
        }
        if let Some(output) = usage["output_tokens"].as_u64() {
            known.output = output;
        }
        events.push(ReplyEvent::Usage(*known));
    }

    fn finish_reason(&self, reason: &str) -> FinishReason {
        match reason {
            "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
            "tool_use" if self.answered && self.calls == 0 => FinishReason::Stop,
            "tool_use" => FinishReason::Calls,
            "refusal" => FinishReason::Filtered,
            "pause_turn" => FinishReason::Paused,
            _ => FinishReason::Stop,
        }
    }

    /// Decodes a whole message from a server that does not stream.
    fn decode_whole(&mut self, message: &Value, events: &mut Vec<ReplyEvent>) -> DecodeStatus {
        for (at, block) in (0..).zip(message["content"].as_array().into_iter().flatten()) {
            self.start_block(at, block, events);
            if let Some(OpenBlock::Answer) = self.blocks.get(&at) {
                self.push_text(&block["input"].to_string(), events);
            }
            self.end_block(at, events);
        }
        let reason = message["stop_reason"].as_str().unwrap_or_default();
        events.push(ReplyEvent::Finish(self.finish_reason(reason)));
        DecodeStatus::Complete
    }
}

impl StreamDecoder for AnthropicDecoder {
    fn decode(
        &mut self,
        data: &Value,
        events: &mut Vec<ReplyEvent>,
    ) -> Result<DecodeStatus, ModelError> {
        let at = token_count(&data["index"]);
        let kind = data["type"].as_str().unwrap_or_default();
        match kind {
            "message_start" | "message" => {
                let message = if kind == "message" { data } else { &data["message"] };
                if let Some(model) = message["model"].as_str() {
                    events.push(ReplyEvent::Model(model.to_owned()));
                }
                self.update_usage(&message["usage"], events);
                if kind == "message" {
                    return Ok(self.decode_whole(message, events));
                }
            }
            "content_block_start" => self.start_block(at, &data["content_block"], events),
            "content_block_delta" => self.append_delta(at, &data["delta"], events),
            "content_block_stop" => self.end_block(at, events),
            "message_delta" => {
                self.update_usage(&data["usage"], events);
                if let Some(reason) = data["delta"]["stop_reason"].as_str() {
                    events.push(ReplyEvent::Finish(self.finish_reason(reason)));
                }
            }
            "message_stop" => return Ok(DecodeStatus::Complete),
            "error" => return Err(stream_error(data)),
            _ if data.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(stream_error(data));
            }
            _ => {}
        }
        Ok(DecodeStatus::Continue)
    }
}
