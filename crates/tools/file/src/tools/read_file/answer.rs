//! Results of `read_file`.

use schemars::JsonSchema;
use serde::Serialize;

use super::page::{LinePage, PageRequest};

/// A result, in one of five shapes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Output {
    /// Numbered lines.
    Text(TextAnswer),
    /// A range of bytes.
    Bytes(BytesAnswer),
    /// Description of a binary file.
    Binary(BinaryAnswer),
    /// Already seen.
    Unchanged(UnchangedAnswer),
    /// Variable names.
    Names(NamesAnswer),
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TextAnswer {
    pub(super) content: String,
    path: String,
    /// Null if not counted yet.
    total_lines: Option<u64>,
    /// Set if the total is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_lines_at_least: Option<u64>,
    file_size: u64,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_column: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_ending: Option<&'static str>,
    /// Set only if the last line has no newline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) final_newline: Option<bool>,
    /// Kind of document the text was extracted from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extracted_document: Option<&'static str>,
    /// Version of the whole file, for `expected_hash`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl TextAnswer {
    pub(super) fn new(path: String, file_size: u64, page: LinePage, request: &PageRequest) -> Self {
        let ends_open = page.total != Some(0) && page.is_terminated == Some(false);
        Self {
            path,
            total_lines: page.total,
            total_lines_at_least: page.total.is_none().then_some(page.at_least),
            file_size,
            truncated: page.is_cut(),
            truncated_by: page.cut_by(),
            next_offset: page.next_offset,
            next_column: page.next_column,
            encoding: page.text.format.label(),
            line_ending: page.endings.name(),
            final_newline: ends_open.then_some(false),
            extracted_document: None,
            hash: None,
            note: page.note(),
            hint: page.hint(request),
            content: page.content,
        }
    }

    /// Marks the text as extracted from a document.
    pub(super) fn set_document(&mut self, document: Option<&'static str>) {
        self.extracted_document = document;
        if document.is_some() && self.total_lines == Some(0) {
            self.note = Some("The document has no text.".to_owned());
        }
    }

    pub(super) fn add_notes(&mut self, notes: &[String]) {
        for note in notes {
            let so_far = self.note.take().map(|so_far| format!("{so_far} ")).unwrap_or_default();
            self.note = Some(so_far + note);
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BytesAnswer {
    /// Text without line numbers, or a hex dump.
    pub(super) content: String,
    pub(super) path: String,
    pub(super) file_size: u64,
    /// `text` or `hex`.
    pub(super) format: &'static str,
    pub(super) is_binary: bool,
    /// Start of the content, and its length in bytes.
    pub(super) byte_offset: u64,
    pub(super) bytes: u64,
    pub(super) truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_byte_offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) encoding: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BinaryAnswer {
    pub(super) path: String,
    pub(super) file_size: u64,
    pub(super) is_binary: bool,
    pub(super) is_image: bool,
    pub(super) file_kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) width: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) height: Option<u32>,
    pub(super) hint: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct UnchangedAnswer {
    pub(super) status: &'static str,
    pub(super) message: &'static str,
    pub(super) path: String,
    pub(super) dedup: bool,
    pub(super) content_returned: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hash: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NamesAnswer {
    pub(super) path: String,
    /// Names in file order, each once.
    pub(super) names: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
}
