//! The pipes of an adapter.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::unix::AsyncFd;

/// One end of a pipe.
#[derive(Debug)]
pub(crate) struct AdapterPipe(AsyncFd<OwnedFd>);

impl AdapterPipe {
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&fd, true)?;
        #[expect(deprecated, reason = "sound for an owned descriptor; the alternative is unsafe")]
        AsyncFd::new(fd).map(Self)
    }

    /// Reads available bytes; 0 at the end.
    pub(crate) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.0.readable().await?;
            if let Ok(read) = ready.try_io(|fd| Ok(rustix::io::read(fd, &mut *buffer)?)) {
                return read;
            }
        }
    }

    /// Writes all bytes.
    pub(crate) async fn write_all(&self, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() {
            let mut ready = self.0.writable().await?;
            if let Ok(written) = ready.try_io(|fd| Ok(rustix::io::write(fd, rest)?)) {
                rest = rest.get(written?..).unwrap_or_default();
            }
        }
        Ok(())
    }
}
