//! Process of a stdio server: start, environment, and termination with all its
//! children.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hermes_core::ToolError;
use hermes_exec::job_records::{self, JobRecord, JobRecords};
use hermes_exec::tree::{self, JobRoot, JobTermination, TerminationStep};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::stderr_tail::StderrTail;

/// How long a program may take to exit after its stdin closes.
const EXIT_GRACE: Duration = Duration::from_millis(400);

/// How long a program may take to exit after SIGTERM.
const KILL_GRACE: Duration = Duration::from_millis(1500);

/// A running server program.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    child: Child,
    id: String,
    root: Option<JobRoot>,
    job_records: Option<JobRecords>,
    /// The last output on its stderr.
    pub(crate) stderr_tail: Arc<StderrTail>,
}

/// How to start a server program.
pub(crate) struct ProcessSpec<'a> {
    pub(crate) server: &'a str,
    pub(crate) command: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) cwd: Option<&'a Path>,
    /// Our environment; the program gets its harmless variables.
    pub(crate) own_env: &'a [(String, String)],
    pub(crate) job_records: Option<&'a JobRecords>,
}

impl ServerProcess {
    /// Starts a program in its own process group.
    pub(crate) async fn start(
        plan: &ProcessSpec<'_>,
    ) -> Result<(Self, ChildStdin, ChildStdout), ToolError> {
        let mut env: BTreeMap<String, String> =
            hermes_secrets::child_env(plan.own_env.iter().cloned(), &[]).into_iter().collect();
        env.extend(plan.env.iter().map(|(name, value)| (name.clone(), value.clone())));
        let home = env.get("HOME").map(PathBuf::from);
        let path = env.get("PATH").cloned().unwrap_or_default();
        let program = find_program(plan.command, &path, home.as_deref())
            .ok_or_else(|| not_found_error(plan))?;
        let id = new_id(plan.server);
        let outer = plan.own_env.iter().find(|(name, _)| name == tree::JOB_VARIABLE);
        env.insert(
            tree::JOB_VARIABLE.to_owned(),
            tree::nested_mark(outer.map(|it| it.1.as_str()), &id),
        );

        let mut command = pdeathsig_command(&program);
        command.args(plan.args).env_clear().envs(&env);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        if let Some(cwd) = plan.cwd {
            command.current_dir(cwd);
        }
        let mut child = spawn_on_starter_thread(command).await.map_err(|error| {
            ToolError::unavailable(format!(
                "The MCP server '{}' cannot be started: {}: {error}",
                plan.server,
                program.display()
            ))
        })?;
        let tail = Arc::new(StderrTail::default());
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(Arc::clone(&tail).read_to_end(stderr));
        }
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let root = child.id().and_then(|pid| JobRoot::for_pid(pid, &id));
        let job_records = plan.job_records.cloned();
        let it = Self { child, id, root, job_records, stderr_tail: tail };
        it.persist(plan);
        match (stdin, stdout) {
            (Some(stdin), Some(stdout)) => Ok((it, stdin, stdout)),
            _ => Err(ToolError::internal("The program has no stdin or stdout pipe")),
        }
    }

    /// Records the process, so the next start can end it after a crash.
    fn persist(&self, plan: &ProcessSpec<'_>) {
        let (Some(records), Some(root)) = (&self.job_records, &self.root) else { return };
        let (owner_pid, owner_started) = job_records::current_process();
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        // Without the arguments, which may contain a secret.
        let entry = JobRecord {
            id: self.id.clone(),
            pid: root.pid,
            started: root.started,
            command: format!("MCP server {}", plan.server),
            cwd: plan.cwd.map(Path::to_path_buf).unwrap_or_default(),
            session: String::new(),
            owner_pid,
            owner_started,
            at,
            detached: false,
            output: None,
            elsewhere: None,
        };
        let _ = records.record(&entry);
    }

    /// Returns the exit status, once the program has exited.
    pub(crate) fn exit_status(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(|status| status.to_string())
    }

    /// Terminates the program and all its children. Its stdin is already
    /// closed, so it may exit on its own.
    pub(crate) async fn terminate(mut self) {
        let _ = tokio::time::timeout(EXIT_GRACE, self.child.wait()).await;
        if let Some(root) = self.root.clone() {
            let mut ending = JobTermination::new(root, KILL_GRACE);
            loop {
                // Scanning all processes takes milliseconds.
                let step = tokio::task::spawn_blocking(move || {
                    let step = ending.step(Instant::now());
                    (ending, step)
                });
                let Ok((next, step)) = step.await else { break };
                ending = next;
                // Reap the child; until then it counts as running.
                let _ = self.child.try_wait();
                match step {
                    TerminationStep::Wait(pause) => tokio::time::sleep(pause).await,
                    TerminationStep::Done(_) => break,
                }
            }
        }
        let _ = self.child.start_kill();
        let _ = tokio::time::timeout(KILL_GRACE, self.child.wait()).await;
        if let Some(records) = &self.job_records {
            let _ = records.remove(&self.id);
        }
    }
}

/// Terminates server processes that a crash left running. Blocks.
pub(crate) fn reap_orphans(records: &JobRecords) -> usize {
    let orphans = records.orphans();
    // In parallel, since shutdown waits for all of them.
    std::thread::scope(|scope| {
        for orphan in &orphans {
            scope.spawn(|| records.terminate(orphan, KILL_GRACE));
        }
    });
    orphans.len()
}

fn new_id(server: &str) -> String {
    static NEXT_ID: AtomicU64 = AtomicU64::new(1);
    let number = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    format!("mcp-{}-{}-{number}", super::names::file_stem(server), std::process::id())
}

fn not_found_error(plan: &ProcessSpec<'_>) -> ToolError {
    let name = plan.command;
    let hint = match name.rsplit('/').next().unwrap_or(name) {
        "npx" | "npm" | "node" => "Install Node.js, or set `command` to the full path.",
        "uvx" | "uv" => "Install uv, or set `command` to the full path.",
        _ => "Install it, or set `command` to the full path.",
    };
    ToolError::unavailable(format!(
        "The MCP server '{}' cannot be started: program '{name}' not found",
        plan.server
    ))
    .with_hint(hint)
}

/// Resolves a program name as a shell would.
fn find_program(name: &str, path: &str, home: Option<&Path>) -> Option<PathBuf> {
    if let (Some(rest), Some(home)) = (name.strip_prefix("~/"), home) {
        return Some(home.join(rest)).filter(|it| it.is_file());
    }
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|it| it.is_file());
    }
    std::env::split_paths(path).map(|dir| dir.join(name)).find(|it| is_program(it))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// Returns a command that gets SIGTERM when this process dies, if `setpriv` is
/// available.
fn pdeathsig_command(program: &Path) -> Command {
    static SETPRIV_PATH: OnceLock<Option<PathBuf>> = OnceLock::new();
    let setpriv = SETPRIV_PATH.get_or_init(|| {
        let places = ["/usr/bin/setpriv", "/bin/setpriv"].map(PathBuf::from);
        places.into_iter().find(|it| cfg!(target_os = "linux") && is_program(it))
    });
    let Some(setpriv) = setpriv else { return Command::new(program) };
    let mut command = Command::new(setpriv);
    command.args(["--pdeathsig", "TERM"]).arg(program);
    command
}

type SpawnJob = (Command, Handle, oneshot::Sender<io::Result<Child>>);

/// Spawns on a thread that lives as long as this process, since the
/// parent-death signal fires when the spawning thread ends.
async fn spawn_on_starter_thread(command: Command) -> io::Result<Child> {
    static STARTER_THREAD: OnceLock<mpsc::Sender<SpawnJob>> = OnceLock::new();
    let starter = STARTER_THREAD.get_or_init(|| {
        let (sender, wanted) = mpsc::channel::<SpawnJob>();
        let work = move || {
            for (mut command, runtime, answer) in wanted {
                let _inside = runtime.enter();
                let _ = answer.send(command.spawn());
            }
        };
        // If the thread cannot start, its channel is closed, which is reported
        // below.
        let _ = std::thread::Builder::new().name("mcp-starter".to_owned()).spawn(work);
        sender
    });
    let (answer, started) = oneshot::channel();
    let gone = || io::Error::other("the thread that spawns server processes is not running");
    starter.send((command, Handle::current(), answer)).map_err(|_| gone())?;
    started.await.map_err(|_| gone())?
}
