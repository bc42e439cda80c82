//! Converts terminal output into readable text.

use std::mem;
use std::str;

use memchr::{memchr, memrchr};

use super::line::TerminalLine;

const ESC: u8 = 0x1B;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1A;
const BEL: u8 = 0x07;
const BACKSPACE: u8 = 0x08;
const VERTICAL_TAB: u8 = 0x0B;
const FORM_FEED: u8 = 0x0C;
const DELETE: u8 = 0x7F;
/// Bytes to scan one by one for the next control character.
const SHORT_SCAN_BYTES: usize = 16;
/// The first byte of the control characters U+0080 to U+009F.
const C1_LEAD_BYTE: u8 = 0xC2;
/// Begins a CSI sequence, like ESC `[`.
const C1_CSI: char = '\u{9B}';

/// Converts terminal output into text for users and models: removes colours and
/// other escape sequences, shows overwritten lines as a terminal would, and
/// replaces invalid UTF-8 by U+FFFD.
///
/// Each line is cleaned separately: the result has as many newlines as `bytes`,
/// and an unfinished escape sequence ends with its line. The only control
/// characters left are newline and tab.
pub fn clean(bytes: &[u8]) -> String {
    let mut cleaner = OutputCleaner::default();
    let mut text = cleaner.feed(bytes);
    cleaner.close(&mut text);
    text
}

/// [`clean`] for bytes that arrive in pieces.
///
/// The concatenated results of [`feed`](Self::feed) and
/// [`finish`](Self::finish) equal `clean` of all the bytes, wherever they were
/// split: within a character, an escape sequence, or an overwritten line. To
/// achieve this, `feed` holds the last line back until it is finished or longer
/// than 16 KiB, beyond which overwriting is not supported; this applies to
/// `clean` as well. A caller that cannot wait for the newline peeks at the line
/// with [`unfinished`](Self::unfinished) or takes it with
/// [`flush`](Self::flush).
#[derive(Debug, Default)]
pub struct OutputCleaner {
    line: TerminalLine,
    state: CleanerState,
    /// The first bytes of an incomplete character.
    partial: PartialChar,
    /// Whether the last input was a separator, so further ones are dropped.
    follows_separator: bool,
}

/// The bytes of an incomplete character.
#[derive(Debug, Default)]
struct PartialChar {
    bytes: [u8; 4],
    len: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum CleanerState {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and intermediate bytes.
    Intermediate,
    /// After ESC `[`.
    Csi(CsiSequence),
    /// A string such as the terminal's title, up to ESC `\`.
    StringSequence { end_at_bell: bool },
}

/// A CSI sequence read so far.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct CsiSequence {
    /// The first parameter.
    number: Option<u32>,
    has_more_numbers: bool,
    /// Whether it has private or intermediate bytes.
    is_private: bool,
}

impl OutputCleaner {
    /// Creates a cleaner without input.
    pub fn new() -> Self {
        Self::default()
    }

    /// Processes the next bytes; returns the text that is final.
    pub fn feed(&mut self, bytes: &[u8]) -> String {
        let mut out = String::with_capacity(bytes.len());
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = match self.state {
                CleanerState::Text => self.take_text(rest, &mut out),
                _ => self.take_sequence(rest),
            };
        }
        out
    }

    /// Returns the unfinished line in its current form.
    pub fn unfinished(&self) -> String {
        let mut text = String::new();
        self.line.show(&mut text);
        text
    }

    /// Takes the unfinished line. Later text on the same line starts a separate
    /// line, and cannot overwrite the text returned here.
    pub fn flush(&mut self) -> String {
        let mut text = String::new();
        self.line.end(&mut text);
        text
    }

    /// Ends the input and returns what was held back. An incomplete character
    /// becomes U+FFFD; an incomplete escape sequence is dropped.
    pub fn finish(mut self) -> String {
        let mut text = String::new();
        self.close(&mut text);
        text
    }

    fn close(&mut self, out: &mut String) {
        if mem::take(&mut self.partial).len > 0 {
            self.line.print("\u{FFFD}", out);
        }
        self.line.end(out);
    }

    /// Whether the input so far ends within an escape sequence.
    pub(super) fn is_in_sequence(&self) -> bool {
        self.state != CleanerState::Text
    }

    /// Processes text, or one run of a control character. Returns the remaining
    /// bytes.
    fn take_text<'a>(&mut self, bytes: &'a [u8], out: &mut String) -> &'a [u8] {
        if self.partial.len > 0 {
            return self.take_partial(bytes, out);
        }
        let run = text_run(bytes);
        if run > 0 {
            let (text, rest) = bytes.split_at(run);
            self.follows_separator = false;
            self.decode(text, rest.is_empty(), out);
            return rest;
        }
        let Some(&control) = bytes.first() else { return bytes };
        // A device may send millions of the same byte, so process them at once.
        let count = bytes.iter().take_while(|&&byte| byte == control).count();
        match control {
            ESC => self.state = CleanerState::Escape,
            b'\r' => self.line.go_home(),
            BACKSPACE => self.line.go_left(count),
            // They separate words, but end no line.
            VERTICAL_TAB | FORM_FEED if !self.follows_separator => self.line.print(" ", out),
            _ => {}
        }
        self.follows_separator = matches!(control, VERTICAL_TAB | FORM_FEED);
        &bytes[count..]
    }

    /// Continues an incomplete character.
    fn take_partial<'a>(&mut self, bytes: &'a [u8], out: &mut String) -> &'a [u8] {
        let Some((&next, rest)) = bytes.split_first() else { return bytes };
        let PartialChar { bytes: mut begun, len } = mem::take(&mut self.partial);
        let Some(free) = begun.get_mut(len) else { return bytes };
        *free = next;
        match str::from_utf8(&begun[..=len]) {
            Ok(character) => self.write(character, out),
            Err(error) if error.error_len().is_none() => {
                self.partial = PartialChar { bytes: begun, len: len + 1 };
            }
            Err(_) => {
                self.line.print("\u{FFFD}", out);
                return bytes;
            }
        }
        rest
    }

    /// Decodes a run without control characters.
    fn decode(&mut self, run: &[u8], is_last: bool, out: &mut String) {
        let mut rest = run;
        loop {
            let error = match str::from_utf8(rest) {
                Ok(text) => return self.write(text, out),
                Err(error) => error,
            };
            let (valid, broken) = rest.split_at(error.valid_up_to());
            self.write(str::from_utf8(valid).unwrap_or_default(), out);
            // No sequence has such bytes.
            self.state = CleanerState::Text;
            match error.error_len() {
                None if is_last => {
                    let len = broken.len().min(4);
                    self.partial.bytes[..len].copy_from_slice(&broken[..len]);
                    self.partial.len = len;
                    return;
                }
                None => return self.line.print("\u{FFFD}", out),
                Some(len) => {
                    self.line.print("\u{FFFD}", out);
                    rest = &broken[len..];
                }
            }
        }
    }

    /// Writes text that may still contain two-byte control characters, and
    /// the sequences that they begin.
    fn write(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        let mut from = 0;
        while let Some(found) = memchr(C1_LEAD_BYTE, &rest.as_bytes()[from..]) {
            let at = from + found;
            from = at + 2;
            if rest[at..].starts_with(|next: char| next.is_control()) {
                self.write_lines(&rest[..at], out);
                let is_csi = rest[at..].starts_with(C1_CSI);
                rest = &rest[from..];
                if is_csi {
                    self.state = CleanerState::Csi(CsiSequence::default());
                    let after = self.take_sequence(rest.as_bytes()).len();
                    rest = rest.get(rest.len() - after..).unwrap_or_default();
                }
                from = 0;
            }
        }
        self.write_lines(rest, out);
    }

    fn write_lines(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        if let Some(end) = memchr(b'\n', rest.as_bytes()) {
            self.line.print(&rest[..end], out);
            self.line.end(out);
            out.push('\n');
            rest = &rest[end + 1..];
            // The whole lines that follow cannot be overwritten.
            if let Some(end) = memrchr(b'\n', rest.as_bytes()) {
                out.push_str(&rest[..=end]);
                rest = &rest[end + 1..];
            }
        }
        self.line.print(rest, out);
    }

    /// Processes the bytes of an escape sequence. Returns the bytes after it.
    fn take_sequence<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        for (at, &byte) in bytes.iter().enumerate() {
            let is_taken = self.step(byte);
            if self.state == CleanerState::Text {
                return &bytes[at + usize::from(is_taken)..];
            }
        }
        &[]
    }

    /// Processes one byte of an escape sequence; returns whether the byte
    /// belongs to it.
    fn step(&mut self, byte: u8) -> bool {
        let was = mem::take(&mut self.state);
        self.state = match (was, byte) {
            (_, ESC) => CleanerState::Escape,
            (_, CAN | SUB) => CleanerState::Text,
            (_, b'\n') => return false,
            (CleanerState::StringSequence { end_at_bell: true }, BEL) => CleanerState::Text,
            (CleanerState::StringSequence { .. }, _) => was,
            // Neither a carriage return nor text is part of an escape sequence.
            (_, b'\r' | BACKSPACE | 0x80..) => return false,
            (_, 0..0x20 | DELETE) => was,
            (CleanerState::Escape, b'[') => CleanerState::Csi(CsiSequence::default()),
            (CleanerState::Escape, b']') => CleanerState::StringSequence { end_at_bell: true },
            (CleanerState::Escape, b'P' | b'X' | b'^' | b'_') => {
                CleanerState::StringSequence { end_at_bell: false }
            }
            (CleanerState::Escape | CleanerState::Intermediate, b' '..=b'/') => {
                CleanerState::Intermediate
            }
            (CleanerState::Csi(mut order), b' '..=b'?') => {
                order.take(byte);
                CleanerState::Csi(order)
            }
            (CleanerState::Csi(order), _) => {
                self.apply(order, byte);
                CleanerState::Text
            }
            (CleanerState::Text | CleanerState::Escape | CleanerState::Intermediate, _) => {
                CleanerState::Text
            }
        };
        true
    }

    /// Applies a CSI sequence that affects the line.
    fn apply(&mut self, order: CsiSequence, name: u8) {
        if order.is_private {
            return;
        }
        let which = order.number.unwrap_or(0);
        let count = usize::try_from(which.max(1)).unwrap_or(usize::MAX);
        match (name, which) {
            (b'K' | b'J', 0) => self.line.erase_right(),
            (b'K', 1) => self.line.erase_left(),
            (b'K', 2) => self.line.erase(),
            (b'G' | b'`', _) => self.line.go_to(count - 1),
            (b'C' | b'a', _) => self.line.go_right(count),
            (b'D', _) => self.line.go_left(count),
            (b'P', _) => self.line.delete(count),
            (b'X', _) => self.line.blank(count),
            (b'@', _) => self.line.insert(count),
            _ => {}
        }
    }
}

impl CsiSequence {
    fn take(&mut self, byte: u8) {
        match byte {
            b'0'..=b'9' if !self.has_more_numbers => {
                let before = self.number.unwrap_or(0).saturating_mul(10);
                self.number = Some(before.saturating_add(u32::from(byte - b'0')));
            }
            b'0'..=b'9' => {}
            b';' | b':' => self.has_more_numbers = true,
            _ => self.is_private = true,
        }
    }
}

/// Returns the number of bytes before the first control character other than
/// newline and tab.
fn text_run(bytes: &[u8]) -> usize {
    let is_control = |byte: u8| (byte < b' ' && byte != b'\n' && byte != b'\t') || byte == DELETE;
    // Where control characters are frequent, scanning whole blocks is wasteful.
    let near = bytes.iter().take(SHORT_SCAN_BYTES).position(|&byte| is_control(byte));
    if let Some(at) = near {
        return at;
    }
    let mut at = 0;
    // Whole blocks without a branch per byte, so the compiler can vectorize it.
    for block in bytes.chunks(64) {
        if block.iter().fold(false, |found, &byte| found | is_control(byte)) {
            return at + block.iter().position(|&byte| is_control(byte)).unwrap_or(block.len());
        }
        at += block.len();
    }
    at
}

#[cfg(test)]
#[path = "clean_tests.rs"]
mod tests;
