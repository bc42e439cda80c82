//! `hermes ports`: ports that sessions listen on, across programs, and
//! publishing them on this machine.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::context::{Run, Stream, TestContext, assert_fields};

/// An unused user id.
const ORDINARY_UID: u32 = 54_321;

/// Longer than anything that these tests wait for.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A shell that waits for this file exits when its `hermes` has exited.
const RELEASE_FILE: &str = "release";

/// Directories of programs that every user has.
const COMMON_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A user of `hermes` with a separate home.
struct PortUser {
    context: TestContext,
    /// The user that the commands run as, if not the one that runs the tests.
    uid: Option<u32>,
}

impl PortUser {
    /// The user that runs the tests; `None` without session networks or servers
    /// here.
    fn own() -> Option<Self> {
        Self::ready(Self { context: TestContext::new(), uid: None })
    }

    /// An ordinary user, if possible here: root becomes one, and every other user
    /// is one.
    fn ordinary() -> Option<Self> {
        let context = TestContext::new();
        let uid = rustix::process::getuid().is_root().then_some(ORDINARY_UID);
        for directory in [context.root(), &context.home(), &context.work()] {
            chown(directory, uid, uid).expect("another owner");
        }
        Self::ready(Self { context, uid })
    }

    #[expect(clippy::print_stdout, reason = "a skipped test says why")]
    fn ready(user: Self) -> Option<Self> {
        if !hermes::sandbox::support().user_namespaces {
            println!("skipped: there are no user namespaces here");
            return None;
        }
        let mut python = Command::new("python3");
        python.args(["-c", ""]);
        user.become_user(&mut python);
        for mut command in [user.command(["--version"]), python] {
            if !command.output().is_ok_and(|output| output.status.success()) {
                println!("skipped: {command:?} does not run for this user");
                return None;
            }
        }
        Some(user)
    }

    fn become_user(&self, command: &mut Command) {
        self.context.settle(command);
        if let Some(uid) = self.uid {
            command.uid(uid).gid(uid).env("PATH", COMMON_PATH);
        }
    }

    fn command<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("hermes"));
        command.args(args);
        self.become_user(&mut command);
        command
    }

    fn run<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Run {
        self.context.finish(self.command(args), b"")
    }

    fn stream<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Stream<'_> {
        Stream::start(&self.context, self.command(args))
    }

    /// A `hermes exec` with a server in the background of this session.
    fn serve(&self, session: &str, server: &str) -> (Stream<'_>, Value) {
        let mut stream = self.stream(["exec", "--yolo", "--session", session]);
        let arguments = json!({ "command": server, "background": true });
        let started = call(&mut stream, "terminal", &arguments);
        assert_eq!(started["tool_status"], "running", "{started}");
        (stream, started)
    }

    /// The row of a port, once a process listens on it.
    #[track_caller]
    fn await_port(&self, port: u16, is_ready: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        loop {
            let listed = self.run(["ports", "--json"]).succeeds().silent().json();
            assert_eq!(listed["schema_version"], 1, "{listed}");
            let rows = listed["ports"].as_array().expect("a list");
            let found = rows.iter().find(|row| row["port"] == port && is_ready(row));
            if let Some(row) = found {
                return row.clone();
            }
            assert!(begin.elapsed() < WAIT_TIMEOUT, "no port {port}: {listed}");
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// A running `hermes ports publish`, and the printed address.
    fn publish(&self, port: u16, words: &[&str]) -> (Stream<'_>, String) {
        let port = port.to_string();
        let args = ["ports", "publish", &port, "--yes"];
        let mut stream = self.stream(args.iter().chain(words).copied());
        let address = stream.line();
        (stream, address)
    }
}

/// A process that outlives its `hermes`, and is killed with the test.
struct DetachedProcess(Pid);

impl Drop for DetachedProcess {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::KILL);
    }
}

fn call(stream: &mut Stream<'_>, tool: &str, arguments: &Value) -> Value {
    let call = json!({ "id": "1", "name": tool, "arguments": arguments });
    stream.send(&format!("{}\n", json!({ "tool_calls": [call] })));
    stream.answer()["tool_results"][0]["content"].clone()
}

fn await_end(pid: &Value) {
    let begin = Instant::now();
    while Path::new(&format!("/proc/{pid}")).exists() {
        assert!(begin.elapsed() < WAIT_TIMEOUT, "process {pid} does not end");
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// A free port of this machine, a different one for each test.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

fn server(port: u16, address: &str) -> String {
    format!("exec python3 -u -m http.server {port} --bind {address}")
}

/// The first line of the response to a request from this machine.
fn fetch(address: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address.trim_start_matches("http://"))?;
    stream.set_read_timeout(Some(WAIT_TIMEOUT))?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}

fn interrupt(stream: &Stream<'_>) {
    let pid = i32::try_from(stream.child.id()).ok().and_then(Pid::from_raw).expect("a number");
    kill_process(pid, Signal::INT).expect("it can be interrupted");
}

#[test]
fn a_server_of_a_session_is_listed_and_published() {
    let Some(user) = PortUser::own() else { return };
    let port = free_port();
    let (session, started) = user.serve("web", &server(port, "127.0.0.1"));
    let row = user.await_port(port, |_| true);
    assert_fields(&row, &["port", "address", "program", "pid", "job", "session", "published"]);
    assert_eq!((&row["session"], &row["job"]), (&json!("web"), &started["session_id"]), "{row}");
    assert_eq!((&row["address"], &row["published"]), (&json!("127.0.0.1"), &Value::Null), "{row}");
    let listed = user.run(["ports", "--session", "web"]).succeeds().silent();
    assert!(listed.stdout.starts_with(&format!("{port}  127.0.0.1  python3")), "{listed:?}");
    assert!(listed.stdout.ends_with("session web\n"), "{listed:?}");
    // It is not reachable from this machine yet.
    fetch(&format!("127.0.0.1:{port}")).expect_err("the session has a loopback of its own");
    let (publishing, address) = user.publish(port, &["--session", "web"]);
    assert_eq!(fetch(&address).expect("an answer"), "HTTP/1.0 200 OK");
    let row = user.await_port(port, |row| !row["published"].is_null());
    assert_eq!(format!("http://127.0.0.1:{}", row["published"]), address);
    let listed = user.run(["ports", "--session", "web"]).succeeds();
    assert!(listed.stdout.ends_with(&format!("published: {address}\n")), "{listed:?}");
    interrupt(&publishing);
    let ended = publishing.wait().succeeds();
    assert!(ended.stderr.contains("of session web (python3"), "{ended:?}");
    fetch(&address).expect_err("it ends with the command");
    user.await_port(port, |row| row["published"].is_null());
    session.end().succeeds();
    let listed = user.run(["ports", "--session", "web"]).succeeds();
    let none = "No process of session web listens on a port.\n";
    assert_eq!((listed.stdout.as_str(), listed.stderr.as_str()), ("", none));
}

#[test]
fn publishing_is_agreed_to_first() {
    let Some(user) = PortUser::own() else { return };
    let port = free_port();
    let (session, _) = user.serve("asked", &server(port, "127.0.0.1"));
    user.await_port(port, |_| true);
    let number = port.to_string();
    let run = user.run(["ports", "publish", &number, "--session", "asked", "--json"]).exits(3);
    assert!(run.error("approval_required").hint.contains("--yes"), "{run:?}");
    let run = user.run(["ports", "publish", &number, "--session", "asked"]).exits(3);
    assert!(run.stderr.contains("hint: Use --yes"), "{run:?}");
    let line = format!("exec \"$HERMES\" ports publish {port} --session asked");
    if let Some(command) = user.context.script(&line) {
        let run = user.context.finish(command, b"n\n").exits(1);
        assert!(run.stdout.contains(&format!("Publish port {port} of session asked")), "{run:?}");
        assert!(run.stdout.contains("Nothing was published."), "{run:?}");
    }
    fetch(&format!("127.0.0.1:{port}")).expect_err("not confirmed yet");
    session.end().succeeds();
}

#[test]
fn a_tool_publishes_for_its_session() {
    let Some(user) = PortUser::own() else { return };
    let port = free_port();
    let (mut session, _) = user.serve("tool", &server(port, "127.0.0.1"));
    user.await_port(port, |_| true);
    let arguments = json!({ "action": "publish", "port": port });
    let shown = call(&mut session, "process", &arguments);
    assert_eq!(shown["tool_status"], "published", "{shown}");
    let host_port = &shown["ports"][0]["published"];
    // Another process lists it.
    let row = user.await_port(port, |row| !row["published"].is_null());
    assert_eq!(&row["published"], host_port, "{shown}");
    assert_eq!(fetch(&format!("127.0.0.1:{host_port}")).expect("an answer"), "HTTP/1.0 200 OK");
    session.end().succeeds();
}

#[test]
fn the_port_of_this_machine_can_be_chosen() {
    let Some(user) = PortUser::own() else { return };
    let port = free_port();
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("the port");
    let (session, _) = user.serve("chosen", &server(port, "127.0.0.1"));
    user.await_port(port, |row| row["session"] == "chosen");
    let number = port.to_string();
    let args = ["ports", "publish", &number, "--on", &number, "--yes", "--json"];
    let run = user.run(args).exits(1);
    assert!(run.error("conflict").hint.contains("--on"), "{run:?}");
    // Without `--on`, another port is used.
    let (publishing, address) = user.publish(port, &[]);
    assert_ne!(address, format!("http://127.0.0.1:{port}"));
    assert_eq!(fetch(&address).expect("an answer"), "HTTP/1.0 200 OK");
    drop(publishing);
    let other = free_port();
    let (publishing, line) = user.publish(port, &["--on", &other.to_string(), "--json"]);
    let shown: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(shown["url"], format!("http://127.0.0.1:{other}"), "{shown}");
    assert_eq!((&shown["schema_version"], &shown["session"]), (&json!(1), &json!("chosen")));
    assert_eq!(fetch(&format!("127.0.0.1:{other}")).expect("an answer"), "HTTP/1.0 200 OK");
    drop((publishing, taken));
    session.end().succeeds();
}

#[test]
fn a_port_that_cannot_be_told_is_not_published() {
    let Some(user) = PortUser::own() else { return };
    let port = free_port();
    let number = port.to_string();
    let run = user.run(["ports", "publish", &number, "--yes", "--json"]).exits(1);
    assert!(run.error("not_found").hint.contains("`hermes ports`"), "{run:?}");
    user.run(["ports", "publish", "0"]).exits(2);
    user.run(["ports", "publish", "65536"]).exits(2);
    user.run(["ports", "publish"]).exits(2);
    let (first, _) = user.serve("first", &server(port, "127.0.0.1"));
    let (second, _) = user.serve("second", &server(port, "0.0.0.0"));
    for session in ["first", "second"] {
        user.await_port(port, |row| row["session"] == session);
    }
    let run = user.run(["ports", "publish", &number, "--yes"]).exits(2);
    assert!(run.stderr.contains("is open in 2 sessions"), "{run:?}");
    assert!(run.stderr.contains("hint: Select one with --session."), "{run:?}");
    let run = user.run(["ports", "--session", "third", "publish", &number, "--yes"]).exits(1);
    assert!(run.stderr.contains("No process of session third"), "{run:?}");
    let (publishing, address) = user.publish(port, &["--session", "second"]);
    assert_eq!(fetch(&address).expect("an answer"), "HTTP/1.0 200 OK");
    drop(publishing);
    for session in [first, second] {
        session.end().succeeds();
    }
}

#[test]
fn a_server_is_found_by_the_kernel_and_not_by_what_it_says_of_itself() {
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        println!("skipped: there is no IPv6 here");
        return;
    }
    let Some(user) = PortUser::own() else { return };
    let port = free_port();
    // Without the tag of its job, and not listening on IPv4.
    let bare = format!("exec env -i \"$(command -v python3)\" -m http.server {port} --bind ::1");
    let (session, started) = user.serve("bare", &bare);
    let row = user.await_port(port, |_| true);
    assert_eq!((&row["session"], &row["job"]), (&json!("bare"), &started["session_id"]), "{row}");
    assert_eq!(row["address"], "::1", "{row}");
    let (publishing, address) = user.publish(port, &[]);
    assert_eq!(fetch(&address).expect("an answer"), "HTTP/1.0 200 OK");
    drop(publishing);
    session.end().succeeds();
}

/// A detached process continues in the network of its session, which later
/// calls join. Returns the result of the first call.
fn rejoins_a_detached_server(user: &PortUser, port: u16, server: &str) -> Value {
    // It is a script, and the home of these tests is writable.
    let detach = format!("command={server}");
    let args = ["call", "--yolo", "--session", "kept", "terminal", &detach, "detach=true"];
    let started = user.run(args).succeeds().json();
    // Its `hermes` has exited.
    user.context.file(RELEASE_FILE, "");
    let row = user.await_port(port, |_| true);
    let first = started["pid"].clone();
    if row["pid"] != first {
        await_end(&first);
    }
    let pid = row["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
    let _process = DetachedProcess(pid.and_then(Pid::from_raw).expect("a number"));
    assert_eq!((&row["session"], &row["job"]), (&json!("kept"), &started["session_id"]), "{row}");
    let listed = user.run(["call", "--session", "kept", "process", "action=list"]).succeeds();
    assert_eq!(listed.json()["ports"][0]["port"], port, "{listed:?}");
    let request = format!("command=curl -sS -o /dev/null -w '%{{http_code}}' localhost:{port}");
    let curl = |session: &str| {
        let answer = user.run(["call", "--session", session, "terminal", &request]);
        answer.json()["output"].as_str().expect("text").to_owned()
    };
    assert_eq!(curl("kept"), "200");
    assert!(curl("other").ends_with("000"), "another session has another network");
    let (publishing, address) = user.publish(port, &[]);
    assert_eq!(fetch(&address).expect("an answer"), "HTTP/1.0 200 OK");
    drop(publishing);
    let id = started["session_id"].as_str().expect("an id");
    user.run(["processes", "kill", id]).succeeds();
    let listed = user.run(["ports", "--session", "kept", "--json"]).succeeds().json();
    assert_eq!(listed["ports"], json!([]), "{listed}");
    started
}

#[test]
fn later_calls_reach_a_detached_server() {
    let Some(user) = PortUser::own() else { return };
    let port = free_port();
    let started = rejoins_a_detached_server(&user, port, &server(port, "127.0.0.1"));
    let note = started["note"].as_str().expect("a note");
    assert!(note.contains("network access ends with hermes"), "{note}");
}

#[test]
fn later_calls_reach_a_server_whose_shell_has_ended() {
    let Some(user) = PortUser::own() else { return };
    let port = free_port();
    let python = format!("python3 -m http.server {port} >/dev/null 2>&1");
    let server = format!("{python} & until [ -e {RELEASE_FILE} ]; do sleep 0.02; done");
    rejoins_a_detached_server(&user, port, &server);
}

#[test]
fn an_ordinary_user_reaches_a_detached_server_too() {
    let Some(user) = PortUser::ordinary() else { return };
    let port = free_port();
    rejoins_a_detached_server(&user, port, &server(port, "127.0.0.1"));
}
