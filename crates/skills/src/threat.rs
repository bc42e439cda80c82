//! Text of a skill that is aimed at the reader: found before anybody reads it.

use hermes_threats::{ScanLevel, scan};

/// So many bytes are looked at together. Less than what one scan reads of a text, so that nothing in between
/// is left out.
const SCAN_WINDOW_BYTES: usize = 48 * 1024;
/// What is said across the edge of a window is in the next one as well.
const WINDOW_OVERLAP_BYTES: usize = 2 * 1024;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillThreat {
    /// The rule that it meets.
    pub rule: &'static str,
    /// The line, from 1.
    pub line: usize,
    /// The place, made visible and cut short.
    pub excerpt: String,
}

/// The first thing in a text that looks like an attack on its reader.
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
