//! The list of a 7z archive is itself compressed. How much it claims to be is
//! looked at before a library unpacks it into memory.

use std::io::{self, Read, Seek, SeekFrom};

/// The size of the fixed part at the beginning.
const FIXED: u64 = 32;
/// Bytes of a list, compressed or not.
pub(super) const LONGEST: u64 = 64 << 20;
/// Bytes that a decoder may need to remember.
pub(super) const DICTIONARY: u64 = 1 << 30;

const END: u8 = 0x00;
const PACK_INFO: u8 = 0x06;
const UNPACK_INFO: u8 = 0x07;
const SIZE: u8 = 0x09;
const CHECKSUMS: u8 = 0x0A;
const FOLDER: u8 = 0x0B;
const UNPACK_SIZE: u8 = 0x0C;
const ENCODED: u8 = 0x17;

const LZMA: &[u8] = &[3, 1, 1];
const LZMA2: &[u8] = &[0x21];

/// Whether the list may be unpacked. What cannot be understood is left to
/// the library, which does not understand it either.
pub(super) fn is_bearable(source: &mut (impl Read + Seek)) -> io::Result<bool> {
    let mut fixed = [0_u8; FIXED as usize];
    source.seek(SeekFrom::Start(0))?;
    if source.read_exact(&mut fixed).is_err() {
        return Ok(true);
    }
    let number = |at: usize| {
        let bytes = fixed.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        u64::from_le_bytes(bytes.unwrap_or_default())
    };
    let (offset, size) = (number(12), number(20));
    if size > LONGEST {
        return Ok(false);
    }
    source.seek(SeekFrom::Start(FIXED.saturating_add(offset).min(i64::MAX as u64)))?;
    let mut list = Vec::new();
    source.take(size).read_to_end(&mut list)?;
    source.seek(SeekFrom::Start(0))?;
    let mut list = list.as_slice();
    if byte(&mut list) != Some(ENCODED) {
        return Ok(true);
    }
    Ok(claim(&mut list).is_none_or(|claim| claim.size <= LONGEST && claim.memory <= DICTIONARY))
}

/// How much a decoder of these properties remembers.
pub(super) fn memory(method: &[u8], properties: &[u8]) -> u64 {
    match (method, properties) {
        (LZMA, [_, a, b, c, d, ..]) => u32::from_le_bytes([*a, *b, *c, *d]).into(),
        (LZMA2, [bits, ..]) if *bits >= 40 => u32::MAX.into(),
        (LZMA2, [bits, ..]) => u64::from(2 | (bits & 1)) << (bits / 2 + 11),
        _ => 0,
    }
}

/// What the list needs when it is unpacked.
#[derive(Debug, PartialEq, Eq)]
struct Claim {
    size: u64,
    memory: u64,
}

fn claim(list: &mut &[u8]) -> Option<Claim> {
    expect(list, PACK_INFO)?;
    let (_, streams) = (integer(list)?, integer(list)?);
    if streams > 32 {
        return None;
    }
    loop {
        match byte(list)? {
            END => break,
            SIZE => drop((0..streams).map(|_| integer(list)).collect::<Option<Vec<_>>>()?),
            CHECKSUMS => {
                let all = byte(list)?;
                let known = if all == 1 { streams } else { u64::from(byte(list)?.count_ones()) };
                skip(list, known.checked_mul(4)?)?;
            }
            _ => return None,
        }
    }
    expect(list, UNPACK_INFO)?;
    expect(list, FOLDER)?;
    if integer(list)? != 1 || byte(list)? != 0 {
        return None;
    }
    let (outputs, memory) = coders(list)?;
    expect(list, UNPACK_SIZE)?;
    let sizes = (0..outputs).map(|_| integer(list)).collect::<Option<Vec<u64>>>()?;
    Some(Claim { size: sizes.into_iter().max()?, memory })
}

/// The chain of decoders: how many streams come out, and what they need.
fn coders(list: &mut &[u8]) -> Option<(u64, u64)> {
    let count = integer(list)?;
    if !(1..=32).contains(&count) {
        return None;
    }
    let (mut inputs, mut outputs, mut most) = (0, 0, 0);
    for _ in 0..count {
        let flags = byte(list)?;
        let method = skip(list, u64::from(flags & 0x0F))?;
        let (more, out) = if flags & 0x10 == 0 { (1, 1) } else { (integer(list)?, integer(list)?) };
        if more > 32 || out > 32 {
            return None;
        }
        inputs += more;
        outputs += out;
        if flags & 0x20 != 0 {
            let length = integer(list)?;
            most = most.max(memory(method, skip(list, length)?));
        }
    }
    let bonds = outputs.checked_sub(1)?;
    for _ in 0..bonds * 2 {
        integer(list)?;
    }
    let packed: u64 = u64::checked_sub(inputs, bonds)?;
    for _ in 0..if packed > 1 { packed } else { 0 } {
        integer(list)?;
    }
    Some((outputs, most))
}

fn byte(list: &mut &[u8]) -> Option<u8> {
    let (&first, rest) = list.split_first()?;
    *list = rest;
    Some(first)
}

fn expect(list: &mut &[u8], wanted: u8) -> Option<()> {
    (byte(list)? == wanted).then_some(())
}

fn skip<'l>(list: &mut &'l [u8], count: u64) -> Option<&'l [u8]> {
    let (skipped, rest) = list.split_at_checked(usize::try_from(count).ok()?)?;
    *list = rest;
    Some(skipped)
}

/// A number as 7z writes it: the first byte says how many follow.
fn integer(list: &mut &[u8]) -> Option<u64> {
    let first = byte(list)?;
    let mut value = 0_u64;
    for at in 0..8 {
        let bit = 0x80_u8 >> at;
        if first & bit == 0 {
            return Some(value | u64::from(first & (bit - 1)) << (8 * at));
        }
        value |= u64::from(byte(list)?) << (8 * at);
    }
    Some(value)
}

#[cfg(test)]
#[path = "seven_header_tests.rs"]
mod tests;
