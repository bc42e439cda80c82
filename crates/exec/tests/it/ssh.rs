//! The SSH backend, with a server on loopback that has its own keys.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use hermes_core::ErrorKind;
use hermes_exec::ssh::{HostKeyPolicy, SshBackend, SshSettings, SyncMapping};
use hermes_exec::{ExecBackend, Job, ProcessExit};
use tempfile::TempDir;

use crate::contract::{Scene, contract};

/// A server that accepts our key, and a directory for this test.
struct Server {
    settings: SshSettings,
    dir: TempDir,
}

impl Server {
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
        let dir = tempfile::tempdir().unwrap();
        let known_hosts = dir.path().join("known hosts");
        fs::write(&known_hosts, format!("[127.0.0.1]:{port} {host_key}")).unwrap();
        let settings = SshSettings {
            host: "127.0.0.1".into(),
            user: Some(user),
            port: Some(port),
            key: Some(key.into()),
            known_hosts: Some(known_hosts),
            // The configuration of this machine must not affect the test.
            config: Some("/dev/null".into()),
            ..SshSettings::default()
        };
        Some(Self { settings, dir })
    }

    fn place(&self) -> Arc<SshBackend> {
        Arc::new(SshBackend::new(self.settings.clone()))
    }

    async fn scene(&self) -> Scene {
        Scene::open(self.place()).await
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A known_hosts file with a key for our server, or an empty one.
    fn known(&mut self, key: Option<&str>) -> PathBuf {
        let file = self.path("others");
        let port = self.settings.port.unwrap();
        let line = key.map(|key| format!("[127.0.0.1]:{port} {key}\n"));
        fs::write(&file, line.unwrap_or_default()).unwrap();
        self.settings.known_hosts = Some(file.clone());
        file
    }

    fn new_key(&self) -> PathBuf {
        let key = self.path("key");
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", "x", "-f"])
            .arg(&key)
            .status();
        assert!(made.unwrap().success());
        key
    }

    async fn refusal(&self) -> hermes_core::ToolError {
        let place = self.place();
        let error = place.open().await.unwrap_err();
        place.cleanup().await;
        assert!(!error.hint().is_empty());
        error
    }
}

async fn leave(scene: &Scene) {
    assert_eq!(scene.leave().await, Vec::<String>::new());
    scene.backend.cleanup().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_run_on_a_host_as_everywhere() {
    let Some(server) = Server::find() else { return };
    contract(server.place()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_programs_have_left_there_ends_with_us() {
    let Some(server) = Server::find() else { return };
    let scene = server.scene().await;
    let number = scene.number();
    let script = format!(
        "sleep {number} >/dev/null 2>&1 </dev/null & \
         (setsid nohup sleep {number} >/dev/null 2>&1 </dev/null &); echo done"
    );
    let outcome = scene.run(scene.sh(&script)).await;
    assert_eq!(outcome.text(), "done\n");
    scene.until("both run", || async { scene.count(&number).await == 2 }).await;
    scene.backend.cleanup().await;
    let later = server.scene().await;
    assert_eq!(later.count(&number).await, 0);
    leave(&later).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_with_another_key_is_refused() {
    let Some(mut server) = Server::find() else { return };
    let key = server.new_key();
    let other = fs::read_to_string(key.with_extension("pub")).unwrap();
    server.known(Some(other.trim()));
    let error = server.refusal().await;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.hint().contains("ssh-keygen -R '[127.0.0.1]:"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_not_known_is_remembered_or_refused() {
    let Some(mut server) = Server::find() else { return };
    let file = server.known(None);
    server.settings.host_key = HostKeyPolicy::Strict;
    let error = server.refusal().await;
    assert!(error.message().contains("strict checking is on"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "");
    server.settings.host_key = HostKeyPolicy::Off;
    leave(&server.scene().await).await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "");
    server.settings.host_key = HostKeyPolicy::AcceptNew;
    leave(&server.scene().await).await;
    assert!(fs::read_to_string(&file).unwrap().contains("ssh-ed25519"));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_who_is_not_let_in_is_told_what_to_do() {
    let Some(mut server) = Server::find() else { return };
    server.settings.key = Some(server.new_key());
    let error = server.refusal().await;
    assert!(error.message().contains("rejected the login"), "{error}");
    server.settings.key = Some(server.path("none"));
    assert_eq!(server.refusal().await.kind(), ErrorKind::NotFound);
    // A copy of the right key, but readable by everyone.
    let open = server.path("open");
    fs::copy(std::env::var("HERMES_TEST_SSH_KEY").unwrap(), &open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o644)).unwrap();
    server.settings.key = Some(open);
    let error = server.refusal().await;
    assert!(error.hint().contains("chmod 600"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_does_not_answer_is_told() {
    let Some(mut server) = Server::find() else { return };
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    server.settings.port = Some(free.local_addr().unwrap().port());
    drop(free);
    let error = server.refusal().await;
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("the port is closed"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_s_own_configuration_is_honoured() {
    let Some(mut server) = Server::find() else { return };
    let SshSettings { user, port, key, .. } = server.settings.clone();
    let config = server.path("config");
    let text = format!(
        "Host box\n HostName 127.0.0.1\n Port {}\n User {}\n IdentityFile {}\n \
         RemoteCommand echo nonsense\n RequestTTY yes\n LocalForward 1 127.0.0.1:1\n",
        port.unwrap(),
        user.unwrap(),
        key.unwrap().display()
    );
    fs::write(&config, text).unwrap();
    server.settings = SshSettings {
        host: "box".into(),
        config: Some(config),
        known_hosts: server.settings.known_hosts.clone(),
        ..SshSettings::default()
    };
    let scene = server.scene().await;
    assert_eq!(scene.run(scene.sh("echo here")).await.text(), "here\n");
    leave(&scene).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_begins_where_it_is_told_to() {
    let Some(mut server) = Server::find() else { return };
    let dir = server.path("it's a folder");
    fs::create_dir(&dir).unwrap();
    server.settings.directory = Some(dir.to_str().unwrap().to_owned());
    let place = server.place();
    assert_eq!(place.open().await.unwrap().directory, dir);
    place.cleanup().await;
    server.settings.directory = Some("~".into());
    let place = server.place();
    let found = place.open().await.unwrap();
    assert_eq!(Some(found.directory.as_path()), found.home());
    place.cleanup().await;
    server.settings.directory = Some("~/no such folder".into());
    let error = server.refusal().await;
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("~/no such folder"), "{error}");
}

/// A program that runs there, and how its connection can be broken.
struct Running {
    scene: Scene,
    job: Arc<Job>,
    number: String,
    /// The local port of its connection.
    port: u16,
}

impl Running {
    async fn start(server: &Server) -> Self {
        let scene = server.scene().await;
        let number = scene.number();
        let script = format!("echo \"$SSH_CONNECTION\"; sleep {number}; echo no");
        let job = scene.start(scene.sh(&script)).await;
        scene.hear(&job, "\n").await;
        let said = String::from_utf8(job.log().read_from(0, 4096).bytes).unwrap();
        let port = said.split_whitespace().nth(1).unwrap().parse().unwrap();
        Self { scene, job, number, port }
    }

    /// Expects that the broken connection is reported, that the next command works
    /// and reports the cleanup, and that no process is left.
    async fn expect_news(self) {
        let Self { scene, job, number, .. } = self;
        let outcome = scene.finish(&job).await;
        let said = outcome.text();
        assert!(said.contains("the connection to 127.0.0.1 broke"), "{said}");
        assert!(said.contains("not run again"), "{said}");
        assert_ne!(outcome.exit, ProcessExit::Code(0));
        let next = scene.run(scene.sh("echo again")).await.text();
        assert!(next.contains("again\n") && next.contains("were terminated"), "{next}");
        scene.until_gone(&number).await;
        assert_eq!(scene.run(scene.sh("echo calm")).await.text(), "calm\n");
        leave(&scene).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_is_told_and_what_ran_is_ended_later() {
    let Some(server) = Server::find() else { return };
    let running = Running::start(&server).await;
    // The host's processes are its own, but it runs on this machine.
    kill(holder_of(THEIRS, running.port));
    running.expect_news().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_killed_is_told_and_what_ran_is_ended_later() {
    let Some(server) = Server::find() else { return };
    let running = Running::start(&server).await;
    kill(holder_of(OURS, running.port));
    running.expect_news().await;
}

fn kill(pid: Option<rustix::process::Pid>) {
    let pid = pid.expect("a process holds the connection");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// The column of the client's address in the connection table: at our end
/// of a connection, and at the server's.
const OURS: usize = 1;
const THEIRS: usize = 2;

/// The process at one end of the connection from a local port.
fn holder_of(column: usize, port: u16) -> Option<rustix::process::Pid> {
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let end = format!(":{port:04X}");
    let inode = table.lines().find_map(|row| {
        let fields: Vec<&str> = row.split_whitespace().collect();
        fields.get(column)?.ends_with(&end).then(|| (*fields[9]).to_owned())
    })?;
    let socket = PathBuf::from(format!("socket:[{inode}]"));
    let holds = |path: &Path| {
        let files = fs::read_dir(path.join("fd")).into_iter().flatten().flatten();
        files.filter_map(|file| fs::read_link(file.path()).ok()).any(|file| file == socket)
    };
    let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let pid =
        all.filter(|path| holds(path)).find_map(|path| path.file_name()?.to_str()?.parse().ok())?;
    rustix::process::Pid::from_raw(pid)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_stuck_holds_up_nobody() {
    let Some(server) = Server::find() else { return };
    let running = Running::start(&server).await;
    let stuck = holder_of(OURS, running.port).expect("a process holds the connection");
    rustix::process::kill_process(stuck, rustix::process::Signal::STOP).unwrap();
    let begin = std::time::Instant::now();
    let said = running.scene.run(running.scene.sh("echo on")).await.text();
    assert!(said.contains("on\n"), "{said}");
    running.scene.run(running.scene.sh(":")).await;
    // Programs that lost their connection are terminated along the way.
    running.scene.until_gone(&running.number).await;
    let again = running.scene.run(running.scene.sh("echo $SSH_CONNECTION")).await.text();
    let port = again.split_whitespace().nth(1).unwrap().parse().unwrap();
    let stuck = holder_of(OURS, port).expect("a process holds the connection");
    rustix::process::kill_process(stuck, rustix::process::Signal::STOP).unwrap();
    leave(&running.scene).await;
    assert!(begin.elapsed().as_secs() < 25, "{:?}", begin.elapsed());
    assert_eq!(holder_of(OURS, port), None, "it was ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_frozen_is_not_waited_for_when_a_program_is_ended() {
    let Some(server) = Server::find() else { return };
    let running = Running::start(&server).await;
    let frozen = holder_of(THEIRS, running.port).expect("a process holds the connection");
    rustix::process::kill_process(frozen, rustix::process::Signal::STOP).unwrap();
    let begin = std::time::Instant::now();
    running.job.terminate(std::time::Duration::from_secs(2)).await;
    let took = begin.elapsed();
    rustix::process::kill_process(frozen, rustix::process::Signal::CONT).unwrap();
    assert!(took.as_secs() < 10, "{took:?}");
    // A notice about the reconnect is fine.
    let left = running.scene.leave().await;
    assert!(left.iter().all(|line| line.starts_with("hermes: ")), "{left:?}");
    running.scene.backend.cleanup().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_can_begin_in_what_is_sent() {
    let Some(mut server) = Server::find() else { return };
    let (here, there) = (server.path("here"), server.path("there/it"));
    fs::create_dir(&here).unwrap();
    fs::write(here.join("a"), "1").unwrap();
    server.settings.directory = Some(there.to_str().unwrap().to_owned());
    server.settings.sync =
        vec![SyncMapping { local: here, remote: there.to_str().unwrap().to_owned() }];
    let place = server.place();
    assert_eq!(place.open().await.unwrap().directory, there);
    place.cleanup().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_kept_when_it_is_closed() {
    let Some(server) = Server::find() else { return };
    let scene = server.scene().await;
    let said = scene.run(scene.sh("echo $SSH_CONNECTION")).await.text();
    let port = said.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(holder_of(OURS, port).is_some());
    leave(&scene).await;
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while holder_of(OURS, port).is_some() {
        assert!(std::time::Instant::now() < end, "the connection is still there");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn declared_files_are_sent_when_they_change_and_fetched_at_the_end() {
    let Some(mut server) = Server::find() else { return };
    let (here, there, back) = (server.path("here"), server.path("there"), server.path("back"));
    fs::create_dir_all(here.join("deep")).unwrap();
    fs::write(here.join("deep/a b"), "one").unwrap();
    fs::write(server.path("undeclared"), "secret").unwrap();
    let synced = |local: &Path, remote: &Path| SyncMapping {
        local: local.to_owned(),
        remote: remote.to_str().unwrap().to_owned(),
    };
    server.settings.sync = vec![synced(&here, &there)];
    server.settings.sync_back = vec![synced(&here, &there), synced(&back, &there.join("out"))];
    let scene = server.scene().await;
    let there_is = |name: &str| fs::read_to_string(there.join(name)).ok();
    assert_eq!(there_is("deep/a b").as_deref(), Some("one"));
    fs::write(here.join("deep/a b"), "two!").unwrap();
    fs::write(here.join("new"), "new").unwrap();
    let script = format!(
        "cd '{}'; cat 'deep/a b' new; mkdir out; echo made >out/result; \
                          echo changed >new",
        there.display()
    );
    assert_eq!(scene.run(scene.sh(&script)).await.text(), "two!new");
    fs::remove_file(here.join("deep/a b")).unwrap();
    scene.run(scene.sh("true")).await;
    assert_eq!(there_is("deep/a b"), None);
    leave(&scene).await;
    assert_eq!(fs::read_to_string(here.join("new")).unwrap(), "changed\n");
    assert_eq!(fs::read_to_string(back.join("result")).unwrap(), "made\n");
    assert_eq!(there_is("undeclared"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn results_are_fetched_by_one_program_after_the_other() {
    let Some(mut server) = Server::find() else { return };
    let (there, back) = (server.path("out"), server.path("back"));
    server.settings.storage = Some(server.path("kept"));
    server.settings.sync_back =
        vec![SyncMapping { local: back.clone(), remote: there.to_str().unwrap().to_owned() }];
    fs::create_dir(&there).unwrap();
    let run = async |text: &str| {
        let scene = server.scene().await;
        scene.run(scene.sh(&format!("echo {text} >'{}/s'", there.display()))).await;
        leave(&scene).await;
        (fs::read_to_string(back.join("s")).unwrap(), scene.backend.take_notice())
    };
    assert_eq!(run("first").await, ("first\n".into(), None));
    assert_eq!(run("second").await, ("second\n".into(), None));
    fs::write(back.join("s"), "mine").unwrap();
    let (text, news) = run("third").await;
    assert_eq!(text, "mine");
    assert!(news.unwrap().contains("changed here as well"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_sent_is_an_error_and_nothing_runs() {
    let Some(mut server) = Server::find() else { return };
    let here = server.path("here");
    fs::write(&here, "x").unwrap();
    // No directory can be created below a file.
    let remote = server.path("here/below/file").to_str().unwrap().to_owned();
    server.settings.sync = vec![SyncMapping { local: here, remote }];
    let error = server.refusal().await;
    assert!(error.message().contains("cannot send files to"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_login_shell_prints_is_no_output() {
    let Some(mut server) = Server::find() else { return };
    let loud = server.path("ssh");
    fs::write(&loud, "#!/bin/sh\necho Welcome\necho 'New mail.' >&2\nexec ssh \"$@\"\n").unwrap();
    fs::set_permissions(&loud, fs::Permissions::from_mode(0o755)).unwrap();
    server.settings.program = loud.into();
    let scene = server.scene().await;
    assert_eq!(scene.run(scene.sh("echo here; echo there >&2")).await.text(), "here\nthere\n");
    let mut spec = scene.sh("echo here; echo there >&2");
    spec.output = hermes_exec::StdioMode::Separate;
    let mut lines: Vec<String> = scene.run(spec).await.text().lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["here", "there"]);
    let number = scene.number();
    let job = scene.start(scene.sh(&format!("sleep {number}"))).await;
    job.terminate(std::time::Duration::from_secs(1)).await;
    scene.until_gone(&number).await;
    leave(&scene).await;
}

#[test]
fn hosts_are_told_apart() {
    let whereabouts = |host: &str, port| {
        let settings = SshSettings { host: host.into(), port, ..SshSettings::default() };
        SshBackend::new(settings).location()
    };
    assert_eq!(whereabouts("a", None), "ssh a");
    let all = [whereabouts("a", None), whereabouts("b", None), whereabouts("a", Some(2))];
    assert!(all[0] != all[1] && all[0] != all[2]);
}
