//! Prefilter for long texts: whether any pattern occurs.
//!
//! Each step of an automaton depends on the previous one. So several parts of
//! the text are scanned in lockstep, which hides the latency.

use aho_corasick::automaton::Automaton as _;
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, MatchKind};

/// Parts scanned in lockstep.
const LANE_COUNT: usize = 8;

/// Shorter texts gain nothing.
const MIN_TEXT_BYTES: usize = 4096;

/// Builds the automaton of the prefilter.
pub(crate) fn build_dfa<'a>(patterns: impl Iterator<Item = &'a [u8]>) -> Option<DFA> {
    let mut builder = DFA::builder();
    builder.match_kind(MatchKind::Standard).prefilter(false);
    builder.build(patterns.collect::<Vec<_>>()).ok()
}

/// Whether none of the patterns, of at most `longest` bytes, is in the text.
/// Returns false for a short text, which is not scanned.
pub(crate) fn has_no_match(automaton: &DFA, longest: usize, text: &[u8]) -> bool {
    let part = text.len() / LANE_COUNT;
    let before = longest.saturating_sub(1);
    if text.len() < MIN_TEXT_BYTES || before > part {
        return false;
    }
    let Ok(start) = automaton.start_state(Anchored::No) else { return false };
    // Each lane begins early enough to see every match that ends in its part.
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
