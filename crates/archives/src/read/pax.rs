//! Records of pax headers, which extend the plain tar header of one entry or of
//! all that follow.

/// Keys that are used.
const KNOWN_KEYS: [&[u8]; 4] = [b"path", b"linkpath", b"size", b"mtime"];
/// Prefix of the keys of sparse files.
const SPARSE_KEY_PREFIX: &[u8] = b"GNU.sparse.";

/// Supported records of one header, in order.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct PaxRecords(Vec<(Vec<u8>, Vec<u8>)>);

impl PaxRecords {
    /// Parses consecutive `length key=value` records, each with a line feed.
    /// Only the length, which covers the whole record, says where a record
    /// ends: a name may contain line feeds.
    pub(super) fn parse(mut rest: &[u8]) -> Result<Self, String> {
        let mut records = Vec::new();
        while let Some((key, value, behind)) = parse_record(rest)? {
            if KNOWN_KEYS.contains(&key) || key.starts_with(SPARSE_KEY_PREFIX) {
                records.push((key.to_vec(), value.to_vec()));
            }
            rest = behind;
        }
        Ok(Self(records))
    }

    /// Returns the last value of a key; an empty one revokes earlier ones.
    pub(super) fn get(&self, wanted: &[u8]) -> Option<&[u8]> {
        self.0.iter().rfind(|(key, _)| key == wanted).map(|(_, value)| value.as_slice())
    }

    /// Returns the sparse records, each with the end of its key.
    pub(super) fn sparse_records(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().filter_map(|(key, value)| {
            Some((key.strip_prefix(SPARSE_KEY_PREFIX)?, value.as_slice()))
        })
    }

    /// Merges a later global header, which applies to all entries that follow.
    /// Sparse records apply to one file.
    pub(super) fn update(&mut self, later: Self) {
        for (key, value) in
            later.0.into_iter().filter(|(key, _)| !key.starts_with(SPARSE_KEY_PREFIX))
        {
            self.0.retain(|(known, _)| *known != key);
            self.0.push((key, value));
        }
    }
}

/// A key, its value, and what follows the record.
type PaxRecord<'a> = (&'a [u8], &'a [u8], &'a [u8]);

/// Parses the first record; `None` at the end, which may be padded with zeros.
fn parse_record(rest: &[u8]) -> Result<Option<PaxRecord<'_>>, String> {
    let wrong = || "malformed pax extension".to_owned();
    if matches!(rest, [] | [0, ..]) {
        return Ok(None);
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let length = rest.get(..digits).and_then(|digits| std::str::from_utf8(digits).ok());
    let length: usize = length.and_then(|length| length.parse().ok()).ok_or_else(wrong)?;
    let (record, behind) = rest.split_at_checked(length).ok_or_else(wrong)?;
    let record = record.get(digits..).and_then(|record| record.strip_prefix(b" "));
    let record = record.and_then(|record| record.strip_suffix(b"\n")).ok_or_else(wrong)?;
    let equals = record.iter().position(|byte| *byte == b'=').ok_or_else(wrong)?;
    let (key, value) = record.split_at(equals);
    Ok(Some((key, value.get(1..).unwrap_or_default(), behind)))
}

#[cfg(test)]
#[path = "pax_tests.rs"]
mod tests;
