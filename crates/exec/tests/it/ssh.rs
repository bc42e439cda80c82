//! Another host: an ssh server on loopback, with keys of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use hermes_core::ErrorKind;
use hermes_exec::Backend;
use hermes_exec::ssh::{Host, HostKey, Settings, Synced};
use tempfile::TempDir;

use crate::contract::{Scene, contract};

/// A server that lets us in, and a folder of this test.
struct Server {
    settings: Settings,
    folder: TempDir,
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

    fn place(&self) -> Arc<Host> {
        Arc::new(Host::new(self.settings.clone()))
    }

    async fn scene(&self) -> Scene {
        Scene::open(self.place()).await
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file of known hosts in which ours has a key, or nothing is known.
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
    server.settings.host_key = HostKey::Strict;
    let error = server.refusal().await;
    assert!(error.message().contains("only known ones"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "");
    server.settings.host_key = HostKey::Off;
    leave(&server.scene().await).await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "");
    server.settings.host_key = HostKey::AcceptNew;
    leave(&server.scene().await).await;
    assert!(fs::read_to_string(&file).unwrap().contains("ssh-ed25519"));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_who_is_not_let_in_is_told_what_to_do() {
    let Some(mut server) = Server::find() else { return };
    server.settings.key = Some(server.new_key());
    let error = server.refusal().await;
    assert!(error.message().contains("does not let this user in"), "{error}");
    server.settings.key = Some(server.path("none"));
    assert_eq!(server.refusal().await.kind(), ErrorKind::NotFound);
    fs::set_permissions(server.path("key"), fs::Permissions::from_mode(0o644)).unwrap();
    server.settings.key = Some(server.path("key"));
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
    assert!(error.message().contains("nobody listens"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_s_own_configuration_is_honoured() {
    let Some(mut server) = Server::find() else { return };
    let Settings { user, port, key, .. } = server.settings.clone();
    let config = server.path("config");
    let text = format!(
        "Host box\n HostName 127.0.0.1\n Port {}\n User {}\n IdentityFile {}\n \
         RemoteCommand echo nonsense\n RequestTTY yes\n LocalForward 1 127.0.0.1:1\n",
        port.unwrap(),
        user.unwrap(),
        key.unwrap().display()
    );
    fs::write(&config, text).unwrap();
    server.settings = Settings {
        host: "box".into(),
        config: Some(config),
        known_hosts: server.settings.known_hosts.clone(),
        ..Settings::default()
    };
    let scene = server.scene().await;
    assert_eq!(scene.run(scene.sh("echo here")).await.text(), "here\n");
    leave(&scene).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_begins_where_it_is_told_to() {
    let Some(mut server) = Server::find() else { return };
    let folder = server.path("it's a folder");
    fs::create_dir(&folder).unwrap();
    server.settings.directory = Some(folder.to_str().unwrap().to_owned());
    let place = server.place();
    assert_eq!(place.open().await.unwrap().directory, folder);
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

/// Waits until it runs, breaks its connection by killing what `victim` finds
/// (given the process of the server that serves it), and looks at what is left.
async fn break_connection(victim: impl Fn(u32) -> u32) {
    let Some(server) = Server::find() else { return };
    let scene = server.scene().await;
    let number = scene.number();
    let job = scene.start(scene.sh(&format!("echo serves $PPID; sleep {number}; echo no"))).await;
    scene.hear(&job, "\n").await;
    let serving = job.log().since(0, 4096).bytes;
    let serving = String::from_utf8(serving).unwrap();
    let serving = serving.trim().strip_prefix("serves ").unwrap().parse().unwrap();
    let victim = rustix_pid(victim(serving));
    rustix::process::kill_process(victim, rustix::process::Signal::KILL).unwrap();
    let outcome = scene.finish(&job).await;
    assert!(outcome.text().contains("the connection to 127.0.0.1 broke"), "{}", outcome.text());
    assert!(outcome.text().contains("not run again"), "{}", outcome.text());
    assert_ne!(outcome.exit, hermes_exec::Exit::Code(0));
    // The next one finds the way again, and says what was done.
    let next = scene.run(scene.sh("echo again")).await.text();
    assert!(next.contains("again\n"), "{next}");
    assert!(next.contains("was ended"), "{next}");
    scene.until_gone(&number).await;
    assert_eq!(scene.run(scene.sh("echo calm")).await.text(), "calm\n");
    leave(&scene).await;
}

fn rustix_pid(pid: u32) -> rustix::process::Pid {
    rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_is_told_and_what_ran_is_ended_later() {
    break_connection(|serving| serving).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_killed_is_told_and_what_ran_is_ended_later() {
    break_connection(master_of).await;
}

/// The ssh process at this end of a server's connection.
fn master_of(serving: u32) -> u32 {
    let port = peer_port(serving);
    let inode = inode_of(port);
    let link = format!("socket:[{inode}]");
    let holds = |folder: &Path| {
        let Ok(entries) = fs::read_dir(folder.join("fd")) else { return false };
        entries.flatten().any(|entry| {
            fs::read_link(entry.path()).is_ok_and(|target| target == Path::new(&link))
        })
    };
    let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let found = all.filter(|path| holds(path)).find_map(|path| {
        path.file_name()?.to_str()?.parse().ok()
    });
    found.expect("somebody holds the connection")
}

/// The port that a server's connection comes from.
fn peer_port(serving: u32) -> String {
    let links = fs::read_dir(format!("/proc/{serving}/fd")).unwrap().flatten();
    let inodes: Vec<String> = links
        .filter_map(|entry| fs::read_link(entry.path()).ok()?.to_str().map(str::to_owned))
        .filter_map(|link| Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let rows = tcp();
    let row = rows.iter().find(|row| inodes.contains(&row[9])).expect("a connection");
    row[2].clone()
}

fn inode_of(address: String) -> String {
    let rows = tcp();
    let row = rows.iter().find(|row| row[1] == address).expect("the other end");
    row[9].clone()
}

fn tcp() -> Vec<Vec<String>> {
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let rows = table.lines().skip(1);
    rows.map(|row| row.split_whitespace().map(str::to_owned).collect()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn declared_files_are_sent_when_they_change_and_fetched_at_the_end() {
    let Some(mut server) = Server::find() else { return };
    let (here, there, back) = (server.path("here"), server.path("there"), server.path("back"));
    fs::create_dir_all(here.join("deep")).unwrap();
    fs::write(here.join("deep/a b"), "one").unwrap();
    fs::write(server.path("undeclared"), "secret").unwrap();
    let synced = |local: &Path, remote: &Path| Synced {
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
    let script = format!("cd '{}'; cat 'deep/a b' new; mkdir out; echo made >out/result; \
                          echo changed >new", there.display());
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
async fn what_cannot_be_sent_is_an_error_and_nothing_runs() {
    let Some(mut server) = Server::find() else { return };
    let here = server.path("here");
    fs::write(&here, "x").unwrap();
    // No folder can be made below a file.
    let remote = server.path("here/below/file").to_str().unwrap().to_owned();
    server.settings.sync = vec![Synced { local: here, remote }];
    let error = server.refusal().await;
    assert!(error.message().contains("did not get there"), "{error}");
}
