//! Reply decoding for Google's Gemini API.

use serde_json::{Value, json};

use super::super::{DecodeStatus, StreamDecoder, stream_error, token_count};
use crate::model_error::{ModelError, ModelErrorKind};
use crate::opaque_blocks::wrap_opaque;
use crate::reply::{FinishReason, ReplyEvent, TokenUsage};

/// Decodes the chunks of one reply.
#[derive(Debug)]
pub(crate) struct GeminiDecoder {
    origin: String,
    model_reported: bool,
    calls: usize,
}

impl GeminiDecoder {
    pub(crate) fn new(origin: String) -> Self {
        Self { origin, model_reported: false, calls: 0 }
    }

    fn decode_part(&mut self, part: &Value, events: &mut Vec<ReplyEvent>) {
        let mut of = json!("text");
        if let Some(call) = part.get("functionCall") {
            let index = self.calls;
            self.calls += 1;
            of = json!(index);
            let id = call["id"].as_str().map(str::to_owned);
            let name = call["name"].as_str().unwrap_or_default().to_owned();
            events.push(ReplyEvent::Call { index, id, name });
            let arguments = call.get("args").filter(|args| !args.is_null());
            let text = arguments.map_or_else(|| "{}".to_owned(), Value::to_string);
            events.push(ReplyEvent::Arguments { index, text });
        } else if let Some(text) = part["text"].as_str().filter(|text| !text.is_empty()) {
            let text = text.to_owned();
            events.push(if part["thought"] == true {
                ReplyEvent::Thought(text)
            } else {
                ReplyEvent::Text(text)
            });
        }
        if let Some(signature) = part.get("thoughtSignature") {
            let piece = json!({"of": of, "thoughtSignature": signature});
            events.push(ReplyEvent::Opaque(wrap_opaque(&self.origin, 0, self.calls, piece)));
        }
    }
}

impl StreamDecoder for GeminiDecoder {
    fn decode(
        &mut self,
        data: &Value,
        events: &mut Vec<ReplyEvent>,
    ) -> Result<DecodeStatus, ModelError> {
        if data.get("error").is_some_and(|error| !error.is_null()) {
            return Err(stream_error(data));
        }
        if let Some(reason) = data["promptFeedback"]["blockReason"].as_str() {
            let message = format!("the server refused the request: {reason}");
            return Err(ModelError::new(ModelErrorKind::Refused, message));
        }
        if !self.model_reported
            && let Some(model) = data["modelVersion"].as_str()
        {
            self.model_reported = true;
            events.push(ReplyEvent::Model(model.to_owned()));
        }
        let candidate = &data["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            self.decode_part(part, events);
        }
        if data["usageMetadata"].is_object() {
            events.push(ReplyEvent::Usage(parse_usage(&data["usageMetadata"])));
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            events.push(ReplyEvent::Finish(match reason {
                "STOP" if self.calls > 0 => FinishReason::Calls,
                "MAX_TOKENS" => FinishReason::Length,
                "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => FinishReason::Malformed,
                "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
                | "IMAGE_SAFETY" | "LANGUAGE" => FinishReason::Filtered,
                _ => FinishReason::Stop,
            }));
        }
        Ok(DecodeStatus::Continue)
    }
}

fn parse_usage(usage: &Value) -> TokenUsage {
    let thought = token_count(&usage["thoughtsTokenCount"]);
    TokenUsage {
        input: token_count(&usage["promptTokenCount"])
            + token_count(&usage["toolUsePromptTokenCount"]),
        output: token_count(&usage["candidatesTokenCount"]) + thought,
        cache_read: token_count(&usage["cachedContentTokenCount"]),
        cache_write: 0,
        reasoning: thought,
        cost: None,
    }
}
