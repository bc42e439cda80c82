//! Image dimensions, read from the first bytes of the file.

/// Returns width and height in pixels, for PNG, JPEG, GIF, WebP and BMP.
pub(crate) fn dimensions(head: &[u8]) -> Option<(u32, u32)> {
    if head.starts_with(b"\x89PNG\r\n\x1A\n") {
        return Some((be_u32(head, 16)?, be_u32(head, 20)?));
    }
    if head.starts_with(b"\xFF\xD8") {
        return jpeg(head);
    }
    if head.starts_with(b"GIF8") {
        return Some((le_u16(head, 6)?, le_u16(head, 8)?));
    }
    if head.starts_with(b"BM") {
        return bmp(head);
    }
    if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        return webp(head);
    }
    None
}

fn read_array<const N: usize>(head: &[u8], at: usize) -> Option<[u8; N]> {
    head.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn be_u32(head: &[u8], at: usize) -> Option<u32> {
    read_array(head, at).map(u32::from_be_bytes)
}

fn be_u16(head: &[u8], at: usize) -> Option<u32> {
    read_array(head, at).map(u16::from_be_bytes).map(u32::from)
}

fn le_u32(head: &[u8], at: usize) -> Option<u32> {
    read_array(head, at).map(u32::from_le_bytes)
}

fn le_u16(head: &[u8], at: usize) -> Option<u32> {
    read_array(head, at).map(u16::from_le_bytes).map(u32::from)
}

fn bmp(head: &[u8]) -> Option<(u32, u32)> {
    if le_u32(head, 14)? == 12 {
        return Some((le_u16(head, 18)?, le_u16(head, 20)?));
    }
    // A negative height means that the rows are stored top-down.
    let size = |at| read_array(head, at).map(|bytes| i32::from_le_bytes(bytes).unsigned_abs());
    Some((size(18)?, size(22)?))
}

/// Walks the segments to the start-of-frame marker.
fn jpeg(head: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let [mark, kind] = read_array(head, at)?;
        if mark != 0xFF {
            return None;
        }
        match kind {
            0xFF => at += 1,
            0x01 | 0xD0..=0xD7 => at += 2,
            0xC4 | 0xC8 | 0xCC => at += 2 + be_u16(head, at + 2)? as usize,
            0xC0..=0xCF => return Some((be_u16(head, at + 7)?, be_u16(head, at + 5)?)),
            0xD9 | 0xDA => return None,
            _ => at += 2 + be_u16(head, at + 2)? as usize,
        }
    }
}

fn webp(head: &[u8]) -> Option<(u32, u32)> {
    match head.get(12..16)? {
        b"VP8 " => Some((le_u16(head, 26)? & 0x3FFF, le_u16(head, 28)? & 0x3FFF)),
        b"VP8L" => {
            let bits = le_u32(head, 21)?;
            Some(((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1))
        }
        b"VP8X" => {
            let size = |at| {
                let [a, b, c] = read_array(head, at)?;
                Some(u32::from_le_bytes([a, b, c, 0]) + 1)
            };
            Some((size(24)?, size(27)?))
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "image_tests.rs"]
mod tests;
