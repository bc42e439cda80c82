//! Pieces of a known value. A text is often cut before it is cleaned, and
//! what is left of a value then tells nearly as much as all of it.
//!
//! The automaton looks for short anchors, taken from a value at even
//! distances, so that every piece that counts holds one. At an anchor the
//! piece is read to both sides and judged.

use std::collections::{HashMap, HashSet};

use crate::encodings::{encoded_forms, escaped_forms};
use crate::wording::ordinary_letters;

/// A piece of this many letters gives a value away.
const SHORTEST_PIECE: usize = 12;

/// The beginning or the end of a short value may be shorter.
const SHORTEST_END: usize = 8;

/// A value up to here is told by half of it.
const LONGEST_HALVED: usize = 23;

/// So many letters of a signed token may tell no more than whose it is.
const FIRST_CLAIM: usize = 24;

/// The letters of an anchor.
const ANCHOR: usize = 8;

/// From one anchor to the next: a shortest piece holds at least one.
const STRIDE: usize = SHORTEST_PIECE - ANCHOR + 1;

/// So far a piece is read to each side of an anchor. Longer pieces hold more
/// anchors, and what is found at them overlaps.
const REACH: usize = 64;

/// The same anchor is kept for so many places of one value.
const MAX_PLACES: usize = 8;

/// One value has no more anchors in one form: it would be longer than 5 KB.
const MAX_OF_FORM: usize = 1024;

/// All values together have no more anchors.
const MAX_ANCHORS: usize = 16 * 1024;

/// Encoded forms, of which there are many, are left out from here on.
const MAX_WITH_ENCODED: usize = 2 * 1024;

/// The text of a value in one form, of which pieces are looked for.
struct Form {
    text: String,
    ordinary: Vec<bool>,
    label: usize,
    /// Whether it is short enough to be told by half of it.
    halved: bool,
}

/// Where an anchor is in its form.
#[derive(Clone, Copy)]
struct Anchor {
    form: usize,
    offset: usize,
}

/// The pieces of all values.
#[derive(Default)]
pub(crate) struct Fragments {
    forms: Vec<Form>,
    anchors: Vec<Anchor>,
    escapable: bool,
}

impl Fragments {
    /// Of values, each with the number of its label.
    pub(crate) fn new<'a>(values: impl IntoIterator<Item = (&'a str, usize)>) -> Self {
        let mut fragments = Self::default();
        let mut seen = HashSet::new();
        let values: Vec<_> = values.into_iter().filter(|(value, _)| is_eligible(value)).collect();
        for (value, label) in &values {
            let halved = value.len() <= LONGEST_HALVED;
            fragments.escapable |= value.contains(['"', '\\']);
            for text in escaped_forms(value) {
                if seen.insert(text.clone()) {
                    fragments.add(text, *label, halved, MAX_ANCHORS);
                }
            }
        }
        for (value, label) in &values {
            let from = public_length(value.as_bytes());
            for text in encoded_forms(value.get(from..).unwrap_or_default()) {
                if fragments.anchors.len() < MAX_WITH_ENCODED && seen.insert(text.clone()) {
                    fragments.add(text, *label, false, MAX_WITH_ENCODED);
                }
            }
        }
        fragments
    }

    fn add(&mut self, text: String, label: usize, halved: bool, limit: usize) {
        let bytes = text.as_bytes();
        let Some(last) = bytes.len().checked_sub(ANCHOR) else { return };
        let mut ordinary = ordinary_letters(bytes);
        for flag in ordinary.iter_mut().take(public_length(bytes)) {
            *flag = true;
        }
        let mut places: HashMap<&[u8], usize> = HashMap::new();
        let room = limit.saturating_sub(self.anchors.len()).min(MAX_OF_FORM);
        let form = self.forms.len();
        let offsets = (0..last).step_by(STRIDE).chain([last]);
        let anchors = offsets.filter(|offset| {
            let anchor = bytes.get(*offset..offset + ANCHOR).unwrap_or_default();
            let place = places.entry(anchor).or_default();
            *place += 1;
            // A row of one letter or two may fill a whole text.
            *place <= MAX_PLACES && distinct(anchor) > 2
        });
        self.anchors.extend(anchors.take(room).map(|offset| Anchor { form, offset }));
        self.forms.push(Form { text, ordinary, label, halved });
    }

    /// What the automaton has to look for, in order.
    pub(crate) fn anchors(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.anchors.iter().map(|anchor| {
            let bytes = self.forms.get(anchor.form).map_or(&[][..], |form| form.text.as_bytes());
            bytes.get(anchor.offset..anchor.offset + ANCHOR).unwrap_or_default()
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
    pub(crate) fn piece_at(
        &self,
        number: usize,
        text: &str,
        start: usize,
    ) -> Option<(usize, usize, usize)> {
        let anchor = self.anchors.get(number)?;
        let form = self.forms.get(anchor.form)?;
        let (text, value) = (text.as_bytes(), form.text.as_bytes());
        let (before, after) = (text.get(..start)?, text.get(start + ANCHOR..)?);
        let (head, tail) = (value.get(..anchor.offset)?, value.get(anchor.offset + ANCHOR..)?);
        let back = before.iter().rev().zip(head.iter().rev()).take(REACH);
        let back = back.take_while(|(one, other)| one == other).count();
        let on = after.iter().zip(tail).take(REACH);
        let on = on.take_while(|(one, other)| one == other).count();
        let end = anchor.offset + ANCHOR + on;
        form.gives_away(anchor.offset - back, end).then_some((
            start - back,
            start + ANCHOR + on,
            form.label,
        ))
    }
}

impl Form {
    /// Whether this piece of the value cannot be there by chance.
    fn gives_away(&self, from: usize, to: usize) -> bool {
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
        if piece.len() >= SHORTEST_PIECE {
            let is_most = piece.len() * 4 >= length * 3 && has_letters_and_digits(piece);
            return random >= 4 || is_most;
        }
        let at_end = from == 0 || to == length;
        let enough = piece.len() >= SHORTEST_END.max(length.div_ceil(2));
        self.halved && at_end && enough && random >= 5
    }
}

/// Whether pieces of a value are looked for: it is one long word of mixed
/// letters, no address, no path and no text.
fn is_eligible(value: &str) -> bool {
    value.len() >= SHORTEST_PIECE
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
fn public_length(value: &[u8]) -> usize {
    let dot = value.iter().position(|byte| *byte == b'.').filter(|_| value.starts_with(b"eyJ"));
    let Some(dot) = dot else { return 0 };
    let claims = value.iter().skip(dot + 1).take(FIRST_CLAIM).take_while(|byte| **byte != b'.');
    dot + 1 + claims.count()
}

/// Letters and digits, or letters of both cases and many of them.
pub(crate) fn is_mixed(piece: &[u8]) -> bool {
    let both_cases =
        piece.iter().any(u8::is_ascii_uppercase) && piece.iter().any(u8::is_ascii_lowercase);
    has_letters_and_digits(piece) || (both_cases && distinct(piece) >= 8)
}

fn has_letters_and_digits(piece: &[u8]) -> bool {
    piece.iter().any(u8::is_ascii_alphabetic) && piece.iter().any(u8::is_ascii_digit)
}

/// How many different bytes there are in an ASCII text.
fn distinct(piece: &[u8]) -> u32 {
    piece.iter().fold(0_u128, |seen, byte| seen | 1 << (byte & 127)).count_ones()
}

#[cfg(test)]
#[path = "fragments_tests.rs"]
mod tests;
