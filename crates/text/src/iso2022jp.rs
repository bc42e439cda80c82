//! ISO-2022-JP, whose bytes depend on the preceding escape sequence.

use encoding_rs::EUC_JP;

/// The active character set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ShiftState {
    #[default]
    Ascii,
    Roman,
    Katakana,
    /// Two bytes per character; the older and the newer escape are equivalent.
    Kanji,
}

/// A position between two characters, right after the first.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ShiftPosition {
    pub(crate) byte: usize,
    pub(crate) state: ShiftState,
    /// Number of invalid sequences before it.
    pub(crate) damage_count: usize,
    /// Offset of the last invalid sequence.
    pub(crate) last_damage: usize,
}

/// The next escape or character.
struct ShiftToken {
    bytes: usize,
    text: usize,
    is_damaged: bool,
}

const ESCAPE_SEQUENCES: [(&[u8], ShiftState); 5] = [
    (b"\x1B(B", ShiftState::Ascii),
    (b"\x1B(J", ShiftState::Roman),
    (b"\x1B(I", ShiftState::Katakana),
    (b"\x1B$B", ShiftState::Kanji),
    (b"\x1B$@", ShiftState::Kanji),
];
const ESCAPE_BYTES: usize = 3;

impl ShiftState {
    fn escape_sequence(self) -> &'static [u8] {
        match self {
            Self::Ascii => b"\x1B(B",
            Self::Roman => b"\x1B(J",
            Self::Katakana => b"\x1B(I",
            Self::Kanji => b"\x1B$B",
        }
    }

    /// Returns the state that an escape at the start of `rest` selects.
    fn from_escape(rest: &[u8]) -> Option<Self> {
        let (_, state) = ESCAPE_SEQUENCES.iter().find(|(escape, _)| rest.starts_with(escape))?;
        Some(*state)
    }

    fn next_token(self, rest: &[u8]) -> ShiftToken {
        let good = |bytes, text| ShiftToken { bytes, text, is_damaged: false };
        let bad = |bytes| ShiftToken { bytes, text: '\u{FFFD}'.len_utf8(), is_damaged: true };
        let Some(&first) = rest.first() else { return good(0, 0) };
        match (self, first) {
            (_, 0x0E | 0x0F | 0x1B) => bad(1),
            (Self::Roman, 0x5C) => good(1, '¥'.len_utf8()),
            (Self::Roman, 0x7E) => good(1, '‾'.len_utf8()),
            (Self::Ascii | Self::Roman, 0x00..=0x7F) => good(1, 1),
            (Self::Katakana, 0x21..=0x5F) => good(1, '｡'.len_utf8()),
            (Self::Kanji, 0x21..=0x7E) => match rest.get(1) {
                // An escape ends the preceding character, even an incomplete
                // one.
                None | Some(0x1B) => bad(1),
                Some(second) => {
                    let pair = [first | 0x80, second | 0x80];
                    let read = EUC_JP.decode_without_bom_handling_and_without_replacement(&pair);
                    match read.filter(|_| (0x21..=0x7E).contains(second)) {
                        Some(text) => good(2, text.len()),
                        None => bad(2),
                    }
                }
            },
            _ => bad(1),
        }
    }
}

/// Returns the positions of sorted text offsets; none for an offset inside a
/// character.
pub(crate) fn find_positions(body: &[u8], offsets: &[usize]) -> Vec<Option<ShiftPosition>> {
    let mut found = Vec::with_capacity(offsets.len());
    let mut last = ShiftPosition::default();
    let (mut byte, mut text, mut state) = (0, 0, ShiftState::Ascii);
    let mut has_shifted = false;
    for offset in offsets {
        while text < *offset {
            let rest = body.get(byte..).unwrap_or_default();
            let shift = ShiftState::from_escape(rest);
            let token = match shift {
                // An escape right after another one is an error.
                Some(_) if has_shifted => ShiftToken {
                    bytes: ESCAPE_BYTES,
                    text: '\u{FFFD}'.len_utf8(),
                    is_damaged: true,
                },
                Some(_) => ShiftToken { bytes: ESCAPE_BYTES, text: 0, is_damaged: false },
                None => state.next_token(rest),
            };
            if token.bytes == 0 {
                break;
            }
            state = shift.unwrap_or(state);
            has_shifted = shift.is_some();
            if token.is_damaged {
                last = ShiftPosition {
                    damage_count: last.damage_count + 1,
                    last_damage: byte,
                    ..last
                };
            }
            byte += token.bytes;
            text += token.text;
            if token.text > 0 {
                last = ShiftPosition { byte, state, ..last };
            }
        }
        found.push((text == *offset).then_some(last));
    }
    found
}

/// Fits newly encoded bytes, which begin and end in ASCII, after a position in
/// the state `before`; also returns the state they end in.
pub(crate) fn fit_after(new: &[u8], before: ShiftState) -> (Vec<u8>, ShiftState) {
    if new.is_empty() {
        return (Vec::new(), before);
    }
    let new = new.strip_suffix(ShiftState::Ascii.escape_sequence()).unwrap_or(new);
    let first = ShiftState::from_escape(new);
    let mut fitted = Vec::with_capacity(new.len() + 2 * ESCAPE_BYTES);
    if first.is_none() && before != ShiftState::Ascii {
        fitted.extend_from_slice(ShiftState::Ascii.escape_sequence());
    }
    let redundant = if first == Some(before) { ESCAPE_BYTES } else { 0 };
    fitted.extend_from_slice(new.get(redundant..).unwrap_or_default());
    let last = memchr::memrchr(0x1B, new).and_then(|at| ShiftState::from_escape(new.get(at..)?));
    (fitted, last.unwrap_or_default())
}

/// Returns the escape needed between bytes that end in state `from` and `rest`,
/// which begins in state `to`.
pub(crate) fn bridge_states(from: ShiftState, to: ShiftState, rest: &[u8]) -> &'static [u8] {
    // A text must end in ASCII.
    let to = if rest.is_empty() { ShiftState::Ascii } else { to };
    let is_escaped = ShiftState::from_escape(rest).is_some();
    if from == to || is_escaped { b"" } else { to.escape_sequence() }
}
