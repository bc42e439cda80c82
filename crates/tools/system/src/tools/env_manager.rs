//! `env_manager`: the session's environment, as programs started in it see it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::Path;

use hermes_core::{
    Effect, EnvAssignment, EnvOverrides, JsonSchema, Resource, Scope, Tool, ToolContext, ToolError,
    ToolExample, ToolSpec, WorkingDir,
};
use hermes_exec::shell_env::{self, ShellEnv, ShellSnapshot};
use hermes_exec::{JobRegistry, StdioMode};
use hermes_files::FileAccess;
use hermes_secrets::own_env;
use serde::{Deserialize, Serialize};

use crate::blocking::blocking;
use hermes_store::dotenv::DotenvFile;

use crate::environment::{self, VariableEntry, VariableMask, VariableSource};
use crate::remote;
use crate::secrets::{self, MaskedValue};
use crate::shell;

/// The session document with the changes.
const ENV_DOCUMENT: &str = "env";
const PATH_VARIABLE: &str = "PATH";
/// Maximum characters of a value in a list; `get` shows all.
const PREVIEW_CHARS: usize = 200;
/// Maximum size of a file to load.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
const MASKED_HINT: &str = "Secrets are passed to programs but not shown.";
const WITHHELD_HINT: &str =
    "hermes has it, but programs do not get it. If they need it, set it in the session.";

#[derive(Debug, Default)]
pub(crate) struct EnvManager;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// load reads a file of NAME=value lines; diff shows what this session changed.
    action: EnvAction,
    /// For get, set, unset.
    name: Option<String>,
    /// For set; not expanded.
    value: Option<String>,
    /// For load. .env files are read only if the permission profile allows it.
    path: Option<String>,
    /// For list: part of a name, or a pattern such as AWS_*.
    filter: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum EnvAction {
    Get,
    List,
    Set,
    Unset,
    Load,
    Diff,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum EnvAnswer {
    Variable {
        name: String,
        value: String,
        source: VariableSource,
        #[serde(skip_serializing_if = "is_false")]
        masked: bool,
        /// Whether the variable is withheld from programs.
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
        /// Names whose value is truncated.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        shortened: Vec<String>,
        /// Names that are set in hermes but withheld from programs.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        withheld: Vec<String>,
    },
    Unset {
        name: String,
        /// Whether the variable was set before.
        was_set: bool,
    },
    Loaded {
        path: String,
        loaded: Vec<String>,
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        skipped: BTreeMap<String, &'static str>,
        /// Names that the file references but that are not set; expanded as
        /// empty.
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

impl Args {
    /// The effect of setting the variable.
    fn assignment(&self) -> Effect {
        let resource = match (&self.name, &self.value) {
            (Some(name), Some(value)) => Resource::Variable(Box::new(EnvAssignment {
                name: name.clone(),
                value: value.clone(),
            })),
            (Some(name), None) => Resource::Name(name.clone()),
            (None, _) => Resource::Any,
        };
        Effect { scope: Scope::ENV_WRITE, resource }
    }
}

impl Tool for EnvManager {
    type Args = Args;
    type Output = EnvAnswer;

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
                ToolExample::new(
                    "Set a variable",
                    r#"{"action":"set","name":"APP_MODE","value":"test"}"#,
                )
                .expects(r#"{"name":"APP_MODE","value":"test","source":"session"}"#),
            )
            .example(
                // Most profiles deny reading a file named .env.
                ToolExample::new("Load a dotenv file", r#"{"action":"load","path":"dev.env"}"#)
                    .file("dev.env", "# local settings\nPORT=8080\nexport API_TOKEN='abc'\n")
                    .expects(r#"{"loaded":["API_TOKEN","PORT"]}"#),
            )
            .example(
                ToolExample::new("Show what this session changed", r#"{"action":"diff"}"#)
                    .expects(r#"{"set":{},"unset":[]}"#),
            )
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        let on_name = |scope: Scope| match &args.name {
            Some(name) => Effect::name(scope, name.as_str()),
            None => Effect::any(scope),
        };
        match args.action {
            EnvAction::Get => vec![on_name(Scope::ENV_READ)],
            EnvAction::List | EnvAction::Diff => vec![Effect::any(Scope::ENV_READ)],
            EnvAction::Set => vec![args.assignment()],
            EnvAction::Unset => vec![on_name(Scope::ENV_WRITE)],
            EnvAction::Load => {
                let file = args
                    .path
                    .as_deref()
                    .map(|path| Effect::path(Scope::FILE_READ, at.resolve(path)));
                file.into_iter().chain([Effect::any(Scope::ENV_WRITE)]).collect()
            }
        }
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<EnvAnswer, ToolError> {
        let jobs = JobRegistry::from_context(cx);
        let around = ShellEnv::for_call(&jobs, StdioMode::Merged, cx, own_env).await?;
        let view = EnvironmentView::new(around, cx.working_dir.cwd());
        match args.action {
            EnvAction::Get => get(require_argument(args.name, "name", "get")?, &view),
            EnvAction::List => Ok(list(args.filter.as_deref(), &view)),
            EnvAction::Set => {
                let name = require_argument(args.name, "name", "set")?;
                set(name, &require_argument(args.value, "value", "set")?, &view, cx)
            }
            EnvAction::Unset => unset(require_argument(args.name, "name", "unset")?, &view, cx),
            EnvAction::Load => {
                load(&require_argument(args.path, "path", "load")?, &view, &jobs, cx).await
            }
            EnvAction::Diff => Ok(diff(&view)),
        }
    }
}

fn require_argument(
    value: Option<String>,
    parameter: &str,
    action: &str,
) -> Result<String, ToolError> {
    value.ok_or_else(|| ToolError::invalid(format!("'{parameter}' is required for {action}")))
}

/// The session's environment.
struct EnvironmentView {
    visible: BTreeMap<String, VariableEntry>,
    around: ShellEnv,
    mask: VariableMask,
}

impl EnvironmentView {
    fn new(around: ShellEnv, cwd: &Path) -> Self {
        let seen = environment::visible_variables(&around, cwd);
        let veil = VariableMask::new(&seen);
        Self { visible: seen, around, mask: veil }
    }

    /// Whether commands run on this machine.
    fn is_local(&self) -> bool {
        self.around.host.is_none()
    }

    fn masked_value(&self, name: &str, value: &str) -> MaskedValue {
        let shown = secrets::mask_value(name, value);
        if shown.masked || !self.mask.covers(value) {
            return shown;
        }
        let text = format!("[masked, {} characters]", value.chars().count());
        MaskedValue { text, masked: true }
    }

    /// Whether the variable was set before the session's changes.
    fn was_inherited(&self, name: &str) -> bool {
        match &self.around.host {
            None => std::env::var_os(name).is_some(),
            Some(place) => place.environment.contains_key(OsStr::new(name)),
        }
    }

    /// The value that programs of the session see.
    fn program_value(&self, name: &str) -> Option<String> {
        let entry = self.visible.get(name).filter(|entry| !entry.withheld)?;
        Some(entry.value.clone())
    }

    /// Fails if no program could be started with this PATH.
    fn check_path(&self, value: &str) -> Result<(), ToolError> {
        // The PATH directories of a remote backend are not visible here.
        if !self.is_local() {
            return Ok(());
        }
        environment::check_path(Some(value), &self.program_value(PATH_VARIABLE).unwrap_or_default())
    }

    fn variable_answer(&self, name: String, entry: &VariableEntry) -> EnvAnswer {
        let shown = self.masked_value(&name, &entry.value);
        let hint = match (entry.withheld, shown.masked) {
            (true, _) => Some(WITHHELD_HINT),
            (false, true) => Some(MASKED_HINT),
            (false, false) => None,
        };
        EnvAnswer::Variable {
            name,
            value: shown.text,
            source: entry.source,
            masked: shown.masked,
            withheld: entry.withheld,
            hint,
        }
    }
}

/// Removes variables from the session's shell state, so the latest change takes
/// precedence.
fn override_shell<'a>(
    names: impl IntoIterator<Item = &'a str>,
    view: &EnvironmentView,
    cx: &ToolContext,
) -> Result<(), ToolError> {
    let known: BTreeSet<&str> = view.around.state.variable_names().collect();
    let names: Vec<&str> = names.into_iter().filter(|name| known.contains(name)).collect();
    if names.is_empty() {
        return Ok(());
    }
    cx.session.update(shell_env::SHELL_DOCUMENT, |kept: &mut ShellSnapshot| {
        names.iter().for_each(|name| kept.state.forget_variable(name));
        kept.text = shell::state_as_script(&kept.state);
    })?;
    Ok(())
}

fn get(name: String, view: &EnvironmentView) -> Result<EnvAnswer, ToolError> {
    environment::check_name(&name)?;
    if let Some(entry) = view.visible.get(&name) {
        return Ok(view.variable_answer(name, entry));
    }
    let was_unset = view.around.variables.contains_key(&name)
        || view.around.base_environment.contains_key(OsStr::new(&name));
    let state = if was_unset { "was unset in this session" } else { "is not set" };
    let near: Vec<&str> = view
        .visible
        .keys()
        .filter(|other| environment::matches_filter(&name, other))
        .take(5)
        .map(String::as_str)
        .collect();
    let error = ToolError::not_found(format!("{name} {state}"));
    Err(if near.is_empty() {
        error.with_hint("action=list shows the variables that are set.")
    } else {
        error.with_hint(format!("Similar names that are set: {}", near.join(", ")))
    })
}

fn list(filter: Option<&str>, view: &EnvironmentView) -> EnvAnswer {
    let (mut variables, mut masked, mut shortened) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut withheld = Vec::new();
    for (name, entry) in &view.visible {
        if !filter.is_none_or(|filter| environment::matches_filter(filter, name)) {
            continue;
        }
        let shown = view.masked_value(name, &entry.value);
        let mut text = shown.text;
        if let Some((end, _)) = text.char_indices().nth(PREVIEW_CHARS) {
            text.truncate(end);
            text.push('…');
            shortened.push(name.clone());
        }
        if shown.masked {
            masked.push(name.clone());
        }
        if entry.withheld {
            withheld.push(name.clone());
        }
        variables.insert(name.clone(), text);
    }
    EnvAnswer::List { count: variables.len(), variables, masked, shortened, withheld }
}

fn set(
    name: String,
    value: &str,
    view: &EnvironmentView,
    cx: &ToolContext,
) -> Result<EnvAnswer, ToolError> {
    environment::check_writable(&name)?;
    environment::check_value(&name, value)?;
    if name == PATH_VARIABLE {
        view.check_path(value)?;
    }
    cx.session.update(ENV_DOCUMENT, |changes: &mut EnvOverrides| {
        environment::set(changes, &name, value)
    })??;
    override_shell([name.as_str()], view, cx)?;
    let entry =
        VariableEntry { value: value.to_owned(), source: VariableSource::Session, withheld: false };
    Ok(view.variable_answer(name, &entry))
}

fn unset(name: String, view: &EnvironmentView, cx: &ToolContext) -> Result<EnvAnswer, ToolError> {
    environment::check_writable(&name)?;
    let was_set = view.visible.contains_key(&name);
    cx.session.update(ENV_DOCUMENT, |changes: &mut EnvOverrides| {
        // Recorded even if unset here: another process of this session may have
        // it set.
        changes.insert(name.clone(), None);
    })?;
    override_shell([name.as_str()], view, cx)?;
    Ok(EnvAnswer::Unset { name, was_set })
}

async fn load(
    path: &str,
    view: &EnvironmentView,
    jobs: &JobRegistry,
    cx: &ToolContext,
) -> Result<EnvAnswer, ToolError> {
    let resolved = cx.working_dir.resolve(path);
    let text = read(path, &resolved, jobs, cx).await?;
    let known = |name: &str| view.program_value(name);
    let parsed = DotenvFile::expand(&text, &known, environment::MAX_VALUE_BYTES);
    if let Some(problem) = parsed.problems.first() {
        return Err(ToolError::invalid(format!(
            "{} cannot be loaded: {problem}",
            resolved.display()
        ))
        .with_hint("Nothing was loaded. Fix the line and load it again."));
    }
    let mut skipped = BTreeMap::new();
    let mut wanted = BTreeMap::new();
    for (name, value) in parsed.vars {
        let refused = match environment::protection_reason(&name) {
            _ if environment::check_name(&name).is_err() => Some("not a valid shell variable name"),
            None if name == PATH_VARIABLE && view.check_path(&value).is_err() => {
                Some("it has no bash, so no command could be started")
            }
            None => environment::redirects_programs(&name, &value).then_some(
                "it changes which programs run or what they connect to: use \
                    action=set for it",
            ),
            why => why,
        };
        if let Some(why) = refused {
            skipped.insert(name, why);
            continue;
        }
        environment::check_value(&name, &value)?;
        wanted.insert(name, value);
    }
    cx.session.update(ENV_DOCUMENT, |changes: &mut EnvOverrides| {
        let mut changed = changes.clone();
        for (name, value) in &wanted {
            environment::set(&mut changed, name, value)?;
        }
        *changes = changed;
        Ok::<(), ToolError>(())
    })??;
    override_shell(wanted.keys().map(String::as_str), view, cx)?;
    let loaded = wanted.into_keys().collect();
    let unresolved = parsed.unresolved.into_iter().collect();
    Ok(EnvAnswer::Loaded { path: resolved.display().to_string(), loaded, skipped, unresolved })
}

/// Reads a text file on the backend.
async fn read(
    name: &str,
    path: &Path,
    jobs: &JobRegistry,
    cx: &ToolContext,
) -> Result<String, ToolError> {
    let bytes = if jobs.backend().is_local() {
        let (call, name, path) = (cx.clone(), name.to_owned(), path.to_owned());
        blocking(cx, move || read_local(&name, &path, &call)).await??
    } else {
        let most = usize::try_from(MAX_FILE_BYTES + 1).unwrap_or(usize::MAX);
        remote::read(jobs, path, most, cx).await?
    };
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ToolError::limit(format!(
            "{} is larger than {MAX_FILE_BYTES} bytes",
            path.display()
        )));
    }
    String::from_utf8(bytes)
        .map_err(|_| ToolError::invalid(format!("{} is not UTF-8 text", path.display())))
}

fn read_local(name: &str, path: &Path, cx: &ToolContext) -> Result<Vec<u8>, ToolError> {
    let files = FileAccess::new(cx);
    files.check_trailing_slash(name, path)?;
    let mut bytes = Vec::new();
    files
        .open(path)?
        .take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| ToolError::io(format_args!("Cannot read {}", path.display()), &error))?;
    Ok(bytes)
}

fn diff(view: &EnvironmentView) -> EnvAnswer {
    let (mut set, mut unset, mut masked) = (BTreeMap::new(), Vec::new(), Vec::new());
    for name in environment::changed_names(&view.around) {
        let Some(value) = view.program_value(&name) else {
            // Unexported shell variables and variables that were never set were
            // not in the environment.
            let is_there = view.around.base_environment.contains_key(OsStr::new(&name));
            if is_there || view.was_inherited(&name) {
                unset.push(name);
            }
            continue;
        };
        let shown = view.masked_value(&name, &value);
        if shown.masked {
            masked.push(name.clone());
        }
        set.insert(name, shown.text);
    }
    EnvAnswer::Diff { set, unset, masked }
}

#[cfg(test)]
#[path = "env_manager_tests.rs"]
mod tests;
