//! The OLE compound file container of old Excel workbooks, parsed only to check
//! the sheet sizes before a library allocates them.

use std::collections::HashSet;

use crate::limits::DocumentError;

/// Maximum cells between the first and the last cell of a sheet: the library
/// allocates all of them.
const MAX_SHEET_CELLS: u64 = 4 << 20;
const COMPOUND_MAGIC: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";
/// Number of allocation-table sectors listed in the header.
const HEADER_TABLE_SECTORS: usize = 109;
/// Sector numbers from here on are special markers.
const FIRST_SPECIAL_SECTOR: u32 = 0xFFFF_FFFA;

/// Fails if the cells of a sheet are so far apart that the table between them
/// would be too large.
pub(crate) fn check_sheets(bytes: &[u8]) -> Result<(), DocumentError> {
    let container = CompoundFile::open(bytes)?;
    let Some(book) = container.stream(&["Workbook", "Book"]) else {
        return Err(DocumentError::Damaged("it contains no workbook stream".to_owned()));
    };
    let mut starts = HashSet::from([0]);
    let mut globals = CellExtent::default();
    globals.measure(&book, 0, &mut starts)?;
    for start in starts {
        CellExtent::default().measure(&book, start, &mut HashSet::new())?;
    }
    Ok(())
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(pair.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

/// A compound file: its sectors and their chains.
struct CompoundFile<'a> {
    bytes: &'a [u8],
    sector_bytes: usize,
    sector_table: Vec<u32>,
    directory: u32,
    small_table: u32,
}

impl<'a> CompoundFile<'a> {
    fn open(bytes: &'a [u8]) -> Result<Self, DocumentError> {
        Self::read(bytes).ok_or_else(|| {
            DocumentError::Damaged("its container is truncated or invalid".to_owned())
        })
    }

    fn read(bytes: &'a [u8]) -> Option<Self> {
        if !bytes.starts_with(COMPOUND_MAGIC) {
            return None;
        }
        let sector = match u16_at(bytes, 30)? {
            shift @ (9 | 12) => 1_usize << shift,
            _ => return None,
        };
        let mut container = Self {
            bytes,
            sector_bytes: sector,
            sector_table: Vec::new(),
            directory: u32_at(bytes, 48)?,
            small_table: u32_at(bytes, 60)?,
        };
        let mut sectors: Vec<u32> =
            (0..HEADER_TABLE_SECTORS).filter_map(|i| u32_at(bytes, 76 + i * 4)).collect();
        let mut next = u32_at(bytes, 68)?;
        let mut seen = HashSet::new();
        while next < FIRST_SPECIAL_SECTOR && seen.insert(next) {
            let Some(more) = container.sector(next) else { break };
            let mut numbers = u32_values(more);
            next = numbers.pop().unwrap_or(FIRST_SPECIAL_SECTOR);
            sectors.extend(numbers);
        }
        for number in sectors.into_iter().filter(|&number| number < FIRST_SPECIAL_SECTOR) {
            if let Some(part) = container.sector(number) {
                let part = u32_values(part);
                container.sector_table.extend(part);
            }
        }
        Some(container)
    }

    fn sector(&self, number: u32) -> Option<&'a [u8]> {
        let start = (number as usize).checked_add(1)?.checked_mul(self.sector_bytes)?;
        let end = start.checked_add(self.sector_bytes)?.min(self.bytes.len());
        self.bytes.get(start..end).filter(|bytes| !bytes.is_empty())
    }

    fn chain(&self, start: u32) -> Vec<u8> {
        let mut all = Vec::new();
        let mut next = start;
        let mut seen = HashSet::new();
        while next < FIRST_SPECIAL_SECTOR && seen.insert(next) {
            let Some(bytes) = self.sector(next) else { break };
            all.extend_from_slice(bytes);
            next = self.sector_table.get(next as usize).copied().unwrap_or(FIRST_SPECIAL_SECTOR);
        }
        all
    }

    /// Returns the first stream with one of these names.
    fn stream(&self, names: &[&str]) -> Option<Vec<u8>> {
        let dir = self.chain(self.directory);
        let entries: Vec<&[u8]> = dir.chunks_exact(128).collect();
        let root = entries.first()?;
        let named = |wanted: &str| {
            entries.iter().find(|entry| {
                let len = usize::from(u16_at(entry, 64).unwrap_or(0)).saturating_sub(2);
                let name = entry.get(..len).unwrap_or_default();
                let units = name.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
                char::decode_utf16(units).map(|c| c.unwrap_or('\0')).eq(wanted.chars())
            })
        };
        let entry = names.iter().find_map(|name| named(name))?;
        let (start, size) = (u32_at(entry, 116)?, u32_at(entry, 120)? as usize);
        let mut bytes =
            if size < 4096 { self.small_stream(root, start)? } else { self.chain(start) };
        bytes.truncate(size);
        Some(bytes)
    }

    /// Reads a small stream: 64-byte sectors inside the root entry's stream.
    fn small_stream(&self, root: &[u8], start: u32) -> Option<Vec<u8>> {
        let all = self.chain(u32_at(root, 116)?);
        let table = u32_values(&self.chain(self.small_table));
        let mut bytes = Vec::new();
        let mut next = start;
        let mut seen = HashSet::new();
        while next < FIRST_SPECIAL_SECTOR && seen.insert(next) {
            let at = (next as usize).checked_mul(64)?;
            bytes.extend_from_slice(all.get(at..(at + 64).min(all.len()))?);
            next = table.get(next as usize).copied().unwrap_or(FIRST_SPECIAL_SECTOR);
        }
        Some(bytes)
    }
}

fn u32_values(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
        .collect()
}

/// Bounding box of the cells of a sheet.
#[derive(Default)]
struct CellExtent {
    cells: Option<(u16, u16, u16, u16)>,
}

impl CellExtent {
    /// Scans the records from `start` to the end of the sheet.
    fn measure(
        &mut self,
        book: &[u8],
        start: usize,
        sheets: &mut HashSet<usize>,
    ) -> Result<(), DocumentError> {
        let mut at = start;
        while let (Some(kind), Some(len)) = (u16_at(book, at), u16_at(book, at + 2)) {
            let body_end = at + 4 + usize::from(len);
            let body = book.get(at + 4..body_end).unwrap_or_default();
            match kind {
                0x000A => break,
                0x0085 => {
                    sheets.extend(u32_at(body, 0).map(|position| position as usize));
                }
                0x0006 | 0x00D6 | 0x00FD | 0x0201 | 0x0203 | 0x0204 | 0x0205 | 0x027E => {
                    let column = u16_at(body, 2);
                    self.include_cells(u16_at(body, 0), column, column);
                }
                0x00BD | 0x00BE => {
                    let last = body.len().checked_sub(2).and_then(|end| u16_at(body, end));
                    self.include_cells(u16_at(body, 0), u16_at(body, 2), last);
                }
                _ => {}
            }
            at = body_end;
        }
        let Some((top, bottom, left, right)) = self.cells else {
            return Ok(());
        };
        let cells = (u64::from(bottom - top) + 1) * (u64::from(right - left) + 1);
        if cells > MAX_SHEET_CELLS {
            return Err(DocumentError::TooLarge(format!("a sheet spans {cells} cells")));
        }
        Ok(())
    }

    fn include_cells(&mut self, row: Option<u16>, first: Option<u16>, last: Option<u16>) {
        let (Some(row), Some(first), Some(last)) = (row, first, last) else {
            return;
        };
        let last = last.max(first);
        let (top, bottom, left, right) = self.cells.unwrap_or((row, row, first, last));
        self.cells = Some((top.min(row), bottom.max(row), left.min(first), right.max(last)));
    }
}

#[cfg(test)]
#[path = "compound_tests.rs"]
mod tests;
