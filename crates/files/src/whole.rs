//! Reads a whole file in as few system calls as possible.

use std::io;
use std::os::fd::AsFd;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;

/// Buffer growth for a file that is longer than expected.
const GROWTH_BYTES: usize = 64 * 1024;

/// Reads a file from its current position to its end, but at most `most` bytes.
/// A file of the expected length is read at once, while the standard library
/// would start small and grow.
pub fn read_whole(file: impl AsFd, expected: u64, most: u64) -> io::Result<Vec<u8>> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let expected = usize::try_from(expected).unwrap_or(usize::MAX);
    // Only a further read detects the end. A later reader continues where this
    // one stops, so never read more than `most`.
    let mut bytes = Vec::with_capacity(expected.saturating_add(1).min(most));
    while bytes.len() < most {
        if bytes.len() == bytes.capacity() {
            bytes.reserve_exact(GROWTH_BYTES.min(most - bytes.len()));
        }
        match rustix::io::read(&file, spare_capacity(&mut bytes)) {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_file_is_read_to_its_end_whatever_was_expected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let content: Vec<u8> = (0..200_000_u32).map(|number| number as u8).collect();
        for len in [0, 1, 4096, 200_000] {
            fs::write(&path, &content[..len]).unwrap();
            for expected in [0, 1, len as u64, 1_000_000] {
                for most in [0, 1, len as u64, u64::MAX] {
                    let mut file = File::open(&path).unwrap();
                    let read = read_whole(&file, expected, most).unwrap();
                    let wanted = len.min(usize::try_from(most).unwrap_or(usize::MAX));
                    assert_eq!(read, content[..wanted], "{len} {expected} {most}");
                    let mut rest = Vec::new();
                    file.read_to_end(&mut rest).unwrap();
                    assert_eq!(rest, content[wanted..len], "{len} {expected} {most}");
                }
            }
        }
    }
}
