//! The `charset` property of `.editorconfig` files. The caller supplies the
//! text of the files.

use std::path::Path;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::codec::TextFormat;

mod glob;

use glob::SectionGlob;

/// The text of one `.editorconfig` file and its directory.
#[derive(Debug, Clone, Copy)]
pub struct EditorConfigFile<'a> {
    /// The directory of the file.
    pub dir: &'a Path,
    /// The text of the file.
    pub text: &'a str,
}

/// The `charset` values of `.editorconfig`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditorConfigCharset {
    /// ISO 8859-1, read as its superset windows-1252.
    Latin1,
    /// UTF-8 without a byte order mark.
    Utf8,
    /// UTF-8 with a byte order mark.
    Utf8Bom,
    /// UTF-16, big-endian.
    Utf16Be,
    /// UTF-16, little-endian.
    Utf16Le,
}

impl EditorConfigCharset {
    fn from_name(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "latin1" => Some(Self::Latin1),
            "utf-8" => Some(Self::Utf8),
            "utf-8-bom" => Some(Self::Utf8Bom),
            "utf-16be" => Some(Self::Utf16Be),
            "utf-16le" => Some(Self::Utf16Le),
            _ => None,
        }
    }

    /// Returns the encoding.
    pub fn encoding(self) -> &'static Encoding {
        match self {
            Self::Latin1 => WINDOWS_1252,
            Self::Utf8 | Self::Utf8Bom => UTF_8,
            Self::Utf16Be => UTF_16BE,
            Self::Utf16Le => UTF_16LE,
        }
    }

    /// Returns the format of a new file.
    pub fn format(self) -> TextFormat {
        TextFormat::new(self.encoding(), self == Self::Utf8Bom)
    }
}

/// Returns the charset of the file at `path`. `configs` holds the
/// `.editorconfig` files of its directory and the parents, nearest first.
pub fn charset_for(configs: &[EditorConfigFile<'_>], path: &Path) -> Option<EditorConfigCharset> {
    for config in configs {
        let Ok(relative) = path.strip_prefix(config.dir) else { continue };
        let relative = relative.to_string_lossy();
        let said = read_properties(config.text, &relative);
        if let Some(value) = said.charset {
            // An unknown value such as `unset` clears the property.
            return EditorConfigCharset::from_name(value);
        }
        if said.is_root {
            break;
        }
    }
    None
}

/// Properties that one file sets for a path.
#[derive(Debug, Default)]
struct SectionProperties<'a> {
    charset: Option<&'a str>,
    is_root: bool,
}

fn read_properties<'a>(text: &'a str, path: &str) -> SectionProperties<'a> {
    let mut said = SectionProperties::default();
    let mut section: Option<&str> = None;
    for line in text.strip_prefix('\u{FEFF}').unwrap_or(text).lines() {
        let line = line.trim();
        if line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            // An unclosed header starts a section that matches nothing.
            section = Some(header.strip_suffix(']').unwrap_or_default());
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let (key, value) = (key.trim(), strip_comment(value));
        match section {
            None if key.eq_ignore_ascii_case("root") => {
                said.is_root = value.eq_ignore_ascii_case("true");
            }
            Some(glob) if key.eq_ignore_ascii_case("charset") && matches(glob, path) => {
                said.charset = Some(value);
            }
            _ => {}
        }
    }
    said
}

fn matches(glob: &str, path: &str) -> bool {
    SectionGlob::new(glob).is_some_and(|glob| glob.matches(path))
}

/// Strips a trailing comment, which older files have after a value.
fn strip_comment(value: &str) -> &str {
    let end = value.find([';', '#']).unwrap_or(value.len());
    value.get(..end).unwrap_or_default().trim()
}

#[cfg(test)]
#[path = "editorconfig_tests.rs"]
mod tests;
