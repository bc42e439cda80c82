//! Parses terminal input as keys and pastes.

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyCode {
    Char(char),
    Enter,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    PageUp,
    PageDown,
    Escape,
}

/// A key with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyPress {
    pub(crate) code: KeyCode,
    pub(crate) ctrl: bool,
    pub(crate) alt: bool,
    pub(crate) shift: bool,
}

impl KeyPress {
    pub(crate) const fn plain(code: KeyCode) -> Self {
        Self { code, ctrl: false, alt: false, shift: false }
    }

    pub(crate) const fn ctrl(c: char) -> Self {
        Self { code: KeyCode::Char(c), ctrl: true, alt: false, shift: false }
    }
}

/// An input event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TerminalInput {
    Key(KeyPress),
    Paste(String),
}

/// Maximum size of a paste; the excess is dropped.
const MAX_PASTE_BYTES: usize = 16 << 20;
/// Longer sequences are treated as malformed.
const MAX_SEQUENCE_BYTES: usize = 64;
const PASTE_END: &[u8] = b"\x1b[201~";

/// Incremental parser of terminal input.
#[derive(Debug, Default)]
pub(crate) struct KeyParser {
    buffer: Vec<u8>,
    paste: Option<Vec<u8>>,
}

enum ParseStep {
    /// This many bytes were consumed; they may encode a key.
    Read(usize, Option<KeyPress>),
    /// A paste starts after this many bytes.
    Paste(usize),
    /// More input is needed.
    More,
}

impl KeyParser {
    /// Whether bytes are buffered because more may follow.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.buffer.is_empty() || self.paste.is_some()
    }

    pub(crate) fn is_pasting(&self) -> bool {
        self.paste.is_some()
    }

    pub(crate) fn push(&mut self, bytes: &[u8], inputs: &mut Vec<TerminalInput>) {
        let mut rest = bytes.to_vec();
        loop {
            if self.paste.is_some() {
                let Some((text, read)) = self.take_paste(&rest) else { return };
                inputs.push(TerminalInput::Paste(text));
                rest.drain(..read);
            }
            self.buffer.append(&mut rest);
            let mut at = 0;
            let begins_paste = loop {
                match parse_step(self.buffer.get(at..).unwrap_or_default()) {
                    ParseStep::Read(length, key) => {
                        inputs.extend(key.map(TerminalInput::Key));
                        at += length;
                    }
                    ParseStep::Paste(length) => break Some(at + length),
                    ParseStep::More => break None,
                }
            };
            let Some(from) = begins_paste else {
                self.buffer.drain(..at);
                return;
            };
            rest = self.buffer.split_off(from);
            self.buffer.clear();
            self.paste = Some(Vec::new());
        }
    }

    /// Emits buffered bytes after a timeout.
    pub(crate) fn flush(&mut self, inputs: &mut Vec<TerminalInput>) {
        if let Some(paste) = self.paste.take() {
            inputs.push(TerminalInput::Paste(String::from_utf8_lossy(&paste).into_owned()));
        }
        let held = std::mem::take(&mut self.buffer);
        if let Some((b'\x1b', rest)) = held.split_first() {
            inputs.push(TerminalInput::Key(KeyPress::plain(KeyCode::Escape)));
            // `ESC [` alone is Alt and a bracket, which is not bound.
            if rest.len() > 1 {
                self.push(rest, inputs);
            }
        }
    }

    /// Returns the paste and how many of the bytes belong to it, once its end
    /// has arrived.
    fn take_paste(&mut self, bytes: &[u8]) -> Option<(String, usize)> {
        let paste = self.paste.as_mut()?;
        // The end marker may span two reads.
        let before = paste.len();
        let from = before.saturating_sub(PASTE_END.len());
        paste.extend_from_slice(bytes);
        let found = paste
            .get(from..)
            .and_then(|tail| tail.windows(PASTE_END.len()).position(|part| part == PASTE_END));
        match found {
            Some(at) => {
                let end = from + at;
                let read = (end + PASTE_END.len()).saturating_sub(before);
                paste.truncate(end);
                let text = String::from_utf8_lossy(paste).into_owned();
                self.paste = None;
                Some((text, read))
            }
            None => {
                if paste.len() > MAX_PASTE_BYTES {
                    let tail = paste.split_off(paste.len() - PASTE_END.len());
                    paste.truncate(MAX_PASTE_BYTES - PASTE_END.len());
                    paste.extend_from_slice(&tail);
                }
                None
            }
        }
    }
}

fn parse_step(bytes: &[u8]) -> ParseStep {
    match bytes {
        [] => ParseStep::More,
        [0x1b, rest @ ..] => parse_escape(rest),
        [byte @ 0x20..=0x7e, ..] => {
            ParseStep::Read(1, Some(KeyPress::plain(KeyCode::Char(char::from(*byte)))))
        }
        [byte @ (0..=0x1f | 0x7f), ..] => ParseStep::Read(1, Some(control_key(*byte))),
        _ => parse_char(bytes),
    }
}

fn control_key(byte: u8) -> KeyPress {
    match byte {
        b'\r' => KeyPress::plain(KeyCode::Enter),
        b'\t' => KeyPress::plain(KeyCode::Tab),
        0x7f | 0x08 => KeyPress::plain(KeyCode::Backspace),
        0 => KeyPress::ctrl(' '),
        1..=26 => KeyPress::ctrl(char::from(byte - 1 + b'a')),
        _ => KeyPress::ctrl(char::from(byte + 0x40)),
    }
}

fn parse_char(bytes: &[u8]) -> ParseStep {
    let length = match bytes.first() {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        _ => return ParseStep::Read(1, None),
    };
    let Some(head) = bytes.get(..length) else { return ParseStep::More };
    match std::str::from_utf8(head).ok().and_then(|text| text.chars().next()) {
        Some(c) => ParseStep::Read(length, Some(KeyPress::plain(KeyCode::Char(c)))),
        None => ParseStep::Read(1, None),
    }
}

/// Parses the bytes after ESC.
fn parse_escape(rest: &[u8]) -> ParseStep {
    match rest {
        [] => ParseStep::More,
        [b'[', rest @ ..] => parse_csi(rest),
        [b'O'] => ParseStep::More,
        [b'O', last, ..] => ParseStep::Read(3, arrow_key(*last).map(KeyPress::plain)),
        [0x1b, ..] => ParseStep::Read(1, Some(KeyPress::plain(KeyCode::Escape))),
        _ => match parse_step(rest) {
            ParseStep::Read(length, key) => {
                ParseStep::Read(length + 1, key.map(|key| KeyPress { alt: true, ..key }))
            }
            other => other,
        },
    }
}

/// Parses the bytes after `ESC [`.
fn parse_csi(rest: &[u8]) -> ParseStep {
    let Some(length) = rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        let is_broken = rest.len() > MAX_SEQUENCE_BYTES || rest.contains(&0x1b);
        return if is_broken { ParseStep::Read(2, None) } else { ParseStep::More };
    };
    let (parameters, last) = (rest.get(..length).unwrap_or_default(), rest.get(length).copied());
    let read = length + 3;
    let numbers: Vec<u32> = parameters
        .split(|byte| *byte == b';')
        // Ignore alternatives after a colon.
        .map(|part| part.split(|byte| *byte == b':').next().unwrap_or_default())
        .map(|part| std::str::from_utf8(part).ok().and_then(|text| text.parse().ok()).unwrap_or(1))
        .collect();
    let number = |at: usize| numbers.get(at).copied().unwrap_or(1);
    let (code, held) = match last {
        Some(b'~') if number(0) == 200 => return ParseStep::Paste(read),
        Some(b'~') if number(0) == 27 => (csi_u_key(number(2)), number(1)),
        Some(b'~') => (tilde_key(number(0)), number(1)),
        Some(b'u') => (csi_u_key(number(0)), number(1)),
        Some(b'Z') => (Some(KeyCode::BackTab), 1),
        Some(last) => (arrow_key(last), number(1)),
        None => (None, 1),
    };
    ParseStep::Read(read, code.map(|code| with_modifiers(code, held)))
}

fn with_modifiers(code: KeyCode, held: u32) -> KeyPress {
    let bits = held.saturating_sub(1);
    let key = KeyPress { code, shift: bits & 1 != 0, alt: bits & 2 != 0, ctrl: bits & 4 != 0 };
    match key.code {
        KeyCode::Tab if key.shift => KeyPress { code: KeyCode::BackTab, shift: false, ..key },
        _ => key,
    }
}

fn arrow_key(last: u8) -> Option<KeyCode> {
    Some(match last {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        b'M' => KeyCode::Enter,
        _ => return None,
    })
}

fn tilde_key(number: u32) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        _ => return None,
    })
}

fn csi_u_key(number: u32) -> Option<KeyCode> {
    Some(match number {
        13 | 57414 => KeyCode::Enter,
        9 => KeyCode::Tab,
        27 => KeyCode::Escape,
        8 | 127 => KeyCode::Backspace,
        // Keys without a character, and those of the keypad, use private-use
        // code points.
        57399..=57408 => KeyCode::Char(char::from_digit(number - 57399, 10)?),
        57409 => KeyCode::Char('.'),
        57410 => KeyCode::Char('/'),
        57411 => KeyCode::Char('*'),
        57412 => KeyCode::Char('-'),
        57413 => KeyCode::Char('+'),
        57417 => KeyCode::Left,
        57418 => KeyCode::Right,
        57419 => KeyCode::Up,
        57420 => KeyCode::Down,
        57423 => KeyCode::Home,
        57424 => KeyCode::End,
        57426 => KeyCode::Delete,
        57344..=63743 => return None,
        number => KeyCode::Char(char::from_u32(number).filter(|c| !c.is_control())?),
    })
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
