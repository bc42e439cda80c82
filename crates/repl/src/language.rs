//! The languages, and the drivers that speak them.

use serde::{Deserialize, Serialize};

const START_SCRIPT: &str = include_str!("drivers/start.sh");
const COMMON_DRIVER: &str = include_str!("drivers/common.py");
const PYTHON_DRIVER: &str = include_str!("drivers/python.py");
const SQL_DRIVER: &str = include_str!("drivers/sql.py");
const NODE_DRIVER: &str = include_str!("drivers/node.cjs");
const BASH_DRIVER: &str = include_str!("drivers/bash.sh");
const BOOT_PYTHON: &str = include_str!("drivers/boot.py");
const BOOT_NODE: &str = include_str!("drivers/boot.cjs");

/// What an interpreter understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplLanguage {
    /// Python 3.
    Python,
    /// JavaScript, by Node.
    Javascript,
    /// Bash.
    Bash,
    /// SQL, by the SQLite of Python.
    Sql,
}

impl ReplLanguage {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Javascript => "javascript",
            Self::Bash => "bash",
            Self::Sql => "sql",
        }
    }

    /// How to get its interpreter.
    pub(crate) fn install_hint(self) -> &'static str {
        match self {
            Self::Python | Self::Sql => {
                "Install Python 3 (apt install python3), or set VIRTUAL_ENV."
            }
            Self::Javascript => "Install Node (apt install nodejs).",
            Self::Bash => "Install bash.",
        }
    }

    /// What `sh -c` is given to start it with so many kilobytes of memory.
    pub(crate) fn arguments(self, kilobytes: u64) -> Vec<String> {
        let (what, boot) = match self {
            Self::Python => ("python", BOOT_PYTHON),
            Self::Sql => ("sql", BOOT_PYTHON),
            Self::Javascript => ("node", BOOT_NODE),
            Self::Bash => ("bash", ""),
        };
        // Node would rather die than tell that there is no more.
        let heap = match kilobytes {
            0 => String::new(),
            all => format!("--max-old-space-size={}", (all / 1024 / 4 * 3).max(64)),
        };
        let words = [START_SCRIPT, "hermes-repl", what, &kilobytes.to_string(), boot, &heap];
        ["-c"].into_iter().chain(words).map(str::to_owned).collect()
    }

    /// What it is sent before anything else.
    pub(crate) fn driver_source(self) -> Vec<u8> {
        let driver = match self {
            Self::Python => format!("{COMMON_DRIVER}\n{PYTHON_DRIVER}"),
            Self::Sql => format!("{COMMON_DRIVER}\n{SQL_DRIVER}"),
            Self::Javascript => NODE_DRIVER.to_owned(),
            Self::Bash => return BASH_DRIVER.as_bytes().to_vec(),
        };
        length_prefixed(&driver)
    }

    /// The request to run something.
    pub(crate) fn request(self, id: u64, code: &str, types: bool) -> Vec<u8> {
        if self != Self::Bash {
            let request = serde_json::json!({ "id": id, "code": code, "types": types });
            return length_prefixed(&request.to_string());
        }
        // A command of its own says how the code ended, so that it is said
        // even if an interrupt has thrown the rest of the line away.
        let quoted = code.replace('\'', r"'\''");
        let line = format!(
            "{{ __hermes_begin {id}; }} 2>/dev/null; eval '{quoted}' </dev/null 4>&- 5>&-\n"
        );
        [line.into_bytes(), self.status_request(id)].concat()
    }

    /// Asks once more how something ended.
    pub(crate) fn status_request(self, id: u64) -> Vec<u8> {
        match self {
            // A shell that tells each command does not tell of ours.
            Self::Bash => format!("{{ __hermes_end {id}; }} 2>/dev/null\n").into_bytes(),
            _ => Vec::new(),
        }
    }
}

fn length_prefixed(text: &str) -> Vec<u8> {
    format!("{}\n{text}", text.len()).into_bytes()
}
