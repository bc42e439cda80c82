//! The same in a container and on another host, where the tests are given
//! one: no glibc, no bash, another home.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hermes_core::{BoxFuture, ToolContext, ToolError};
use hermes_exec::docker::{self, DockerTransport};
use hermes_exec::ssh::{self, SshBackend};
use hermes_exec::{
    CapturedCommand, CommandSpec, ExecBackend, HostFacts, RemoteBackend, SpawnedProcess,
    StdinSource, StdioMode,
};
use hermes_remote_tools::{RemoteHostSettings, RemoteToolHost, remote_tool};
use serde_json::{Value, json};

use crate::place::{cache, server};

/// A backend that stores the program in a directory of the test. Counts starts.
#[derive(Debug)]
struct Counting {
    inner: Arc<dyn ExecBackend>,
    dir: PathBuf,
    starts: AtomicUsize,
}

impl ExecBackend for Counting {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn open(&self) -> BoxFuture<'_, Result<Arc<HostFacts>, ToolError>> {
        Box::pin(async {
            let mut place = HostFacts::clone(&*self.inner.open().await?);
            let cache = self.dir.join("cache").into();
            place.environment.insert("XDG_CACHE_HOME".into(), cache);
            Ok(Arc::new(place))
        })
    }

    fn start<'a>(
        &'a self,
        job: &'a str,
        order: CommandSpec,
    ) -> BoxFuture<'a, Result<SpawnedProcess, ToolError>> {
        self.starts.fetch_add(1, Ordering::SeqCst);
        self.inner.start(job, order)
    }

    fn cleanup(&self) -> BoxFuture<'_, ()> {
        self.inner.cleanup()
    }
}

/// What a command says there.
async fn say(backend: &dyn ExecBackend, command: &str) -> String {
    let order = CommandSpec {
        program: "sh".into(),
        arguments: vec!["-c".into(), command.into()],
        environment: backend.open().await.unwrap().environment.clone(),
        directory: "/".into(),
        input: StdinSource::Empty,
        output: StdioMode::Separate,
        confinement: None,
    };
    let errand = CapturedCommand {
        spec: order,
        timeout: Duration::from_secs(60),
        max_output_bytes: 1 << 20,
    };
    let done = errand.run(backend, &format!("say-{}", std::process::id())).await.unwrap();
    assert!(done.succeeded(), "{command}: {}", done.errors);
    String::from_utf8(done.output).unwrap()
}

async fn call(tool_host: &Arc<RemoteToolHost>, work: &Path, name: &str, arguments: Value) -> Value {
    let mut tools = hermes_tools_file::tools().into_iter();
    let tool = tools.find(|tool| tool.spec().name == name).unwrap();
    let mut cx = ToolContext::bare(work);
    cx.tool = name.into();
    match remote_tool(tool, Arc::clone(tool_host)).bind(&arguments).unwrap().run(cx).await {
        Ok(output) => serde_json::from_str(output.content()).unwrap(),
        Err(error) => error.to_value(),
    }
}

/// Files are the same for commands and for tools, and no call is a trip.
async fn works(inner: Arc<dyn ExecBackend>, work: &Path) {
    let dir = work.join("kept");
    let backend = Arc::new(Counting { inner, dir, starts: AtomicUsize::new(0) });
    let settings = RemoteHostSettings {
        executable: server(),
        cache: Some(cache()),
        ..RemoteHostSettings::default()
    };
    let tool_host = RemoteToolHost::new(Arc::clone(&backend) as _, settings);
    let shown = work.display();
    say(&*backend, &format!("mkdir -p {shown}/sub; echo 'from a command' >{shown}/sub/c.txt"))
        .await;

    let before = backend.starts.load(Ordering::SeqCst);
    let read = call(&tool_host, work, "read_file", json!({"path": "sub/c.txt"})).await;
    assert!(read.to_string().contains("from a command"), "{read}");
    assert_eq!(backend.starts.load(Ordering::SeqCst) - before, 3, "a look, the parcel, the start");

    let wrote = json!({"path": "sub/t.txt", "content": "from a tool\n"});
    let wrote = call(&tool_host, work, "write_file", wrote).await;
    assert!(wrote["error"].is_null(), "{wrote}");
    let found =
        call(&tool_host, work, "search_files", json!({"pattern": "from a", "path": "."})).await;
    assert!(found.to_string().contains("c.txt") && found.to_string().contains("t.txt"), "{found}");
    for n in 0..20 {
        let patch = json!({"path": "sub/t.txt", "old_string": "from", "new_string": "from"});
        call(&tool_host, work, "patch", patch).await;
        let listed = call(&tool_host, work, "directory_list", json!({"path": "sub"})).await;
        assert!(listed.to_string().contains("t.txt"), "{n}: {listed}");
    }
    assert_eq!(backend.starts.load(Ordering::SeqCst) - before, 3, "no trip of its own");
    assert_eq!(say(&*backend, &format!("cat {shown}/sub/t.txt")).await, "from a tool\n");

    tool_host.close().await;
    say(&*backend, &format!("rm -rf {shown}")).await;
    backend.cleanup().await;
}

fn container(image: &str) -> Option<Arc<dyn ExecBackend>> {
    let said = |name: &str| std::env::var(name).ok();
    let (host, images) = (said("HERMES_TEST_DOCKER_HOST"), said("HERMES_TEST_DOCKER_IMAGES"));
    let (Some(host), Some(images)) = (host, images) else {
        println!("skipped: no Docker engine (scripts/components/docker.sh starts one)");
        return None;
    };
    let Some(image) = images.split_whitespace().find(|name| name.contains(image)) else {
        println!("skipped: the Docker engine has no image with {image}");
        return None;
    };
    let settings = docker::DockerSettings {
        program: Some("docker".into()),
        global_arguments: vec!["--host".into(), host],
        image: image.to_owned(),
        pull: false,
        task: format!("reach-{}", std::process::id()),
        profile: "tests".into(),
        persistent: false,
        network: false,
        memory_mb: Some(512),
        ..docker::DockerSettings::default()
    };
    Some(Arc::new(RemoteBackend::new(DockerTransport::new(settings))))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_container_of_busybox() {
    let Some(backend) = container("busybox") else { return };
    works(backend, Path::new("/root/reach")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_container_with_bash() {
    let Some(backend) = container("bash") else { return };
    works(backend, Path::new("/root/reach")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_that_is_killed_hangs_nobody() {
    let Some(inner) = container("busybox") else { return };
    let work = Path::new("/root/reach");
    let backend = Arc::new(Counting { inner, dir: work.join("kept"), starts: AtomicUsize::new(0) });
    let settings = RemoteHostSettings {
        executable: server(),
        cache: Some(cache()),
        ..RemoteHostSettings::default()
    };
    let tool_host = RemoteToolHost::new(Arc::clone(&backend) as _, settings);
    say(&*backend, "mkdir -p /root/reach; echo old >/root/reach/a.txt").await;
    call(&tool_host, work, "read_file", json!({"path": "a.txt"})).await;
    let id = say(&*backend, "hostname").await;
    let host = std::env::var("HERMES_TEST_DOCKER_HOST").unwrap();
    let killed = std::process::Command::new("docker")
        .args(["--host", &host, "kill", id.trim()])
        .output()
        .unwrap();
    assert!(killed.status.success(), "{killed:?}");
    // The next one finds another container, in which there is no such file.
    let wrote = json!({"path": "b.txt", "content": "new\n"});
    let mut wrote = call(&tool_host, work, "write_file", wrote.clone()).await;
    if wrote["error"].as_str().is_some_and(|error| error.contains("not known whether")) {
        let again = json!({"path": "b.txt", "content": "new\n"});
        wrote = call(&tool_host, work, "write_file", again).await;
    }
    assert!(wrote["error"].is_null(), "{wrote}");
    assert_eq!(say(&*backend, "ls /root/reach").await, "b.txt\nkept\n");
    tool_host.close().await;
    backend.cleanup().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_another_host() {
    let said = |name: &str| std::env::var(name).ok();
    let (port, key) = (said("HERMES_TEST_SSH_PORT"), said("HERMES_TEST_SSH_KEY"));
    let (host_key, user) = (said("HERMES_TEST_SSH_HOST_KEY"), said("HERMES_TEST_SSH_USER"));
    let (Some(port), Some(key), Some(host_key), Some(user)) = (port, key, host_key, user) else {
        println!("skipped: no ssh server (scripts/components/sshd.sh start DIR)");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let known_hosts = dir.path().join("known_hosts");
    let host_key = fs::read_to_string(host_key).unwrap();
    fs::write(&known_hosts, format!("[127.0.0.1]:{port} {host_key}")).unwrap();
    let settings = ssh::SshSettings {
        host: "127.0.0.1".into(),
        user: Some(user),
        port: Some(port.parse().unwrap()),
        key: Some(key.into()),
        known_hosts: Some(known_hosts),
        config: Some("/dev/null".into()),
        ..ssh::SshSettings::default()
    };
    let work = format!("/var/tmp/hermes-remote-tools-{}", std::process::id());
    works(Arc::new(SshBackend::new(settings)), Path::new(&work)).await;
}
