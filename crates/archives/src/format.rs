//! Archive formats, detected by content first and by file name second.

use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use hermes_core::ToolError;

/// A supported archive format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArchiveFormat {
    /// Zip, with deflate.
    Zip,
    /// Tar without compression.
    Tar,
    /// Tar inside gzip.
    TarGz,
    /// Tar inside Zstandard.
    TarZst,
    /// One file inside gzip.
    Gz,
    /// One file inside Zstandard.
    Zst,
    /// 7z, with LZMA2.
    SevenZip,
}

/// Bytes at the start of a file that format detection reads.
pub(crate) const FORMAT_HEAD_BYTES: usize = 64 * 1024;
/// Bytes of a tar block. The first block of an archive is a header.
const TAR_BLOCK_BYTES: usize = 512;

/// File name extensions, longest first.
const FORMAT_EXTENSIONS: &[(&str, ArchiveFormat)] = &[
    (".tar.zst", ArchiveFormat::TarZst),
    (".tar.gz", ArchiveFormat::TarGz),
    (".tzst", ArchiveFormat::TarZst),
    (".tgz", ArchiveFormat::TarGz),
    (".zip", ArchiveFormat::Zip),
    (".jar", ArchiveFormat::Zip),
    (".tar", ArchiveFormat::Tar),
    (".zst", ArchiveFormat::Zst),
    (".gz", ArchiveFormat::Gz),
    (".7z", ArchiveFormat::SevenZip),
];

/// Recognized but unsupported formats: magic bytes, description, and a program
/// that reads them.
const UNSUPPORTED_FORMATS: &[(&[u8], &str, &str)] = &[
    (b"BZh", "bzip2 data", "`tar -xjf` or `bunzip2`"),
    (b"\xFD7zXZ\0", "xz data", "`tar -xJf` or `unxz`"),
    (b"Rar!\x1A\x07", "a RAR archive", "`unrar` or `bsdtar`"),
    (b"LZIP", "lzip data", "`lzip -d`"),
    (b"\x04\x22\x4D\x18", "LZ4 data", "`lz4 -d`"),
    (b"!<arch>\n", "an ar archive or a Debian package", "`ar x`"),
    (b"\xED\xAB\xEE\xDB", "an RPM package", "`rpm2cpio`"),
    (b"MSCF", "a cabinet file", "`cabextract`"),
];

impl ArchiveFormat {
    /// All formats.
    pub const ALL: &'static [Self] =
        &[Self::Zip, Self::Tar, Self::TarGz, Self::TarZst, Self::Gz, Self::Zst, Self::SevenZip];

    /// Returns the format's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zip => "zip",
            Self::Tar => "tar",
            Self::TarGz => "tar.gz",
            Self::TarZst => "tar.zst",
            Self::Gz => "gz",
            Self::Zst => "zst",
            Self::SevenZip => "7z",
        }
    }

    /// Guesses the format from a file name.
    pub fn from_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        FORMAT_EXTENSIONS
            .iter()
            .find(|(ending, _)| name.ends_with(ending))
            .map(|&(_, format)| format)
    }

    /// Detects the format of a file that starts with `head`. The name decides
    /// only what the content leaves open.
    pub fn from_content(head: &[u8], path: &Path) -> Result<Self, ToolError> {
        if [&b"PK\x03\x04"[..], b"PK\x05\x06", b"PK\x07\x08"].iter().any(|s| head.starts_with(s)) {
            return Ok(Self::Zip);
        }
        if head.starts_with(b"7z\xBC\xAF\x27\x1C") {
            return Ok(Self::SevenZip);
        }
        if head.starts_with(b"\x1F\x8B") {
            let holds_tar = is_tar(&first_block(MultiGzDecoder::new(head)));
            return Ok(if holds_tar { Self::TarGz } else { Self::refine_by_name(path, Self::Gz) });
        }
        if head.starts_with(b"\x28\xB5\x2F\xFD") || is_skippable(head) {
            let block = zstd::stream::read::Decoder::with_buffer(head).map(first_block);
            let holds_tar = block.is_ok_and(|block| is_tar(&block));
            return Ok(if holds_tar {
                Self::TarZst
            } else {
                Self::refine_by_name(path, Self::Zst)
            });
        }
        if is_tar(head) {
            return Ok(Self::Tar);
        }
        let shown = path.display();
        if let Some((_, what, reader)) =
            UNSUPPORTED_FORMATS.iter().find(|(s, ..)| head.starts_with(s))
        {
            return Err(ToolError::invalid(format!("{shown} is {what}, which is not supported"))
                .with_hint(format!("Use a program such as {reader} to unpack it.")));
        }
        // An archive with a prefix, such as a self-extracting zip, or an empty
        // tar, which is all zeros.
        match Self::from_name(path) {
            Some(Self::Zip) => Ok(Self::Zip),
            Some(Self::Tar) if !head.is_empty() && head.iter().all(|&b| b == 0) => Ok(Self::Tar),
            _ => Err(unknown_format_error(path)),
        }
    }

    /// Treats compressed data without a tar header as tar if the name says so:
    /// it may be empty or damaged.
    fn refine_by_name(path: &Path, single: Self) -> Self {
        match (Self::from_name(path), single) {
            (Some(Self::TarGz), Self::Gz) => Self::TarGz,
            (Some(Self::TarZst), Self::Zst) => Self::TarZst,
            _ => single,
        }
    }

    /// Whether it holds a single unnamed file.
    pub fn is_single(self) -> bool {
        matches!(self, Self::Gz | Self::Zst)
    }

    /// Returns the supported compression levels; `None` if the format does not
    /// compress.
    pub fn compression_levels(self) -> Option<std::ops::RangeInclusive<u32>> {
        match self {
            Self::Tar => None,
            Self::Zip | Self::TarGz | Self::Gz | Self::SevenZip => Some(0..=9),
            Self::TarZst | Self::Zst => Some(1..=19),
        }
    }
}

impl std::fmt::Display for ArchiveFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

fn unknown_format_error(path: &Path) -> ToolError {
    let known: Vec<&str> = ArchiveFormat::ALL.iter().map(|format| format.name()).collect();
    ToolError::invalid(format!("{} is not an archive of a known format", path.display()))
        .with_hint(format!("Known are {}.", known.join(", ")))
}

/// Reads the first block; shorter if the stream is damaged.
fn first_block(stream: impl Read) -> Vec<u8> {
    let mut block = Vec::new();
    let _ = stream.take(TAR_BLOCK_BYTES as u64).read_to_end(&mut block);
    block
}

/// Whether `head` is a skippable Zstandard frame, which may come first.
fn is_skippable(head: &[u8]) -> bool {
    matches!(head, [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..])
}

/// Whether the tar header checksum matches. The checksum field itself counts as
/// spaces.
fn is_tar(head: &[u8]) -> bool {
    let (Some(block), Some(stated)) = (head.get(..TAR_BLOCK_BYTES), head.get(148..156)) else {
        return false;
    };
    let digits = stated.iter().skip_while(|b| **b == b' ').take_while(|b| b.is_ascii_digit());
    let stated = digits
        .fold(0_u32, |sum, digit| sum.saturating_mul(8).saturating_add(u32::from(digit - b'0')));
    let counted = |at: usize, byte: u8| if (148..156).contains(&at) { b' ' } else { byte };
    let sum: u32 = block.iter().enumerate().map(|(at, &b)| u32::from(counted(at, b))).sum();
    stated == sum && block.iter().any(|&b| b != 0)
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
