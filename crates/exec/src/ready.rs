//! Descriptors that tell when there is something to do.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::unix::AsyncFd;

/// Watches a descriptor.
pub(crate) fn watch(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    #[expect(deprecated, reason = "sound for a descriptor that is owned; the other way is unsafe")]
    AsyncFd::new(fd)
}
