//! What a scan can say of a text.

use serde::Serialize;

/// How many characters an excerpt has at most.
const MAX_EXCERPT_CHARS: usize = 80;

/// How much of something that looks like a secret is shown.
const SECRET_SHOWN_CHARS: usize = 12;

/// How closely a text is read. Each level includes the ones before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScanLevel {
    /// What no text has a good reason to say to an assistant.
    All,
    /// For text that enters the context of a model.
    Context,
    /// For text that is kept and read again: memory, skills, schedules.
    Strict,
}

/// The kind of harm that a finding points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThreatCategory {
    /// Sets earlier instructions or rules aside.
    Override,
    /// Poses as another part of the conversation.
    Framing,
    /// Text that a reader would not see.
    Concealment,
    /// Asks to keep something from the user.
    Deception,
    /// Gives the assistant another role or name.
    RoleHijack,
    /// Asks for the assistant's own instructions.
    PromptLeak,
    /// Carries data out.
    Exfiltration,
    /// Reaches for keys and passwords in files.
    Credentials,
    /// Ties the machine to somebody else's server.
    CommandAndControl,
    /// Makes the assistant use a tool.
    ForcedAction,
    /// Removes traces or switches off what watches.
    AntiForensics,
    /// Changes what later sessions will read or may do.
    Persistence,
    /// A key or password in the text itself.
    Secret,
}

/// One thing that was found in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThreatFinding {
    /// The name of the pattern.
    pub id: &'static str,
    /// The kind of harm.
    pub category: ThreatCategory,
    /// The place in the text, at most 80 characters, nothing invisible in it.
    pub excerpt: String,
    /// Where it begins, in characters.
    pub at: usize,
}

/// The characters from `start` to `end` of `text`, made visible and cut.
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
        // The last place is kept for the mark that says there is more.
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
