//! Runs programs on another host through the OpenSSH client, so the user's
//! configuration, keys and agent apply.
//!
//! Connections are shared: one is opened with the backend, more when many
//! programs run at once, and each session uses one of them.

mod backend;
mod client;
mod command;
mod connection_pool;
mod diagnosis;
pub(crate) mod marked_processes;
mod settings;
mod sync;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use hermes_core::{BoxFuture, ToolError};
use parking_lot::Mutex;

use crate::backend::ProcessExit;
use crate::captured_command::CaptureResult;
use crate::remote::{Transport, TransportIo, TransportProcess, exit_report};
pub use backend::SshBackend;
use client::SshClient;
use connection_pool::{ConnectionPool, StaleSocketDir};
pub use settings::{HostKeyPolicy, SshSettings, SyncMapping};
use sync::FileSync;

/// Transport to another host.
#[derive(Debug)]
pub struct SshTransport {
    client: SshClient,
    pool: ConnectionPool,
    /// Start directory of sessions, once the host has resolved it.
    directory: OnceLock<OsString>,
    /// Serializes opening; holds the state of the synced files.
    opening: tokio::sync::Mutex<FileSync>,
    notices: Mutex<Vec<String>>,
    /// Whether connections of crashed programs have been closed.
    has_swept: AtomicBool,
}

impl SshTransport {
    /// Creates a transport with these settings, without connecting.
    pub fn new(settings: SshSettings) -> Self {
        let sync = FileSync::new(&settings);
        Self {
            client: SshClient::new(settings),
            pool: ConnectionPool::default(),
            directory: OnceLock::new(),
            opening: tokio::sync::Mutex::new(sync),
            notices: Mutex::default(),
            has_swept: AtomicBool::new(false),
        }
    }

    fn host(&self) -> &str {
        self.client.host()
    }

    /// Runs a short `sh` script on the host.
    async fn run_script(&self, script: &str) -> Result<CaptureResult, ToolError> {
        let socket = self.pool.acquire();
        self.client.run_script(socket.as_deref(), script).await
    }

    fn add_notices(&self, news: impl IntoIterator<Item = String>) {
        let mut all = self.notices.lock();
        for news in news {
            // Skips a notice that is already pending.
            if !all.contains(&news) {
                all.push(news);
            }
        }
    }

    async fn connect(&self) -> Result<(), ToolError> {
        let mut sync = self.opening.lock().await;
        self.close_abandoned().await;
        self.pool.remove_dead().await;
        while let Some(socket) =
            self.pool.next_socket().map_err(|error| self.socket_dir_error(&error))?
        {
            let is_first = self.pool.is_empty();
            match self.client.start_master(&socket).await {
                Ok(()) => self.pool.add(socket),
                // A further connection is optional; without one, programs open
                // their own.
                Err(_) if !is_first => {
                    self.pool.stop_growing();
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let socket = self.pool.acquire();
        // Pushes first: the start directory may be one of the synced ones.
        let news = sync.push(&self.client, socket.as_deref()).await?;
        self.add_notices(news);
        self.resolve_start_dir(socket.as_deref()).await
    }

    /// Closes connections that crashed programs left open, once.
    async fn close_abandoned(&self) {
        if self.has_swept.swap(true, Ordering::Relaxed) {
            return;
        }
        for left in StaleSocketDir::all() {
            for socket in left.sockets() {
                self.client.stop_master(&socket).await;
            }
            left.remove();
        }
    }

    /// Resolves the start directory, unless it is known.
    async fn resolve_start_dir(&self, socket: Option<&std::path::Path>) -> Result<(), ToolError> {
        if self.directory.get().is_none()
            && let Some(wanted) = &self.client.settings.directory
        {
            let found = self.client.resolve_directory(socket, wanted).await?;
            let _ = self.directory.set(found);
        }
        Ok(())
    }

    fn socket_dir_error(&self, error: &std::io::Error) -> ToolError {
        ToolError::io("Cannot create a private directory for the ssh socket", error)
    }
}

impl Transport for SshTransport {
    fn name(&self) -> &str {
        "ssh"
    }

    fn location(&self) -> String {
        let SshSettings { user, host, port, .. } = &self.client.settings;
        let user = user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        format!("ssh {user}{host}{port}")
    }

    fn may_print_greeting(&self) -> bool {
        true
    }

    fn open(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async {
            // The backend has just opened it for a program being started.
            if exit_report::EXIT_MARKER.try_with(|_| ()).is_ok() {
                Ok(())
            } else {
                self.connect().await
            }
        })
    }

    fn transport_process(&self, script: &str, carriage: TransportIo) -> TransportProcess {
        let socket: Option<PathBuf> = self.pool.acquire();
        self.client.transport_process(socket.as_deref(), script, carriage)
    }

    fn directory(&self) -> Option<OsString> {
        self.directory.get().cloned()
    }

    fn containment_summary(&self) -> Option<String> {
        None
    }

    fn explain_failure(&self, exit: ProcessExit, errors: &str) -> Option<ToolError> {
        let is_broken = self.pool.has_dead();
        diagnosis::session_error(&self.client.settings, exit, errors, is_broken)
    }

    fn diagnose_loss(&self, exit: ProcessExit) -> BoxFuture<'_, Option<ToolError>> {
        Box::pin(async move {
            // A killed ssh process is no evidence of a broken connection.
            match exit {
                ProcessExit::Signal(_) if !self.pool.has_dead() => None,
                _ => self.explain_failure(exit, ""),
            }
        })
    }

    fn take_notice(&self) -> Option<String> {
        let news = std::mem::take(&mut *self.notices.lock());
        (!news.is_empty()).then(|| news.join(" "))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let mut sync = self.opening.lock().await;
            self.pool.remove_dead().await;
            if !self.pool.is_empty() {
                let socket = self.pool.acquire();
                let news = sync.pull(&self.client, socket.as_deref()).await;
                self.add_notices(news);
            }
            let (sockets, dir) = self.pool.clear();
            for socket in sockets {
                self.client.stop_master(&socket).await;
            }
            drop(dir);
        })
    }
}
