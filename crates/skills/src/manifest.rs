//! The manifest of a skill, read from its front matter.

use serde_json::{Map, Value};

use crate::front_matter::{self, FrontMatterError};
use crate::naming::{MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS, name_problem, sanitize_line};
use crate::skill::SkillNote;

/// Maximum number of entries in a list.
const MAX_LIST_ENTRIES: usize = 50;
/// Maximum length of other text fields.
const MAX_FIELD_CHARS: usize = 500;

/// The front matter fields of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillManifest {
    /// `name`, or the directory name.
    pub name: String,
    /// `description`, or the first line of the instructions.
    pub description: String,
    /// `version`.
    pub version: Option<String>,
    /// `license`.
    pub license: Option<String>,
    /// `author`.
    pub author: Option<String>,
    /// `compatibility`: requirements as free text.
    pub compatibility: Option<String>,
    /// `platforms`: the supported systems; empty means all.
    pub platforms: Vec<String>,
    /// `metadata.hermes.tags`.
    pub tags: Vec<String>,
    /// `metadata.hermes.related_skills`.
    pub related: Vec<String>,
    /// Required environment variables.
    pub variables: Vec<String>,
    /// `allowed-tools`. Informative only; it permits nothing.
    pub tools: Vec<String>,
}

/// A parsed `SKILL.md`: its manifest, minor problems, and body.
#[derive(Debug)]
pub(crate) struct ParsedSkillFile<'t> {
    pub(crate) manifest: SkillManifest,
    pub(crate) notes: Vec<SkillNote>,
    pub(crate) body: &'t str,
}

/// Parses a `SKILL.md`; `folder` is the name of its directory.
pub(crate) fn parse<'t>(text: &'t str, dir: &str) -> Result<ParsedSkillFile<'t>, FrontMatterError> {
    let parts = front_matter::split(text)?;
    let (fields, forgiven) = front_matter::parse_fields(parts.matter)?;
    let mut notes = Vec::new();
    if let Some(FrontMatterError { line, what }) = forgiven {
        notes
            .push(SkillNote::at_line(line, format!("{what}; the fields were parsed line by line")));
    }
    let line = |key: &str| line_of(parts.matter, key);
    let name = match text_field(&fields, "name", usize::MAX) {
        Some(said) => {
            if let Some(why) = name_problem(&said) {
                notes.push(SkillNote::at_line(line("name"), why));
            }
            if said != dir {
                let what = format!("the name '{said}' differs from the directory name '{dir}'");
                notes.push(SkillNote::at_line(line("name"), sanitize_line(&what, MAX_FIELD_CHARS)));
            }
            sanitize_line(&said, MAX_NAME_CHARS)
        }
        None => {
            notes.push(SkillNote::at_line(2, "`name` is missing; the directory name is used"));
            sanitize_line(dir, MAX_NAME_CHARS)
        }
    };
    let description = match text_field(&fields, "description", usize::MAX) {
        Some(said) => {
            if said.chars().count() > MAX_DESCRIPTION_CHARS {
                let what = "the description exceeds 1024 characters";
                notes.push(SkillNote::at_line(line("description"), what));
            }
            sanitize_line(&said, MAX_DESCRIPTION_CHARS)
        }
        None => {
            let first = first_text_line(parts.body).ok_or(FrontMatterError {
                line: 2,
                what: "there is neither a `description` nor text to use instead".to_owned(),
            })?;
            notes.push(SkillNote::at_line(
                2,
                "`description` is missing; the first line of the \
                text is used",
            ));
            first
        }
    };
    if parts.body.trim().is_empty() {
        let line = parts.matter.lines().count() + 2;
        return Err(FrontMatterError {
            line,
            what: "there are no instructions after the front matter".to_owned(),
        });
    }
    let ours = fields.get("metadata").and_then(|all| all.get("hermes")).and_then(Value::as_object);
    let listed =
        |key: &str| ours.and_then(|ours| ours.get(key)).map(string_list).unwrap_or_default();
    let head = SkillManifest {
        name,
        description,
        version: text_field(&fields, "version", MAX_FIELD_CHARS),
        license: text_field(&fields, "license", MAX_FIELD_CHARS),
        author: text_field(&fields, "author", MAX_FIELD_CHARS),
        compatibility: text_field(&fields, "compatibility", MAX_FIELD_CHARS),
        platforms: fields.get("platforms").map(string_list).unwrap_or_default(),
        tags: listed("tags"),
        related: listed("related_skills"),
        variables: required_variables(&fields),
        tools: fields.get("allowed-tools").map(tool_list).unwrap_or_default(),
    };
    Ok(ParsedSkillFile { manifest: head, notes, body: parts.body })
}

/// Returns the line of a field in the whole file.
fn line_of(matter: &str, key: &str) -> usize {
    let begins = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
    matter.lines().position(begins).map_or(2, |at| at + 2)
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
    .filter(|text| !text.is_empty())
}

fn text_field(fields: &Map<String, Value>, key: &str, most: usize) -> Option<String> {
    Some(sanitize_line(&scalar(fields.get(key)?)?, most)).filter(|text| !text.is_empty())
}

/// Parses a list, or comma-separated text, possibly in brackets.
fn string_list(value: &Value) -> Vec<String> {
    let parts: Vec<String> = match value {
        Value::Array(items) => items.iter().filter_map(scalar).collect(),
        other => {
            let text = scalar(other).unwrap_or_default();
            let text = text.trim_start_matches('[').trim_end_matches(']');
            text.split(',').map(|part| part.trim().trim_matches(['"', '\'']).to_owned()).collect()
        }
    };
    let parts = parts
        .iter()
        .map(|part| sanitize_line(part, MAX_NAME_CHARS))
        .filter(|part| !part.is_empty());
    parts.take(MAX_LIST_ENTRIES).collect()
}

/// Parses a list, or names separated by spaces or commas; an argument in
/// parentheses may contain either.
fn tool_list(value: &Value) -> Vec<String> {
    let Value::String(text) = value else { return string_list(value) };
    let mut depth = 0_usize;
    let mut parts = vec![String::new()];
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c == ',' || c.is_whitespace()) {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    let parts = parts
        .iter()
        .map(|part| sanitize_line(part, MAX_NAME_CHARS))
        .filter(|part| !part.is_empty());
    parts.take(MAX_LIST_ENTRIES).collect()
}

/// Returns the required variables, in all supported notations.
fn required_variables(fields: &Map<String, Value>) -> Vec<String> {
    let at = |path: &[&str]| {
        path.iter().try_fold(None, |found: Option<&Value>, key| {
            Some(Some(match found {
                None => fields.get(*key)?,
                Some(value) => value.get(*key)?,
            }))
        })
    };
    let mut names: Vec<String> = Vec::new();
    for path in [
        &["required_environment_variables"][..],
        &["prerequisites", "env_vars"],
        &["setup", "collect_secrets"],
    ] {
        let items = match at(path).flatten() {
            Some(Value::Array(items)) => items.clone(),
            Some(one) => vec![one.clone()],
            None => continue,
        };
        for item in items.iter().take(MAX_LIST_ENTRIES) {
            let named = ["name", "env_var"].into_iter().find_map(|key| item.get(key));
            let name = scalar(named.unwrap_or(item)).unwrap_or_default();
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let is_variable = !name.is_empty()
                && name.len() <= MAX_NAME_CHARS * 2
                && name.chars().all(is_name)
                && !name.starts_with(|c: char| c.is_ascii_digit());
            if is_variable && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Returns the first line of the instructions that is not a heading.
fn first_text_line(body: &str) -> Option<String> {
    let lines = body.lines().map(str::trim);
    let mut said = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    said.next()
        .map(|line| sanitize_line(line, MAX_DESCRIPTION_CHARS))
        .filter(|line| !line.is_empty())
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
