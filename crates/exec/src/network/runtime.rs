//! The thread that serves the networks of all sessions. It belongs to no call,
//! so background processes keep their network between calls.

use std::io;
use std::sync::{OnceLock, mpsc};

use tokio::runtime::{Builder, Handle};

/// Returns the runtime of that thread, which is started on first use.
pub(super) fn handle() -> io::Result<Handle> {
    static HANDLE: OnceLock<Handle> = OnceLock::new();
    if let Some(handle) = HANDLE.get() {
        return Ok(handle.clone());
    }
    // Built on its thread: if the thread cannot be started, no runtime is
    // dropped inside another one, which would panic.
    let (started, handle) = mpsc::channel();
    std::thread::Builder::new().name("hermes-network".to_owned()).spawn(move || {
        let runtime = match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return drop(started.send(Err(error))),
        };
        if started.send(Ok(runtime.handle().clone())).is_ok() {
            runtime.block_on(std::future::pending::<()>());
        }
    })?;
    let handle = handle.recv().map_err(io::Error::other)??;
    Ok(HANDLE.get_or_init(|| handle).clone())
}
