//! Finds large-scale destruction in code that is part of a call. All else that
//! code can do is left to the sandbox.

use hermes_core::{ShellScript, WorkingDir};
use hermes_shell::{CommandFinding, CommentStyle, destructive_code};

/// Returns the dangerous parts of the code.
pub(crate) fn dangerous_code(language: &str, code: &str, at: &WorkingDir) -> Vec<CommandFinding> {
    match language {
        "python" => destructive_code(code, CommentStyle::Hash, at),
        "javascript" | "typescript" => destructive_code(code, CommentStyle::Slashes, at),
        "sql" => dangerous_sql(code, at),
        // Shell code has its own effect.
        _ => Vec::new(),
    }
}

fn dangerous_sql(code: &str, at: &WorkingDir) -> Vec<CommandFinding> {
    let script = ShellScript {
        text: "sqlite3 database".to_owned(),
        stdin: Some(code.to_owned()),
        ..ShellScript::default()
    };
    let analysis = hermes_shell::analyze_script("", &script, at);
    let found = analysis.leaves.into_iter().flat_map(|leaf| leaf.findings);
    found.filter(|found| found.category == "sql-loss").collect()
}

#[cfg(test)]
#[path = "inline_code_tests.rs"]
mod tests;
