//! Fragments of a known value. A text is often truncated before it is redacted,
//! and the rest of a value then reveals nearly as much as all of it.
//!
//! The automaton searches for short anchors, taken from a value at regular
//! intervals, so every relevant fragment contains one. At an anchor, the match
//! is extended to both sides and then judged.

use std::collections::{HashMap, HashSet};

use crate::encodings::{encoded_forms, escaped_forms};
use crate::ordinary_text::ordinary_letters;

/// A fragment of this many characters identifies a value.
const MIN_FRAGMENT_CHARS: usize = 12;

/// The start or end of a short value may be shorter.
const MIN_EDGE_CHARS: usize = 8;

/// Values up to this length are identified by half of them.
const MAX_HALVED_CHARS: usize = 23;

/// Characters of a JWT payload that may identify only its issuer.
const PUBLIC_CLAIM_CHARS: usize = 24;

/// Characters of an anchor.
const ANCHOR_CHARS: usize = 8;

/// Distance between anchors: even the shortest fragment contains one.
const ANCHOR_STRIDE: usize = MIN_FRAGMENT_CHARS - ANCHOR_CHARS + 1;

/// How far a match is extended to each side of an anchor. Longer fragments
/// contain more anchors, whose matches overlap.
const MAX_EXTEND_CHARS: usize = 64;

/// Positions of one value that the same anchor is kept for.
const MAX_ANCHOR_POSITIONS: usize = 8;

/// Anchors per form of a value, enough for about 5 KB.
const MAX_FORM_ANCHORS: usize = 1024;

/// Anchors of all values together.
const MAX_ANCHORS: usize = 16 * 1024;

/// Beyond this number, encoded forms, of which there are many, are skipped.
const MAX_ENCODED_ANCHORS: usize = 2 * 1024;

/// One form of a value, whose fragments are searched for.
struct ValueForm {
    text: String,
    ordinary: Vec<bool>,
    label: usize,
    /// Whether it is short enough to be identified by half of it.
    halved: bool,
}

/// The position of an anchor in its form.
#[derive(Clone, Copy)]
struct FragmentAnchor {
    form: usize,
    offset: usize,
}

/// The fragments of all values.
#[derive(Default)]
pub(crate) struct FragmentIndex {
    forms: Vec<ValueForm>,
    anchors: Vec<FragmentAnchor>,
    escapable: bool,
}

impl FragmentIndex {
    /// Builds the index from values, each with the index of its label.
    pub(crate) fn new<'a>(values: impl IntoIterator<Item = (&'a str, usize)>) -> Self {
        let mut fragments = Self::default();
        let mut seen = HashSet::new();
        let values: Vec<_> = values.into_iter().filter(|(value, _)| is_eligible(value)).collect();
        for (value, label) in &values {
            let halved = value.len() <= MAX_HALVED_CHARS;
            fragments.escapable |= value.contains(['"', '\\']);
            for text in escaped_forms(value) {
                if seen.insert(text.clone()) {
                    fragments.add(text, *label, halved, MAX_ANCHORS);
                }
            }
        }
        for (value, label) in &values {
            let from = public_prefix_length(value.as_bytes());
            for text in encoded_forms(value.get(from..).unwrap_or_default()) {
                if fragments.anchors.len() < MAX_ENCODED_ANCHORS && seen.insert(text.clone()) {
                    fragments.add(text, *label, false, MAX_ENCODED_ANCHORS);
                }
            }
        }
        fragments
    }

    fn add(&mut self, text: String, label: usize, halved: bool, limit: usize) {
        let bytes = text.as_bytes();
        let Some(last) = bytes.len().checked_sub(ANCHOR_CHARS) else { return };
        let mut ordinary = ordinary_letters(bytes);
        for flag in ordinary.iter_mut().take(public_prefix_length(bytes)) {
            *flag = true;
        }
        let mut places: HashMap<&[u8], usize> = HashMap::new();
        let room = limit.saturating_sub(self.anchors.len()).min(MAX_FORM_ANCHORS);
        let form = self.forms.len();
        let offsets = (0..last).step_by(ANCHOR_STRIDE).chain([last]);
        let anchors = offsets.filter(|offset| {
            let anchor = bytes.get(*offset..offset + ANCHOR_CHARS).unwrap_or_default();
            let place = places.entry(anchor).or_default();
            *place += 1;
            // Runs of one or two distinct characters may fill a whole text.
            *place <= MAX_ANCHOR_POSITIONS && distinct_bytes(anchor) > 2
        });
        self.anchors.extend(anchors.take(room).map(|offset| FragmentAnchor { form, offset }));
        self.forms.push(ValueForm { text, ordinary, label, halved });
    }

    /// Returns the patterns for the automaton, in order.
    pub(crate) fn anchors(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.anchors.iter().map(|anchor| {
            let bytes = self.forms.get(anchor.form).map_or(&[][..], |form| form.text.as_bytes());
            bytes.get(anchor.offset..anchor.offset + ANCHOR_CHARS).unwrap_or_default()
        })
    }

    /// Returns the number of anchors.
    pub(crate) fn len(&self) -> usize {
        self.anchors.len()
    }

    /// Whether a fragment may be written differently in a JSON string.
    pub(crate) fn is_escapable(&self) -> bool {
        self.escapable
    }

    /// Returns the fragment around anchor `number` found at `start`, and its
    /// label; `None` if it contains too little of the value.
    pub(crate) fn fragment_at(
        &self,
        number: usize,
        text: &str,
        start: usize,
    ) -> Option<(usize, usize, usize)> {
        let anchor = self.anchors.get(number)?;
        let form = self.forms.get(anchor.form)?;
        let (text, value) = (text.as_bytes(), form.text.as_bytes());
        let (before, after) = (text.get(..start)?, text.get(start + ANCHOR_CHARS..)?);
        let (head, tail) =
            (value.get(..anchor.offset)?, value.get(anchor.offset + ANCHOR_CHARS..)?);
        let back = before.iter().rev().zip(head.iter().rev()).take(MAX_EXTEND_CHARS);
        let back = back.take_while(|(one, other)| one == other).count();
        let on = after.iter().zip(tail).take(MAX_EXTEND_CHARS);
        let on = on.take_while(|(one, other)| one == other).count();
        let end = anchor.offset + ANCHOR_CHARS + on;
        form.is_identifying(anchor.offset - back, end).then_some((
            start - back,
            start + ANCHOR_CHARS + on,
            form.label,
        ))
    }
}

impl ValueForm {
    /// Whether this fragment cannot occur by chance.
    fn is_identifying(&self, from: usize, to: usize) -> bool {
        let (Some(piece), Some(ordinary)) =
            (self.text.as_bytes().get(from..to), self.ordinary.get(from..to))
        else {
            return false;
        };
        if !is_mixed(piece) {
            return false;
        }
        let length = self.text.len();
        let is_separator = |byte: u8| b"-_.".contains(&byte);
        let pairs = piece.iter().zip(ordinary);
        let random = pairs.filter(|(byte, ordinary)| !**ordinary && !is_separator(**byte)).count();
        if piece.len() >= MIN_FRAGMENT_CHARS {
            let is_most = piece.len() * 4 >= length * 3 && has_letters_and_digits(piece);
            return random >= 4 || is_most;
        }
        let at_end = from == 0 || to == length;
        let enough = piece.len() >= MIN_EDGE_CHARS.max(length.div_ceil(2));
        self.halved && at_end && enough && random >= 5
    }
}

/// Whether fragments of a value are searched for: it must be one long word of
/// mixed characters, not a URL, path or text.
fn is_eligible(value: &str) -> bool {
    value.len() >= MIN_FRAGMENT_CHARS
        && value.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':')
        && (!value.contains('/') || is_base64(value.as_bytes()))
        && is_mixed(value.as_bytes())
}

/// Whether the value is random base64, where a slash is an ordinary character.
/// A path of that length would have other characters, or a single case.
fn is_base64(value: &[u8]) -> bool {
    value.len() >= 32
        && value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte))
        && value.iter().any(u8::is_ascii_uppercase)
        && value.iter().any(u8::is_ascii_lowercase)
        && value.iter().filter(|byte| byte.is_ascii_digit()).count() >= 2
        && !value.starts_with(b"/")
}

/// Returns how much of a JWT is common to others: the header only names the
/// algorithm, and the payload begins with the name of a claim.
fn public_prefix_length(value: &[u8]) -> usize {
    let dot = value.iter().position(|byte| *byte == b'.').filter(|_| value.starts_with(b"eyJ"));
    let Some(dot) = dot else { return 0 };
    let claims =
        value.iter().skip(dot + 1).take(PUBLIC_CLAIM_CHARS).take_while(|byte| **byte != b'.');
    dot + 1 + claims.count()
}

/// Whether it has letters and digits, or many different letters of both cases.
pub(crate) fn is_mixed(piece: &[u8]) -> bool {
    let both_cases =
        piece.iter().any(u8::is_ascii_uppercase) && piece.iter().any(u8::is_ascii_lowercase);
    has_letters_and_digits(piece) || (both_cases && distinct_bytes(piece) >= 8)
}

fn has_letters_and_digits(piece: &[u8]) -> bool {
    piece.iter().any(u8::is_ascii_alphabetic) && piece.iter().any(u8::is_ascii_digit)
}

/// Counts the distinct bytes of an ASCII text.
fn distinct_bytes(piece: &[u8]) -> u32 {
    piece.iter().fold(0_u128, |seen, byte| seen | 1 << (byte & 127)).count_ones()
}

#[cfg(test)]
#[path = "fragments_tests.rs"]
mod tests;
