//! Files with holes in tars: in the old way of GNU tar, and in the three in
//! which it has written them with pax headers: 0.0, 0.1 and 1.0.

use std::collections::VecDeque;
use std::io::{self, Read};

use super::pax::PaxRecords;

/// Pieces of data of one file.
const MAX_SPARSE_PIECES: usize = 1_000_000;
/// Bytes of a block; the data of the 1.0 kind begins with one.
const SPARSE_BLOCK_BYTES: usize = 512;

/// What the headers say of a file with holes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SparseFile {
    /// Its name, where the header of the entry has another.
    pub(super) name: Option<Vec<u8>>,
    /// Its size with the holes.
    pub(super) size: u64,
    map: SparseMap,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SparseMap {
    /// Where each piece begins, and how long it is.
    Known(VecDeque<(u64, u64)>),
    /// It comes before the data.
    InContent,
}

impl SparseFile {
    /// None if the headers do not speak of holes.
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
                return Err("a file has too many holes".to_owned());
            }
        }
        if !is_sparse {
            return Ok(None);
        }
        let size = size.ok_or("a file with holes has no size")?;
        let map = match version {
            (None | Some(0), None | Some(0 | 1)) => SparseMap::Known(check_pieces(&numbers, size)?),
            (Some(1), None | Some(0)) => SparseMap::InContent,
            _ => return Err("a file with holes is written in an unknown way".to_owned()),
        };
        Ok(Some(Self { name, size, map }))
    }

    /// What the old headers say: where each piece begins, how long it is, and
    /// how many bytes they take altogether.
    pub(super) fn from_old_header(numbers: &[u64], size: u64, stored: u64) -> Result<Self, String> {
        if numbers.len() > 2 * MAX_SPARSE_PIECES {
            return Err("a file has too many holes".to_owned());
        }
        let pieces = check_pieces(numbers, size)?;
        let total = pieces.iter().fold(0, |sum: u64, (_, len)| sum.saturating_add(*len));
        if total != stored {
            return Err("the pieces of a file with holes are not as long as it".to_owned());
        }
        Ok(Self { name: None, size, map: SparseMap::Known(pieces) })
    }

    /// The content with its holes, of what the archive holds.
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

/// A file with its holes filled with zeros.
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
                0 => return Err(damaged_error("a file with holes ends too early")),
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

/// Pieces in order, none of them beyond the end.
fn check_pieces(numbers: &[u64], size: u64) -> Result<VecDeque<(u64, u64)>, String> {
    let wrong = || "the holes of a file contradict one another".to_owned();
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

/// The numbers before the data: how many pairs there are, and then those, a
/// line each. They fill whole blocks.
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
                    return Err(damaged_error("the map of a file with holes is no map"));
                }
                continue;
            }
            let read = parse_number(&digits).map_err(damaged_error)?;
            digits.clear();
            match wanted {
                None if read > MAX_SPARSE_PIECES as u64 => {
                    return Err(damaged_error("a file has too many holes"));
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
        .ok_or_else(|| "a number of a file with holes is no number".to_owned())
}

pub(super) fn damaged_error(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}
