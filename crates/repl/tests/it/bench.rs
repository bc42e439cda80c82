//! A place to work at: a folder, and the interpreters of one session.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};

use hermes_core::{ToolContext, ToolError};
use hermes_exec::JobRegistry;
use hermes_exec::output::OutputMask;
use hermes_repl::{InterpreterPool, ReplLanguage, ReplLimits, ReplResult, ReplStatus, RunRequest};
use tempfile::TempDir;

pub(crate) struct Bench {
    _folder: TempDir,
    pub(crate) cx: ToolContext,
    pub(crate) all: Arc<InterpreterPool>,
    pub(crate) limits: Arc<ReplLimits>,
    pub(crate) jobs: Arc<JobRegistry>,
    jobs_folder: TempDir,
}

/// Nothing is a secret here.
#[derive(Debug)]
struct Nothing;

impl OutputMask for Nothing {
    fn mask(&self, _bytes: &mut [u8]) {}
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(ReplLimits { mask: Some(Arc::new(Nothing)), ..ReplLimits::default() })
    }

    pub(crate) fn with(limits: ReplLimits) -> Self {
        let (dir, jobs_folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = dir.path().canonicalize().unwrap();
        Self {
            cx: ToolContext::bare(path),
            all: Arc::default(),
            limits: Arc::new(limits),
            jobs: Arc::new(JobRegistry::local(jobs_folder.path().join("jobs"))),
            _folder: dir,
            jobs_folder,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.cx.working_dir.cwd()
    }

    pub(crate) fn ask(&self, language: ReplLanguage, code: &str) -> RunRequest {
        RunRequest {
            language,
            name: "main".to_owned(),
            code: code.to_owned(),
            needs_state: false,
            typescript: false,
            timeout: Some(Duration::from_secs(60)),
            database: None,
            jobs: Arc::clone(&self.jobs),
            limits: Arc::clone(&self.limits),
            own_env: || env::vars().collect(),
        }
    }

    pub(crate) async fn try_ask(&self, ask: RunRequest) -> Result<ReplResult, ToolError> {
        self.all.run(ask, &self.cx).await
    }

    pub(crate) async fn answer(&self, language: ReplLanguage, code: &str) -> ReplResult {
        self.try_ask(self.ask(language, code)).await.unwrap()
    }

    /// The value of code that must end well.
    pub(crate) async fn value(&self, language: ReplLanguage, code: &str) -> String {
        let answer = self.answer(language, code).await;
        assert_eq!(answer.status, ReplStatus::Ok, "{code}: {answer:?}");
        answer.value.map(|value| value.text).unwrap_or_default()
    }

    /// Ends everything; nothing of it is left then.
    pub(crate) async fn close(self) {
        let pids: Vec<u32> =
            self.all.list(self.cx.session.id()).iter().filter_map(|one| one.pid).collect();
        self.all.close_all().await;
        for pid in pids {
            assert!(!is_alive(pid), "{pid} is still there");
        }
        let left = self.jobs_folder.path().join("jobs/running");
        let left: Vec<PathBuf> =
            fs::read_dir(left).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Whether a process runs; one that has only to be waited for does not.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start().chars().next());
    state.flatten().is_some_and(|state| state != 'Z' && state != 'X')
}

/// Whether a program is installed; says so if it is not.
pub(crate) fn has(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).any(|dir| dir.join(program).is_file());
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}
