//! A whole file in as few steps as it takes.

use std::io;
use std::os::fd::AsFd;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;

/// How much more room is made for a file that is longer than expected.
const GROWTH_BYTES: usize = 64 * 1024;

/// Reads a file from where it is open to its end, but no more than `most`
/// bytes. One that is as long as expected is read at once: the library would
/// begin with a little and go on with ever more.
pub fn read_whole(file: impl AsFd, expected: u64, most: u64) -> io::Result<Vec<u8>> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let expected = usize::try_from(expected).unwrap_or(usize::MAX);
    // The end is met only by asking for more. Whoever reads on finds the file
    // where this has stopped, so no more is asked for than may be had.
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
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
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
