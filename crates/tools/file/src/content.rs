//! What a file holds, judged by its bytes and never by its name.

use encoding_rs::Encoding;
use hermes_text::binary;
use hermes_text::codec::{TextFormat, detect_format_with};

/// Text of some format, or something that lines cannot show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Text(TextFormat),
    Binary(Kind),
}

/// A kind of binary file: what it is called and what to do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) advice: &'static str,
}

// A tool of another family may be missing: it is named as one that may help.
const IMAGE: &str = "Look at it with vision_analyze, if that is available.";
const ARCHIVE: &str = "List or unpack it with file_compress.";
const SOUND: &str = "It takes a program for sound and pictures, such as ffmpeg, in the terminal.";
const PROGRAM: &str = "Programs such as `file` and `strings` tell more about it in the terminal.";
const FONT: &str = "Programs such as `fc-scan` tell more about it in the terminal.";
const OFFICE: &str = "Convert it first, for example with `soffice --headless --convert-to docx`.";
const PDF: &str = "Read it without raw=true for its text.";
const DATABASE: &str =
    "Query it with database_query, if that is available, or a program such as sqlite3.";
const RECODE: &str = "Convert it first, for example with `iconv -f UTF-32 -t UTF-8`.";
const UNKNOWN: &str = "If it is text, name its encoding, such as encoding=utf-16le; programs such as `file` and `xxd` tell \
     more about it in the terminal.";

/// What a kind of file begins with, its name, and what to do with it.
type Signature = (&'static [u8], &'static str, &'static str);

/// Beginnings that no text has.
const CERTAIN: &[Signature] = &[
    (b"\xFF\xFE\0\0", "UTF-32 text", RECODE),
    (b"\0\0\xFE\xFF", "UTF-32 text", RECODE),
    (b"\x89PNG\r\n\x1A\n", "a PNG image", IMAGE),
    (b"\xFF\xD8\xFF", "a JPEG image", IMAGE),
    (b"II*\0", "a TIFF image", IMAGE),
    (b"MM\0*", "a TIFF image", IMAGE),
    (b"\0\0\x01\0", "an icon", IMAGE),
    (b"8BPS\0", "a Photoshop image", IMAGE),
    (b"\0\0\0\x0CJXL ", "a JPEG XL image", IMAGE),
    (b"OggS\0", "an Ogg recording", SOUND),
    (b"fLaC\0", "a FLAC recording", SOUND),
    (b"ID3\x02", "an MP3 recording", SOUND),
    (b"ID3\x03", "an MP3 recording", SOUND),
    (b"ID3\x04", "an MP3 recording", SOUND),
    (b"MThd\0", "a MIDI file", SOUND),
    (b"\x1A\x45\xDF\xA3", "a Matroska or WebM file", SOUND),
    (b"%PDF-1.", "a PDF document", PDF),
    (b"%PDF-2.", "a PDF document", PDF),
    (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "an old or encrypted Office document", OFFICE),
    (b"PK\x03\x04", "a zip archive or an Office document", ARCHIVE),
    (b"PK\x05\x06", "an empty zip archive", ARCHIVE),
    (b"\x1F\x8B", "gzip data", ARCHIVE),
    (b"\x28\xB5\x2F\xFD", "zstd data", ARCHIVE),
    (b"\x04\x22\x4D\x18", "lz4 data", ARCHIVE),
    (b"\xFD7zXZ\0", "xz data", ARCHIVE),
    (b"7z\xBC\xAF\x27\x1C", "a 7z archive", ARCHIVE),
    (b"Rar!\x1A\x07", "a RAR archive", ARCHIVE),
    (b"\xED\xAB\xEE\xDB", "an RPM package", ARCHIVE),
    (b"SQLite format 3\0", "an SQLite database", DATABASE),
    (b"\x7FELF", "an ELF program or library", PROGRAM),
    (b"\xCF\xFA\xED\xFE", "a Mach-O program or library", PROGRAM),
    (b"\xCE\xFA\xED\xFE", "a Mach-O program or library", PROGRAM),
    (b"\xCA\xFE\xBA\xBE", "a Java class or Mach-O file", PROGRAM),
    (b"\0asm", "a WebAssembly module", PROGRAM),
    (b"BC\xC0\xDE", "LLVM bitcode", PROGRAM),
    (b"wOFF\0", "a web font", FONT),
    (b"wOF2\0", "a web font", FONT),
    (b"OTTO\0", "an OpenType font", FONT),
    (b"\0\x01\0\0\0", "a TrueType font", FONT),
];

/// Beginnings that a text may have too: they only name what is binary anyway.
const LIKELY: &[Signature] = &[
    (b"GIF87a", "a GIF image", IMAGE),
    (b"GIF89a", "a GIF image", IMAGE),
    (b"BM", "a BMP image", IMAGE),
    (b"BZh", "bzip2 data", ARCHIVE),
    (b"!<arch>\n", "a static library or Debian package", ARCHIVE),
    (b"MSCF", "a cabinet archive", ARCHIVE),
    (b"MZ", "a Windows program or library", PROGRAM),
    (b"dex\n", "an Android program", PROGRAM),
    (b"PAR1", "a Parquet table", DATABASE),
    (b"\xFF\xFB", "an MP3 recording", SOUND),
    (b"\xFF\xF3", "an MP3 recording", SOUND),
    (b"\xFF\xF1", "an AAC recording", SOUND),
];

/// Marks that stand further in: where, what, its name, and what to do with it.
type Inner = (usize, &'static [u8], &'static str, &'static str);

const INNER: &[Inner] = &[
    (8, b"WEBP", "a WebP image", IMAGE),
    (8, b"WAVE", "a WAV recording", SOUND),
    (8, b"AVI ", "an AVI film", SOUND),
    (4, b"ftypavif", "an AVIF image", IMAGE),
    (4, b"ftyphei", "a HEIF image", IMAGE),
    (4, b"ftypM4A", "an MPEG-4 recording", SOUND),
    (4, b"ftyp", "an MPEG-4 or QuickTime film", SOUND),
    (257, b"ustar", "a tar archive", ARCHIVE),
];

impl Content {
    /// What begins with `sample`; `complete` says that the sample is all. The
    /// encoding of a text that does not give it away is asked of `hint`.
    pub(crate) fn of(
        sample: &[u8],
        complete: bool,
        hint: impl FnOnce() -> Option<&'static Encoding>,
    ) -> Self {
        match Kind::certain(sample) {
            Some(kind) => Self::Binary(kind),
            None => {
                let format = detect_format_with(sample, complete, hint);
                Self::judged(sample, format, binary::binary_reason(sample, format))
            }
        }
    }

    /// The same, where the caller knows the encoding. What is noise in it is
    /// no text all the same.
    pub(crate) fn told(sample: &[u8], format: TextFormat) -> Self {
        Self::judged(sample, format, binary::binary_reason_in_encoding(sample, format))
    }

    fn judged(sample: &[u8], format: TextFormat, why_not: Option<&str>) -> Self {
        match why_not {
            Some(_) => Self::Binary(Kind::of(sample)),
            None => Self::Text(format),
        }
    }
}

impl Kind {
    /// Whether it is a picture.
    pub(crate) fn is_image(self) -> bool {
        self.advice == IMAGE
    }

    /// What is no text, whatever follows.
    pub(crate) fn certain(sample: &[u8]) -> Option<Self> {
        Self::named(sample, CERTAIN)
    }

    /// What bytes are that are no text.
    pub(crate) fn of(sample: &[u8]) -> Self {
        let unknown = Self { name: "binary data", advice: UNKNOWN };
        let named = Self::certain(sample).or_else(|| Self::inside(sample));
        named.or_else(|| Self::named(sample, LIKELY)).unwrap_or(unknown)
    }

    fn named(sample: &[u8], table: &[Signature]) -> Option<Self> {
        let &(_, name, advice) = table.iter().find(|(start, ..)| sample.starts_with(start))?;
        Some(Self { name, advice })
    }

    fn inside(sample: &[u8]) -> Option<Self> {
        let is_there =
            |&&(at, mark, ..): &&Inner| sample.get(at..).is_some_and(|rest| rest.starts_with(mark));
        let &(_, _, name, advice) = INNER.iter().find(is_there)?;
        Some(Self { name, advice })
    }
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
