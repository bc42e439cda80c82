//! The way to a server: its program is started, or its address called, and it
//! is asked which protocol it speaks.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hermes_core::{ErrorKind, ToolError};
use rmcp::service::ClientInitializeError;

use super::catalogue::ServerCatalogue;
use super::connection::{McpConnection, ProtocolEra};
use super::error::{
    has_answered, initialize_auth_requirement, initialize_error_chain, is_refusal,
    is_version_mismatch,
};
use super::program::{ProcessSpec, ServerProcess};
use super::sanitize::excerpt;
use super::server::SupervisedServer;
use super::settings::ServerTransport;
use super::stdio_transport::StdioTransport;
use super::{http, oauth, osv};

/// How long a program that has closed its output may take to say how it ended.
const EXIT_STATUS_TIMEOUT: Duration = Duration::from_millis(200);

/// What to look at if it is a program that fails.
const PROGRAM_HINT: &str = "Look at `command`, `args` and `env` of its entry, and whether the program \
                       runs by itself.";

/// What to look at if it answers, and does not want to.
const REFUSAL_HINT: &str = "These are the server's own words; see what it wants, such as a licence or \
                       variables of `env`.";

/// What to look at if it speaks another protocol.
const VERSION_HINT: &str = "Another release of the server may speak a version that is known here.";

/// Why a server could not be greeted.
pub(crate) enum ConnectError {
    /// It can be tried in another way.
    Retryable(ToolError),
    /// It has answered, and does not want to.
    Refused(ToolError),
    /// It does not want to because it has said yes to the other way, so late
    /// that nobody waited for it any more.
    LateDiscover(ToolError),
    /// It cannot.
    Fatal(ToolError),
}

impl ConnectError {
    fn into_tool_error(self) -> ToolError {
        match self {
            Self::Retryable(error)
            | Self::Refused(error)
            | Self::LateDiscover(error)
            | Self::Fatal(error) => error,
        }
    }
}

/// Opens a connection: first in the way that worked last time.
pub(crate) async fn connect(server: &SupervisedServer) -> Result<McpConnection, ToolError> {
    let settings = server.settings();
    let kept = server.catalogue().map(|catalogue| catalogue.era).or_else(|| {
        let folder = &server.shared().catalogues;
        ServerCatalogue::load(folder, server.name(), &settings.raw_entry).map(|it| it.era)
    });
    let until = Instant::now() + settings.connect_timeout;
    let first = match &settings.transport {
        ServerTransport::Stdio { .. } => {
            server.unless_stopped(osv::check_packages(server)).await??;
            start_process(server, kept, settings.probe_timeout, until).await
        }
        ServerTransport::Http { .. } => {
            server.unless_stopped(http::connect_http(server, kept, until)).await?
        }
    };
    let trouble = match first {
        Ok(connection) => return Ok(connection),
        Err(trouble) => trouble,
    };
    // Some fall over at a question that they do not know; and some that did
    // not know it yesterday do so today.
    let other = match kept {
        Some(ProtocolEra::Legacy) => None,
        _ => Some(ProtocolEra::Legacy),
    };
    match (trouble, &settings.transport) {
        (ConnectError::Retryable(error), _) if Instant::now() >= until => Err(error),
        (ConnectError::Refused(error), ServerTransport::Stdio { .. })
            if kept == Some(ProtocolEra::Legacy) =>
        {
            start_process(server, None, settings.probe_timeout, until).await.map_err(|_| error)
        }
        (ConnectError::LateDiscover(error), ServerTransport::Stdio { .. }) => {
            let left = until.saturating_duration_since(Instant::now());
            start_process(server, Some(ProtocolEra::Modern), left, until).await.map_err(|_| error)
        }
        (ConnectError::Retryable(error), ServerTransport::Stdio { .. }) => {
            start_process(server, other, settings.probe_timeout, until).await.map_err(|_| error)
        }
        (ConnectError::Retryable(error), ServerTransport::Http { .. })
            if kept == Some(ProtocolEra::Legacy) =>
        {
            let called = server.unless_stopped(http::connect_http(server, None, until)).await?;
            called.map_err(|_| error)
        }
        (trouble, _) => Err(trouble.into_tool_error()),
    }
}

/// Starts the program and greets it. Whether it speaks the newer protocol it may
/// say for as long as there is patience.
async fn start_process(
    server: &SupervisedServer,
    era: Option<ProtocolEra>,
    patience: Duration,
    until: Instant,
) -> Result<McpConnection, ConnectError> {
    let (settings, shared) = (server.settings(), server.shared());
    let ServerTransport::Stdio { command, args, env, cwd } = &settings.transport else {
        return Err(ConnectError::Fatal(ToolError::internal("This server is no program")));
    };
    let plan = ProcessSpec {
        server: server.name(),
        command,
        args,
        env,
        cwd: cwd.as_deref(),
        own_env: &shared.own_env,
        job_records: shared.job_records.as_ref(),
    };
    server.unless_stopped(std::future::ready(())).await.map_err(ConnectError::Fatal)?;
    let (program, stdin, stdout) =
        ServerProcess::start(&plan).await.map_err(ConnectError::Fatal)?;
    let pipes = StdioTransport::new(stdout, stdin, program.stderr_tail.clone(), patience);
    let late_yes = pipes.late_discover();
    let greeting =
        McpConnection::handshake(server.name().into(), server.client_handler(), pipes, era);
    let left = until.saturating_duration_since(Instant::now());
    let greeted = server.unless_stopped(tokio::time::timeout(left, greeting)).await;
    let has_answered = matches!(&greeted, Ok(Ok(Err(error))) if has_answered(error));
    let trouble = match greeted {
        Ok(Ok(Ok(connection))) => return Ok(connection.with_process(program, late_yes)),
        Ok(Ok(Err(error))) if is_refusal(&error) && late_yes.load(Ordering::Relaxed) => {
            ConnectError::LateDiscover(initialize_error(server, &error))
        }
        Ok(Ok(Err(error))) if is_refusal(&error) => {
            ConnectError::Refused(initialize_error(server, &error))
        }
        Ok(Ok(Err(error))) => ConnectError::Retryable(initialize_error(server, &error)),
        Ok(Err(_)) => ConnectError::Fatal(connect_timeout_error(server)),
        Err(gone) => ConnectError::Fatal(gone),
    };
    Err(end_process(server.name(), program, trouble, has_answered).await)
}

/// Ends a program that could not be greeted, and tells what it said.
async fn end_process(
    server: &str,
    mut program: ServerProcess,
    trouble: ConnectError,
    has_answered: bool,
) -> ConnectError {
    let until = Instant::now() + EXIT_STATUS_TIMEOUT;
    let mut exit = program.exit_status();
    while exit.is_none() && matches!(trouble, ConnectError::Retryable(_)) && Instant::now() < until
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
        exit = program.exit_status();
    }
    if exit.is_some() {
        // Its error stream may not be read to its end yet.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let words = program.stderr_tail.text();
    program.terminate().await;
    match trouble {
        // If it has ended, then because nobody talks to it any more.
        ConnectError::Retryable(error) if has_answered => {
            ConnectError::Retryable(with_stderr(error, None, &words))
        }
        // What the connection was about when it broke is no help.
        ConnectError::Retryable(error) if exit.is_some() => {
            let message = format!("The MCP server '{}' did not answer", server);
            ConnectError::Retryable(with_stderr(
                error.with_message(message),
                exit.as_deref(),
                &words,
            ))
        }
        ConnectError::Retryable(error) => {
            ConnectError::Retryable(with_stderr(error, exit.as_deref(), &words))
        }
        ConnectError::Refused(error) => ConnectError::Refused(with_stderr(error, None, &words)),
        ConnectError::LateDiscover(error) => {
            ConnectError::LateDiscover(with_stderr(error, None, &words))
        }
        ConnectError::Fatal(error) => {
            ConnectError::Fatal(with_stderr(error, exit.as_deref(), &words))
        }
    }
}

pub(crate) fn connect_timeout_error(server: &SupervisedServer) -> ToolError {
    ToolError::new(
        ErrorKind::Timeout,
        format!(
            "The MCP server '{}' did not answer within {} s",
            server.name(),
            server.settings().connect_timeout.as_secs_f64()
        ),
    )
    .with_hint("A first start may take long; `connect_timeout` of the server allows more time.")
}

pub(crate) fn initialize_error(
    server: &SupervisedServer,
    error: &ClientInitializeError,
) -> ToolError {
    if let Some(want) = initialize_auth_requirement(error) {
        return oauth::auth_required_error(server, &want);
    }
    let failed = ToolError::new(
        ErrorKind::Network,
        format!(
            "The MCP server '{}' cannot be used: {}",
            server.name(),
            excerpt(&initialize_error_chain(error), 600)
        ),
    );
    match server.settings().transport {
        _ if is_version_mismatch(error) => failed.with_hint(VERSION_HINT),
        _ if is_refusal(error) => failed.with_hint(REFUSAL_HINT),
        ServerTransport::Stdio { .. } => failed.with_hint(PROGRAM_HINT),
        ServerTransport::Http { .. } => failed,
    }
}

/// An error with how a program has ended and what it said last.
pub(crate) fn with_stderr(error: ToolError, exit: Option<&str>, words: &str) -> ToolError {
    let mut message = error.message().to_owned();
    if let Some(exit) = exit {
        message.push_str(&format!("; its program has ended ({exit})"));
    }
    let error = error.with_message(message);
    if words.is_empty() { error } else { error.with("stderr", words) }
}
