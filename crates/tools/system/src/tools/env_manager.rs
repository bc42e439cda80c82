//! The session's environment: what programs started in it will see.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

use hermes_core::{
    Effect, Example, JsonSchema, Scope, Tool, ToolContext, ToolError, ToolSpec, Variables,
    Workplace,
};
use hermes_files::Files;
use serde::{Deserialize, Serialize};

use crate::blocking::blocking;
use crate::environment::{self, Entry, Source, Veil, dotenv};
use crate::secrets::{self, Shown};

/// The session document that holds the changes.
const DOCUMENT: &str = "env";
const PATH: &str = "PATH";
/// The most characters of a value in a list; `get` shows all.
const PREVIEW: usize = 200;
/// The largest file that is loaded.
const MAX_FILE: u64 = 1024 * 1024;
const MASKED_HINT: &str = "Secrets are handed to programs, not shown.";
const WITHHELD_HINT: &str =
    "hermes has it, programs do not get it. If they need it, set it in the session.";

#[derive(Debug, Default)]
pub(crate) struct EnvManager;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// load reads a .env file; diff shows what this session changed.
    action: Action,
    /// For get, set, unset.
    name: Option<String>,
    /// For set; taken as it is.
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
        /// Whether programs do not get it.
        #[serde(skip_serializing_if = "is_false")]
        withheld: bool,
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
        /// Names that hermes has, and that programs do not get.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        withheld: Vec<String>,
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
        /// Names that the file refers to and that are not set; taken as empty.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        unresolved: Vec<String>,
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

/// The environment as the session has it.
struct View {
    seen: BTreeMap<String, Entry>,
    changes: Variables,
    passed_on: BTreeSet<String>,
    veil: Veil,
}

impl View {
    fn of(cx: &ToolContext) -> Result<Self, ToolError> {
        let (process, changes) = (environment::of_process(), cx.session.variables()?);
        let passed_on = environment::passed_on(&process);
        let seen = environment::overlay(process, &changes);
        let veil = Veil::of(&seen);
        Ok(Self { seen, changes, passed_on, veil })
    }

    fn shown(&self, name: &str, value: &str) -> Shown {
        let shown = secrets::shown(name, value);
        if shown.masked || !self.veil.covers(value) {
            return shown;
        }
        let text = format!("[masked, {} characters]", value.chars().count());
        Shown { text, masked: true }
    }

    fn is_withheld(&self, name: &str, source: Source) -> bool {
        source == Source::Process && !self.passed_on.contains(name)
    }

    /// What a program of the session has under that name.
    fn of_programs(&self, name: &str) -> Option<String> {
        let entry = self.seen.get(name)?;
        (!self.is_withheld(name, entry.source)).then(|| entry.value.clone())
    }

    fn answer(&self, name: String, value: &str, source: Source) -> Answer {
        let shown = self.shown(&name, value);
        let withheld = self.is_withheld(&name, source);
        let hint = match (withheld, shown.masked) {
            (true, _) => Some(WITHHELD_HINT),
            (false, true) => Some(MASKED_HINT),
            (false, false) => None,
        };
        Answer::Variable { name, value: shown.text, source, masked: shown.masked, withheld, hint }
    }
}

fn get(name: String, cx: &ToolContext) -> Result<Answer, ToolError> {
    environment::check_name(&name)?;
    let view = View::of(cx)?;
    if let Some(entry) = view.seen.get(&name) {
        return Ok(view.answer(name, &entry.value, entry.source));
    }
    let state =
        if view.changes.contains_key(&name) { "was unset in this session" } else { "is not set" };
    let near: Vec<&str> = view
        .seen
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
    let view = View::of(cx)?;
    let (mut variables, mut masked, mut shortened) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut withheld = Vec::new();
    for (name, entry) in &view.seen {
        if !filter.is_none_or(|filter| environment::fits(filter, name)) {
            continue;
        }
        let shown = view.shown(name, &entry.value);
        let mut text = shown.text;
        if let Some((end, _)) = text.char_indices().nth(PREVIEW) {
            text.truncate(end);
            text.push('…');
            shortened.push(name.clone());
        }
        if shown.masked {
            masked.push(name.clone());
        }
        if view.is_withheld(name, entry.source) {
            withheld.push(name.clone());
        }
        variables.insert(name.clone(), text);
    }
    Ok(Answer::List { count: variables.len(), variables, masked, shortened, withheld })
}

fn set(name: String, value: &str, cx: &ToolContext) -> Result<Answer, ToolError> {
    environment::check_writable(&name)?;
    environment::check_value(&name, value)?;
    let view = View::of(cx)?;
    if name == PATH {
        environment::check_path(Some(value), &view.of_programs(PATH).unwrap_or_default())?;
    }
    cx.session
        .update(DOCUMENT, |changes: &mut Variables| environment::set(changes, &name, value))??;
    Ok(view.answer(name, value, Source::Session))
}

fn unset(name: String, cx: &ToolContext) -> Result<Answer, ToolError> {
    environment::check_writable(&name)?;
    let process = environment::of_process();
    if name == PATH {
        // Without a search path of its own the session has that of hermes.
        let dropped =
            cx.session.update(DOCUMENT, |changes: &mut Variables| changes.remove(PATH))?;
        let was_set = dropped.is_some();
        return Ok(Answer::Unset { name, was_set });
    }
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
    Files::new(cx).heed_slash(path, &resolved)?;
    let text = read(&resolved, cx)?;
    let view = View::of(cx)?;
    let known = |name: &str| view.of_programs(name);
    let parsed = dotenv::parse(&text, &known, environment::MAX_VALUE).map_err(|problem| {
        ToolError::invalid(format!(
            "{} cannot be loaded: line {}: {}",
            resolved.display(),
            problem.line,
            problem.message
        ))
        .with_hint("Nothing was loaded. Mend the line and load it again.")
    })?;
    let mut skipped = BTreeMap::new();
    let mut wanted = BTreeMap::new();
    for (name, value) in parsed.variables {
        let refused = match environment::protection(&name) {
            _ if environment::check_name(&name).is_err() => Some("no shell knows such a name"),
            None if name == PATH && environment::check_path(Some(&value), "").is_err() => {
                Some("no bash is on it, so no command could be started")
            }
            None => environment::redirects(&name, &value)
                .then_some("programs would run or reach something else with it: set it by itself"),
            why => why,
        };
        if let Some(why) = refused {
            skipped.insert(name, why);
            continue;
        }
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
    let unresolved = parsed.unresolved.into_iter().collect();
    Ok(Answer::Loaded { path: resolved.display().to_string(), loaded, skipped, unresolved })
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
    let view = View::of(cx)?;
    for (name, change) in &view.changes {
        let Some(value) = change else {
            unset.push(name.clone());
            continue;
        };
        let shown = view.shown(name, value);
        if shown.masked {
            masked.push(name.clone());
        }
        set.insert(name.clone(), shown.text);
    }
    Ok(Answer::Diff { set, unset, masked })
}

#[cfg(test)]
#[path = "env_manager_tests.rs"]
mod tests;
