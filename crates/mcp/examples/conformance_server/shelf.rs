//! Prompts and resources that the suite reads.

use rmcp::ErrorData;
use rmcp::model::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::plain::PNG;

/// The protocol's type of a piece of JSON.
pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|e| ErrorData::internal_error(e.to_string(), None))
}

/// The same for a whole result, which newer clients want to be told is one.
pub(crate) fn result<T: DeserializeOwned>(mut value: Value) -> Result<T, ErrorData> {
    if let Some(fields) = value.as_object_mut() {
        fields.insert("resultType".to_owned(), json!("complete"));
    }
    typed(value)
}

pub(crate) fn prompts() -> Result<ListPromptsResult, ErrorData> {
    let wanted = |name: &str| json!({"name": name, "description": "A value", "required": true});
    result(json!({"prompts": [
        {"name": "test_simple_prompt", "description": "Nothing to fill in"},
        {"name": "test_prompt_with_arguments", "description": "Two values to fill in",
         "arguments": [wanted("arg1"), wanted("arg2")]},
        {"name": "test_prompt_with_embedded_resource", "description": "With a resource",
         "arguments": [wanted("resourceUri")]},
        {"name": "test_prompt_with_image", "description": "With a picture"},
        {"name": "test_input_required_result_prompt", "description": "Asks something first"},
    ]}))
}

pub(crate) fn prompt(asked: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    let argument = |name: &str| {
        let given = asked.arguments.as_ref().and_then(|given| given.get(name));
        given.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let said = |text: String| json!({"role": "user", "content": {"type": "text", "text": text}});
    let messages = match asked.name.as_str() {
        "test_simple_prompt" => vec![said("This is a simple prompt for testing.".to_owned())],
        "test_prompt_with_arguments" => vec![said(format!(
            "Prompt with arguments: arg1='{}', arg2='{}'",
            argument("arg1"),
            argument("arg2")
        ))],
        "test_prompt_with_embedded_resource" => vec![
            json!({"role": "user", "content": {"type": "resource", "resource": {
                "uri": argument("resourceUri"), "mimeType": "text/plain",
                "text": "Embedded resource content for testing."}}}),
            said("Please process the embedded resource above.".to_owned()),
        ],
        "test_prompt_with_image" => vec![
            json!({"role": "user", "content": {
                "type": "image", "data": PNG, "mimeType": "image/png"}}),
            said("Please analyze the image above.".to_owned()),
        ],
        "test_input_required_result_prompt" => {
            let answered = asked.input_responses.as_ref().and_then(|all| all.get("user_context"));
            let Some(context) = answered.and_then(|a| a.pointer("/content/context")?.as_str())
            else {
                let question = "What context should the prompt use?";
                return Ok(
                    asks(json!({"user_context": form(question, "context", "string")}))?.into()
                );
            };
            vec![said(format!("Use this context: {context}"))]
        }
        other => return Err(ErrorData::invalid_params(format!("Unknown prompt: {other}"), None)),
    };
    Ok(result::<GetPromptResult>(json!({"messages": messages}))?.into())
}

/// A question with one field.
pub(crate) fn form(message: &str, field: &str, kind: &str) -> Value {
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": message,
        "requestedSchema": {"type": "object", "properties": {field: {"type": kind}},
                            "required": [field]}}})
}

/// Questions as an answer.
pub(crate) fn asks(questions: Value) -> Result<InputRequiredResult, ErrorData> {
    Ok(InputRequiredResult::from_input_requests(typed(questions)?))
}

pub(crate) fn complete(asked: &CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
    let known = ["paris", "park", "party"];
    let values: Vec<&str> =
        known.into_iter().filter(|value| value.starts_with(&asked.argument.value)).collect();
    result(json!({"completion": {"total": values.len(), "values": values, "hasMore": false}}))
}

pub(crate) fn resources() -> Result<ListResourcesResult, ErrorData> {
    let resource = |uri: &str, name: &str, kind: &str| json!({"uri": uri, "name": name, "description": "For testing", "mimeType": kind});
    result(json!({"resources": [
        resource("test://static-text", "Text", "text/plain"),
        resource("test://static-binary", "Picture", "image/png"),
        resource("test://watched-resource", "Watched", "text/plain"),
    ]}))
}

pub(crate) fn templates() -> Result<ListResourceTemplatesResult, ErrorData> {
    result(json!({"resourceTemplates": [{"uriTemplate": "test://template/{id}/data",
        "name": "Data", "description": "The data of an id", "mimeType": "application/json"}]}))
}

pub(crate) fn read(uri: &str) -> Result<ReadResourceResponse, ErrorData> {
    let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    let (kind, key, content) = match (uri, id) {
        ("test://static-text", _) => {
            ("text/plain", "text", "This is the content of the static text resource.".to_owned())
        }
        ("test://static-binary", _) => ("image/png", "blob", PNG.to_owned()),
        ("test://watched-resource", _) => ("text/plain", "text", "Watched.".to_owned()),
        (_, Some(id)) => {
            let data =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            ("application/json", "text", data.to_string())
        }
        _ => {
            let place = json!({"uri": uri});
            return Err(ErrorData::resource_not_found("Resource not found", Some(place)));
        }
    };
    let contents = json!({"contents": [{"uri": uri, "mimeType": kind, key: content}]});
    Ok(result::<ReadResourceResult>(contents)?.into())
}
