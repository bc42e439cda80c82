//! Converts results to the protocol's form.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_core::{Attachment, CallStatus, EffectDisposition, ErrorKind, ToolResult};
use hermes_schema::Schema;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

/// Maximum size of an image or audio attachment that is sent.
const MAX_ATTACHMENT_BYTES: u64 = 8 << 20;

/// Converts a result. An unknown tool is a protocol error; all other errors are
/// results for the model. If the tool has a result `schema`, the structured
/// content is included.
pub(crate) async fn render(
    result: ToolResult,
    exists: bool,
    schema: Option<&Schema>,
) -> Result<CallToolResult, ErrorData> {
    let unknown = result.status == CallStatus::Error(ErrorKind::NotFound)
        && result.disposition == EffectDisposition::NotRun
        && !exists;
    if unknown {
        let details = serde_json::from_str::<Value>(&result.content).ok();
        let said = details.as_ref().and_then(|d| d.get("error")?.as_str().map(str::to_owned));
        let message = said.unwrap_or_else(|| format!("Unknown tool: {}", result.name));
        return Err(ErrorData::invalid_params(message, details));
    }
    let structured =
        schema.filter(|_| result.is_success()).map(|it| fit_to_schema(&result.content, it));
    let mut content = vec![ContentBlock::text(unquote_text(result.content))];
    for attachment in result.attachments {
        content.push(attachment_block(attachment).await);
    }
    let mut rendered = match result.status {
        CallStatus::Success => CallToolResult::success(content),
        CallStatus::Error(_) => CallToolResult::error(content),
    };
    rendered.structured_content = structured;
    Ok(rendered)
}

/// Wraps the content if it does not match the schema. A hook may have replaced
/// it with anything; the schema does not constrain `result`.
fn fit_to_schema(content: &str, schema: &Schema) -> Value {
    let value: Value = serde_json::from_str(content).unwrap_or_default();
    if schema.is_valid(&value) { value } else { json!({ "result": value }) }
}

/// Unquotes a result that is a JSON string; any other stays JSON.
fn unquote_text(content: String) -> String {
    if content.starts_with('"')
        && let Ok(text) = serde_json::from_str(&content)
    {
        return text;
    }
    content
}

async fn attachment_block(attachment: Attachment) -> ContentBlock {
    let Attachment { media_type, path } = attachment;
    let kind = media_type.split('/').next().unwrap_or_default().to_owned();
    if kind != "image" && kind != "audio" {
        return ContentBlock::text(format!("{media_type}: {}", path.display()));
    }
    let shown = path.clone();
    let read = tokio::task::spawn_blocking(move || encode_file(&path)).await;
    match (read, kind.as_str()) {
        (Ok(Ok(data)), "audio") => ContentBlock::audio(data, media_type),
        (Ok(Ok(data)), _) => ContentBlock::image(data, media_type),
        (Ok(Err(why)), _) => {
            ContentBlock::text(format!("{media_type}: {} was not sent: {why}", shown.display()))
        }
        (Err(_), _) => ContentBlock::text(format!("{media_type}: {}", shown.display())),
    }
}

fn encode_file(path: &Path) -> Result<String, String> {
    let size = std::fs::metadata(path).map_err(|e| e.to_string())?.len();
    if size > MAX_ATTACHMENT_BYTES {
        return Err(format!("its {size} bytes exceed the limit of {MAX_ATTACHMENT_BYTES}"));
    }
    Ok(STANDARD.encode(std::fs::read(path).map_err(|e| e.to_string())?))
}

#[cfg(test)]
#[path = "tool_result_tests.rs"]
mod tests;
