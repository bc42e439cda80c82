//! Names of servers' tools. A tool has two: the exact one, `mcp-SERVER:JUDGED_TOOL`,
//! and the one that every model accepts, `mcp__SERVER__TOOL`.
//!
//! The second is made from the first alone. It does not depend on which other
//! servers there are or which of them answers first, so it is the same in
//! every run.

use super::digest;

/// The longest name that every model accepts.
const MAX_NAME_CHARS: usize = 64;

/// How much of the hash tells two names apart.
const HASH_CHARS: usize = 10;

/// The toolset of a server's tools.
pub fn toolset(server: &str) -> String {
    format!("mcp-{server}")
}

/// The exact name of a tool, for people, rules and files.
pub fn canonical(server: &str, tool: &str) -> String {
    format!("mcp-{server}:{tool}")
}

/// The name of a tool for models.
///
/// A server whose name has `__` in it or ends in `_` could be taken for
/// another one, so its tools always carry a hash; so do names that had to be
/// changed or cut.
pub fn model_name(server: &str, tool: &str) -> String {
    let clean = format!("mcp__{server}__{tool}");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_ambiguous = server.contains("__") || server.ends_with('_');
    if !is_ambiguous
        && clean.len() <= MAX_NAME_CHARS
        && clean.chars().all(is_plain)
        && !tool.is_empty()
    {
        return clean;
    }
    let plain: String = clean.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    // With its length, so that no other pair reads the same.
    let hash = digest::sha256_hex(format!("{} {server} {tool}", server.len()).as_bytes());
    let kept = plain.len().min(MAX_NAME_CHARS - HASH_CHARS - 1);
    format!("{}_{}", &plain[..kept], &hash[..HASH_CHARS])
}

/// How the names of a server's tools begin, in every spelling.
pub(crate) fn name_prefixes(server: &str) -> [String; 3] {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let clean: String = server.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    [format!("mcp__{clean}__"), format!("mcp__{}__", underscored(server)), canonical(server, "")]
}

/// Whether a tool of that name would be this server's.
pub fn is_server_tool(server: &str, tool: &str) -> bool {
    name_prefixes(server).iter().any(|beginning| tool.starts_with(beginning))
}

/// The name of a tool as it can stand in a message and in a command line: its
/// own, unless that has something in it which a shell or a reader would take
/// for something else.
pub(crate) fn printable_name<'a>(server: &str, tool: &'a str) -> std::borrow::Cow<'a, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_safe = !tool.is_empty()
        && tool.len() <= 2 * MAX_NAME_CHARS
        && !tool.starts_with('-')
        && tool.chars().all(is_plain);
    if is_safe { tool.into() } else { model_name(server, tool).into() }
}

/// The name under which Hermes Agent shows the tool, if it is another one and
/// can be used.
pub fn hermes_agent_name(server: &str, tool: &str) -> Option<String> {
    let name = format!("mcp__{}__{}", underscored(server), underscored(tool));
    (name.len() <= MAX_NAME_CHARS && name != model_name(server, tool)).then_some(name)
}

/// A name with nothing but letters, digits and `_`.
pub(crate) fn underscored(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// A name that is safe as a file's and tells apart what `plain` would not.
pub(crate) fn file_stem(name: &str) -> String {
    let is_safe = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if !name.is_empty() && name.len() <= 48 && name.chars().all(is_safe) {
        return name.to_owned();
    }
    let shown: String = underscored(name).chars().take(48).collect();
    let hash = digest::sha256_hex(name.as_bytes());
    format!("{}.{}", shown.to_lowercase(), &hash[..HASH_CHARS])
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
