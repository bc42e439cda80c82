//! Every tool of the family keeps the rules, and its examples work.

use std::env;
use std::process::Command;

use hermes_testkit::contract;

/// These use the desktop, so their examples run on a separate one instead of
/// that of the user who runs the tests.
const ON_DESKTOP: &[&str] = &["clipboard", "notification"];

#[test]
fn every_tool_keeps_the_rules() {
    for tool in hermes_tools_system::tools() {
        contract::check_spec(&tool);
    }
}

#[tokio::test]
async fn every_example_works() {
    for tool in hermes_tools_system::tools() {
        if !ON_DESKTOP.contains(&&*tool.spec().name) {
            contract::check_examples(&tool).await;
        }
    }
}

/// Runs on the desktop that the next test starts.
#[tokio::test]
#[ignore = "needs a desktop"]
async fn examples_of_the_desktop() {
    assert!(env::var_os("DESKTOP_NOTIFICATIONS").is_some(), "run it by scripts/desktop.sh");
    for tool in hermes_tools_system::tools() {
        if ON_DESKTOP.contains(&&*tool.spec().name) {
            contract::check_examples(&tool).await;
        }
    }
}

#[test]
fn every_example_works_on_a_desktop() {
    for program in ["xclip", "notify-send"] {
        let path = env::var_os("PATH").unwrap_or_default();
        if !env::split_paths(&path).any(|dir| dir.join(program).is_file()) {
            eprintln!("skipped: {program} is not installed");
            return;
        }
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scripts/desktop.sh");
    let output = Command::new(script)
        .arg(env::current_exe().expect("this program"))
        .args(["--exact", "contract::examples_of_the_desktop", "--ignored"])
        .output()
        .expect("the script starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) {
        eprintln!("{errors}");
        return;
    }
    assert!(output.status.success(), "{text}\n{errors}");
    assert!(text.contains("1 passed"), "{text}");
}

#[tokio::test]
async fn ports_refuse_what_was_not_declared() {
    for tool in hermes_tools_system::tools() {
        contract::check_declared_effects(&tool).await;
    }
}
