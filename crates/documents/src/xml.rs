//! Walks XML without recursion. Does not expand custom entities.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::QName;

use crate::limits::{DocumentError, DocumentLimits};

/// An XML event. Names have no namespace prefix.
#[derive(Debug)]
pub(crate) enum XmlEvent<'a> {
    /// Start of an element; an empty one is followed by its end.
    Open(XmlElement<'a>),
    /// End of an element.
    Close(&'a str),
    /// Characters.
    Text(&'a str),
}

/// Start tag of an element.
#[derive(Debug)]
pub(crate) struct XmlElement<'a>(BytesStart<'a>);

impl XmlElement<'_> {
    /// Local name.
    pub(crate) fn name(&self) -> &str {
        self.0.local_name().into_inner()
    }

    /// Returns the value of an attribute, ignoring its prefix.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        self.find_attribute(|key| key.local_name().into_inner() == name)
    }

    /// Returns the value of an attribute by its prefixed name, where the local
    /// name is ambiguous.
    pub(crate) fn prefixed_attribute(&self, name: &str) -> Option<String> {
        self.find_attribute(|key| key.into_inner() == name)
    }

    fn find_attribute(&self, is_wanted: impl Fn(QName<'_>) -> bool) -> Option<String> {
        let mut attributes = self.0.attributes();
        let found = attributes.with_checks(false).flatten().find(|found| is_wanted(found.key))?;
        let value = quick_xml::escape::unescape(&found.value);
        Some(value.map_or_else(|_| found.value.to_string(), std::borrow::Cow::into_owned))
    }

    /// Returns the value of an attribute as a number.
    pub(crate) fn numeric_attribute(&self, name: &str) -> Option<usize> {
        self.attribute(name)?.trim().parse().ok()
    }

    /// Whether the attribute has this value.
    pub(crate) fn has_value(&self, name: &str, value: &str) -> bool {
        self.attribute(name).as_deref() == Some(value)
    }
}

/// Calls `visit` for each event.
pub(crate) fn walk_xml(
    xml: &str,
    limits: &DocumentLimits,
    mut visit: impl FnMut(XmlEvent<'_>),
) -> Result<(), DocumentError> {
    let mut reader = Reader::from_str(xml.trim_start_matches('\u{FEFF}'));
    let config = reader.config_mut();
    config.expand_empty_elements = true;
    config.allow_dangling_amp = true;
    let mut depth = 0_usize;
    loop {
        match reader.read_event().map_err(DocumentError::damaged)? {
            Event::Start(start) => {
                depth += 1;
                if depth > limits.depth {
                    return Err(DocumentError::Damaged(format!(
                        "its elements are nested more than {} deep",
                        limits.depth
                    )));
                }
                visit(XmlEvent::Open(XmlElement(start)));
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                visit(XmlEvent::Close(end.local_name().into_inner()));
            }
            Event::Text(text) => visit(XmlEvent::Text(&text.into_inner())),
            Event::CData(text) => visit(XmlEvent::Text(&text.into_inner())),
            Event::GeneralRef(reference) => {
                let mut room = [0; 4];
                let name = reference.clone().into_inner();
                let text = match &*name {
                    "amp" => "&",
                    "lt" => "<",
                    "gt" => ">",
                    "quot" => "\"",
                    "apos" => "'",
                    _ => match reference.resolve_char_ref() {
                        Ok(Some(c)) => c.encode_utf8(&mut room),
                        _ => {
                            visit(XmlEvent::Text(&format!("&{name};")));
                            continue;
                        }
                    },
                };
                visit(XmlEvent::Text(text));
            }
            Event::Eof if depth > 0 => {
                return Err(DocumentError::Damaged(
                    "its XML ends in the middle of an element".to_owned(),
                ));
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}
