//! A model with retries: the same request again, with another key, or to
//! another model.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use hermes_core::BoxFuture;
use parking_lot::Mutex;

use crate::model::{LanguageModel, ReplyStream};
use crate::model_error::{ModelError, ModelErrorKind};
use crate::reply::ReplyEvent;
use crate::request::ModelRequest;

/// Default cooldown of a key with an exhausted quota.
const QUOTA_COOLDOWN: Duration = Duration::from_secs(3_600);
/// Default cooldown of a rate-limited key, and of a failing model.
const RATE_COOLDOWN: Duration = Duration::from_secs(60);

/// Limits and delays of retries.
#[derive(Debug, Clone)]
pub struct RetrySettings {
    /// Maximum number of retries after transient errors.
    pub max_retries: u32,
    /// The first delay; it doubles with each retry.
    pub first_delay: Duration,
    /// Maximum delay; a server that asks for a longer one is not retried.
    pub max_delay: Duration,
}

impl Default for RetrySettings {
    fn default() -> Self {
        let (first, longest) = (Duration::from_secs(1), Duration::from_secs(60));
        Self { max_retries: 3, first_delay: first, max_delay: longest }
    }
}

/// Response to an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetryAction {
    /// Retries after a delay.
    Wait(Duration),
    /// Retries with another key.
    NextKey,
    /// Falls back to this model.
    NextModel(String),
}

/// An error and the response to it.
#[derive(Debug)]
pub struct RetryEvent<'a> {
    /// The model that failed.
    pub model: &'a str,
    /// The error.
    pub error: &'a ModelError,
    /// The response to it.
    pub action: RetryAction,
}

/// Callback for each retry.
pub type OnRetry = Arc<dyn Fn(&RetryEvent<'_>) + Send + Sync>;

/// A model that falls back to others.
#[derive(Clone)]
pub struct FallbackModel(Arc<FallbackInner>);

struct FallbackInner {
    routes: Vec<ModelRoute>,
    retries: RetrySettings,
    on_retry: OnRetry,
    /// The route that replied last.
    last: AtomicUsize,
    last_failure: Mutex<Option<(Instant, String)>>,
}

/// One model, once per key.
struct ModelRoute {
    keys: Vec<Arc<dyn LanguageModel>>,
    state: Mutex<RouteState>,
}

#[derive(Default)]
struct RouteState {
    /// The key in use.
    key: usize,
    /// When the cooldown of each key ends.
    key_cooldowns: Vec<Option<Instant>>,
    /// Until when the model is skipped, if there is another.
    skipped_until: Option<Instant>,
}

impl FallbackModel {
    /// Creates a model that tries `models` in order, each given once per key. A
    /// model named in a request applies to the first.
    pub fn new(
        models: Vec<Vec<Arc<dyn LanguageModel>>>,
        retries: RetrySettings,
        shown: OnRetry,
    ) -> Self {
        let seat = |keys: Vec<Arc<dyn LanguageModel>>| {
            let state =
                RouteState { key_cooldowns: vec![None; keys.len()], ..RouteState::default() };
            ModelRoute { keys, state: Mutex::new(state) }
        };
        let seats = models.into_iter().filter(|keys| !keys.is_empty()).map(seat).collect();
        Self(Arc::new(FallbackInner {
            routes: seats,
            retries,
            on_retry: shown,
            last: AtomicUsize::new(0),
            last_failure: Mutex::default(),
        }))
    }

    fn current_model(&self) -> Option<&Arc<dyn LanguageModel>> {
        self.0.routes.get(self.0.last.load(Ordering::Relaxed))?.keys.first()
    }
}

impl LanguageModel for FallbackModel {
    fn name(&self) -> &str {
        self.current_model().map_or("", |model| model.name())
    }

    fn window(&self) -> Option<u64> {
        self.current_model()?.window()
    }

    fn has_fallback(&self) -> bool {
        self.0.routes.len() > 1
    }

    fn last_failure(&self) -> Option<(Instant, String)> {
        self.0.last_failure.lock().clone()
    }

    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<ReplyStream, ModelError>> {
        Box::pin(async move {
            let begun = self.0.start_reply(request).await?;
            if !request.can_retract {
                return Ok(begun.stream());
            }
            let again = RestartableReply {
                inner: Arc::clone(&self.0),
                request: request.clone(),
                route: begun.route,
                stream: begun.stream(),
                restarts: 0,
                skipped_routes: 0,
            };
            Ok(stream::unfold(again, RestartableReply::next).boxed())
        })
    }
}

/// A reply with its first visible event.
struct StartedReply {
    /// The route that replies.
    route: usize,
    first: VecDeque<ReplyEvent>,
    rest: ReplyStream,
}

impl StartedReply {
    fn stream(self) -> ReplyStream {
        stream::iter(self.first.into_iter().map(Ok)).chain(self.rest).boxed()
    }
}

/// Sends a request and waits for the first visible event. Until then nothing
/// has been shown, so the request can be retried.
async fn open_reply(
    model: &dyn LanguageModel,
    request: &ModelRequest,
) -> Result<StartedReply, ModelError> {
    let mut rest = model.ask(request).await?;
    let mut first = VecDeque::new();
    while let Some(event) = rest.next().await {
        let event = event?;
        let is_silent = matches!(
            event,
            ReplyEvent::Model(_)
                | ReplyEvent::Usage(_)
                | ReplyEvent::Opaque(_)
                | ReplyEvent::Warning(_)
        );
        first.push_back(event);
        if !is_silent {
            break;
        }
    }
    Ok(StartedReply { route: 0, first, rest })
}

impl FallbackInner {
    async fn start_reply(&self, request: &ModelRequest) -> Result<StartedReply, ModelError> {
        let now = Instant::now();
        let is_well =
            |seat: &ModelRoute| seat.lock().skipped_until.is_none_or(|until| until <= now);
        // If all are cooling down, all are tried.
        let all_ill = !self.routes.iter().any(is_well);
        let mut fault = ModelError::new(ModelErrorKind::ModelUnavailable, "no model is configured");
        let mut seats = Vec::new();
        for (at, seat) in self.routes.iter().enumerate() {
            if all_ill || is_well(seat) {
                seats.push((at, seat));
            }
        }
        let mut seats = seats.into_iter().peekable();
        while let Some((at, seat)) = seats.next() {
            // The requested name applies only to the first model.
            let own = (at > 0).then(|| ModelRequest { model: String::new(), ..request.clone() });
            fault = match self.ask_route(seat, own.as_ref().unwrap_or(request)).await {
                Ok(begun) => {
                    self.last.store(at, Ordering::Relaxed);
                    seat.lock().skipped_until = None;
                    return Ok(StartedReply { route: at, ..begun });
                }
                Err(fault)
                    if fault.kind == ModelErrorKind::ContextTooLong && request.cannot_shorten =>
                {
                    fault
                }
                Err(fault) if !fault.kind.can_fall_back() => return Err(fault),
                Err(fault) => fault,
            };
            if matches!(
                fault.kind,
                ModelErrorKind::RateLimited | ModelErrorKind::Overloaded | ModelErrorKind::Quota
            ) {
                let rest = fault.retry_after.unwrap_or(RATE_COOLDOWN).min(QUOTA_COOLDOWN);
                seat.lock().skipped_until = Some(Instant::now() + rest);
            }
            if let Some((_, next)) = seats.peek() {
                self.report_retry(seat, &fault, RetryAction::NextModel(next.name().to_owned()));
            }
        }
        Err(fault)
    }

    /// Tries one model with all its keys, with retries.
    async fn ask_route(
        &self,
        seat: &ModelRoute,
        request: &ModelRequest,
    ) -> Result<StartedReply, ModelError> {
        let mut again = 0;
        loop {
            let Some((at, model)) = seat.choose_key() else {
                return Err(ModelError::new(
                    ModelErrorKind::ModelUnavailable,
                    "no model is configured",
                ));
            };
            let fault = match open_reply(&**model, request).await {
                Ok(begun) => return Ok(begun),
                Err(fault) => fault,
            };
            if seat.cool_down_key(at, &fault) {
                self.report_retry(seat, &fault, RetryAction::NextKey);
                continue;
            }
            // A zero delay is too soon after a rejection.
            let wanted = fault.retry_after.filter(|wanted| !wanted.is_zero());
            let pause = wanted.unwrap_or_else(|| self.backoff(again));
            let is_over = again >= self.retries.max_retries || pause > self.retries.max_delay;
            if is_over || !fault.kind.is_transient() {
                return Err(fault);
            }
            again += 1;
            self.report_retry(seat, &fault, RetryAction::Wait(pause));
            tokio::time::sleep(pause).await;
        }
    }

    /// Returns the delay before the next attempt: exponential backoff with
    /// jitter.
    fn backoff(&self, again: u32) -> Duration {
        let whole = self.retries.first_delay.saturating_mul(2u32.saturating_pow(again));
        let whole = whole.min(self.retries.max_delay);
        let chance = RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64;
        whole.mul_f64(0.5 + chance / 2.0)
    }

    fn report_retry(&self, seat: &ModelRoute, fault: &ModelError, remedy: RetryAction) {
        let trouble = Some((Instant::now(), fault.message.clone()));
        *self.last_failure.lock() = trouble;
        (self.on_retry)(&RetryEvent { model: seat.name(), error: fault, action: remedy });
    }
}

impl ModelRoute {
    fn lock(&self) -> parking_lot::MutexGuard<'_, RouteState> {
        self.state.lock()
    }

    fn name(&self) -> &str {
        self.keys.first().map_or("", |model| model.name())
    }

    /// Returns the current key unless it is cooling down, else the next
    /// available one, else the one whose cooldown ends first.
    fn choose_key(&self) -> Option<(usize, &Arc<dyn LanguageModel>)> {
        let mut state = self.lock();
        let now = Instant::now();
        let count = self.keys.len();
        let in_turn = (0..count).map(|step| (state.key + step) % count);
        let at = in_turn.min_by_key(|at| state.key_cooldowns[*at].filter(|until| *until > now))?;
        state.key = at;
        Some((at, self.keys.get(at)?))
    }

    /// Starts the cooldown of a key that the server rejects. Returns whether
    /// another key is available.
    fn cool_down_key(&self, at: usize, fault: &ModelError) -> bool {
        let rest = match fault.kind {
            ModelErrorKind::RateLimited => fault.retry_after.unwrap_or(RATE_COOLDOWN),
            // A rejected key stays invalid until it is replaced.
            ModelErrorKind::Authentication => QUOTA_COOLDOWN * 24,
            ModelErrorKind::Quota => fault.retry_after.unwrap_or(QUOTA_COOLDOWN),
            _ => return false,
        };
        let mut state = self.lock();
        let now = Instant::now();
        if let Some(slot) = state.key_cooldowns.get_mut(at) {
            *slot = Some(now + rest);
        }
        let mut others = state.key_cooldowns.iter().enumerate().filter(|(other, _)| *other != at);
        others.any(|(_, until)| until.is_none_or(|until| until <= now))
    }
}

/// A reply that can restart after an error.
struct RestartableReply {
    inner: Arc<FallbackInner>,
    request: ModelRequest,
    /// The route that replies.
    route: usize,
    stream: ReplyStream,
    /// Number of restarts on this route.
    restarts: u32,
    /// Number of routes skipped because their replies broke off.
    skipped_routes: usize,
}

impl RestartableReply {
    async fn next(mut self) -> Option<(Result<ReplyEvent, ModelError>, Self)> {
        let fault = match self.stream.next().await? {
            Err(fault) if fault.kind.is_transient() => fault,
            event => return Some((event, self)),
        };
        let Some(pause) = self.plan_restart(&fault) else { return Some((Err(fault), self)) };
        tokio::time::sleep(pause).await;
        match self.inner.start_reply(&self.request).await {
            Ok(begun) => {
                if begun.route != self.route {
                    self.restarts = 0;
                }
                self.route = begun.route;
                self.stream = begun.stream();
                Some((Ok(ReplyEvent::Restart), self))
            }
            Err(fault) => {
                self.stream = stream::empty().boxed();
                Some((Err(ModelError { is_mid_reply: true, ..fault }), self))
            }
        }
    }

    /// Returns the delay before a restart: on the same model, or on the next
    /// one after too many restarts. None if no model is left.
    fn plan_restart(&mut self, fault: &ModelError) -> Option<Duration> {
        let inner = Arc::clone(&self.inner);
        let seat = inner.routes.get(self.route)?;
        if self.restarts < inner.retries.max_retries {
            let pause = inner.backoff(self.restarts);
            self.restarts += 1;
            inner.report_retry(seat, fault, RetryAction::Wait(pause));
            return Some(pause);
        }
        let next = inner.routes.get(self.route + 1)?;
        self.skipped_routes += 1;
        if self.skipped_routes >= inner.routes.len() {
            return None;
        }
        seat.lock().skipped_until = Some(Instant::now() + RATE_COOLDOWN);
        inner.report_retry(seat, fault, RetryAction::NextModel(next.name().to_owned()));
        Some(Duration::ZERO)
    }
}

impl fmt::Debug for FallbackModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.routes.iter().map(|seat| (seat.name(), seat.keys.len()));
        f.debug_tuple("FallbackModel").field(&names.collect::<Vec<_>>()).finish()
    }
}
