//! Readable text out of what was meant for a terminal.

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
/// So far is looked for the next control character byte by byte.
const SHORT_SCAN_BYTES: usize = 16;
/// The first byte of the control characters U+0080 to U+009F.
const C1_LEAD_BYTE: u8 = 0xC2;

/// Text for people and models: colours and other orders to a terminal are
/// gone, a line that was written over reads as a terminal would show it, and
/// what is not UTF-8 is U+FFFD.
///
/// Each line is cleaned by itself: there are as many line ends in the result
/// as in `bytes`, and an order that is not finished ends with its line. The
/// control characters that are left are the line end and the tab.
pub fn clean(bytes: &[u8]) -> String {
    let mut cleaner = OutputCleaner::default();
    let mut text = cleaner.feed(bytes);
    cleaner.close(&mut text);
    text
}

/// [`clean`] for bytes that come bit by bit.
///
/// What [`feed`](Self::feed) and [`finish`](Self::finish) return is, put
/// together, what `clean` makes of all the bytes, wherever they were divided:
/// within a character, an order, or a line that is written over. For this,
/// `feed` holds the last line back until it is finished, or is so long
/// (16 KiB) that nobody would write over it; this holds for `clean` as well.
/// Who cannot wait for the line end looks at it with
/// [`unfinished`](Self::unfinished) or takes it with [`flush`](Self::flush).
#[derive(Debug, Default)]
pub struct OutputCleaner {
    line: TerminalLine,
    state: CleanerState,
    /// The beginning of a character.
    partial: PartialChar,
    /// The last that came has parted words, and more of it says nothing more.
    follows_separator: bool,
}

/// The bytes of a character whose end has not come yet.
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
    /// After ESC and signs that are followed by one more.
    Intermediate,
    /// After ESC `[`.
    Csi(CsiSequence),
    /// Words for the terminal, as its title, up to ESC `\`.
    StringSequence { end_at_bell: bool },
}

/// What ESC `[` has brought so far.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct CsiSequence {
    /// The first number.
    number: Option<u32>,
    has_more_numbers: bool,
    /// There are signs that give it a meaning of its own.
    is_private: bool,
}

impl OutputCleaner {
    /// A cleaner that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes; returns the text that will not change any more.
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

    /// The line that is not finished, as it looks now.
    pub fn unfinished(&self) -> String {
        let mut text = String::new();
        self.line.show(&mut text);
        text
    }

    /// Takes the line that is not finished. What comes later on the same line
    /// is a line of its own, which cannot write over the text given out here.
    pub fn flush(&mut self) -> String {
        let mut text = String::new();
        self.line.end(&mut text);
        text
    }

    /// Ends the input: returns what was held back. Half a character is U+FFFD,
    /// half an order is nothing.
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

    /// Whether the input so far ends within an order.
    pub(super) fn is_in_sequence(&self) -> bool {
        self.state != CleanerState::Text
    }

    /// Takes text, or one control character. Returns what is left.
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
        // A device may send millions of the same: they are taken at once.
        let count = bytes.iter().take_while(|&&byte| byte == control).count();
        match control {
            ESC => self.state = CleanerState::Escape,
            b'\r' => self.line.go_home(),
            BACKSPACE => self.line.go_left(count),
            // They part words, and neither ends a line.
            VERTICAL_TAB | FORM_FEED if !self.follows_separator => self.line.print(" ", out),
            _ => {}
        }
        self.follows_separator = matches!(control, VERTICAL_TAB | FORM_FEED);
        &bytes[count..]
    }

    /// Goes on with a character that has begun.
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

    /// Takes a run without control characters.
    fn decode(&mut self, run: &[u8], is_last: bool, out: &mut String) {
        let mut rest = run;
        loop {
            let error = match str::from_utf8(rest) {
                Ok(text) => return self.write(text, out),
                Err(error) => error,
            };
            let (valid, broken) = rest.split_at(error.valid_up_to());
            self.write(str::from_utf8(valid).unwrap_or_default(), out);
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

    /// Takes characters, of which some may still be control characters of two
    /// bytes.
    fn write(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        let mut from = 0;
        while let Some(found) = memchr(C1_LEAD_BYTE, &rest.as_bytes()[from..]) {
            let at = from + found;
            from = at + 2;
            if rest[at..].starts_with(|next: char| next.is_control()) {
                self.write_lines(&rest[..at], out);
                rest = &rest[from..];
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
            // Nothing can be written over in whole lines that follow.
            if let Some(end) = memrchr(b'\n', rest.as_bytes()) {
                out.push_str(&rest[..=end]);
                rest = &rest[end + 1..];
            }
        }
        self.line.print(rest, out);
    }

    /// Takes bytes of an order to the terminal. Returns what is left after it.
    fn take_sequence<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        for (at, &byte) in bytes.iter().enumerate() {
            let is_taken = self.step(byte);
            if self.state == CleanerState::Text {
                return &bytes[at + usize::from(is_taken)..];
            }
        }
        &[]
    }

    /// One byte of an order; says whether it belongs to it.
    fn step(&mut self, byte: u8) -> bool {
        let was = mem::take(&mut self.state);
        self.state = match (was, byte) {
            (_, ESC) => CleanerState::Escape,
            (_, CAN | SUB) => CleanerState::Text,
            (_, b'\n') => return false,
            (CleanerState::StringSequence { end_at_bell: true }, BEL) => CleanerState::Text,
            (CleanerState::StringSequence { .. }, _) => was,
            // Neither a carriage return nor text is ever part of one.
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

    /// Does what an order says, if it is about the line.
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

/// How many bytes come before the first control character that is neither a
/// line end nor a tab.
fn text_run(bytes: &[u8]) -> usize {
    let is_control = |byte: u8| (byte < b' ' && byte != b'\n' && byte != b'\t') || byte == DELETE;
    // Where control characters are thick, whole blocks would be read in vain.
    let near = bytes.iter().take(SHORT_SCAN_BYTES).position(|&byte| is_control(byte));
    if let Some(at) = near {
        return at;
    }
    let mut at = 0;
    // Whole blocks without a branch for each byte: the compiler makes vector
    // code of it.
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
