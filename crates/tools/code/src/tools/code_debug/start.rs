//! Launches a program under a debugger from the arguments of a call.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{Confinement, Resource, Scope, ToolContext, ToolError, WorkingDir};
use hermes_debug::{
    BreakpointRequest, DebugSession, DebugTarget, DetectedDebugger, LaunchConfig, LaunchContext,
    ProgramKind, detect_debugger,
};
use hermes_exec::shell_env::ShellEnv;
use hermes_exec::{JobRegistry, StdioMode};
use hermes_secrets::own_env;

use super::{Args, BreakpointArgs, is_test_target};

/// Maximum number of breakpoints in one call.
const MAX_BREAKPOINTS: usize = 200;

/// Returns the directory that the program runs in.
pub(super) fn working_dir(args: &Args, at: &WorkingDir) -> PathBuf {
    at.resolve(args.cwd.as_deref().unwrap_or("."))
}

/// Returns the file to run, if the target is one.
pub(super) fn program_file(args: &Args, at: &WorkingDir) -> Option<PathBuf> {
    let test = args.test.as_deref().map(|test| test.split("::").next().unwrap_or(test));
    let program = args.program.as_deref().filter(|program| python_module(program).is_none());
    Some(resolve(program.or(test)?, &working_dir(args, at), at))
}

/// Returns the module of `-m module`.
fn python_module(program: &str) -> Option<&str> {
    let name = program.strip_prefix("-m")?;
    name.starts_with(char::is_whitespace).then(|| name.trim())
}

fn resolve(file: &str, dir: &Path, at: &WorkingDir) -> PathBuf {
    WorkingDir::new(dir, at.home().map(PathBuf::from)).resolve(file)
}

/// A program about to be launched.
#[derive(Debug)]
pub(super) struct PendingLaunch {
    jobs: Arc<JobRegistry>,
    launch: LaunchConfig,
    found: DetectedDebugger,
    breakpoints: Vec<BreakpointRequest>,
    confinement: Option<Arc<Confinement>>,
}

impl PendingLaunch {
    /// Prepares the launch for a call.
    pub(super) async fn from_args(args: &Args, cx: &ToolContext) -> Result<Self, ToolError> {
        let target = target(args, cx)?;
        let dir = working_dir(args, &cx.working_dir);
        if let Some(file) = target.file() {
            cx.check_grant(&Scope::FILE_READ, &Resource::Path(file.to_owned()))?;
        }
        let wanted = breakpoint_requests(&args.breakpoints, &dir, cx)?;
        let jobs = JobRegistry::from_context(cx);
        let env = ShellEnv::for_call(&jobs, StdioMode::Separate, cx, own_env).await?;
        let mut environment = env.environment();
        let more = args.env.iter().flatten().map(|(name, value)| (name.into(), value.into()));
        environment.extend(more);
        let said = args.stop_on.iter().flatten().map(|one| canonical_stop_word(one));
        // These two words are not about exceptions.
        let (places, mut stop_on): (Vec<_>, Vec<_>) =
            said.partition(|one| one == "entry" || one == "libraries");
        if stop_on.is_empty() {
            let usual = if is_test_target(&target) { "user_uncaught" } else { "uncaught" };
            stop_on.push(usual.to_owned());
        }
        let names = |place: &str| places.iter().any(|one| one == place);
        let launch = LaunchConfig {
            target,
            arguments: args.args.clone().unwrap_or_default(),
            cwd: dir,
            environment,
            stop_on,
            stop_on_entry: names("entry"),
            just_my_code: !names("libraries"),
            scratch_dir: None,
        };
        let kind = matches!(launch.target, DebugTarget::Module(_)).then_some(ProgramKind::Python);
        Self::with_adapter(jobs, launch, wanted, kind, cx).await
    }

    /// Prepares the relaunch of an earlier program.
    pub(super) async fn for_restart(
        old: &DebugSession,
        cx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let kind = adapter_kind(old);
        Self::with_adapter(
            JobRegistry::from_context(cx),
            old.launch.clone(),
            old.breakpoint_requests(),
            Some(kind),
            cx,
        )
        .await
    }

    async fn with_adapter(
        jobs: Arc<JobRegistry>,
        mut launch: LaunchConfig,
        wanted: Vec<BreakpointRequest>,
        kind: Option<ProgramKind>,
        cx: &ToolContext,
    ) -> Result<Self, ToolError> {
        let confinement = confinement(&jobs, cx)?;
        if confinement.is_some() {
            launch.scratch_dir = Some(jobs.scratch(cx.session.id())?);
        }
        let around = (&launch.environment, confinement.clone());
        let files = breakpoint_files(&wanted);
        let (program, dir) = (launch.target.file(), &launch.cwd);
        let found = detect_debugger(jobs.backend(), kind, program, dir, &files, around).await?;
        if found.adapter.is_native() {
            if is_test_target(&launch.target) {
                return Err(ToolError::invalid(
                    "A native test cannot be debugged by its source file",
                )
                .with_hint(
                    "Build the tests (cargo test --no-run) and give the executable as \
                         'program', the name of the test in 'args'.",
                ));
            }
            if confinement.is_some() {
                return Err(ToolError::unavailable(
                    "Native programs cannot be debugged in this session's sandbox: it forbids \
                     tracing another process",
                )
                .with_hint(
                    "The user can set `sandbox: {enabled: false}` for the profile in \
                     hermes_permissions.yaml, which applies to everything it runs; or debug \
                     the program where no sandbox is active, such as in a container.",
                ));
            }
        }
        Ok(Self { jobs, launch, found, breakpoints: wanted, confinement })
    }

    /// Launches the program.
    pub(super) async fn start(
        self,
        id: String,
        cx: &ToolContext,
    ) -> Result<Arc<DebugSession>, ToolError> {
        let Self { jobs, launch, found, breakpoints: wanted, confinement } = self;
        let context = LaunchContext { jobs: &jobs, confinement, owner: cx.session.id() };
        DebugSession::start(id, launch, found, wanted, context).await
    }
}

/// Returns the confinement; a remote backend applies its own.
fn confinement(
    jobs: &JobRegistry,
    cx: &ToolContext,
) -> Result<Option<Arc<Confinement>>, ToolError> {
    match &cx.confinement {
        Some(confinement) if jobs.backend().is_local() => {
            let mut confinement = (**confinement).clone();
            confinement.write.push(jobs.scratch(cx.session.id())?);
            Ok(Some(Arc::new(confinement)))
        }
        _ => Ok(None),
    }
}

fn target(args: &Args, cx: &ToolContext) -> Result<DebugTarget, ToolError> {
    let file = || program_file(args, &cx.working_dir).unwrap_or_default();
    match (&args.program, &args.test) {
        (Some(program), None) => Ok(match python_module(program) {
            Some(module) => DebugTarget::Module(module.to_owned()),
            None => DebugTarget::Program(file()),
        }),
        (None, Some(test)) => {
            let name = test.split_once("::").map(|(_, name)| name.to_owned());
            Ok(DebugTarget::Test { file: file(), name })
        }
        _ => Err(ToolError::invalid("Exactly one of 'program' and 'test' is required").with_hint(
            "Give the file to run as 'program', a module as '-m name', or a test as 'test': \
             file::name.",
        )),
    }
}

/// Maps synonyms to one word.
fn canonical_stop_word(word: &str) -> String {
    match word {
        "all" | "always" | "raised" => "raised",
        "unhandled" | "uncaught" => "uncaught",
        "failure" | "userUnhandled" | "user_unhandled" | "user_uncaught" => "user_uncaught",
        "never" | "none" => "none",
        class => class,
    }
    .to_owned()
}

/// Parses the requested breakpoints.
pub(super) fn breakpoint_requests(
    places: &[BreakpointArgs],
    dir: &Path,
    cx: &ToolContext,
) -> Result<Vec<BreakpointRequest>, ToolError> {
    if places.len() > MAX_BREAKPOINTS {
        return Err(ToolError::limit(format!("More than {MAX_BREAKPOINTS} breakpoints")));
    }
    let wanted = places.iter().map(|place| match (&place.file, place.line, &place.function) {
        (Some(file), Some(line @ 1..), None) => Ok(BreakpointRequest::Line {
            file: resolve(file, dir, &cx.working_dir),
            line,
            condition: place.condition.clone(),
            hit_count: place.hit,
            log_message: place.log.clone(),
        }),
        (_, None, Some(_)) if place.log.is_some() || place.hit.is_some() => {
            Err(ToolError::invalid("'log' and 'hit' require a breakpoint with file and line")
                .with_hint("Give the first line of the function, or a 'condition'."))
        }
        (_, None, Some(name)) => Ok(BreakpointRequest::Function {
            name: name.clone(),
            condition: place.condition.clone(),
        }),
        _ => Err(ToolError::invalid("A breakpoint requires a file and a line, or a function")
            .with_hint(r#"For example {"file":"a.py","line":3} or {"function":"main"}."#)),
    });
    wanted.collect()
}

fn breakpoint_files(wanted: &[BreakpointRequest]) -> Vec<PathBuf> {
    let file = |one: &BreakpointRequest| match one {
        BreakpointRequest::Line { file, .. } => Some(file.clone()),
        BreakpointRequest::Function { .. } => None,
    };
    wanted.iter().filter_map(file).collect()
}

fn adapter_kind(session: &DebugSession) -> ProgramKind {
    match session.debugger.adapter.name() {
        "debugpy" => ProgramKind::Python,
        "node" => ProgramKind::Node,
        _ => ProgramKind::Native,
    }
}

/// Returns an error if one of these files does not exist.
pub(super) async fn check_breakpoint_files(
    wanted: &[BreakpointRequest],
    session: &DebugSession,
    cx: &ToolContext,
) -> Result<(), ToolError> {
    let jobs = JobRegistry::from_context(cx);
    let launch = &session.launch;
    let around = (&launch.environment, confinement(&jobs, cx)?);
    let (program, files) = (launch.target.file(), breakpoint_files(wanted));
    let kind = Some(adapter_kind(session));
    detect_debugger(jobs.backend(), kind, program, &launch.cwd, &files, around).await.map(|_| ())
}
