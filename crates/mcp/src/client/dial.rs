//! The way to a server: its program is started, or its address called, and it
//! is asked which protocol it speaks.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hermes_core::{ErrorKind, ToolError};
use rmcp::service::ClientInitializeError;

use super::catalogue::Catalogue;
use super::connection::{Connection, Era};
use super::fault::{greeting_causes, greeting_want, has_answered, is_foreign, is_refusal};
use super::pipes::Pipes;
use super::plain::excerpt;
use super::program::{Plan, Program};
use super::server::Server;
use super::settings::Link;
use super::{http, login, osv};

/// How long a program that has closed its output may take to say how it ended.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What to look at if it is a program that fails.
const PROGRAM: &str = "Look at `command`, `args` and `env` of its entry, and whether the program \
                       runs by itself.";

/// What to look at if it answers, and does not want to.
const REFUSED: &str = "These are the server's own words; see what it wants, such as a licence or \
                       variables of `env`.";

/// What to look at if it speaks another protocol.
const FOREIGN: &str = "Another release of the server may speak a version that is known here.";

/// Why a server could not be greeted.
pub(crate) enum Trouble {
    /// It can be tried in another way.
    Unclear(ToolError),
    /// It has answered, and does not want to.
    Refused(ToolError),
    /// It does not want to because it has said yes to the other way, so late
    /// that nobody waited for it any more.
    Belated(ToolError),
    /// It cannot.
    Final(ToolError),
}

impl Trouble {
    fn into_error(self) -> ToolError {
        match self {
            Self::Unclear(error)
            | Self::Refused(error)
            | Self::Belated(error)
            | Self::Final(error) => error,
        }
    }
}

/// Opens a connection: first in the way that worked last time.
pub(crate) async fn open(server: &Server) -> Result<Connection, ToolError> {
    let settings = server.settings();
    let kept = server.catalogue().map(|catalogue| catalogue.era).or_else(|| {
        let folder = &server.shared().catalogues;
        Catalogue::load(folder, server.name(), &settings.written).map(|it| it.era)
    });
    let until = Instant::now() + settings.connect_timeout;
    let first = match &settings.link {
        Link::Program { .. } => {
            server.unless_stopped(osv::check(server)).await??;
            start(server, kept, settings.probe_timeout, until).await
        }
        Link::Http { .. } => server.unless_stopped(http::call(server, kept, until)).await?,
    };
    let trouble = match first {
        Ok(connection) => return Ok(connection),
        Err(trouble) => trouble,
    };
    // Some fall over at a question that they do not know; and some that did
    // not know it yesterday do so today.
    let other = match kept {
        Some(Era::Legacy) => None,
        _ => Some(Era::Legacy),
    };
    match (trouble, &settings.link) {
        (Trouble::Unclear(error), _) if Instant::now() >= until => Err(error),
        (Trouble::Refused(error), Link::Program { .. }) if kept == Some(Era::Legacy) => {
            start(server, None, settings.probe_timeout, until).await.map_err(|_| error)
        }
        (Trouble::Belated(error), Link::Program { .. }) => {
            let left = until.saturating_duration_since(Instant::now());
            start(server, Some(Era::Modern), left, until).await.map_err(|_| error)
        }
        (Trouble::Unclear(error), Link::Program { .. }) => {
            start(server, other, settings.probe_timeout, until).await.map_err(|_| error)
        }
        (Trouble::Unclear(error), Link::Http { .. }) if kept == Some(Era::Legacy) => {
            let called = server.unless_stopped(http::call(server, None, until)).await?;
            called.map_err(|_| error)
        }
        (trouble, _) => Err(trouble.into_error()),
    }
}

/// Starts the program and greets it. Whether it speaks the newer protocol it may
/// say for as long as there is patience.
async fn start(
    server: &Server,
    era: Option<Era>,
    patience: Duration,
    until: Instant,
) -> Result<Connection, Trouble> {
    let (settings, shared) = (server.settings(), server.shared());
    let Link::Program { command, args, env, cwd } = &settings.link else {
        return Err(Trouble::Final(ToolError::internal("This server is no program")));
    };
    let plan = Plan {
        server: server.name(),
        command,
        args,
        env,
        cwd: cwd.as_deref(),
        surroundings: &shared.surroundings,
        leftovers: shared.leftovers.as_ref(),
    };
    server.unless_stopped(std::future::ready(())).await.map_err(Trouble::Final)?;
    let (program, stdin, stdout) = Program::start(&plan).await.map_err(Trouble::Final)?;
    let pipes = Pipes::new(stdout, stdin, program.tail.clone(), patience);
    let late_yes = pipes.late_yes();
    let greeting = Connection::greet(server.name().into(), server.host(), pipes, era);
    let left = until.saturating_duration_since(Instant::now());
    let greeted = server.unless_stopped(tokio::time::timeout(left, greeting)).await;
    let has_answered = matches!(&greeted, Ok(Ok(Err(error))) if has_answered(error));
    let trouble = match greeted {
        Ok(Ok(Ok(connection))) => return Ok(connection.to(program, late_yes)),
        Ok(Ok(Err(error))) if is_refusal(&error) && late_yes.load(Ordering::Relaxed) => {
            Trouble::Belated(explain(server, &error))
        }
        Ok(Ok(Err(error))) if is_refusal(&error) => Trouble::Refused(explain(server, &error)),
        Ok(Ok(Err(error))) => Trouble::Unclear(explain(server, &error)),
        Ok(Err(_)) => Trouble::Final(late(server)),
        Err(gone) => Trouble::Final(gone),
    };
    Err(give_up(server.name(), program, trouble, has_answered).await)
}

/// Ends a program that could not be greeted, and tells what it said.
async fn give_up(
    server: &str,
    mut program: Program,
    trouble: Trouble,
    has_answered: bool,
) -> Trouble {
    let until = Instant::now() + LAST_WORDS;
    let mut exit = program.ended();
    while exit.is_none() && matches!(trouble, Trouble::Unclear(_)) && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(5)).await;
        exit = program.ended();
    }
    if exit.is_some() {
        // Its error stream may not be read to its end yet.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let words = program.tail.text();
    program.end().await;
    match trouble {
        // If it has ended, then because nobody talks to it any more.
        Trouble::Unclear(error) if has_answered => {
            Trouble::Unclear(with_words(error, None, &words))
        }
        // What the connection was about when it broke is no help.
        Trouble::Unclear(error) if exit.is_some() => {
            let message = format!("The MCP server '{}' did not answer", server);
            Trouble::Unclear(with_words(error.with_message(message), exit.as_deref(), &words))
        }
        Trouble::Unclear(error) => Trouble::Unclear(with_words(error, exit.as_deref(), &words)),
        Trouble::Refused(error) => Trouble::Refused(with_words(error, None, &words)),
        Trouble::Belated(error) => Trouble::Belated(with_words(error, None, &words)),
        Trouble::Final(error) => Trouble::Final(with_words(error, exit.as_deref(), &words)),
    }
}

pub(crate) fn late(server: &Server) -> ToolError {
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

pub(crate) fn explain(server: &Server, error: &ClientInitializeError) -> ToolError {
    if let Some(want) = greeting_want(error) {
        return login::wanted(server, &want);
    }
    let failed = ToolError::new(
        ErrorKind::Network,
        format!(
            "The MCP server '{}' cannot be used: {}",
            server.name(),
            excerpt(&greeting_causes(error), 600)
        ),
    );
    match server.settings().link {
        _ if is_foreign(error) => failed.with_hint(FOREIGN),
        _ if is_refusal(error) => failed.with_hint(REFUSED),
        Link::Program { .. } => failed.with_hint(PROGRAM),
        Link::Http { .. } => failed,
    }
}

/// An error with how a program has ended and what it said last.
pub(crate) fn with_words(error: ToolError, exit: Option<&str>, words: &str) -> ToolError {
    let mut message = error.message().to_owned();
    if let Some(exit) = exit {
        message.push_str(&format!("; its program has ended ({exit})"));
    }
    let error = error.with_message(message);
    if words.is_empty() { error } else { error.with("stderr", words) }
}
