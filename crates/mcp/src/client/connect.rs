//! Connects to a server: starts its program or calls its URL, and negotiates
//! the protocol.

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

/// How long to wait for the exit status of a program that closed its output.
const EXIT_STATUS_TIMEOUT: Duration = Duration::from_millis(200);

/// Hint for a program that fails.
const PROGRAM_HINT: &str = "Check `command`, `args` and `env` of its entry, and whether the \
                       program runs on its own.";

/// Hint for a server that refuses to connect.
const REFUSAL_HINT: &str = "This is the server's own message; check what it requires, such as \
                       a licence or variables in `env`.";

/// Hint for a server with an unsupported protocol version.
const VERSION_HINT: &str = "Another release of the server may support a protocol version that \
    is known here.";

/// Why the handshake with a server failed.
pub(crate) enum ConnectError {
    /// Another protocol era may work.
    Retryable(ToolError),
    /// The server responded and refused.
    Refused(ToolError),
    /// The server refused because its reply to the discover probe came too
    /// late, after the fallback.
    LateDiscover(ToolError),
    /// No retry helps.
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

/// Opens a connection, starting with the protocol era that worked last time.
pub(crate) async fn connect(server: &SupervisedServer) -> Result<McpConnection, ToolError> {
    let settings = server.settings();
    let kept = server.catalogue().map(|catalogue| catalogue.era).or_else(|| {
        let dir = &server.shared().catalogues;
        ServerCatalogue::load(dir, server.name(), &settings.raw_entry).map(|it| it.era)
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
    // Some servers crash on a request that they do not know, and an updated
    // server may have changed its era.
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

/// Starts the program and performs the handshake. `patience` limits the wait
/// for the reply to the discover probe.
async fn start_process(
    server: &SupervisedServer,
    era: Option<ProtocolEra>,
    timeout: Duration,
    until: Instant,
) -> Result<McpConnection, ConnectError> {
    let (settings, shared) = (server.settings(), server.shared());
    let ServerTransport::Stdio { command, args, env, cwd } = &settings.transport else {
        return Err(ConnectError::Fatal(ToolError::internal("This server has no stdio transport")));
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
    let pipes = StdioTransport::new(stdout, stdin, program.stderr_tail.clone(), timeout);
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

/// Terminates a program whose handshake failed and adds its stderr to the
/// error.
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
        // Its stderr may not be fully read yet.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let words = program.stderr_tail.text();
    program.terminate().await;
    match trouble {
        // If it has exited, then because the connection was closed.
        ConnectError::Retryable(error) if has_answered => {
            ConnectError::Retryable(with_stderr(error, None, &words))
        }
        // The transport error at the break does not help.
        ConnectError::Retryable(error) if exit.is_some() => {
            let message = format!("The MCP server '{}' did not respond", server);
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
            "The MCP server '{}' did not respond within {} s",
            server.name(),
            server.settings().connect_timeout.as_secs_f64()
        ),
    )
    .with_hint(
        "The first start may be slow; raise `connect_timeout` of the server to allow \
        more time.",
    )
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

/// Adds the exit status and the stderr of a program to an error.
pub(crate) fn with_stderr(error: ToolError, exit: Option<&str>, words: &str) -> ToolError {
    let mut message = error.message().to_owned();
    if let Some(exit) = exit {
        message.push_str(&format!("; its program exited ({exit})"));
    }
    let error = error.with_message(message);
    if words.is_empty() { error } else { error.with("stderr", words) }
}
