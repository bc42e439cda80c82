//! YAML syntax check. Parser events suffice, so multiple documents and unknown
//! tags are fine. Duplicate mapping keys are checked separately.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle};

/// Maximum nesting depth that is checked.
const MAX_NESTING: usize = 1000;

/// Keys of a mapping, whether each is a plain scalar, and their lines.
type MappingKeys = HashMap<(String, bool), usize>;

/// A collection that is not closed yet.
enum OpenCollection {
    Sequence,
    Mapping { keys: MappingKeys, is_key_next: bool },
}

/// Returns the byte offset and message of the first error; `Err` if the text
/// cannot be checked.
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
            // Exceeding the depth limit is not a syntax error.
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
                // A quoted number is a different key than the number.
                let spelt = (value.into_owned(), style == ScalarStyle::Plain);
                match keys.map(|keys| keys.entry(spelt)) {
                    Some(Entry::Occupied(first)) if twice.is_none() => {
                        let at = span.start.byte_offset().unwrap_or_default();
                        let (name, line) = (&first.key().0, first.get());
                        twice =
                            Some((at, format!("the key '{name}' already exists on line {line}")));
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

/// Advances to the next key or value; returns the keys so far if it is a key.
fn next_key_slot(open: Option<&mut OpenCollection>) -> Option<&mut MappingKeys> {
    let Some(OpenCollection::Mapping { keys, is_key_next }) = open else { return None };
    let was_key = *is_key_next;
    *is_key_next = !was_key;
    was_key.then_some(keys)
}
