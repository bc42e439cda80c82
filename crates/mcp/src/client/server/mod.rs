//! Supervises one server: starts it on demand, monitors it, restarts it after a
//! failure, and suspends it if it keeps failing. Servers do not affect each
//! other.

mod publish;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hermes_core::{ErrorKind, ToolContext, ToolError};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::ClientShared;
use super::breaker::CircuitBreaker;
use super::catalogue::ServerCatalogue;
use super::client_handler::McpClientHandler;
use super::connect;
use super::connection::{McpConnection, RequestTimeouts};
use super::content::MediaStore;
use super::error::McpRequestError;
use super::sampling::SamplingHandler;
use super::settings::{RootsMode, ServerSettings};
pub(crate) use publish::{PublishedTools, explain_tool_absence};

/// How often a server is restarted before it is parked.
const MAX_RESTARTS: u32 = 5;

/// How often a parked server is retried.
const PARKED_RETRY_INTERVAL: Duration = Duration::from_secs(300);

/// A connection of this age resets the restart count.
const STABLE_CONNECTION_AGE: Duration = Duration::from_secs(30);

/// Changes within this time are handled together.
const REFRESH_DEBOUNCE: Duration = Duration::from_millis(120);

/// Timeout of a liveness check.
const LIVENESS_TIMEOUT: Duration = Duration::from_secs(30);

/// State of a server.
#[derive(Debug, Clone)]
pub(crate) enum ServerPhase {
    /// Not started; its tools may be cached.
    Idle,
    /// Starting.
    Connecting,
    /// Connected.
    Ready(Arc<McpConnection>),
    /// Failed, with the reason. The number identifies the failure.
    Failed(u64, ToolError),
    /// Shut down.
    Stopped,
}

/// A supervised server.
pub(crate) struct SupervisedServer {
    name: Arc<str>,
    settings: ServerSettings,
    shared: Arc<ClientShared>,
    client_handler: Arc<McpClientHandler>,
    phase: watch::Sender<ServerPhase>,
    demand: Notify,
    stop: CancellationToken,
    is_started: AtomicBool,
    breaker: Mutex<CircuitBreaker>,
    failures: AtomicU64,
    running_calls: AtomicUsize,
    last_used: Mutex<Instant>,
    catalogue: Mutex<Option<Arc<ServerCatalogue>>>,
    /// Notes about its start.
    notes: Mutex<Vec<String>>,
    published: Mutex<PublishedTools>,
}

/// Why a connection ended.
enum ConnectionEnd {
    /// The connection was lost.
    Lost,
    /// The server is idle, or reached its maximum lifetime.
    Idle,
    /// The server was shut down.
    Stopped,
}

/// Marks a call as running until dropped.
pub(crate) struct BusyGuard<'a>(&'a SupervisedServer);

impl Drop for BusyGuard<'_> {
    fn drop(&mut self) {
        self.0.running_calls.fetch_sub(1, Ordering::Relaxed);
        *self.0.last_used.lock() = Instant::now();
    }
}

impl SupervisedServer {
    pub(crate) fn new(
        name: &str,
        settings: ServerSettings,
        shared: &Arc<ClientShared>,
    ) -> Arc<Self> {
        let name: Arc<str> = name.into();
        let sampling = SamplingHandler::new(settings.sampling.clone(), shared.models.clone());
        let host = McpClientHandler::new(
            Arc::clone(&name),
            sampling,
            settings.elicitation.clone(),
            shared.prompter.clone(),
            match &settings.roots {
                RootsMode::Workspace => shared.roots.clone(),
                RootsMode::Disabled => Vec::new(),
                RootsMode::Explicit(dirs) => dirs.clone(),
            },
        );
        Arc::new(Self {
            name,
            settings,
            shared: Arc::clone(shared),
            client_handler: Arc::new(host),
            phase: watch::Sender::new(ServerPhase::Idle),
            demand: Notify::new(),
            stop: CancellationToken::new(),
            is_started: AtomicBool::new(false),
            breaker: Mutex::default(),
            failures: AtomicU64::new(0),
            running_calls: AtomicUsize::new(0),
            last_used: Mutex::new(Instant::now()),
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

    pub(crate) fn shared(&self) -> &ClientShared {
        &self.shared
    }

    pub(crate) fn client_handler(&self) -> &Arc<McpClientHandler> {
        &self.client_handler
    }

    pub(crate) fn media(&self) -> &MediaStore {
        &self.shared.media
    }

    pub(crate) fn phase(&self) -> ServerPhase {
        self.phase.borrow().clone()
    }

    pub(crate) fn catalogue(&self) -> Option<Arc<ServerCatalogue>> {
        self.catalogue.lock().clone()
    }

    /// Adds a note about its start.
    pub(crate) fn note(&self, text: String) {
        let mut notes = self.notes.lock();
        if !notes.contains(&text) {
            notes.push(text);
        }
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.lock().clone()
    }

    pub(crate) fn published(&self) -> PublishedTools {
        self.published.lock().clone()
    }

    pub(crate) fn request_timeouts(&self) -> RequestTimeouts {
        RequestTimeouts { idle: self.settings.timeout, total: self.settings.total_timeout }
    }

    /// Returns the maximum duration of a call, including a start and a retry.
    pub(crate) fn max_call_time(&self) -> Duration {
        2 * self.settings.connect_timeout + self.settings.total_timeout + Duration::from_secs(30)
    }

    /// Marks a call as running.
    pub(crate) fn begin_call(&self) -> BusyGuard<'_> {
        self.running_calls.fetch_add(1, Ordering::Relaxed);
        BusyGuard(self)
    }

    pub(crate) fn record_success(&self) {
        self.breaker.lock().record_success();
    }

    /// Resets the failures and retries at once, for example after a login.
    pub(crate) fn retry_now(&self) {
        self.record_success();
        if !matches!(*self.phase.borrow(), ServerPhase::Ready(_)) {
            self.demand.notify_one();
        }
    }

    /// Records a failed call. A connection that loses messages is closed.
    pub(crate) fn record_failure(
        &self,
        connection: &McpConnection,
        fault: &McpRequestError,
        began: Instant,
    ) {
        self.breaker.lock().record_failure(began, Instant::now());
        let is_program =
            matches!(self.settings.transport, super::settings::ServerTransport::Stdio { .. });
        if is_program
            && !matches!(fault, McpRequestError::IdleTimeout(_) | McpRequestError::TotalTimeout(_))
        {
            connection.closed.cancel();
        }
    }

    /// Registers the cached tools. Returns whether there are any.
    pub(crate) fn publish_cached(self: &Arc<Self>) -> bool {
        let dir = &self.shared.catalogues;
        let Some(kept) = ServerCatalogue::load(dir, &self.name, &self.settings.raw_entry) else {
            return false;
        };
        self.publish(&Arc::new(kept));
        true
    }

    /// Starts supervising: connects at once, or on first use.
    pub(crate) fn start(self: &Arc<Self>, at_once: bool) {
        if self.is_started.swap(true, Ordering::AcqRel) {
            return;
        }
        if at_once {
            self.explain_absence("is still starting", None);
            self.demand.notify_one();
        }
        tokio::spawn(Arc::clone(self).supervise());
    }

    /// Shuts the server down and waits until it has stopped.
    pub(crate) async fn shut_down(&self) {
        self.stop.cancel();
        if !self.is_started.load(Ordering::Acquire) {
            return;
        }
        let mut phase = self.phase.subscribe();
        let _ = phase.wait_for(|phase| matches!(phase, ServerPhase::Stopped)).await;
    }

    /// Waits until the server is ready or has failed once.
    pub(crate) async fn wait_settled(&self) -> Result<(), ToolError> {
        let mut phase = self.phase.subscribe();
        let is_settled = |phase: &ServerPhase| {
            matches!(phase, ServerPhase::Ready(_) | ServerPhase::Failed(..) | ServerPhase::Stopped)
        };
        match phase.wait_for(is_settled).await.as_deref() {
            Ok(ServerPhase::Failed(_, error)) => Err(error.clone()),
            Ok(ServerPhase::Stopped) | Err(_) => Err(self.stopped_error()),
            Ok(_) => Ok(()),
        }
    }

    /// Runs `work`, unless the server is shut down first.
    pub(crate) async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, ToolError> {
        self.stop.run_until_cancelled(work).await.ok_or_else(|| self.stopped_error())
    }

    fn stopped_error(&self) -> ToolError {
        ToolError::unavailable(format!("The MCP server '{}' was shut down", self.name))
    }

    /// Returns the connection for a call, starting the server if needed.
    pub(crate) async fn connection(
        &self,
        cx: &ToolContext,
    ) -> Result<Arc<McpConnection>, ToolError> {
        cx.run_until_cancelled(self.wait_connection()).await?
    }

    async fn wait_connection(&self) -> Result<Arc<McpConnection>, ToolError> {
        let seen = self.failures.load(Ordering::Acquire);
        let mut phase = self.phase.subscribe();
        let admitted = self.breaker.lock().admit(Instant::now());
        if let Err((failures, left)) = admitted {
            let why = match &*phase.borrow() {
                ServerPhase::Failed(_, error) => format!(": {error}"),
                _ => String::new(),
            };
            return Err(ToolError::new(
                ErrorKind::Network,
                format!(
                    "The MCP server '{}' failed {failures} times in a row and is suspended for \
                     another {} s{why}",
                    self.name,
                    left.as_secs().max(1)
                ),
            )
            .with_hint("Continue without it for now."));
        }
        let timeout = self.settings.connect_timeout + Duration::from_secs(10);
        let waiting = async {
            let mut is_asked = false;
            loop {
                match &*phase.borrow_and_update() {
                    ServerPhase::Ready(connection) if !connection.is_closed() => {
                        return Ok(Arc::clone(connection));
                    }
                    ServerPhase::Failed(number, error) if *number > seen => {
                        return Err(error.clone());
                    }
                    ServerPhase::Stopped => return Err(self.stopped_error()),
                    _ => {}
                }
                if !is_asked {
                    self.demand.notify_one();
                    is_asked = true;
                }
                if phase.changed().await.is_err() {
                    return Err(self.stopped_error());
                }
            }
        };
        tokio::time::timeout(timeout, waiting).await.unwrap_or_else(|_| {
            Err(ToolError::new(
                ErrorKind::Timeout,
                format!("The MCP server '{}' was not ready within {timeout:?}", self.name),
            ))
        })
    }

    /// Returns an error if the tool is held back or no longer offered.
    pub(crate) fn check_callable(&self, tool: &str) -> Result<(), ToolError> {
        let published = self.published.lock();
        if let Some(why) = published.held_back.get(tool) {
            return Err(why.clone());
        }
        match published.tools.contains_key(tool) {
            true => Ok(()),
            false => Err(ToolError::not_found(format!(
                "The MCP server '{}' no longer has {tool}",
                self.name
            ))
            .with_hint("Use another of its tools.")),
        }
    }

    /// Fetches the tools again, for one that may be new.
    pub(crate) async fn refetch_tools(self: &Arc<Self>) -> Result<(), ToolError> {
        let was_there = matches!(&*self.phase.borrow(), ServerPhase::Ready(it) if !it.is_closed());
        let connection = self.wait_connection().await?;
        // A new connection has just fetched them.
        if was_there {
            self.refresh_catalogue(&connection)
                .await
                .map_err(|fault| self.list_tools_error(fault))?;
        }
        Ok(())
    }

    /// Returns the error for tools that could not be listed.
    fn list_tools_error(&self, fault: McpRequestError) -> ToolError {
        match fault {
            McpRequestError::Refused(error) | McpRequestError::Unreadable(error) => error,
            McpRequestError::AuthRequired(want) => super::oauth::auth_required_error(self, &want),
            fault => ToolError::new(
                ErrorKind::Network,
                format!("The MCP server '{}' did not list its tools: {fault}", self.name),
            ),
        }
    }

    /// Runs the server until it is shut down.
    async fn supervise(self: Arc<Self>) {
        let mut tries = 0;
        if !self.wait_for_demand(None).await {
            return self.set_stopped();
        }
        loop {
            self.phase.send_replace(ServerPhase::Connecting);
            let began = Instant::now();
            // Not cancelled from here: it stops on shutdown after cleaning up
            // what it started.
            let opened = self.connect().await;
            if self.stop.is_cancelled() {
                if let Ok(connection) = opened {
                    connection.close().await;
                }
                return self.set_stopped();
            }
            match opened {
                Ok(connection) => {
                    let connection = Arc::new(connection);
                    self.breaker.lock().record_start();
                    *self.last_used.lock() = Instant::now();
                    let since = Instant::now();
                    self.phase.send_replace(ServerPhase::Ready(Arc::clone(&connection)));
                    let over = self.watch_connection(&connection).await;
                    if since.elapsed() >= STABLE_CONNECTION_AGE {
                        tries = 0;
                    }
                    let lost = self.lost_error(&connection).await;
                    connection.close().await;
                    match over {
                        ConnectionEnd::Stopped => return self.set_stopped(),
                        ConnectionEnd::Idle => {
                            tries = 0;
                            self.phase.send_replace(ServerPhase::Idle);
                            if !self.wait_for_demand(None).await {
                                return self.set_stopped();
                            }
                            continue;
                        }
                        ConnectionEnd::Lost => self.set_failed(lost),
                    }
                }
                Err(error) => {
                    // Retries do not help without a login.
                    if super::oauth::is_auth_required(&error) {
                        tries = MAX_RESTARTS;
                    } else {
                        self.breaker.lock().record_start_failure(began, Instant::now());
                    }
                    self.set_failed(error);
                }
            }
            tries += 1;
            let pause = if tries < MAX_RESTARTS { backoff(tries) } else { PARKED_RETRY_INTERVAL };
            if !self.wait_for_demand(Some(pause)).await {
                return self.set_stopped();
            }
        }
    }

    fn set_stopped(&self) {
        self.phase.send_replace(ServerPhase::Stopped);
    }

    fn set_failed(&self, error: ToolError) {
        let why = format!("is not available: {}", error.message());
        self.explain_absence(&why, Some(&error));
        let number = self.failures.fetch_add(1, Ordering::AcqRel) + 1;
        self.phase.send_replace(ServerPhase::Failed(number, error));
    }

    /// Waits until the server is needed or the pause is over. Returns false on
    /// shutdown.
    async fn wait_for_demand(&self, pause: Option<Duration>) -> bool {
        let over = async {
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.stop.cancelled() => false,
            () = self.demand.notified() => true,
            () = over => true,
        }
    }

    async fn connect(self: &Arc<Self>) -> Result<McpConnection, ToolError> {
        let connection = connect::connect(self).await?;
        let asked = self.unless_stopped(self.refresh_catalogue(&connection)).await;
        match asked.unwrap_or_else(|gone| Err(McpRequestError::Refused(gone))) {
            Ok(()) => Ok(connection),
            Err(fault) => {
                let error = self.with_stderr(self.list_tools_error(fault), &connection).await;
                connection.close().await;
                Err(error)
            }
        }
    }

    /// Fetches the catalogue and registers its tools.
    async fn refresh_catalogue(
        self: &Arc<Self>,
        connection: &McpConnection,
    ) -> Result<(), McpRequestError> {
        let catalogue = ServerCatalogue::fetch(connection, self.settings.connect_timeout).await?;
        let dir = &self.shared.catalogues;
        // Without the cache, the next start is only slower.
        let _ = catalogue.save(dir, &self.name, &self.settings.raw_entry);
        self.publish(&Arc::new(catalogue));
        Ok(())
    }

    /// Monitors a connection until it ends.
    async fn watch_connection(self: &Arc<Self>, connection: &Arc<McpConnection>) -> ConnectionEnd {
        let since = Instant::now();
        let _listening =
            super::subscriptions::subscribe(connection, &self.client_handler.lists_changed);
        let mut lively = tokio::time::interval(self.settings.keepalive);
        lively.reset();
        let mut look = tokio::time::interval(Duration::from_millis(200));
        let changed = Arc::clone(&self.client_handler.lists_changed);
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return ConnectionEnd::Stopped,
                () = connection.closed.cancelled() => return ConnectionEnd::Lost,
                () = changed.notified() => {
                    tokio::time::sleep(REFRESH_DEBOUNCE).await;
                    // Changes during the wait are covered by this refresh.
                    let _ = tokio::time::timeout(Duration::ZERO, changed.notified()).await;
                    if self.refresh_catalogue(connection).await.is_err_and(|fault| fault.is_connection_failure()) {
                        return ConnectionEnd::Lost;
                    }
                }
                _ = lively.tick() => {
                    if self.running_calls.load(Ordering::Relaxed) == 0 && !self.is_alive(connection).await {
                        return ConnectionEnd::Lost;
                    }
                }
                _ = look.tick(), if self.can_go_idle() => {
                    if self.should_go_idle(since) {
                        return ConnectionEnd::Idle;
                    }
                }
            }
        }
    }

    fn can_go_idle(&self) -> bool {
        self.settings.idle_timeout.is_some() || self.settings.max_lifetime.is_some()
    }

    fn should_go_idle(&self, since: Instant) -> bool {
        let idle = self.last_used.lock().elapsed();
        let is_idle = self.settings.idle_timeout.is_some_and(|most| idle >= most);
        let is_old = self.settings.max_lifetime.is_some_and(|most| since.elapsed() >= most);
        self.running_calls.load(Ordering::Relaxed) == 0 && (is_idle || is_old)
    }

    async fn is_alive(&self, connection: &McpConnection) -> bool {
        let timeout = RequestTimeouts { idle: LIVENESS_TIMEOUT, total: LIVENESS_TIMEOUT };
        let request = super::subscriptions::liveness_request(connection.era());
        // A server that refuses is alive.
        match connection.request(request, timeout, None).await {
            Ok(_) => true,
            Err(fault) => !fault.is_connection_failure(),
        }
    }

    async fn lost_error(&self, connection: &McpConnection) -> ToolError {
        let error = ToolError::new(
            ErrorKind::Network,
            format!("The MCP server '{}' closed the connection", self.name),
        );
        self.with_stderr(error, connection).await
    }

    /// Adds the exit status and the stderr of its program to an error.
    pub(crate) async fn with_stderr(
        &self,
        error: ToolError,
        connection: &McpConnection,
    ) -> ToolError {
        let exit = connection.exit_status().await;
        connect::with_stderr(error, exit.as_deref(), &connection.stderr_tail())
    }
}

impl std::fmt::Debug for SupervisedServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SupervisedServer").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Returns the pause before a retry, exponential with jitter.
fn backoff(tries: u32) -> Duration {
    let base = Duration::from_millis(500) * 2u32.saturating_pow(tries.min(6));
    let jitter = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |it| it.subsec_nanos() % 1000);
    base.min(Duration::from_secs(60)).mul_f64(0.75 + f64::from(jitter) / 2000.0)
}
