//! Fixture tools that speak the protocol themselves: they send log messages,
//! ask the client's user and the client's model, or answer with a question.
#![allow(deprecated, reason = "sampling and logging are of the older protocol, and still tested")]

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::around::State;
use crate::plain::PNG;
use crate::shelf::{asks, form, result, typed};

const NAMES: &[&str] = &[
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_trigger_prompt_change",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
];

type Context = RequestContext<RoleServer>;
type Outcome = Result<CallToolResponse, ErrorData>;

pub(crate) fn knows(name: &str) -> bool {
    NAMES.contains(&name)
}

pub(crate) fn tools() -> Result<Vec<Tool>, ErrorData> {
    let wanted = |name: &str| match name {
        "test_sampling" => json!({"prompt": {"type": "string"}}),
        "test_elicitation" => json!({"message": {"type": "string"}}),
        _ => json!({}),
    };
    let tool = |name: &&str| {
        let properties = wanted(name);
        let required: Vec<&String> =
            properties.as_object().into_iter().flatten().map(|p| p.0).collect();
        typed(json!({"name": name, "description": "A fixture of the conformance suite",
            "inputSchema": {"type": "object", "required": required, "properties": properties}}))
    };
    NAMES.iter().map(tool).collect()
}

pub(crate) async fn call(
    state: &Arc<State>,
    request: CallToolRequestParams,
    context: Context,
) -> Outcome {
    let argument = |name: &str| {
        let given = request.arguments.as_ref().and_then(|given| given.get(name));
        given.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    match &*request.name {
        "test_embedded_resource" => complete(json!([embedded(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content."
        )])),
        "test_multiple_content_types" => complete(json!([
            {"type": "text", "text": "Multiple content types test:"},
            {"type": "image", "data": PNG, "mimeType": "image/png"},
            embedded("test://mixed-content-resource", "application/json",
                     r#"{"test":"data","value":123}"#),
        ])),
        "test_tool_with_logging" => log(&context).await,
        "test_sampling" => sample(&context, &argument("prompt")).await,
        "test_elicitation" => {
            let field = |about: &str| json!({"type": "string", "description": about});
            let fields = json!({"username": field("User's response"),
                                "email": field("User's email address")});
            elicit(&context, &argument("message"), fields, json!(["username", "email"])).await
        }
        "test_elicitation_sep1034_defaults" => {
            elicit(&context, "Please check these", defaults(), json!([])).await
        }
        "test_elicitation_sep1330_enums" => {
            elicit(&context, "Please choose", enums(), json!([])).await
        }
        "test_missing_capability" => {
            let can = context.client_capabilities().unwrap_or_default();
            if can.sampling.is_none() {
                let needed = ClientCapabilities::builder().enable_sampling().build();
                return Err(ErrorData::missing_required_client_capability(needed));
            }
            says("The client can sample.")
        }
        "test_trigger_prompt_change" => {
            state.change_prompts();
            says("The prompts have changed.")
        }
        _ => round(state, &request, &context),
    }
}

fn complete(content: Value) -> Outcome {
    Ok(result::<CallToolResult>(json!({"content": content}))?.into())
}

fn says(text: impl Into<String>) -> Outcome {
    complete(json!([{"type": "text", "text": text.into()}]))
}

fn embedded(uri: &str, kind: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}})
}

async fn log(context: &Context) -> Outcome {
    let steps = ["Tool execution started", "Tool processing data", "Tool execution completed"];
    for step in steps {
        let message = typed(json!({"level": "info", "logger": "fixtures", "data": step}))?;
        let _ = context.peer.notify_logging_message(message).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    says("Logged.")
}

async fn sample(context: &Context, prompt: &str) -> Outcome {
    let said = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    let request = typed(json!({"messages": [said], "maxTokens": 100}))?;
    let answer = context.peer.create_message(request).await;
    let answer = answer.map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
    let answer = serde_json::to_value(answer).unwrap_or_default();
    says(format!("LLM response: {}", spoken(&answer)))
}

/// The text of a model's answer, which is one block or several.
fn spoken(answer: &Value) -> String {
    let block = answer.pointer("/content/text").or_else(|| answer.pointer("/content/0/text"));
    block.and_then(Value::as_str).unwrap_or_default().to_owned()
}

async fn elicit(context: &Context, message: &str, fields: Value, required: Value) -> Outcome {
    let mut schema = json!({"type": "object", "properties": fields});
    if required.as_array().is_some_and(|names| !names.is_empty())
        && let Some(schema) = schema.as_object_mut()
    {
        schema.insert("required".to_owned(), required);
    }
    let asked = json!({"mode": "form", "message": message, "requestedSchema": schema});
    let answer = context.peer.create_elicitation(typed(asked)?).await;
    let answer = answer.map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
    let answer = serde_json::to_value(answer).unwrap_or_default();
    let action = answer.get("action").and_then(Value::as_str).unwrap_or_default();
    let content = answer.get("content").cloned().unwrap_or_default();
    says(format!("Elicitation completed: action={action}, content={content}"))
}

fn defaults() -> Value {
    json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"],
                   "default": "active"},
        "verified": {"type": "boolean", "default": true},
    })
}

fn enums() -> Value {
    let values = ["option1", "option2", "option3"];
    let titled = |word: &str| {
        json!([
            {"const": "value1", "title": format!("First {word}")},
            {"const": "value2", "title": format!("Second {word}")},
            {"const": "value3", "title": format!("Third {word}")},
        ])
    };
    json!({
        "untitledSingle": {"type": "string", "enum": values},
        "titledSingle": {"type": "string", "oneOf": titled("Option")},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
                       "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": values}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
    })
}

/// One round of a tool that answers with a question until it knows enough.
fn round(state: &State, request: &CallToolRequestParams, context: &Context) -> Outcome {
    let answer = |key: &str, at: &str| {
        let all = request.input_responses.as_ref()?;
        Some(all.get(key)?.pointer(at)?.clone())
    };
    let name = form("What is your name?", "name", "string");
    let sampling = |text: &str, most: u32| {
        let said = json!({"role": "user", "content": {"type": "text", "text": text}});
        json!({"method": "sampling/createMessage",
               "params": {"messages": [said], "maxTokens": most}})
    };
    let roots = json!({"method": "roots/list", "params": {}});
    match &*request.name {
        "test_input_required_result_elicitation" | "test_streaming_elicitation" => {
            match answer("user_name", "/content/name") {
                Some(Value::String(name)) => says(format!("Hello, {name}!")),
                _ => Ok(asks(json!({"user_name": name}))?.into()),
            }
        }
        "test_input_required_result_sampling" => {
            match request.input_responses.as_ref().and_then(|all| all.get("capital_question")) {
                Some(answer) if answer.is_object() => says(spoken(answer)),
                _ => {
                    let question = sampling("What is the capital of France?", 100);
                    Ok(asks(json!({"capital_question": question}))?.into())
                }
            }
        }
        "test_input_required_result_list_roots" => match answer("client_roots", "/roots") {
            Some(found) => says(format!("Roots: {found}")),
            None => Ok(asks(json!({"client_roots": roots}))?.into()),
        },
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => {
            let question = form("Please confirm", "ok", "boolean");
            stateful(
                state,
                request,
                |_| answer("confirm", "/content/ok").map(|_| "state-ok".to_owned()),
                &json!({"confirm": question}),
            )
        }
        "test_input_required_result_multiple_inputs" => {
            let greeting = sampling("Generate a greeting", 50);
            let questions = json!({"user_name": name, "greeting": greeting, "client_roots": roots});
            stateful(
                state,
                request,
                |_| {
                    let all = request.input_responses.as_ref()?;
                    let known = ["user_name", "greeting", "client_roots"];
                    known.iter().all(|key| all.contains_key(*key)).then(|| "All known.".to_owned())
                },
                &questions,
            )
        }
        "test_input_required_result_multi_round" => rounds(state, request),
        _ => {
            let can = context.client_capabilities().unwrap_or_default();
            let mut questions = json!({});
            let mut put = |is_known: bool, key: &str, question: Value| {
                if let (true, Some(all)) = (is_known, questions.as_object_mut()) {
                    all.insert(key.to_owned(), question);
                }
            };
            put(can.elicitation.is_some(), "name", name);
            put(can.sampling.is_some(), "greeting", sampling("Say hello", 50));
            Ok(asks(questions)?.into())
        }
    }
}

/// A round that counts only with the state that came with the question.
fn stateful(
    state: &State,
    request: &CallToolRequestParams,
    finish: impl Fn(&str) -> Option<String>,
    questions: &Value,
) -> Outcome {
    let known = opened(state, request)?;
    if let Some(done) = known.as_deref().and_then(&finish) {
        return says(done);
    }
    ask_with(state, request, questions.clone(), "asked")
}

fn rounds(state: &State, request: &CallToolRequestParams) -> Outcome {
    let given =
        |key: &str| request.input_responses.as_ref().is_some_and(|all| all.contains_key(key));
    let (first, second) = (
        form("Step 1: What is your name?", "name", "string"),
        form("Step 2: What is your favorite color?", "color", "string"),
    );
    match opened(state, request)?.as_deref() {
        Some("one") if given("step1") => ask_with(state, request, json!({"step2": second}), "two"),
        Some("two") if given("step2") => says("Both are known."),
        Some("two") => ask_with(state, request, json!({"step2": second}), "two"),
        _ => ask_with(state, request, json!({"step1": first}), "one"),
    }
}

/// What the client's state says, if it is ours.
fn opened(state: &State, request: &CallToolRequestParams) -> Result<Option<String>, ErrorData> {
    let Some(sealed) = &request.request_state else { return Ok(None) };
    let opened = state.codec.open_with(sealed, request.name.as_bytes());
    let opened = opened.map_err(|e| ErrorData::invalid_params(e.to_string(), None))?;
    Ok(String::from_utf8(opened).ok())
}

fn ask_with(
    state: &State,
    request: &CallToolRequestParams,
    questions: Value,
    step: &str,
) -> Outcome {
    let options = SealOptions::new().associated_data(request.name.as_bytes());
    let mut answer = asks(questions)?;
    answer.request_state = Some(state.codec.seal_with(step.as_bytes(), &options));
    Ok(answer.into())
}
