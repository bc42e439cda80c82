//! Names of servers' tools. A tool has two: the exact one, `mcp-SERVER:TOOL`,
//! and the one that every model accepts, `mcp__SERVER__TOOL`.
//!
//! The second is made from the first alone. It does not depend on which other
//! servers there are or which of them answers first, so it is the same in
//! every run.

use super::digest;

/// The longest name that every model accepts.
const LONGEST: usize = 64;

/// How much of the hash tells two names apart.
const TELLING: usize = 10;

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
pub fn wire(server: &str, tool: &str) -> String {
    let clean = format!("mcp__{server}__{tool}");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_ambiguous = server.contains("__") || server.ends_with('_');
    if !is_ambiguous && clean.len() <= LONGEST && clean.chars().all(is_plain) && !tool.is_empty() {
        return clean;
    }
    let plain: String = clean.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    // With its length, so that no other pair reads the same.
    let hash = digest::of_bytes(format!("{} {server} {tool}", server.len()).as_bytes());
    let kept = plain.len().min(LONGEST - TELLING - 1);
    format!("{}_{}", &plain[..kept], &hash[..TELLING])
}

/// How the names of a server's tools begin, in every spelling.
pub(crate) fn beginnings(server: &str) -> [String; 3] {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let clean: String = server.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    [format!("mcp__{clean}__"), format!("mcp__{}__", plain(server)), canonical(server, "")]
}

/// Whether a tool of that name would be this server's.
pub fn is_of(server: &str, tool: &str) -> bool {
    beginnings(server).iter().any(|beginning| tool.starts_with(beginning))
}

/// The name of a tool as it can stand in a message and in a command line: its
/// own, unless that has something in it which a shell or a reader would take
/// for something else.
pub(crate) fn safe<'a>(server: &str, tool: &'a str) -> std::borrow::Cow<'a, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_safe = !tool.is_empty()
        && tool.len() <= 2 * LONGEST
        && !tool.starts_with('-')
        && tool.chars().all(is_plain);
    if is_safe { tool.into() } else { wire(server, tool).into() }
}

/// The name under which Hermes Agent shows the tool, if it is another one and
/// can be used.
pub fn other(server: &str, tool: &str) -> Option<String> {
    let name = format!("mcp__{}__{}", plain(server), plain(tool));
    (name.len() <= LONGEST && name != wire(server, tool)).then_some(name)
}

/// A name with nothing but letters, digits and `_`.
pub(crate) fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// A name that is safe as a file's and tells apart what `plain` would not.
pub(crate) fn file(name: &str) -> String {
    let is_safe = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if !name.is_empty() && name.len() <= 48 && name.chars().all(is_safe) {
        return name.to_owned();
    }
    let shown: String = plain(name).chars().take(48).collect();
    let hash = digest::of_bytes(name.as_bytes());
    format!("{}.{}", shown.to_lowercase(), &hash[..TELLING])
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
