//! The lists as shown to the model at the start of a session.

use crate::list_format::ENTRY_DELIMITER;

/// The line above and below a heading.
const HEADING_RULE: &str = "══════════════════════════════════════════════";

/// The lists at one moment. Later writes do not change it, so a prompt that
/// starts with it can be cached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemorySnapshot {
    /// The notes, if any.
    pub memory: Option<String>,
    /// The user profile, if any.
    pub user: Option<String>,
    /// Warnings for the user about text that was withheld or decoded.
    pub warnings: Vec<String>,
}

impl MemorySnapshot {
    /// Returns both blocks for a system prompt; empty if there are none.
    pub fn text(&self) -> String {
        [&self.memory, &self.user].into_iter().flatten().cloned().collect::<Vec<_>>().join("\n\n")
    }
}

/// Renders a heading and the entries. An entry that breaks a rule is replaced by
/// a notice.
pub(crate) fn render_block(
    heading: &str,
    usage: &str,
    entries: &[String],
    archived: usize,
    broken_rule: impl Fn(&str) -> Option<&'static str>,
    warnings: &mut Vec<String>,
) -> Option<String> {
    if entries.is_empty() && archived == 0 {
        return None;
    }
    let shown: Vec<String> = entries
        .iter()
        .map(|entry| match broken_rule(entry) {
            Some(rule) => {
                warnings.push(format!("An entry looks like {rule} and is withheld"));
                format!("[BLOCKED: this entry looks like {rule}; it can be removed]")
            }
            None => entry.clone(),
        })
        .collect();
    let mut text = format!(
        "{HEADING_RULE}\n{heading} [{usage}]\n{HEADING_RULE}\n{}",
        shown.join(ENTRY_DELIMITER)
    );
    if archived > 0 {
        let entries = if archived == 1 { "entry is" } else { "entries are" };
        text.push_str(&format!(
            "\n({archived} more {entries} in the archive; search for them with the memory tool.)"
        ));
    }
    Some(text)
}
