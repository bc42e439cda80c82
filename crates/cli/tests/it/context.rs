//! A home, a working directory and the command, for one test.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Longer than any command takes unless it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The directories of one test, removed with it.
pub(crate) struct TestContext {
    root: TempDir,
}

impl TestContext {
    /// Creates an empty home and an empty working directory.
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let context = Self { root };
        std::fs::create_dir(context.home()).expect("a home");
        std::fs::create_dir(context.work()).expect("a working directory");
        context
    }

    /// Value of `HERMES_HOME`.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// Where commands are run.
    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Writes a file below the working directory.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(name);
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// Writes config.yaml.
    pub(crate) fn settings(&self, text: impl AsRef<[u8]>) {
        std::fs::write(self.home().join("config.yaml"), text).expect("the settings");
    }

    /// The text of config.yaml.
    pub(crate) fn settings_text(&self) -> String {
        std::fs::read_to_string(self.home().join("config.yaml")).expect("the settings")
    }

    /// The command, without environment variables that affect it.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("hermes"));
        command.args(args);
        self.settle(&mut command);
        command
    }

    /// Gives a command the home and working directory of this context.
    pub(crate) fn settle(&self, command: &mut Command) {
        for name in
            ["NO_COLOR", "TERM", "TZ", "HERMES_SESSION", "HERMES_PERMISSION_PROFILE", "HERMES_LOG"]
        {
            command.env_remove(name);
        }
        command
            .env("HERMES_HOME", self.home())
            .env("HOME", self.root.path())
            .current_dir(self.work());
    }

    /// A shell line on a terminal, with the program in `$HERMES`; `None` if no
    /// program can create a terminal.
    #[expect(clippy::print_stdout, reason = "a skipped test says why")]
    pub(crate) fn script(&self, line: &str) -> Option<Command> {
        let has_script =
            Command::new("script").arg("--version").output().is_ok_and(|o| o.status.success());
        if !has_script {
            println!("skipped: `script` of util-linux is not installed");
            return None;
        }
        let mut command = Command::new("script");
        self.settle(&mut command);
        command.env("SHELL", "/bin/sh").env("TERM", "xterm-256color");
        command.env("HERMES", assert_cmd::cargo::cargo_bin!("hermes"));
        command.args(["-qec", line, "/dev/null"]);
        Some(command)
    }

    /// Runs the command with an empty standard input.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        self.finish(self.command(args), b"")
    }

    /// Runs the command with this standard input.
    pub(crate) fn feed<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: impl AsRef<[u8]>,
    ) -> Run {
        self.finish(self.command(args), input.as_ref())
    }

    /// Runs a command until it exits.
    pub(crate) fn finish(&self, command: Command, input: &[u8]) -> Run {
        self.finish_within(PATIENCE, command, input)
    }

    /// The same with this timeout.
    pub(crate) fn finish_within(&self, limit: Duration, command: Command, input: &[u8]) -> Run {
        let mut command = assert_cmd::Command::from_std(command);
        let output = command
            .timeout(limit)
            .write_stdin(input.to_vec())
            .output()
            .expect("the command starts");
        self.seen(output)
    }

    /// Starts `exec` and keeps its standard input open.
    pub(crate) fn stream<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Stream<'_> {
        Stream::start(self, self.command(args))
    }

    /// Reads the output of a command; asserts that it did not panic.
    pub(crate) fn seen(&self, output: Output) -> Run {
        Run { filters: self.filters(), ..Run::new(output) }
    }

    /// Values that differ between runs, and their placeholders in a snapshot.
    fn filters(&self) -> Vec<(String, &'static str)> {
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path).display().to_string();
        vec![
            (real(self.home()), "[HOME]"),
            (self.home().display().to_string(), "[HOME]"),
            (real(self.work()), "[WORK]"),
            (self.work().display().to_string(), "[WORK]"),
            (env!("CARGO_PKG_VERSION").to_owned(), "[VERSION]"),
        ]
    }

    /// The temporary directory itself, for paths outside of home and work.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }
}

/// Result of a command.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    filters: Vec<(String, &'static str)>,
}

impl Run {
    /// Reads the output of a command; asserts that it did not panic.
    pub(crate) fn new(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        for stream in [&stdout, &stderr] {
            assert!(!stream.contains("panicked at"), "the command panicked: {stream}");
        }
        let code = output.status.code().unwrap_or_else(|| {
            panic!("the command was killed ({}): {stderr}", output.status);
        });
        Self { code, stdout, stderr, filters: Vec::new() }
    }

    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Asserts success.
    #[track_caller]
    pub(crate) fn succeeds(self) -> Self {
        self.exits(0)
    }

    /// Asserts that standard error is empty.
    #[track_caller]
    pub(crate) fn silent(self) -> Self {
        assert_eq!(self.stderr, "");
        self
    }

    /// Standard output, which must be exactly one line of JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let lines = self.json_lines();
        let [value] = lines.as_slice() else { panic!("not one line: {}", self.stdout) };
        value.clone()
    }

    /// Standard output, every line of which must be JSON.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        assert!(self.stdout.ends_with('\n'), "the last line has no end: {:?}", self.stdout);
        let read = |line| {
            serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}\n{}", self.stderr))
        };
        self.stdout.lines().map(read).collect()
    }

    /// The error object on standard output.
    #[track_caller]
    pub(crate) fn error(&self, kind: &str) -> Error {
        let value = self.json();
        let field = |name: &str| {
            value[name].as_str().unwrap_or_else(|| panic!("no {name}: {value}")).to_owned()
        };
        assert_eq!(field("kind"), kind, "{value}");
        Error { message: field("error"), hint: field("hint"), value: value.clone() }
    }

    /// Exit code, standard output and standard error, the same on any machine.
    pub(crate) fn transcript(&self) -> String {
        let text =
            format!("exit {}\n--- stdout\n{}--- stderr\n{}", self.code, self.stdout, self.stderr);
        self.filters.iter().fold(text, |text, (from, to)| text.replace(from, to))
    }
}

/// An error as printed for programs.
#[derive(Debug)]
pub(crate) struct Error {
    pub(crate) message: String,
    pub(crate) hint: String,
    pub(crate) value: Value,
}

impl Error {
    /// Asserts that this name is the first suggestion.
    #[track_caller]
    pub(crate) fn suggests(&self, name: &str) {
        assert!(self.hint.starts_with(&format!("Did you mean '{name}'")), "{self:?}");
    }
}

/// A running command with an open standard input.
pub(crate) struct Stream<'a> {
    context: &'a TestContext,
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl<'a> Stream<'a> {
    /// Starts a command with pipes for all streams.
    pub(crate) fn start(context: &'a TestContext, mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { context, child, input, lines }
    }

    /// Writes text and flushes it.
    pub(crate) fn send(&mut self, text: &str) {
        let input = self.input.as_mut().expect("standard input is open");
        input.write_all(text.as_bytes()).and_then(|()| input.flush()).expect("the command reads");
    }

    /// Waits for the next line of standard output.
    #[track_caller]
    pub(crate) fn line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("an answer while standard input is open")
    }

    /// Waits for the next answer.
    #[track_caller]
    pub(crate) fn answer(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"))
    }

    /// Closes standard input.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// Waits for the exit; unread output is in the result.
    pub(crate) fn end(mut self) -> Run {
        self.close();
        self.wait()
    }

    /// Waits for the exit, without closing standard input.
    pub(crate) fn wait(mut self) -> Run {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                break status;
            }
            assert!(begin.elapsed() < PATIENCE, "the command hangs");
            std::thread::sleep(Duration::from_millis(2));
        };
        let stdout = self.lines.iter().map(|line| line + "\n").collect::<String>().into_bytes();
        let mut stderr = Vec::new();
        let mut pipe = self.child.stderr.take().expect("a pipe");
        pipe.read_to_end(&mut stderr).expect("standard error");
        self.context.seen(Output { status, stdout, stderr })
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether file modes do not restrict this user.
pub(crate) fn modes_do_not_bind(context: &TestContext) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let path = context.file("forbidden", "");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).expect("a mode");
    std::fs::File::open(&path).is_ok()
}

/// Asserts that an object has these fields.
#[track_caller]
pub(crate) fn assert_fields(value: &Value, names: &[&str]) {
    for name in names {
        assert!(value.get(name).is_some(), "'{name}' is missing: {value}");
    }
}

/// Quotes arguments for a shell.
pub(crate) fn quoted(args: &[&str]) -> String {
    let quote = |arg: &&str| format!("'{}'", arg.replace('\'', r"'\''"));
    args.iter().map(quote).collect::<Vec<_>>().join(" ")
}
