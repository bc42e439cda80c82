//! Programs on another host, reached by OpenSSH's own program, so that the
//! user's configuration, keys and agent serve here as they do by hand.
//!
//! Connections are shared: one is made when the place is opened, more when
//! many programs run at once, and every trip goes through one of them.

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

/// The way to another host.
#[derive(Debug)]
pub struct SshTransport {
    client: SshClient,
    pool: ConnectionPool,
    /// The folder that sessions begin in, once the host has named it.
    directory: OnceLock<OsString>,
    /// One at a time opens; the files that were sent are known to it.
    opening: tokio::sync::Mutex<FileSync>,
    notices: Mutex<Vec<String>>,
    /// It was looked for what a crashed program has left.
    has_swept: AtomicBool,
}

impl SshTransport {
    /// The way that these settings describe. Nothing is connected yet.
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

    /// Runs a few words of `sh` there.
    async fn run_script(&self, script: &str) -> Result<CaptureResult, ToolError> {
        let socket = self.pool.acquire();
        self.client.run_script(socket.as_deref(), script).await
    }

    fn add_notices(&self, news: impl IntoIterator<Item = String>) {
        let mut all = self.notices.lock();
        for news in news {
            // What was not heard yet need not be said again.
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
                // Another lane is a convenience; without one programs take
                // connections of their own.
                Err(_) if !is_first => {
                    self.pool.stop_growing();
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let socket = self.pool.acquire();
        // What is sent may be the folder that sessions begin in.
        let news = sync.push(&self.client, socket.as_deref()).await?;
        self.add_notices(news);
        self.resolve_start_dir(socket.as_deref()).await
    }

    /// Ends connections that a crashed program has left, once.
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

    /// Finds out where sessions begin, if that was not done before.
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
        ToolError::io("A private folder for the connection's socket cannot be made", error)
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
            // For a program that is being started, that was just done.
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
            // A killed carrier says nothing of the connection.
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
            let (sockets, folder) = self.pool.clear();
            for socket in sockets {
                self.client.stop_master(&socket).await;
            }
            drop(folder);
        })
    }
}
