//! A backend for the tests, and the remote tools on it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hermes_core::{
    BoxFuture, DynTool, Effect, Grant, Grants, Scope, Session, ToolContext, ToolError, WorkingDir,
};
use hermes_exec::{CommandSpec, ExecBackend, HostFacts, LocalBackend, SpawnedProcess};
use hermes_remote_tools::{RemoteHostSettings, RemoteToolHost, remote_tool};
use parking_lot::Mutex;
use serde_json::Value;
use tempfile::TempDir;

/// This machine as a remote backend: another home, other variables. Counts
/// the starts.
#[derive(Debug)]
pub(crate) struct Elsewhere {
    local: LocalBackend,
    place: Mutex<HostFacts>,
    pub(crate) starts: AtomicUsize,
    pub(crate) marks: Mutex<Vec<u32>>,
}

impl Elsewhere {
    fn new(home: &Path) -> Arc<Self> {
        let kept =
            ["PATH"].into_iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
        let mut environment: BTreeMap<OsString, OsString> = kept.collect();
        environment.insert("HOME".into(), home.into());
        environment.insert("TMPDIR".into(), home.join("tmp").into());
        let place = HostFacts {
            directory: home.into(),
            environment,
            shell: hermes_exec::ShellKind::Posix,
            system: format!("Linux {}", std::env::consts::ARCH),
        };
        Arc::new(Self {
            local: LocalBackend::default(),
            place: Mutex::new(place),
            starts: AtomicUsize::new(0),
            marks: Mutex::default(),
        })
    }

    pub(crate) fn starts(&self) -> usize {
        self.starts.load(Ordering::SeqCst)
    }

    /// Changes the facts of the host.
    pub(crate) fn change(&self, change: impl FnOnce(&mut HostFacts)) {
        change(&mut self.place.lock());
    }
}

impl ExecBackend for Elsewhere {
    fn name(&self) -> &str {
        "elsewhere"
    }

    fn open(&self) -> BoxFuture<'_, Result<Arc<HostFacts>, ToolError>> {
        Box::pin(async { Ok(Arc::new(self.place.lock().clone())) })
    }

    fn start<'a>(
        &'a self,
        job: &'a str,
        order: CommandSpec,
    ) -> BoxFuture<'a, Result<SpawnedProcess, ToolError>> {
        Box::pin(async move {
            self.starts.fetch_add(1, Ordering::SeqCst);
            let started = self.local.start(job, order).await?;
            self.marks.lock().extend(started.pid);
            Ok(started)
        })
    }

    fn cleanup(&self) -> BoxFuture<'_, ()> {
        self.local.cleanup()
    }
}

/// A remote home, a working directory, and a session.
pub(crate) struct World {
    dir: TempDir,
    pub(crate) backend: Arc<Elsewhere>,
    pub(crate) tool_host: Arc<RemoteToolHost>,
    pub(crate) session: Session,
}

/// The server that the tests start: built with them.
pub(crate) fn server() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let built = own.parent().and_then(Path::parent).unwrap().join("examples/hands");
    assert!(built.exists(), "{} is built with the tests", built.display());
    built
}

/// The package takes long to build in a debug build; all tests share it.
pub(crate) fn cache() -> PathBuf {
    server().with_file_name("hands-cache")
}

impl World {
    pub(crate) fn new() -> Self {
        Self::impatient(RemoteHostSettings::default().silence_timeout)
    }

    /// With this timeout for a silent server.
    pub(crate) fn impatient(silence: Duration) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["home/tmp", "work"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let backend = Elsewhere::new(&root.join("home"));
        let settings = RemoteHostSettings {
            executable: server(),
            arguments: vec!["hands".into()],
            cache: Some(cache()),
            local_dirs: vec![root.join("own")],
            silence_timeout: silence,
        };
        let tool_host = RemoteToolHost::new(Arc::clone(&backend) as _, settings);
        Self { dir, backend, tool_host, session: Session::in_memory() }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn tool(&self, name: &str) -> Arc<dyn DynTool> {
        let tools = hermes_tools_file::tools();
        let tool = tools.into_iter().find(|tool| tool.spec().name == name).unwrap();
        remote_tool(tool, Arc::clone(&self.tool_host))
    }

    /// What the engine passes to a call: its own effects, and some exceptions.
    pub(crate) fn context(&self, name: &str, arguments: &Value) -> ToolContext {
        let mut cx = ToolContext::bare(self.work());
        cx.tool = name.into();
        cx.session = self.session.clone();
        cx.working_dir = Arc::new(WorkingDir::new(self.work(), Some("/home/nobody".into())));
        let effects = self.tool(name).bind(arguments).unwrap().effects(&cx.working_dir);
        let real = |effect: &Effect| effect.resource.as_path().map(Path::to_path_buf);
        let list = effects.into_iter().map(|effect| Grant { real_path: real(&effect), effect });
        let shut = |_: &Scope, path: &Path| path.file_name() == Some(OsStr::new("shut"));
        cx.grants = Arc::new(Grants::new(list.collect()).with_exceptions(Arc::new(shut)));
        cx
    }

    /// The result, or the error as JSON.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Value {
        let cx = self.context(name, &arguments);
        self.call_in(cx, name, &arguments).await
    }

    pub(crate) async fn call_in(&self, cx: ToolContext, name: &str, arguments: &Value) -> Value {
        match self.tool(name).bind(arguments).unwrap().run(cx).await {
            Ok(output) => serde_json::from_str(output.content()).unwrap(),
            Err(error) => error.to_value(),
        }
    }

    /// The process of the server that was started last.
    pub(crate) fn server_pid(&self) -> u32 {
        *self.backend.marks.lock().last().unwrap()
    }
}
