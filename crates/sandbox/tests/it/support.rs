//! A workspace with a confinement around it, and children that run in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hermes_core::Confinement;
use hermes_sandbox::Sandbox;
use tempfile::TempDir;

pub(crate) struct World {
    _keep: TempDir,
    /// May be written.
    pub(crate) inside: PathBuf,
    /// May not even be read.
    pub(crate) outside: PathBuf,
    pub(crate) confinement: Confinement,
}

impl World {
    pub(crate) fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let root = keep.path().canonicalize().unwrap();
        let (inside, outside) = (root.join("inside"), root.join("outside"));
        fs::create_dir(&inside).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "the secret\n").unwrap();
        let read = ["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/no/such/folder"];
        let confinement = Confinement {
            read: read.into_iter().map(PathBuf::from).collect(),
            write: vec![inside.clone()],
            ..Confinement::default()
        };
        Self { _keep: keep, inside, outside, confinement }
    }

    pub(crate) fn sandbox(&self) -> Sandbox {
        Sandbox::prepare(&self.confinement, None).unwrap()
    }

    /// Runs a script of the shell in the workspace.
    pub(crate) fn sh(&self, script: &str) -> Ran {
        run(&self.sandbox(), &self.inside, script)
    }

    /// Runs a Python program in the workspace; none if there is no Python.
    pub(crate) fn python(&self, program: &str) -> Option<Ran> {
        let mut command = python(program)?;
        command.current_dir(&self.inside);
        Some(Ran::of(&self.sandbox(), &mut command))
    }
}

/// What a child said and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) ok: bool,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(sandbox: &Sandbox, command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output: Output = sandbox.spawn(command).unwrap().wait_with_output().unwrap();
        Self {
            ok: output.status.success(),
            out: String::from_utf8_lossy(&output.stdout).trim().to_owned(),
            err: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        }
    }
}

pub(crate) fn run(sandbox: &Sandbox, directory: &Path, script: &str) -> Ran {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script).current_dir(directory);
    Ran::of(sandbox, &mut command)
}

/// The system's own Python, as others may be outside of the readable trees.
pub(crate) fn python(program: &str) -> Option<Command> {
    let path = Path::new("/usr/bin/python3");
    if !path.exists() {
        eprintln!("skipped: no /usr/bin/python3");
        return None;
    }
    let mut command = Command::new(path);
    command.arg("-c").arg(program);
    Some(command)
}

pub(crate) fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    status.lines().any(|line| line.starts_with("Uid:\t0\t"))
}

/// Whether paths can be covered here.
pub(crate) fn has_namespaces() -> bool {
    let support = hermes_sandbox::support();
    if !support.user_namespaces {
        eprintln!("skipped: {support}");
    }
    support.user_namespaces
}
