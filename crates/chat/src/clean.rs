//! Text of strangers, made harmless for a terminal.
//!
//! Escape sequences are taken out whole, also when they come in pieces; control characters, marks
//! that turn the direction of writing, and characters that nobody can see are left out. What stays
//! can only ever be seen.

/// Past this many characters a sequence that does not end was none.
const LONGEST_SEQUENCE: usize = 4096;

/// Cleans a stream of pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cleaner {
    state: State,
    swallowed: usize,
    after_return: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// `ESC [` and its parameters.
    Control,
    /// `ESC ]` and the like: a text that BEL or ST ends.
    Command,
    /// ESC inside such a text.
    CommandEscape,
}

impl Cleaner {
    /// Appends what is harmless in `piece` to `clean`. Line ends become `\n`; tabs stay.
    pub(crate) fn push(&mut self, piece: &str, clean: &mut String) {
        clean.reserve(piece.len());
        for c in piece.chars() {
            match self.state {
                State::Text => self.text(c, clean),
                State::Escape => self.escape(c, clean),
                State::Control => self.control(c, clean),
                State::Command | State::CommandEscape => self.command(c, clean),
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
            '\x1b' => self.enter(State::Escape),
            '\u{9b}' => self.enter(State::Control),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => self.enter(State::Command),
            c if is_harmless(c) => clean.push(c),
            _ => {}
        }
    }

    fn escape(&mut self, c: char, clean: &mut String) {
        match c {
            '[' => self.enter(State::Control),
            ']' | 'P' | 'X' | '^' | '_' => self.enter(State::Command),
            // Intermediate characters; the final one follows.
            ' '..='/' => {}
            '0'..='~' => self.enter(State::Text),
            '\x1b' => {}
            c => self.give_up(c, clean),
        }
    }

    fn control(&mut self, c: char, clean: &mut String) {
        self.swallowed += 1;
        match c {
            '@'..='~' => self.enter(State::Text),
            ' '..='?' if self.swallowed < LONGEST_SEQUENCE => {}
            c => self.give_up(c, clean),
        }
    }

    fn command(&mut self, c: char, clean: &mut String) {
        self.swallowed += 1;
        match c {
            '\x07' | '\u{9c}' => self.enter(State::Text),
            '\\' if self.state == State::CommandEscape => self.enter(State::Text),
            '\x1b' => self.state = State::CommandEscape,
            '\n' | '\r' => self.give_up(c, clean),
            _ if self.swallowed < LONGEST_SEQUENCE => self.state = State::Command,
            c => self.give_up(c, clean),
        }
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.swallowed = 0;
    }

    fn give_up(&mut self, c: char, clean: &mut String) {
        self.enter(State::Text);
        self.text(c, clean);
    }
}

/// The whole of a text, made harmless for a terminal: without escape sequences, control characters,
/// marks that turn the direction of writing, and characters that nobody can see.
pub fn clean(text: &str) -> String {
    let mut clean = String::new();
    Cleaner::default().push(text, &mut clean);
    clean
}

/// A text for one row: line ends and tabs are spaces, and many of them are one.
pub(crate) fn one_line(text: &str) -> String {
    let mut row = String::new();
    for word in clean(text).split_whitespace() {
        if !row.is_empty() {
            row.push(' ');
        }
        row.push_str(word);
    }
    row
}

/// Whether a character may be shown as it is.
pub(crate) fn is_harmless(c: char) -> bool {
    !matches!(c,
        '\0'..='\x1f' | '\x7f'..='\u{9f}'
        // Soft hyphen: terminals disagree on its width.
        | '\u{ad}'
        // Direction of writing: embeddings, overrides, isolates, and the Arabic letter mark.
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
        // Invisible: zero width space, word joiner and operators, byte order mark, annotations.
        | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{2028}' | '\u{2029}'
        // Tags, by which text is hidden from people; and what this crate itself uses.
        | '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..='\u{10ffff}')
}

#[cfg(test)]
#[path = "clean_tests.rs"]
mod tests;
