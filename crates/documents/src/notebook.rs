//! Jupyter notebooks: cells with headings and outputs.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::ExtractedText;
use crate::limits::{DocumentError, DocumentLimits};

/// Maximum characters shown of one output.
const MAX_OUTPUT_CHARS: usize = 20_000;

#[derive(Debug, Deserialize)]
struct NotebookFile {
    #[serde(default)]
    cells: Vec<NotebookCell>,
    /// Location of cells before nbformat 4.
    #[serde(default)]
    worksheets: Vec<NotebookWorksheet>,
}

#[derive(Debug, Deserialize)]
struct NotebookWorksheet {
    #[serde(default)]
    cells: Vec<NotebookCell>,
}

#[derive(Debug, Deserialize)]
struct NotebookCell {
    #[serde(default)]
    cell_type: String,
    #[serde(default, alias = "input")]
    source: MultilineText,
    #[serde(default, alias = "prompt_number")]
    execution_count: Option<Value>,
    #[serde(default)]
    outputs: Vec<NotebookOutput>,
}

#[derive(Debug, Deserialize)]
struct NotebookOutput {
    #[serde(default)]
    output_type: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    text: MultilineText,
    #[serde(default)]
    data: Map<String, Value>,
    #[serde(default)]
    ename: String,
    #[serde(default)]
    evalue: String,
    #[serde(default)]
    traceback: Vec<String>,
}

/// A string, or a list of lines.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Value")]
struct MultilineText(String);

impl From<Value> for MultilineText {
    fn from(value: Value) -> Self {
        Self(match value {
            Value::String(text) => text,
            Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
            _ => String::new(),
        })
    }
}

pub(crate) fn extract(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let notebook: NotebookFile = serde_json::from_slice(bytes).map_err(DocumentError::damaged)?;
    let cells = notebook.cells.into_iter();
    let cells = cells.chain(notebook.worksheets.into_iter().flat_map(|sheet| sheet.cells));
    let mut text = String::new();
    let mut pictures = 0;
    for (at, cell) in cells.enumerate() {
        if text.len() > limits.text_bytes {
            break;
        }
        if at > 0 {
            text.push('\n');
        }
        write_heading(&mut text, at + 1, &cell);
        push_lines(&mut text, &cell.source.0);
        for output in cell.outputs {
            write_output(&mut text, output, &mut pictures);
        }
    }
    text.truncate(text.trim_end_matches('\n').len());
    let notes = match pictures {
        0 => Vec::new(),
        _ => vec![format!("{pictures} pictures among the outputs are not shown.")],
    };
    Ok(ExtractedText { text, notes })
}

fn write_heading(text: &mut String, number: usize, cell: &NotebookCell) {
    let kind = match cell.cell_type.as_str() {
        "code" => "Code",
        "markdown" | "heading" => "Markdown",
        "raw" => "Raw",
        _ => "Other",
    };
    let count = match &cell.execution_count {
        Some(Value::Number(count)) => format!(" [{count}]"),
        _ => String::new(),
    };
    let _ = writeln!(text, "## {kind} cell {number}{count}");
}

fn write_output(text: &mut String, output: NotebookOutput, pictures: &mut usize) {
    match output.output_type.as_str() {
        "error" | "pyerr" => {
            let _ = writeln!(text, "### Error: {}: {}", output.ename, strip_ansi(&output.evalue));
            push_bounded(text, &strip_ansi(&output.traceback.join("\n")));
        }
        "stream" => {
            let name = output.name.unwrap_or_else(|| "stdout".to_owned());
            let _ = writeln!(text, "### Output ({name})");
            push_bounded(text, &strip_ansi(&output.text.0));
        }
        _ => {
            let mut data = output.data;
            let has_picture = data.keys().any(|kind| kind.starts_with("image/"));
            *pictures += usize::from(has_picture);
            let words = ["text/plain", "text/markdown", "text/latex", "application/json"]
                .into_iter()
                .find_map(|kind| data.remove(kind));
            let words = match words {
                Some(value @ (Value::String(_) | Value::Array(_))) => MultilineText::from(value).0,
                Some(value) => value.to_string(),
                None => output.text.0,
            };
            text.push_str("### Output\n");
            push_bounded(text, &strip_ansi(&words));
            for (kind, value) in &data {
                let size = value.as_str().map_or(0, str::len);
                if kind.starts_with("image/") || words.is_empty() {
                    let _ = writeln!(text, "[{kind}, {size} characters, not shown]");
                }
            }
        }
    }
}

fn push_lines(text: &mut String, lines: &str) {
    text.push_str(lines);
    if !lines.is_empty() && !lines.ends_with('\n') {
        text.push('\n');
    }
}

fn push_bounded(text: &mut String, lines: &str) {
    match lines.char_indices().nth(MAX_OUTPUT_CHARS) {
        None => push_lines(text, lines),
        Some((end, _)) => {
            push_lines(text, lines.get(..end).unwrap_or_default());
            let left = lines.get(end..).unwrap_or_default().chars().count();
            let _ = writeln!(text, "[+{left} characters of output]");
        }
    }
}

/// Removes terminal escape sequences.
fn strip_ansi(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\x1B' {
            plain.push(c);
        } else if chars.next_if_eq(&'[').is_some() {
            // A sequence ends with a byte from `@` to `~`.
            for end in chars.by_ref() {
                if ('\x40'..='\x7E').contains(&end) {
                    break;
                }
            }
        }
    }
    plain
}
