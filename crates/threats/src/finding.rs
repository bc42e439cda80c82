//! Findings of a scan.

use serde::Serialize;

/// Maximum length of an excerpt in characters.
const MAX_EXCERPT_CHARS: usize = 80;

/// Number of characters shown of a suspected secret.
const SECRET_SHOWN_CHARS: usize = 12;

/// How strictly a text is scanned. Each level includes the preceding ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScanLevel {
    /// What no text has a legitimate reason to say to an assistant.
    All,
    /// For text that enters the context of a model.
    Context,
    /// For text that is stored and read again: memory, skills, schedules.
    Strict,
}

/// The kind of harm a finding indicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThreatCategory {
    /// Overrides earlier instructions or rules.
    Override,
    /// Impersonates another part of the conversation.
    Framing,
    /// Text invisible to a reader.
    Concealment,
    /// Asks to keep something from the user.
    Deception,
    /// Assigns the assistant another role or name.
    RoleHijack,
    /// Asks for the assistant's own instructions.
    PromptLeak,
    /// Sends data out.
    Exfiltration,
    /// Accesses keys and passwords in files.
    Credentials,
    /// Connects the machine to an attacker's server.
    CommandAndControl,
    /// Makes the assistant use a tool.
    ForcedAction,
    /// Removes traces or disables monitoring.
    AntiForensics,
    /// Changes what later sessions read or may do.
    Persistence,
    /// A key or password in the text itself.
    Secret,
}

/// One finding in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThreatFinding {
    /// The name of the pattern.
    pub id: &'static str,
    /// The kind of harm.
    pub category: ThreatCategory,
    /// The matched text, at most 80 characters, with invisible characters
    /// escaped.
    pub excerpt: String,
    /// Start offset in characters.
    pub at: usize,
}

/// Returns the characters from `start` to `end` of `text`, escaped and
/// truncated.
pub(crate) fn excerpt(text: &str, start: usize, end: usize, category: ThreatCategory) -> String {
    let secret = category == ThreatCategory::Secret;
    let room = if secret { SECRET_SHOWN_CHARS } else { MAX_EXCERPT_CHARS };
    let mut shown = String::new();
    let mut length = 0;
    let mut piece = String::new();
    for (at, c) in text.chars().skip(start).take(end.saturating_sub(start)).enumerate() {
        piece.clear();
        push_visible(c, &mut piece);
        let more = piece.chars().count();
        // Reserve the last character for the ellipsis.
        let last = start + at + 1 == end;
        if length + more > room || (length + more == room && !last) {
            shown.push('…');
            break;
        }
        shown.push_str(&piece);
        length += more;
    }
    shown
}

fn push_visible(c: char, into: &mut String) {
    match c {
        '\n' | '\r' | '\t' => into.extend(c.escape_default()),
        _ if c.is_control() || crate::hidden::is_invisible(c) || crate::hidden::is_bidi(c) => {
            into.extend(c.escape_unicode());
        }
        _ => into.push(c),
    }
}
