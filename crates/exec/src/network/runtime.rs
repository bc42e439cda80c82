//! The thread that serves the networks of all sessions. It belongs to no call,
//! so background processes keep their network between calls.

use std::io;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Handle};

/// Returns the runtime of that thread, which is started on first use.
pub(super) fn handle() -> io::Result<Handle> {
    static HANDLE: OnceLock<Handle> = OnceLock::new();
    if let Some(handle) = HANDLE.get() {
        return Ok(handle.clone());
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    std::thread::Builder::new().name("hermes-network".to_owned()).spawn(move || {
        runtime.block_on(std::future::pending::<()>());
    })?;
    Ok(HANDLE.get_or_init(|| handle).clone())
}
