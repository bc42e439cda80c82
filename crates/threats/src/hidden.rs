//! Invisible characters, and the messages encoded in them.

use crate::finding::ThreatCategory;
use crate::scan::FindingCollector;

/// Minimum length of a message in invisible characters.
const MIN_MESSAGE_CHARS: usize = 4;

/// Text encoded in invisible characters, and its position.
#[derive(Debug)]
pub(crate) struct HiddenMessage {
    pub(crate) text: String,
    pub(crate) at: usize,
}

/// Whether `c` has no visible glyph.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(
        u32::from(c),
        0xad | 0x34f
            | 0x61c
            | 0x115f
            | 0x1160
            | 0x17b4
            | 0x17b5
            | 0x180b..=0x180f
            | 0x200b..=0x200f
            | 0x2060..=0x2064
            | 0x206a..=0x206f
            | 0x3164
            | 0xfe00..=0xfe0f
            | 0xfeff
            | 0xffa0
            | 0x1d173..=0x1d17a
            | 0xe0000..=0xe0fff
    )
}

/// Whether `c` is invisible or reorders the text around it.
pub fn is_hidden(c: char) -> bool {
    is_invisible(c) || is_bidi(c)
}

/// Whether `c` changes the text direction.
pub(crate) fn is_bidi(c: char) -> bool {
    matches!(u32::from(c), 0x202a..=0x202e | 0x2066..=0x2069)
}

/// Reports hidden characters in a text and returns the messages encoded in
/// them.
pub(crate) fn find_hidden(text: &str, report: &mut FindingCollector<'_>) -> Vec<HiddenMessage> {
    let mut runs = InvisibleRuns::default();
    let mut before = None;
    for (at, c) in text.chars().enumerate() {
        if is_bidi(c) {
            report.add("bidi-override", ThreatCategory::Concealment, at, at + 1);
        }
        if is_invisible(c) {
            runs.grow(c, at, before);
        } else {
            runs.close(at, Some(c), report);
            before = Some(c);
        }
    }
    runs.close(text.chars().count(), None, report);
    runs.messages
}

#[derive(Default)]
struct InvisibleRuns {
    start: usize,
    /// The character before the run.
    before: Option<char>,
    /// Number of joiners, fillers and the like. Marks that belong to the normal
    /// spelling of a script or an emoji do not count.
    blank: usize,
    tags: String,
    selectors: Vec<u8>,
    /// The last joiner, filler or the like.
    last: Option<char>,
    any: bool,
    messages: Vec<HiddenMessage>,
}

impl InvisibleRuns {
    fn grow(&mut self, c: char, at: usize, before: Option<char>) {
        if !self.any {
            (self.any, self.start, self.before) = (true, at, before);
        }
        match u32::from(c) {
            code @ 0xe0000..=0xe007f => {
                let plain = u8::try_from(code - 0xe0000).unwrap_or(b'?');
                self.tags.push(if (0x20..0x7f).contains(&plain) { plain.into() } else { ' ' });
            }
            code @ 0xfe00..=0xfe0f => self.selectors.extend(u8::try_from(code - 0xfe00)),
            code @ 0xe0100..=0xe01ef => self.selectors.extend(u8::try_from(code - 0xe0100 + 16)),
            // Direction marks are normal in right-to-left text, and soft
            // hyphens in typeset pages.
            0xad | 0x200e | 0x200f | 0x61c | 0x180b..=0x180d | 0x180f => {}
            _ => {
                self.blank += 1;
                self.last = Some(c);
            }
        }
    }

    fn close(&mut self, end: usize, after: Option<char>, report: &mut FindingCollector<'_>) {
        if !self.any {
            return;
        }
        // Regional flags are a black flag followed by tags.
        let flag = self.before == Some('\u{1f3f4}') && self.tags.chars().count() <= 8;
        let tags = !self.tags.is_empty() && !flag;
        let is_stray = self.last.is_some_and(|c| !is_spelling(c, self.before, after));
        if tags || self.blank > 1 || self.selectors.len() > 1 || is_stray {
            report.add("invisible-characters", ThreatCategory::Concealment, self.start, end);
        }
        if self.tags.len() >= MIN_MESSAGE_CHARS && !flag {
            self.messages
                .push(HiddenMessage { text: std::mem::take(&mut self.tags), at: self.start });
        }
        if self.selectors.len() >= MIN_MESSAGE_CHARS {
            let text = String::from_utf8_lossy(&self.selectors).into_owned();
            self.messages.push(HiddenMessage { text, at: self.start });
        }
        self.tags.clear();
        self.selectors.clear();
        (self.any, self.blank, self.last) = (false, 0, None);
    }
}

/// Whether a single invisible character belongs to the spelling of the text
/// around it.
fn is_spelling(c: char, before: Option<char>, after: Option<char>) -> bool {
    let is_other_script = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && !is_latin(c));
    match c {
        // A mark at the beginning of a file, also of one that was appended.
        '\u{feff}' => matches!(before, None | Some('\n')),
        // Operators of formulas, which no text needs.
        '\u{2061}'..='\u{2064}' => false,
        // Joiners and breaks of scripts and emoji.
        _ => is_other_script(before) || is_other_script(after),
    }
}

/// Whether `c` is a Latin letter or punctuation used with them.
fn is_latin(c: char) -> bool {
    matches!(c, '\u{a0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' | '\u{2010}'..='\u{205e}')
}
