//! The lists as a model is shown them, once, at the start of a session.

use hermes_threats::{ScanLevel, scan};

use crate::list_format::ENTRY_DELIMITER;

/// The line above and below a heading.
const HEADING_RULE: &str = "══════════════════════════════════════════════";

/// The lists at one moment. Later writes do not change it, so that a prompt that begins with it can be
/// cached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemorySnapshot {
    /// The notes; none if there are none.
    pub memory: Option<String>,
    /// What is known of the user; none if there is nothing.
    pub user: Option<String>,
    /// What could not be shown as it is, for the user.
    pub warnings: Vec<String>,
}

impl MemorySnapshot {
    /// Both blocks, for a system prompt; empty if there is nothing.
    pub fn text(&self) -> String {
        [&self.memory, &self.user].into_iter().flatten().cloned().collect::<Vec<_>>().join("\n\n")
    }
}

/// A heading and the entries. One that looks like an attack is left out, and said to be.
pub(crate) fn render_block(
    heading: &str,
    usage: &str,
    entries: &[String],
    archived: usize,
    warnings: &mut Vec<String>,
) -> Option<String> {
    if entries.is_empty() && archived == 0 {
        return None;
    }
    let shown: Vec<String> = entries
        .iter()
        .map(|entry| match scan(entry, ScanLevel::Strict).first() {
            Some(found) => {
                warnings.push(format!("An entry looks like {} and is not shown", found.id));
                format!("[BLOCKED: this entry looks like {}; it can be removed]", found.id)
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
            "\n({archived} more {entries} in the archive; the memory tool finds them by search.)"
        ));
    }
    Some(text)
}
