//! The supported debug adapters and their specific settings.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A debug adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebugAdapter {
    /// debugpy, in the program's interpreter.
    Debugpy,
    /// The Node inspector.
    Node,
    /// `lldb-dap`, formerly `lldb-vscode`.
    Lldb,
    /// gdb 14 or later.
    Gdb,
}

/// What to debug.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DebugTarget {
    /// A program file.
    Program(PathBuf),
    /// A Python module.
    Module(String),
    /// A test: a file, optionally with `::` and a test name.
    Test {
        /// The file.
        file: PathBuf,
        /// The part after the first `::`.
        name: Option<String>,
    },
}

impl DebugTarget {
    /// Returns the file, if the target has one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Program(file) | Self::Test { file, .. } => Some(file),
            Self::Module(_) => None,
        }
    }

    /// Returns the name shown to the user.
    pub fn display_name(&self) -> String {
        match self {
            Self::Program(file) | Self::Test { file, name: None } => file.display().to_string(),
            Self::Module(name) => format!("-m {name}"),
            Self::Test { file, name: Some(name) } => format!("{}::{name}", file.display()),
        }
    }
}

/// How to launch a program under a debugger.
#[derive(Debug, Clone)]
pub struct LaunchConfig {
    /// What to debug.
    pub target: DebugTarget,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The complete environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// Exceptions to stop at: `uncaught`, `raised`, `user_uncaught`, or class
    /// names.
    pub stop_on: Vec<String>,
    /// Whether to stop at the entry point.
    pub stop_on_entry: bool,
    /// Whether to step over code outside the project.
    pub just_my_code: bool,
    /// A directory for temporary files.
    pub scratch_dir: Option<PathBuf>,
}

/// Function breakpoints that stop a native program on a panic.
const PANIC_FUNCTIONS: [&str; 1] = ["rust_panic"];

impl DebugAdapter {
    /// Whether it debugs native programs, which requires tracing another
    /// process.
    pub fn is_native(self) -> bool {
        matches!(self, Self::Lldb | Self::Gdb)
    }

    /// The name of the adapter.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debugpy => "debugpy",
            Self::Node => "node",
            Self::Lldb => "lldb-dap",
            Self::Gdb => "gdb",
        }
    }

    /// Returns the arguments for the detected program.
    pub(crate) fn command_args(self, launch: &LaunchConfig) -> Vec<OsString> {
        match self {
            Self::Debugpy => {
                let shown = json!({
                    "boot": include_str!("assets/boot.py"),
                    "what": python_bridge_config(launch),
                });
                ["-I".into(), "-c".into(), include_str!("assets/bridge.py").into()]
                    .into_iter()
                    .chain([OsString::from(shown.to_string())])
                    .collect()
            }
            Self::Node => {
                let shown = node_bridge_config(launch).to_string();
                let words = ["-e", include_str!("assets/bridge.cjs"), "--", &shown];
                words.map(OsString::from).to_vec()
            }
            Self::Lldb => Vec::new(),
            Self::Gdb => ["-q", "-nx", "-i", "dap"].map(OsString::from).to_vec(),
        }
    }

    /// Returns the arguments of the `launch` request.
    pub(crate) fn launch_arguments(self, launch: &LaunchConfig) -> Value {
        match self {
            Self::Debugpy => json!({
                "justMyCode": launch.just_my_code,
                "stopOnEntry": launch.stop_on_entry,
                "showReturnValue": true,
                // A deliberate exit is not a failure.
                "breakOnSystemExit": [],
                "variablePresentation": {
                    "special": "hide", "function": "hide", "class": "hide", "protected": "inline",
                },
            }),
            Self::Node => json!({ "justMyCode": launch.just_my_code }),
            Self::Lldb | Self::Gdb => {
                let environment: BTreeMap<_, _> = launch
                    .environment
                    .iter()
                    .map(|(name, value)| (name.to_string_lossy(), value.to_string_lossy()))
                    .collect();
                let mut shown = json!({
                    "program": launch.target.file(),
                    "args": launch.arguments,
                    "cwd": launch.cwd,
                    "env": environment,
                });
                let stop = launch.stop_on_entry;
                if self == Self::Lldb {
                    shown["stopOnEntry"] = stop.into();
                    shown["disableASLR"] = false.into();
                } else {
                    shown["stopAtBeginningOfMainSubprogram"] = stop.into();
                }
                shown
            }
        }
    }

    /// Returns extra debugger properties: if a condition cannot be evaluated,
    /// the program stops and the reason is reported.
    pub(crate) fn debugger_properties(self) -> Option<Value> {
        let shown = json!({
            "skipSuspendOnBreakpointException": [],
            "skipPrintBreakpointException": [],
        });
        (self == Self::Debugpy).then_some(shown)
    }

    /// Returns the arguments of the `setExceptionBreakpoints` request.
    pub(crate) fn exception_filters(self, stop_on: &[String]) -> Value {
        let has = |name: &str| stop_on.iter().any(|one| one == name);
        let words = ["uncaught", "raised", "user_uncaught", "none"];
        let names: Vec<&String> =
            stop_on.iter().filter(|name| !words.contains(&name.as_str())).collect();
        match self {
            Self::Debugpy => {
                let modes = [
                    ("uncaught", "unhandled"),
                    ("raised", "always"),
                    ("user_uncaught", "userUnhandled"),
                ];
                let filters = [
                    ("uncaught", "uncaught"),
                    ("raised", "raised"),
                    ("user_uncaught", "userUnhandled"),
                ];
                let filters: Vec<_> = filters
                    .iter()
                    .filter(|(ours, _)| has(ours))
                    .map(|(_, theirs)| theirs)
                    .collect();
                if names.is_empty() {
                    return json!({ "filters": filters });
                }
                let all = json!({ "names": ["Python Exceptions"] });
                let modes = modes.iter().filter(|(ours, _)| has(ours));
                let options = modes
                    .map(|(_, mode)| json!({ "path": [all], "breakMode": mode }))
                    .chain([json!({ "path": [all, { "names": names }], "breakMode": "always" })]);
                json!({ "filters": [], "exceptionOptions": options.collect::<Vec<_>>() })
            }
            Self::Node => {
                let mut filters = Vec::new();
                if has("raised") {
                    filters.push("all");
                }
                if has("uncaught") || has("user_uncaught") {
                    filters.push("uncaught");
                }
                let mut names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
                // The test runner catches what a test throws.
                if has("user_uncaught") {
                    names.push("AssertionError");
                }
                json!({ "filters": filters, "names": names })
            }
            Self::Lldb if has("raised") => json!({ "filters": ["cpp_throw"] }),
            Self::Gdb if has("raised") => json!({ "filters": ["throw"] }),
            Self::Lldb | Self::Gdb => json!({ "filters": [] }),
        }
    }

    /// Returns the function breakpoints needed to stop on exceptions.
    pub(crate) fn panic_functions(self, stop_on: &[String]) -> &'static [&'static str] {
        match self.is_native() && stop_on.iter().any(|one| one != "none") {
            true => &PANIC_FUNCTIONS,
            false => &[],
        }
    }

    /// Returns the context in which an expression is evaluated.
    pub(crate) fn evaluate_context(self, is_statement: bool) -> &'static str {
        match self {
            // In `repl`, the text could run as an arbitrary debugger command.
            Self::Lldb | Self::Gdb => "watch",
            _ if is_statement => "repl",
            _ => "watch",
        }
    }

    /// Returns the command that installs a missing package.
    pub(crate) fn install_command(package: &str, python: &str, lock: Option<&str>) -> String {
        match lock {
            Some("uv") => format!("uv add --dev {package}"),
            Some("poetry") => format!("poetry add --group dev {package}"),
            _ => format!("{python} -m pip install {package}"),
        }
    }
}

fn python_bridge_config(launch: &LaunchConfig) -> Value {
    let dir = match &launch.target {
        DebugTarget::Program(file) => file.parent().unwrap_or(&launch.cwd),
        _ => &launch.cwd,
    };
    let (module, arguments, need) = match &launch.target {
        DebugTarget::Program(_) => (None, launch.arguments.clone(), None),
        DebugTarget::Module(name) => (Some(name.as_str()), launch.arguments.clone(), None),
        DebugTarget::Test { file, name } => {
            let file = file.strip_prefix(&launch.cwd).unwrap_or(file);
            let what = match name {
                Some(name) => format!("{}::{name}", file.display()),
                None => file.display().to_string(),
            };
            let own = ["-q", "-x", "--no-header", "--capture=no", "-p", "no:cacheprovider"];
            let own = own.map(str::to_owned).into_iter().chain([what]);
            (Some("pytest"), own.chain(launch.arguments.iter().cloned()).collect(), Some("pytest"))
        }
    };
    json!({
        "program": launch.target.file(),
        "module": module,
        "args": arguments,
        "folder": dir,
        "need": need,
    })
}

/// Returns the pattern that selects a Node test. For a nested test, `suite >
/// test` as `code_test` names it, the enclosing names must match too or the
/// test is not reached; newer versions match all of them joined.
fn test_name_pattern(name: &str) -> String {
    if !name.contains(" > ") {
        return name.to_owned();
    }
    let escape = |text: &str| {
        let special = |c: char| r"\^$.|?*+()[]{}/".contains(c);
        text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
    };
    let whole = name.replace(" > ", " ");
    let names: Vec<String> = name.split(" > ").chain([whole.as_str()]).map(escape).collect();
    format!("^({})$", names.join("|"))
}

fn node_bridge_config(launch: &LaunchConfig) -> Value {
    let options: Vec<String> = match &launch.target {
        DebugTarget::Test { name: Some(name), .. } => {
            vec![format!("--test-name-pattern={}", test_name_pattern(name))]
        }
        _ => Vec::new(),
    };
    json!({
        "inside": include_str!("assets/inside.cjs"),
        "program": launch.target.file(),
        "args": launch.arguments,
        "options": options,
        "stopOnEntry": launch.stop_on_entry,
        "scratch": launch.scratch_dir,
    })
}
