//! The run of a script, from its text to its outcome.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{ToolContext, ToolError};
use hermes_exec::shell_env::ShellEnv;
use hermes_exec::{
    CommandSpec, Job, JobOutputOptions, JobRegistry, KILL_GRACE, StdinSource, StdioMode,
    WaitLimits, WaitOutcome,
};

use crate::bridge::{BridgeSpec, RpcBridge};
use crate::callable_tools::{CallableTool, callable_tools};
use crate::dispatcher::RpcDispatcher;
use crate::interpreter::{self, ScriptInterpreter};
use crate::js_syntax;
use crate::limits::{ScriptLanguage, ScriptLimits, ScriptMode};
use crate::outcome::{self, ScriptEnd, ScriptOutcome};
use crate::script_dir::{ScriptDir, ScriptDirPool};
use crate::socket::RpcSocket;
use crate::stubs::{ModuleFiles, StubCache};

/// The code that Python runs first.
const PYTHON_BOOTSTRAP: &str = include_str!("assets/boot.py");
/// Interval of progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// Time that cancelled calls get to stop.
const CALL_SETTLE_TIMEOUT: Duration = Duration::from_secs(3);
/// Time that a cancelled script gets to stop.
const CANCEL_GRACE: Duration = Duration::from_millis(500);
/// Environment variables passed to a strict script.
const STRICT_ENV_VARS: [&str; 6] = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM"];

/// A script to run.
#[derive(Debug)]
pub struct ScriptRequest {
    /// The source text.
    pub code: String,
    /// The language.
    pub language: ScriptLanguage,
    /// The mode; `None` uses the configured one.
    pub mode: Option<ScriptMode>,
    /// The timeout; `None` uses the configured one.
    pub timeout: Option<Duration>,
}

/// Runs scripts.
#[derive(Debug, Default)]
pub struct ScriptRunner {
    dirs: ScriptDirPool,
    stubs: StubCache,
}

/// A script that is ready to run.
struct PreparedScript {
    command: CommandSpec,
    channel: ScriptChannel,
    warning: Option<String>,
}

/// The transport of the script's calls, open while the script runs.
enum ScriptChannel {
    Local(RpcSocket, ScriptDir),
    Remote(RpcBridge),
}

/// State shared by local and remote runs.
struct ScriptRun<'a> {
    script: &'a ScriptRequest,
    mode: ScriptMode,
    tools: Arc<Vec<CallableTool>>,
    files: Arc<ModuleFiles>,
    dispatcher: Arc<RpcDispatcher>,
    cx: &'a ToolContext,
}

impl ScriptRunner {
    /// Runs a script until it ends or times out. Returns after the script and
    /// all processes it started have ended. `own` is the part of this program's
    /// environment that may be passed on.
    ///
    /// # Errors
    /// If the script cannot be started. A failing script is an outcome, not an
    /// error.
    pub async fn run(
        &self,
        script: &ScriptRequest,
        jobs: &JobRegistry,
        own: impl FnOnce() -> Vec<(String, String)>,
        cx: &ToolContext,
    ) -> Result<ScriptOutcome, ToolError> {
        cx.check_cancelled()?;
        let limits = cx.ports.get::<ScriptLimits>().unwrap_or_default();
        let around = ShellEnv::for_call(jobs, StdioMode::Separate, cx, own).await?;
        let tools = Arc::new(callable_tools(cx.engine.as_deref(), &limits.extra_tools));
        let files = self.stubs.module_files(script.language, &tools);
        let call_id = Arc::clone(&cx.call_id);
        let desk =
            RpcDispatcher::new(cx.engine.clone(), call_id, Arc::clone(&tools), limits.tool_calls)?;
        let mode = script.mode.unwrap_or(limits.mode);
        let run = ScriptRun { script, mode, tools, files, dispatcher: Arc::new(desk), cx };
        let ready = match around.host {
            None => run.prepare_local(&self.dirs, &around)?,
            Some(_) => run.prepare_remote(jobs, &around).await?,
        };
        run.execute(ready, jobs, &limits).await
    }

    /// Removes the script directories.
    pub fn close(&self) {
        self.dirs.close();
    }
}

impl ScriptRun<'_> {
    fn prepare_local(
        &self,
        rooms: &ScriptDirPool,
        around: &ShellEnv,
    ) -> Result<PreparedScript, ToolError> {
        let failed = |error: io::Error| ToolError::io("The script's directory", &error);
        let room = rooms.acquire()?;
        for (name, text) in &*self.files {
            room.write_file(name, text).map_err(failed)?;
        }
        if let Some((name, text)) = self.script_file() {
            room.write_file(name, text).map_err(failed)?;
        }
        let mut environment = around.environment();
        let cwd = self.cx.working_dir.cwd();
        let found =
            interpreter::find_interpreter(self.script.language, self.mode, &environment, cwd)?;
        let work = match self.mode {
            ScriptMode::Project => None,
            ScriptMode::Strict => Some(room.create_dir("work").map_err(failed)?),
        };
        let confinement = self.cx.confinement.as_ref().map(|held| {
            let mut held = (**held).clone();
            if self.mode == ScriptMode::Strict {
                held.write.clear();
            }
            held.write.push(room.path.clone());
            Arc::new(held)
        });
        if let Some(held) = &confinement
            && work.is_none()
            && !can_write_temp_dir(&held.write, &environment)
        {
            let dir = room.create_dir("tmp").map_err(failed)?;
            environment.insert("TMPDIR".into(), dir.into());
        }
        activate(&mut environment, &found);
        let environment = self.script_env(environment, &room.path, work.as_deref());
        let door = RpcSocket::open(&room.path.join("door"), Arc::clone(&self.dispatcher))
            .map_err(failed)?;
        let order = CommandSpec {
            confinement,
            directory: work.unwrap_or_else(|| cwd.to_owned()),
            ..self.command_spec(found.program.into(), environment, &room.path)
        };
        Ok(PreparedScript {
            command: order,
            channel: ScriptChannel::Local(door, room),
            warning: found.warning,
        })
    }

    /// Prepares a run on another backend, whose own isolation confines the script.
    async fn prepare_remote(
        &self,
        jobs: &JobRegistry,
        around: &ShellEnv,
    ) -> Result<PreparedScript, ToolError> {
        let cwd = self.cx.working_dir.cwd();
        let environment = around.environment();
        let plan = BridgeSpec {
            language: self.script.language,
            mode: self.mode,
            directory: cwd,
            environment: environment.clone(),
            files: &self.files,
            script: self.script_file(),
        };
        let desk = Arc::clone(&self.dispatcher);
        let id = jobs.fresh_id();
        let opening = RpcBridge::open(jobs.backend(), &id, plan, desk);
        let bridge = self.cx.run_until_cancelled(opening).await??;
        let work = (self.mode == ScriptMode::Strict).then(|| bridge.dir.clone());
        let environment = self.script_env(environment, &bridge.dir, work.as_deref());
        let order = CommandSpec {
            directory: work.unwrap_or_else(|| cwd.to_owned()),
            ..self.command_spec(bridge.program.clone(), environment, &bridge.dir)
        };
        Ok(PreparedScript { command: order, channel: ScriptChannel::Remote(bridge), warning: None })
    }

    /// The script's text if it is run from a file; Node reads it from standard input.
    fn script_file(&self) -> Option<(&'static str, &str)> {
        (self.script.language == ScriptLanguage::Python)
            .then_some(("script.py", &*self.script.code))
    }

    fn command_spec(
        &self,
        program: OsString,
        environment: BTreeMap<OsString, OsString>,
        dir: &Path,
    ) -> CommandSpec {
        let at = |name: &str| dir.join(name).into_os_string();
        let code = &self.script.code;
        let (arguments, input) = match self.script.language {
            ScriptLanguage::Python => {
                let strict: &[&str] = match self.mode {
                    ScriptMode::Strict => &["-I", "-B", "-u", "-X", "utf8"],
                    ScriptMode::Project => &[],
                };
                let words = strict.iter().chain(&["-c", PYTHON_BOOTSTRAP]).map(OsString::from);
                (words.chain([at("script.py"), at("lib")]).collect(), StdinSource::Empty)
            }
            ScriptLanguage::JavaScript => {
                let is_module = js_syntax::is_module(code);
                let kind = if is_module { "module" } else { "commonjs" };
                let words = [format!("--input-type={kind}").into(), "-r".into(), at("prelude.cjs")];
                let place = file_url(&dir.join("node_modules/hermes_tools/index.mjs"));
                let code = interpreter::rewrite_imports(code, &place).into_bytes();
                (words.into_iter().chain(["-".into()]).collect(), StdinSource::Bytes(code))
            }
        };
        CommandSpec {
            program,
            arguments,
            environment,
            directory: dir.to_owned(),
            input,
            output: StdioMode::Separate,
            confinement: None,
        }
    }

    /// Builds the environment of the script.
    fn script_env(
        &self,
        mut environment: BTreeMap<OsString, OsString>,
        dir: &Path,
        work: Option<&Path>,
    ) -> BTreeMap<OsString, OsString> {
        if let Some(work) = work {
            environment.retain(|name, _| STRICT_ENV_VARS.iter().any(|allowed| name == *allowed));
            environment.insert("HOME".into(), work.into());
            environment.insert("TMPDIR".into(), work.into());
        }
        let mut set = |name: &str, value: &OsStr| environment.insert(name.into(), value.to_owned());
        // This program's PWD may name another directory.
        set("PWD", work.unwrap_or_else(|| self.cx.working_dir.cwd()).as_os_str());
        set("PYTHONUTF8", "1".as_ref());
        set("PYTHONDONTWRITEBYTECODE", "1".as_ref());
        set("HERMES_RPC_SOCKET", dir.join("door").as_os_str());
        set("HERMES_RPC_TOKEN", self.dispatcher.token.as_str().as_ref());
        // Child processes of the script need to find the module as well.
        let (name, library) = match self.script.language {
            ScriptLanguage::Python => ("PYTHONPATH", dir.join("lib")),
            ScriptLanguage::JavaScript => ("NODE_PATH", dir.join("node_modules")),
        };
        prepend_path(&mut environment, name, library);
        environment
    }

    async fn execute(
        &self,
        ready: PreparedScript,
        jobs: &JobRegistry,
        limits: &ScriptLimits,
    ) -> Result<ScriptOutcome, ToolError> {
        let PreparedScript { command: order, channel: guard, mut warning } = ready;
        let wanted = self.script.timeout.unwrap_or(limits.timeout);
        let limit = wanted.min(limits.timeout);
        if wanted > limit {
            let message = format!("`timeout` was reduced to the limit of {} s", limit.as_secs());
            warning.get_or_insert(message);
        }
        let limit = self.cx.remaining().map_or(limit, |left| left.mul_f64(0.95).min(limit));
        let held = order.confinement.as_ref().map(|held| held.limits);
        let most = held.unwrap_or_default().processes;
        let directory = order.directory.clone();
        let id = jobs.fresh_id();
        // Head and tail of the output stay in memory; nothing more is returned.
        let reports = JobOutputOptions::default();
        let job = Job::start(jobs.backend(), id, "execute_code".to_owned(), order, reports).await?;
        let leash = EndJobOnDrop(Arc::clone(&job));
        let end = self.wait_for_end(&job, Instant::now() + limit, jobs, &directory, most).await;
        let left = self.end_processes(&job, &end, matches!(guard, ScriptChannel::Remote(_))).await;
        drop(leash);
        if self.dispatcher.is_busy() {
            // The script has ended, so nothing reads the responses.
            self.cx.cancel.cancel();
            let _ = tokio::time::timeout(CALL_SETTLE_TIMEOUT, self.dispatcher.wait_idle()).await;
        }
        let within = jobs.terminate_started_by(self.cx.session.id(), &self.cx.call_id).await;
        if !within.is_empty() {
            let commands: Vec<String> =
                within.iter().map(|it| outcome::shorten_command(it)).collect();
            let message =
                format!("Processes left running by terminal were ended: {}", commands.join("; "));
            warning = Some(
                warning.map_or_else(|| message.clone(), |first| format!("{first}. {message}")),
            );
        }
        match guard {
            ScriptChannel::Local(door, room) => {
                drop(door);
                drop(room);
            }
            ScriptChannel::Remote(bridge) => bridge.close().await,
        }
        let telling = outcome::OutcomeBuilder {
            end,
            timeout: limit,
            has_orphans: left,
            directory,
            warning,
            language: self.script.language,
            limits,
            tools: &self.tools,
            dispatcher: &self.dispatcher,
        };
        Ok(telling.build(&job))
    }

    async fn wait_for_end(
        &self,
        job: &Job,
        until: Instant,
        jobs: &JobRegistry,
        directory: &Path,
        most: Option<u64>,
    ) -> ScriptEnd {
        let mut vouched = None;
        loop {
            let next = until.min(Instant::now() + PROGRESS_INTERVAL);
            let timeout =
                WaitLimits { deadline: Some(next), idle_timeout: None, cancel: &self.cx.cancel };
            match job.wait(&timeout).await {
                WaitOutcome::Ended(ended) => return ScriptEnd::Exited(ended),
                WaitOutcome::Cancelled => return ScriptEnd::Cancelled,
                WaitOutcome::Deadline if next == until => return ScriptEnd::Timeout,
                // No user can type here; the script only gets the input passed
                // to it.
                WaitOutcome::AwaitingInput => tokio::time::sleep(Duration::from_millis(200)).await,
                _ => {}
            }
            if let Some(most) = most
                && outcome::exceeds_process_limit(job, most).await
            {
                return ScriptEnd::TooManyProcesses(most);
            }
            if vouched.is_none() {
                vouched = Some(jobs.guard_record(job, self.cx.session.id(), directory));
            }
            let (seconds, calls) = (job.age().as_secs(), self.dispatcher.calls_made());
            self.cx.report_progress(None, format!("script: {seconds} s, {calls} tool calls"));
        }
    }

    /// Ends the remaining processes. Returns whether there were any besides the
    /// script.
    async fn end_processes(&self, job: &Job, end: &ScriptEnd, is_elsewhere: bool) -> bool {
        let lingers = match end {
            ScriptEnd::Exited(ended) => ended.has_descendants,
            ScriptEnd::Timeout => {
                job.terminate(KILL_GRACE).await;
                return false;
            }
            ScriptEnd::Cancelled | ScriptEnd::TooManyProcesses(_) => {
                job.terminate(CANCEL_GRACE).await;
                return false;
            }
        };
        let left = lingers || (!is_elsewhere && outcome::has_orphans(job));
        if left || is_elsewhere {
            job.terminate(KILL_GRACE).await;
        }
        left
    }
}

/// Ends the script when its run is dropped.
struct EndJobOnDrop(Arc<Job>);

impl Drop for EndJobOnDrop {
    fn drop(&mut self) {
        let job = Arc::clone(&self.0);
        if job.ended().is_none()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move { job.terminate(CANCEL_GRACE).await });
        }
    }
}

/// Whether the temporary directory is writable.
fn can_write_temp_dir(trees: &[PathBuf], environment: &BTreeMap<OsString, OsString>) -> bool {
    let dir = environment.get(OsStr::new("TMPDIR")).map_or(Path::new("/tmp"), Path::new);
    trees.iter().any(|tree| dir.starts_with(tree))
}

/// Puts the interpreter's virtualenv first on `PATH`.
fn activate(environment: &mut BTreeMap<OsString, OsString>, found: &ScriptInterpreter) {
    let Some(home) = &found.venv else { return };
    if home.join("pyvenv.cfg").is_file() {
        environment.insert("VIRTUAL_ENV".into(), home.into());
        environment.remove(OsStr::new("PYTHONHOME"));
    }
    prepend_path(environment, "PATH", home.join("bin"));
}

fn prepend_path(environment: &mut BTreeMap<OsString, OsString>, name: &str, dir: PathBuf) {
    let mut value = dir.into_os_string();
    if let Some(before) = environment.get(OsStr::new(name)).filter(|it| !it.is_empty()) {
        value.push(":");
        value.push(before);
    }
    environment.insert(name.into(), value);
}

fn file_url(path: &Path) -> String {
    path.as_os_str().as_bytes().iter().fold("file://".to_owned(), |mut url, byte| {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                url.push(char::from(*byte));
            }
            other => {
                let _ = write!(url, "%{other:02X}");
            }
        }
        url
    })
}
