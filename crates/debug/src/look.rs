//! Looking for what a program is, and for the debugger that it needs, where
//! it runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{Confinement, ToolError};
use hermes_exec::{ExecBackend, CapturedCommand, StdinSource, CommandSpec, StdioMode};

use crate::adapter::Adapter;

/// How long looking may take.
const LIMIT: Duration = Duration::from_secs(30);
const MOST: usize = 1024 * 1024;

/// The first gdb that speaks the protocol.
const GDB: u32 = 14;

/// A kind of program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Python.
    Python,
    /// JavaScript, and TypeScript where node takes it.
    Node,
    /// Machine code.
    Native,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Node => "node",
            Self::Native => "native",
        }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What debugs it.
    pub adapter: Adapter,
    /// The program that does: an interpreter, or the adapter itself.
    pub tool: PathBuf,
    /// The folder without links.
    pub real_folder: PathBuf,
    /// What installs packages in this project, if it is not pip.
    pub lock: Option<String>,
}

/// Looks for all that a program needs: `program` and `files` must be there.
///
/// # Errors
/// What is missing, with the next step.
pub async fn look(
    backend: &dyn ExecBackend,
    kind: Option<Kind>,
    program: Option<&Path>,
    folder: &Path,
    files: &[PathBuf],
    around: (&BTreeMap<OsString, OsString>, Option<Arc<Confinement>>),
) -> Result<Found, ToolError> {
    let kind_word = kind.map_or("auto", Kind::word);
    let program_word = program.map(|path| path.as_os_str().to_owned()).unwrap_or_default();
    let first = ["-c", include_str!("assets/look.sh"), "sh", kind_word].map(OsString::from);
    let files = files.iter().map(|file| file.as_os_str().to_owned());
    let words = first.into_iter().chain([program_word, folder.into()]).chain(files);
    let order = CommandSpec {
        program: "sh".into(),
        arguments: words.collect(),
        environment: around.0.clone(),
        directory: "/".into(),
        input: StdinSource::Empty,
        output: StdioMode::Separate,
        confinement: around.1,
    };
    let errand = CapturedCommand { spec: order, timeout: LIMIT, max_output_bytes: MOST };
    let done = errand.run(backend, "look for a debugger").await?;
    read(&String::from_utf8_lossy(&done.output), program)
}

/// Reads what the script says.
fn read(text: &str, program: Option<&Path>) -> Result<Found, ToolError> {
    let pairs = || text.split('\0').filter_map(|pair| pair.split_once('='));
    let get = |key: &str| pairs().find(|(name, _)| *name == key).map(|(_, value)| value);
    if let Some(missing) = get("missing") {
        return Err(ToolError::not_found(format!("There is no file {missing}"))
            .with_hint("Give the path from the working folder, or an absolute one."));
    }
    let shown = program.map(|path| path.display().to_string()).unwrap_or_default();
    let (adapter, tool) = match get("kind").unwrap_or_default() {
        "python" => (Adapter::Debugpy, get("tool").ok_or_else(|| absent("python3"))?),
        "node" => (Adapter::Node, get("tool").ok_or_else(|| absent("node"))?),
        "native" => {
            if get("plain").is_some() {
                return Err(ToolError::invalid(format!("{shown} is not executable"))
                    .with_hint("Build it with debug information and give the executable."));
            }
            native(&get)?
        }
        "script" => {
            return Err(ToolError::invalid(format!("{shown} is a script without a debugger here"))
                .with_hint("Python, Node and native programs can be debugged."));
        }
        _ => {
            return Err(ToolError::invalid(format!("It cannot be told what {shown} is"))
                .with_hint(
                    "Give it the usual ending (.py, .js), or a first line such as \
                     #!/usr/bin/env python3; a native program has to be executable.",
                ));
        }
    };
    Ok(Found {
        adapter,
        tool: tool.into(),
        real_folder: get("real").unwrap_or("/").into(),
        lock: get("lock").map(str::to_owned),
    })
}

fn absent(name: &str) -> ToolError {
    let install = format!("apt-get install {}", if name == "node" { "nodejs" } else { name });
    ToolError::unavailable(format!("{name} is not installed"))
        .with_hint(format!("Install it, for example with: {install}"))
        .with("tool", name)
        .with("install", install)
}

fn native<'a>(get: &impl Fn(&str) -> Option<&'a str>) -> Result<(Adapter, &'a str), ToolError> {
    if let Some(lldb) = get("lldb") {
        return Ok((Adapter::Lldb, lldb));
    }
    let version = get("version").and_then(major);
    match (get("gdb"), version) {
        (Some(gdb), Some(GDB..)) => Ok((Adapter::Gdb, gdb)),
        (found, version) => {
            let but = match (found, version) {
                (Some(_), Some(version)) => {
                    format!("; gdb {version} does not speak the protocol, gdb {GDB} does")
                }
                _ => String::new(),
            };
            Err(ToolError::unavailable(format!(
                "No debugger for native programs is installed (lldb-dap){but}"
            ))
            .with_hint("Install it, for example with: apt-get install lldb")
            .with("tool", "lldb-dap")
            .with("install", "apt-get install lldb"))
        }
    }
}

/// The first number in `GNU gdb (Debian 13.1-3) 13.1`: its last word.
fn major(version: &str) -> Option<u32> {
    version.split_whitespace().last()?.split('.').next()?.parse().ok()
}

#[cfg(test)]
#[path = "look_tests.rs"]
mod tests;
