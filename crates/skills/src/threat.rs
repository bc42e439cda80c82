//! Detects prompt injections in the text of a skill before a model reads it.

use hermes_threats::{ScanLevel, scan};

/// Size of a scan window. It is smaller than the limit of one scan, so no text
/// is skipped.
const SCAN_WINDOW_BYTES: usize = 48 * 1024;
/// Overlap of windows, to catch text that spans a boundary.
const WINDOW_OVERLAP_BYTES: usize = 2 * 1024;

/// A threat found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillThreat {
    /// The rule that matched.
    pub rule: &'static str,
    /// The line, counted from 1.
    pub line: usize,
    /// The matched text, with invisible characters shown, truncated.
    pub excerpt: String,
}

/// Returns the first prompt injection found in a text.
pub(crate) fn find_threat(text: &str) -> Option<SkillThreat> {
    let mut start = 0;
    loop {
        let end = text.floor_char_boundary((start + SCAN_WINDOW_BYTES).min(text.len()));
        let window = text.get(start..end)?;
        if let Some(found) = scan(window, ScanLevel::Context).into_iter().next() {
            let within: String = window.chars().take(found.at).collect();
            let before = text.get(..start)?.matches('\n').count() + within.matches('\n').count();
            return Some(SkillThreat { rule: found.id, line: before + 1, excerpt: found.excerpt });
        }
        if end == text.len() {
            return None;
        }
        start = text.floor_char_boundary(end - WINDOW_OVERLAP_BYTES);
    }
}
