//! Finds the process behind a connection, and checks whether it runs the
//! program it claims to run.

use std::collections::VecDeque;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{ClientProcess, Confinement, OverlayMount};
use hermes_net::ClientLookup;
use hermes_sandbox::{NetworkNamespace, overlay_directory, process_sockets};
use parking_lot::{Mutex, RwLock};

use crate::tree;

/// Processes to check first.
const MAX_RECENT_PROCESSES: usize = 32;

/// Maximum number of ancestors of a client to report.
const MAX_CALLERS: usize = 6;

/// Bytes of a command line to read.
const MAX_ARGUMENT_BYTES: usize = 64 * 1024;

/// Finds the clients in a session's network.
pub(super) struct ClientFinder {
    namespace: Arc<NetworkNamespace>,
    /// Most recently seen processes, newest first.
    recent: Mutex<VecDeque<u32>>,
    writable: RwLock<WritablePlaces>,
}

/// Where children can create files.
#[derive(Debug, Default)]
struct WritablePlaces {
    trees: Vec<PathBuf>,
    overlays: Vec<OverlayMount>,
    /// The upper layer of each overlay.
    uppers: Vec<PathBuf>,
}

impl ClientFinder {
    pub(super) fn new(namespace: Arc<NetworkNamespace>, confinement: &Confinement) -> Self {
        let finder = Self { namespace, recent: Mutex::default(), writable: RwLock::default() };
        finder.add_writable_places(confinement);
        finder
    }

    /// Adds where the children of another confinement can write.
    pub(super) fn add_writable_places(&self, confinement: &Confinement) {
        let mut known = self.writable.write();
        for tree in &confinement.write {
            if !known.trees.contains(tree) {
                known.trees.push(tree.clone());
            }
        }
        for overlay in &confinement.overlays {
            if !known.overlays.contains(overlay)
                && let Ok(store) = overlay_directory(overlay)
            {
                known.overlays.push(overlay.clone());
                known.uppers.push(store.join("upper"));
            }
        }
    }

    pub(super) fn note_process(&self, process: u32) {
        let mut recent = self.recent.lock();
        recent.retain(|known| *known != process);
        recent.push_front(process);
        recent.truncate(MAX_RECENT_PROCESSES);
    }

    /// Returns the process that holds the socket with this local address.
    fn socket_owner(&self, address: SocketAddr) -> Option<u32> {
        let recent: Vec<u32> = self.recent.lock().iter().copied().collect();
        let recent = recent.into_iter().filter(|process| self.namespace.has_process(*process));
        let recent: Vec<u32> = recent.collect();
        let mut all = Vec::new();
        let witness = match recent.first() {
            Some(process) => *process,
            None => {
                all = self.namespace.processes();
                *all.first()?
            }
        };
        let inode = self.namespace.socket_at(witness, address)?;
        let holds = |process: &&u32| process_sockets(**process).contains(&inode);
        if let Some(process) = recent.iter().find(holds) {
            return Some(*process);
        }
        if all.is_empty() {
            all = self.namespace.processes();
        }
        all.iter().rev().find(holds).copied()
    }

    /// Whether no child can have changed a file.
    fn is_unwritable(&self, path: &Path) -> bool {
        let known = self.writable.read();
        if known.trees.iter().any(|tree| path.starts_with(tree)) {
            return false;
        }
        let mut overlays = known.overlays.iter().zip(&known.uppers);
        overlays.all(|(overlay, upper)| match path.strip_prefix(&overlay.target) {
            Ok(below) => fs::symlink_metadata(upper.join(below)).is_err(),
            Err(_) => true,
        })
    }

    /// Whether all code of a process, including preloaded libraries, comes from
    /// files that no child can write.
    fn runs_installed_code(&self, process: u32, executable: &Path) -> bool {
        if !self.is_unwritable(executable) {
            return false;
        }
        code_mappings(process).is_some_and(|files| {
            files.iter().filter(|file| file.starts_with('/')).all(|file| {
                !file.ends_with("(deleted)")
                    && !file.starts_with("/memfd:")
                    && self.is_unwritable(Path::new(file))
            })
        }) && is_configured_by_user(process)
    }
}

impl ClientLookup for ClientFinder {
    fn client(&self, peer: SocketAddr, _local: SocketAddr) -> Option<ClientProcess> {
        let pid = self.socket_owner(peer)?;
        self.note_process(pid);
        let executable = executable(pid)?;
        let is_installed = self.runs_installed_code(pid, &executable);
        let mut callers = Vec::new();
        let mut above = tree::parent_pid(pid);
        while let Some(caller) = above.filter(|caller| self.namespace.has_process(*caller)) {
            // A process can choose its own name; use its executable.
            let file =
                self::executable(caller).filter(|file| self.runs_installed_code(caller, file));
            if let Some(file) = file {
                let mut line = command_line(caller);
                line.splice(..1.min(line.len()), [file.to_string_lossy().into_owned()]);
                callers.push(line);
            }
            above = tree::parent_pid(caller).filter(|_| callers.len() < MAX_CALLERS);
        }
        let has_generated_code = code_mappings(pid)
            .is_none_or(|files| files.iter().any(|file| !file.starts_with(['/', '['])));
        let (arguments, job) = (command_line(pid), process_job(pid));
        Some(ClientProcess {
            pid,
            executable,
            arguments,
            is_installed,
            has_generated_code,
            job,
            callers,
        })
    }
}

/// Returns the files that the code of a process is mapped from; an empty name
/// is generated code.
fn code_mappings(process: u32) -> Option<Vec<String>> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
    let code = maps.lines().filter_map(|line| {
        let mut columns = line.splitn(6, ' ');
        let rights = columns.nth(1)?;
        let file = columns.nth(3).unwrap_or_default().trim();
        (rights.contains('x')).then(|| file.to_owned())
    });
    Some(code.collect())
}

/// Variables that make a program load other code, or settings other than the
/// user's.
const REDIRECTING_VARIABLES: &[&str] = &[
    "CURL_HOME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_EXEC_PATH",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "SYSTEM_WGETRC",
    "WGETRC",
    "WGET2RC",
];

/// Whether a process reads the user's settings and no others.
fn is_configured_by_user(process: u32) -> bool {
    let Ok(variables) = fs::read(format!("/proc/{process}/environ")) else { return false };
    variables.split(|byte| *byte == 0).all(|line| {
        let line = String::from_utf8_lossy(line);
        let Some((name, value)) = line.split_once('=') else { return true };
        let own = || std::env::var(name).is_ok_and(|own| own == value);
        match name {
            "HOME" | "XDG_CONFIG_HOME" => own(),
            name if REDIRECTING_VARIABLES.contains(&name) => value.is_empty() || own(),
            _ => true,
        }
    })
}

/// Returns the file that a process executes.
pub(super) fn executable(process: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/exe")).ok()
}

/// Returns the file name of a program.
pub(super) fn short_name(executable: &Path) -> String {
    executable.file_name().unwrap_or(executable.as_os_str()).to_string_lossy().into_owned()
}

/// Returns the job of a process, from the mark in its environment.
pub(super) fn process_job(process: u32) -> Option<String> {
    let variables = fs::read(format!("/proc/{process}/environ")).ok()?;
    let mark = format!("{}=", tree::JOB_VARIABLE);
    let mut lines = variables.split(|byte| *byte == 0);
    let line = lines.find_map(|line| line.strip_prefix(mark.as_bytes()))?;
    let text = std::str::from_utf8(line).ok()?;
    Some(text.rsplit('/').next().unwrap_or(text).to_owned())
}

fn command_line(process: u32) -> Vec<String> {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let line = line.get(..MAX_ARGUMENT_BYTES).unwrap_or(&line);
    let line = line.strip_suffix(&[0]).unwrap_or(line);
    let words = line.split(|byte| *byte == 0);
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}
