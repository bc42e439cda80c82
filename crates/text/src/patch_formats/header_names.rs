//! File names in the headers of unified diffs.

use super::PatchError;

/// URL prefixes of a name that is not UTF-8, with percent-encoded bytes:
/// absolute and relative.
const FILE_URL_PREFIX: &str = "file://";
const RELATIVE_URL_PREFIX: &str = "file://./";

/// The name of a missing file: not yet created, or deleted.
const NULL_PATH: &str = "/dev/null";

/// Checks whether a file exists.
pub(super) type FileExists<'a> = &'a dyn Fn(&str) -> bool;

/// A name from a header, in its possible readings: as written, without a date
/// after a tab, and also without trailing spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeaderName {
    readings: [String; 3],
    /// Whether only the first reading is possible.
    is_exact: bool,
}

impl HeaderName {
    /// The default reading.
    pub(super) const PLAIN_READING: usize = 2;

    /// A name whose end is marked.
    fn exact(name: String) -> Self {
        let plain = name.trim_end().to_owned();
        Self { readings: [name.clone(), name, plain], is_exact: true }
    }

    /// A quoted name, which has only one reading.
    fn quoted(name: String) -> Self {
        Self { readings: [name.clone(), name.clone(), name], is_exact: true }
    }

    /// Returns one of the readings.
    pub(super) fn reading(&self, how: usize) -> &str {
        self.readings.get(how).map_or("", String::as_str)
    }

    pub(super) fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Whether it denotes no file.
    pub(super) fn is_null(&self) -> bool {
        self.reading(Self::PLAIN_READING) == NULL_PATH
    }

    /// Returns the reading of a name that must exist.
    pub(super) fn choose_existing(&self, is_there: FileExists<'_>) -> &str {
        let [whole, dated, plain] = &self.readings;
        choose_name([whole.as_str(), dated], plain, is_there)
    }
}

/// Returns the first literal name that exists, else the plain one, which is
/// stripped of decoration.
pub(super) fn choose_name<'n>(
    literal: impl IntoIterator<Item = &'n str>,
    plain: &'n str,
    is_there: FileExists<'_>,
) -> &'n str {
    let mut literal = literal.into_iter().take_while(|name| *name != plain);
    literal.find(|name| !name.is_empty() && is_there(name)).unwrap_or(plain)
}

/// Parses a name from a header: a date may follow after a tab, and quotes are
/// read as git writes them. After a name with spaces git writes a tab and
/// nothing else.
pub(super) fn parse_header_name(line: usize, written: &str) -> Result<HeaderName, PatchError> {
    if let Some(quoted) = written.trim_end().strip_prefix('"') {
        let name = unquote_name(quoted)
            .ok_or_else(|| PatchError::at_line(line, "invalid quoted file name"))?;
        return Ok(HeaderName::quoted(name.0));
    }
    let whole = written.strip_suffix('\t').unwrap_or(written);
    let dated = written.split('\t').next().unwrap_or_default();
    let plain = dated.trim_end();
    match plain {
        "" => Err(PatchError::at_line(line, "the file has no name")),
        NULL_PATH => Ok(HeaderName::quoted(NULL_PATH.to_owned())),
        _ => Ok(HeaderName {
            readings: [whole, dated, plain].map(str::to_owned),
            is_exact: whole == dated && whole != written,
        }),
    }
}

/// Parses a quoted name up to its closing quote; returns it and the rest.
fn unquote_name(quoted: &str) -> Option<(String, &str)> {
    let mut bytes = Vec::new();
    let mut rest = quoted;
    loop {
        let c = rest.chars().next()?;
        rest = rest.get(c.len_utf8()..)?;
        match c {
            '"' => return Some((name_from_bytes(bytes), rest)),
            '\\' => {
                let escaped = rest.chars().next()?;
                if escaped.is_digit(8) {
                    bytes.push(u8::from_str_radix(rest.get(..3)?, 8).ok()?);
                    rest = rest.get(3..)?;
                    continue;
                }
                rest = rest.get(escaped.len_utf8()..)?;
                bytes.push(match escaped {
                    'a' => 7,
                    'b' => 8,
                    't' => b'\t',
                    'n' => b'\n',
                    'v' => 11,
                    'f' => 12,
                    'r' => b'\r',
                    '"' => b'"',
                    '\\' => b'\\',
                    _ => return None,
                });
            }
            c => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
}

/// Returns the name of these bytes, as a URL if they are not UTF-8.
fn name_from_bytes(bytes: Vec<u8>) -> String {
    let bytes = match String::from_utf8(bytes) {
        Ok(name) => return name,
        Err(error) => error.into_bytes(),
    };
    let mark = if bytes.starts_with(b"/") { FILE_URL_PREFIX } else { RELATIVE_URL_PREFIX };
    bytes.iter().fold(mark.to_owned(), |mut name, byte| {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => name.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => name.push(char::from(*byte)),
            byte => name.push_str(&format!("%{byte:02X}")),
        }
        name
    })
}

/// Returns the two names of a `diff --git` line. Unquoted names with spaces can
/// be separated only if both are equal.
pub(super) fn split_git_names(names: &str) -> (Option<HeaderName>, Option<HeaderName>) {
    if let Some(quoted) = names.strip_prefix('"') {
        let Some((old, rest)) = unquote_name(quoted) else { return (None, None) };
        let rest = rest.trim_start();
        let new = match rest.strip_prefix('"') {
            Some(quoted) => unquote_name(quoted).map(|(name, _)| HeaderName::quoted(name)),
            None => Some(HeaderName::quoted(rest.trim_end().to_owned())),
        };
        return (Some(HeaderName::quoted(old)), new);
    }
    let name = |name: &str| Some(HeaderName::exact(name.to_owned()));
    match split_in_half(names).or_else(|| split_in_half(names.trim_end())) {
        Some((old, new)) => (name(old), name(new)),
        None => (None, None),
    }
}

/// Splits two names that are equal except for their prefix, so the space
/// between them is in the middle.
fn split_in_half(names: &str) -> Option<(&str, &str)> {
    let middle = names.len() / 2;
    let (old, new) = (names.get(..middle)?, names.get(middle..)?.strip_prefix(' ')?);
    let bare = |name: &'_ str| name.find('/').map(|at| at + 1);
    let (old_bare, new_bare) = (old.get(bare(old)?..)?, new.get(bare(new)?..)?);
    (old_bare == new_bare).then_some((old, new))
}

/// The prefixes that git puts before the two names.
const GIT_PREFIXES: [(&str, &str); 6] =
    [("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"), ("1/", "2/")];

/// Strips git's prefixes if both names have them or there is only one name.
pub(super) fn strip_prefixes(
    old: Option<String>,
    new: Option<String>,
) -> (Option<String>, Option<String>) {
    let real = |name: Option<String>| name.filter(|name| name != NULL_PATH);
    let (old, new) = (real(old), real(new));
    for (before, after) in GIT_PREFIXES {
        let cut_old = old.as_deref().map(|name| strip_prefix(name, before));
        let cut_new = new.as_deref().map(|name| strip_prefix(name, after));
        let both = !matches!(cut_old, Some(None)) && !matches!(cut_new, Some(None));
        // From a single name, strip only the default prefixes.
        if both && (before == "a/" || old.is_some() && new.is_some()) {
            return (cut_old.flatten(), cut_new.flatten());
        }
    }
    (old, new)
}

fn strip_prefix(name: &str, prefix: &str) -> Option<String> {
    match name.strip_prefix(RELATIVE_URL_PREFIX) {
        Some(bare) => bare.strip_prefix(prefix).map(|bare| format!("{RELATIVE_URL_PREFIX}{bare}")),
        None => name.strip_prefix(prefix).map(str::to_owned),
    }
}
