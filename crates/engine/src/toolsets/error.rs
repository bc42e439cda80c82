//! Errors in a toolset's name, its members, or the document of custom toolsets.

use std::fmt::Write as _;

/// Longer names are truncated in messages.
const MAX_QUOTED_CHARS: usize = 80;
/// Maximum number of names that a message shows.
const MAX_SHOWN_NAMES: usize = 6;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolsetError {
    #[error("there is no toolset {}{}", quote(name), did_you_mean(suggestions))]
    Unknown { name: String, suggestions: Vec<String> },
    #[error("toolset {} of Hermes Agent is not available in this build", quote(name))]
    Absent { name: String },
    #[error(
        "toolset {} includes {}, which does not exist{}",
        quote(toolset),
        quote(include),
        did_you_mean(suggestions)
    )]
    UnknownInclude { toolset: String, include: String, suggestions: Vec<String> },
    #[error(
        "toolset {} names the tool {}, which does not exist{}",
        quote(toolset),
        quote(tool),
        did_you_mean(suggestions)
    )]
    UnknownTool { toolset: String, tool: String, suggestions: Vec<String> },
    #[error("{} cannot be the name of a toolset: {rule}", quote(name))]
    InvalidName { name: String, rule: &'static str },
    #[error("a toolset cannot be called {}: {holder} has that name", quote(name))]
    Taken { name: String, holder: &'static str },
    #[error("custom toolset {} already exists", quote(name))]
    Exists { name: String },
    #[error("toolset {} would include itself: {}", quote(path.first().map_or("", String::as_str)), chain(path))]
    Cycle { path: Vec<String> },
    #[error("{} is a built-in toolset and cannot be deleted", quote(name))]
    BuiltIn { name: String },
    #[error("toolset {} is made of registered tools and cannot be deleted", quote(name))]
    Registered { name: String },
    #[error("toolset {} is included by {}; change those first", quote(name), listing(by))]
    InUse { name: String, by: Vec<String> },
    #[error("custom toolsets, {place}: {problem}")]
    Document { place: String, problem: String },
}

impl ToolsetError {
    /// Existing names close to the one that was not found, nearest first.
    #[must_use]
    pub fn suggestions(&self) -> &[String] {
        match self {
            Self::Unknown { suggestions, .. }
            | Self::UnknownInclude { suggestions, .. }
            | Self::UnknownTool { suggestions, .. } => suggestions,
            _ => &[],
        }
    }
}

/// Quotes a name for a one-line message: escapes control characters and
/// truncates it.
pub(crate) fn quote(name: &str) -> String {
    let mut quoted = String::from("`");
    for (position, c) in name.chars().enumerate() {
        if position == MAX_QUOTED_CHARS {
            quoted.push('…');
            break;
        }
        if c.is_control() {
            quoted.extend(c.escape_default());
        } else {
            quoted.push(c);
        }
    }
    quoted.push('`');
    quoted
}

pub(crate) fn did_you_mean(suggestions: &[String]) -> String {
    let Some((last, rest)) = suggestions.split_last() else {
        return String::new();
    };
    let mut text = String::from("; did you mean ");
    for name in rest {
        let _ = write!(text, "{} or ", quote(name));
    }
    let _ = write!(text, "{}?", quote(last));
    text
}

fn chain(path: &[String]) -> String {
    if path.len() <= MAX_SHOWN_NAMES {
        return path.join(" → ");
    }
    let (start, end) = (&path[..MAX_SHOWN_NAMES / 2], &path[path.len() - MAX_SHOWN_NAMES / 2..]);
    format!("{} → … → {}", start.join(" → "), end.join(" → "))
}

fn listing(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(MAX_SHOWN_NAMES).map(|n| quote(n)).collect();
    match names.len().saturating_sub(MAX_SHOWN_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
