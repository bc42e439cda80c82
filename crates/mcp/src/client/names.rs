//! Names of server tools. A tool has two: the exact one, `mcp-SERVER:TOOL`, and
//! the one that every model accepts, `mcp__SERVER__TOOL`.
//!
//! The second is derived from the first alone. It does not depend on which
//! other servers exist or respond first, so it is the same in every run.

use super::digest;

/// Maximum length of a name that every model accepts.
const MAX_NAME_CHARS: usize = 64;

/// How many hash digits disambiguate a name.
const HASH_CHARS: usize = 10;

/// The toolset of a server's tools.
pub fn toolset(server: &str) -> String {
    format!("mcp-{server}")
}

/// The exact name of a tool, for users, rules and files.
pub fn canonical(server: &str, tool: &str) -> String {
    format!("mcp-{server}:{tool}")
}

/// The name of a tool for models.
///
/// The name of a server that contains `__` or ends in `_` is ambiguous, so its
/// tools always carry a hash; so do names that had to be changed or truncated.
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
    // The length makes the pair unambiguous.
    let hash = digest::sha256_hex(format!("{} {server} {tool}", server.len()).as_bytes());
    let kept = plain.len().min(MAX_NAME_CHARS - HASH_CHARS - 1);
    format!("{}_{}", &plain[..kept], &hash[..HASH_CHARS])
}

/// Returns the prefixes of a server's tool names, in every spelling.
pub(crate) fn name_prefixes(server: &str) -> [String; 3] {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let clean: String = server.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    [format!("mcp__{clean}__"), format!("mcp__{}__", underscored(server)), canonical(server, "")]
}

/// Whether a tool name belongs to this server.
pub fn is_server_tool(server: &str, tool: &str) -> bool {
    name_prefixes(server).iter().any(|beginning| tool.starts_with(beginning))
}

/// Returns a tool name that is safe in messages and command lines: the
/// original, unless it contains characters with a special meaning.
pub(crate) fn printable_name<'a>(server: &str, tool: &'a str) -> std::borrow::Cow<'a, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_safe = !tool.is_empty()
        && tool.len() <= 2 * MAX_NAME_CHARS
        && !tool.starts_with('-')
        && tool.chars().all(is_plain);
    if is_safe { tool.into() } else { model_name(server, tool).into() }
}

/// The name of the tool in Hermes Agent, if it differs and is valid.
pub fn hermes_agent_name(server: &str, tool: &str) -> Option<String> {
    let name = format!("mcp__{}__{}", underscored(server), underscored(tool));
    (name.len() <= MAX_NAME_CHARS && name != model_name(server, tool)).then_some(name)
}

/// Replaces everything but letters, digits and `_` with `_`.
pub(crate) fn underscored(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Returns a safe file name for a server, distinct where [`underscored`] is
/// not.
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
