//! The thread that serves the networks of all sessions. It is not that of any
//! call, so that background processes have their way out between calls.

use std::io;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Handle};

/// The runtime of that thread, which is started with the first use.
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
