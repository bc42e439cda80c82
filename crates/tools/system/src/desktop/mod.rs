//! The desktop session of this process, and the programs that access it.

mod program;

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

pub(crate) use program::{DesktopProgram, ProgramResult};

/// Environment variables passed to desktop programs. These may stay in the
/// background for a long time, so they get nothing else: no keys, no tokens.
const PASSED_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "DISPLAY",
    "XAUTHORITY",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
    "XDG_CURRENT_DESKTOP",
    "XDG_SESSION_TYPE",
    "DBUS_SESSION_BUS_ADDRESS",
    "TMUX",
    "TMUX_TMPDIR",
];

/// The environment variables that identify a desktop session.
#[derive(Debug, Clone)]
pub(crate) struct DesktopEnv {
    variables: BTreeMap<String, OsString>,
}

impl Default for DesktopEnv {
    fn default() -> Self {
        Self::from_vars(env::vars_os())
    }
}

impl DesktopEnv {
    /// Picks the desktop variables from an environment.
    pub(crate) fn from_vars(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let passed = |(name, value): (OsString, OsString)| {
            let name = name.into_string().ok()?;
            PASSED_VARIABLES.contains(&name.as_str()).then_some((name, value))
        };
        Self { variables: variables.into_iter().filter_map(passed).collect() }
    }

    /// A variable, if it is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// Finds a program in PATH. Relative PATH entries are skipped: the working
    /// directory is not trusted.
    pub(crate) fn find_program(&self, program: &str) -> Option<PathBuf> {
        env::split_paths(self.variable("PATH")?)
            .filter(|dir| dir.is_absolute())
            .map(|dir| dir.join(program))
            .find(|path| is_executable(path))
    }

    /// The socket of the configured Wayland display, whether it exists or not.
    pub(crate) fn wayland_socket(&self) -> Option<PathBuf> {
        let display = Path::new(self.variable("WAYLAND_DISPLAY")?);
        let runtime = self.variable("XDG_RUNTIME_DIR").map(Path::new);
        Some(runtime.map_or_else(|| display.to_owned(), |runtime| runtime.join(display)))
    }

    /// Whether a session bus is reachable. One that would have to be started
    /// first does not count: no notification daemon listens on it.
    pub(crate) fn has_session_bus(&self) -> bool {
        let usual = || Some(Path::new(self.variable("XDG_RUNTIME_DIR")?).join("bus"));
        self.variable("DBUS_SESSION_BUS_ADDRESS").is_some()
            || usual().is_some_and(|socket| socket.exists())
    }

    fn variables(&self) -> impl Iterator<Item = (&String, &OsString)> {
        self.variables.iter()
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
#[path = "desktop_tests.rs"]
pub(crate) mod tests;
