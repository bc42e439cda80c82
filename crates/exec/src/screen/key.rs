//! Keys by name, as people and models write them, and what a terminal sends
//! for them (xterm's encoding).

use std::fmt;

use thiserror::Error;

/// What a program has asked of its terminal that changes what keys send.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Modes {
    /// The arrow keys, Home and End send their application codes.
    pub application_cursor: bool,
}

/// A key that cannot be pressed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnknownKey {
    /// No key has this name.
    #[error("no key is called {name:?}{}; literal text is not sent as keys", suggestion(.near))]
    Name {
        /// What was asked for.
        name: String,
        /// The name that is most like it.
        near: Option<String>,
    },
    /// The key is there, but these modifiers change nothing that a terminal could send.
    #[error("terminals have no code for {name:?}; try it without the modifier")]
    NoCode {
        /// What was asked for.
        name: String,
    },
    /// There is no name.
    #[error("no key is named; several are separated by spaces, as in \"down down enter\"")]
    Empty,
}

fn suggestion(near: &Option<String>) -> String {
    near.as_ref().map_or_else(String::new, |near| format!("; did you mean {near:?}?"))
}

/// The longest name that is echoed or compared with others.
const MOST_NAME: usize = 40;

/// What a key is, before modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Char(char),
    Enter,
    Tab,
    Escape,
    Backspace,
    /// Sent as `CSI letter`, or `SS3 letter` in application mode.
    Cursor(char),
    /// Sent as `CSI number ~`.
    Number(u8),
    /// F1 to F4, sent as `SS3 letter`.
    Function(char),
}

/// The names, the first of each key being the one that is suggested.
const NAMES: &[(&str, Base)] = &[
    ("enter", Base::Enter),
    ("return", Base::Enter),
    ("ret", Base::Enter),
    ("cr", Base::Enter),
    ("newline", Base::Enter),
    ("\\n", Base::Enter),
    ("\\r", Base::Enter),
    ("tab", Base::Tab),
    ("\\t", Base::Tab),
    ("escape", Base::Escape),
    ("esc", Base::Escape),
    ("\\e", Base::Escape),
    ("backspace", Base::Backspace),
    ("bspace", Base::Backspace),
    ("bs", Base::Backspace),
    ("space", Base::Char(' ')),
    ("spacebar", Base::Char(' ')),
    ("spc", Base::Char(' ')),
    ("up", Base::Cursor('A')),
    ("arrowup", Base::Cursor('A')),
    ("uparrow", Base::Cursor('A')),
    ("down", Base::Cursor('B')),
    ("arrowdown", Base::Cursor('B')),
    ("downarrow", Base::Cursor('B')),
    ("right", Base::Cursor('C')),
    ("arrowright", Base::Cursor('C')),
    ("rightarrow", Base::Cursor('C')),
    ("left", Base::Cursor('D')),
    ("arrowleft", Base::Cursor('D')),
    ("leftarrow", Base::Cursor('D')),
    ("home", Base::Cursor('H')),
    ("end", Base::Cursor('F')),
    ("insert", Base::Number(2)),
    ("ins", Base::Number(2)),
    ("ic", Base::Number(2)),
    ("delete", Base::Number(3)),
    ("del", Base::Number(3)),
    ("dc", Base::Number(3)),
    ("pageup", Base::Number(5)),
    ("pgup", Base::Number(5)),
    ("ppage", Base::Number(5)),
    ("prior", Base::Number(5)),
    ("pagedown", Base::Number(6)),
    ("pgdown", Base::Number(6)),
    ("pgdn", Base::Number(6)),
    ("npage", Base::Number(6)),
    ("next", Base::Number(6)),
    ("f1", Base::Function('P')),
    ("f2", Base::Function('Q')),
    ("f3", Base::Function('R')),
    ("f4", Base::Function('S')),
    ("f5", Base::Number(15)),
    ("f6", Base::Number(17)),
    ("f7", Base::Number(18)),
    ("f8", Base::Number(19)),
    ("f9", Base::Number(20)),
    ("f10", Base::Number(21)),
    ("f11", Base::Number(23)),
    ("f12", Base::Number(24)),
    // Characters that separate words here, or keys from their modifiers.
    ("comma", Base::Char(',')),
    ("plus", Base::Char('+')),
    ("minus", Base::Char('-')),
    ("hyphen", Base::Char('-')),
    ("dash", Base::Char('-')),
    ("underscore", Base::Char('_')),
    ("slash", Base::Char('/')),
    ("backslash", Base::Char('\\')),
    ("colon", Base::Char(':')),
    ("semicolon", Base::Char(';')),
    ("period", Base::Char('.')),
    ("dot", Base::Char('.')),
    ("lt", Base::Char('<')),
    ("gt", Base::Char('>')),
];

/// Names that stand for a key with modifiers.
const WHOLE: &[(&str, &str)] = &[
    ("backtab", "shift-tab"),
    ("btab", "shift-tab"),
    ("eof", "ctrl-d"),
    ("interrupt", "ctrl-c"),
    ("sigint", "ctrl-c"),
];

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Modifiers {
    shift: bool,
    alt: bool,
    ctrl: bool,
}

impl Modifiers {
    /// xterm's number for them; 1 if there is none.
    fn number(self) -> u8 {
        1 + u8::from(self.shift) + 2 * u8::from(self.alt) + 4 * u8::from(self.ctrl)
    }

    /// Sets the one that has this name; false if none has.
    fn set(&mut self, name: &str) -> bool {
        match name.to_ascii_lowercase().as_str() {
            "c" | "ctrl" | "control" | "ctl" => self.ctrl = true,
            "m" | "a" | "alt" | "meta" | "option" | "opt" => self.alt = true,
            "s" | "shift" => self.shift = true,
            _ => return false,
        }
        true
    }
}

impl fmt::Display for Modifiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (on, name) in [(self.ctrl, "ctrl-"), (self.alt, "alt-"), (self.shift, "shift-")] {
            if on {
                f.write_str(name)?;
            }
        }
        Ok(())
    }
}

/// What a terminal sends when this key is pressed.
///
/// `ctrl-c`, `C-c`, `^C`, `<C-c>`, `ctrl+shift+left`, `M-x`, `shift-tab`,
/// `PageUp`, `page_up`, `f5`, `x`: upper and lower case are the same, except
/// for a single character, which is itself.
///
/// # Errors
/// If there is no such key, with the name that is most like it.
pub fn key(name: &str, modes: Modes) -> Result<Vec<u8>, UnknownKey> {
    let mut chars = name.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (None, ..) => return Err(UnknownKey::Empty),
        (Some('\n' | '\r'), None, _) => return Ok(b"\r".to_vec()),
        (Some(c), None, _) => return Ok(c.to_string().into_bytes()),
        (Some('^'), Some(c), None) => {
            let ctrl = Modifiers { ctrl: true, ..Modifiers::default() };
            return encode(Base::Char(c), ctrl, modes).ok_or_else(|| no_code(name));
        }
        _ => {}
    }
    let inner = name.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    let inner = inner.filter(|inner| !inner.is_empty()).unwrap_or(name);
    let plain = simplify(inner);
    if let Some((_, whole)) = WHOLE.iter().find(|(word, _)| *word == plain) {
        return key(whole, modes);
    }
    let (mut modifiers, word) = split(inner);
    let base = find(word, &mut modifiers).ok_or_else(|| unknown(name, word, modifiers))?;
    encode(base, modifiers, modes).ok_or_else(|| no_code(name))
}

/// What a terminal sends when these keys are pressed one after the other.
/// Every word is the name of a key, and words are separated by blanks or
/// commas: `down down enter`, `ctrl-x, ctrl-s`. Nothing is sent if one of
/// them is unknown.
///
/// # Errors
/// If there is no such key, as for [`key`], or none at all.
pub fn keys(text: &str, modes: Modes) -> Result<Vec<u8>, UnknownKey> {
    if text.trim() == "," {
        return key(",", modes);
    }
    let mut bytes = Vec::new();
    let words = text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    for word in words {
        bytes.extend(key(word, modes)?);
    }
    if bytes.is_empty() { Err(UnknownKey::Empty) } else { Ok(bytes) }
}

/// Takes the modifiers off: `ctrl-shift-left` is ctrl, shift and `left`.
fn split(name: &str) -> (Modifiers, &str) {
    let mut modifiers = Modifiers::default();
    let mut rest = name;
    // There are three, and nobody needs one of them twice.
    for _ in 0..3 {
        let Some((word, after)) = rest.split_once(['-', '+', '_']) else { break };
        if after.is_empty() || !modifiers.set(word) {
            break;
        }
        rest = after;
    }
    (modifiers, rest)
}

fn find(word: &str, modifiers: &mut Modifiers) -> Option<Base> {
    let mut chars = word.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        return Some(Base::Char(c));
    }
    let mut plain = simplify(word);
    // The second dozen is the first with shift.
    if let Some(number) = plain.strip_prefix('f').and_then(|digits| digits.parse::<u8>().ok())
        && (13..=24).contains(&number)
    {
        modifiers.shift = true;
        plain = format!("f{}", number - 12);
    }
    NAMES.iter().find(|(name, _)| *name == plain).map(|(_, base)| *base)
}

/// Upper and lower case are the same, and so are `pageup` and `page_up`.
fn simplify(word: &str) -> String {
    let letters = word.chars().take(MOST_NAME).filter(|c| !matches!(c, '-' | '_'));
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

/// None if a terminal could not send it.
fn encode(base: Base, modifiers: Modifiers, modes: Modes) -> Option<Vec<u8>> {
    let Modifiers { shift, alt, ctrl } = modifiers;
    let number = modifiers.number();
    let text = match base {
        Base::Cursor(last) if number == 1 && modes.application_cursor => format!("\x1bO{last}"),
        Base::Cursor(last) if number == 1 => format!("\x1b[{last}"),
        Base::Function(last) if number == 1 => format!("\x1bO{last}"),
        Base::Cursor(last) | Base::Function(last) => format!("\x1b[1;{number}{last}"),
        Base::Number(code) if number == 1 => format!("\x1b[{code}~"),
        Base::Number(code) => format!("\x1b[{code};{number}~"),
        Base::Tab if shift && number == 2 => "\x1b[Z".into(),
        Base::Enter | Base::Tab | Base::Escape if shift || ctrl => return None,
        Base::Enter => with_alt(alt, '\r'),
        Base::Tab => with_alt(alt, '\t'),
        Base::Escape => with_alt(alt, '\x1b'),
        Base::Backspace => with_alt(alt, if ctrl { '\x08' } else { '\x7f' }),
        Base::Char(c) if ctrl => with_alt(alt, control(c)?),
        // What shift makes of a digit depends on the keyboard.
        Base::Char(c) if shift && c != ' ' && !c.is_alphabetic() => return None,
        Base::Char(c) if shift => with_alt(alt, upper(c)),
        Base::Char(c) => with_alt(alt, c),
    };
    Some(text.into_bytes())
}

fn with_alt(alt: bool, c: char) -> String {
    if alt { format!("\x1b{c}") } else { c.to_string() }
}

fn upper(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

/// The control character of a character. Those that need shift on many
/// keyboards have a digit besides.
fn control(c: char) -> Option<char> {
    Some(match c.to_ascii_lowercase() {
        c @ 'a'..='z' => char::from(u8::try_from(c).ok()? & 0x1f),
        '@' | ' ' | '2' => '\0',
        '[' | '3' => '\x1b',
        '\\' | '4' => '\x1c',
        ']' | '5' => '\x1d',
        '^' | '6' => '\x1e',
        '_' | '/' | '-' | '7' => '\x1f',
        '?' | '8' => '\x7f',
        _ => return None,
    })
}

fn shorten(name: &str) -> String {
    name.chars().take(MOST_NAME).collect()
}

fn no_code(name: &str) -> UnknownKey {
    UnknownKey::NoCode { name: shorten(name) }
}

fn unknown(name: &str, word: &str, modifiers: Modifiers) -> UnknownKey {
    let asked = simplify(word);
    // A third of it may be wrong; more than that is another word.
    let most = (asked.chars().count() / 3).max(1);
    let names = NAMES.iter().map(|(name, _)| *name).chain(WHOLE.iter().map(|(name, _)| *name));
    let near = names
        .filter(|name| name.len() > 1 && !name.starts_with('\\'))
        .map(|name| (distance(&asked, name), name))
        .filter(|(far, _)| *far <= most)
        .min_by_key(|(far, _)| *far)
        .map(|(_, name)| format!("{modifiers}{name}"))
        .or_else(|| glued(&asked));
    UnknownKey::Name { name: shorten(name), near }
}

/// `ctrlc` is `ctrl-c` without its hyphen.
fn glued(asked: &str) -> Option<String> {
    ["ctrl", "alt", "shift"].into_iter().find_map(|modifier| {
        let rest = asked.strip_prefix(modifier)?;
        find(rest, &mut Modifiers::default()).map(|_| format!("{modifier}-{rest}"))
    })
}

/// How many letters must be changed, added or left out.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = i;
        let mut left = i + 1;
        for (y, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let above = *cell;
            let best = (corner + usize::from(x != *y)).min(above + 1).min(left + 1);
            corner = above;
            left = best;
            *cell = best;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
