//! The encoding of a text whose bytes are ambiguous: the one that the caller
//! names, that the file was written in, or that `.editorconfig` sets for it.

use std::path::Path;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use hermes_core::{ToolContext, ToolError};
use hermes_files::FileAccess;
use hermes_text::codec::{TextFormat, detect_format_with};
use hermes_text::editorconfig::{self, EditorConfigCharset, EditorConfigFile};
use hermes_text::{NotTextError, TextDocument};

use crate::seen_files;

/// The byte order mark as a character.
pub(crate) const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// Decodes a text file. Pure ASCII is valid in many encodings; it gets the
/// recorded or configured one, if that is among them.
pub(crate) fn read(
    cx: &ToolContext,
    path: &Path,
    bytes: Vec<u8>,
) -> Result<TextDocument, NotTextError> {
    let document = TextDocument::read_with(bytes, || known_encoding(cx, path))?;
    match ambiguous_encoding(&document.format(), document.bytes(), || known_encoding(cx, path)) {
        Some(encoding) => TextDocument::read(document.bytes().to_vec(), Some(encoding)),
        None => Ok(document),
    }
}

/// Returns the encoding of pure ASCII bytes, if it is not UTF-8.
fn ambiguous_encoding(
    format: &TextFormat,
    bytes: &[u8],
    hint: impl FnOnce() -> Option<&'static Encoding>,
) -> Option<&'static Encoding> {
    if *format != TextFormat::PLAIN_UTF8 || bytes.is_empty() {
        return None;
    }
    let is_open = |encoding: &&'static Encoding| {
        bytes.is_ascii() && encoding.decode_without_bom_handling(bytes).0.as_bytes() == bytes
    };
    hint().filter(|encoding| *encoding != UTF_8).filter(is_open)
}

/// Like [`read`], in the encoding that the caller names; a byte order mark
/// takes precedence.
pub(crate) fn read_as(
    cx: &ToolContext,
    path: &Path,
    bytes: Vec<u8>,
    shown: Option<&'static Encoding>,
) -> Result<TextDocument, NotTextError> {
    let Some(shown) = shown else { return read(cx, path, bytes) };
    let document = TextDocument::read(bytes, Some(shown))?;
    remember_encoding(cx, path, document.bytes(), true, shown);
    Ok(document)
}

/// Records the encoding that the caller names, if detection would choose
/// another. The session uses it from then on.
pub(crate) fn remember_encoding(
    cx: &ToolContext,
    path: &Path,
    bytes: &[u8],
    complete: bool,
    shown: &'static Encoding,
) {
    let hint = || editorconfig_charset(cx, path).map(EditorConfigCharset::encoding);
    let looks = detect_format_with(bytes, complete, hint);
    let looks = ambiguous_encoding(&looks, bytes, hint).unwrap_or(looks.encoding());
    seen_files::record_encoding(cx, path, (looks != shown).then_some(shown));
}

/// Returns the encoding that the session recorded for a file, or that
/// `.editorconfig` sets for it, as far as the call may read. Reads the disk, so
/// use it only for ambiguous bytes.
pub(crate) fn known_encoding(cx: &ToolContext, path: &Path) -> Option<&'static Encoding> {
    seen_files::recorded_encoding(cx, path)
        .or_else(|| editorconfig_charset(cx, path).map(EditorConfigCharset::encoding))
}

/// Detects the encoding of these bytes without what the session recorded.
pub(crate) fn detect_format(cx: &ToolContext, path: &Path, bytes: &[u8]) -> TextFormat {
    detect_format_with(bytes, true, || {
        editorconfig_charset(cx, path).map(EditorConfigCharset::encoding)
    })
}

/// Returns the format of a new file: the recorded encoding, or the one that
/// `.editorconfig` sets.
pub(crate) fn new_file_format(cx: &ToolContext, path: &Path) -> TextFormat {
    match seen_files::recorded_encoding(cx, path) {
        Some(named) => TextFormat::new(named, named == UTF_16LE || named == UTF_16BE),
        None => editorconfig_charset(cx, path)
            .map_or(TextFormat::PLAIN_UTF8, EditorConfigCharset::format),
    }
}

/// Parses an encoding name, and whether it asks for a byte order mark.
pub(crate) fn parse_encoding(name: &str) -> Result<(&'static Encoding, bool), ToolError> {
    let plain = name.trim().to_ascii_lowercase();
    let without = ["-bom", "-sig", "_bom", "_sig"].iter().find_map(|mark| plain.strip_suffix(mark));
    let label = without.unwrap_or(&plain);
    let known = |label: &str| Encoding::for_label_no_replacement(label.as_bytes());
    match known(label).or_else(|| known(&web_label(label))) {
        Some(encoding) => Ok((encoding, without.is_some())),
        None => Err(ToolError::invalid(format!("Unknown encoding '{name}'")).with_hint(
            "Use a WHATWG name, such as utf-8, utf-8-bom, utf-16le, windows-1252, shift_jis, gbk.",
        )),
    }
}

/// Maps names used by other programs to WHATWG labels.
fn web_label(label: &str) -> String {
    let bare: String = label.chars().filter(char::is_ascii_alphanumeric).collect();
    let number = |prefix: &str| bare.strip_prefix(prefix).map(str::to_owned);
    match bare.as_str() {
        "utf8" => "utf-8".to_owned(),
        "utf16" => "utf-16".to_owned(),
        "utf16le" | "ucs2" => "utf-16le".to_owned(),
        "utf16be" => "utf-16be".to_owned(),
        "cp932" | "ms932" => "shift_jis".to_owned(),
        "cp936" => "gbk".to_owned(),
        "cp949" => "euc-kr".to_owned(),
        "cp950" => "big5".to_owned(),
        "macroman" => "macintosh".to_owned(),
        _ => match (number("windows").or_else(|| number("cp")), number("iso8859")) {
            (Some(page), _) => format!("windows-{page}"),
            (_, Some(part)) => format!("iso-8859-{part}"),
            _ => bare,
        },
    }
}

fn editorconfig_charset(cx: &ToolContext, path: &Path) -> Option<EditorConfigCharset> {
    let files = FileAccess::new(cx);
    let found = files.editor_configs_above(path).unwrap_or_default();
    if found.is_empty() {
        return None;
    }
    let configs: Vec<_> =
        found.iter().map(|(directory, text)| EditorConfigFile { dir: directory, text }).collect();
    // The directories are canonical, so the file's path must be, too.
    let real = files.real_path(path);
    editorconfig::charset_for(&configs, real.as_deref().unwrap_or(path))
}

#[cfg(test)]
#[path = "charset_tests.rs"]
mod tests;
