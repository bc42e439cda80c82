//! Detects the kind of a program and the debugger it needs, on the backend
//! where it runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{Confinement, ToolError};
use hermes_exec::{CapturedCommand, CommandSpec, ExecBackend, StdinSource, StdioMode};

use crate::adapter::DebugAdapter;

/// Timeout of the detection.
const DETECT_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_OUTPUT_BYTES: usize = 1024 * 1024;

/// The first gdb version that supports the Debug Adapter Protocol.
const MIN_GDB_VERSION: u32 = 14;

/// A kind of program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramKind {
    /// Python.
    Python,
    /// JavaScript, and TypeScript if node supports it.
    Node,
    /// Machine code.
    Native,
}

impl ProgramKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Node => "node",
            Self::Native => "native",
        }
    }
}

/// The result of the detection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectedDebugger {
    /// The adapter.
    pub adapter: DebugAdapter,
    /// The program to start: an interpreter, or the adapter.
    pub tool: PathBuf,
    /// The working directory with symlinks resolved.
    pub real_dir: PathBuf,
    /// The project's package manager, if it is not pip.
    pub package_manager: Option<String>,
}

/// Detects the debugger for a program. `program` and `files` must exist.
///
/// # Errors
/// If something is missing; the hint names the next step.
pub async fn detect_debugger(
    backend: &dyn ExecBackend,
    kind: Option<ProgramKind>,
    program: Option<&Path>,
    dir: &Path,
    files: &[PathBuf],
    around: (&BTreeMap<OsString, OsString>, Option<Arc<Confinement>>),
) -> Result<DetectedDebugger, ToolError> {
    let kind_word = kind.map_or("auto", ProgramKind::as_str);
    let program_word = program.map(|path| path.as_os_str().to_owned()).unwrap_or_default();
    let first = ["-c", include_str!("assets/look.sh"), "sh", kind_word].map(OsString::from);
    let files = files.iter().map(|file| file.as_os_str().to_owned());
    let words = first.into_iter().chain([program_word, dir.into()]).chain(files);
    let order = CommandSpec {
        program: "sh".into(),
        arguments: words.collect(),
        environment: around.0.clone(),
        directory: "/".into(),
        input: StdinSource::Empty,
        output: StdioMode::Separate,
        confinement: around.1,
    };
    let errand = CapturedCommand {
        spec: order,
        timeout: DETECT_TIMEOUT,
        max_output_bytes: MAX_OUTPUT_BYTES,
    };
    let done = errand.run(backend, "look for a debugger").await?;
    parse_detection(&String::from_utf8_lossy(&done.output), program)
}

/// Parses the output of the detection script.
fn parse_detection(text: &str, program: Option<&Path>) -> Result<DetectedDebugger, ToolError> {
    let pairs = || text.split('\0').filter_map(|pair| pair.split_once('='));
    let get = |key: &str| pairs().find(|(name, _)| *name == key).map(|(_, value)| value);
    if let Some(missing) = get("missing") {
        return Err(ToolError::not_found(format!("No such file: {missing}"))
            .with_hint("Give an absolute path, or one relative to the working directory."));
    }
    let shown = program.map(|path| path.display().to_string()).unwrap_or_default();
    let (adapter, tool) = match get("kind").unwrap_or_default() {
        "python" => (DebugAdapter::Debugpy, get("tool").ok_or_else(|| not_installed("python3"))?),
        "node" => (DebugAdapter::Node, get("tool").ok_or_else(|| not_installed("node"))?),
        "native" => {
            if get("plain").is_some() {
                return Err(ToolError::invalid(format!("{shown} is not executable"))
                    .with_hint("Build it with debug information and pass the executable."));
            }
            native_debugger(&get)?
        }
        "script" => {
            return Err(ToolError::invalid(format!(
                "{shown} is a script in a language that cannot be debugged"
            ))
            .with_hint("Python, Node and native programs can be debugged."));
        }
        _ => {
            return Err(ToolError::invalid(format!("Cannot determine the language of {shown}"))
                .with_hint(
                    "Use the usual file extension (.py, .js) or a first line such as \
                     #!/usr/bin/env python3; a native program must be executable.",
                ));
        }
    };
    Ok(DetectedDebugger {
        adapter,
        tool: tool.into(),
        real_dir: get("real").unwrap_or("/").into(),
        package_manager: get("lock").map(str::to_owned),
    })
}

fn not_installed(name: &str) -> ToolError {
    let install = format!("apt-get install {}", if name == "node" { "nodejs" } else { name });
    ToolError::unavailable(format!("{name} is not installed"))
        .with_hint(format!("Install it, for example with: {install}"))
        .with("tool", name)
        .with("install", install)
}

fn native_debugger<'a>(
    get: &impl Fn(&str) -> Option<&'a str>,
) -> Result<(DebugAdapter, &'a str), ToolError> {
    if let Some(lldb) = get("lldb") {
        return Ok((DebugAdapter::Lldb, lldb));
    }
    let version = get("version").and_then(major_version);
    match (get("gdb"), version) {
        (Some(gdb), Some(MIN_GDB_VERSION..)) => Ok((DebugAdapter::Gdb, gdb)),
        (found, version) => {
            let but = match (found, version) {
                (Some(_), Some(version)) => {
                    format!(
                        "; gdb {version} does not support the Debug Adapter Protocol, gdb \
                         {MIN_GDB_VERSION} does"
                    )
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

/// Returns the major version in `GNU gdb (Debian 13.1-3) 13.1`: from its last
/// word.
fn major_version(version: &str) -> Option<u32> {
    version.split_whitespace().last()?.split('.').next()?.parse().ok()
}

#[cfg(test)]
#[path = "detect_tests.rs"]
mod tests;
