//! Tests in real children what a confinement forbids and permits.

use std::ffi::CString;
use std::fs;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use hermes_core::{Confinement, NetworkMode};
use rustix::pty::{OpenptFlags, openpt, ptsname, unlockpt};

use crate::raw::attempt::{ProbeAttempt, SharedMemory};
use crate::raw::child;
use crate::redacted_copy::redacted_text;
use crate::{ProbeOutcome, ProbeResult, Sandbox, explain_spawn_error};

/// Flag of an attempt's result. The child reports it as its spawn error, above
/// the error numbers of the system and of the steps.
const PROBE_RESULT_FLAG: i32 = 0x4000_0000;

/// Directories outside of all trees in which creating a file is tried. Some are
/// writable for every user.
const OUTSIDE_DIRS: &[&str] = &["/var/tmp", "/tmp", "/dev/shm", "/"];

/// Files of other users that programs commonly look for.
const FOREIGN_FILES: &[&str] = &["/etc/shadow", "/root/.bash_history", "/etc/sudoers"];

/// Runs a child for each attempt. `scratch` is a directory in a writable tree
/// for the files tried there.
pub fn probe(confinement: &Confinement, scratch: &Path) -> Vec<ProbeResult> {
    // The outside program must exist before the sandbox does.
    let outsider = OutsideProgram::new();
    let sandbox = match Sandbox::prepare(confinement, None) {
        Ok(sandbox) => sandbox,
        Err(error) => {
            return vec![ProbeResult {
                what: "prepare the sandbox".to_owned(),
                wanted: ProbeOutcome::Permitted,
                got: ProbeOutcome::Blocked,
                detail: error.to_string(),
            }];
        }
    };
    let mut probes = probe_files(&sandbox, confinement, scratch);
    probes.extend(outsider.probes(&sandbox, confinement));
    if !sandbox.is_bubblewrap() {
        probes.extend(probe_network(&sandbox, confinement));
        probes.extend(probe_processes(&sandbox, scratch));
    }
    probes
}

/// Whether the path is missing and its parent directory exists.
fn is_creatable(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err() && path.parent().is_some_and(Path::is_dir)
}

/// Removes the empty files that were tried at a path and quarantined.
fn remove_traces(path: &Path) {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return };
    let start = format!("{}.refused-", name.to_string_lossy());
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_empty = entry.metadata().is_ok_and(|about| about.is_file() && about.len() == 0);
        if is_empty && entry.file_name().to_string_lossy().starts_with(&start) {
            fs::remove_file(entry.path()).ok();
        }
    }
}

fn probe_files(sandbox: &Sandbox, confinement: &Confinement, scratch: &Path) -> Vec<ProbeResult> {
    let name = format!(".hermes-probe-{}", std::process::id());
    let within = |trees: &[PathBuf], path: &Path| trees.iter().any(|tree| path.starts_with(tree));
    let mut probes = Vec::new();
    let try_path =
        |what: String, wanted, make: fn(CString) -> ProbeAttempt, path: &Path| match CString::new(
            path.as_os_str().as_bytes(),
        ) {
            Ok(text) => run_attempt(sandbox, what, wanted, make(text)),
            Err(error) => untried(what, wanted, &error),
        };

    let inside = scratch.join(&name);
    let text = format!("create a file in {}", scratch.display());
    probes.push(try_path(text, ProbeOutcome::Permitted, ProbeAttempt::Create, &inside));
    fs::remove_file(&inside).ok();
    for dir in OUTSIDE_DIRS.iter().map(Path::new) {
        if within(&confinement.write, dir) {
            continue;
        }
        let path = dir.join(&name);
        let text = format!("create a file in {}", dir.display());
        let mut tried = try_path(text, ProbeOutcome::Blocked, ProbeAttempt::Create, &path);
        if tried.got == ProbeOutcome::Permitted && !path.exists() {
            tried.got = ProbeOutcome::Blocked;
            tried.detail = "created in a private directory only".to_owned();
        }
        probes.push(tried);
        fs::remove_file(&path).ok();
        // Children have their own shared memory.
        if dir != Path::new(SHARED_MEMORY_DIR) && fs::write(&path, "").is_ok() {
            let text = format!("change the mode of a file in {}", dir.display());
            probes.push(try_path(text, ProbeOutcome::Blocked, ProbeAttempt::Chmod, &path));
            fs::remove_file(&path).ok();
        }
    }
    for path in FOREIGN_FILES.iter().map(Path::new).filter(|path| path.exists()) {
        if !within(&confinement.read, path) && !within(&confinement.write, path) {
            let text = format!("read {}", path.display());
            probes.push(try_path(text, ProbeOutcome::Blocked, ProbeAttempt::Read, path));
        }
    }
    for path in confinement.hidden.iter().filter(|path| path.exists()) {
        // An empty directory and a masked one look the same.
        if fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none()) {
            continue;
        }
        let text = format!("read hidden {}", path.display());
        let mut tried = try_path(text, ProbeOutcome::Blocked, ProbeAttempt::Read, path);
        let is_redacted = confinement.redacted.contains(path);
        if tried.got == ProbeOutcome::Permitted && is_redacted && shows_redacted(sandbox, path) {
            tried.got = ProbeOutcome::Blocked;
            tried.detail = "shown without its credentials".to_owned();
        }
        probes.push(tried);
    }
    let kept = [&confinement.read_only, &confinement.frozen_nested, &confinement.masked_missing];
    for path in kept.into_iter().flatten() {
        let (make, path): (fn(CString) -> ProbeAttempt, PathBuf) = match fs::metadata(path) {
            Ok(about) if about.is_dir() => (ProbeAttempt::Create, path.join(&name)),
            Ok(_) => (ProbeAttempt::Write, path.clone()),
            Err(_) => (ProbeAttempt::Create, path.clone()),
        };
        let text = format!("write protected {}", path.display());
        probes.push(try_path(text, ProbeOutcome::Blocked, make, &path));
        if path.ends_with(&name) {
            fs::remove_file(&path).ok();
        }
    }
    for path in confinement.quarantined.iter().filter(|path| is_creatable(path)) {
        let text = format!("create {} permanently", path.display());
        let mut tried = try_path(text, ProbeOutcome::Blocked, ProbeAttempt::Create, path);
        sandbox.quarantine();
        if tried.got == ProbeOutcome::Permitted && fs::symlink_metadata(path).is_err() {
            tried.got = ProbeOutcome::Blocked;
            tried.detail = "put aside".to_owned();
        }
        remove_traces(path);
        probes.push(tried);
    }
    probes
}

/// Whether a child sees exactly the redacted text of a file.
fn shows_redacted(sandbox: &Sandbox, path: &Path) -> bool {
    let (Ok(text), Ok(name)) = (redacted_text(path), CString::new(path.as_os_str().as_bytes()))
    else {
        return false;
    };
    matches!(attempt_errno(sandbox, ProbeAttempt::Compare(name, text.into_bytes())), Ok(0))
}

/// Directory of POSIX shared memory.
const SHARED_MEMORY_DIR: &str = "/dev/shm";

/// Resources of a program outside of the sandbox, which children must not
/// reach.
struct OutsideProgram {
    directory: PathBuf,
    socket: PathBuf,
    memory: io::Result<SharedMemory>,
    named_memory: PathBuf,
    listener: io::Result<UnixListener>,
    terminal: io::Result<(OwnedFd, CString)>,
}

impl OutsideProgram {
    fn new() -> Self {
        // Several probes may run at once, each with its own files.
        static NEXT_NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!(".hermes-probe-{}-{number}", std::process::id());
        let dir = std::env::temp_dir().join(&name);
        let socket = dir.join("sock");
        let named_memory = Path::new(SHARED_MEMORY_DIR).join(&name);
        // Failures are reported when the attempt is made.
        fs::create_dir(&dir).ok();
        fs::remove_file(&socket).ok();
        fs::write(&named_memory, "x").ok();
        let terminal = || {
            let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
            unlockpt(&master)?;
            let name = ptsname(&master, Vec::new())?;
            io::Result::Ok((master, name))
        };
        Self {
            listener: UnixListener::bind(&socket),
            memory: SharedMemory::new(),
            terminal: terminal(),
            directory: dir,
            socket,
            named_memory,
        }
    }

    fn probes(&self, sandbox: &Sandbox, confinement: &Confinement) -> Vec<ProbeResult> {
        let wanted = ProbeOutcome::Blocked;
        let what = "connect to a socket of another program".to_owned();
        let path = CString::new(self.socket.as_os_str().as_bytes());
        // Bubblewrap only runs programs, and none that connects may be
        // installed.
        if sandbox.is_bubblewrap() {
            return Vec::new();
        }
        let connect = match (&self.listener, path) {
            (Ok(_), Ok(path)) => {
                run_attempt(sandbox, what, wanted, ProbeAttempt::ConnectUnix(path))
            }
            (Err(error), _) => untried(what, wanted, error),
            (_, Err(error)) => untried(what, wanted, &error),
        };
        let what = "write to a terminal of another program".to_owned();
        let write = match &self.terminal {
            Ok((_, name)) => run_attempt(sandbox, what, wanted, ProbeAttempt::Write(name.clone())),
            Err(error) => untried(what, wanted, error),
        };
        let mut probes = vec![connect, write];
        probes.extend(self.probe_move(sandbox));
        probes.extend(self.probe_shared_memory(sandbox, confinement));
        probes
    }

    /// Tries to move the socket, whose mask is found by path.
    fn probe_move(&self, sandbox: &Sandbox) -> Option<ProbeResult> {
        let what = "move the directory of a socket of another program".to_owned();
        let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).ok();
        let to = self.moved_dir();
        let attempt = ProbeAttempt::Move(text(&self.directory)?, text(&to)?);
        self.listener.as_ref().ok()?;
        Some(run_attempt(sandbox, what, ProbeOutcome::Blocked, attempt))
    }

    fn probe_shared_memory(
        &self,
        sandbox: &Sandbox,
        confinement: &Confinement,
    ) -> Vec<ProbeResult> {
        let wanted = ProbeOutcome::Blocked;
        let what = "attach shared memory of another program".to_owned();
        let attach = match &self.memory {
            Ok(memory) => {
                run_attempt(sandbox, what, wanted, ProbeAttempt::AttachSharedMemory(memory.0))
            }
            Err(error) => untried(what, wanted, error),
        };
        let mut probes = vec![attach];
        let is_allowed = |tree: &PathBuf| Path::new(SHARED_MEMORY_DIR).starts_with(tree);
        let is_named = |tree: &PathBuf| tree.starts_with(SHARED_MEMORY_DIR);
        let trees = [&confinement.read, &confinement.write];
        let is_meant =
            trees.into_iter().flatten().any(is_named) || confinement.write.iter().any(is_allowed);
        let path = CString::new(self.named_memory.as_os_str().as_bytes());
        if let Ok(path) = path
            && !is_meant
            && self.named_memory.exists()
        {
            let what = "read shared memory of another program by name".to_owned();
            probes.push(run_attempt(sandbox, what, wanted, ProbeAttempt::Read(path)));
        }
        probes
    }

    fn moved_dir(&self) -> PathBuf {
        self.directory.with_extension("moved")
    }
}

impl Drop for OutsideProgram {
    fn drop(&mut self) {
        for dir in [&self.directory, &self.moved_dir()] {
            fs::remove_dir_all(dir).ok();
        }
        fs::remove_file(&self.named_memory).ok();
    }
}

fn probe_network(sandbox: &Sandbox, confinement: &Confinement) -> Vec<ProbeResult> {
    let is_host = confinement.network == NetworkMode::Host;
    let wanted = if is_host { ProbeOutcome::Permitted } else { ProbeOutcome::Blocked };
    let what = "connect to a TCP port of this machine".to_owned();
    let listener = TcpListener::bind(("127.0.0.1", 0));
    let port = listener.as_ref().ok().and_then(|it| it.local_addr().ok()).map(|it| it.port());
    let connect = match port {
        Some(port) => run_attempt(sandbox, what, wanted, ProbeAttempt::Connect(port)),
        None => untried(what, wanted, &"no port available to listen on"),
    };
    vec![connect]
}

fn probe_processes(sandbox: &Sandbox, scratch: &Path) -> Vec<ProbeResult> {
    let parent = i32::try_from(std::process::id()).unwrap_or(i32::MAX);
    let mut attempts = vec![
        ("signal the parent", ProbeAttempt::Signal(parent)),
        ("trace the parent", ProbeAttempt::Trace(parent)),
        ("set a resource limit of the parent", ProbeAttempt::SetLimits(parent)),
        ("create a user namespace", ProbeAttempt::Unshare),
        ("set up io_uring", ProbeAttempt::SetUpIoUring),
    ];
    if let Ok(memory) = CString::new(format!("/proc/{parent}/environ")) {
        attempts.push(("read the environment of the parent", ProbeAttempt::Read(memory)));
    }
    if let Ok(path) = CString::new(scratch.as_os_str().as_bytes()) {
        attempts.push(("mount a file system", ProbeAttempt::Mount(path)));
    }
    attempts
        .into_iter()
        .map(|(what, attempt)| {
            run_attempt(sandbox, what.to_owned(), ProbeOutcome::Blocked, attempt)
        })
        .collect()
}

fn untried(what: String, wanted: ProbeOutcome, why: &impl ToString) -> ProbeResult {
    ProbeResult { what, wanted, got: ProbeOutcome::Untried, detail: why.to_string() }
}

fn run_attempt(
    sandbox: &Sandbox,
    what: String,
    wanted: ProbeOutcome,
    attempt: ProbeAttempt,
) -> ProbeResult {
    match attempt_errno(sandbox, attempt) {
        Ok(0) => {
            ProbeResult { what, wanted, got: ProbeOutcome::Permitted, detail: "done".to_owned() }
        }
        Ok(errno) => {
            let detail = io::Error::from_raw_os_error(errno).to_string();
            ProbeResult { what, wanted, got: ProbeOutcome::Blocked, detail }
        }
        Err(error) => untried(what, wanted, &error),
    }
}

/// Makes the attempt in the sandbox and returns zero or its errno.
fn attempt_errno(sandbox: &Sandbox, attempt: ProbeAttempt) -> io::Result<i32> {
    if sandbox.is_bubblewrap() {
        run_with_shell(sandbox, &attempt)
    } else {
        run_in_child(sandbox, attempt)
    }
}

/// Makes the attempt in the sandbox instead of exec, so it needs no program
/// that the confinement would have to allow.
fn run_in_child(sandbox: &Sandbox, attempt: ProbeAttempt) -> io::Result<i32> {
    let mut command = Command::new("/");
    sandbox.apply(&mut command);
    child::install_hook(&mut command, move || {
        Err(io::Error::from_raw_os_error(PROBE_RESULT_FLAG | attempt.run()))
    });
    match command.spawn() {
        Ok(mut child) => {
            child.wait()?;
            Err(io::Error::other("the child exited without a result"))
        }
        Err(error) => match error.raw_os_error() {
            Some(code) if code & PROBE_RESULT_FLAG != 0 => Ok(code & !PROBE_RESULT_FLAG),
            _ => Err(explain_spawn_error(error)),
        },
    }
}

/// Makes the attempt with a shell, as bubblewrap only runs programs.
fn run_with_shell(sandbox: &Sandbox, attempt: &ProbeAttempt) -> io::Result<i32> {
    let (script, path) = match attempt {
        ProbeAttempt::Read(path) => {
            ("if [ -d \"$0\" ]; then ls -A \"$0\" | grep -q .; else : < \"$0\"; fi", path)
        }
        ProbeAttempt::Compare(path, _) => ("[ \"$(cat)\" = \"$(cat \"$0\")\" ]", path),
        ProbeAttempt::Write(path) => (": >> \"$0\"", path),
        ProbeAttempt::Create(path) => ("set -C; : > \"$0\"", path),
        ProbeAttempt::Chmod(path) => ("chmod 640 \"$0\"", path),
        _ => return Err(io::ErrorKind::Unsupported.into()),
    };
    let mut command = Command::new("/bin/sh");
    command.current_dir("/");
    command.arg("-c").arg(script).arg(std::ffi::OsStr::from_bytes(path.as_bytes()));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = sandbox.spawn(&mut command)?;
    if let (Some(mut input), ProbeAttempt::Compare(_, wanted)) = (child.stdin.take(), attempt) {
        // A child that reads nothing reports the difference by its status.
        input.write_all(wanted).ok();
    }
    let status = child.wait()?;
    Ok(if status.success() { 0 } else { libc::EACCES })
}
