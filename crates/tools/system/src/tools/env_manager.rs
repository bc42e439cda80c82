//! The session's environment: what programs started in it will see.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use hermes_core::{
    Effect, Example, JsonSchema, Scope, Tool, ToolContext, ToolError, ToolSpec, Variables,
    Workplace,
};
use hermes_files::Files;
use hermes_store::dotenv::Dotenv;
use serde::{Deserialize, Serialize};

use crate::blocking::blocking;
use crate::environment::{self, Source};
use crate::secrets;

/// The session document that holds the changes.
const DOCUMENT: &str = "env";
/// The most characters of a value in a list; `get` shows all.
const PREVIEW: usize = 200;
/// The largest file that is loaded.
const MAX_FILE: u64 = 1024 * 1024;
const MASKED_HINT: &str = "Secrets are handed to programs, not shown.";

#[derive(Debug, Default)]
pub(crate) struct EnvManager;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// load reads a .env file; diff shows what this session changed.
    action: Action,
    /// For get, set, unset.
    name: Option<String>,
    /// For set.
    value: Option<String>,
    /// For load.
    path: Option<String>,
    /// For list: part of a name, or a pattern such as AWS_*.
    filter: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Get,
    List,
    Set,
    Unset,
    Load,
    Diff,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Answer {
    Variable {
        name: String,
        value: String,
        source: Source,
        #[serde(skip_serializing_if = "is_false")]
        masked: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<&'static str>,
    },
    List {
        count: usize,
        variables: BTreeMap<String, String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        masked: Vec<String>,
        /// Names whose value is longer than shown.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        shortened: Vec<String>,
    },
    Unset {
        name: String,
        /// Whether it was set before.
        was_set: bool,
    },
    Loaded {
        path: String,
        loaded: Vec<String>,
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        skipped: BTreeMap<String, &'static str>,
    },
    Diff {
        set: BTreeMap<String, String>,
        unset: Vec<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        masked: Vec<String>,
    },
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Tool for EnvManager {
    type Args = Args;
    type Output = Answer;

    fn spec() -> ToolSpec {
        ToolSpec::new("env_manager", "system")
            .emoji("🔧")
            .description(
                "Environment variables of this session, as programs started in it see them. \
                 Secret values are masked.",
            )
            .alias("env")
            .parameter_alias("operation", "action")
            .parameter_alias("key", "name")
            .parameter_alias("variable", "name")
            .parameter_alias("file", "path")
            .parameter_alias("file_path", "path")
            .parameter_alias("pattern", "filter")
            .parameter_alias("prefix", "filter")
            .idempotent()
            .keyword("environment variable")
            .keyword("dotenv")
            .keyword(".env")
            .keyword("export")
            .keyword("printenv")
            .example(
                Example::new(
                    "Set a variable",
                    r#"{"action":"set","name":"APP_MODE","value":"test"}"#,
                )
                .gives(r#"{"name":"APP_MODE","value":"test","source":"session"}"#),
            )
            .example(
                Example::new("Load a .env file", r#"{"action":"load","path":".env"}"#)
                    .given(".env", "# local settings\nPORT=8080\nexport API_TOKEN='abc'\n")
                    .gives(r#"{"loaded":["API_TOKEN","PORT"]}"#),
            )
            .example(
                Example::new("What did this session change", r#"{"action":"diff"}"#)
                    .gives(r#"{"set":{},"unset":[]}"#),
            )
    }

    fn effects(&self, args: &Args, at: &Workplace) -> Vec<Effect> {
        let on_name = |scope: Scope| match &args.name {
            Some(name) => Effect::name(scope, name.as_str()),
            None => Effect::any(scope),
        };
        match args.action {
            Action::Get => vec![on_name(Scope::ENV_READ)],
            Action::List | Action::Diff => vec![Effect::any(Scope::ENV_READ)],
            Action::Set | Action::Unset => vec![on_name(Scope::ENV_WRITE)],
            Action::Load => {
                let file = args
                    .path
                    .as_deref()
                    .map(|path| Effect::path(Scope::FILE_READ, at.resolve(path)));
                file.into_iter().chain([Effect::any(Scope::ENV_WRITE)]).collect()
            }
        }
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Answer, ToolError> {
        let call = cx.clone();
        blocking(cx, move || match args.action {
            Action::Get => get(needed(args.name, "name", "get")?, &call),
            Action::List => list(args.filter.as_deref(), &call),
            Action::Set => {
                let name = needed(args.name, "name", "set")?;
                set(name, &needed(args.value, "value", "set")?, &call)
            }
            Action::Unset => unset(needed(args.name, "name", "unset")?, &call),
            Action::Load => load(&needed(args.path, "path", "load")?, &call),
            Action::Diff => diff(&call),
        })
        .await?
    }
}

fn needed(value: Option<String>, parameter: &str, action: &str) -> Result<String, ToolError> {
    value.ok_or_else(|| ToolError::invalid(format!("'{parameter}' is needed to {action}")))
}

fn variable(name: String, value: &str, source: Source) -> Answer {
    let shown = secrets::shown(&name, value);
    let hint = shown.masked.then_some(MASKED_HINT);
    Answer::Variable { name, value: shown.text, source, masked: shown.masked, hint }
}

fn get(name: String, cx: &ToolContext) -> Result<Answer, ToolError> {
    environment::check_name(&name)?;
    let changes = cx.session.variables()?;
    let seen = environment::overlay(environment::of_process(), &changes);
    if let Some(entry) = seen.get(&name) {
        return Ok(variable(name, &entry.value, entry.source));
    }
    let state =
        if changes.contains_key(&name) { "was unset in this session" } else { "is not set" };
    let near: Vec<&str> = seen
        .keys()
        .filter(|other| environment::fits(&name, other))
        .take(5)
        .map(String::as_str)
        .collect();
    let error = ToolError::not_found(format!("{name} {state}"));
    Err(if near.is_empty() {
        error.with_hint("The action list shows what is set.")
    } else {
        error.with_hint(format!("These are set: {}", near.join(", ")))
    })
}

fn list(filter: Option<&str>, cx: &ToolContext) -> Result<Answer, ToolError> {
    let seen = environment::overlay(environment::of_process(), &cx.session.variables()?);
    let (mut variables, mut masked, mut shortened) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (name, entry) in seen {
        if !filter.is_none_or(|filter| environment::fits(filter, &name)) {
            continue;
        }
        let shown = secrets::shown(&name, &entry.value);
        let mut text = shown.text;
        if let Some((end, _)) = text.char_indices().nth(PREVIEW) {
            text.truncate(end);
            text.push('…');
            shortened.push(name.clone());
        }
        if shown.masked {
            masked.push(name.clone());
        }
        variables.insert(name, text);
    }
    Ok(Answer::List { count: variables.len(), variables, masked, shortened })
}

fn set(name: String, value: &str, cx: &ToolContext) -> Result<Answer, ToolError> {
    environment::check_writable(&name)?;
    environment::check_value(&name, value)?;
    cx.session
        .update(DOCUMENT, |changes: &mut Variables| environment::set(changes, &name, value))??;
    Ok(variable(name, value, Source::Session))
}

fn unset(name: String, cx: &ToolContext) -> Result<Answer, ToolError> {
    environment::check_writable(&name)?;
    let process = environment::of_process();
    let was_set = cx.session.update(DOCUMENT, |changes: &mut Variables| {
        let was_set = match changes.get(&name) {
            Some(change) => change.is_some(),
            None => process.contains_key(&name),
        };
        // Another process of this session may have it even if this one has not.
        changes.insert(name.clone(), None);
        was_set
    })?;
    Ok(Answer::Unset { name, was_set })
}

fn load(path: &str, cx: &ToolContext) -> Result<Answer, ToolError> {
    let resolved = cx.workplace.resolve(path);
    let text = read(&resolved, cx)?;
    let parsed = Dotenv::parse(text.as_bytes());
    if let Some(problem) = parsed.problems.first() {
        return Err(ToolError::invalid(format!(
            "{} cannot be loaded: {problem}",
            resolved.display()
        ))
        .with_hint("Nothing was loaded. Mend the line and load it again."));
    }
    let mut skipped = BTreeMap::new();
    let mut wanted = BTreeMap::new();
    for (name, value) in parsed.vars {
        if let Some(why) = environment::protection(&name) {
            skipped.insert(name, why);
            continue;
        }
        environment::check_name(&name)?;
        environment::check_value(&name, &value)?;
        wanted.insert(name, value);
    }
    cx.session.update(DOCUMENT, |changes: &mut Variables| {
        let mut changed = changes.clone();
        for (name, value) in &wanted {
            environment::set(&mut changed, name, value)?;
        }
        *changes = changed;
        Ok::<(), ToolError>(())
    })??;
    let loaded = wanted.into_keys().collect();
    Ok(Answer::Loaded { path: resolved.display().to_string(), loaded, skipped })
}

fn read(path: &Path, cx: &ToolContext) -> Result<String, ToolError> {
    let file = Files::new(cx).open(path)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| ToolError::io(format_args!("Cannot read {}", path.display()), &error))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(ToolError::limit(format!(
            "{} is larger than {MAX_FILE} bytes",
            path.display()
        )));
    }
    String::from_utf8(bytes)
        .map_err(|_| ToolError::invalid(format!("{} is not UTF-8 text", path.display())))
}

fn diff(cx: &ToolContext) -> Result<Answer, ToolError> {
    let (mut set, mut unset, mut masked) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (name, change) in cx.session.variables()? {
        let Some(value) = change else {
            unset.push(name);
            continue;
        };
        let shown = secrets::shown(&name, &value);
        if shown.masked {
            masked.push(name.clone());
        }
        set.insert(name, shown.text);
    }
    Ok(Answer::Diff { set, unset, masked })
}

#[cfg(test)]
#[path = "env_manager_tests.rs"]
mod tests;
