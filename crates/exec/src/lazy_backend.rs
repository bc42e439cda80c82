//! A place that may not answer. Whoever waits for it can go at any time: what
//! was begun goes on for the next one, and ends with the place.

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

/// For so long nobody tries again what has just failed: several who need the
/// place for one call get one answer.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// What is done when a place is reached that could not be reached at first.
type OnReady = Box<dyn FnOnce(&HostFacts) + Send>;

/// A place whose opening nobody has to sit out.
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

/// How an opening came out, and when.
type OpeningReceiver = watch::Receiver<Option<(Result<Arc<HostFacts>, ToolError>, Instant)>>;

impl fmt::Debug for LazyBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patient").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl LazyBackend {
    /// The same place.
    pub fn new(inner: Arc<dyn ExecBackend>) -> Self {
        Self { inner, state: Mutex::default(), on_ready: Mutex::default() }
    }

    /// Whoever calls does not know the place: the call that reaches it has this
    /// done, and is to be made again.
    pub fn on_ready(&self, arrival: impl FnOnce(&HostFacts) + Send + 'static) {
        *self.on_ready.lock() = Some(Box::new(arrival));
    }

    /// Whether somebody still waits to be told of the place.
    pub fn has_ready_callback(&self) -> bool {
        self.on_ready.lock().is_some()
    }

    /// Opens it, and does what is to be done on arrival.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub async fn open_and_notify(&self) -> Result<Arc<HostFacts>, ToolError> {
        Ok(self.open_shared().await?.0)
    }

    /// The place, and whether it was not known before.
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

    /// The opening that is under way, or a new one.
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
        ToolError::unavailable(format!("{} was closed meanwhile", self.inner.name()))
    }
}

impl OpeningState {
    fn spawn(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        self.tasks.spawn(work);
    }
}

/// Whether it is not over yet, or has failed only just now. One that went well
/// says nothing of how the place is now.
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
                // It was judged for a folder and a home that are not the ones
                // of there.
                (_, true) => Err(ToolError::unavailable(format!(
                    "{} can be reached only now; nothing was done yet",
                    self.inner.name()
                ))
                .with_hint("Make the call again.")),
            }
        })
    }

    fn start<'a>(
        &'a self,
        job: &'a str,
        order: CommandSpec,
    ) -> BoxFuture<'a, Result<SpawnedProcess, ToolError>> {
        let (inner, job) = (Arc::clone(&self.inner), job.to_owned());
        let remarks = BackendRemarks::current();
        let (sender, started) = oneshot::channel();
        self.state.lock().spawn(async move {
            let starting = inner.start(&job, order);
            let started = match remarks {
                Some(remarks) => CURRENT_REMARKS.scope(remarks, starting).await,
                None => starting.await,
            };
            // What nobody waits for any more is not to run.
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
