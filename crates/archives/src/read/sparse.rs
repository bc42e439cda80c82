//! Sparse files in tars: the old GNU format, and the pax formats 0.0, 0.1 and
//! 1.0.

use std::collections::VecDeque;
use std::io::{self, Read};

use super::pax::PaxRecords;

/// Maximum data segments of a file.
const MAX_SPARSE_PIECES: usize = 1_000_000;
/// Bytes of a block; the data of format 1.0 starts with a map in whole blocks.
const SPARSE_BLOCK_BYTES: usize = 512;

/// A sparse file as its headers describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SparseFile {
    /// Name, if it differs from the one in the entry header.
    pub(super) name: Option<Vec<u8>>,
    /// Size including the holes.
    pub(super) size: u64,
    map: SparseMap,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SparseMap {
    /// Start and length of each segment.
    Known(VecDeque<(u64, u64)>),
    /// The map precedes the data.
    InContent,
}

impl SparseFile {
    /// Parses the sparse records; `None` if there are none.
    pub(super) fn from_records(records: &PaxRecords) -> Result<Option<Self>, String> {
        let (mut name, mut size, mut version) = (None, None, (None, None));
        let (mut numbers, mut is_sparse) = (Vec::new(), false);
        for (key, value) in records.sparse_records() {
            is_sparse = true;
            match key {
                b"name" => name = Some(value.to_vec()),
                b"size" | b"realsize" => size = Some(parse_number(value)?),
                b"major" => version.0 = Some(parse_number(value)?),
                b"minor" => version.1 = Some(parse_number(value)?),
                b"offset" | b"numbytes" => numbers.push(parse_number(value)?),
                b"map" if value.is_empty() => {}
                b"map" => {
                    numbers = value
                        .split(|byte| *byte == b',')
                        .map(parse_number)
                        .collect::<Result<_, String>>()?;
                }
                _ => {}
            }
            if numbers.len() > 2 * MAX_SPARSE_PIECES {
                return Err("a sparse file has too many segments".to_owned());
            }
        }
        if !is_sparse {
            return Ok(None);
        }
        let size = size.ok_or("a sparse file has no size")?;
        let map = match version {
            (None | Some(0), None | Some(0 | 1)) => SparseMap::Known(check_pieces(&numbers, size)?),
            (Some(1), None | Some(0)) => SparseMap::InContent,
            _ => return Err("a sparse file has an unknown format version".to_owned()),
        };
        Ok(Some(Self { name, size, map }))
    }

    /// Parses the old headers: start and length of each segment, checked
    /// against the stored bytes.
    pub(super) fn from_old_header(numbers: &[u64], size: u64, stored: u64) -> Result<Self, String> {
        if numbers.len() > 2 * MAX_SPARSE_PIECES {
            return Err("a sparse file has too many segments".to_owned());
        }
        let pieces = check_pieces(numbers, size)?;
        let total = pieces.iter().fold(0, |sum: u64, (_, len)| sum.saturating_add(*len));
        if total != stored {
            return Err("the segments of a sparse file do not add up to its stored size".to_owned());
        }
        Ok(Self { name: None, size, map: SparseMap::Known(pieces) })
    }

    /// Returns a reader of the content with its holes.
    pub(super) fn expand<R: Read>(self, mut packed: R) -> io::Result<SparseReader<R>> {
        let pieces = match self.map {
            SparseMap::Known(pieces) => pieces,
            SparseMap::InContent => {
                let numbers = read_map(&mut packed)?;
                check_pieces(&numbers, self.size).map_err(damaged_error)?
            }
        };
        Ok(SparseReader { packed, pieces, at: 0, size: self.size })
    }
}

/// A reader that fills holes with zeros.
#[derive(Debug)]
pub(super) struct SparseReader<R> {
    packed: R,
    pieces: VecDeque<(u64, u64)>,
    at: u64,
    size: u64,
}

impl<R: Read> Read for SparseReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.pieces.front().is_some_and(|&(start, len)| start + len <= self.at) {
            self.pieces.pop_front();
        }
        let (is_data, until) = match self.pieces.front() {
            Some(&(start, len)) if start <= self.at => (true, start + len),
            Some(&(start, _)) => (false, start),
            None => (false, self.size),
        };
        let left = usize::try_from(until.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let room = buffer.len().min(left);
        let buffer = buffer.get_mut(..room).unwrap_or_default();
        if buffer.is_empty() {
            return Ok(0);
        }
        let read = if is_data {
            match self.packed.read(buffer)? {
                0 => return Err(damaged_error("a sparse file ends too early")),
                read => read,
            }
        } else {
            buffer.fill(0);
            room
        };
        self.at += read as u64;
        Ok(read)
    }
}

/// Checks that segments are in order and end within the file.
fn check_pieces(numbers: &[u64], size: u64) -> Result<VecDeque<(u64, u64)>, String> {
    let wrong = || "the segments of a sparse file are inconsistent".to_owned();
    let (pairs, []) = numbers.as_chunks::<2>() else { return Err(wrong()) };
    let mut end = 0_u64;
    let mut pieces = VecDeque::with_capacity(pairs.len());
    for &[start, len] in pairs {
        let next = start.checked_add(len).filter(|next| *next <= size).ok_or_else(wrong)?;
        if start < end {
            return Err(wrong());
        }
        end = next;
        if len > 0 {
            pieces.push_back((start, len));
        }
    }
    Ok(pieces)
}

/// Reads the map before the data: the number of pairs, then the pairs, one
/// number per line, padded to whole blocks.
fn read_map(packed: &mut impl Read) -> io::Result<Vec<u64>> {
    let (mut numbers, mut digits) = (Vec::new(), Vec::new());
    let mut wanted = None;
    loop {
        let mut block = [0; SPARSE_BLOCK_BYTES];
        packed.read_exact(&mut block)?;
        for byte in block {
            if byte != b'\n' {
                digits.push(byte);
                if digits.len() > 20 {
                    return Err(damaged_error("the map of a sparse file is malformed"));
                }
                continue;
            }
            let read = parse_number(&digits).map_err(damaged_error)?;
            digits.clear();
            match wanted {
                None if read > MAX_SPARSE_PIECES as u64 => {
                    return Err(damaged_error("a sparse file has too many segments"));
                }
                None => wanted = usize::try_from(read).ok().map(|pairs| pairs * 2),
                Some(_) => numbers.push(read),
            }
            if Some(numbers.len()) == wanted {
                return Ok(numbers);
            }
        }
    }
}

fn parse_number(digits: &[u8]) -> Result<u64, String> {
    let text = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'));
    text.and_then(|text| text.parse().ok())
        .ok_or_else(|| "a sparse file has an invalid number".to_owned())
}

pub(super) fn damaged_error(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}
