//! What debugs a program, and what it is told in its own dialect.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// What debugs a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebugAdapter {
    /// debugpy, in the interpreter of the program.
    Debugpy,
    /// The inspector of Node.
    Node,
    /// `lldb-dap`, formerly `lldb-vscode`.
    Lldb,
    /// gdb, from 14 on.
    Gdb,
}

/// What is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DebugTarget {
    /// A file.
    Program(PathBuf),
    /// A module of Python.
    Module(String),
    /// A test: a file, and perhaps `::` and its name.
    Test {
        /// The file.
        file: PathBuf,
        /// What comes after the first `::`.
        name: Option<String>,
    },
}

impl DebugTarget {
    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Program(file) | Self::Test { file, .. } => Some(file),
            Self::Module(_) => None,
        }
    }

    /// What somebody would call it.
    pub fn display_name(&self) -> String {
        match self {
            Self::Program(file) | Self::Test { file, name: None } => file.display().to_string(),
            Self::Module(name) => format!("-m {name}"),
            Self::Test { file, name: Some(name) } => format!("{}::{name}", file.display()),
        }
    }
}

/// A program that is to be debugged.
#[derive(Debug, Clone)]
pub struct LaunchConfig {
    /// What is run.
    pub target: DebugTarget,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The working folder.
    pub cwd: PathBuf,
    /// The whole environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// Exceptions that it stops at: `uncaught`, `raised`, `user_uncaught`, or
    /// the names of classes.
    pub stop_on: Vec<String>,
    /// Whether it stops at its beginning.
    pub stop_on_entry: bool,
    /// Whether steps go around code that is not the project's.
    pub just_my_code: bool,
    /// A folder that it may write temporary files in.
    pub scratch_dir: Option<PathBuf>,
}

/// Functions of our own that a native program stops at.
const PANIC_FUNCTIONS: [&str; 1] = ["rust_panic"];

impl DebugAdapter {
    /// Whether it is a debugger for native programs, which traces another
    /// process.
    pub fn is_native(self) -> bool {
        matches!(self, Self::Lldb | Self::Gdb)
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debugpy => "debugpy",
            Self::Node => "node",
            Self::Lldb => "lldb-dap",
            Self::Gdb => "gdb",
        }
    }

    /// The arguments of the program that was found for it.
    pub(crate) fn command_args(self, launch: &LaunchConfig) -> Vec<OsString> {
        match self {
            Self::Debugpy => {
                let told = json!({
                    "boot": include_str!("assets/boot.py"),
                    "what": python_bridge_config(launch),
                });
                ["-I".into(), "-c".into(), include_str!("assets/bridge.py").into()]
                    .into_iter()
                    .chain([OsString::from(told.to_string())])
                    .collect()
            }
            Self::Node => {
                let told = node_bridge_config(launch).to_string();
                let words = ["-e", include_str!("assets/bridge.cjs"), "--", &told];
                words.map(OsString::from).to_vec()
            }
            Self::Lldb => Vec::new(),
            Self::Gdb => ["-q", "-nx", "-i", "dap"].map(OsString::from).to_vec(),
        }
    }

    /// The arguments of the request that starts the program.
    pub(crate) fn launch_arguments(self, launch: &LaunchConfig) -> Value {
        match self {
            Self::Debugpy => json!({
                "justMyCode": launch.just_my_code,
                "stopOnEntry": launch.stop_on_entry,
                "showReturnValue": true,
                // To end on purpose is no failure.
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
                let mut told = json!({
                    "program": launch.target.file(),
                    "args": launch.arguments,
                    "cwd": launch.cwd,
                    "env": environment,
                });
                let stop = launch.stop_on_entry;
                if self == Self::Lldb {
                    told["stopOnEntry"] = stop.into();
                    told["disableASLR"] = false.into();
                } else {
                    told["stopAtBeginningOfMainSubprogram"] = stop.into();
                }
                told
            }
        }
    }

    /// What it is told of itself besides: where a condition cannot be evaluated,
    /// it stops and says why.
    pub(crate) fn debugger_properties(self) -> Option<Value> {
        let told = json!({
            "skipSuspendOnBreakpointException": [],
            "skipPrintBreakpointException": [],
        });
        (self == Self::Debugpy).then_some(told)
    }

    /// The arguments of the request that says which exceptions stop it.
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
                // A test runner catches what a test throws.
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

    /// Functions that it stops at because of the exceptions.
    pub(crate) fn panic_functions(self, stop_on: &[String]) -> &'static [&'static str] {
        match self.is_native() && stop_on.iter().any(|one| one != "none") {
            true => &PANIC_FUNCTIONS,
            false => &[],
        }
    }

    /// In which context an expression is evaluated.
    pub(crate) fn evaluate_context(self, is_statement: bool) -> &'static str {
        match self {
            // What it takes for a command of the debugger could do anything.
            Self::Lldb | Self::Gdb => "watch",
            _ if is_statement => "repl",
            _ => "watch",
        }
    }

    /// The command that installs a missing package.
    pub(crate) fn install_command(package: &str, python: &str, lock: Option<&str>) -> String {
        match lock {
            Some("uv") => format!("uv add --dev {package}"),
            Some("poetry") => format!("poetry add --group dev {package}"),
            _ => format!("{python} -m pip install {package}"),
        }
    }
}

fn python_bridge_config(launch: &LaunchConfig) -> Value {
    let folder = match &launch.target {
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
        "folder": folder,
        "need": need,
    })
}

/// The expression that Node finds a test by. Of one within others, `suite > test`
/// as `code_test` names it, the names around it are needed as well, or it is not
/// reached; newer versions know it by all of them together.
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
