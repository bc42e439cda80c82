//! Bytes from a terminal, read as keys and pastes.

/// Which key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
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

/// A key with what was held down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) code: Code,
    pub(crate) ctrl: bool,
    pub(crate) alt: bool,
    pub(crate) shift: bool,
}

impl Key {
    pub(crate) const fn plain(code: Code) -> Self {
        Self { code, ctrl: false, alt: false, shift: false }
    }

    pub(crate) const fn ctrl(c: char) -> Self {
        Self { code: Code::Char(c), ctrl: true, alt: false, shift: false }
    }
}

/// What came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Key(Key),
    Paste(String),
}

/// What a paste may be at most; the rest of it is dropped.
const LARGEST_PASTE: usize = 16 << 20;
/// No sequence of a terminal is longer.
const LONGEST_SEQUENCE: usize = 64;
const PASTE_END: &[u8] = b"\x1b[201~";

/// Reads what comes in pieces.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    buffer: Vec<u8>,
    paste: Option<Vec<u8>>,
}

enum Step {
    /// So many bytes are read; they may have been a key.
    Read(usize, Option<Key>),
    /// A paste begins after so many.
    Paste(usize),
    /// It may go on.
    More,
}

impl Parser {
    /// Whether bytes are held back because more may follow them.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.buffer.is_empty() || self.paste.is_some()
    }

    pub(crate) fn is_pasting(&self) -> bool {
        self.paste.is_some()
    }

    pub(crate) fn push(&mut self, bytes: &[u8], inputs: &mut Vec<Input>) {
        let mut rest = bytes.to_vec();
        loop {
            if self.paste.is_some() {
                let Some((text, read)) = self.take_paste(&rest) else { return };
                inputs.push(Input::Paste(text));
                rest.drain(..read);
            }
            self.buffer.append(&mut rest);
            let mut at = 0;
            let begins_paste = loop {
                match step(self.buffer.get(at..).unwrap_or_default()) {
                    Step::Read(length, key) => {
                        inputs.extend(key.map(Input::Key));
                        at += length;
                    }
                    Step::Paste(length) => break Some(at + length),
                    Step::More => break None,
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

    /// Nothing followed: what was held back is all there is.
    pub(crate) fn flush(&mut self, inputs: &mut Vec<Input>) {
        if let Some(paste) = self.paste.take() {
            inputs.push(Input::Paste(String::from_utf8_lossy(&paste).into_owned()));
        }
        let held = std::mem::take(&mut self.buffer);
        if let Some((b'\x1b', rest)) = held.split_first() {
            inputs.push(Input::Key(Key::plain(Code::Escape)));
            // `ESC [` alone is Alt and a bracket; nobody means it.
            if rest.len() > 1 {
                self.push(rest, inputs);
            }
        }
    }

    /// The paste, and how many of the bytes belonged to it, once its end has come.
    fn take_paste(&mut self, bytes: &[u8]) -> Option<(String, usize)> {
        let paste = self.paste.as_mut()?;
        // Its end may lie across two pieces.
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
                if paste.len() > LARGEST_PASTE {
                    let tail = paste.split_off(paste.len() - PASTE_END.len());
                    paste.truncate(LARGEST_PASTE - PASTE_END.len());
                    paste.extend_from_slice(&tail);
                }
                None
            }
        }
    }
}

fn step(bytes: &[u8]) -> Step {
    match bytes {
        [] => Step::More,
        [0x1b, rest @ ..] => escape(rest),
        [byte @ 0x20..=0x7e, ..] => Step::Read(1, Some(Key::plain(Code::Char(char::from(*byte))))),
        [byte @ (0..=0x1f | 0x7f), ..] => Step::Read(1, Some(control(*byte))),
        _ => letter(bytes),
    }
}

fn control(byte: u8) -> Key {
    match byte {
        b'\r' => Key::plain(Code::Enter),
        b'\t' => Key::plain(Code::Tab),
        0x7f | 0x08 => Key::plain(Code::Backspace),
        0 => Key::ctrl(' '),
        1..=26 => Key::ctrl(char::from(byte - 1 + b'a')),
        _ => Key::ctrl(char::from(byte + 0x40)),
    }
}

fn letter(bytes: &[u8]) -> Step {
    let length = match bytes.first() {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        _ => return Step::Read(1, None),
    };
    let Some(head) = bytes.get(..length) else { return Step::More };
    match std::str::from_utf8(head).ok().and_then(|text| text.chars().next()) {
        Some(c) => Step::Read(length, Some(Key::plain(Code::Char(c)))),
        None => Step::Read(1, None),
    }
}

/// After ESC.
fn escape(rest: &[u8]) -> Step {
    match rest {
        [] => Step::More,
        [b'[', rest @ ..] => sequence(rest),
        [b'O'] => Step::More,
        [b'O', last, ..] => Step::Read(3, arrow(*last).map(Key::plain)),
        [0x1b, ..] => Step::Read(1, Some(Key::plain(Code::Escape))),
        _ => match step(rest) {
            Step::Read(length, key) => {
                Step::Read(length + 1, key.map(|key| Key { alt: true, ..key }))
            }
            other => other,
        },
    }
}

/// After `ESC [`.
fn sequence(rest: &[u8]) -> Step {
    let Some(length) = rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        let is_broken = rest.len() > LONGEST_SEQUENCE || rest.contains(&0x1b);
        return if is_broken { Step::Read(2, None) } else { Step::More };
    };
    let (parameters, last) = (rest.get(..length).unwrap_or_default(), rest.get(length).copied());
    let read = length + 3;
    let numbers: Vec<u32> = parameters
        .split(|byte| *byte == b';')
        // Alternatives after a colon are of no interest.
        .map(|part| part.split(|byte| *byte == b':').next().unwrap_or_default())
        .map(|part| std::str::from_utf8(part).ok().and_then(|text| text.parse().ok()).unwrap_or(1))
        .collect();
    let number = |at: usize| numbers.get(at).copied().unwrap_or(1);
    let (code, held) = match last {
        Some(b'~') if number(0) == 200 => return Step::Paste(read),
        Some(b'~') if number(0) == 27 => (character(number(2)), number(1)),
        Some(b'~') => (tilde(number(0)), number(1)),
        Some(b'u') => (character(number(0)), number(1)),
        Some(b'Z') => (Some(Code::BackTab), 1),
        Some(last) => (arrow(last), number(1)),
        None => (None, 1),
    };
    Step::Read(read, code.map(|code| modified(code, held)))
}

fn modified(code: Code, held: u32) -> Key {
    let bits = held.saturating_sub(1);
    let key = Key { code, shift: bits & 1 != 0, alt: bits & 2 != 0, ctrl: bits & 4 != 0 };
    match key.code {
        Code::Tab if key.shift => Key { code: Code::BackTab, shift: false, ..key },
        _ => key,
    }
}

fn arrow(last: u8) -> Option<Code> {
    Some(match last {
        b'A' => Code::Up,
        b'B' => Code::Down,
        b'C' => Code::Right,
        b'D' => Code::Left,
        b'H' => Code::Home,
        b'F' => Code::End,
        b'M' => Code::Enter,
        _ => return None,
    })
}

fn tilde(number: u32) -> Option<Code> {
    Some(match number {
        1 | 7 => Code::Home,
        3 => Code::Delete,
        4 | 8 => Code::End,
        5 => Code::PageUp,
        6 => Code::PageDown,
        _ => return None,
    })
}

fn character(number: u32) -> Option<Code> {
    Some(match number {
        13 | 57414 => Code::Enter,
        9 => Code::Tab,
        27 => Code::Escape,
        8 | 127 => Code::Backspace,
        // Keys that have no character have numbers of a private area, and so have those of the
        // number pad.
        57399..=57408 => Code::Char(char::from_digit(number - 57399, 10)?),
        57409 => Code::Char('.'),
        57410 => Code::Char('/'),
        57411 => Code::Char('*'),
        57412 => Code::Char('-'),
        57413 => Code::Char('+'),
        57417 => Code::Left,
        57418 => Code::Right,
        57419 => Code::Up,
        57420 => Code::Down,
        57423 => Code::Home,
        57424 => Code::End,
        57426 => Code::Delete,
        57344..=63743 => return None,
        number => Code::Char(char::from_u32(number).filter(|c| !c.is_control())?),
    })
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
