//! Parses the front matter of a `SKILL.md`.

use hermes_config::{ConfigDocument, ConfigError};
use serde_json::{Map, Value};

/// An error in the file, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrontMatterError {
    pub(crate) line: usize,
    pub(crate) what: String,
}

impl FrontMatterError {
    fn new(line: usize, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}

/// The front matter and body of a file.
#[derive(Debug)]
pub(crate) struct SkillFileParts<'t> {
    /// The text between the two `---` lines.
    pub(crate) matter: &'t str,
    /// The text after the second `---`.
    pub(crate) body: &'t str,
}

/// Splits a file into front matter and body.
pub(crate) fn split(text: &str) -> Result<SkillFileParts<'_>, FrontMatterError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end() != "---" {
        let what = "it must begin with `---`, followed by `name:`, `description:` and a \
            closing `---`";
        return Err(FrontMatterError::new(1, what));
    }
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            let matter = text.get(first.len()..end).unwrap_or_default();
            let body = text.get(end + line.len()..).unwrap_or_default();
            return Ok(SkillFileParts { matter, body });
        }
        end += line.len();
    }
    Err(FrontMatterError::new(1, "the closing `---` of the front matter is missing"))
}

/// Parses the fields. If they are not valid YAML, parses them line by line and
/// returns the YAML error as well.
pub(crate) fn parse_fields(
    matter: &str,
) -> Result<(Map<String, Value>, Option<FrontMatterError>), FrontMatterError> {
    // The newline stands for the opening `---`, to keep line numbers right.
    let fault = match ConfigDocument::parse("SKILL.md", format!("\n{matter}")) {
        Ok(document) => {
            let mut fields = document.value().as_object().cloned().unwrap_or_default();
            // A skill may be named `on`, and version 1.10 is not 1.1.
            for (key, written) in parse_by_line(matter) {
                if let Some(value @ (Value::Bool(_) | Value::Number(_))) = fields.get_mut(&key) {
                    *value = written;
                }
            }
            return Ok((fields, None));
        }
        Err(ConfigError::Syntax(shown)) => {
            let what = shown.message.replace("the configuration must be", "the fields must be");
            FrontMatterError::new(shown.position.map_or(2, |place| place.line), what)
        }
        Err(other) => return Err(FrontMatterError::new(2, other.to_string())),
    };
    let fields = parse_by_line(matter);
    match fields.contains_key("description") || fields.contains_key("name") {
        true => Ok((fields, Some(fault))),
        false => Err(fault),
    }
}

/// Parses `key: value` lines leniently: many authors do not quote values that
/// contain a colon.
fn parse_by_line(matter: &str) -> Map<String, Value> {
    let mut fields = Map::new();
    for line in matter.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if key.is_empty() || !key.chars().all(is_key) {
            continue;
        }
        let value = value.split_once(" #").map_or(value, |(value, _)| value).trim();
        let quoted = ['"', '\'']
            .into_iter()
            .find_map(|quote| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)));
        let value = quoted.unwrap_or(value);
        if !value.is_empty() && !matches!(value, "|" | ">" | "|-" | ">-") {
            fields.entry(key).or_insert_with(|| value.into());
        }
    }
    fields
}

#[cfg(test)]
#[path = "front_matter_tests.rs"]
mod tests;
