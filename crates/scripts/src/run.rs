//! A script that runs, from its text to what became of it.

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
use hermes_exec::{KILL_GRACE, StdinSource, Job, JobRegistry, CommandSpec, StdioMode, WaitLimits, WaitOutcome, JobOutputOptions};

use crate::bridge::{Bridge, Plan};
use crate::desk::Desk;
use crate::door::Door;
use crate::finish::{self, End, Outcome};
use crate::interpreter::{self, Interpreter};
use crate::limits::{Language, Limits, Mode};
use crate::offer::{Offered, offered};
use crate::room::{Room, Rooms};
use crate::stubs::{Files, Stubs};
use crate::syntax;

/// What Python is told to do first.
const BOOT: &str = include_str!("assets/boot.py");
/// How often one hears of a script that runs.
const TICK: Duration = Duration::from_secs(1);
/// How long calls that were cut off may take to stop.
const SETTLE: Duration = Duration::from_secs(3);
/// How long a script may take to stop that nobody wants any more.
const SHORT: Duration = Duration::from_millis(500);
/// What a strict script finds of the environment.
const KEPT: [&str; 6] = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM"];

/// A script.
#[derive(Debug)]
pub struct Script {
    /// Its text.
    pub code: String,
    /// What it is written in.
    pub language: Language,
    /// How it runs; as the settings say, if that is not said.
    pub mode: Option<Mode>,
    /// How long it may take; as the settings say, if that is not said.
    pub timeout: Option<Duration>,
}

/// Where scripts are run.
#[derive(Debug, Default)]
pub struct Scripts {
    rooms: Rooms,
    stubs: Stubs,
}

/// A script that is about to run.
struct Ready {
    order: CommandSpec,
    guard: Guard,
    warning: Option<String>,
}

/// What is there as long as the script runs.
enum Guard {
    Here(Door, Room),
    There(Bridge),
}

/// What all ways of running have in common.
struct Run<'a> {
    script: &'a Script,
    mode: Mode,
    tools: Arc<Vec<Offered>>,
    files: Arc<Files>,
    desk: Arc<Desk>,
    cx: &'a ToolContext,
}

impl Scripts {
    /// Runs a script to its end, or to that of its time. It has ended then,
    /// and so has all that it started. Of the environment of this program,
    /// `own` is what may be passed on.
    ///
    /// # Errors
    /// If it cannot be started. That it fails is no error but its outcome.
    pub async fn run(
        &self,
        script: &Script,
        jobs: &JobRegistry,
        own: impl FnOnce() -> Vec<(String, String)>,
        cx: &ToolContext,
    ) -> Result<Outcome, ToolError> {
        cx.check_cancelled()?;
        let limits = cx.ports.get::<Limits>().unwrap_or_default();
        let around = ShellEnv::for_call(jobs, StdioMode::Separate, cx, own).await?;
        let tools = Arc::new(offered(cx.engine.as_deref(), &limits.tools));
        let files = self.stubs.of(script.language, &tools);
        let call_id = Arc::clone(&cx.call_id);
        let desk = Desk::new(cx.engine.clone(), call_id, Arc::clone(&tools), limits.tool_calls)?;
        let mode = script.mode.unwrap_or(limits.mode);
        let run = Run { script, mode, tools, files, desk: Arc::new(desk), cx };
        let ready = match around.host {
            None => run.here(&self.rooms, &around)?,
            Some(_) => run.elsewhere(jobs, &around).await?,
        };
        run.carry_out(ready, jobs, &limits).await
    }

    /// Takes away what was made for them.
    pub fn close(&self) {
        self.rooms.close();
    }
}

impl Run<'_> {
    fn here(&self, rooms: &Rooms, around: &ShellEnv) -> Result<Ready, ToolError> {
        let failed = |error: io::Error| ToolError::io("The script's folder", &error);
        let room = rooms.take()?;
        for (name, text) in &*self.files {
            room.write(name, text).map_err(failed)?;
        }
        if let Some((name, text)) = self.file() {
            room.write(name, text).map_err(failed)?;
        }
        let mut environment = around.environment();
        let cwd = self.cx.working_dir.cwd();
        let found = interpreter::find(self.script.language, self.mode, &environment, cwd)?;
        let work = match self.mode {
            Mode::Project => None,
            Mode::Strict => Some(room.folder("work").map_err(failed)?),
        };
        let confinement = self.cx.confinement.as_ref().map(|held| {
            let mut held = (**held).clone();
            if self.mode == Mode::Strict {
                held.write.clear();
            }
            held.write.push(room.path.clone());
            Arc::new(held)
        });
        if let Some(held) = &confinement
            && work.is_none()
            && !can_write_temporary(&held.write, &environment)
        {
            let folder = room.folder("tmp").map_err(failed)?;
            environment.insert("TMPDIR".into(), folder.into());
        }
        activate(&mut environment, &found);
        let environment = self.settled(environment, &room.path, work.as_deref());
        let door = Door::open(&room.path.join("door"), Arc::clone(&self.desk)).map_err(failed)?;
        let order = CommandSpec {
            confinement,
            directory: work.unwrap_or_else(|| cwd.to_owned()),
            ..self.order(found.program.into(), environment, &room.path)
        };
        Ok(Ready { order, guard: Guard::Here(door, room), warning: found.warning })
    }

    /// The walls of that place hold the script.
    async fn elsewhere(&self, jobs: &JobRegistry, around: &ShellEnv) -> Result<Ready, ToolError> {
        let cwd = self.cx.working_dir.cwd();
        let environment = around.environment();
        let plan = Plan {
            language: self.script.language,
            mode: self.mode,
            directory: cwd,
            environment: environment.clone(),
            files: &self.files,
            script: self.file(),
        };
        let desk = Arc::clone(&self.desk);
        let id = jobs.fresh_id();
        let opening = Bridge::open(jobs.backend(), &id, plan, desk);
        let bridge = self.cx.run_until_cancelled(opening).await??;
        let work = (self.mode == Mode::Strict).then(|| bridge.folder.clone());
        let environment = self.settled(environment, &bridge.folder, work.as_deref());
        let order = CommandSpec {
            directory: work.unwrap_or_else(|| cwd.to_owned()),
            ..self.order(bridge.program.clone(), environment, &bridge.folder)
        };
        Ok(Ready { order, guard: Guard::There(bridge), warning: None })
    }

    /// The script's text, where it is a file; Node reads it from its input.
    fn file(&self) -> Option<(&'static str, &str)> {
        (self.script.language == Language::Python).then_some(("script.py", &*self.script.code))
    }

    fn order(
        &self,
        program: OsString,
        environment: BTreeMap<OsString, OsString>,
        folder: &Path,
    ) -> CommandSpec {
        let at = |name: &str| folder.join(name).into_os_string();
        let code = &self.script.code;
        let (arguments, input) = match self.script.language {
            Language::Python => {
                let strict: &[&str] = match self.mode {
                    Mode::Strict => &["-I", "-B", "-u", "-X", "utf8"],
                    Mode::Project => &[],
                };
                let words = strict.iter().chain(&["-c", BOOT]).map(OsString::from);
                (words.chain([at("script.py"), at("lib")]).collect(), StdinSource::Empty)
            }
            Language::JavaScript => {
                let is_module = syntax::is_module(code);
                let kind = if is_module { "module" } else { "commonjs" };
                let words = [format!("--input-type={kind}").into(), "-r".into(), at("prelude.cjs")];
                let place = url(&folder.join("node_modules/hermes_tools/index.mjs"));
                let code = interpreter::located(code, &place).into_bytes();
                (words.into_iter().chain(["-".into()]).collect(), StdinSource::Bytes(code))
            }
        };
        CommandSpec {
            program,
            arguments,
            environment,
            directory: folder.to_owned(),
            input,
            output: StdioMode::Separate,
            confinement: None,
        }
    }

    /// What the script finds in its environment.
    fn settled(
        &self,
        mut environment: BTreeMap<OsString, OsString>,
        folder: &Path,
        work: Option<&Path>,
    ) -> BTreeMap<OsString, OsString> {
        if let Some(work) = work {
            environment.retain(|name, _| KEPT.iter().any(|kept| name == *kept));
            environment.insert("HOME".into(), work.into());
            environment.insert("TMPDIR".into(), work.into());
        }
        let mut set = |name: &str, value: &OsStr| environment.insert(name.into(), value.to_owned());
        // That of this program may be of another folder.
        set("PWD", work.unwrap_or_else(|| self.cx.working_dir.cwd()).as_os_str());
        set("PYTHONUTF8", "1".as_ref());
        set("PYTHONDONTWRITEBYTECODE", "1".as_ref());
        set("HERMES_RPC_SOCKET", folder.join("door").as_os_str());
        set("HERMES_RPC_TOKEN", self.desk.token.text().as_ref());
        // Programs that the script starts find the module as well.
        let (name, library) = match self.script.language {
            Language::Python => ("PYTHONPATH", folder.join("lib")),
            Language::JavaScript => ("NODE_PATH", folder.join("node_modules")),
        };
        in_front(&mut environment, name, library);
        environment
    }

    async fn carry_out(
        &self,
        ready: Ready,
        jobs: &JobRegistry,
        limits: &Limits,
    ) -> Result<Outcome, ToolError> {
        let Ready { order, guard, mut warning } = ready;
        let wanted = self.script.timeout.unwrap_or(limits.timeout);
        let limit = wanted.min(limits.timeout);
        if wanted > limit {
            let said = format!("A script may take {} s at most", limit.as_secs());
            warning.get_or_insert(said);
        }
        let limit = self.cx.remaining().map_or(limit, |left| left.mul_f64(0.95).min(limit));
        let held = order.confinement.as_ref().map(|held| held.limits);
        let most = held.unwrap_or_default().processes;
        let directory = order.directory.clone();
        let id = jobs.fresh_id();
        // Both ends of its output stay in memory, and that is all that is told.
        let reports = JobOutputOptions::default();
        let job = Job::start(jobs.backend(), id, "execute_code".to_owned(), order, reports).await?;
        let leash = Leash(Arc::clone(&job));
        let end = self.wait(&job, Instant::now() + limit, jobs, &directory, most).await;
        let left = self.end_all(&job, &end, matches!(guard, Guard::There(_))).await;
        drop(leash);
        if self.desk.is_busy() {
            // Nobody is there any more who would hear the answers.
            self.cx.cancel.cancel();
            let _ = tokio::time::timeout(SETTLE, self.desk.quiet()).await;
        }
        let within = jobs.terminate_started_by(self.cx.session.id(), &self.cx.call_id).await;
        if !within.is_empty() {
            let commands: Vec<String> = within.iter().map(|it| finish::shortened(it)).collect();
            let said = format!("What terminal had left running was ended: {}", commands.join("; "));
            warning =
                Some(warning.map_or_else(|| said.clone(), |first| format!("{first}. {said}")));
        }
        match guard {
            Guard::Here(door, room) => {
                drop(door);
                drop(room);
            }
            Guard::There(bridge) => bridge.close().await,
        }
        let telling = finish::Telling {
            end,
            limit,
            left,
            directory,
            warning,
            language: self.script.language,
            limits,
            tools: &self.tools,
            desk: &self.desk,
        };
        Ok(telling.of(&job))
    }

    async fn wait(
        &self,
        job: &Job,
        until: Instant,
        jobs: &JobRegistry,
        directory: &Path,
        most: Option<u64>,
    ) -> End {
        let mut vouched = None;
        loop {
            let next = until.min(Instant::now() + TICK);
            let patience = WaitLimits { deadline: Some(next), idle_timeout: None, cancel: &self.cx.cancel };
            match job.wait(&patience).await {
                WaitOutcome::Ended(ended) => return End::Itself(ended),
                WaitOutcome::Cancelled => return End::Cancelled,
                WaitOutcome::Deadline if next == until => return End::Timeout,
                // Nobody is there to type; it gets what it was given.
                WaitOutcome::AwaitingInput => tokio::time::sleep(Duration::from_millis(200)).await,
                _ => {}
            }
            if let Some(most) = most
                && finish::is_crowded(job, most).await
            {
                return End::Crowded(most);
            }
            if vouched.is_none() {
                vouched = Some(jobs.guard_record(job, self.cx.session.id(), directory));
            }
            let (seconds, calls) = (job.age().as_secs(), self.desk.made());
            self.cx.report_progress(None, format!("script: {seconds} s, {calls} tool calls"));
        }
    }

    /// Ends what is left; whether it was more than the script itself.
    async fn end_all(&self, job: &Job, end: &End, is_elsewhere: bool) -> bool {
        let lingers = match end {
            End::Itself(ended) => ended.has_descendants,
            End::Timeout => {
                job.terminate(KILL_GRACE).await;
                return false;
            }
            End::Cancelled | End::Crowded(_) => {
                job.terminate(SHORT).await;
                return false;
            }
        };
        let left = lingers || (!is_elsewhere && finish::has_left(job));
        if left || is_elsewhere {
            job.terminate(KILL_GRACE).await;
        }
        left
    }
}

/// Ends a script that nobody waits for any more.
struct Leash(Arc<Job>);

impl Drop for Leash {
    fn drop(&mut self) {
        let job = Arc::clone(&self.0);
        if job.ended().is_none()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move { job.terminate(SHORT).await });
        }
    }
}

/// Whether the folder for temporary files is among those that can be written.
fn can_write_temporary(trees: &[PathBuf], environment: &BTreeMap<OsString, OsString>) -> bool {
    let folder = environment.get(OsStr::new("TMPDIR")).map_or(Path::new("/tmp"), Path::new);
    trees.iter().any(|tree| folder.starts_with(tree))
}

/// Makes programs of the interpreter's own virtualenv come first.
fn activate(environment: &mut BTreeMap<OsString, OsString>, found: &Interpreter) {
    let Some(home) = &found.home else { return };
    if home.join("pyvenv.cfg").is_file() {
        environment.insert("VIRTUAL_ENV".into(), home.into());
        environment.remove(OsStr::new("PYTHONHOME"));
    }
    in_front(environment, "PATH", home.join("bin"));
}

fn in_front(environment: &mut BTreeMap<OsString, OsString>, name: &str, folder: PathBuf) {
    let mut value = folder.into_os_string();
    if let Some(before) = environment.get(OsStr::new(name)).filter(|it| !it.is_empty()) {
        value.push(":");
        value.push(before);
    }
    environment.insert(name.into(), value);
}

fn url(path: &Path) -> String {
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
