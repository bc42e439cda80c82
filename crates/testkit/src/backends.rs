//! Backends that act like remote hosts but run on this machine.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use hermes_core::{BoxFuture, ToolError};
use hermes_exec::{
    CommandSpec, ExecBackend, HostFacts, LocalBackend, ProcessExit, ShellKind, SpawnedProcess,
    Transport, TransportIo, TransportProcess,
};

/// A transport to a shell of this machine.
#[derive(Debug, Clone, Default)]
pub struct LoopbackTransport {
    /// The remote home; by default, the local one.
    pub home: Option<OsString>,
    /// Text that the login shell prints first.
    pub banner: &'static str,
}

impl Transport for LoopbackTransport {
    fn name(&self) -> &str {
        "next door"
    }

    fn open(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }

    fn transport_process(&self, script: &str, _carriage: TransportIo) -> TransportProcess {
        let own = |name: &str| std::env::var_os(name).unwrap_or_default();
        let home = self.home.clone().unwrap_or_else(|| own("HOME"));
        let script = match self.banner {
            "" => script.to_owned(),
            greeting => format!("echo '{greeting}'; echo '{greeting}' >&2; {script}"),
        };
        TransportProcess {
            program: "sh".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: BTreeMap::from([("PATH".into(), own("PATH")), ("HOME".into(), home)]),
        }
    }

    fn may_print_greeting(&self) -> bool {
        !self.banner.is_empty()
    }

    fn containment_summary(&self) -> Option<String> {
        None
    }

    fn explain_failure(&self, _exit: ProcessExit, _errors: &str) -> Option<ToolError> {
        None
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// This machine as a remote host: its files are accessible only through
/// programs, and most environment variables are unset.
#[derive(Debug, Default)]
pub struct FakeRemoteBackend(LocalBackend);

impl ExecBackend for FakeRemoteBackend {
    fn name(&self) -> &str {
        "afar"
    }

    fn open(&self) -> BoxFuture<'_, Result<Arc<HostFacts>, ToolError>> {
        let keep = ["PATH", "HOME", "RUSTUP_HOME", "CARGO_HOME"];
        let environment = std::env::vars_os().filter(|(name, _)| keep.iter().any(|k| name == k));
        let place = HostFacts {
            directory: "/".into(),
            environment: environment.collect(),
            shell: ShellKind::Posix,
            system: "Linux x86_64".to_owned(),
        };
        Box::pin(async { Ok(Arc::new(place)) })
    }

    fn start<'a>(
        &'a self,
        job: &'a str,
        order: CommandSpec,
    ) -> BoxFuture<'a, Result<SpawnedProcess, ToolError>> {
        self.0.start(job, order)
    }

    fn cleanup(&self) -> BoxFuture<'_, ()> {
        self.0.cleanup()
    }
}

/// This machine, but only with the files below `/behind`, a directory that has
/// another path locally.
#[derive(Debug)]
pub struct PathMappedBackend {
    local: LocalBackend,
    dir: PathBuf,
}

impl PathMappedBackend {
    /// Uses this directory as `/behind`.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { local: LocalBackend::default(), dir: dir.into() }
    }

    fn map_path(&self, word: OsString) -> OsString {
        match word.to_str().and_then(|word| word.strip_prefix("/behind")) {
            Some(rest) => format!("{}{rest}", self.dir.display()).into(),
            None if word.to_string_lossy().starts_with('/') => "/nowhere".into(),
            None => word,
        }
    }
}

impl ExecBackend for PathMappedBackend {
    fn name(&self) -> &str {
        "behind"
    }

    fn open(&self) -> BoxFuture<'_, Result<Arc<HostFacts>, ToolError>> {
        self.local.open()
    }

    fn start<'a>(
        &'a self,
        job: &'a str,
        mut order: CommandSpec,
    ) -> BoxFuture<'a, Result<SpawnedProcess, ToolError>> {
        order.arguments = order.arguments.into_iter().map(|word| self.map_path(word)).collect();
        self.local.start(job, order)
    }

    fn cleanup(&self) -> BoxFuture<'_, ()> {
        self.local.cleanup()
    }
}
