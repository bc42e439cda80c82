//! Build-script helper that registers every file in a family's `src/tools`
//! directory as a tool.
//!
//! A family crate's build script calls [`write_tool_table`], and its `lib.rs`
//! includes the generated file. There is no list to edit: each file or
//! directory below `src/tools` that contains `impl Tool for NAME` becomes a
//! module, and `NAME::default()` an entry of the table.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Scans `src/tools` of the crate being built and writes `$OUT_DIR/tools.rs`: a
/// module per file, and `pub fn tools()` that creates them all.
///
/// Panics with the file name on failure, which is how a build script reports
/// errors to cargo.
pub fn write_tool_table() {
    let root = PathBuf::from(required_env("CARGO_MANIFEST_DIR"));
    let dir = root.join("src/tools");
    println(&format!("cargo:rerun-if-changed={}", dir.display()));
    let table = match find_tool_modules(&dir) {
        Ok(modules) => render(&modules),
        Err(error) => panic!("{}: {error}", dir.display()),
    };
    let out = PathBuf::from(required_env("OUT_DIR")).join("tools.rs");
    if let Err(error) = fs::write(&out, table) {
        panic!("{}: {error}", out.display());
    }
}

/// A module of `src/tools` and the tools that it implements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolModule {
    /// The module's name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// The types that implement `Tool`.
    pub types: Vec<String>,
}

/// Finds the modules of a `src/tools` directory, sorted by name.
pub fn find_tool_modules(dir: &Path) -> io::Result<Vec<ToolModule>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?.path();
        let Some(stem) = entry.file_stem().and_then(|s| s.to_str()) else { continue };
        let path = if entry.is_dir() { entry.join("mod.rs") } else { entry.clone() };
        let is_rust = path.extension().is_some_and(|e| e == "rs");
        if !is_rust || stem.ends_with("_tests") || stem.starts_with('.') {
            continue;
        }
        let text = fs::read_to_string(&path)?;
        let types = implementors(&text);
        if types.is_empty() {
            return Err(io::Error::other(format!(
                "{} contains no `impl Tool for NAME`; shared code belongs in src/",
                path.display()
            )));
        }
        found.push(ToolModule { name: stem.to_owned(), path, types });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Returns the types for which `text` contains `impl Tool for`.
fn implementors(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| {
            let rest = line
                .strip_prefix("impl Tool for ")
                .or_else(|| line.strip_prefix("impl hermes_core::Tool for "))?;
            let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
            (!name.is_empty()).then(|| name.to_owned())
        })
        .collect()
}

fn render(modules: &[ToolModule]) -> String {
    let mut text = String::from("// Written by the build script from the files in src/tools.\n\n");
    for module in modules {
        let _ = writeln!(text, "#[path = {:?}]\nmod {};", module.path, module.name);
    }
    text.push_str("\n/// Every tool of this family, in the order of their files.\n");
    text.push_str("#[allow(clippy::default_constructed_unit_structs)]\n");
    text.push_str("pub fn tools() -> Vec<std::sync::Arc<dyn hermes_core::DynTool>> {\n    vec![\n");
    for module in modules {
        for name in &module.types {
            let _ =
                writeln!(text, "        hermes_core::erase({}::{name}::default()),", module.name);
        }
    }
    text.push_str("    ]\n}\n");
    text
}

fn required_env(variable: &str) -> String {
    match env::var(variable) {
        Ok(value) => value,
        Err(_) => panic!("{variable} is not set: call this from a build script"),
    }
}

#[allow(clippy::print_stdout, reason = "a build script communicates with cargo over stdout")]
fn println(line: &str) {
    println!("{line}");
}
