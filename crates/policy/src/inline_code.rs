//! Code that stands in a call and is run by an interpreter: what in it destroys
//! on a large scale. All else that code can do is for the sandbox.

use hermes_core::{CallProposal, ShellScript, WorkingDir};
use hermes_shell::{CommandFinding, CommentStyle, destructive_code};

/// The code of a call and its language, if it has some.
pub(crate) fn call_code<'a>(proposal: &CallProposal<'a>) -> Option<(&'a str, &'a str)> {
    let text = |name: &str| proposal.arguments.get(name).and_then(|value| value.as_str());
    Some((text("language").unwrap_or("python"), text("code")?))
}

/// What is dangerous in it.
pub(crate) fn dangerous_code(language: &str, code: &str, at: &WorkingDir) -> Vec<CommandFinding> {
    match language {
        "python" => destructive_code(code, CommentStyle::Hash, at),
        "javascript" | "typescript" => destructive_code(code, CommentStyle::Slashes, at),
        "sql" => dangerous_sql(code, at),
        // A shell has an effect of its own.
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
