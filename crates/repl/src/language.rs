//! Languages of interpreters, and their drivers.

use serde::{Deserialize, Serialize};

const START_SCRIPT: &str = include_str!("drivers/start.sh");
const COMMON_DRIVER: &str = include_str!("drivers/common.py");
const PYTHON_DRIVER: &str = include_str!("drivers/python.py");
const SQL_DRIVER: &str = include_str!("drivers/sql.py");
const NODE_DRIVER: &str = include_str!("drivers/node.cjs");
const BASH_DRIVER: &str = include_str!("drivers/bash.sh");
const BOOT_PYTHON: &str = include_str!("drivers/boot.py");
const BOOT_NODE: &str = include_str!("drivers/boot.cjs");

/// Language of an interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplLanguage {
    /// Python 3.
    Python,
    /// JavaScript, run by Node.
    Javascript,
    /// Bash.
    Bash,
    /// SQL, run by the SQLite of Python.
    Sql,
}

impl ReplLanguage {
    /// Returns the language name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Javascript => "javascript",
            Self::Bash => "bash",
            Self::Sql => "sql",
        }
    }

    /// Returns a hint on how to install the interpreter.
    pub(crate) fn install_hint(self) -> &'static str {
        match self {
            Self::Python | Self::Sql => {
                "Install Python 3 (apt install python3), or set VIRTUAL_ENV."
            }
            Self::Javascript => "Install Node (apt install nodejs).",
            Self::Bash => "Install bash.",
        }
    }

    /// Returns the `sh` arguments that start the interpreter with a memory
    /// limit in kilobytes.
    pub(crate) fn arguments(self, kilobytes: u64) -> Vec<String> {
        let (what, boot) = match self {
            Self::Python => ("python", BOOT_PYTHON),
            Self::Sql => ("sql", BOOT_PYTHON),
            Self::Javascript => ("node", BOOT_NODE),
            Self::Bash => ("bash", ""),
        };
        // Node aborts at the process limit, so its heap is capped below it.
        let heap = match kilobytes {
            0 => String::new(),
            all => format!("--max-old-space-size={}", (all / 1024 / 4 * 3).max(64)),
        };
        let words = [START_SCRIPT, "hermes-repl", what, &kilobytes.to_string(), boot, &heap];
        ["-c"].into_iter().chain(words).map(str::to_owned).collect()
    }

    /// Returns the driver source, which is sent before any request.
    pub(crate) fn driver_source(self) -> Vec<u8> {
        let driver = match self {
            Self::Python => format!("{COMMON_DRIVER}\n{PYTHON_DRIVER}"),
            Self::Sql => format!("{COMMON_DRIVER}\n{SQL_DRIVER}"),
            Self::Javascript => NODE_DRIVER.to_owned(),
            Self::Bash => return BASH_DRIVER.as_bytes().to_vec(),
        };
        length_prefixed(&driver)
    }

    /// Encodes a request to run code.
    pub(crate) fn request(self, id: u64, code: &str, types: bool) -> Vec<u8> {
        if self != Self::Bash {
            let request = serde_json::json!({ "id": id, "code": code, "types": types });
            return length_prefixed(&request.to_string());
        }
        // A separate command reports the status, so it is reported even if an
        // interrupt discards the rest of the line.
        let quoted = code.replace('\'', r"'\''");
        let line = format!(
            "{{ __hermes_begin {id}; }} 2>/dev/null; eval '{quoted}' </dev/null 4>&- 5>&-\n"
        );
        [line.into_bytes(), self.status_request(id)].concat()
    }

    /// Encodes a request to report the status of a run again.
    pub(crate) fn status_request(self, id: u64) -> Vec<u8> {
        match self {
            // A shell with `set -x` must not trace this command.
            Self::Bash => format!("{{ __hermes_end {id}; }} 2>/dev/null\n").into_bytes(),
            _ => Vec::new(),
        }
    }
}

fn length_prefixed(text: &str) -> Vec<u8> {
    format!("{}\n{text}", text.len()).into_bytes()
}
