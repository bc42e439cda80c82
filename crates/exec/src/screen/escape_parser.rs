//! Splits program output into text and escape sequences.
//!
//! Text is drawn unchanged. A sequence is buffered until it is complete, to
//! reply at the position where it was sent. Strings (titles, images, queries)
//! end here: they draw nothing, and only a bounded prefix is kept.

use super::drawing::TerminalGrid;
use super::queries::{self, ControlSequence};

const BEL: u8 = 0x07;
const SHIFT_OUT: u8 = 0x0e;
const SHIFT_IN: u8 = 0x0f;
const CANCEL: u8 = 0x18;
const SUBSTITUTE: u8 = 0x1a;
const ESCAPE: u8 = 0x1b;
const DELETE: u8 = 0x7f;

/// Maximum length of a control sequence.
const MAX_CONTROL_BYTES: usize = 256;

/// Maximum bytes kept of a string.
const MAX_STRING_BYTES: usize = 2048;

/// Requests the emoji form of the preceding character. Programs count it as
/// zero columns (`wcwidth`), but the library would make that character two
/// columns wide, and fail where only one is left.
const EMOJI_SELECTOR: &[u8] = "\u{fe0f}".as_bytes();

/// DEC line drawing characters for `_` to `~`.
const LINE_DRAWING_CHARS: [char; 32] = [
    ' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─',
    '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ParserState {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and intermediate bytes.
    Intermediate,
    /// After ESC [.
    Control,
    /// After ESC ].
    Osc,
    /// After ESC P.
    Dcs,
    /// After ESC X, ESC ^ or ESC _: ignored.
    Ignored,
}

/// State of the parser.
#[derive(Debug, Default)]
pub(super) struct EscapeParser {
    state: ParserState,
    /// Bytes of the current sequence, without its introducer.
    pub(super) pending: Vec<u8>,
    overlong: bool,
    /// Whether G0 and G1 are the line drawing set.
    lines: [bool; 2],
    /// Whether G1 is in use.
    shifted: bool,
    /// Prefix of an incomplete UTF-8 character.
    partial_char: Vec<u8>,
}

impl EscapeParser {
    pub(super) fn feed(&mut self, bytes: &[u8], drawing: &mut TerminalGrid) {
        if self.partial_char.is_empty() {
            self.advance(bytes, drawing);
        } else {
            let mut joined = std::mem::take(&mut self.partial_char);
            joined.extend_from_slice(bytes);
            self.advance(&joined, drawing);
        }
    }

    fn advance(&mut self, bytes: &[u8], drawing: &mut TerminalGrid) {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            if self.state == ParserState::Text {
                rest = self.take_text(rest, drawing);
                continue;
            }
            rest = after;
            match byte {
                ESCAPE => self.escape(drawing),
                CANCEL | SUBSTITUTE => self.enter(ParserState::Text),
                _ => self.step(byte, drawing),
            }
        }
    }

    /// Draws up to the next byte that the parser handles, and returns the rest.
    fn take_text<'a>(&mut self, bytes: &'a [u8], drawing: &mut TerminalGrid) -> &'a [u8] {
        let end = memchr::memchr3(ESCAPE, SHIFT_OUT, SHIFT_IN, bytes).unwrap_or(bytes.len());
        let (mut text, rest) = bytes.split_at(end);
        if rest.is_empty() {
            let (whole, begun) = text.split_at(text.len() - incomplete_suffix_len(text));
            self.partial_char = begun.to_vec();
            text = whole;
        }
        let mut from = 0;
        for at in memchr::memmem::find_iter(text, EMOJI_SELECTOR) {
            self.draw(&text[from..at], drawing);
            from = at + EMOJI_SELECTOR.len();
        }
        self.draw(&text[from..], drawing);
        let Some((&byte, rest)) = rest.split_first() else { return rest };
        match byte {
            SHIFT_OUT => self.shifted = true,
            SHIFT_IN => self.shifted = false,
            _ => self.enter(ParserState::Escape),
        }
        rest
    }

    fn draw(&self, text: &[u8], drawing: &mut TerminalGrid) {
        // The library would join an incomplete character with the next input.
        let text = &text[..text.len() - incomplete_suffix_len(text)];
        if self.lines[usize::from(self.shifted)] {
            drawing.draw(&to_line_drawing(text));
        } else if !text.is_empty() {
            drawing.draw(text);
        }
    }

    fn enter(&mut self, state: ParserState) {
        self.state = state;
        self.pending.clear();
        self.overlong = false;
    }

    fn hold(&mut self, byte: u8, most: usize) {
        if self.pending.len() < most {
            self.pending.push(byte);
        } else {
            self.overlong = true;
        }
    }

    /// Handles ESC: it ends a string (the `\` that should follow adds nothing)
    /// and aborts any other sequence.
    fn escape(&mut self, drawing: &mut TerminalGrid) {
        match self.state {
            ParserState::Osc => self.finish_osc(b"\x1b\\", drawing),
            ParserState::Dcs => self.finish_dcs(drawing),
            _ => {}
        }
        self.enter(ParserState::Escape);
    }

    fn step(&mut self, byte: u8, drawing: &mut TerminalGrid) {
        match (self.state, byte) {
            (ParserState::Osc, BEL) => {
                self.finish_osc(b"\x07", drawing);
                self.enter(ParserState::Text);
            }
            (ParserState::Osc | ParserState::Dcs, _) => self.hold(byte, MAX_STRING_BYTES),
            (ParserState::Ignored, _) | (_, DELETE | 0x80..) => {}
            // Control characters take effect even within a sequence.
            (_, 0x00..0x20) => drawing.draw(&[byte]),
            (ParserState::Control, 0x40..) => {
                self.hold(byte, MAX_CONTROL_BYTES);
                self.finish_control(drawing);
                self.enter(ParserState::Text);
            }
            (ParserState::Control, _) => self.hold(byte, MAX_CONTROL_BYTES),
            (_, 0x20..0x30) => {
                self.hold(byte, MAX_CONTROL_BYTES);
                self.state = ParserState::Intermediate;
            }
            (ParserState::Escape, b'[') => self.enter(ParserState::Control),
            (ParserState::Escape, b']') => self.enter(ParserState::Osc),
            (ParserState::Escape, b'P') => self.enter(ParserState::Dcs),
            (ParserState::Escape, b'X' | b'^' | b'_') => self.enter(ParserState::Ignored),
            (_, last) => {
                self.finish_escape(last, drawing);
                self.enter(ParserState::Text);
            }
        }
    }

    /// Handles ESC, an optional intermediate byte, and a final byte.
    fn finish_escape(&mut self, last: u8, drawing: &mut TerminalGrid) {
        match (self.pending.as_slice(), last) {
            (b"(", set) => self.lines[0] = set == b'0',
            (b")", set) => self.lines[1] = set == b'0',
            (b"", b'D') => drawing.draw(b"\n"),
            (b"", b'E') => drawing.draw(b"\r\n"),
            (b"", b'Z') => drawing.queue_reply(queries::DEVICE_ATTRIBUTES),
            (b"", b'c') => {
                *self = Self::default();
                drawing.draw(b"\x1bc");
            }
            (b"", last) => drawing.draw(&[ESCAPE, last]),
            _ => {}
        }
    }

    fn finish_control(&mut self, drawing: &mut TerminalGrid) {
        if self.overlong {
            return;
        }
        let ours = ControlSequence::parse(&self.pending)
            .is_some_and(|sequence| drawing.handle_control(&sequence));
        if !ours {
            let mut whole = b"\x1b[".to_vec();
            whole.extend_from_slice(&self.pending);
            drawing.draw(&whole);
        }
    }

    fn finish_osc(&mut self, end: &[u8], drawing: &mut TerminalGrid) {
        let mut fields = self.pending.splitn(2, |byte| *byte == b';');
        match (fields.next(), fields.next()) {
            (Some(b"0" | b"2"), Some(title)) => drawing.set_title(title),
            (Some(what), Some(asked)) if !self.overlong => {
                for answer in queries::answer_osc(what, asked) {
                    drawing.queue_reply(&[b"\x1b]", answer.as_bytes(), end].concat());
                }
            }
            _ => {}
        }
    }

    fn finish_dcs(&mut self, drawing: &mut TerminalGrid) {
        if let Some(answer) = queries::answer_dcs(&self.pending) {
            drawing.queue_reply(answer);
        }
    }
}

/// Returns the length of an incomplete character at the end.
fn incomplete_suffix_len(text: &[u8]) -> usize {
    let begins = |count: &usize| {
        let end = &text[text.len() - count..];
        let error = std::str::from_utf8(end).err();
        error.is_some_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=text.len().min(3)).find(begins).unwrap_or(0)
}

fn to_line_drawing(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() * 3);
    for &byte in text {
        match LINE_DRAWING_CHARS.get(usize::from(byte).wrapping_sub(0x5f)) {
            Some(line) => out.extend_from_slice(line.encode_utf8(&mut [0; 4]).as_bytes()),
            None => out.push(byte),
        }
    }
    out
}
