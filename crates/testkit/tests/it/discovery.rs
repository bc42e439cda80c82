//! A file in a family's `src/tools` directory is a tool: with one more file, a
//! family has one more tool after a build.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library of a family, without its tools.
const LIB: &str = r#"mod tools {
    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
}
pub use tools::tools;
"#;

const BUILD: &str = "fn main() {\n    hermes_discover::write_tool_table();\n}\n";

const MAIN: &str = r#"fn main() {
    for tool in family::tools() {
        println!("{}", tool.spec().name);
    }
}
"#;

/// The family is small, because its dependencies are built for this test alone.
#[test]
fn a_file_is_a_tool() {
    let crates = crates();
    let scratch = tempfile::tempdir().unwrap();
    let family = scratch.path().join("family");
    for dir in ["src/tools", "examples"] {
        fs::create_dir_all(family.join(dir)).unwrap();
    }
    fs::write(family.join("Cargo.toml"), manifest(&crates)).unwrap();
    fs::copy(crates.join("../Cargo.lock"), family.join("Cargo.lock")).unwrap();
    fs::write(family.join("build.rs"), BUILD).unwrap();
    fs::write(family.join("src/lib.rs"), LIB).unwrap();
    fs::write(family.join("examples/list.rs"), MAIN).unwrap();

    let template = fs::read_to_string(crates.join("cli/data/new_tool.rs.txt")).unwrap();
    let write = |name: &str, kind: &str| {
        let source =
            template.replace("{name}", name).replace("{toolset}", "todo").replace("{Type}", kind);
        fs::write(family.join(format!("src/tools/{name}.rs")), source).unwrap();
    };
    write("at_first", "AtFirst");
    assert_eq!(names(&family), ["at_first"]);
    write("dropped_in", "DroppedIn");
    assert_eq!(names(&family), ["at_first", "dropped_in"]);
}

#[test]
fn every_family_is_made_of_its_files() {
    let mut seen = 0;
    for entry in fs::read_dir(crates().join("tools")).unwrap() {
        let family = entry.unwrap().path();
        let Ok(lib) = fs::read_to_string(family.join("src/lib.rs")) else { continue };
        let name = family.display();
        assert!(lib.contains("include!(concat!(env!(\"OUT_DIR\"), \"/tools.rs\"));"), "{name}");
        let build = fs::read_to_string(family.join("build.rs")).unwrap();
        assert!(build.contains("hermes_discover::write_tool_table()"), "{name}");
        seen += 1;
    }
    assert!(seen >= 4, "only {seen} families");
}

#[test]
fn a_file_without_a_tool_is_pointed_out() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("helper.rs"), "fn help() {}\n").unwrap();
    let error = hermes_discover::find_tool_modules(dir.path()).unwrap_err().to_string();
    assert!(error.contains("helper.rs") && error.contains("impl Tool for"), "{error}");
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// A manifest with the dependencies of the template, as the workspace declares
/// them.
fn manifest(crates: &Path) -> String {
    let workspace = fs::read_to_string(crates.join("../Cargo.toml")).unwrap();
    let declared = |name: &&str| {
        let line = workspace.lines().find(|l| l.starts_with(&format!("{name} ="))).unwrap();
        line.replace("path = \"crates", &format!("path = \"{}", crates.display())) + "\n"
    };
    let dependencies: String = ["hermes-core", "schemars", "serde"].iter().map(declared).collect();
    let build = declared(&"hermes-discover");
    format!(
        "[package]\nname = \"family\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\n{dependencies}\n[build-dependencies]\n{build}\n[profile.dev]\ndebug = false\n"
    )
}

fn names(family: &Path) -> Vec<String> {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("discovery");
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "--example", "list", "--target-dir"])
        .arg(&target)
        .current_dir(family)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}
