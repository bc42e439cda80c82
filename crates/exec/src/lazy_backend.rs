//! A backend that may be slow to respond. Callers can stop waiting at any time:
//! an opening in progress continues for the next caller, and ends when the
//! backend is closed.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{BoxFuture, ToolError};
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

use crate::backend::{ExecBackend, HostFacts, SpawnedProcess};
use crate::command_spec::CommandSpec;
use crate::remote::remarks::{BackendRemarks, CURRENT_REMARKS};

/// How long a failure is reused, so several users of the backend within one
/// call get one answer.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Called when a backend is reached that was unreachable at first.
type OnReady = Box<dyn FnOnce(&HostFacts) + Send>;

/// A backend that opens in the background.
pub struct LazyBackend {
    inner: Arc<dyn ExecBackend>,
    state: Mutex<OpeningState>,
    on_ready: Mutex<Option<OnReady>>,
}

#[derive(Default)]
struct OpeningState {
    opening: Option<OpeningReceiver>,
    tasks: JoinSet<()>,
}

/// The result of an opening, and when it completed.
type OpeningReceiver = watch::Receiver<Option<(Result<Arc<HostFacts>, ToolError>, Instant)>>;

impl fmt::Debug for LazyBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyBackend").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl LazyBackend {
    /// Wraps a backend.
    pub fn new(inner: Arc<dyn ExecBackend>) -> Self {
        Self { inner, state: Mutex::default(), on_ready: Mutex::default() }
    }

    /// Sets a callback for when the backend is first reached. The call that
    /// reaches it fails and has to be repeated, since it was made without
    /// knowing the host.
    pub fn on_ready(&self, arrival: impl FnOnce(&HostFacts) + Send + 'static) {
        *self.on_ready.lock() = Some(Box::new(arrival));
    }

    /// Whether the callback is still pending.
    pub fn has_ready_callback(&self) -> bool {
        self.on_ready.lock().is_some()
    }

    /// Opens the backend and runs the callback.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub async fn open_and_notify(&self) -> Result<Arc<HostFacts>, ToolError> {
        Ok(self.open_shared().await?.0)
    }

    /// Opens the backend; returns the facts about the host, and whether they
    /// are new.
    async fn open_shared(&self) -> Result<(Arc<HostFacts>, bool), ToolError> {
        let mut opening = self.current_opening();
        let opened =
            opening.wait_for(Option::is_some).await.map_err(|_| self.closed_error())?.clone();
        let (place, _) = opened.ok_or_else(|| self.closed_error())?;
        let place = place?;
        let arrival = self.on_ready.lock().take();
        let is_new = arrival.is_some();
        if let Some(arrive) = arrival {
            arrive(&place);
        }
        Ok((place, is_new))
    }

    /// Returns the opening in progress, or starts one.
    fn current_opening(&self) -> OpeningReceiver {
        let mut state = self.state.lock();
        if let Some(opening) = state.opening.as_ref().filter(|opening| is_reusable(opening)) {
            return opening.clone();
        }
        let (sender, opening) = watch::channel(None);
        let inner = Arc::clone(&self.inner);
        state.spawn(async move {
            let opened = inner.open().await;
            sender.send_replace(Some((opened, Instant::now())));
        });
        state.opening = Some(opening.clone());
        opening
    }

    fn closed_error(&self) -> ToolError {
        ToolError::unavailable(format!("{} was closed in the meantime", self.inner.name()))
    }
}

impl OpeningState {
    fn spawn(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        self.tasks.spawn(work);
    }
}

/// Whether an opening is still in progress or has just failed. A success does
/// not show that the backend can still be reached.
fn is_reusable(opening: &OpeningReceiver) -> bool {
    match &*opening.borrow() {
        None => opening.has_changed().is_ok(),
        Some((opened, at)) => opened.is_err() && at.elapsed() < RETRY_DELAY,
    }
}

impl ExecBackend for LazyBackend {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn location(&self) -> String {
        self.inner.location()
    }

    fn is_local(&self) -> bool {
        self.inner.is_local()
    }

    fn open(&self) -> BoxFuture<'_, Result<Arc<HostFacts>, ToolError>> {
        Box::pin(async {
            match self.open_shared().await? {
                (place, false) => Ok(place),
                // The policy judged the call for another working directory and
                // home than those of the host.
                (_, true) => Err(ToolError::unavailable(format!(
                    "{} became reachable only now; nothing was done yet",
                    self.inner.name()
                ))
                .with_hint("Repeat the call.")),
            }
        })
    }

    fn start<'a>(
        &'a self,
        job: &'a str,
        spec: CommandSpec,
    ) -> BoxFuture<'a, Result<SpawnedProcess, ToolError>> {
        let (inner, job) = (Arc::clone(&self.inner), job.to_owned());
        let remarks = BackendRemarks::current();
        let (sender, started) = oneshot::channel();
        self.state.lock().spawn(async move {
            let starting = inner.start(&job, spec);
            let started = match remarks {
                Some(remarks) => CURRENT_REMARKS.scope(remarks, starting).await,
                None => starting.await,
            };
            // The caller stopped waiting, so the program must not run.
            if let Err(Ok(unwanted)) = sender.send(started) {
                unwanted.control.terminate(Duration::ZERO).await;
            }
        });
        Box::pin(async move { started.await.unwrap_or_else(|_| Err(self.closed_error())) })
    }

    fn cleanup(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.on_ready.lock().take();
            let mut state = std::mem::take(&mut *self.state.lock());
            state.tasks.shutdown().await;
            self.inner.cleanup().await;
        })
    }

    fn take_notice(&self) -> Option<String> {
        self.inner.take_notice()
    }
}

#[cfg(test)]
#[path = "lazy_backend_tests.rs"]
mod tests;
