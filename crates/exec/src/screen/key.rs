//! Key names as users and models write them, and their xterm encoding.

use std::fmt;

use thiserror::Error;

/// Terminal modes that change what keys send.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyModes {
    /// The arrow keys, Home and End send their application codes.
    pub application_cursor: bool,
}

/// A key that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeyError {
    /// No key has this name.
    #[error("unknown key {name:?}{}; literal text is not sent as keys", suggestion(.near))]
    Name {
        /// The requested name.
        name: String,
        /// The closest known name.
        near: Option<String>,
    },
    /// The key exists, but a terminal has no code for it with these modifiers.
    #[error("terminals have no code for {name:?}; try it without the modifier")]
    NoCode {
        /// The requested name.
        name: String,
    },
    /// No key was named.
    #[error("no key given; separate several with spaces, as in \"down down enter\"")]
    Empty,
}

fn suggestion(near: &Option<String>) -> String {
    near.as_ref().map_or_else(String::new, |near| format!("; did you mean {near:?}?"))
}

/// Maximum length of a name that is echoed or compared.
const MAX_NAME_CHARS: usize = 40;

/// A key without modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BaseKey {
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

/// Key names; the first one of each key is suggested.
const KEY_NAMES: &[(&str, BaseKey)] = &[
    ("enter", BaseKey::Enter),
    ("return", BaseKey::Enter),
    ("ret", BaseKey::Enter),
    ("cr", BaseKey::Enter),
    ("newline", BaseKey::Enter),
    ("\\n", BaseKey::Enter),
    ("\\r", BaseKey::Enter),
    ("tab", BaseKey::Tab),
    ("\\t", BaseKey::Tab),
    ("escape", BaseKey::Escape),
    ("esc", BaseKey::Escape),
    ("\\e", BaseKey::Escape),
    ("backspace", BaseKey::Backspace),
    ("bspace", BaseKey::Backspace),
    ("bs", BaseKey::Backspace),
    ("space", BaseKey::Char(' ')),
    ("spacebar", BaseKey::Char(' ')),
    ("spc", BaseKey::Char(' ')),
    ("up", BaseKey::Cursor('A')),
    ("arrowup", BaseKey::Cursor('A')),
    ("uparrow", BaseKey::Cursor('A')),
    ("down", BaseKey::Cursor('B')),
    ("arrowdown", BaseKey::Cursor('B')),
    ("downarrow", BaseKey::Cursor('B')),
    ("right", BaseKey::Cursor('C')),
    ("arrowright", BaseKey::Cursor('C')),
    ("rightarrow", BaseKey::Cursor('C')),
    ("left", BaseKey::Cursor('D')),
    ("arrowleft", BaseKey::Cursor('D')),
    ("leftarrow", BaseKey::Cursor('D')),
    ("home", BaseKey::Cursor('H')),
    ("end", BaseKey::Cursor('F')),
    ("insert", BaseKey::Number(2)),
    ("ins", BaseKey::Number(2)),
    ("ic", BaseKey::Number(2)),
    ("delete", BaseKey::Number(3)),
    ("del", BaseKey::Number(3)),
    ("dc", BaseKey::Number(3)),
    ("pageup", BaseKey::Number(5)),
    ("pgup", BaseKey::Number(5)),
    ("ppage", BaseKey::Number(5)),
    ("prior", BaseKey::Number(5)),
    ("pagedown", BaseKey::Number(6)),
    ("pgdown", BaseKey::Number(6)),
    ("pgdn", BaseKey::Number(6)),
    ("npage", BaseKey::Number(6)),
    ("next", BaseKey::Number(6)),
    ("f1", BaseKey::Function('P')),
    ("f2", BaseKey::Function('Q')),
    ("f3", BaseKey::Function('R')),
    ("f4", BaseKey::Function('S')),
    ("f5", BaseKey::Number(15)),
    ("f6", BaseKey::Number(17)),
    ("f7", BaseKey::Number(18)),
    ("f8", BaseKey::Number(19)),
    ("f9", BaseKey::Number(20)),
    ("f10", BaseKey::Number(21)),
    ("f11", BaseKey::Number(23)),
    ("f12", BaseKey::Number(24)),
    // Characters that separate keys, or modifiers from keys.
    ("comma", BaseKey::Char(',')),
    ("plus", BaseKey::Char('+')),
    ("minus", BaseKey::Char('-')),
    ("hyphen", BaseKey::Char('-')),
    ("dash", BaseKey::Char('-')),
    ("underscore", BaseKey::Char('_')),
    ("slash", BaseKey::Char('/')),
    ("backslash", BaseKey::Char('\\')),
    ("colon", BaseKey::Char(':')),
    ("semicolon", BaseKey::Char(';')),
    ("period", BaseKey::Char('.')),
    ("dot", BaseKey::Char('.')),
    ("lt", BaseKey::Char('<')),
    ("gt", BaseKey::Char('>')),
];

/// Aliases of keys with modifiers.
const KEY_ALIASES: &[(&str, &str)] = &[
    ("backtab", "shift-tab"),
    ("btab", "shift-tab"),
    ("eof", "ctrl-d"),
    ("interrupt", "ctrl-c"),
    ("sigint", "ctrl-c"),
];

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct KeyModifiers {
    shift: bool,
    alt: bool,
    ctrl: bool,
}

impl KeyModifiers {
    /// Returns xterm's modifier parameter; 1 for no modifiers.
    fn xterm_code(self) -> u8 {
        1 + u8::from(self.shift) + 2 * u8::from(self.alt) + 4 * u8::from(self.ctrl)
    }

    /// Sets the modifier with this name; returns false if the name is unknown.
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

impl fmt::Display for KeyModifiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (on, name) in [(self.ctrl, "ctrl-"), (self.alt, "alt-"), (self.shift, "shift-")] {
            if on {
                f.write_str(name)?;
            }
        }
        Ok(())
    }
}

/// Returns what a terminal sends for a key.
///
/// `ctrl-c`, `C-c`, `^C`, `<C-c>`, `ctrl+shift+left`, `M-x`, `shift-tab`,
/// `PageUp`, `page_up`, `f5`, `x`: case is ignored, except for single
/// characters.
///
/// # Errors
/// If the key is unknown, with the closest known name.
pub fn encode_key(name: &str, modes: KeyModes) -> Result<Vec<u8>, KeyError> {
    let mut chars = name.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (None, ..) => return Err(KeyError::Empty),
        (Some('\n' | '\r'), None, _) => return Ok(b"\r".to_vec()),
        (Some(c), None, _) => return Ok(c.to_string().into_bytes()),
        (Some('^'), Some(c), None) => {
            let ctrl = KeyModifiers { ctrl: true, ..KeyModifiers::default() };
            return encode(BaseKey::Char(c), ctrl, modes).ok_or_else(|| no_code_error(name));
        }
        _ => {}
    }
    let inner = name.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    let inner = inner.filter(|inner| !inner.is_empty()).unwrap_or(name);
    let plain = simplify(inner);
    if let Some((_, whole)) = KEY_ALIASES.iter().find(|(word, _)| *word == plain) {
        return encode_key(whole, modes);
    }
    let (mut modifiers, word) = split_modifiers(inner);
    let base =
        find_key(word, &mut modifiers).ok_or_else(|| unknown_key_error(name, word, modifiers))?;
    encode(base, modifiers, modes).ok_or_else(|| no_code_error(name))
}

/// Returns what a terminal sends for a sequence of keys. Key names are
/// separated by blanks or commas: `down down enter`, `ctrl-x, ctrl-s`. One
/// unknown name fails the whole sequence.
///
/// # Errors
/// If a key is unknown, as for [`encode_key`], or none is given.
pub fn encode_keys(text: &str, modes: KeyModes) -> Result<Vec<u8>, KeyError> {
    if text.trim() == "," {
        return encode_key(",", modes);
    }
    let mut bytes = Vec::new();
    let words = text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    for word in words {
        bytes.extend(encode_key(word, modes)?);
    }
    if bytes.is_empty() { Err(KeyError::Empty) } else { Ok(bytes) }
}

/// Strips the modifiers: `ctrl-shift-left` is ctrl, shift and `left`.
fn split_modifiers(name: &str) -> (KeyModifiers, &str) {
    let mut modifiers = KeyModifiers::default();
    let mut rest = name;
    // There are three modifiers, each used at most once.
    for _ in 0..3 {
        let Some((word, after)) = rest.split_once(['-', '+', '_']) else { break };
        if after.is_empty() || !modifiers.set(word) {
            break;
        }
        rest = after;
    }
    (modifiers, rest)
}

fn find_key(word: &str, modifiers: &mut KeyModifiers) -> Option<BaseKey> {
    let mut chars = word.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        return Some(BaseKey::Char(c));
    }
    let mut plain = simplify(word);
    // F13 to F24 are F1 to F12 with shift.
    if let Some(number) = plain.strip_prefix('f').and_then(|digits| digits.parse::<u8>().ok())
        && (13..=24).contains(&number)
    {
        modifiers.shift = true;
        plain = format!("f{}", number - 12);
    }
    KEY_NAMES.iter().find(|(name, _)| *name == plain).map(|(_, base)| *base)
}

/// Normalizes case and separators: `PageUp` and `page_up` are the same.
fn simplify(word: &str) -> String {
    let letters = word.chars().take(MAX_NAME_CHARS).filter(|c| !matches!(c, '-' | '_'));
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

/// Encodes a key; None if a terminal cannot send it.
fn encode(base: BaseKey, modifiers: KeyModifiers, modes: KeyModes) -> Option<Vec<u8>> {
    let KeyModifiers { shift, alt, ctrl } = modifiers;
    let number = modifiers.xterm_code();
    let text = match base {
        BaseKey::Cursor(last) if number == 1 && modes.application_cursor => format!("\x1bO{last}"),
        BaseKey::Cursor(last) if number == 1 => format!("\x1b[{last}"),
        BaseKey::Function(last) if number == 1 => format!("\x1bO{last}"),
        BaseKey::Cursor(last) | BaseKey::Function(last) => format!("\x1b[1;{number}{last}"),
        BaseKey::Number(code) if number == 1 => format!("\x1b[{code}~"),
        BaseKey::Number(code) => format!("\x1b[{code};{number}~"),
        BaseKey::Tab if shift && number == 2 => "\x1b[Z".into(),
        BaseKey::Enter | BaseKey::Tab | BaseKey::Escape if shift || ctrl => return None,
        BaseKey::Enter => with_alt(alt, '\r'),
        BaseKey::Tab => with_alt(alt, '\t'),
        BaseKey::Escape => with_alt(alt, '\x1b'),
        BaseKey::Backspace => with_alt(alt, if ctrl { '\x08' } else { '\x7f' }),
        BaseKey::Char(c) if ctrl => with_alt(alt, control_char(c)?),
        // What shift makes of a digit depends on the keyboard.
        BaseKey::Char(c) if shift && c != ' ' && !c.is_alphabetic() => return None,
        BaseKey::Char(c) if shift => with_alt(alt, uppercase(c)),
        BaseKey::Char(c) => with_alt(alt, c),
    };
    Some(text.into_bytes())
}

fn with_alt(alt: bool, c: char) -> String {
    if alt { format!("\x1b{c}") } else { c.to_string() }
}

fn uppercase(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

/// Returns the control character of a character. Those that need shift on many
/// keyboards have a digit as an alternative.
fn control_char(c: char) -> Option<char> {
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
    name.chars().take(MAX_NAME_CHARS).collect()
}

fn no_code_error(name: &str) -> KeyError {
    KeyError::NoCode { name: shorten(name) }
}

fn unknown_key_error(name: &str, word: &str, modifiers: KeyModifiers) -> KeyError {
    let asked = simplify(word);
    // Up to a third may be wrong; beyond that it is another word.
    let most = (asked.chars().count() / 3).max(1);
    let names =
        KEY_NAMES.iter().map(|(name, _)| *name).chain(KEY_ALIASES.iter().map(|(name, _)| *name));
    let near = names
        .filter(|name| name.len() > 1 && !name.starts_with('\\'))
        .map(|name| (edit_distance(&asked, name), name))
        .filter(|(far, _)| *far <= most)
        .min_by_key(|(far, _)| *far)
        .map(|(_, name)| format!("{modifiers}{name}"))
        .or_else(|| split_glued_modifier(&asked));
    KeyError::Name { name: shorten(name), near }
}

/// Recognizes `ctrlc` as `ctrl-c` without the hyphen.
fn split_glued_modifier(asked: &str) -> Option<String> {
    ["ctrl", "alt", "shift"].into_iter().find_map(|modifier| {
        let rest = asked.strip_prefix(modifier)?;
        find_key(rest, &mut KeyModifiers::default()).map(|_| format!("{modifier}-{rest}"))
    })
}

/// Returns the number of characters to change, insert or delete.
fn edit_distance(a: &str, b: &str) -> usize {
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
