//! A file in a family's `src/tools` folder is a tool: a copy of a family gets
//! one more file, is built, and has one more tool.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MAIN: &str = r#"fn main() {
    for tool in hermes_tools_agent::tools() {
        println!("{}", tool.spec().name);
    }
}
"#;

#[test]
fn a_file_is_a_tool() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let copy = scratch.path().join("agent");
    copy_tree(&crates.join("tools/agent"), &copy);
    fs::write(copy.join("Cargo.toml"), manifest(&crates)).unwrap();
    fs::copy(crates.join("../Cargo.lock"), copy.join("Cargo.lock")).unwrap();
    fs::create_dir_all(copy.join("examples")).unwrap();
    fs::write(copy.join("examples/list.rs"), MAIN).unwrap();

    let template = fs::read_to_string(crates.join("cli/data/new_tool.rs.txt")).unwrap();
    let source = template
        .replace("{name}", "dropped_in")
        .replace("{toolset}", "todo")
        .replace("{Type}", "DroppedIn");
    let before = names(&copy);
    assert!(!before.contains(&"dropped_in".to_owned()), "{before:?}");
    fs::write(copy.join("src/tools/dropped_in.rs"), source).unwrap();
    let after = names(&copy);
    assert_eq!(after.len(), before.len() + 1);
    assert!(after.contains(&"dropped_in".to_owned()), "{after:?}");
}

#[test]
fn a_file_without_a_tool_is_pointed_out() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("helper.rs"), "fn help() {}\n").unwrap();
    let error = hermes_discover::modules(folder.path()).unwrap_err().to_string();
    assert!(error.contains("helper.rs") && error.contains("impl Tool for"), "{error}");
}

/// The family's manifest, standing by itself.
fn manifest(crates: &Path) -> String {
    let workspace = fs::read_to_string(crates.join("../Cargo.toml")).unwrap();
    let own = fs::read_to_string(crates.join("tools/agent/Cargo.toml")).unwrap();
    let dependencies = section(&own, "dependencies", &workspace, crates);
    let build = section(&own, "build-dependencies", &workspace, crates);
    format!(
        "[package]\nname = \"hermes-tools-agent\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\n{dependencies}\n[build-dependencies]\n{build}"
    )
}

/// A section with each `x.workspace = true` replaced by what the workspace says.
fn section(own: &str, name: &str, workspace: &str, crates: &Path) -> String {
    let head = format!("[{name}]");
    let body = own.split(&head).nth(1).unwrap_or_default();
    let mut out = String::new();
    for line in body.lines().skip(1).take_while(|l| !l.starts_with('[')) {
        let Some(dependency) = line.strip_suffix(".workspace = true") else { continue };
        let declared =
            workspace.lines().find(|l| l.starts_with(&format!("{dependency} ="))).unwrap();
        out.push_str(
            &declared.replace("path = \"crates", &format!("path = \"{}", crates.display())),
        );
        out.push('\n');
    }
    out
}

fn names(copy: &Path) -> Vec<String> {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("discovery");
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "--example", "list", "--target-dir"])
        .arg(&target)
        .current_dir(copy)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_tree(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}
