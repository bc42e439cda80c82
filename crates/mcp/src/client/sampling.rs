//! Sampling: a server uses our model, within the user's limits. The model sees
//! only what the server sends, nothing of the conversation.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::BoxFuture;
use hermes_llm::{
    ChatMessage, ContentPart, FinishReason, InlineImage, LanguageModel, ModelReply, ModelRequest,
    RequestedCall, ToolCallAnswer as ToolAnswer, ToolChoice,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::prompter::{ElicitationAnswer, ElicitationPrompter, ServerQuestion};
use super::sanitize::excerpt;
use super::settings::SamplingSettings;

/// Maximum length of a prompt shown to the user, in characters.
const MAX_PROMPT_CHARS: usize = 1_500;

/// A model for sampling requests.
#[derive(Debug, Clone)]
pub struct ChosenModel {
    /// The model.
    pub model: Arc<dyn LanguageModel>,
    /// The name of the model at its provider.
    pub name: String,
}

/// The models available for sampling.
pub trait SamplingModels: Send + Sync {
    /// Returns the model of that name or, without a name, the default.
    fn choose<'a>(&'a self, name: Option<&'a str>) -> BoxFuture<'a, Option<ChosenModel>>;
}

/// A server's use of our models.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct SamplingCounts {
    /// Successful requests.
    pub requests: u64,
    /// Failed requests.
    pub errors: u64,
    /// Input and output tokens.
    pub tokens: u64,
    /// Replies that call tools.
    pub tool_uses: u64,
}

/// Sampling limits of one server, and their use.
pub(crate) struct SamplingHandler {
    settings: SamplingSettings,
    models: Option<Arc<dyn SamplingModels>>,
    recent: Mutex<VecDeque<Instant>>,
    counts: Mutex<SamplingCounts>,
}

impl SamplingHandler {
    pub(crate) fn new(settings: SamplingSettings, models: Option<Arc<dyn SamplingModels>>) -> Self {
        Self { settings, models, recent: Mutex::default(), counts: Mutex::default() }
    }

    /// Whether sampling is offered to the server.
    pub(crate) fn is_offered(&self) -> bool {
        self.settings.enabled && self.models.is_some()
    }

    pub(crate) fn counts(&self) -> SamplingCounts {
        *self.counts.lock()
    }

    /// Handles a sampling request in wire format. The error is a sentence.
    pub(crate) async fn handle_request(
        &self,
        server: &str,
        params: &Value,
        asker: Option<Arc<dyn ElicitationPrompter>>,
    ) -> Result<Value, String> {
        let answered = self.try_request(server, params, asker).await;
        let mut counts = self.counts.lock();
        match &answered {
            Ok((_, reply)) => {
                counts.requests += 1;
                counts.tokens += reply.usage.input + reply.usage.output;
                counts.tool_uses += u64::from(!reply.calls.is_empty());
            }
            Err(_) => counts.errors += 1,
        }
        answered.map(|it| it.0)
    }

    async fn try_request(
        &self,
        server: &str,
        params: &Value,
        asker: Option<Arc<dyn ElicitationPrompter>>,
    ) -> Result<(Value, ModelReply), String> {
        let limits = &self.settings;
        if !limits.enabled {
            return Err("sampling is disabled for this server".to_owned());
        }
        self.check_rate()?;
        let chosen = self.choose_model(params).await?;
        let request = self.build_request(&chosen.name, params)?;
        if limits.ask {
            let question = ServerQuestion::Sample {
                model: chosen.name.clone(),
                prompt: prompt_excerpt(&request.messages),
                max_tokens: request.max_tokens.and_then(|it| u32::try_from(it).ok()).unwrap_or(0),
            };
            let Some(asker) = asker else {
                return Err("sampling requires approval, and no approver is available".to_owned());
            };
            match asker.ask(server, &question).await {
                ElicitationAnswer::Accepted | ElicitationAnswer::AcceptedForm(_) => {}
                ElicitationAnswer::Declined => return Err("the user refused".to_owned()),
                ElicitationAnswer::Cancelled => return Err("the user did not answer".to_owned()),
            }
        }
        let reply = tokio::time::timeout(limits.timeout, chosen.model.reply(&request)).await;
        let reply = reply
            .map_err(|_| format!("the model took longer than {:?}", limits.timeout))?
            .map_err(|fault| format!("the model request failed: {fault}"))?;
        let model = if reply.model.is_empty() { chosen.name } else { reply.model.clone() };
        Ok((create_message_result(&reply, &model), reply))
    }

    /// Returns an error if the requests per minute are used up.
    fn check_rate(&self) -> Result<(), String> {
        let now = Instant::now();
        let mut recent = self.recent.lock();
        while recent.front().is_some_and(|at| now.duration_since(*at) >= Duration::from_secs(60)) {
            recent.pop_front();
        }
        if recent.len() >= self.settings.max_rpm as usize {
            return Err(format!("more than {} requests per minute", self.settings.max_rpm));
        }
        recent.push_back(now);
        Ok(())
    }

    /// Returns the configured model, else the first available of the server's
    /// preferences, else the default. It must be allowed.
    async fn choose_model(&self, params: &Value) -> Result<ChosenModel, String> {
        let models = self.models.as_ref().ok_or("no model is available")?;
        let allowed = &self.settings.allowed_models;
        let may = |name: &str| allowed.is_empty() || allowed.iter().any(|it| it == name);
        let chosen = match &self.settings.model {
            Some(name) => models.choose(Some(name)).await,
            None => {
                let hints = params.pointer("/modelPreferences/hints").and_then(Value::as_array);
                let names = hints.into_iter().flatten().take(16);
                let names = names.filter_map(|hint| hint.get("name").and_then(Value::as_str));
                let mut liked = None;
                for name in names {
                    liked = models.choose(Some(name)).await.filter(|it| may(&it.name));
                    if liked.is_some() {
                        break;
                    }
                }
                match liked {
                    Some(liked) => Some(liked),
                    None => models.choose(None).await,
                }
            }
        };
        let chosen = chosen.ok_or("no such model")?;
        if !may(&chosen.name) {
            return Err(format!("the model {} is not allowed for this server", chosen.name));
        }
        Ok(chosen)
    }

    fn build_request(&self, model: &str, params: &Value) -> Result<ModelRequest, String> {
        let limits = &self.settings;
        let messages = params.get("messages").and_then(Value::as_array).ok_or("no messages")?;
        let rounds = messages.iter().filter(|message| has_tool_use(message)).count();
        let tools = params.get("tools").and_then(Value::as_array);
        let tools = tools.filter(|tools| !tools.is_empty());
        if tools.is_some() && rounds >= limits.max_tool_rounds as usize {
            return Err(format!("more than {} rounds of tool calls", limits.max_tool_rounds));
        }
        let mut conversation = Vec::new();
        if let Some(system) = params.get("systemPrompt").and_then(Value::as_str) {
            conversation.push(ChatMessage::system(system));
        }
        messages.iter().for_each(|message| convert_message(message, &mut conversation));
        let mut request = ModelRequest::new(model, conversation);
        let wanted = params.get("maxTokens").and_then(Value::as_u64).unwrap_or(u64::MAX);
        request.max_tokens = Some(wanted.clamp(1, u64::from(limits.max_tokens)));
        let temperature = params.get("temperature").and_then(Value::as_f64);
        // Round to `f32` precision: the library stores it so, and JSON would
        // show 16 digits.
        request.temperature = temperature.map(|it| (it * 1e6).round() / 1e6);
        request.idle_timeout = Some(limits.timeout);
        if let Some(tools) = tools {
            request.tools = tools.iter().map(tool_definition).collect();
            request.choice = match params.pointer("/toolChoice/mode").and_then(Value::as_str) {
                Some("required") => ToolChoice::Required,
                Some("none") => ToolChoice::None,
                _ => ToolChoice::Auto,
            };
        }
        Ok(request)
    }
}

fn tool_definition(tool: &Value) -> Value {
    json!({"type": "function", "function": {
        "name": tool.get("name").cloned().unwrap_or_default(),
        "description": tool.get("description").cloned().unwrap_or_else(|| "".into()),
        "parameters": tool.get("inputSchema").cloned().unwrap_or_else(|| json!({"type": "object"})),
    }})
}

/// Returns the content blocks of a message, which has one or a list.
fn content_blocks(message: &Value) -> Vec<&Value> {
    match message.get("content") {
        Some(Value::Array(items)) => items.iter().collect(),
        Some(one) => vec![one],
        None => Vec::new(),
    }
}

fn has_tool_use(message: &Value) -> bool {
    content_blocks(message)
        .iter()
        .any(|it| it.get("type").and_then(Value::as_str) == Some("tool_use"))
}

fn convert_message(message: &Value, conversation: &mut Vec<ChatMessage>) {
    let text = |value: &Value, key: &str| {
        value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let mut parts = Vec::new();
    let mut reply = ModelReply::default();
    for piece in content_blocks(message) {
        match piece.get("type").and_then(Value::as_str).unwrap_or_default() {
            "text" => {
                let said = text(piece, "text");
                reply.text.push_str(&said);
                parts.push(ContentPart::Text { text: said });
            }
            "image" => parts.push(ContentPart::Image(InlineImage {
                media_type: text(piece, "mimeType"),
                data: text(piece, "data"),
            })),
            "tool_use" => reply.calls.push(RequestedCall {
                id: text(piece, "id"),
                name: text(piece, "name"),
                arguments: piece.get("input").cloned().unwrap_or_else(|| json!({})).to_string(),
            }),
            "tool_result" => {
                let said =
                    content_blocks(piece).iter().map(|it| text(it, "text")).collect::<Vec<_>>();
                conversation.push(ChatMessage::Tool(ToolAnswer {
                    call_id: text(piece, "toolUseId"),
                    name: String::new(),
                    content: said.join("\n"),
                    images: Vec::new(),
                    is_error: piece.get("isError").and_then(Value::as_bool).unwrap_or(false),
                    is_cancelled: false,
                }));
            }
            _ => {}
        }
    }
    if message.get("role").and_then(Value::as_str) == Some("assistant") {
        reply.finish =
            if reply.calls.is_empty() { FinishReason::Stop } else { FinishReason::Calls };
        conversation.push(ChatMessage::Assistant(reply));
    } else if !parts.is_empty() {
        conversation.push(ChatMessage::User { content: parts });
    }
}

fn create_message_result(reply: &ModelReply, model: &str) -> Value {
    let mut content = Vec::new();
    if !reply.text.is_empty() || reply.calls.is_empty() {
        content.push(json!({"type": "text", "text": reply.text}));
    }
    for call in &reply.calls {
        let input: Value = serde_json::from_str(&call.arguments)
            .ok()
            .filter(Value::is_object)
            .unwrap_or_else(|| json!({"_raw": call.arguments}));
        content.push(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input}));
    }
    let reason = match reply.finish {
        FinishReason::Length => "maxTokens",
        FinishReason::Calls => "toolUse",
        _ => "endTurn",
    };
    let content = match content.len() {
        1 => content.remove(0),
        _ => Value::Array(content),
    };
    json!({"role": "assistant", "content": content, "model": model, "stopReason": reason})
}

fn prompt_excerpt(messages: &[ChatMessage]) -> String {
    let last = messages.last().map(ChatMessage::text).unwrap_or_default();
    let system = messages.iter().find(|it| matches!(it, ChatMessage::System { .. }));
    match system {
        Some(system) if messages.len() > 1 => {
            format!(
                "[{}]\n{}",
                excerpt(&system.text(), MAX_PROMPT_CHARS / 3),
                excerpt(&last, MAX_PROMPT_CHARS)
            )
        }
        _ => excerpt(&last, MAX_PROMPT_CHARS),
    }
}

#[cfg(test)]
#[path = "sampling_tests.rs"]
mod tests;
