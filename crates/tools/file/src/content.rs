//! Detects what a file contains, by its bytes and never by its name.

use encoding_rs::Encoding;
use hermes_text::binary;
use hermes_text::codec::{TextFormat, detect_format_with};

/// Text in some format, or binary content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DetectedContent {
    Text(TextFormat),
    Binary(BinaryKind),
}

/// A kind of binary file, with its name and advice on how to read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BinaryKind {
    pub(crate) name: &'static str,
    pub(crate) advice: &'static str,
}

// Tools of other crates may be missing, so the advice says so.
const IMAGE_ADVICE: &str = "View it with vision_analyze, if that is available.";
const ARCHIVE_ADVICE: &str = "List or unpack it with file_compress.";
const SOUND_ADVICE: &str = "Use a media program such as ffmpeg in the terminal.";
const PROGRAM_ADVICE: &str =
    "Inspect it in the terminal with programs such as `file` and `strings`.";
const FONT_ADVICE: &str = "Inspect it in the terminal with programs such as `fc-scan`.";
const OFFICE_ADVICE: &str =
    "Convert it first, for example with `soffice --headless --convert-to docx`.";
const PDF_ADVICE: &str = "Read it without raw=true for its text.";
const DATABASE_ADVICE: &str =
    "Query it with database_query, if that is available, or a program such as sqlite3.";
const RECODE_ADVICE: &str = "Convert it first, for example with `iconv -f UTF-32 -t UTF-8`.";
const UNKNOWN_ADVICE: &str = "If it is text, name its encoding, such as encoding=utf-16le; \
     otherwise inspect it in the terminal with programs such as `file` and `xxd`.";

/// A prefix, the name of the kind, and the advice.
type FileSignature = (&'static [u8], &'static str, &'static str);

/// Prefixes that no text has.
const BINARY_SIGNATURES: &[FileSignature] = &[
    (b"\xFF\xFE\0\0", "UTF-32 text", RECODE_ADVICE),
    (b"\0\0\xFE\xFF", "UTF-32 text", RECODE_ADVICE),
    (b"\x89PNG\r\n\x1A\n", "a PNG image", IMAGE_ADVICE),
    (b"\xFF\xD8\xFF", "a JPEG image", IMAGE_ADVICE),
    (b"II*\0", "a TIFF image", IMAGE_ADVICE),
    (b"MM\0*", "a TIFF image", IMAGE_ADVICE),
    (b"\0\0\x01\0", "an icon", IMAGE_ADVICE),
    (b"8BPS\0", "a Photoshop image", IMAGE_ADVICE),
    (b"\0\0\0\x0CJXL ", "a JPEG XL image", IMAGE_ADVICE),
    (b"OggS\0", "an Ogg recording", SOUND_ADVICE),
    (b"fLaC\0", "a FLAC recording", SOUND_ADVICE),
    (b"ID3\x02", "an MP3 recording", SOUND_ADVICE),
    (b"ID3\x03", "an MP3 recording", SOUND_ADVICE),
    (b"ID3\x04", "an MP3 recording", SOUND_ADVICE),
    (b"MThd\0", "a MIDI file", SOUND_ADVICE),
    (b"\x1A\x45\xDF\xA3", "a Matroska or WebM file", SOUND_ADVICE),
    (b"%PDF-1.", "a PDF document", PDF_ADVICE),
    (b"%PDF-2.", "a PDF document", PDF_ADVICE),
    (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "an old or encrypted Office document", OFFICE_ADVICE),
    (b"PK\x03\x04", "a zip archive or an Office document", ARCHIVE_ADVICE),
    (b"PK\x05\x06", "an empty zip archive", ARCHIVE_ADVICE),
    (b"\x1F\x8B", "gzip data", ARCHIVE_ADVICE),
    (b"\x28\xB5\x2F\xFD", "zstd data", ARCHIVE_ADVICE),
    (b"\x04\x22\x4D\x18", "lz4 data", ARCHIVE_ADVICE),
    (b"\xFD7zXZ\0", "xz data", ARCHIVE_ADVICE),
    (b"7z\xBC\xAF\x27\x1C", "a 7z archive", ARCHIVE_ADVICE),
    (b"Rar!\x1A\x07", "a RAR archive", ARCHIVE_ADVICE),
    (b"\xED\xAB\xEE\xDB", "an RPM package", ARCHIVE_ADVICE),
    (b"SQLite format 3\0", "an SQLite database", DATABASE_ADVICE),
    (b"\x7FELF", "an ELF program or library", PROGRAM_ADVICE),
    (b"\xCF\xFA\xED\xFE", "a Mach-O program or library", PROGRAM_ADVICE),
    (b"\xCE\xFA\xED\xFE", "a Mach-O program or library", PROGRAM_ADVICE),
    (b"\xCA\xFE\xBA\xBE", "a Java class or Mach-O file", PROGRAM_ADVICE),
    (b"\0asm", "a WebAssembly module", PROGRAM_ADVICE),
    (b"BC\xC0\xDE", "LLVM bitcode", PROGRAM_ADVICE),
    (b"wOFF\0", "a web font", FONT_ADVICE),
    (b"wOF2\0", "a web font", FONT_ADVICE),
    (b"OTTO\0", "an OpenType font", FONT_ADVICE),
    (b"\0\x01\0\0\0", "a TrueType font", FONT_ADVICE),
];

/// Prefixes that text may have too: they only name content already found
/// binary.
const AMBIGUOUS_SIGNATURES: &[FileSignature] = &[
    (b"GIF87a", "a GIF image", IMAGE_ADVICE),
    (b"GIF89a", "a GIF image", IMAGE_ADVICE),
    (b"BM", "a BMP image", IMAGE_ADVICE),
    (b"BZh", "bzip2 data", ARCHIVE_ADVICE),
    (b"!<arch>\n", "a static library or Debian package", ARCHIVE_ADVICE),
    (b"MSCF", "a cabinet archive", ARCHIVE_ADVICE),
    (b"MZ", "a Windows program or library", PROGRAM_ADVICE),
    (b"dex\n", "an Android program", PROGRAM_ADVICE),
    (b"PAR1", "a Parquet table", DATABASE_ADVICE),
    (b"\xFF\xFB", "an MP3 recording", SOUND_ADVICE),
    (b"\xFF\xF3", "an MP3 recording", SOUND_ADVICE),
    (b"\xFF\xF1", "an AAC recording", SOUND_ADVICE),
];

/// An offset, the bytes there, the name of the kind, and the advice.
type OffsetSignature = (usize, &'static [u8], &'static str, &'static str);

const OFFSET_SIGNATURES: &[OffsetSignature] = &[
    (8, b"WEBP", "a WebP image", IMAGE_ADVICE),
    (8, b"WAVE", "a WAV recording", SOUND_ADVICE),
    (8, b"AVI ", "an AVI film", SOUND_ADVICE),
    (4, b"ftypavif", "an AVIF image", IMAGE_ADVICE),
    (4, b"ftyphei", "a HEIF image", IMAGE_ADVICE),
    (4, b"ftypM4A", "an MPEG-4 recording", SOUND_ADVICE),
    (4, b"ftyp", "an MPEG-4 or QuickTime film", SOUND_ADVICE),
    (257, b"ustar", "a tar archive", ARCHIVE_ADVICE),
];

impl DetectedContent {
    /// Detects the content from `sample`, which is the whole file if
    /// `complete`. `hint` supplies the encoding of ambiguous text.
    pub(crate) fn detect(
        sample: &[u8],
        complete: bool,
        hint: impl FnOnce() -> Option<&'static Encoding>,
    ) -> Self {
        match BinaryKind::detect_certain(sample) {
            Some(kind) => Self::Binary(kind),
            None => {
                let format = detect_format_with(sample, complete, hint);
                Self::from_verdict(sample, format, binary::binary_reason(sample, format))
            }
        }
    }

    /// Like [`Self::detect`], for a known encoding. Content that decodes to
    /// noise is still binary.
    pub(crate) fn detect_as(sample: &[u8], format: TextFormat) -> Self {
        Self::from_verdict(sample, format, binary::binary_reason_in_encoding(sample, format))
    }

    fn from_verdict(sample: &[u8], format: TextFormat, why_not: Option<&str>) -> Self {
        match why_not {
            Some(_) => Self::Binary(BinaryKind::detect(sample)),
            None => Self::Text(format),
        }
    }
}

impl BinaryKind {
    /// Whether it is an image.
    pub(crate) fn is_image(self) -> bool {
        self.advice == IMAGE_ADVICE
    }

    /// Identifies content that is binary, whatever follows.
    pub(crate) fn detect_certain(sample: &[u8]) -> Option<Self> {
        Self::match_signature(sample, BINARY_SIGNATURES)
    }

    /// Identifies bytes known to be binary.
    pub(crate) fn detect(sample: &[u8]) -> Self {
        let unknown = Self { name: "binary data", advice: UNKNOWN_ADVICE };
        let named = Self::detect_certain(sample).or_else(|| Self::match_offset_signature(sample));
        named.or_else(|| Self::match_signature(sample, AMBIGUOUS_SIGNATURES)).unwrap_or(unknown)
    }

    fn match_signature(sample: &[u8], table: &[FileSignature]) -> Option<Self> {
        let &(_, name, advice) = table.iter().find(|(start, ..)| sample.starts_with(start))?;
        Some(Self { name, advice })
    }

    fn match_offset_signature(sample: &[u8]) -> Option<Self> {
        let is_there = |&&(at, mark, ..): &&OffsetSignature| {
            sample.get(at..).is_some_and(|rest| rest.starts_with(mark))
        };
        let &(_, _, name, advice) = OFFSET_SIGNATURES.iter().find(is_there)?;
        Some(Self { name, advice })
    }
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
