//! A glance at much text: is there anything in it at all that is looked for?
//!
//! An automaton goes from byte to byte, and each step waits for the one before
//! it. So several parts of the text are gone through side by side: the steps of
//! one are taken while those of the others are waited for.

use aho_corasick::automaton::Automaton as _;
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, MatchKind};

/// Parts that are gone through side by side.
const LANE_COUNT: usize = 8;

/// With less text there is nothing to gain.
const MIN_TEXT_BYTES: usize = 4096;

/// An automaton for a glance.
pub(crate) fn build_dfa<'a>(patterns: impl Iterator<Item = &'a [u8]>) -> Option<DFA> {
    let mut builder = DFA::builder();
    builder.match_kind(MatchKind::Standard).prefilter(false);
    builder.build(patterns.collect::<Vec<_>>()).ok()
}

/// Whether none of the patterns is in the text, of which none is longer than
/// this. Of a short text it is not said.
pub(crate) fn has_no_match(automaton: &DFA, longest: usize, text: &[u8]) -> bool {
    let part = text.len() / LANE_COUNT;
    let before = longest.saturating_sub(1);
    if text.len() < MIN_TEXT_BYTES || before > part {
        return false;
    }
    let Ok(start) = automaton.start_state(Anchored::No) else { return false };
    // Each begins so early that it sees whatever ends in its part.
    let lanes: [&[u8]; LANE_COUNT] = std::array::from_fn(|lane| {
        let from = (lane * part).saturating_sub(before);
        let to = if lane + 1 == LANE_COUNT { text.len() } else { (lane + 1) * part };
        text.get(from..to).unwrap_or_default()
    });
    let common = lanes.iter().map(|lane| lane.len()).min().unwrap_or_default();
    let heads = lanes.map(|lane| lane.get(..common).unwrap_or_default());
    let mut states = [start; LANE_COUNT];
    for at in 0..common {
        let mut is_hit = false;
        for (state, head) in states.iter_mut().zip(heads) {
            let Some(byte) = head.get(at) else { return false };
            *state = automaton.next_state(Anchored::No, *state, *byte);
            is_hit |= automaton.is_special(*state);
        }
        if is_hit {
            return false;
        }
    }
    states.iter().zip(lanes).all(|(state, lane)| {
        let mut state = *state;
        lane.iter().skip(common).all(|byte| {
            state = automaton.next_state(Anchored::No, state, *byte);
            !automaton.is_special(state)
        })
    })
}

#[cfg(test)]
#[path = "prefilter_tests.rs"]
mod tests;
