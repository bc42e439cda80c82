//! A server under supervision: started when it is needed, looked after while
//! it runs, started again when it falls over, left alone when it keeps doing
//! so. What happens to one server concerns no other.

mod publish;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hermes_core::{ErrorKind, ToolContext, ToolError};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::Shared;
use super::breaker::Breaker;
use super::catalogue::Catalogue;
use super::connection::{Connection, Patience};
use super::content::Media;
use super::dial;
use super::fault::Fault;
use super::host::Host;
use super::sampling::Sampling;
use super::settings::{Roots, ServerSettings};
pub(crate) use publish::{Published, absent};

/// How often a server is started again before it is left alone.
const TRIES: u32 = 5;

/// After that, how long until it is tried once more.
const PARKED: Duration = Duration::from_secs(300);

/// A connection that has lasted so long was a good one.
const LASTING: Duration = Duration::from_secs(30);

/// Changes that come one after the other are taken together.
const DEBOUNCE: Duration = Duration::from_millis(120);

/// How long a sign of life may take.
const LIVELY: Duration = Duration::from_secs(30);

/// Where a server is in its life.
#[derive(Debug, Clone)]
pub(crate) enum Phase {
    /// Not started; its tools may be known from before.
    Idle,
    /// On its way.
    Connecting,
    /// There.
    Ready(Arc<Connection>),
    /// Not there, and why. The number tells one failure from another.
    Down(u64, ToolError),
    /// No longer wanted.
    Stopped,
}

/// A server.
pub(crate) struct Server {
    name: Arc<str>,
    settings: ServerSettings,
    shared: Arc<Shared>,
    host: Arc<Host>,
    phase: watch::Sender<Phase>,
    wake: Notify,
    stop: CancellationToken,
    is_begun: AtomicBool,
    breaker: Mutex<Breaker>,
    failures: AtomicU64,
    busy: AtomicUsize,
    used: Mutex<Instant>,
    catalogue: Mutex<Option<Arc<Catalogue>>>,
    /// What is to be told of how it was started.
    notes: Mutex<Vec<String>>,
    published: Mutex<Published>,
}

/// Why a connection is no longer looked after.
enum Over {
    /// It was lost.
    Lost,
    /// It is not needed at the moment, or has lived for long enough.
    Resting,
    /// It is not needed any more.
    Stopped,
}

/// While it lives, a call runs.
pub(crate) struct Busy<'a>(&'a Server);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
        *lock(&self.0.used) = Instant::now();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    pub(crate) fn new(name: &str, settings: ServerSettings, shared: &Arc<Shared>) -> Arc<Self> {
        let name: Arc<str> = name.into();
        let sampling = Sampling::new(settings.sampling.clone(), shared.models.clone());
        let host = Host::new(
            Arc::clone(&name),
            sampling,
            settings.elicitation.clone(),
            shared.asker.clone(),
            match &settings.roots {
                Roots::Ours => shared.roots.clone(),
                Roots::Nothing => Vec::new(),
                Roots::Named(folders) => folders.clone(),
            },
        );
        Arc::new(Self {
            name,
            settings,
            shared: Arc::clone(shared),
            host: Arc::new(host),
            phase: watch::Sender::new(Phase::Idle),
            wake: Notify::new(),
            stop: CancellationToken::new(),
            is_begun: AtomicBool::new(false),
            breaker: Mutex::default(),
            failures: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
            used: Mutex::new(Instant::now()),
            catalogue: Mutex::default(),
            notes: Mutex::default(),
            published: Mutex::default(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn settings(&self) -> &ServerSettings {
        &self.settings
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(crate) fn host(&self) -> &Arc<Host> {
        &self.host
    }

    pub(crate) fn media(&self) -> &Media {
        &self.shared.media
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase.borrow().clone()
    }

    pub(crate) fn catalogue(&self) -> Option<Arc<Catalogue>> {
        lock(&self.catalogue).clone()
    }

    /// Something to be told of how it was started.
    pub(crate) fn note(&self, text: String) {
        let mut notes = lock(&self.notes);
        if !notes.contains(&text) {
            notes.push(text);
        }
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        lock(&self.notes).clone()
    }

    pub(crate) fn published(&self) -> Published {
        lock(&self.published).clone()
    }

    pub(crate) fn patience(&self) -> Patience {
        Patience { idle: self.settings.timeout, total: self.settings.total_timeout }
    }

    /// The longest that a call can take, with a server that has to be started
    /// first and one more try.
    pub(crate) fn longest(&self) -> Duration {
        2 * self.settings.connect_timeout + self.settings.total_timeout + Duration::from_secs(30)
    }

    /// From now on a call runs.
    pub(crate) fn busy(&self) -> Busy<'_> {
        self.busy.fetch_add(1, Ordering::Relaxed);
        Busy(self)
    }

    pub(crate) fn went_well(&self) {
        lock(&self.breaker).succeed();
    }

    /// Something has changed for the better: it is tried again at once.
    pub(crate) fn encourage(&self) {
        self.went_well();
        if !matches!(*self.phase.borrow(), Phase::Ready(_)) {
            self.wake.notify_one();
        }
    }

    /// A call has broken down. A connection that loses messages is not used
    /// again.
    pub(crate) fn went_badly(&self, connection: &Connection, fault: &Fault, began: Instant) {
        lock(&self.breaker).fail(began, Instant::now());
        let is_program = matches!(self.settings.link, super::settings::Link::Program { .. });
        if is_program && !matches!(fault, Fault::Late(_) | Fault::Long(_)) {
            connection.closed.cancel();
        }
    }

    /// Puts what is known of before into the registry. Whether anything is.
    pub(crate) fn recall(self: &Arc<Self>) -> bool {
        let folder = &self.shared.catalogues;
        let Some(kept) = Catalogue::load(folder, &self.name, &self.settings.written) else {
            return false;
        };
        self.publish(&Arc::new(kept));
        true
    }

    /// Begins to look after it: at once, or when it is first needed.
    pub(crate) fn begin(self: &Arc<Self>, at_once: bool) {
        if self.is_begun.swap(true, Ordering::AcqRel) {
            return;
        }
        if at_once {
            self.explain_absence("is not there yet", None);
            self.wake.notify_one();
        }
        tokio::spawn(Arc::clone(self).supervise());
    }

    /// Ends it, and waits until nothing of it is left.
    pub(crate) async fn end(&self) {
        self.stop.cancel();
        if !self.is_begun.load(Ordering::Acquire) {
            return;
        }
        let mut phase = self.phase.subscribe();
        let _ = phase.wait_for(|phase| matches!(phase, Phase::Stopped)).await;
    }

    /// Waits until it is there, or has failed once.
    pub(crate) async fn settled(&self) -> Result<(), ToolError> {
        let mut phase = self.phase.subscribe();
        let is_settled =
            |phase: &Phase| matches!(phase, Phase::Ready(_) | Phase::Down(..) | Phase::Stopped);
        match phase.wait_for(is_settled).await.as_deref() {
            Ok(Phase::Down(_, error)) => Err(error.clone()),
            Ok(Phase::Stopped) | Err(_) => Err(self.gone()),
            Ok(_) => Ok(()),
        }
    }

    /// Does it, unless the server is to end first.
    pub(crate) async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, ToolError> {
        self.stop.run_until_cancelled(work).await.ok_or_else(|| self.gone())
    }

    fn gone(&self) -> ToolError {
        ToolError::unavailable(format!("The MCP server '{}' has been ended", self.name))
    }

    /// The connection, for a call. A server that is not there is started.
    pub(crate) async fn connection(&self, cx: &ToolContext) -> Result<Arc<Connection>, ToolError> {
        cx.run_until_cancelled(self.reach()).await?
    }

    async fn reach(&self) -> Result<Arc<Connection>, ToolError> {
        let seen = self.failures.load(Ordering::Acquire);
        let mut phase = self.phase.subscribe();
        let admitted = lock(&self.breaker).admit(Instant::now());
        if let Err((failures, left)) = admitted {
            let why = match &*phase.borrow() {
                Phase::Down(_, error) => format!(": {error}"),
                _ => String::new(),
            };
            return Err(ToolError::new(
                ErrorKind::Network,
                format!(
                    "The MCP server '{}' has failed {failures} times in a row and is left alone \
                     for another {} s{why}",
                    self.name,
                    left.as_secs().max(1)
                ),
            )
            .with_hint("Go on without it for now."));
        }
        let patience = self.settings.connect_timeout + Duration::from_secs(10);
        let waiting = async {
            let mut is_asked = false;
            loop {
                match &*phase.borrow_and_update() {
                    Phase::Ready(connection) if !connection.is_closed() => {
                        return Ok(Arc::clone(connection));
                    }
                    Phase::Down(number, error) if *number > seen => return Err(error.clone()),
                    Phase::Stopped => return Err(self.gone()),
                    _ => {}
                }
                if !is_asked {
                    self.wake.notify_one();
                    is_asked = true;
                }
                if phase.changed().await.is_err() {
                    return Err(self.gone());
                }
            }
        };
        tokio::time::timeout(patience, waiting).await.unwrap_or_else(|_| {
            Err(ToolError::new(
                ErrorKind::Timeout,
                format!("The MCP server '{}' was not there within {patience:?}", self.name),
            ))
        })
    }

    /// An error if the tool of that name cannot be called, by what the server
    /// has said of it last.
    pub(crate) fn vouch(&self, tool: &str) -> Result<(), ToolError> {
        let published = lock(&self.published);
        if let Some(why) = published.held_back.get(tool) {
            return Err(why.clone());
        }
        match published.tools.contains_key(tool) {
            true => Ok(()),
            false => Err(ToolError::not_found(format!(
                "The MCP server '{}' has no {tool} any more",
                self.name
            ))
            .with_hint("Use another of its tools.")),
        }
    }

    /// Asks for its tools again: there may be one that was not there before.
    pub(crate) async fn look_again(self: &Arc<Self>) -> Result<(), ToolError> {
        let was_there = matches!(&*self.phase.borrow(), Phase::Ready(it) if !it.is_closed());
        let connection = self.reach().await?;
        // One that was just opened has been asked.
        if was_there {
            self.refresh(&connection).await.map_err(|fault| self.unlisted(fault))?;
        }
        Ok(())
    }

    /// Why it does not say what tools it has.
    fn unlisted(&self, fault: Fault) -> ToolError {
        match fault {
            Fault::Refused(error) | Fault::Unread(error) => error,
            Fault::Login(want) => super::login::wanted(self, &want),
            fault => ToolError::new(
                ErrorKind::Network,
                format!("The MCP server '{}' does not list its tools: {fault}", self.name),
            ),
        }
    }

    /// The supervisor.
    async fn supervise(self: Arc<Self>) {
        let mut tries = 0;
        if !self.rest(None).await {
            return self.stopped();
        }
        loop {
            self.phase.send_replace(Phase::Connecting);
            let began = Instant::now();
            // It gives up by itself when the server is to end, and in order: what
            // it has started must not be left running.
            let opened = self.open().await;
            if self.stop.is_cancelled() {
                if let Ok(connection) = opened {
                    connection.close().await;
                }
                return self.stopped();
            }
            match opened {
                Ok(connection) => {
                    let connection = Arc::new(connection);
                    lock(&self.breaker).started();
                    *lock(&self.used) = Instant::now();
                    let since = Instant::now();
                    self.phase.send_replace(Phase::Ready(Arc::clone(&connection)));
                    let over = self.attend(&connection).await;
                    if since.elapsed() >= LASTING {
                        tries = 0;
                    }
                    let lost = self.lost(&connection).await;
                    connection.close().await;
                    match over {
                        Over::Stopped => return self.stopped(),
                        Over::Resting => {
                            tries = 0;
                            self.phase.send_replace(Phase::Idle);
                            if !self.rest(None).await {
                                return self.stopped();
                            }
                            continue;
                        }
                        Over::Lost => self.fail(lost),
                    }
                }
                Err(error) => {
                    // Who wants a login gets none by being asked again.
                    if super::login::is_wanted(&error) {
                        tries = TRIES;
                    } else {
                        lock(&self.breaker).fail_to_start(began, Instant::now());
                    }
                    self.fail(error);
                }
            }
            tries += 1;
            let pause = if tries < TRIES { backoff(tries) } else { PARKED };
            if !self.rest(Some(pause)).await {
                return self.stopped();
            }
        }
    }

    fn stopped(&self) {
        self.phase.send_replace(Phase::Stopped);
    }

    fn fail(&self, error: ToolError) {
        let why = format!("is not there: {}", error.message());
        self.explain_absence(&why, Some(&error));
        let number = self.failures.fetch_add(1, Ordering::AcqRel) + 1;
        self.phase.send_replace(Phase::Down(number, error));
    }

    /// Waits until it is needed, or the pause is over. False if it is to end.
    async fn rest(&self, pause: Option<Duration>) -> bool {
        let over = async {
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.stop.cancelled() => false,
            () = self.wake.notified() => true,
            () = over => true,
        }
    }

    async fn open(self: &Arc<Self>) -> Result<Connection, ToolError> {
        let connection = dial::open(self).await?;
        let asked = self.unless_stopped(self.refresh(&connection)).await;
        match asked.unwrap_or_else(|gone| Err(Fault::Refused(gone))) {
            Ok(()) => Ok(connection),
            Err(fault) => {
                let error = self.with_last_words(self.unlisted(fault), &connection).await;
                connection.close().await;
                Err(error)
            }
        }
    }

    /// Asks what it offers, and puts that into the registry.
    async fn refresh(self: &Arc<Self>, connection: &Connection) -> Result<(), Fault> {
        let catalogue = Catalogue::ask(connection, self.settings.connect_timeout).await?;
        let folder = &self.shared.catalogues;
        // Without it the next start is slower, and that is all.
        let _ = catalogue.save(folder, &self.name, &self.settings.written);
        self.publish(&Arc::new(catalogue));
        Ok(())
    }

    /// Looks after a connection until it is over.
    async fn attend(self: &Arc<Self>, connection: &Arc<Connection>) -> Over {
        let since = Instant::now();
        let _listening = super::listen::begin(connection, &self.host.changed);
        let mut lively = tokio::time::interval(self.settings.keepalive);
        lively.reset();
        let mut look = tokio::time::interval(Duration::from_millis(200));
        let changed = Arc::clone(&self.host.changed);
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return Over::Stopped,
                () = connection.closed.cancelled() => return Over::Lost,
                () = changed.notified() => {
                    tokio::time::sleep(DEBOUNCE).await;
                    // Whatever came meanwhile is part of what is read now.
                    let _ = tokio::time::timeout(Duration::ZERO, changed.notified()).await;
                    if self.refresh(connection).await.is_err_and(|fault| fault.is_breakdown()) {
                        return Over::Lost;
                    }
                }
                _ = lively.tick() => {
                    if self.busy.load(Ordering::Relaxed) == 0 && !self.is_lively(connection).await {
                        return Over::Lost;
                    }
                }
                _ = look.tick(), if self.may_rest() => {
                    if self.wants_rest(since) {
                        return Over::Resting;
                    }
                }
            }
        }
    }

    fn may_rest(&self) -> bool {
        self.settings.idle_timeout.is_some() || self.settings.max_lifetime.is_some()
    }

    fn wants_rest(&self, since: Instant) -> bool {
        let idle = lock(&self.used).elapsed();
        let is_idle = self.settings.idle_timeout.is_some_and(|most| idle >= most);
        let is_old = self.settings.max_lifetime.is_some_and(|most| since.elapsed() >= most);
        self.busy.load(Ordering::Relaxed) == 0 && (is_idle || is_old)
    }

    async fn is_lively(&self, connection: &Connection) -> bool {
        let patience = Patience { idle: LIVELY, total: LIVELY };
        let request = super::listen::sign_of_life(connection.era());
        // A server that refuses is there.
        match connection.request(request, patience, None).await {
            Ok(_) => true,
            Err(fault) => !fault.is_breakdown(),
        }
    }

    async fn lost(&self, connection: &Connection) -> ToolError {
        let error = ToolError::new(
            ErrorKind::Network,
            format!("The MCP server '{}' has closed the connection", self.name),
        );
        self.with_last_words(error, connection).await
    }

    /// An error with how its program has ended and what it said last.
    pub(crate) async fn with_last_words(
        &self,
        error: ToolError,
        connection: &Connection,
    ) -> ToolError {
        let exit = connection.exit().await;
        dial::with_words(error, exit.as_deref(), &connection.last_words())
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The pause before another try: longer each time, and not the same for all.
fn backoff(tries: u32) -> Duration {
    let base = Duration::from_millis(500) * 2u32.saturating_pow(tries.min(6));
    let jitter = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |it| it.subsec_nanos() % 1000);
    base.min(Duration::from_secs(60)).mul_f64(0.75 + f64::from(jitter) / 2000.0)
}
