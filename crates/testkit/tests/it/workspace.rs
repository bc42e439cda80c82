//! The architecture, checked against `cargo metadata`: allowed dependencies
//! between crates, external crates, and unused declarations.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Tool families, the crates in `crates/tools`, are in this layer.
const FAMILY_LAYER: u64 = 5;
const FAMILY_PREFIX: &str = "hermes-tools-";

/// Crates that the pipeline uses on behalf of tools.
const HIDDEN_FROM_FAMILIES: [&str; 7] = [
    "hermes-audit",
    "hermes-checkpoints",
    "hermes-config",
    "hermes-protocol",
    "hermes-sandbox",
    "hermes-schema",
    "hermes-threats",
];

/// Licences as permissive as that of the program.
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

/// The layer of each crate of the workspace, from its manifest.
fn layers(metadata: &Value) -> BTreeMap<&str, u64> {
    let layer = |package: &Value| {
        if name(package).starts_with(FAMILY_PREFIX) {
            return FAMILY_LAYER;
        }
        package["metadata"]["hermes"]["layer"].as_u64().unwrap_or_else(|| {
            panic!("{}: package.metadata.hermes.layer is missing", package["manifest_path"])
        })
    };
    packages(metadata).map(|package| (name(package), layer(package))).collect()
}

#[test]
fn crates_depend_only_on_lower_layers() {
    let metadata = metadata(&["--no-deps"]);
    let layers = layers(&metadata);
    for package in packages(&metadata) {
        for dependency in package["dependencies"].as_array().unwrap() {
            let (from, to) = (name(package), dependency["name"].as_str().unwrap());
            if dependency["kind"] == "dev" || !layers.contains_key(to) {
                continue;
            }
            assert!(layers[to] < layers[from], "{from} must not depend on {to}");
            let is_hidden = from.starts_with(FAMILY_PREFIX) && HIDDEN_FROM_FAMILIES.contains(&to);
            assert!(!is_hidden, "{from}: a tool family must not depend on {to}");
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
    // Cargo downloads only what a build for this platform needs.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let metadata = metadata(&["--filter-platform", &platform]);
    let mut bad = Vec::new();
    for package in packages(&metadata) {
        let licence = package["license"].as_str().unwrap_or("none");
        // One alternative suffices; all parts of a conjunction are required.
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
        let dir = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        let mut text = String::new();
        gather(dir, &mut text);
        for dependency in package["dependencies"].as_array().unwrap() {
            let wanted = dependency["name"].as_str().unwrap();
            let ident = wanted.replace('-', "_");
            // Some crates are used only through their derive macros.
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

/// The Rust sources of a crate.
fn gather(dir: &Path, text: &mut String) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") && !path.join("Cargo.toml").exists() {
            gather(&path, text);
        } else if path.extension().is_some_and(|e| e == "rs") {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn the_tool_in_the_docs_is_the_one_that_is_compiled() {
    let page = std::fs::read_to_string(root().join("docs/writing-a-tool.md")).unwrap();
    let tool = std::fs::read_to_string(root().join("examples/embedding/word_count.rs")).unwrap();
    assert!(page.contains(&format!("```rust\n{tool}```")), "docs/writing-a-tool.md is stale");
}

#[test]
fn names_and_prose_keep_to_the_rules() {
    let mut check = Command::new("python3");
    let output = check.args(["scripts/names.py", "--check"]).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn no_source_file_outgrows_its_reader() {
    let mut long = Vec::new();
    let mut open = vec![root().join("crates")];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs")
                && !path.to_string_lossy().contains("/tests/")
                && !path.to_string_lossy().ends_with("_tests.rs")
            {
                let lines = std::fs::read_to_string(&path).unwrap().lines().count();
                if lines > 800 {
                    long.push(format!("{} has {lines} lines", path.display()));
                }
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}
