//! `hermes tools new`: creates the source file of a new tool.

use std::path::Path;

use hermes::core::ErrorKind;
use hermes::engine::is_valid_tool_name;
use serde_json::json;

use crate::app::AppContext;
use crate::command_error::{CliExitCode, CommandError, CommandResult};

const TOOL_TEMPLATE: &str = include_str!("../../../data/new_tool.rs.txt");

pub(crate) fn run(app: &AppContext, name: &str, out: &Path, toolset: &str) -> CommandResult {
    let module = name.replace('-', "_");
    let plain = module.starts_with(|c: char| c.is_ascii_lowercase())
        && module.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if !is_valid_tool_name(name) || !plain {
        return Err(CommandError::usage(format!("'{name}' is not a valid tool name"))
            .hint("Use lowercase letters, digits and '_', starting with a letter."));
    }
    let path = out.join(format!("{module}.rs"));
    let text = TOOL_TEMPLATE
        .replace("{name}", name)
        .replace("{toolset}", toolset)
        .replace("{Type}", &to_camel_case(&module));
    let file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
    let mut file = file.map_err(|e| {
        CommandError::usage(format!("Cannot create {}: {e}", path.display()))
            .hint("Choose another name or directory; existing files are never overwritten.")
    })?;
    std::io::Write::write_all(&mut file, text.as_bytes()).map_err(|e| {
        CommandError::failed(ErrorKind::Internal, format!("Cannot write {}: {e}", path.display()))
    })?;
    if app.json {
        app.terminal
            .print_line(&json!({ "schema_version": 1, "name": name, "path": path }).to_string())?;
        return Ok(CliExitCode::Ok);
    }
    app.terminal.print_line(&path.display().to_string())?;
    app.terminal
        .note("Move it to the src/tools directory of a family and build; no list needs editing.");
    Ok(CliExitCode::Ok)
}

fn to_camel_case(module: &str) -> String {
    module
        .split('_')
        .map(|part| {
            let mut chars = part.chars();
            chars
                .next()
                .map_or(String::new(), |c| c.to_ascii_uppercase().to_string() + chars.as_str())
        })
        .collect()
}
