//! How a program elsewhere is steered: by a second trip.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hermes_core::BoxFuture;

use super::{Way, ask, script};
use crate::backend::{Control, Exit};
use crate::local::Local;
use crate::order::Size;
use crate::tree::Signal;

/// How long a question may take.
const QUESTION: Duration = Duration::from_secs(10);
/// A silent program is not looked at more often: each look is a trip.
const SELDOM: Duration = Duration::from_secs(2);

/// A program that runs elsewhere, and the carrier that stands for it here.
#[derive(Debug)]
pub(super) struct Remote<W> {
    pub(super) carrier: Box<dyn Control>,
    pub(super) way: Arc<W>,
    pub(super) local: Arc<Local>,
    pub(super) mark: String,
    /// When it was last looked at, and what was seen.
    pub(super) asked: Mutex<Option<(Instant, bool)>>,
}

impl<W: Way> Control for Remote<W> {
    fn ended(&self) -> BoxFuture<'_, io::Result<Exit>> {
        self.carrier.ended()
    }

    fn end(&self, grace: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let text = script::ending(&self.mark, grace);
            // If the way there is broken, this end of it can still be ended.
            let _ = ask(&*self.way, &self.local, &text, QUESTION + grace).await;
            self.carrier.end(grace).await;
        })
    }

    fn signal(&self, signal: Signal) -> BoxFuture<'_, usize> {
        Box::pin(async move {
            let text = script::signal(&self.mark, signal);
            let done = ask(&*self.way, &self.local, &text, QUESTION).await;
            let said = done.map(|done| String::from_utf8_lossy(&done.output).trim().parse());
            said.ok().and_then(Result::ok).unwrap_or_default()
        })
    }

    fn awaits_input(&self) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let last = *self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((at, seen)) = last
                && at.elapsed() < SELDOM
            {
                return seen;
            }
            let done = ask(&*self.way, &self.local, &script::waiting(&self.mark), QUESTION).await;
            let waits = done.is_ok_and(|done| done.output.starts_with(b"waits"));
            *self.asked.lock().unwrap_or_else(PoisonError::into_inner) =
                Some((Instant::now(), waits));
            waits
        })
    }

    fn resize(&self, size: Size) -> io::Result<()> {
        self.carrier.resize(size)
    }
}
