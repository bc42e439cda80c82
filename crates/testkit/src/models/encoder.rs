//! The formats in which servers stream replies.

use serde_json::{Value, json};

/// Format of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplyFormat {
    Chat,
    Responses,
    Anthropic,
    Gemini,
}

/// Encodes one reply.
#[derive(Debug)]
pub(crate) struct ReplyEncoder {
    format: ReplyFormat,
    model: String,
    /// Number of blocks or items so far.
    blocks: u64,
    /// Whether the last one is text or reasoning that can continue.
    open: Option<&'static str>,
    calls: u64,
    text: String,
    usage: Option<Value>,
}

impl ReplyEncoder {
    /// Returns the encoder for a request; `None` if the path is of no known format.
    pub(crate) fn for_request(path: &str, body: &Value) -> Option<Self> {
        let path = path.split('?').next().unwrap_or(path);
        let shape = if path.ends_with("/chat/completions") {
            ReplyFormat::Chat
        } else if path.ends_with("/responses") {
            ReplyFormat::Responses
        } else if path.ends_with("/messages") {
            ReplyFormat::Anthropic
        } else if path.ends_with(":streamGenerateContent") {
            ReplyFormat::Gemini
        } else {
            return None;
        };
        let model = body["model"].as_str().unwrap_or("scripted").to_owned();
        Some(Self {
            format: shape,
            model,
            blocks: 0,
            open: None,
            calls: 0,
            text: String::new(),
            usage: None,
        })
    }

    pub(crate) fn begin(&self) -> String {
        match self.format {
            ReplyFormat::Chat => {
                self.chunk(json!({"role": "assistant", "content": ""}), Value::Null)
            }
            ReplyFormat::Responses => event(&json!({
                "type": "response.created",
                "response": {"id": "resp_1", "object": "response", "model": self.model, "status": "in_progress"},
            })),
            ReplyFormat::Anthropic => event(&json!({"type": "message_start", "message": {
                "id": "msg_1", "type": "message", "role": "assistant", "model": self.model,
                "content": [], "stop_reason": null,
                "usage": {"input_tokens": 10, "output_tokens": 1},
            }})),
            ReplyFormat::Gemini => String::new(),
        }
    }

    pub(crate) fn text(&mut self, text: &str) -> String {
        match self.format {
            ReplyFormat::Chat => self.chunk(json!({"content": text}), Value::Null),
            ReplyFormat::Gemini => self.candidate(json!([{"text": text}]), Value::Null),
            ReplyFormat::Anthropic => {
                let block = json!({"type": "text", "text": ""});
                let begun = self.open("text", &block);
                begun + &self.delta(&json!({"type": "text_delta", "text": text}))
            }
            ReplyFormat::Responses => {
                let item = json!({"type": "message", "role": "assistant", "content": []});
                let begun = self.open("message", &item);
                self.text.push_str(text);
                begun
                    + &event(&json!({
                        "type": "response.output_text.delta", "output_index": self.blocks - 1, "delta": text,
                    }))
            }
        }
    }

    pub(crate) fn thought(&mut self, text: &str) -> String {
        match self.format {
            ReplyFormat::Chat => self.chunk(json!({"reasoning_content": text}), Value::Null),
            ReplyFormat::Gemini => {
                self.candidate(json!([{"text": text, "thought": true}]), Value::Null)
            }
            ReplyFormat::Anthropic => {
                let begun = self.open("thinking", &json!({"type": "thinking", "thinking": ""}));
                let thought = self.delta(&json!({"type": "thinking_delta", "thinking": text}));
                let signed = self.delta(&json!({"type": "signature_delta", "signature": "sig=="}));
                begun + &thought + &signed + &self.close()
            }
            ReplyFormat::Responses => {
                let item = json!({"type": "reasoning", "id": "rs_1", "summary": []});
                let begun = self.open("reasoning", &item);
                let thought = event(&json!({
                    "type": "response.reasoning_summary_text.delta",
                    "output_index": self.blocks - 1, "summary_index": 0, "delta": text,
                }));
                let done = event(&json!({
                    "type": "response.output_item.done", "output_index": self.blocks - 1,
                    "item": {
                        "type": "reasoning", "id": "rs_1", "status": "completed",
                        "encrypted_content": "secret",
                        "summary": [{"type": "summary_text", "text": text}],
                    },
                }));
                self.open = None;
                begun + &thought + &done
            }
        }
    }

    /// The start of a call, and its arguments in pieces.
    pub(crate) fn call(&mut self, id: &str, name: &str, arguments: &[&str]) -> Vec<String> {
        let at = self.calls;
        self.calls += 1;
        let made_up = format!("call_{at}");
        let id = if id.is_empty() { &made_up } else { id };
        let mut sent = Vec::new();
        match self.format {
            ReplyFormat::Chat => {
                let function = json!({"name": name, "arguments": ""});
                let call =
                    json!([{"index": at, "id": id, "type": "function", "function": function}]);
                sent.push(self.chunk(json!({"tool_calls": call}), Value::Null));
                for piece in arguments {
                    let call = json!([{"index": at, "function": {"arguments": piece}}]);
                    sent.push(self.chunk(json!({"tool_calls": call}), Value::Null));
                }
            }
            ReplyFormat::Gemini => {
                let args: Value = serde_json::from_str(&arguments.concat()).unwrap_or(json!({}));
                let call = json!({"functionCall": {"name": name, "args": args}, "thoughtSignature": "sig=="});
                sent.push(self.candidate(json!([call]), Value::Null));
            }
            ReplyFormat::Anthropic => {
                let closed = self.close();
                let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                sent.push(closed + &self.open("tool_use", &block));
                for piece in arguments {
                    sent.push(
                        self.delta(&json!({"type": "input_json_delta", "partial_json": piece})),
                    );
                }
            }
            ReplyFormat::Responses => {
                self.open = None;
                let item = json!({
                    "type": "function_call", "id": format!("fc_{at}"), "call_id": id,
                    "name": name, "arguments": "",
                });
                sent.push(self.open("function_call", &item));
                for piece in arguments {
                    sent.push(event(&json!({
                        "type": "response.function_call_arguments.delta",
                        "output_index": self.blocks - 1, "delta": piece,
                    })));
                }
                let mut item = item;
                item["arguments"] = json!(arguments.concat());
                sent.push(event(&json!({
                    "type": "response.output_item.done",
                    "output_index": self.blocks - 1, "item": item,
                })));
                self.open = None;
            }
        }
        sent
    }

    pub(crate) fn usage(&mut self, input: u64, output: u64, cached: u64, cost: Option<f64>) {
        self.usage = Some(match self.format {
            ReplyFormat::Chat => json!({
                "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
                "prompt_tokens_details": {"cached_tokens": cached}, "cost": cost,
            }),
            ReplyFormat::Responses => json!({
                "input_tokens": input, "output_tokens": output,
                "input_tokens_details": {"cached_tokens": cached},
            }),
            ReplyFormat::Anthropic => json!({
                "input_tokens": input.saturating_sub(cached), "cache_read_input_tokens": cached,
                "cache_creation_input_tokens": 0, "output_tokens": output,
            }),
            ReplyFormat::Gemini => json!({
                "promptTokenCount": input, "candidatesTokenCount": output,
                "cachedContentTokenCount": cached,
            }),
        });
    }

    /// The end of a reply, with a finish reason of chat completions.
    pub(crate) fn finish(&mut self, reason: Option<&str>) -> String {
        let usual = if self.calls > 0 { "tool_calls" } else { "stop" };
        let reason = reason.unwrap_or(usual);
        if self.usage.is_none() {
            self.usage(100, 10, 0, None);
        }
        let usage = self.usage.take().unwrap_or_default();
        match self.format {
            ReplyFormat::Chat => {
                let end = self.chunk(json!({}), json!(reason));
                let usage = event(&json!({
                    "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": self.model,
                    "choices": [], "usage": usage,
                }));
                end + &usage + "data: [DONE]\n\n"
            }
            ReplyFormat::Responses => {
                let (kind, status, details) = match reason {
                    "length" => {
                        ("incomplete", "incomplete", json!({"reason": "max_output_tokens"}))
                    }
                    "content_filter" => {
                        ("incomplete", "incomplete", json!({"reason": "content_filter"}))
                    }
                    _ => ("completed", "completed", Value::Null),
                };
                event(&json!({"type": format!("response.{kind}"), "response": {
                    "id": "resp_1", "model": self.model, "status": status,
                    "incomplete_details": details, "usage": usage,
                }}))
            }
            ReplyFormat::Anthropic => {
                let reason = match reason {
                    "stop" => "end_turn",
                    "length" => "max_tokens",
                    "tool_calls" => "tool_use",
                    "content_filter" => "refusal",
                    other => other,
                };
                self.close()
                    + &event(&json!({
                        "type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage,
                    }))
                    + &event(&json!({"type": "message_stop"}))
            }
            ReplyFormat::Gemini => {
                let reason = match reason {
                    "length" => "MAX_TOKENS",
                    "content_filter" => "SAFETY",
                    _ => "STOP",
                };
                let mut end: Value = json!({
                    "candidates": [{"content": {"role": "model", "parts": []}, "finishReason": reason}],
                    "modelVersion": self.model,
                });
                end["usageMetadata"] = usage;
                event(&end)
            }
        }
    }

    fn chunk(&self, delta: Value, reason: Value) -> String {
        event(&json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": self.model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        }))
    }

    fn candidate(&self, parts: Value, reason: Value) -> String {
        let mut candidate = json!({"content": {"role": "model", "parts": parts}});
        if !reason.is_null() {
            candidate["finishReason"] = reason;
        }
        event(&json!({"candidates": [candidate], "modelVersion": "scripted"}))
    }

    /// Starts a block, unless one of this kind is open.
    fn open(&mut self, kind: &'static str, block: &Value) -> String {
        if self.open == Some(kind) && kind != "tool_use" {
            return String::new();
        }
        let closed = self.close();
        let at = self.blocks;
        self.blocks += 1;
        self.open = Some(kind);
        closed
            + &match self.format {
                ReplyFormat::Anthropic => event(
                    &json!({"type": "content_block_start", "index": at, "content_block": block}),
                ),
                _ => event(
                    &json!({"type": "response.output_item.added", "output_index": at, "item": block}),
                ),
            }
    }

    fn close(&mut self) -> String {
        if self.open.take().is_none() || self.format != ReplyFormat::Anthropic {
            return String::new();
        }
        event(&json!({"type": "content_block_stop", "index": self.blocks - 1}))
    }

    fn delta(&self, delta: &Value) -> String {
        event(&json!({
            "type": "content_block_delta", "index": self.blocks.saturating_sub(1), "delta": delta,
        }))
    }
}

/// One event.
pub(crate) fn event(data: &Value) -> String {
    match data["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}
