//! Programs on another host, reached by OpenSSH's own program, so that the
//! user's configuration, keys and agent serve here as they do by hand.
//!
//! Connections are shared: one is made when the place is opened, more when
//! many programs run at once, and every trip goes through one of them.

mod command;
mod connection;
mod host;
mod lanes;
pub(crate) mod marked;
mod settings;
mod sync;
mod trouble;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use hermes_core::{BoxFuture, ToolError};

use crate::backend::Exit;
use crate::elsewhere::{Carriage, Carrier, Way, told};
use crate::errand::Done;
use connection::Connection;
pub use host::Host;
use lanes::{Abandoned, Lanes};
pub use settings::{HostKey, Settings, Synced};
use sync::Sync;

/// The way to another host.
#[derive(Debug)]
pub struct Ssh {
    connection: Connection,
    lanes: Lanes,
    /// The folder that sessions begin in, once the host has named it.
    directory: OnceLock<OsString>,
    /// One at a time opens; the files that were sent are known to it.
    opening: tokio::sync::Mutex<Sync>,
    news: Mutex<Vec<String>>,
    /// It was looked for what a crashed program has left.
    has_looked: AtomicBool,
}

impl Ssh {
    /// The way that these settings describe. Nothing is connected yet.
    pub fn new(settings: Settings) -> Self {
        let sync = Sync::new(&settings);
        Self {
            connection: Connection::new(settings),
            lanes: Lanes::default(),
            directory: OnceLock::new(),
            opening: tokio::sync::Mutex::new(sync),
            news: Mutex::default(),
            has_looked: AtomicBool::new(false),
        }
    }

    fn host(&self) -> &str {
        self.connection.host()
    }

    /// Runs a few words of `sh` there.
    async fn ask(&self, script: &str) -> Result<Done, ToolError> {
        let socket = self.lanes.take();
        self.connection.ask(socket.as_deref(), script).await
    }

    fn tell(&self, news: impl IntoIterator<Item = String>) {
        let mut all = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        for news in news {
            // What was not heard yet need not be said again.
            if !all.contains(&news) {
                all.push(news);
            }
        }
    }

    async fn connect(&self) -> Result<(), ToolError> {
        let mut sync = self.opening.lock().await;
        self.end_abandoned().await;
        self.lanes.sweep().await;
        while let Some(socket) = self.lanes.wanted().map_err(|error| self.no_folder(&error))? {
            let is_first = self.lanes.is_empty();
            match self.connection.start_master(&socket).await {
                Ok(()) => self.lanes.add(socket),
                // Another lane is a convenience; without one programs take
                // connections of their own.
                Err(_) if !is_first => {
                    self.lanes.be_content();
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let socket = self.lanes.take();
        // What is sent may be the folder that sessions begin in.
        let news = sync.push(&self.connection, socket.as_deref()).await?;
        self.tell(news);
        self.settle(socket.as_deref()).await
    }

    /// Ends connections that a crashed program has left, once.
    async fn end_abandoned(&self) {
        if self.has_looked.swap(true, Ordering::Relaxed) {
            return;
        }
        for left in Abandoned::all() {
            for socket in left.sockets() {
                self.connection.stop_master(&socket).await;
            }
            left.remove();
        }
    }

    /// Finds out where sessions begin, if that was not done before.
    async fn settle(&self, socket: Option<&std::path::Path>) -> Result<(), ToolError> {
        if self.directory.get().is_none()
            && let Some(wanted) = &self.connection.settings.directory
        {
            let found = self.connection.find_folder(socket, wanted).await?;
            let _ = self.directory.set(found);
        }
        Ok(())
    }

    fn no_folder(&self, error: &std::io::Error) -> ToolError {
        ToolError::io("A private folder for the connection's socket cannot be made", error)
    }
}

impl Way for Ssh {
    fn name(&self) -> &str {
        "ssh"
    }

    fn whereabouts(&self) -> String {
        let Settings { user, host, port, .. } = &self.connection.settings;
        let user = user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        format!("ssh {user}{host}{port}")
    }

    fn greets(&self) -> bool {
        true
    }

    fn open(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async {
            // For a program that is being started, that was just done.
            if told::WORD.try_with(|_| ()).is_ok() { Ok(()) } else { self.connect().await }
        })
    }

    fn carrier(&self, script: &str, carriage: Carriage) -> Carrier {
        let socket: Option<PathBuf> = self.lanes.take();
        self.connection.carrier(socket.as_deref(), script, carriage)
    }

    fn directory(&self) -> Option<OsString> {
        self.directory.get().cloned()
    }

    fn held(&self) -> Option<String> {
        None
    }

    fn failure(&self, exit: Exit, errors: &str) -> Option<ToolError> {
        let is_broken = self.lanes.is_broken();
        trouble::of_a_trip(&self.connection.settings, exit, errors, is_broken)
    }

    fn lost(&self, exit: Exit) -> BoxFuture<'_, Option<ToolError>> {
        Box::pin(async move {
            // A killed carrier says nothing of the connection.
            match exit {
                Exit::Signal(_) if !self.lanes.is_broken() => None,
                _ => self.failure(exit, ""),
            }
        })
    }

    fn news(&self) -> Option<String> {
        let news = std::mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner));
        (!news.is_empty()).then(|| news.join(" "))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let mut sync = self.opening.lock().await;
            self.lanes.sweep().await;
            if !self.lanes.is_empty() {
                let socket = self.lanes.take();
                let news = sync.pull(&self.connection, socket.as_deref()).await;
                self.tell(news);
            }
            let (sockets, folder) = self.lanes.clear();
            for socket in sockets {
                self.connection.stop_master(&socket).await;
            }
            drop(folder);
        })
    }
}
