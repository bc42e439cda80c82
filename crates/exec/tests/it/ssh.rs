//! Another host: an ssh server on loopback, with keys of its own.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{CancellationToken, ErrorKind};
use hermes_exec::ssh::{HostKey, Settings, Ssh, Synced};
use hermes_exec::{Backend, Elsewhere, Exit, Job, Order, Output, Patience, Pause, Way as _};
use tempfile::TempDir;

use crate::contract::contract;

/// A server that lets us in, and a folder of this test.
struct Host {
    settings: Settings,
    folder: TempDir,
}

impl Host {
    /// None if there is no server.
    fn find() -> Option<Self> {
        let said = |name: &str| std::env::var(name).ok();
        let found = (
            said("HERMES_TEST_SSH_PORT").and_then(|port| port.parse().ok()),
            said("HERMES_TEST_SSH_KEY"),
            said("HERMES_TEST_SSH_HOST_KEY").and_then(|file| fs::read_to_string(file).ok()),
            said("HERMES_TEST_SSH_USER"),
        );
        let (Some(port), Some(key), Some(host_key), Some(user)) = found else {
            println!("skipped: no ssh server (scripts/components/sshd.sh start DIR)");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let known_hosts = folder.path().join("known hosts");
        fs::write(&known_hosts, format!("[127.0.0.1]:{port} {host_key}")).unwrap();
        let settings = Settings {
            host: "127.0.0.1".into(),
            user: Some(user),
            port: Some(port),
            key: Some(key.into()),
            known_hosts: Some(known_hosts),
            // What is configured on this machine is not what is tested.
            config: Some("/dev/null".into()),
            ..Settings::default()
        };
        Some(Self { settings, folder })
    }

    fn place(&self) -> Arc<Elsewhere<Ssh>> {
        Arc::new(Elsewhere::new(Ssh::new(self.settings.clone())))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

async fn start(backend: &dyn Backend, id: &str, command: &str) -> Arc<Job> {
    let place = backend.open().await.unwrap();
    let order = Order {
        program: "sh".into(),
        arguments: vec!["-c".into(), command.into()],
        environment: place.environment.clone(),
        directory: place.directory.clone(),
        input: hermes_exec::Input::Nothing,
        output: Output::Together,
        confinement: None,
    };
    Job::start(backend, id.to_owned(), command.to_owned(), order, None).await.unwrap()
}

async fn end(job: &Job) -> Option<Exit> {
    let cancel = CancellationToken::new();
    let until = Some(std::time::Instant::now() + Duration::from_secs(60));
    match job.wait(&Patience { until, silence: None, cancel: &cancel }).await {
        Pause::Ended(ended) => Some(ended.exit),
        _ => None,
    }
}

fn text(job: &Job) -> String {
    String::from_utf8_lossy(&job.log().tail(4096)).into_owned()
}

async fn run(backend: &dyn Backend, id: &str, command: &str) -> (Option<Exit>, String) {
    let job = start(backend, id, command).await;
    let exit = end(&job).await;
    (exit, text(&job))
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_run_on_a_host_as_everywhere() {
    let Some(host) = Host::find() else { return };
    contract(host.place()).await;
}
