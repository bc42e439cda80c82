//! A model that does not give up at the first trouble: it is asked again, with
//! another key, or another model is asked.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use hermes_core::BoxFuture;

use crate::fault::{Fault, FaultKind};
use crate::model::{Model, Stream};
use crate::reply::Event;
use crate::request::Request;

/// How long a key rests that is used up, if the server does not say.
const USED_UP: Duration = Duration::from_secs(3_600);
/// The same for one that was used too often, and for a model that is not well.
const TOO_OFTEN: Duration = Duration::from_secs(60);

/// How often and how soon a model is asked again.
#[derive(Debug, Clone)]
pub struct Retries {
    /// How often more, for troubles that pass.
    pub most: u32,
    /// The first pause; each one is twice as long as the one before.
    pub first: Duration,
    /// No pause is longer; a server that wants a longer one is not waited for.
    pub longest: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        let (first, longest) = (Duration::from_secs(1), Duration::from_secs(60));
        Self { most: 3, first, longest }
    }
}

/// What is done about a trouble.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// The same is asked again after a pause.
    Pause(Duration),
    /// The same is asked with another key.
    Key,
    /// This model is asked instead.
    Model(String),
}

/// A trouble, and what is done about it.
#[derive(Debug)]
pub struct Setback<'a> {
    /// The model that was asked.
    pub model: &'a str,
    /// What went wrong.
    pub fault: &'a Fault,
    /// What is done about it.
    pub remedy: Remedy,
}

/// Who is told of troubles.
pub type Told = Arc<dyn Fn(&Setback<'_>) + Send + Sync>;

/// A model around others.
#[derive(Clone)]
pub struct Steady(Arc<Inner>);

struct Inner {
    seats: Vec<Seat>,
    retries: Retries,
    told: Told,
    /// The seat that answered last.
    last: AtomicUsize,
    trouble: Mutex<Option<(Instant, String)>>,
}

/// One model, and the keys that it can be asked with.
struct Seat {
    keys: Vec<Arc<dyn Model>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The key in use.
    key: usize,
    /// Until when each key rests.
    rests: Vec<Option<Instant>>,
    /// Until when the model is passed over, if there is another.
    passed_over: Option<Instant>,
}

impl Steady {
    /// Models in the order in which they are asked; each one as often as it has
    /// keys. A request that names a model names the first.
    pub fn new(models: Vec<Vec<Arc<dyn Model>>>, retries: Retries, told: Told) -> Self {
        let seat = |keys: Vec<Arc<dyn Model>>| {
            let state = State { rests: vec![None; keys.len()], ..State::default() };
            Seat { keys, state: Mutex::new(state) }
        };
        let seats = models.into_iter().filter(|keys| !keys.is_empty()).map(seat).collect();
        Self(Arc::new(Inner {
            seats,
            retries,
            told,
            last: AtomicUsize::new(0),
            trouble: Mutex::default(),
        }))
    }

    fn current(&self) -> Option<&Arc<dyn Model>> {
        self.0.seats.get(self.0.last.load(Ordering::Relaxed))?.keys.first()
    }
}

impl Model for Steady {
    fn name(&self) -> &str {
        self.current().map_or("", |model| model.name())
    }

    fn window(&self) -> Option<u64> {
        self.current()?.window()
    }

    fn has_others(&self) -> bool {
        self.0.seats.len() > 1
    }

    fn last_trouble(&self) -> Option<(Instant, String)> {
        self.0.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Stream, Fault>> {
        Box::pin(async move {
            let begun = self.0.begin(request).await?;
            if !request.takes_back {
                return Ok(begun.stream());
            }
            let again = Again {
                inner: Arc::clone(&self.0),
                request: request.clone(),
                seat: begun.seat,
                stream: begun.stream(),
                tried: 0,
                passed: 0,
            };
            Ok(stream::unfold(again, Again::next).boxed())
        })
    }
}

/// An answer of which something can be shown.
struct Begun {
    /// Who answers.
    seat: usize,
    first: VecDeque<Event>,
    rest: Stream,
}

impl Begun {
    fn stream(self) -> Stream {
        stream::iter(self.first.into_iter().map(Ok)).chain(self.rest).boxed()
    }
}

/// Asks, and listens until there is something to show: until then, nobody has
/// seen anything, and it can be asked again.
async fn open(model: &dyn Model, request: &Request) -> Result<Begun, Fault> {
    let mut rest = model.ask(request).await?;
    let mut first = VecDeque::new();
    while let Some(event) = rest.next().await {
        let event = event?;
        let is_silent = matches!(
            event,
            Event::Model(_) | Event::Usage(_) | Event::Opaque(_) | Event::Warning(_)
        );
        first.push_back(event);
        if !is_silent {
            break;
        }
    }
    Ok(Begun { seat: 0, first, rest })
}

impl Inner {
    async fn begin(&self, request: &Request) -> Result<Begun, Fault> {
        let now = Instant::now();
        let is_well = |seat: &Seat| seat.lock().passed_over.is_none_or(|until| until <= now);
        // If none is well, all are asked.
        let all_ill = !self.seats.iter().any(is_well);
        let mut fault = Fault::new(FaultKind::Model, "no model is set up");
        let mut seats = Vec::new();
        for (at, seat) in self.seats.iter().enumerate() {
            if all_ill || is_well(seat) {
                seats.push((at, seat));
            }
        }
        let mut seats = seats.into_iter().peekable();
        while let Some((at, seat)) = seats.next() {
            // The others have names of their own.
            let own = (at > 0).then(|| Request { model: String::new(), ..request.clone() });
            fault = match self.ask_seat(seat, own.as_ref().unwrap_or(request)).await {
                Ok(begun) => {
                    self.last.store(at, Ordering::Relaxed);
                    seat.lock().passed_over = None;
                    return Ok(Begun { seat: at, ..begun });
                }
                Err(fault) if fault.kind == FaultKind::Length && request.is_shortest => fault,
                Err(fault) if !fault.kind.is_theirs() => return Err(fault),
                Err(fault) => fault,
            };
            if matches!(fault.kind, FaultKind::Rate | FaultKind::Overloaded | FaultKind::Quota) {
                let rest = fault.retry_after.unwrap_or(TOO_OFTEN).min(USED_UP);
                seat.lock().passed_over = Some(Instant::now() + rest);
            }
            if let Some((_, next)) = seats.peek() {
                self.tell(seat, &fault, Remedy::Model(next.name().to_owned()));
            }
        }
        Err(fault)
    }

    /// Asks one model with all its keys, and again.
    async fn ask_seat(&self, seat: &Seat, request: &Request) -> Result<Begun, Fault> {
        let mut again = 0;
        loop {
            let Some((at, model)) = seat.choose() else {
                return Err(Fault::new(FaultKind::Model, "no model is set up"));
            };
            let fault = match open(&**model, request).await {
                Ok(begun) => return Ok(begun),
                Err(fault) => fault,
            };
            if seat.rest(at, &fault) {
                self.tell(seat, &fault, Remedy::Key);
                continue;
            }
            // At once is too soon for one who has just said no.
            let wanted = fault.retry_after.filter(|wanted| !wanted.is_zero());
            let pause = wanted.unwrap_or_else(|| self.pause(again));
            let is_over = again >= self.retries.most || pause > self.retries.longest;
            if is_over || !fault.kind.is_passing() {
                return Err(fault);
            }
            again += 1;
            self.tell(seat, &fault, Remedy::Pause(pause));
            tokio::time::sleep(pause).await;
        }
    }

    /// A pause before the next attempt: twice as long each time, and never the
    /// same for all who wait.
    fn pause(&self, again: u32) -> Duration {
        let whole = self.retries.first.saturating_mul(2u32.saturating_pow(again));
        let whole = whole.min(self.retries.longest);
        let chance = RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64;
        whole.mul_f64(0.5 + chance / 2.0)
    }

    fn tell(&self, seat: &Seat, fault: &Fault, remedy: Remedy) {
        let trouble = Some((Instant::now(), fault.message.clone()));
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
        (self.told)(&Setback { model: seat.name(), fault, remedy });
    }
}

impl Seat {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn name(&self) -> &str {
        self.keys.first().map_or("", |model| model.name())
    }

    /// The key in use if it does not rest, else the next one that does not,
    /// else the one that rests the shortest.
    fn choose(&self) -> Option<(usize, &Arc<dyn Model>)> {
        let mut state = self.lock();
        let now = Instant::now();
        let count = self.keys.len();
        let in_turn = (0..count).map(|step| (state.key + step) % count);
        let at = in_turn.min_by_key(|at| state.rests[*at].filter(|until| *until > now))?;
        state.key = at;
        Some((at, self.keys.get(at)?))
    }

    /// Lets a key rest that the server does not take now. Whether there is
    /// another one.
    fn rest(&self, at: usize, fault: &Fault) -> bool {
        let rest = match fault.kind {
            FaultKind::Rate => fault.retry_after.unwrap_or(TOO_OFTEN),
            // It will not get better by itself.
            FaultKind::Key => USED_UP * 24,
            FaultKind::Quota => fault.retry_after.unwrap_or(USED_UP),
            _ => return false,
        };
        let mut state = self.lock();
        let now = Instant::now();
        if let Some(slot) = state.rests.get_mut(at) {
            *slot = Some(now + rest);
        }
        let mut others = state.rests.iter().enumerate().filter(|(other, _)| *other != at);
        others.any(|(_, until)| until.is_none_or(|until| until <= now))
    }
}

/// An answer that may begin anew.
struct Again {
    inner: Arc<Inner>,
    request: Request,
    /// Who answers.
    seat: usize,
    stream: Stream,
    /// How often it has begun anew there.
    tried: u32,
    /// How many were passed over because their answers broke off.
    passed: usize,
}

impl Again {
    async fn next(mut self) -> Option<(Result<Event, Fault>, Self)> {
        let fault = match self.stream.next().await? {
            Err(fault) if fault.kind.is_passing() => fault,
            event => return Some((event, self)),
        };
        let Some(pause) = self.remedy(&fault) else { return Some((Err(fault), self)) };
        tokio::time::sleep(pause).await;
        match self.inner.begin(&self.request).await {
            Ok(begun) => {
                if begun.seat != self.seat {
                    self.tried = 0;
                }
                self.seat = begun.seat;
                self.stream = begun.stream();
                Some((Ok(Event::Again), self))
            }
            Err(fault) => {
                self.stream = stream::empty().boxed();
                Some((Err(Fault { is_late: true, ..fault }), self))
            }
        }
    }

    /// How long to wait before it is asked again: the same model, or the next one
    /// once this has broken off too often. None if nobody is left.
    fn remedy(&mut self, fault: &Fault) -> Option<Duration> {
        let inner = Arc::clone(&self.inner);
        let seat = inner.seats.get(self.seat)?;
        if self.tried < inner.retries.most {
            let pause = inner.pause(self.tried);
            self.tried += 1;
            inner.tell(seat, fault, Remedy::Pause(pause));
            return Some(pause);
        }
        let next = inner.seats.get(self.seat + 1)?;
        self.passed += 1;
        if self.passed >= inner.seats.len() {
            return None;
        }
        seat.lock().passed_over = Some(Instant::now() + TOO_OFTEN);
        inner.tell(seat, fault, Remedy::Model(next.name().to_owned()));
        Some(Duration::ZERO)
    }
}

impl fmt::Debug for Steady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.seats.iter().map(|seat| (seat.name(), seat.keys.len()));
        f.debug_tuple("Steady").field(&names.collect::<Vec<_>>()).finish()
    }
}
