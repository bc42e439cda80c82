//! What a file holds, judged by its bytes and never by its name.

use hermes_text::codec::{TextFormat, detect};

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

/// How much of a file is looked at for signs of binary data.
const HEAD: usize = 8 * 1024;

// A tool of another family may be missing: it is named as one that may help.
const IMAGE: &str = "Look at it with vision_analyze, if that is available.";
const ARCHIVE: &str = "Unpack it first, with file_compress if that is available.";
const SOUND: &str = "It takes a program for sound and pictures, such as ffmpeg.";
const PROGRAM: &str = "Programs such as `file` and `strings` tell more about it.";
const PDF: &str =
    "Extract its text with pdf_extract, if that is available, or a program such as pdftotext.";
const DATABASE: &str =
    "Query it with database_query, if that is available, or a program such as sqlite3.";
const RECODE: &str = "Convert it first, for example with `iconv -f UTF-32 -t UTF-8`.";
const UNKNOWN: &str = "Programs such as `file` and `xxd` tell more about it.";

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
    (b"OggS\0", "an Ogg recording", SOUND),
    (b"fLaC\0", "a FLAC recording", SOUND),
    (b"ID3\x02", "an MP3 recording", SOUND),
    (b"ID3\x03", "an MP3 recording", SOUND),
    (b"ID3\x04", "an MP3 recording", SOUND),
    (b"\x1A\x45\xDF\xA3", "a Matroska or WebM file", SOUND),
    (b"%PDF-1.", "a PDF document", PDF),
    (b"%PDF-2.", "a PDF document", PDF),
    (b"PK\x03\x04", "a zip archive or an Office document", ARCHIVE),
    (b"PK\x05\x06", "an empty zip archive", ARCHIVE),
    (b"\x1F\x8B", "gzip data", ARCHIVE),
    (b"\x28\xB5\x2F\xFD", "zstd data", ARCHIVE),
    (b"\xFD7zXZ\0", "xz data", ARCHIVE),
    (b"7z\xBC\xAF\x27\x1C", "a 7z archive", ARCHIVE),
    (b"Rar!\x1A\x07", "a RAR archive", ARCHIVE),
    (b"SQLite format 3\0", "an SQLite database", DATABASE),
    (b"\x7FELF", "an ELF program or library", PROGRAM),
    (b"\xCF\xFA\xED\xFE", "a Mach-O program or library", PROGRAM),
    (b"\xCA\xFE\xBA\xBE", "a Java class or Mach-O file", PROGRAM),
    (b"\0asm", "a WebAssembly module", PROGRAM),
];

/// Beginnings that a text may have too: they only name what is binary anyway.
const LIKELY: &[Signature] = &[
    (b"GIF87a", "a GIF image", IMAGE),
    (b"GIF89a", "a GIF image", IMAGE),
    (b"BM", "a BMP image", IMAGE),
    (b"RIFF", "a WebP, WAV or AVI file", SOUND),
    (b"BZh", "bzip2 data", ARCHIVE),
    (b"MZ", "a Windows program or library", PROGRAM),
];

impl Content {
    /// What begins with `sample`; `complete` says that the sample is all.
    pub(crate) fn of(sample: &[u8], complete: bool) -> Self {
        if let Some(kind) = Kind::named(sample, CERTAIN) {
            return Self::Binary(kind);
        }
        let format = detect(sample, complete);
        let head = sample.get(..HEAD).unwrap_or(sample);
        if !is_noise(format, head) {
            return Self::Text(format);
        }
        let unknown = Kind { name: "binary data", advice: UNKNOWN };
        Self::Binary(Kind::named(sample, LIKELY).unwrap_or(unknown))
    }
}

impl Kind {
    fn named(sample: &[u8], table: &[Signature]) -> Option<Self> {
        let &(_, name, advice) = table.iter().find(|(start, ..)| sample.starts_with(start))?;
        Some(Self { name, advice })
    }
}

fn is_noise(format: TextFormat, head: &[u8]) -> bool {
    let encoding = format.encoding();
    let wide = encoding == encoding_rs::UTF_16LE || encoding == encoding_rs::UTF_16BE;
    if !wide && memchr::memchr(0, head).is_some() {
        return true;
    }
    let text = format.decode(head).text;
    let (mut all, mut junk) = (0_usize, 0_usize);
    for c in text.chars() {
        all += 1;
        junk += usize::from(is_junk(c));
    }
    // Well-formed UTF-8 hardly ever happens by chance, a single-byte encoding
    // accepts anything: so the guess is held to a stricter measure.
    let percent = if wide || encoding == encoding_rs::UTF_8 { 30 } else { 5 };
    junk * 100 > all * percent
}

/// What text does not hold: controls beyond layout and terminal escapes.
fn is_junk(c: char) -> bool {
    c == '\u{FFFD}' || c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\x0C' | '\x08' | '\x1B')
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
