//! File descriptors registered with the async runtime.

use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::task::Poll;

use tokio::io::unix::AsyncFd;

use crate::output::OutputStream;

/// Registers a descriptor for readiness events.
pub(crate) fn register(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    #[expect(deprecated, reason = "sound for an owned descriptor; the alternative is unsafe")]
    AsyncFd::new(fd)
}

/// Registers a stream and makes it non-blocking.
pub(crate) fn register_nonblocking(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    rustix::io::ioctl_fionbio(&fd, true)?;
    register(fd)
}

/// Reads from the first stream that is readable; returns its index and the result.
pub(crate) async fn read_any(
    streams: &[(OutputStream, AsyncFd<OwnedFd>)],
    buffer: &mut [u8],
) -> (usize, io::Result<usize>) {
    poll_fn(|cx| {
        for (at, (_, fd)) in streams.iter().enumerate() {
            while let Poll::Ready(ready) = fd.poll_read_ready(cx) {
                let mut ready = match ready {
                    Ok(ready) => ready,
                    Err(error) => return Poll::Ready((at, Err(error))),
                };
                if let Ok(read) = ready.try_io(|fd| Ok(rustix::io::read(fd, &mut *buffer)?)) {
                    return Poll::Ready((at, read));
                }
            }
        }
        Poll::Pending
    })
    .await
}

/// Writes all bytes.
pub(crate) async fn write_all(fd: &AsyncFd<OwnedFd>, mut rest: &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        let mut ready = fd.writable().await?;
        match ready.try_io(|fd| Ok(rustix::io::write(fd, rest)?)) {
            Ok(written) => rest = rest.get(written?..).unwrap_or_default(),
            Err(_would_block) => {}
        }
    }
    Ok(())
}
