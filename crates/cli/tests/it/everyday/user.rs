//! A user with a home and a project, who runs `hermes` without an approver.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::context::Run;

/// An unused user id.
const ORDINARY_UID: u32 = 54_321;

/// Longer than any row takes unless it hangs.
const RUN_TIMEOUT: Duration = Duration::from_secs(280);

/// Variables of the test environment that an ordinary shell does not have.
const FOREIGN_VARIABLES: &[&str] = &[
    "CARGO",
    "GIT_DIR",
    "GIT_INDEX",
    "GIT_WORK",
    "HERMES_",
    "LD_",
    "NEXTEST",
    "RUST_",
    "XDG_",
    "npm_",
];

/// Where homes are created: in the target directory, unless that is in a
/// temporary directory itself.
fn ground() -> PathBuf {
    let usual = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let is_temporary = |path: &Path| {
        ["/tmp", "/var/tmp"].iter().any(|place| path.starts_with(place))
            || path.starts_with(std::env::temp_dir())
    };
    if !is_temporary(&usual) {
        return usual;
    }
    let others = ["/opt", "/srv", "/var/lib"].map(PathBuf::from);
    let is_writable = |path: &PathBuf| tempfile::tempdir_in(path).is_ok();
    others.into_iter().find(is_writable).expect("a directory that is not a temporary one")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Account {
    Root,
    Ordinary,
}

/// The directories of one row, removed with it.
pub(super) struct TestUser {
    account: Account,
    root: TempDir,
    /// A file with the profile `own`.
    permissions: Option<PathBuf>,
    /// Directory of the Rust toolchains for this user.
    toolchain: Option<PathBuf>,
    /// Files mounted over others for this user's programs: source and target.
    binds: Vec<(PathBuf, PathBuf)>,
}

impl TestUser {
    /// Runs a row as this account, if possible here.
    pub(super) fn with(account: Account, work: impl FnOnce(&mut Self)) {
        let support = hermes::sandbox::support();
        if !support.user_namespaces || support.landlock.is_none() {
            skip(&format!("{support}"));
            return;
        }
        let is_root = rustix::process::getuid().is_root();
        if account == Account::Root && !is_root {
            skip("only root can work as root");
            return;
        }
        let program = Path::new(assert_cmd::cargo::cargo_bin!("hermes"));
        if account == Account::Ordinary && is_root && !is_open_to_all(program) {
            skip(&format!("other users cannot reach {}", program.display()));
            return;
        }
        work(&mut Self::new(account));
    }

    /// An empty home with an empty project in it. Not in a temporary directory:
    /// children may write there, and see all of it.
    fn new(account: Account) -> Self {
        let root = tempfile::Builder::new()
            .prefix("everyday-")
            .permissions(fs::Permissions::from_mode(0o755))
            .tempdir_in(ground())
            .expect("a directory");
        let user = Self { account, root, permissions: None, toolchain: None, binds: vec![] };
        for directory in [user.home(), user.project()] {
            fs::create_dir(&directory).expect("a directory");
            user.own(&directory);
        }
        user
    }

    pub(super) fn is_root(&self) -> bool {
        self.account == Account::Root
    }

    pub(super) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(super) fn project(&self) -> PathBuf {
        self.home().join("project")
    }

    /// A directory that is neither the home nor below it.
    pub(super) fn outside(&self) -> &Path {
        self.root.path()
    }

    fn own(&self, path: &Path) {
        if self.is_other() {
            chown(path, Some(ORDINARY_UID), Some(ORDINARY_UID)).expect("another owner");
        }
    }

    /// Writes a file below the home, and creates its parent directories.
    pub(super) fn write_home(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.home().join(name);
        let parent = path.parent().expect("a directory");
        let missing: Vec<&Path> = parent.ancestors().take_while(|it| !it.exists()).collect();
        for directory in missing.into_iter().rev() {
            fs::create_dir(directory).expect("a directory");
            self.own(directory);
        }
        fs::write(&path, content).expect("a file");
        self.own(&path);
        path
    }

    /// Writes a file of the project; a script becomes executable.
    pub(super) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.write_home(&format!("project/{name}"), content);
        if name.ends_with(".sh") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
        path
    }

    /// Uses a permission profile that adds this to the default one.
    pub(super) fn permit(&mut self, keys: &str) {
        let profile = format!("profiles:\n  own:\n    extends: default\n    {keys}\n");
        self.permissions = Some(self.write_home("permissions.yaml", profile));
    }

    /// Gives this user the Rust toolchain that runs these tests.
    pub(super) fn share_toolchain(&mut self) {
        let mut place = rustup_home();
        if self.is_other() {
            place = self.root.path().join("toolchain");
            fs::create_dir(&place).expect("a directory");
            self.binds.push((rustup_home(), place.clone()));
        }
        self.toolchain = Some(place);
    }

    /// Mounts a file over one of the system; false if not possible here.
    pub(super) fn lay_over(&mut self, place: &str, content: &str) -> bool {
        if !rustix::process::getuid().is_root() {
            skip(&format!("only root can lay a file over {place}"));
            return false;
        }
        let file = self.root.path().join(place.replace('/', "-"));
        fs::write(&file, content).expect("a file");
        self.binds.push((file, PathBuf::from(place)));
        true
    }

    /// `/etc/passwd` in which this user has a name and this home.
    pub(super) fn password_file(&self) -> String {
        let (name, id) = if self.is_root() { ("root", 0) } else { ("someone", ORDINARY_UID) };
        let own = format!("{name}:x:{id}:{id}::{}:/bin/sh\n", self.home().display());
        let others = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let others = others.lines().filter(|line| !line.starts_with(&format!("{name}:")));
        own + &others.map(|line| format!("{line}\n")).collect::<String>()
    }

    /// Whether this is not the user who runs these tests.
    fn is_other(&self) -> bool {
        self.account == Account::Ordinary && rustix::process::getuid().is_root()
    }

    /// A program that this user runs in the project, outside of the sandbox.
    fn program(&self, program: &OsStr) -> Command {
        let mut command = Command::new(program);
        if !self.binds.is_empty() {
            // Seen by this process and its children only.
            let script = "while [ \"$1\" != -- ]; do mount --bind \"$1\" \"$2\"; shift 2; done; \
                          shift; exec \"$@\"";
            command = Command::new("unshare");
            command.args(["--mount", "sh", "-ec", script, "sh"]);
            for (what, place) in &self.binds {
                command.args([what, place]);
            }
            command.arg("--");
            if self.is_other() {
                let id = ORDINARY_UID.to_string();
                command.args(["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups"]);
            }
            command.arg(program);
        }
        command.env_clear().envs(std::env::vars_os().filter(|(name, _)| {
            let name = name.to_string_lossy();
            !FOREIGN_VARIABLES.iter().any(|foreign| name.starts_with(foreign))
        }));
        command.env("HOME", self.home()).env("PATH", self.path()).current_dir(self.project());
        command.env_remove("PYENV_ROOT");
        if let Some(place) = &self.toolchain {
            command.env("RUSTUP_HOME", place);
        }
        if self.is_other() {
            command.env("USER", "someone").env("LOGNAME", "someone");
            if self.binds.is_empty() {
                command.uid(ORDINARY_UID).gid(ORDINARY_UID);
            }
        }
        command
    }

    /// Directories of programs that every user may use, and this user's own.
    fn path(&self) -> std::ffi::OsString {
        let all = std::env::var_os("PATH").unwrap_or_default();
        let mut directories: Vec<PathBuf> = std::env::split_paths(&all).collect();
        directories.retain(|directory| is_open_to_all(directory));
        directories.insert(0, self.home().join(".local/bin"));
        directories.extend(postgres_bin());
        if let Some(place) = &self.toolchain {
            let bin = toolchain_bin();
            let below = bin.strip_prefix(rustup_home()).expect("a toolchain of rustup");
            directories.push(place.join(below));
        }
        std::env::join_paths(directories).expect("a search path")
    }

    /// Runs a shell command outside of the sandbox; returns its output if it
    /// succeeds.
    pub(super) fn on_host(&self, script: &str) -> Result<String, String> {
        let mut command = self.program("sh".as_ref());
        command.args(["-c", script]).stdin(Stdio::null());
        let output = command.output().map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(format!("{} {}", text(&output.stdout), text(&output.stderr))),
        }
    }

    /// Whether a command works outside of the sandbox; if not, the row is skipped.
    pub(super) fn can(&self, what: &str, script: &str) -> bool {
        match self.on_host(script) {
            Ok(_) => true,
            Err(error) => {
                let last = error.lines().next_back().unwrap_or_default();
                skip(&format!("{what}: `{script}` fails: {last}"));
                false
            }
        }
    }

    /// Whether these programs are installed for this user.
    pub(super) fn has(&self, programs: &[&str]) -> bool {
        let has = |program: &&&str| self.on_host(&format!("command -v {program}")).is_err();
        let missing = programs.iter().find(has);
        if let Some(program) = missing {
            skip(&format!("{program} is not installed for this user"));
        }
        missing.is_none()
    }

    /// The result of one call.
    pub(super) fn call(&self, tool: &str, arguments: Value) -> Value {
        let [result] = self.session(vec![(tool, arguments)]).try_into().expect("one result");
        result
    }

    /// The result of one command, which may fail.
    pub(super) fn attempt(&self, command: &str) -> Value {
        let (tool, arguments) = terminal(command);
        self.call(tool, arguments)
    }

    /// The results of sequential calls of one session.
    pub(super) fn session(&self, calls: Vec<(&str, Value)>) -> Vec<Value> {
        let count = calls.len();
        let mut input = String::new();
        for (at, (tool, arguments)) in calls.into_iter().enumerate() {
            let call = json!({ "id": at.to_string(), "name": tool, "arguments": arguments });
            input += &format!("{}\n", json!({ "tool_calls": [call] }));
        }
        let mut command = self.program(assert_cmd::cargo::cargo_bin!("hermes").as_ref());
        command.arg("exec");
        if let Some(file) = &self.permissions {
            command.args(["--profile", "own", "--permissions"]).arg(file);
        }
        let run = finish(command, input.into_bytes());
        let lines = run.json_lines();
        assert_eq!(lines.len(), count, "{}\n{}", run.stdout, run.stderr);
        lines.into_iter().map(|line| line["tool_results"][0]["content"].clone()).collect()
    }

    /// The outputs of commands of one session, each of which must succeed without
    /// an approval request.
    #[track_caller]
    pub(super) fn succeed(&self, commands: &[&str]) -> Vec<String> {
        let calls = commands.iter().map(|command| terminal(command)).collect();
        let results = self.session(calls);
        for (command, result) in commands.iter().zip(&results) {
            assert_unhindered(command, result);
        }
        results
            .iter()
            .map(|result| result["output"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

/// A call of the terminal; one that ends in ` &` runs in the background.
pub(super) fn terminal(command: &str) -> (&'static str, Value) {
    let arguments = match command.strip_suffix(" &") {
        Some(command) => json!({ "command": command, "background": true }),
        None => json!({ "command": command, "timeout": 240 }),
    };
    ("terminal", arguments)
}

/// Asserts that a call succeeded, required no approval, and that the sandbox
/// blocked nothing.
#[track_caller]
pub(super) fn assert_unhindered(what: &str, result: &Value) {
    let text = result.to_string();
    assert_eq!(result["status"], "success", "{what}: {text}");
    assert!(!text.contains("approval_required"), "{what}: {text}");
    assert!(result.get("blocked").is_none(), "{what}: {text}");
    // A background command has no exit code yet.
    let code = &result["exit_code"];
    assert!(code.is_null() || *code == 0, "{what}: {text}");
}

/// Asserts that the sandbox blocked a connection to this host because of the
/// program that made it, and reported it.
#[track_caller]
pub(super) fn assert_stopped(what: &str, result: &Value, host: &str, scope: &str) {
    let stops = result["blocked"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_it = |stop: &&Value| {
        let text = stop.to_string();
        text.contains(host) && text.contains(scope)
    };
    assert!(stops.iter().any(|stop| is_it(&stop)), "{what}: {result}");
}

/// Prints why a row is skipped, in the form that all tests use.
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
pub(super) fn skip(reason: &str) {
    println!("skipped: {reason}");
}

fn finish(command: Command, input: Vec<u8>) -> Run {
    let mut command = assert_cmd::Command::from_std(command);
    let output = command.timeout(RUN_TIMEOUT).write_stdin(input).output();
    Run::new(output.expect("the command starts"))
}

/// Directory of rustup's toolchains.
fn rustup_home() -> PathBuf {
    let own = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
    own.unwrap_or_else(|| std::env::home_dir().unwrap_or_default().join(".rustup"))
}

/// The programs of the toolchain that runs these tests.
fn toolchain_bin() -> PathBuf {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().expect("rustc");
    PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()).join("bin")
}

/// Directory of the PostgreSQL programs, which Debian keeps out of PATH.
fn postgres_bin() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    versions.map(|version| version.path().join("bin")).max()
}

/// Whether every user may access this path.
fn is_open_to_all(path: &Path) -> bool {
    path.ancestors().all(|part| {
        fs::metadata(part).is_ok_and(|about| about.permissions().mode() & 0o005 == 0o005)
    })
}
