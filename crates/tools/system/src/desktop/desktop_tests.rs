#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::*;

/// A desktop of the test's own. It goes when the input of its script is
/// closed, also if the test is killed.
#[derive(Debug)]
pub(crate) struct Screen {
    script: Child,
    variables: HashMap<String, String>,
}

impl Screen {
    /// None, and the reason is printed, where a program is missing.
    pub(crate) fn start(programs: &[&str]) -> Option<Self> {
        if !all_installed(programs) {
            return None;
        }
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scripts/desktop.sh");
        let mut script =
            Command::new(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut variables = HashMap::new();
        for line in BufReader::new(script.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            if line == "ready" {
                return Some(Self { script, variables });
            }
            let (name, value) = line.strip_prefix("export ").unwrap().split_once('=').unwrap();
            variables.insert(name.to_owned(), value.trim_matches('\'').to_owned());
        }
        let status = script.wait().unwrap();
        assert_eq!(status.code(), Some(77), "the desktop did not start");
        None
    }

    pub(crate) fn variable(&self, name: &str) -> &str {
        &self.variables[name]
    }

    /// The desktop as a tool sees it.
    pub(crate) fn desktop(&self) -> DesktopEnv {
        self.desktop_with(&env::var("PATH").unwrap())
    }

    /// The same, with other programs.
    pub(crate) fn desktop_with(&self, path: &str) -> DesktopEnv {
        // xsel refuses to run without a home.
        let home = Path::new(self.variable("DESKTOP_NOTIFICATIONS")).parent().unwrap();
        let mut desktop = desktop(&[("PATH", path), ("HOME", home.to_str().unwrap())]);
        for (name, value) in &self.variables {
            desktop.variables.insert(name.clone(), value.into());
        }
        desktop
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        drop(self.script.stdin.take());
        let _ = self.script.wait();
    }
}

/// A desktop that has just these variables.
pub(crate) fn desktop(variables: &[(&str, &str)]) -> DesktopEnv {
    DesktopEnv::from_vars(variables.iter().map(|(name, value)| (name.into(), value.into())))
}

/// Whether the programs are there; says so if not.
pub(crate) fn all_installed(programs: &[&str]) -> bool {
    let here = DesktopEnv::default();
    let missing = programs.iter().find(|program| here.find_program(program).is_none());
    if let Some(program) = missing {
        eprintln!("skipped: {program} is not installed");
    }
    missing.is_none()
}

/// A directory for PATH with only these programs.
pub(crate) fn path_of(programs: &[&str]) -> TempDir {
    let dir = TempDir::new().unwrap();
    let here = DesktopEnv::default();
    for program in programs {
        let real = here.find_program(program).or_else(|| here.find_program("true")).unwrap();
        symlink(real, dir.path().join(program)).unwrap();
    }
    dir
}

#[test]
fn only_what_a_desktop_needs_is_passed_on() {
    let desktop = desktop(&[("DISPLAY", ":7"), ("MY_API_KEY", "x"), ("TMUX", "")]);
    assert_eq!(desktop.variable("DISPLAY"), Some(OsStr::new(":7")));
    assert_eq!(desktop.variable("MY_API_KEY"), None);
    assert_eq!(desktop.variable("TMUX"), None);
}

#[test]
fn programs_are_found_in_absolute_folders_only() {
    let dir = path_of(&["xclip"]);
    fs::write(dir.path().join("xsel"), "not executable").unwrap();
    fs::create_dir(dir.path().join("tmux")).unwrap();
    let path = format!("relative:.::{}", dir.path().display());
    let desktop = desktop(&[("PATH", &path)]);
    assert_eq!(desktop.find_program("xclip"), Some(dir.path().join("xclip")));
    assert_eq!(desktop.find_program("xsel"), None);
    assert_eq!(desktop.find_program("tmux"), None);
    let relative = super::tests::desktop(&[("PATH", "src:.")]);
    assert_eq!(relative.find_program("lib.rs"), None);
}

#[test]
fn a_bus_is_there_if_it_is_named_or_at_its_usual_place() {
    let dir = TempDir::new().unwrap();
    let runtime = dir.path().to_str().unwrap();
    assert!(!desktop(&[("XDG_RUNTIME_DIR", runtime)]).has_session_bus());
    fs::write(dir.path().join("bus"), "").unwrap();
    assert!(desktop(&[("XDG_RUNTIME_DIR", runtime)]).has_session_bus());
    assert!(desktop(&[("DBUS_SESSION_BUS_ADDRESS", "unix:path=/x")]).has_session_bus());
    assert!(!desktop(&[("DISPLAY", ":7")]).has_session_bus());
}
