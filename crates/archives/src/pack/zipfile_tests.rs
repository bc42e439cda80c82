use super::*;

/// A disk with room for so many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Full {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        Ok(0)
    }
}

#[test]
fn what_has_failed_is_not_tried_again() {
    let mut brittle = FailFastWriter { out: Full(5), is_broken: false };
    assert!(brittle.write_all(b"four").is_ok());
    let failed = brittle.write_all(b"four");
    assert!(failed.is_err_and(|error| error.kind() == io::ErrorKind::StorageFull));
    // Whoever finishes the rest meets no further error.
    assert!(brittle.write_all(b"rest").is_ok());
    assert!(brittle.seek(SeekFrom::Start(0)).is_ok() && brittle.flush().is_ok());
    assert_eq!(brittle.out.0, 1, "and nothing was written");
}
