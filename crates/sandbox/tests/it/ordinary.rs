//! All of it once more, as a user without any rights.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::is_root;

#[test]
fn everything_holds_for_an_ordinary_user() {
    if !is_root() {
        eprintln!("skipped: already an ordinary user");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = dir.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&program);
    command.args(["--test-threads", "2", "--nocapture", "--skip", "ordinary::"]);
    command.env("TMPDIR", dir.path()).env("HOME", dir.path()).current_dir(dir.path());
    // Open files cannot be counted with other tests beside.
    command.env_remove("NEXTEST");
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: setpriv: {error}");
            return;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    assert!(text.contains("test result: ok"), "{text}");
    eprintln!("{errors}");
}
