//! Checks the size that a compressed 7z header claims before a library unpacks
//! it into memory.

use std::io::{self, Read, Seek, SeekFrom};

/// Bytes of the fixed header at the start.
const FIXED_HEADER_BYTES: u64 = 32;
/// Maximum bytes of a header, compressed or not.
pub(super) const MAX_HEADER_BYTES: u64 = 64 << 20;
/// Maximum dictionary size of a decoder.
pub(super) const MAX_DICTIONARY_BYTES: u64 = 1 << 30;

const ID_END: u8 = 0x00;
const ID_PACK_INFO: u8 = 0x06;
const ID_UNPACK_INFO: u8 = 0x07;
const ID_SIZE: u8 = 0x09;
const ID_CHECKSUMS: u8 = 0x0A;
const ID_FOLDER: u8 = 0x0B;
const ID_UNPACK_SIZE: u8 = 0x0C;
const ID_ENCODED_HEADER: u8 = 0x17;

const LZMA_METHOD: &[u8] = &[3, 1, 1];
const LZMA2_METHOD: &[u8] = &[0x21];

/// Whether the header may be unpacked. One that cannot be parsed is left to the
/// library, which rejects it as well.
pub(super) fn is_header_within_limits(source: &mut (impl Read + Seek)) -> io::Result<bool> {
    let mut fixed = [0_u8; FIXED_HEADER_BYTES as usize];
    source.seek(SeekFrom::Start(0))?;
    if source.read_exact(&mut fixed).is_err() {
        return Ok(true);
    }
    let number = |at: usize| {
        let bytes = fixed.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        u64::from_le_bytes(bytes.unwrap_or_default())
    };
    let (offset, size) = (number(12), number(20));
    if size > MAX_HEADER_BYTES {
        return Ok(false);
    }
    source.seek(SeekFrom::Start(FIXED_HEADER_BYTES.saturating_add(offset).min(i64::MAX as u64)))?;
    let mut list = Vec::new();
    source.take(size).read_to_end(&mut list)?;
    source.seek(SeekFrom::Start(0))?;
    let mut list = list.as_slice();
    if read_byte(&mut list) != Some(ID_ENCODED_HEADER) {
        return Ok(true);
    }
    Ok(read_claim(&mut list)
        .is_none_or(|claim| claim.size <= MAX_HEADER_BYTES && claim.memory <= MAX_DICTIONARY_BYTES))
}

/// Returns the memory that a decoder with these properties needs.
pub(super) fn decoder_memory(method: &[u8], properties: &[u8]) -> u64 {
    match (method, properties) {
        (LZMA_METHOD, [_, a, b, c, d, ..]) => u32::from_le_bytes([*a, *b, *c, *d]).into(),
        (LZMA2_METHOD, [bits, ..]) if *bits >= 40 => u32::MAX.into(),
        (LZMA2_METHOD, [bits, ..]) => u64::from(2 | (bits & 1)) << (bits / 2 + 11),
        _ => 0,
    }
}

/// Resources needed to unpack the header.
#[derive(Debug, PartialEq, Eq)]
struct HeaderClaim {
    size: u64,
    memory: u64,
}

fn read_claim(list: &mut &[u8]) -> Option<HeaderClaim> {
    expect_byte(list, ID_PACK_INFO)?;
    let (_, streams) = (read_integer(list)?, read_integer(list)?);
    if streams > 32 {
        return None;
    }
    loop {
        match read_byte(list)? {
            ID_END => break,
            ID_SIZE => drop((0..streams).map(|_| read_integer(list)).collect::<Option<Vec<_>>>()?),
            ID_CHECKSUMS => {
                let all = read_byte(list)?;
                let known =
                    if all == 1 { streams } else { u64::from(read_byte(list)?.count_ones()) };
                skip_bytes(list, known.checked_mul(4)?)?;
            }
            _ => return None,
        }
    }
    expect_byte(list, ID_UNPACK_INFO)?;
    expect_byte(list, ID_FOLDER)?;
    if read_integer(list)? != 1 || read_byte(list)? != 0 {
        return None;
    }
    let (outputs, memory) = read_coders(list)?;
    expect_byte(list, ID_UNPACK_SIZE)?;
    let sizes = (0..outputs).map(|_| read_integer(list)).collect::<Option<Vec<u64>>>()?;
    Some(HeaderClaim { size: sizes.into_iter().max()?, memory })
}

/// Reads the chain of decoders: the number of output streams and the memory
/// needed.
fn read_coders(list: &mut &[u8]) -> Option<(u64, u64)> {
    let count = read_integer(list)?;
    if !(1..=32).contains(&count) {
        return None;
    }
    let (mut inputs, mut outputs, mut most) = (0, 0, 0);
    for _ in 0..count {
        let flags = read_byte(list)?;
        let method = skip_bytes(list, u64::from(flags & 0x0F))?;
        let (more, out) =
            if flags & 0x10 == 0 { (1, 1) } else { (read_integer(list)?, read_integer(list)?) };
        if more > 32 || out > 32 {
            return None;
        }
        inputs += more;
        outputs += out;
        if flags & 0x20 != 0 {
            let length = read_integer(list)?;
            most = most.max(decoder_memory(method, skip_bytes(list, length)?));
        }
    }
    let bonds = outputs.checked_sub(1)?;
    for _ in 0..bonds * 2 {
        read_integer(list)?;
    }
    let packed: u64 = u64::checked_sub(inputs, bonds)?;
    for _ in 0..if packed > 1 { packed } else { 0 } {
        read_integer(list)?;
    }
    Some((outputs, most))
}

fn read_byte(list: &mut &[u8]) -> Option<u8> {
    let (&first, rest) = list.split_first()?;
    *list = rest;
    Some(first)
}

fn expect_byte(list: &mut &[u8], wanted: u8) -> Option<()> {
    (read_byte(list)? == wanted).then_some(())
}

fn skip_bytes<'l>(list: &mut &'l [u8], count: u64) -> Option<&'l [u8]> {
    let (skipped, rest) = list.split_at_checked(usize::try_from(count).ok()?)?;
    *list = rest;
    Some(skipped)
}

/// Reads a 7z integer: the first byte says how many follow.
fn read_integer(list: &mut &[u8]) -> Option<u64> {
    let first = read_byte(list)?;
    let mut value = 0_u64;
    for at in 0..8 {
        let bit = 0x80_u8 >> at;
        if first & bit == 0 {
            return Some(value | u64::from(first & (bit - 1)) << (8 * at));
        }
        value |= u64::from(read_byte(list)?) << (8 * at);
    }
    Some(value)
}

#[cfg(test)]
#[path = "seven_header_tests.rs"]
mod tests;
