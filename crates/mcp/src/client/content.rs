//! Converts a server's response to a tool result: text stays text, structured
//! content appears once, images and audio become attached files.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_core::{Attachment, ToolError, ToolOutput};
use hermes_schema::Schema;
use rmcp::model::{
    CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult, ResourceContents,
    ServerResult,
};
use serde_json::{Map, Value, json};

use super::digest;
use super::sanitize::{excerpt, strip_controls};

/// Maximum length of a server's error message, in characters.
const MAX_ERROR_CHARS: usize = 8_000;

/// Directory for files from responses.
#[derive(Debug, Clone)]
pub(crate) struct MediaStore {
    dir: PathBuf,
}

impl MediaStore {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { dir: directory }
    }

    /// Decodes base64 into a file named by its hash, so equal bytes share a
    /// file.
    fn save(&self, data: &str, media_type: &str) -> Result<Attachment, String> {
        let compact: String;
        let data = if data.contains(char::is_whitespace) {
            compact = data.split_whitespace().collect();
            &compact
        } else {
            data
        };
        let bytes = STANDARD.decode(data).map_err(|error| error.to_string())?;
        let name = format!("{}.{}", &digest::sha256_hex(&bytes)[..20], extension(media_type));
        let path = self.dir.join(name);
        let written = std::fs::create_dir_all(&self.dir)
            .and_then(|()| hermes_store::atomic::write_atomic(&path, &bytes, 0o600));
        written.map_err(|error| error.to_string())?;
        Ok(Attachment { media_type: excerpt(media_type, 100), path })
    }

    /// Replaces embedded files in structured content with saved attachments.
    fn extract_files(&self, value: &mut Value, attachments: &mut Vec<Attachment>) {
        match value {
            Value::Array(items) => {
                items.iter_mut().for_each(|item| self.extract_files(item, attachments));
            }
            Value::Object(fields) => {
                let text = |key: &str| fields.get(key).and_then(Value::as_str);
                let file = match (text("type"), text("mimeType")) {
                    (Some(kind @ ("image" | "audio")), Some(media_type)) => {
                        text("data").map(|data| ("data", kind, data, media_type))
                    }
                    (_, media_type) if fields.contains_key("uri") => text("blob").map(|data| {
                        ("blob", "resource", data, media_type.unwrap_or("application/octet-stream"))
                    }),
                    _ => None,
                };
                let Some((key, what, data, media_type)) = file else {
                    fields.values_mut().for_each(|field| self.extract_files(field, attachments));
                    return;
                };
                let shown = match self.save(data, media_type) {
                    Ok(kept) => {
                        let shown = attachment_line(what, &kept);
                        if !attachments.iter().any(|it| it.path == kept.path) {
                            attachments.push(kept);
                        }
                        shown
                    }
                    Err(why) => unreadable_line(what, &why),
                };
                fields.insert(key.to_owned(), shown.into());
            }
            _ => {}
        }
    }

    /// Saves data as an attachment and adds a line that names it.
    fn save_and_describe(
        &self,
        what: &str,
        data: &str,
        media_type: &str,
        into: &mut ContentCollector,
    ) {
        match self.save(data, media_type) {
            Ok(kept) => {
                into.texts.push(attachment_line(what, &kept));
                into.attachments.push(kept);
            }
            Err(why) => into.texts.push(unreadable_line(what, &why)),
        }
    }
}

/// Returns the placeholder line for an attachment.
fn attachment_line(what: &str, kept: &Attachment) -> String {
    format!("[{what} {}: {}]", kept.media_type, kept.path.display())
}

fn unreadable_line(what: &str, why: &str) -> String {
    format!("[{what} that cannot be decoded: {why}]")
}

/// Returns the file extension for a media type.
fn extension(media_type: &str) -> String {
    let subtype = media_type.split(';').next().unwrap_or_default().rsplit('/').next();
    let subtype = subtype.unwrap_or_default().trim_start_matches("x-");
    let subtype = subtype.split('+').next().unwrap_or_default();
    match subtype {
        "jpeg" => "jpg".to_owned(),
        "plain" => "txt".to_owned(),
        "mpeg" => "mp3".to_owned(),
        other
            if !other.is_empty()
                && other.len() <= 10
                && other.chars().all(|c| c.is_ascii_alphanumeric()) =>
        {
            other.to_lowercase()
        }
        _ => "bin".to_owned(),
    }
}

#[derive(Default)]
struct ContentCollector {
    texts: Vec<String>,
    attachments: Vec<Attachment>,
}

impl ContentCollector {
    fn add(&mut self, block: &ContentBlock, reader: Option<&str>, media: &MediaStore) {
        match block {
            ContentBlock::Text(text) => self.texts.push(text.text.clone()),
            ContentBlock::Image(image) => {
                media.save_and_describe("image", &image.data, &image.mime_type, self)
            }
            ContentBlock::Audio(audio) => {
                media.save_and_describe("audio", &audio.data, &audio.mime_type, self)
            }
            ContentBlock::Resource(embedded) => self.add_resource(&embedded.resource, media),
            ContentBlock::ResourceLink(link) => {
                let how = reader.map(|reader| format!(": read it with {reader}"));
                self.texts.push(format!(
                    "[resource {} ({}){}]",
                    excerpt(&link.uri, 500),
                    excerpt(&link.name, 200),
                    how.unwrap_or_default()
                ));
            }
            _ => self.texts.push("[content of an unknown type]".to_owned()),
        }
    }

    fn add_resource(&mut self, resource: &ResourceContents, media: &MediaStore) {
        match resource {
            ResourceContents::TextResourceContents { text, .. } => self.texts.push(text.clone()),
            ResourceContents::BlobResourceContents { uri, blob, mime_type, .. } => {
                let media_type = mime_type.as_deref().unwrap_or("application/octet-stream");
                media.save_and_describe(
                    &format!("resource {}", excerpt(uri, 300)),
                    blob,
                    media_type,
                    self,
                );
            }
            _ => self.texts.push("[resource of an unknown type]".to_owned()),
        }
    }
}

/// Origin of a result, with what is known about it in advance.
pub(crate) struct ResultSource<'a> {
    pub(crate) server: &'a str,
    pub(crate) tool: &'a str,
    /// The tool that reads linked resources, if there is one.
    pub(crate) reader: Option<&'a str>,
    /// The schema that the server declares for structured content.
    pub(crate) output_schema: Option<&'a Schema>,
}

/// Recovers a result with unknown content blocks, replacing each with a
/// placeholder.
pub(crate) fn recover_known_blocks(result: &ServerResult) -> Option<CallToolResult> {
    let mut result = serde_json::to_value(result).ok()?;
    for block in result.get_mut("content")?.as_array_mut()? {
        if serde_json::from_value::<ContentBlock>(block.clone()).is_err() {
            let kind = block.get("type").and_then(Value::as_str).unwrap_or("none");
            let text = format!("[content of an unknown type: {}]", excerpt(kind, 50));
            *block = json!({"type": "text", "text": text});
        }
    }
    serde_json::from_value(result).ok()
}

/// Converts a tool call's response to a tool result.
pub(crate) fn tool_output(
    from: &ResultSource<'_>,
    result: &CallToolResult,
    media: &MediaStore,
) -> Result<ToolOutput, ToolError> {
    let ResultSource { server, tool, .. } = from;
    let mut gathered = ContentCollector::default();
    result.content.iter().for_each(|block| gathered.add(block, from.reader, media));
    let text = gathered.texts.join("\n");
    let structured = result.structured_content.as_ref().filter(|it| !it.is_null());
    let structured = structured.filter(|it| !repeats_content(it, &result.content));
    if result.is_error == Some(true) {
        let said = match (text.trim().is_empty(), structured) {
            (true, Some(structured)) => structured.to_string(),
            (true, None) => "no reason given".to_owned(),
            (false, _) => text,
        };
        let said = excerpt(&strip_controls(&said), MAX_ERROR_CHARS);
        let error = ToolError::conflict(format!("The tool {tool} of '{server}' failed: {said}"));
        return Err(error.with_hint(
            "This is the server's own message; correct the call, or try another approach.",
        ));
    }
    let mut object = Map::new();
    let shown = structured.map(|structured| {
        let mut shown = structured.clone();
        media.extract_files(&mut shown, &mut gathered.attachments);
        shown
    });
    match shown {
        // The structured content repeats the text, or there is no text.
        Some(shown) if text.is_empty() || is_same_content(&text, &shown) => {
            object.insert("result".to_owned(), shown);
        }
        Some(shown) => {
            object.insert("result".to_owned(), text.into());
            object.insert("structuredContent".to_owned(), shown);
        }
        None => {
            object.insert("result".to_owned(), text.into());
        }
    }
    if let (Some(structured), Some(form)) = (structured, from.output_schema)
        && let Some(wrong) = schema_violation(form, structured)
    {
        object.insert("note".to_owned(), wrong.into());
    }
    Ok(ToolOutput::from(object).with_attachments(gathered.attachments))
}

/// Returns the first violation of the declared output schema. An invalid schema
/// is ignored.
fn schema_violation(form: &Schema, structured: &Value) -> Option<String> {
    form.compile().ok()?;
    let violations = form.check(structured).err()?;
    let first = violations.first()?;
    Some(format!(
        "The result does not match the outputSchema of the tool: {}",
        excerpt(&first.to_string(), 300)
    ))
}

/// Whether the structured content only repeats the content blocks, as some
/// servers do.
fn repeats_content(structured: &Value, content: &[ContentBlock]) -> bool {
    let list = match structured {
        Value::Object(fields) if fields.len() == 1 => fields.values().next(),
        other => Some(other),
    };
    let Some(Value::Array(list)) = list else { return false };
    list.len() == content.len()
        && !list.is_empty()
        && list.iter().zip(content).all(|(item, block)| {
            serde_json::from_value::<ContentBlock>(item.clone()).is_ok_and(|it| it == *block)
        })
}

fn is_same_content(text: &str, structured: &Value) -> bool {
    let only = structured.as_object().filter(|fields| fields.len() == 1);
    // Some servers wrap plain text in an object.
    if only.is_some_and(|fields| fields.values().all(|value| value.as_str() == Some(text))) {
        return true;
    }
    let Ok(said) = serde_json::from_str::<Value>(text) else { return false };
    said == *structured || only.is_some_and(|fields| fields.values().all(|value| *value == said))
}

/// Converts a resource to a tool result.
pub(crate) fn resource_output(result: &ReadResourceResult, media: &MediaStore) -> ToolOutput {
    let mut gathered = ContentCollector::default();
    result.contents.iter().for_each(|it| gathered.add_resource(it, media));
    let mut object = Map::new();
    object.insert("result".to_owned(), gathered.texts.join("\n").into());
    ToolOutput::from(object).with_attachments(gathered.attachments)
}

/// Converts a prompt to a tool result.
pub(crate) fn prompt_output(
    result: &GetPromptResult,
    media: &MediaStore,
    reader: Option<&str>,
) -> Result<ToolOutput, ToolError> {
    let mut attachments = Vec::new();
    let mut messages = Vec::new();
    for message in &result.messages {
        let mut gathered = ContentCollector::default();
        gathered.add(&message.content, reader, media);
        messages.push(json!({"role": message.role, "content": gathered.texts.join("\n")}));
        attachments.append(&mut gathered.attachments);
    }
    let mut object = Map::new();
    object.insert("messages".to_owned(), messages.into());
    if let Some(description) = &result.description {
        object.insert("description".to_owned(), description.clone().into());
    }
    Ok(ToolOutput::from(object).with_attachments(attachments))
}

/// Removes files that were not modified for `age`. Blocks.
pub(crate) fn remove_old_files(dir: &Path, age: std::time::Duration) {
    let Ok(files) = std::fs::read_dir(dir) else { return };
    for file in files.flatten() {
        let modified = file.metadata().ok().and_then(|it| it.modified().ok());
        if modified.and_then(|at| at.elapsed().ok()).is_some_and(|since| since >= age) {
            let _ = std::fs::remove_file(file.path());
        }
    }
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
