//! Unpacks the parts of a zipped document one at a time within the limits,
//! whatever sizes the package claims.

use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::limits::{DocumentError, DocumentLimits};

/// The compression ratio of parts below this size is not limited.
const RATIO_FREE_BYTES: u64 = 16 << 20;

/// A zipped document.
#[derive(Debug)]
pub(crate) struct ZipPackage<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    /// Remaining bytes that may be unpacked.
    bytes_left: u64,
    ratio: u64,
}

impl<'a> ZipPackage<'a> {
    pub(crate) fn open(bytes: &'a [u8], limits: &DocumentLimits) -> Result<Self, DocumentError> {
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(DocumentError::damaged)?;
        Ok(Self { archive, bytes_left: limits.unpacked_bytes, ratio: limits.ratio })
    }

    /// Returns the names of all parts.
    pub(crate) fn part_names(&self) -> Vec<String> {
        self.archive.file_names().flatten().map(|name| name.into_owned()).collect()
    }

    /// Returns the text of a part, if it exists.
    pub(crate) fn part_text(&mut self, name: &str) -> Result<Option<String>, DocumentError> {
        let Some(index) = self.archive.index_for_name(name) else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        self.unpack(index, |piece| bytes.extend_from_slice(piece))?;
        Ok(Some(decode_text(bytes)))
    }

    /// Returns the text of a mandatory part.
    pub(crate) fn required_text(&mut self, name: &str) -> Result<String, DocumentError> {
        self.part_text(name)?
            .ok_or_else(|| DocumentError::Damaged(format!("its part {name} is missing")))
    }

    /// Fails if unpacking everything would exceed the limits; for libraries
    /// that unpack on their own.
    pub(crate) fn check_sizes(&mut self) -> Result<(), DocumentError> {
        (0..self.archive.len()).try_for_each(|index| self.unpack(index, |_| {}))
    }

    fn unpack(&mut self, index: usize, mut piece: impl FnMut(&[u8])) -> Result<(), DocumentError> {
        let mut part = match self.archive.by_index(index) {
            Ok(part) => part,
            Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => {
                return Err(DocumentError::Protected);
            }
            Err(error) => return Err(DocumentError::damaged(error)),
        };
        let packed = part.compressed_size().max(1);
        let most = RATIO_FREE_BYTES.max(packed.saturating_mul(self.ratio));
        let mut size = 0;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = part.read(&mut buffer).map_err(DocumentError::damaged)?;
            if read == 0 {
                return Ok(());
            }
            size += read as u64;
            if size > most {
                return Err(DocumentError::TooLarge(format!(
                    "a part of {packed} bytes unpacks to more than {most} bytes"
                )));
            }
            self.bytes_left = self.bytes_left.checked_sub(read as u64).ok_or_else(|| {
                DocumentError::TooLarge("its parts unpack to more than the size limit".to_owned())
            })?;
            piece(buffer.get(..read).unwrap_or_default());
        }
    }
}

/// Decodes an XML part: UTF-8, or UTF-16 with a byte order mark.
fn decode_text(bytes: Vec<u8>) -> String {
    let wide = |unit: fn([u8; 2]) -> u16| {
        let body = bytes.get(2..).unwrap_or_default();
        let units = body.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    if bytes.starts_with(b"\xFF\xFE") {
        return wide(u16::from_le_bytes);
    }
    if bytes.starts_with(b"\xFE\xFF") {
        return wide(u16::from_be_bytes);
    }
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
