//! Makes untrusted text safe for a terminal.
//!
//! Removes whole escape sequences, even when split across pieces, control
//! characters, bidirectional formatting characters, and invisible characters.
//! What remains can only be displayed.

/// A sequence longer than this is not an escape sequence.
const MAX_ESCAPE_CHARS: usize = 4096;

/// Sanitizes a stream of text.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextSanitizer {
    state: SanitizerState,
    skipped: usize,
    after_return: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SanitizerState {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// `ESC [` and its parameters.
    Csi,
    /// `ESC ]` and similar: a string terminated by BEL or ST.
    Osc,
    /// ESC inside such a string.
    OscEscape,
}

impl TextSanitizer {
    /// Appends the safe part of `piece` to `clean`. Line breaks become `\n`;
    /// tabs are kept.
    pub(crate) fn push(&mut self, piece: &str, clean: &mut String) {
        clean.reserve(piece.len());
        for c in piece.chars() {
            match self.state {
                SanitizerState::Text => self.text(c, clean),
                SanitizerState::Escape => self.escape(c, clean),
                SanitizerState::Csi => self.csi(c, clean),
                SanitizerState::Osc | SanitizerState::OscEscape => self.osc(c, clean),
            }
        }
    }

    fn text(&mut self, c: char, clean: &mut String) {
        let after_return = std::mem::take(&mut self.after_return);
        match c {
            '\n' if after_return => {}
            '\n' | '\t' => clean.push(c),
            '\r' => {
                self.after_return = true;
                clean.push('\n');
            }
            '\u{2028}' | '\u{2029}' | '\u{b}' | '\u{c}' | '\u{85}' => clean.push('\n'),
            '\x1b' => self.enter(SanitizerState::Escape),
            '\u{9b}' => self.enter(SanitizerState::Csi),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => self.enter(SanitizerState::Osc),
            c if is_displayable(c) => clean.push(c),
            _ => {}
        }
    }

    fn escape(&mut self, c: char, clean: &mut String) {
        match c {
            '[' => self.enter(SanitizerState::Csi),
            ']' | 'P' | 'X' | '^' | '_' => self.enter(SanitizerState::Osc),
            // Intermediate characters; the final one follows.
            ' '..='/' => {}
            '0'..='~' => self.enter(SanitizerState::Text),
            '\x1b' => {}
            c => self.abandon_sequence(c, clean),
        }
    }

    fn csi(&mut self, c: char, clean: &mut String) {
        self.skipped += 1;
        match c {
            '@'..='~' => self.enter(SanitizerState::Text),
            ' '..='?' if self.skipped < MAX_ESCAPE_CHARS => {}
            c => self.abandon_sequence(c, clean),
        }
    }

    fn osc(&mut self, c: char, clean: &mut String) {
        self.skipped += 1;
        match c {
            '\x07' | '\u{9c}' => self.enter(SanitizerState::Text),
            '\\' if self.state == SanitizerState::OscEscape => self.enter(SanitizerState::Text),
            '\x1b' => self.state = SanitizerState::OscEscape,
            '\n' | '\r' => self.abandon_sequence(c, clean),
            _ if self.skipped < MAX_ESCAPE_CHARS => self.state = SanitizerState::Osc,
            c => self.abandon_sequence(c, clean),
        }
    }

    fn enter(&mut self, state: SanitizerState) {
        self.state = state;
        self.skipped = 0;
    }

    fn abandon_sequence(&mut self, c: char, clean: &mut String) {
        self.enter(SanitizerState::Text);
        self.text(c, clean);
    }
}

/// Makes a text safe for a terminal: removes escape sequences, control
/// characters, bidirectional formatting characters, and invisible characters.
pub fn sanitize(text: &str) -> String {
    let mut clean = String::new();
    TextSanitizer::default().push(text, &mut clean);
    clean
}

/// Sanitizes a text for one row, collapsing whitespace and line breaks to
/// single spaces.
pub(crate) fn one_line(text: &str) -> String {
    let mut row = String::new();
    for word in sanitize(text).split_whitespace() {
        if !row.is_empty() {
            row.push(' ');
        }
        row.push_str(word);
    }
    row
}

/// Whether a character may be shown unchanged.
pub(crate) fn is_displayable(c: char) -> bool {
    !matches!(c,
        '\0'..='\x1f' | '\x7f'..='\u{9f}'
        // Soft hyphen: terminals disagree on its width.
        | '\u{ad}'
        // Bidirectional formatting: embeddings, overrides, isolates, and the
        // Arabic letter mark.
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
        // Invisible: zero width space, word joiner and operators, byte order mark, annotations.
        | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{2028}' | '\u{2029}'
        // Tag characters, which can hide text from users, and private-use
        // characters, which this crate uses as tokens.
        | '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..='\u{10ffff}')
}

#[cfg(test)]
#[path = "sanitize_tests.rs"]
mod tests;
