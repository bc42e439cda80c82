//! YAML: its events are enough, so several documents and unknown tags are fine.
//! What they do not tell is a key that a mapping has twice.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle};

/// Levels that are looked at.
const MAX_NESTING: usize = 1000;

/// The keys of a mapping, whether each is plain, and the lines that they are on.
type MappingKeys = HashMap<(String, bool), usize>;

/// What is open.
enum OpenCollection {
    Sequence,
    Mapping { keys: MappingKeys, is_key_next: bool },
}

/// The first fault of a text, and at which byte; why, if it cannot be told.
pub(super) fn first_error(text: &str) -> Result<Option<(usize, String)>, String> {
    let options = granit_parser::options! {
        flow_nesting_limit: MAX_NESTING,
        block_nesting_limit: MAX_NESTING,
    };
    let mut open: Vec<OpenCollection> = Vec::new();
    let mut twice = None;
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = match event {
            Ok(event) => event,
            // Too deep is no error of the text.
            Err(error) if *error.kind() == ErrorKind::RecursionLimitExceeded => {
                let why = "It is nested more than";
                return Err(format!("{why} {MAX_NESTING} levels deep and was not checked."));
            }
            Err(error) => {
                let at = error.marker().byte_offset().unwrap_or(text.len());
                return Ok(Some((at, error.info())));
            }
        };
        match event {
            Event::Scalar(value, style, _, tag) => {
                let keys =
                    next_key_slot(open.last_mut()).filter(|_| tag.is_none() && value != "<<");
                // A number in quotes is another key than the number.
                let spelt = (value.into_owned(), style == ScalarStyle::Plain);
                match keys.map(|keys| keys.entry(spelt)) {
                    Some(Entry::Occupied(first)) if twice.is_none() => {
                        let at = span.start.byte_offset().unwrap_or_default();
                        let (name, line) = (&first.key().0, first.get());
                        twice = Some((at, format!("the key '{name}' is on line {line} already")));
                    }
                    Some(Entry::Vacant(free)) => drop(free.insert(span.start.line())),
                    _ => {}
                }
            }
            Event::Alias(_) => drop(next_key_slot(open.last_mut())),
            Event::SequenceStart(..) => {
                next_key_slot(open.last_mut());
                open.push(OpenCollection::Sequence);
            }
            Event::MappingStart(..) => {
                next_key_slot(open.last_mut());
                open.push(OpenCollection::Mapping { keys: MappingKeys::new(), is_key_next: true });
            }
            Event::SequenceEnd | Event::MappingEnd => drop(open.pop()),
            _ => {}
        }
    }
    Ok(twice)
}

/// Takes the next place; the keys so far, if that is the place of a key.
fn next_key_slot(open: Option<&mut OpenCollection>) -> Option<&mut MappingKeys> {
    let Some(OpenCollection::Mapping { keys, is_key_next }) = open else { return None };
    let was_key = *is_key_next;
    *is_key_next = !was_key;
    was_key.then_some(keys)
}
