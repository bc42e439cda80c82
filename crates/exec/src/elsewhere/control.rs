//! How a program elsewhere is steered: by a second trip.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hermes_core::{BoxFuture, ErrorKind, ToolError};
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinSet;

use super::remarks::Remarks;
use super::told::{self, Told};
use super::{Way, ask, script};
use crate::backend::{Control, Exit, Waiting};
use crate::local::Local;
use crate::order::Size;
use crate::tree::Signal;

/// How long a question may take.
const QUESTION: Duration = Duration::from_secs(10);
/// How long a place has to answer when a program is to be ended there, beside
/// the time that the program itself has. Somebody waits for it who has waited
/// as long as the command was to take.
const ANSWER: Duration = Duration::from_secs(2);
/// Where every trip takes long it has the time of some more of them, each of which
/// counts for so long at most.
const TRIPS: u32 = 4;
const LONGEST_TRIP: Duration = Duration::from_secs(2);
/// The same when it is asked whether something runs there.
const PRESENCE: Duration = Duration::from_secs(5);
/// A silent program is not looked at more often: each look is a trip.
const SELDOM: Duration = Duration::from_secs(2);

/// How often it is looked whether what a program has left still runs; the time
/// between two looks grows from the first to the second.
const STRAYS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// When a carrier is told again of its terminal's size.
const AGAIN: [Duration; 2] = [Duration::from_millis(300), Duration::from_secs(2)];
/// How long a carrier has to end after its program.
const CLOSING: Duration = Duration::from_millis(500);
/// How often a program is looked for that is not there (yet).
const LOOKS: usize = 8;
/// How long a program that nobody hears any more has to go by itself.
const GRACE: Duration = Duration::from_secs(1);

/// How a program ended, as soon as that is known.
type Ending = watch::Receiver<Option<Result<Exit, ToolError>>>;

/// Programs that are being ended, whoever still waits for that.
#[derive(Debug, Clone, Default)]
pub(super) struct Endings(Arc<Mutex<JoinSet<()>>>);

impl Endings {
    /// Has this done; what is given back comes when it is.
    fn begin(&self, work: impl Future<Output = ()> + Send + 'static) -> oneshot::Receiver<()> {
        let (sender, done) = oneshot::channel();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while all.try_join_next().is_some() {}
        all.spawn(async move {
            work.await;
            let _ = sender.send(());
        });
        done
    }

    pub(super) async fn give_up(&self) {
        let mut all = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *all)
        };
        all.shutdown().await;
    }
}

/// A program that runs elsewhere, and the carrier that stands for it here.
#[derive(Debug)]
pub(super) struct Remote<W> {
    carrier: Arc<dyn Control>,
    way: Arc<W>,
    local: Arc<Local>,
    endings: Endings,
    mark: String,
    /// Somebody here wants it to end.
    unwanted: Arc<AtomicBool>,
    /// How it ended, or why that will never be known.
    ended: Ending,
    /// Its code, as it is told there, if somebody tells it.
    told: Option<Told>,
    /// When it was last looked at, and what was seen.
    asked: Mutex<Option<(Instant, Waiting)>>,
    /// Where what is to be told beside its output goes.
    remarks: Option<Remarks>,
    /// Something was done about what it has left.
    stirred: Notify,
    /// How long the place has to answer when the program is to be ended.
    answer: Duration,
}

/// Where something can be said beside the program.
#[derive(Debug)]
pub(super) struct Voice {
    pub(super) stream: OwnedFd,
    /// Its lines end as those of a terminal.
    pub(super) terminal: bool,
    /// Where what is told before the program begins goes instead.
    pub(super) remarks: Option<Remarks>,
}

impl Voice {
    fn say(&self, text: &str) {
        let end = if self.terminal { "\r\n" } else { "\n" };
        // If nobody listens, nobody wants to know.
        let _ = rustix::io::write(&self.stream, format!("hermes: {text}{end}").as_bytes());
    }
}

impl<W: Way> Remote<W> {
    /// Watches over a carrier from now on.
    pub(super) fn attend(
        carrier: Box<dyn Control>,
        way: Arc<W>,
        local: Arc<Local>,
        endings: Endings,
        mark: String,
        told: Option<Told>,
        voice: Voice,
    ) -> Self {
        let carrier: Arc<dyn Control> = carrier.into();
        let unwanted = Arc::new(AtomicBool::new(false));
        let (sender, ended) = watch::channel(None);
        let end = End {
            carrier: Arc::clone(&carrier),
            way: Arc::clone(&way),
            local: Arc::clone(&local),
            mark: mark.clone(),
            unwanted: Arc::clone(&unwanted),
            told: told.clone(),
        };
        if let Some(news) = way.news() {
            match &voice.remarks {
                Some(remarks) => remarks.add(news),
                None => voice.say(&news),
            }
        }
        let remarks = voice.remarks.clone();
        tokio::spawn(async move {
            let end = end.await_it().await;
            if let Err(error) = &end {
                voice.say(&format!("{}. {}", error.message(), error.hint()));
            }
            // Its stream ends before it does.
            drop(voice);
            sender.send_replace(Some(end));
        });
        let (asked, stirred) = (Mutex::default(), Notify::new());
        Self {
            carrier,
            way,
            local,
            endings,
            mark,
            unwanted,
            ended,
            told,
            asked,
            remarks,
            stirred,
            answer: ANSWER,
        }
    }

    /// The same at a place to which a trip takes so long.
    pub(super) fn away(mut self, trip: Duration) -> Self {
        self.answer = ANSWER + trip.min(LONGEST_TRIP) * TRIPS;
        self
    }

    /// Whether something of it runs there; none if nobody answers.
    async fn is_there(&self) -> Option<bool> {
        let text = script::presence(&self.mark);
        let done = ask(&*self.way, &self.local, &text, PRESENCE).await.ok()?;
        done.is_well().then(|| done.output.starts_with(script::SOMEBODY))
    }
}

/// What is needed to find out how a program ended.
struct End<W> {
    carrier: Arc<dyn Control>,
    way: Arc<W>,
    local: Arc<Local>,
    mark: String,
    unwanted: Arc<AtomicBool>,
    told: Option<Told>,
}

impl<W: Way> End<W> {
    async fn await_it(self) -> Result<Exit, ToolError> {
        let exit = self.carrier.ended().await;
        let exit = exit.map_err(|error| ToolError::io("The way there", &error))?;
        if exit == Exit::Code(0) || self.unwanted.load(Ordering::Acquire) {
            return Ok(exit);
        }
        // A shell that has said how its program ended was there until then.
        let said = match &self.told {
            Some(told) => tokio::time::timeout(CLOSING, told::code(told)).await.ok().flatten(),
            None => None,
        };
        if said.is_some() {
            return Ok(exit);
        }
        if let Some(error) = self.way.lost(exit).await {
            return Err(error);
        }
        let Exit::Signal(signal) = exit else { return Ok(exit) };
        // Nobody hears any more what it writes, and nobody else will end it.
        let gone = end_there(&*self.way, &self.local, &self.mark, GRACE, || true).await;
        let there =
            if gone { "so it was ended there as well" } else { "and it may still run there" };
        let message = format!(
            "{}: the program that carried the command was killed by signal {signal}, {there}",
            self.way.name()
        );
        Err(ToolError::new(ErrorKind::Network, message)
            .with_hint("See what the command has done before it is run again."))
    }
}

/// Ends a program there; whether it is surely gone.
///
/// What has only just been sent may not have its mark yet, and would begin
/// after nobody was found, so it is looked for again until its carrier is over.
async fn end_there<W: Way>(
    way: &W,
    local: &Local,
    mark: &str,
    grace: Duration,
    is_over: impl Fn() -> bool,
) -> bool {
    let text = script::ending(mark, grace);
    for _ in 0..LOOKS {
        let Ok(done) = ask(way, local, &text, QUESTION + grace).await else { return false };
        if !done.is_well() || !done.output.starts_with(script::NOBODY) || is_over() {
            return done.is_well();
        }
        tokio::time::sleep(CLOSING).await;
        if is_over() {
            return true;
        }
    }
    true
}

/// Whether a program has ended, or has said how it will.
fn is_over(ended: &Ending, told: Option<&Told>) -> bool {
    let has_told = || told.is_some_and(|told| told.borrow().is_some());
    ended.borrow().is_some() || has_told()
}

impl<W: Way> Control for Remote<W> {
    fn ended(&self) -> BoxFuture<'_, io::Result<Exit>> {
        Box::pin(async move {
            let mut ended = self.ended.clone();
            let code = match &self.told {
                Some(told) => told::code(told).await,
                None => None,
            };
            if let Some(code) = code {
                // Somebody else may hold its streams for long.
                let _ = tokio::time::timeout(CLOSING, ended.wait_for(Option::is_some)).await;
                return Ok(Exit::Code(code));
            }
            let end = ended.wait_for(Option::is_some).await.map_err(io::Error::other)?;
            match &*end {
                Some(Ok(exit)) => Ok(*exit),
                Some(Err(error)) => Err(io::Error::other(error.message().to_owned())),
                None => Err(io::ErrorKind::BrokenPipe.into()),
            }
        })
    }

    fn end(&self, grace: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.unwanted.store(true, Ordering::Release);
            let mut ended = self.ended.clone();
            let (way, local) = (Arc::clone(&self.way), Arc::clone(&self.local));
            let (mark, over, told) = (self.mark.clone(), ended.clone(), self.told.clone());
            let ending = self.endings.begin(async move {
                let is_over = || is_over(&over, told.as_ref());
                if !end_there(&*way, &local, &mark, grace, is_over).await {
                    way.force(&script::killing(&mark)).await;
                }
            });
            // A place that does not answer is not waited for: whoever ends the
            // program has waited long enough. It is still tried.
            let limit = grace + self.answer;
            let is_told = matches!(tokio::time::timeout(limit, ending).await, Ok(Ok(())));
            if let Some(remarks) = self.remarks.as_ref().filter(|_| !is_told) {
                remarks.add(format!(
                    "{} did not answer within {:.1} s, so it is not known whether the command was \
                     ended there.",
                    self.way.name(),
                    limit.as_secs_f64()
                ));
            }
            if is_told {
                // Its last words, what its shell held among them, are on their way.
                let _ = tokio::time::timeout(CLOSING, ended.wait_for(Option::is_some)).await;
            }
            // If the way there is broken, this end of it can still be ended: then
            // there is nothing that it could still bring.
            self.carrier.end(if is_told { grace } else { Duration::ZERO }).await;
            self.stirred.notify_one();
        })
    }

    fn abandon(&self) {
        self.unwanted.store(true, Ordering::Release);
        self.carrier.abandon();
    }

    fn is_over(&self) -> bool {
        is_over(&self.ended, self.told.as_ref())
    }

    fn leaves(&self, is_likely: bool) -> BoxFuture<'_, bool> {
        Box::pin(async move { is_likely && self.is_there().await == Some(true) })
    }

    fn deserted(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut pause = STRAYS.0;
            // Once it was to be ended, nobody asks for long.
            while self.is_there().await != Some(false) && !self.unwanted.load(Ordering::Acquire) {
                let _ = tokio::time::timeout(pause, self.stirred.notified()).await;
                pause = (pause * 2).min(STRAYS.1);
            }
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

    fn awaits_input(&self) -> BoxFuture<'_, Waiting> {
        Box::pin(async move {
            let last = *self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((at, seen)) = last
                && at.elapsed() < SELDOM
            {
                return seen;
            }
            let done = ask(&*self.way, &self.local, &script::waiting(&self.mark), QUESTION).await;
            let waits = match done {
                Ok(done) if done.output.starts_with(b"waits") => Waiting::Typing,
                Ok(done) if done.output.starts_with(b"looks") => Waiting::Glance,
                _ => Waiting::Nothing,
            };
            *self.asked.lock().unwrap_or_else(PoisonError::into_inner) =
                Some((Instant::now(), waits));
            waits
        })
    }

    fn resize(&self, size: Size) -> io::Result<()> {
        self.carrier.resize(size)?;
        // A carrier that has just begun may not have listened.
        let carrier = Arc::clone(&self.carrier);
        tokio::spawn(async move {
            for wait in AGAIN {
                tokio::time::sleep(wait).await;
                carrier.signal(Signal::WINCH).await;
            }
        });
        Ok(())
    }
}

#[cfg(test)]
#[path = "control_tests.rs"]
mod tests;
