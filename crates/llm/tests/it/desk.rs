//! What the tests share.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use hermes_llm::{
    ApiDialect, ApiKey, ChatMessage, ContentPart, HttpClients, HttpModel, InlineImage,
    LanguageModel, ModelEndpoint, ModelError, ModelReply, ModelRequest, ReplyEvent, RequestedCall,
    ToolCallAnswer,
};
use hermes_testkit::models::ModelServer;
use serde_json::{Value, json};

pub(crate) const DIALECTS: [ApiDialect; 4] =
    [ApiDialect::Chat, ApiDialect::Responses, ApiDialect::Anthropic, ApiDialect::Gemini];

pub(crate) fn endpoint(server: &ModelServer, dialect: ApiDialect) -> ModelEndpoint {
    let mut endpoint = ModelEndpoint::new(dialect, server.url(), "scripted");
    endpoint.keys = vec![ApiKey::new("sk-test")];
    endpoint
}

pub(crate) fn model(server: &ModelServer, dialect: ApiDialect) -> Arc<dyn LanguageModel> {
    of(endpoint(server, dialect))
}

pub(crate) fn of(endpoint: ModelEndpoint) -> Arc<dyn LanguageModel> {
    let key = endpoint.keys.first().cloned();
    Arc::new(HttpModel::new(Arc::new(HttpClients::default()), Arc::new(endpoint), key))
}

pub(crate) fn ask(text: &str) -> ModelRequest {
    let mut request =
        ModelRequest::new("", vec![ChatMessage::system("Be brief."), ChatMessage::user(text)]);
    request.idle_timeout = Some(Duration::from_secs(20));
    request
}

pub(crate) fn with_tools(mut request: ModelRequest) -> ModelRequest {
    request.tools = vec![json!({"type": "function", "function": {
        "name": "read_file",
        "description": "Reads a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    }})]
    .into();
    request
}

/// A conversation with two calls, their results and an image behind it.
pub(crate) fn long_conversation() -> Vec<ChatMessage> {
    let call = |id: &str, arguments: &str| RequestedCall {
        id: id.to_owned(),
        name: "read_file".to_owned(),
        arguments: arguments.to_owned(),
    };
    let image = InlineImage { media_type: "image/png".to_owned(), data: "AAAA".to_owned() };
    let answer = |id: &str, images: Vec<InlineImage>, is_error| {
        ChatMessage::Tool(ToolCallAnswer {
            call_id: id.to_owned(),
            name: "read_file".to_owned(),
            content: format!("result of {id}"),
            images,
            is_error,
            is_cancelled: false,
        })
    };
    vec![
        ChatMessage::system("Be brief."),
        ChatMessage::User {
            content: vec![
                ContentPart::Text { text: "Look.".to_owned() },
                ContentPart::Image(image.clone()),
            ],
        },
        ChatMessage::Assistant(ModelReply {
            text: "I look.".to_owned(),
            calls: vec![call("a", r#"{"path":"x"}"#), call("b", "{broken")],
            ..ModelReply::default()
        }),
        answer("a", vec![image], false),
        answer("b", Vec::new(), true),
        ChatMessage::user("And now?"),
    ]
}

/// All events up to the end, or up to the fault.
pub(crate) async fn events(
    model: &dyn LanguageModel,
    request: &ModelRequest,
) -> (Vec<ReplyEvent>, Option<ModelError>) {
    let mut stream = match model.ask(request).await {
        Ok(stream) => stream,
        Err(fault) => return (Vec::new(), Some(fault)),
    };
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => events.push(event),
            Err(fault) => return (events, Some(fault)),
        }
    }
    (events, None)
}

pub(crate) fn last(server: &ModelServer) -> Value {
    server.model_requests().pop().unwrap()
}
