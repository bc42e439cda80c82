//! What the tests share.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use hermes_llm::{
    Answer, Asked, Dialect, Endpoint, Event, Fault, Http, Image, Key, Message, Model, Part, Reply,
    Request, Server,
};
use hermes_testkit::models::ModelServer;
use serde_json::{Value, json};

pub(crate) const DIALECTS: [Dialect; 4] =
    [Dialect::Chat, Dialect::Responses, Dialect::Anthropic, Dialect::Gemini];

pub(crate) fn endpoint(server: &ModelServer, dialect: Dialect) -> Endpoint {
    let mut endpoint = Endpoint::new(dialect, server.url(), "scripted");
    endpoint.keys = vec![Key::new("sk-test")];
    endpoint
}

pub(crate) fn model(server: &ModelServer, dialect: Dialect) -> Arc<dyn Model> {
    of(endpoint(server, dialect))
}

pub(crate) fn of(endpoint: Endpoint) -> Arc<dyn Model> {
    let key = endpoint.keys.first().cloned();
    Arc::new(Server::new(Arc::new(Http::default()), Arc::new(endpoint), key))
}

pub(crate) fn ask(text: &str) -> Request {
    let mut request = Request::new("", vec![Message::system("Be brief."), Message::user(text)]);
    request.patience = Some(Duration::from_secs(20));
    request
}

pub(crate) fn with_tools(mut request: Request) -> Request {
    request.tools = vec![json!({"type": "function", "function": {
        "name": "read_file",
        "description": "Reads a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    }})]
    .into();
    request
}

/// A conversation with two calls, their results and an image behind it.
pub(crate) fn long_conversation() -> Vec<Message> {
    let call = |id: &str, arguments: &str| Asked {
        id: id.to_owned(),
        name: "read_file".to_owned(),
        arguments: arguments.to_owned(),
    };
    let image = Image { media_type: "image/png".to_owned(), data: "AAAA".to_owned() };
    let answer = |id: &str, images: Vec<Image>, is_error| {
        Message::Tool(Answer {
            call_id: id.to_owned(),
            name: "read_file".to_owned(),
            content: format!("result of {id}"),
            images,
            is_error,
            is_cancelled: false,
        })
    };
    vec![
        Message::system("Be brief."),
        Message::User {
            content: vec![Part::Text { text: "Look.".to_owned() }, Part::Image(image.clone())],
        },
        Message::Assistant(Reply {
            text: "I look.".to_owned(),
            calls: vec![call("a", r#"{"path":"x"}"#), call("b", "{broken")],
            ..Reply::default()
        }),
        answer("a", vec![image], false),
        answer("b", Vec::new(), true),
        Message::user("And now?"),
    ]
}

/// All events up to the end, or up to the fault.
pub(crate) async fn events(model: &dyn Model, request: &Request) -> (Vec<Event>, Option<Fault>) {
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
    server.asked().pop().unwrap()
}
