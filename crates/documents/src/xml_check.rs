//! Checks that a text is well-formed XML.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// Returns the byte offset and description of the first XML error. Several
/// top-level elements are accepted, as a fragment.
pub fn find_xml_error(text: &str) -> Option<(usize, String)> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_comments = true;
    // Open elements and their offsets.
    let mut open: Vec<(String, usize)> = Vec::new();
    loop {
        let begin = to_offset(reader.buffer_position());
        match reader.read_event() {
            Err(error) => {
                let at = to_offset(reader.error_position()).max(open.last().map_or(0, |o| o.1));
                return Some((at, error.to_string()));
            }
            Ok(Event::Eof) => break,
            Ok(Event::Start(element)) => {
                if let Some(what) = find_attribute_error(&element) {
                    return Some((begin, what));
                }
                open.push((element.name().into_inner().to_owned(), begin));
            }
            Ok(Event::Empty(element)) => {
                if let Some(what) = find_attribute_error(&element) {
                    return Some((begin, what));
                }
            }
            Ok(Event::End(_)) => drop(open.pop()),
            Ok(_) => {}
        }
    }
    let (name, at) = open.pop()?;
    Some((at, format!("<{name}> is never closed")))
}

fn find_attribute_error(element: &BytesStart<'_>) -> Option<String> {
    let error = element.attributes().find_map(Result::err)?;
    Some(format!("attributes of <{}>: {error}", element.name().into_inner()))
}

fn to_offset(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

#[cfg(test)]
#[path = "xml_check_tests.rs"]
mod tests;
