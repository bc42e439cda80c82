//! A place that may not answer. Whoever waits for it can go at any time: what
//! was begun goes on for the next one, and ends with the place.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hermes_core::{BoxFuture, ToolError};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

use crate::backend::{Backend, Place, Started};
use crate::elsewhere::remarks::{REMARKS, Remarks};
use crate::order::Order;

/// For so long nobody tries again what has just failed: several who need the
/// place for one call get one answer.
const FRESH: Duration = Duration::from_secs(1);

/// What is done when a place is reached that could not be reached at first.
type Arrival = Box<dyn FnOnce(&Place) + Send>;

/// A place whose opening nobody has to sit out.
pub struct Patient {
    inner: Arc<dyn Backend>,
    state: Mutex<State>,
    arrival: Mutex<Option<Arrival>>,
}

#[derive(Default)]
struct State {
    opening: Option<Opening>,
    tasks: JoinSet<()>,
}

/// How an opening came out, and when.
type Opening = watch::Receiver<Option<(Result<Arc<Place>, ToolError>, Instant)>>;

impl fmt::Debug for Patient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patient").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl Patient {
    /// The same place.
    pub fn new(inner: Arc<dyn Backend>) -> Self {
        Self { inner, state: Mutex::default(), arrival: Mutex::default() }
    }

    /// Whoever calls does not know the place: the call that reaches it has this
    /// done, and is to be made again.
    pub fn on_arrival(&self, arrival: impl FnOnce(&Place) + Send + 'static) {
        *lock(&self.arrival) = Some(Box::new(arrival));
    }

    /// Whether somebody still waits to be told of the place.
    pub fn is_awaited(&self) -> bool {
        lock(&self.arrival).is_some()
    }

    /// Opens it, and does what is to be done on arrival.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub async fn reach(&self) -> Result<Arc<Place>, ToolError> {
        Ok(self.arrive().await?.0)
    }

    /// The place, and whether it was not known before.
    async fn arrive(&self) -> Result<(Arc<Place>, bool), ToolError> {
        let mut opening = self.opening();
        let opened = opening.wait_for(Option::is_some).await.map_err(|_| self.closed())?.clone();
        let (place, _) = opened.ok_or_else(|| self.closed())?;
        let place = place?;
        let arrival = lock(&self.arrival).take();
        let is_new = arrival.is_some();
        if let Some(arrive) = arrival {
            arrive(&place);
        }
        Ok((place, is_new))
    }

    /// The opening that is under way, or a new one.
    fn opening(&self) -> Opening {
        let mut state = lock(&self.state);
        if let Some(opening) = state.opening.as_ref().filter(|opening| is_good(opening)) {
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

    fn closed(&self) -> ToolError {
        ToolError::unavailable(format!("{} was closed meanwhile", self.inner.name()))
    }
}

impl State {
    fn spawn(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        self.tasks.spawn(work);
    }
}

/// Whether it is not over yet, or has failed only just now. One that went well
/// says nothing of how the place is now.
fn is_good(opening: &Opening) -> bool {
    match &*opening.borrow() {
        None => opening.has_changed().is_ok(),
        Some((opened, at)) => opened.is_err() && at.elapsed() < FRESH,
    }
}

impl Backend for Patient {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn whereabouts(&self) -> String {
        self.inner.whereabouts()
    }

    fn is_here(&self) -> bool {
        self.inner.is_here()
    }

    fn open(&self) -> BoxFuture<'_, Result<Arc<Place>, ToolError>> {
        Box::pin(async {
            match self.arrive().await? {
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
        order: Order,
    ) -> BoxFuture<'a, Result<Started, ToolError>> {
        let (inner, job) = (Arc::clone(&self.inner), job.to_owned());
        let remarks = Remarks::wanted();
        let (sender, started) = oneshot::channel();
        lock(&self.state).spawn(async move {
            let starting = inner.start(&job, order);
            let started = match remarks {
                Some(remarks) => REMARKS.scope(remarks, starting).await,
                None => starting.await,
            };
            // What nobody waits for any more is not to run.
            if let Err(Ok(unwanted)) = sender.send(started) {
                unwanted.control.end(Duration::ZERO).await;
            }
        });
        Box::pin(async move { started.await.unwrap_or_else(|_| Err(self.closed())) })
    }

    fn cleanup(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            lock(&self.arrival).take();
            let mut state = std::mem::take(&mut *lock(&self.state));
            state.tasks.shutdown().await;
            self.inner.cleanup().await;
        })
    }

    fn news(&self) -> Option<String> {
        self.inner.news()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "patient_tests.rs"]
mod tests;
