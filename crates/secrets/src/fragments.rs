//! Pieces of a known value. A text is often cut before it is cleaned, and
//! what is left of a value then tells nearly as much as all of it.
//!
//! The automaton looks for short anchors, taken from a value at even
//! distances, so that every piece that counts holds one. At an anchor the
//! piece is read to both sides and judged.

use std::collections::{HashMap, HashSet};

use crate::encodings::{encoded_forms, escaped_forms};
use crate::ordinary_text::ordinary_letters;

/// A piece of this many letters gives a value away.
const MIN_FRAGMENT_CHARS: usize = 12;

/// The beginning or the end of a short value may be shorter.
const MIN_EDGE_CHARS: usize = 8;

/// A value up to here is told by half of it.
const MAX_HALVED_CHARS: usize = 23;

/// So many letters of a signed token may tell no more than whose it is.
const PUBLIC_CLAIM_CHARS: usize = 24;

/// The letters of an anchor.
const ANCHOR_CHARS: usize = 8;

/// From one anchor to the next: a shortest piece holds at least one.
const ANCHOR_STRIDE: usize = MIN_FRAGMENT_CHARS - ANCHOR_CHARS + 1;

/// So far a piece is read to each side of an anchor. Longer pieces hold more
/// anchors, and what is found at them overlaps.
const MAX_EXTEND_CHARS: usize = 64;

/// The same anchor is kept for so many places of one value.
const MAX_ANCHOR_POSITIONS: usize = 8;

/// One value has no more anchors in one form: it would be longer than 5 KB.
const MAX_FORM_ANCHORS: usize = 1024;

/// All values together have no more anchors.
const MAX_ANCHORS: usize = 16 * 1024;

/// Encoded forms, of which there are many, are left out from here on.
const MAX_ENCODED_ANCHORS: usize = 2 * 1024;

/// The text of a value in one form, of which pieces are looked for.
struct ValueForm {
    text: String,
    ordinary: Vec<bool>,
    label: usize,
    /// Whether it is short enough to be told by half of it.
    halved: bool,
}

/// Where an anchor is in its form.
#[derive(Clone, Copy)]
struct FragmentAnchor {
    form: usize,
    offset: usize,
}

/// The pieces of all values.
#[derive(Default)]
pub(crate) struct FragmentIndex {
    forms: Vec<ValueForm>,
    anchors: Vec<FragmentAnchor>,
    escapable: bool,
}

impl FragmentIndex {
    /// Of values, each with the number of its label.
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
            // A row of one letter or two may fill a whole text.
            *place <= MAX_ANCHOR_POSITIONS && distinct_bytes(anchor) > 2
        });
        self.anchors.extend(anchors.take(room).map(|offset| FragmentAnchor { form, offset }));
        self.forms.push(ValueForm { text, ordinary, label, halved });
    }

    /// What the automaton has to look for, in order.
    pub(crate) fn anchors(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.anchors.iter().map(|anchor| {
            let bytes = self.forms.get(anchor.form).map_or(&[][..], |form| form.text.as_bytes());
            bytes.get(anchor.offset..anchor.offset + ANCHOR_CHARS).unwrap_or_default()
        })
    }

    /// How many anchors there are.
    pub(crate) fn len(&self) -> usize {
        self.anchors.len()
    }

    /// Whether a piece may be written otherwise in a JSON string.
    pub(crate) fn is_escapable(&self) -> bool {
        self.escapable
    }

    /// The piece around the anchor of this number found at `start`, and its
    /// label; none if there is too little of the value in it.
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
    /// Whether this piece of the value cannot be there by chance.
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

/// Whether pieces of a value are looked for: it is one long word of mixed
/// letters, no address, no path and no text.
fn is_eligible(value: &str) -> bool {
    value.len() >= MIN_FRAGMENT_CHARS
        && value.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':')
        && (!value.contains('/') || is_base64(value.as_bytes()))
        && is_mixed(value.as_bytes())
}

/// Random bytes in base64, where a slash is a letter. A path of that length
/// would have other letters, or be all of one case.
fn is_base64(value: &[u8]) -> bool {
    value.len() >= 32
        && value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte))
        && value.iter().any(u8::is_ascii_uppercase)
        && value.iter().any(u8::is_ascii_lowercase)
        && value.iter().filter(|byte| byte.is_ascii_digit()).count() >= 2
        && !value.starts_with(b"/")
}

/// How far a signed token is like others: the first part says only how it was
/// signed, and the second begins with the name of a claim.
fn public_prefix_length(value: &[u8]) -> usize {
    let dot = value.iter().position(|byte| *byte == b'.').filter(|_| value.starts_with(b"eyJ"));
    let Some(dot) = dot else { return 0 };
    let claims =
        value.iter().skip(dot + 1).take(PUBLIC_CLAIM_CHARS).take_while(|byte| **byte != b'.');
    dot + 1 + claims.count()
}

/// Letters and digits, or letters of both cases and many of them.
pub(crate) fn is_mixed(piece: &[u8]) -> bool {
    let both_cases =
        piece.iter().any(u8::is_ascii_uppercase) && piece.iter().any(u8::is_ascii_lowercase);
    has_letters_and_digits(piece) || (both_cases && distinct_bytes(piece) >= 8)
}

fn has_letters_and_digits(piece: &[u8]) -> bool {
    piece.iter().any(u8::is_ascii_alphabetic) && piece.iter().any(u8::is_ascii_digit)
}

/// How many different bytes there are in an ASCII text.
fn distinct_bytes(piece: &[u8]) -> u32 {
    piece.iter().fold(0_u128, |seen, byte| seen | 1 << (byte & 127)).count_ones()
}

#[cfg(test)]
#[path = "fragments_tests.rs"]
mod tests;
