//! Prompt files: one JSON object per line, with a `prompt` field.

use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;

use serde::Deserialize;

use crate::BatchError;

/// Maximum length of a line.
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;

/// One prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchPrompt {
    /// Index in the file, from 0. Invalid lines count too, so fixing one shifts
    /// no other.
    pub index: usize,
    /// The prompt text.
    pub text: String,
    /// Working directory, if given.
    pub cwd: Option<String>,
    /// Hash of text and working directory.
    pub hash: String,
}

/// A line that is not a valid prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// Line number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

/// A file of prompts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptFile {
    /// The valid prompts.
    pub prompts: Vec<BatchPrompt>,
    /// The invalid lines.
    pub bad: Vec<BadLine>,
}

#[derive(Deserialize)]
struct PromptRecord {
    prompt: String,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    image: Option<serde_json::Value>,
    #[serde(default)]
    docker_image: Option<serde_json::Value>,
}

impl PromptFile {
    /// Reads a prompt file.
    pub fn load(path: &Path) -> Result<Self, BatchError> {
        let file = std::fs::File::open(path).map_err(|e| BatchError::io("open", path, e))?;
        Self::read(file).map_err(|e| BatchError::io("read", path, e))
    }

    /// Reads prompts, skipping blank lines.
    pub fn read(from: impl Read) -> std::io::Result<Self> {
        let mut from = BufReader::new(from);
        let mut all = Self::default();
        let mut bytes = Vec::new();
        for index in 0.. {
            bytes.clear();
            if from.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes)? == 0 {
                break;
            }
            let is_cut = bytes.len() as u64 == MAX_LINE_BYTES && !bytes.ends_with(b"\n");
            if is_cut {
                skip_line(&mut from)?;
                all.bad.push(BadLine { line: index + 1, why: "it is longer than 16 MB".into() });
                continue;
            }
            let line = bytes.trim_ascii();
            let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
            if line.is_empty() {
                continue;
            }
            match parse_prompt(index, line) {
                Ok(prompt) => all.prompts.push(prompt),
                Err(why) => all.bad.push(BadLine { line: index + 1, why }),
            }
        }
        Ok(all)
    }
}

fn parse_prompt(index: usize, line: &[u8]) -> Result<BatchPrompt, String> {
    let read: PromptRecord = serde_json::from_slice(line).map_err(|e| match e.classify() {
        // Drop the parser's line number, which is always 1; the caller adds the
        // real one.
        serde_json::error::Category::Data => {
            let shown = e.to_string();
            shown.split(" at line ").next().unwrap_or(&shown).to_owned()
        }
        _ => format!("it is not JSON (column {})", e.column()),
    })?;
    if read.prompt.trim().is_empty() {
        return Err("the prompt is blank".into());
    }
    // Without the image it would be a different task.
    for (name, value) in [("image", read.image), ("docker_image", read.docker_image)] {
        if value.is_some_and(|value| !value.is_null()) {
            return Err(format!("'{name}' is not supported"));
        }
    }
    let cwd = read.cwd.filter(|dir| !dir.trim().is_empty());
    let mut hasher = blake3::Hasher::new();
    hasher.update(read.prompt.as_bytes());
    hasher.update(&[0]);
    hasher.update(cwd.as_deref().unwrap_or_default().as_bytes());
    let hash = hasher.finalize().to_hex().chars().take(32).collect();
    Ok(BatchPrompt { index, text: read.prompt, cwd, hash })
}

/// Discards input up to the end of the line.
fn skip_line(from: &mut BufReader<impl Read>) -> std::io::Result<()> {
    loop {
        let piece = from.fill_buf()?;
        if piece.is_empty() {
            return Ok(());
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(piece.len(), |end| end + 1);
        from.consume(count);
        if end.is_some() {
            return Ok(());
        }
    }
}
