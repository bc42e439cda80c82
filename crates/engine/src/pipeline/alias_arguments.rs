//! Arguments of a call by an alias: those that the alias presets, and those
//! that only the agent the alias comes from has.

use std::borrow::Cow;

use hermes_core::{ToolError, text::shell_quote};
use serde_json::{Map, Value};

use crate::entry::ToolEntry;

/// The arguments that an alias presets. `null` means that the argument must not
/// be given.
pub(crate) type AliasPreset = Map<String, Value>;

/// Arguments that other agents have and that change nothing here, by alias.
const IGNORED_ARGUMENTS: &[(&str, &[&str])] = &[
    ("bash", &["description"]),
    ("edit_file", &["instructions", "explanation"]),
    ("exec_command", &["yield_time_ms", "max_output_tokens", "justification"]),
    ("execute_bash", &["security_risk"]),
    ("execute_command", &["requires_approval"]),
    ("file_search", &["explanation"]),
    ("grep", &["-n"]),
    ("grep_search", &["explanation"]),
    ("list_dir", &["explanation"]),
    ("replace", &["instruction"]),
    ("run_in_terminal", &["explanation", "goal"]),
    ("run_shell_command", &["description"]),
    ("run_terminal_cmd", &["explanation", "require_user_approval"]),
    ("run_terminal_command", &["explanation", "goal"]),
    ("search_replace", &["explanation"]),
    ("shell", &["justification"]),
    ("shell_command", &["justification"]),
];

/// Smallest `timeout` of the alias `bash` that is read as milliseconds. As
/// seconds it would exceed the longest timeout.
const MIN_TIMEOUT_MILLIS: u64 = 1000;

/// Depth of a recursive listing: the largest that the tool accepts.
const RECURSIVE_DEPTH: u64 = 10;

/// Adds the preset arguments that the call does not have itself, under their
/// names or other spellings of them.
pub(super) fn apply_preset(
    entry: &ToolEntry,
    fields: &mut Map<String, Value>,
    preset: &AliasPreset,
) {
    for (key, value) in preset {
        let is_given = |name: &str| fields.get(name).is_some_and(|value| !value.is_null());
        let mut aliases = entry.parameter_aliases().into_iter();
        if !is_given(key) && !aliases.any(|(from, to)| to == key && is_given(from)) {
            fields.insert(key.clone(), value.clone());
        }
    }
}

/// Refuses a call whose arguments contradict its alias: `remove_job` does not
/// create one.
pub(super) fn check_preset(
    entry: &ToolEntry,
    called_as: Option<&str>,
    preset: &AliasPreset,
    arguments: &Value,
) -> Result<(), ToolError> {
    for (key, wanted) in preset {
        let given = arguments.get(key).unwrap_or(&Value::Null);
        if given == wanted {
            continue;
        }
        let (tool, alias) = (entry.name(), called_as.unwrap_or(entry.name()));
        let given = hermes_schema::excerpt::excerpt_value(given, 60);
        let message = match wanted {
            Value::Null => format!("{alias} does not take `{key}`, and the call has {given}"),
            wanted => format!("{alias} means `{key}` {wanted}, and the call has `{key}` {given}"),
        };
        return Err(ToolError::invalid(format!("{message}; nothing was run"))
            .with_hint(format!("Leave out `{key}`, or call {tool}.")));
    }
    Ok(())
}

/// Translates arguments that only the agent has from which the alias comes.
/// Those without a counterpart and without consequences are dropped.
pub(super) fn translate(
    entry: &ToolEntry,
    alias: &str,
    fields: &mut Map<String, Value>,
    notes: &mut Vec<String>,
) {
    if !entry.owner().is_compiled_in() {
        return;
    }
    let ignored = IGNORED_ARGUMENTS.iter().find(|(name, _)| *name == alias);
    for key in ignored.map_or(&[][..], |(_, keys)| keys) {
        if fields.shift_remove(*key).is_some() {
            notes.push(format!("{key}: ignored, {} has no such parameter", entry.name()));
        }
    }
    match entry.name() {
        "terminal" => translate_command(alias, fields, notes),
        "search_files" => translate_search(fields, notes),
        "directory_list" => {
            if let Some(Value::Bool(is_recursive)) = fields.get("recursive") {
                let depth = if *is_recursive { RECURSIVE_DEPTH } else { 1 };
                replace(fields, "recursive", "depth", depth.into(), notes);
            }
        }
        _ => {}
    }
}

fn translate_command(alias: &str, fields: &mut Map<String, Value>, notes: &mut Vec<String>) {
    if let Some(millis) = fields.get("timeout_ms").and_then(Value::as_u64) {
        replace(fields, "timeout_ms", "timeout", millis.div_ceil(1000).into(), notes);
    }
    let timeout = fields.get("timeout").and_then(Value::as_u64).filter(|_| alias == "bash");
    if let Some(millis) = timeout.filter(|timeout| *timeout >= MIN_TIMEOUT_MILLIS) {
        replace(fields, "timeout", "timeout", millis.div_ceil(1000).into(), notes);
    }
    for key in ["command", "cmd"] {
        let words = fields.get(key).and_then(Value::as_array);
        let words: Option<Vec<&str>> =
            words.and_then(|words| words.iter().map(Value::as_str).collect());
        let line = match words.as_deref() {
            None | Some([]) => continue,
            Some(["bash" | "/bin/bash" | "sh" | "/bin/sh", "-c" | "-lc", script]) => {
                (*script).to_owned()
            }
            Some(words) => {
                words.iter().map(|word| quote_if_needed(word)).collect::<Vec<_>>().join(" ")
            }
        };
        replace(fields, key, key, line.into(), notes);
    }
}

/// Quotes a word unless the shell takes it literally anyway, so rules for
/// commands match it.
fn quote_if_needed(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./,:@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => shell_quote(word).into(),
    }
}

fn translate_search(fields: &mut Map<String, Value>, notes: &mut Vec<String>) {
    if let Some(Value::Bool(ignores_case)) = fields.get("-i") {
        let case = if *ignores_case { "insensitive" } else { "sensitive" };
        replace(fields, "-i", "case", case.into(), notes);
    }
    if fields.get("output_mode").is_some_and(|mode| mode == "files_with_matches") {
        replace(fields, "output_mode", "output_mode", "files_only".into(), notes);
    }
}

/// Replaces an argument. If the call also has the one it stands for, both stay,
/// and validation reports the unknown one.
fn replace(
    fields: &mut Map<String, Value>,
    from: &str,
    to: &str,
    value: Value,
    notes: &mut Vec<String>,
) {
    if from != to && fields.contains_key(to) {
        return;
    }
    let old = fields.shift_remove(from).unwrap_or_default();
    let old = hermes_schema::excerpt::excerpt_value(&old, 60);
    let new = hermes_schema::excerpt::excerpt_value(&value, 60);
    notes.push(format!("{from}: {old} → {to}: {new}"));
    fields.insert(to.to_owned(), value);
}
