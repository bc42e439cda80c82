//! The architecture, checked against `cargo metadata`: who may depend on
//! whom, what may come from outside, and that everything declared is used.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The layers, from the foundation up. A crate depends only on crates of
/// lower layers; tool families never see the engine.
const LAYERS: &[&[&str]] = &[
    &["hermes-core", "hermes-discover"],
    &[
        "hermes-documents",
        "hermes-files",
        "hermes-llm",
        "hermes-net",
        "hermes-protocol",
        "hermes-sandbox",
        "hermes-schema",
        "hermes-shell",
        "hermes-store",
        "hermes-text",
        "hermes-threats",
    ],
    &[
        "hermes-archives",
        "hermes-audit",
        "hermes-checkpoints",
        "hermes-config",
        "hermes-cron",
        "hermes-exec",
        "hermes-history",
        "hermes-memory",
        "hermes-search",
        "hermes-secrets",
    ],
    &["hermes-checks", "hermes-debug", "hermes-repl", "hermes-scripts", "hermes-skills"],
    &["hermes-tools-agent", "hermes-tools-code", "hermes-tools-file", "hermes-tools-system"],
    &["hermes-engine", "hermes-policy"],
    &["hermes", "hermes-agent", "hermes-mcp", "hermes-reach"],
    &["hermes-batch", "hermes-chat", "hermes-delegation"],
    &["hermes-testkit"],
    &["hermes-cli"],
];

const FAMILY: &str = "hermes-tools-";

/// What a tool family may see: contracts, the doors to files and state, and
/// the libraries of its subject.
const SEEN_BY_FAMILIES: [&str; 18] = [
    "hermes-archives",
    "hermes-checks",
    "hermes-core",
    "hermes-cron",
    "hermes-debug",
    "hermes-discover",
    "hermes-documents",
    "hermes-exec",
    "hermes-files",
    "hermes-history",
    "hermes-memory",
    "hermes-repl",
    "hermes-scripts",
    "hermes-search",
    "hermes-secrets",
    "hermes-shell",
    "hermes-store",
    "hermes-text",
];

/// Licences that let the program be used as freely as its own.
const LICENCES: [&str; 15] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unlicense",
    "CC0-1.0",
    "Unicode-3.0",
    "BSL-1.0",
    "MPL-2.0",
    "0BSD",
    "CDLA-Permissive-2.0",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn metadata(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().unwrap().iter()
}

fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap()
}

fn layer(name: &str) -> usize {
    LAYERS.iter().position(|layer| layer.contains(&name)).unwrap_or_else(|| {
        panic!("{name} is in no layer: add it to this test and to docs/architecture.md")
    })
}

#[test]
fn crates_depend_only_on_what_is_below_them() {
    let metadata = metadata(&["--no-deps"]);
    for package in packages(&metadata) {
        for dependency in package["dependencies"].as_array().unwrap() {
            let (from, to) = (name(package), dependency["name"].as_str().unwrap());
            if dependency["kind"] == "dev" || !to.starts_with("hermes") {
                continue;
            }
            assert!(layer(to) < layer(from), "{from} must not depend on {to}");
            let family_sees = from.starts_with(FAMILY) && !SEEN_BY_FAMILIES.contains(&to);
            assert!(!family_sees, "{from}: a tool family sees the contracts, not {to}");
        }
    }
}

#[test]
fn heavy_crates_stay_where_they_belong() {
    let owners = BTreeMap::from([
        ("calamine", "hermes-documents"),
        ("grep-searcher", "hermes-search"),
        ("jsonschema", "hermes-schema"),
        ("landlock", "hermes-sandbox"),
        ("nucleo-matcher", "hermes-search"),
        ("pdf-extract", "hermes-documents"),
        ("rmcp", "hermes-mcp"),
        ("rusqlite", "hermes-history"),
        ("sevenz-rust2", "hermes-archives"),
        ("similar", "hermes-text"),
        ("tree-sitter", "hermes-shell"),
        ("tree-sitter-bash", "hermes-shell"),
        ("sysinfo", "hermes-tools-system"),
        ("clap", "hermes-cli"),
        ("tiktoken-rs", "hermes-cli"),
        ("serde-saphyr", "hermes-config"),
    ]);
    let metadata = metadata(&["--no-deps"]);
    for package in packages(&metadata) {
        for dependency in package["dependencies"].as_array().unwrap() {
            if let Some(owner) = owners.get(dependency["name"].as_str().unwrap()) {
                assert_eq!(name(package), *owner, "{} belongs to {owner}", dependency["name"]);
            }
        }
    }
}

#[test]
fn every_licence_is_permissive() {
    let metadata = metadata(&[]);
    let mut bad = Vec::new();
    for package in packages(&metadata) {
        let licence = package["license"].as_str().unwrap_or("none");
        // Of alternatives one is enough; of a conjunction all must be.
        let fine = licence.replace('/', " OR ").split(" OR ").any(|choice| {
            choice.split(" AND ").all(|l| LICENCES.contains(&l.trim_matches(['(', ')', ' '])))
        });
        if !fine {
            bad.push(format!("{} {licence}", name(package)));
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

#[test]
fn every_declared_dependency_is_used_and_documented() {
    let metadata = metadata(&["--no-deps"]);
    let documented = std::fs::read_to_string(root().join("docs/dependencies.md")).unwrap();
    let mut unused = Vec::new();
    let mut undocumented = BTreeSet::new();
    for package in packages(&metadata) {
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        let mut text = String::new();
        gather(folder, &mut text);
        for dependency in package["dependencies"].as_array().unwrap() {
            let wanted = dependency["name"].as_str().unwrap();
            let ident = wanted.replace('-', "_");
            // Some crates are met only through what they derive.
            let used = ["{}::", "use {}", "#[{}("]
                .iter()
                .any(|form| text.contains(&form.replace("{}", &ident)));
            let derived = wanted == "schemars" && text.contains("JsonSchema");
            if !used && !derived {
                unused.push(format!("{} → {wanted}", name(package)));
            }
            if !wanted.starts_with("hermes") && !documented.contains(&format!("`{wanted}`")) {
                undocumented.insert(wanted.to_owned());
            }
        }
    }
    assert!(unused.is_empty(), "declared but not used: {unused:#?}");
    assert!(undocumented.is_empty(), "not in docs/dependencies.md: {undocumented:#?}");
}

/// All Rust text of a crate.
fn gather(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") && !path.join("Cargo.toml").exists() {
            gather(&path, text);
        } else if path.extension().is_some_and(|e| e == "rs") {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn no_source_file_outgrows_its_reader() {
    let mut long = Vec::new();
    let mut open = vec![root().join("crates")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs")
                && !path.to_string_lossy().contains("/tests/")
                && !path.to_string_lossy().ends_with("_tests.rs")
            {
                let lines = std::fs::read_to_string(&path).unwrap().lines().count();
                if lines > 600 {
                    long.push(format!("{} has {lines} lines", path.display()));
                }
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}
