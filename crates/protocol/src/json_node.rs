//! Lazy views of a JSON text: one level at a time, the rest left unparsed.
//! Nothing here recurses, so depth is safe, and a value that cannot be parsed
//! (a number out of range, an unpaired surrogate) affects only itself.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::request::MAX_CALLS;

/// The only keys that any dialect uses; all others are dropped.
const KNOWN_KEYS: [&str; 20] = [
    "args",
    "arguments",
    "call_id",
    "choices",
    "content",
    "function",
    "id",
    "input",
    "message",
    "name",
    "output",
    "parameters",
    "params",
    "role",
    "tool",
    "tool_call_id",
    "tool_calls",
    "tool_name",
    "tool_use_id",
    "type",
];

/// The known members of an object; for a duplicate key, the last one.
#[derive(Default)]
pub(crate) struct KnownFields<'a>(Vec<(&'static str, &'a RawValue)>);

impl<'a> KnownFields<'a> {
    /// Returns the member of that name, unless it is null.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let (_, value) = self.0.iter().find(|(key, _)| *key == name)?;
        (value.get() != "null").then_some(value)
    }

    /// Returns the first of these members that exists.
    pub(crate) fn first(&self, names: &[&str]) -> Option<&'a RawValue> {
        names.iter().find_map(|name| self.get(name))
    }

    /// Returns the member of that name, if it is a string.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(string_value)
    }
}

/// The elements of an array, up to a maximum.
pub(crate) struct BoundedArray<'a> {
    /// At most [`MAX_CALLS`] elements.
    pub(crate) items: Vec<&'a RawValue>,
    /// Whether there are more.
    pub(crate) overflow: bool,
}

/// Reads the known members of an object.
pub(crate) fn fields(text: &str) -> Result<KnownFields<'_>, serde_json::Error> {
    let mut found = KnownFields::default();
    walk_object(text, |key, value| {
        let Some(key) = KNOWN_KEYS.iter().copied().find(|known| *known == key) else { return };
        match found.0.iter_mut().find(|(known, _)| *known == key) {
            Some(slot) => slot.1 = value,
            None => found.0.push((key, value)),
        }
    })?;
    Ok(found)
}

/// Reads all members of an object, in order.
pub(crate) fn entries(text: &str) -> Result<Vec<(Cow<'_, str>, &RawValue)>, serde_json::Error> {
    let mut found = Vec::new();
    walk_object(text, |key, value| found.push((key, value)))?;
    Ok(found)
}

/// Returns the first `most` keys of an object.
pub(crate) fn keys(text: &str, most: usize) -> Vec<String> {
    let mut found = Vec::new();
    let walked = walk_object(text, |key, _| {
        if found.len() < most {
            found.push(key.into_owned());
        }
    });
    if walked.is_ok() { found } else { Vec::new() }
}

/// Reads the elements of an array.
pub(crate) fn items(text: &str) -> Result<BoundedArray<'_>, serde_json::Error> {
    serde_json::from_str(text)
}

/// Returns the text of a JSON string.
pub(crate) fn string_value(raw: &RawValue) -> Option<String> {
    if !raw.get().starts_with('"') {
        return None;
    }
    serde_json::from_str(raw.get()).ok()
}

/// Returns the type of a value, with its article.
pub(crate) fn describe_kind(text: &str) -> &'static str {
    match text.trim_start().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        Some(b'-' | b'0'..=b'9') => "a number",
        _ => "text",
    }
}

fn walk_object<'a>(
    text: &'a str,
    see: impl FnMut(Cow<'a, str>, &'a RawValue),
) -> Result<(), serde_json::Error> {
    struct ObjectVisitor<'a, F>(F, PhantomData<&'a ()>);
    impl<'de: 'a, 'a, F: FnMut(Cow<'a, str>, &'a RawValue)> Visitor<'de> for ObjectVisitor<'a, F> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
            while let Some((ObjectKey(key), value)) = map.next_entry()? {
                self.0(key, value);
            }
            Ok(())
        }
    }
    let mut json = serde_json::Deserializer::from_str(text);
    json.deserialize_map(ObjectVisitor(see, PhantomData))?;
    json.end()
}

struct ObjectKey<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for ObjectKey<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for KeyVisitor<'a> {
            type Value = ObjectKey<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<ObjectKey<'a>, E> {
                Ok(ObjectKey(Cow::Borrowed(key)))
            }
            fn visit_str<E>(self, key: &str) -> Result<ObjectKey<'a>, E> {
                Ok(ObjectKey(Cow::Owned(key.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor(PhantomData))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for BoundedArray<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ArrayVisitor<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for ArrayVisitor<'a> {
            type Value = BoundedArray<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }
            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut seq: A,
            ) -> Result<BoundedArray<'a>, A::Error> {
                let mut list = Vec::new();
                while list.len() < MAX_CALLS {
                    let Some(item) = seq.next_element()? else {
                        return Ok(BoundedArray { items: list, overflow: false });
                    };
                    list.push(item);
                }
                let mut overflow = false;
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    overflow = true;
                }
                Ok(BoundedArray { items: list, overflow })
            }
        }
        deserializer.deserialize_seq(ArrayVisitor(PhantomData))
    }
}
