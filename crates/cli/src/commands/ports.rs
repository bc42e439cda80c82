//! `hermes ports`: lists ports in the network namespaces of sessions and
//! publishes them on this machine.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use clap::{Args, Subcommand};
use hermes::core::{CancellationToken, ErrorKind};
use hermes::sandbox::NetworkNamespace;
use hermes_exec::JobRegistry;
use hermes_exec::network::{ListeningPort, PublishedPort, listening_on_host, namespaces_with_port};
use hermes_exec::tree::ProcessTable;
use serde_json::{Value, json};

use crate::app::AppContext;
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::commands::runtime;
use crate::confirmation::confirm;
use crate::table::TextTable;
use crate::terminal::{OutputStyle, one_line};

#[derive(Debug, Args)]
pub(crate) struct PortsArgs {
    /// Session whose ports to use [default: all]
    #[arg(long, value_name = "ID", global = true)]
    session: Option<String>,
    #[command(subcommand)]
    command: Option<PortsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PortsCommand {
    /// Publish a port of a session on this machine's loopback until Ctrl-C
    Publish {
        /// Port that a process of the session listens on
        #[arg(value_parser = clap::value_parser!(u16).range(1..))]
        port: u16,
        /// Port on this machine [default: the same port, or any free one]
        #[arg(long, value_name = "HOSTPORT", value_parser = clap::value_parser!(u16).range(1..))]
        on: Option<u16>,
        /// Skip the confirmation
        #[arg(long, short)]
        yes: bool,
    },
}

pub(crate) fn run(app: &AppContext, args: &PortsArgs) -> CommandResult {
    let sessions = SessionsByProcess::read(app)?;
    let meant = args.session.as_deref();
    match args.command {
        None => list(app, &sessions, meant),
        Some(PortsCommand::Publish { port, on, yes }) => {
            publish(app, &sessions, meant, &PublishRequest { port, host_port: on, is_agreed: yes })
        }
    }
}

/// The port to publish.
struct PublishRequest {
    port: u16,
    host_port: Option<u16>,
    /// Whether `--yes` skips the confirmation.
    is_agreed: bool,
}

/// Maps each process started by hermes to its job and session.
struct SessionsByProcess(BTreeMap<u32, (String, String)>);

impl SessionsByProcess {
    fn read(app: &AppContext) -> Result<Self, CommandError> {
        let jobs = JobRegistry::local(app.home()?.cache_dir().join("jobs"));
        let mut known = BTreeMap::new();
        // Listing must not create the directory.
        let is_there = jobs.directory().join("running").is_dir();
        let entries = is_there.then(|| jobs.records()).flatten().map(|it| it.running());
        if let (Some(entries), Ok(table)) = (entries, ProcessTable::read()) {
            for entry in entries {
                let owner = (entry.id.clone(), entry.session.clone());
                let members = table.members(&entry.root()).into_iter();
                known.extend(members.map(|member| (member.pid, owner.clone())));
            }
        }
        Ok(Self(known))
    }

    fn session(&self, port: &ListeningPort) -> Option<&str> {
        let (_, session) = self.0.get(&port.pid?)?;
        Some(session)
    }

    /// Returns the job. The registry comes first: a process can change its
    /// environment.
    fn job<'a>(&'a self, port: &'a ListeningPort) -> Option<&'a str> {
        let known = port.pid.and_then(|pid| self.0.get(&pid)).map(|(job, _)| job);
        known.or(port.job.as_ref()).map(String::as_str)
    }

    fn matches_session(&self, port: &ListeningPort, session: Option<&str>) -> bool {
        session.is_none() || self.session(port) == session
    }

    fn row(&self, port: &ListeningPort) -> Value {
        json!({
            "port": port.port,
            "address": port.address,
            "program": port.program,
            "pid": port.pid,
            "job": self.job(port),
            "session": self.session(port),
            "published": port.published,
        })
    }
}

fn list(app: &AppContext, sessions: &SessionsByProcess, meant: Option<&str>) -> CommandResult {
    let mut ports = listening_on_host();
    ports.retain(|port| sessions.matches_session(port, meant));
    if app.json {
        let rows: Vec<Value> = ports.iter().map(|port| sessions.row(port)).collect();
        app.terminal.print_line(&json!({ "schema_version": 1, "ports": rows }).to_string())?;
        return Ok(CliExitCode::Ok);
    }
    if ports.is_empty() {
        app.terminal.note(&match meant {
            Some(session) => {
                format!("No process of session {} listens on a port.", one_line(session))
            }
            None => "No process of a session listens on a port.".to_owned(),
        });
        return Ok(CliExitCode::Ok);
    }
    let mut table = TextTable::default();
    for port in &ports {
        let session = sessions.session(port).map(|it| format!("session {}", one_line(it)));
        let published = port.published.map(|number| format!("published: {}", loopback_url(number)));
        table.push_row([
            (port.port.to_string(), Some(OutputStyle::Bold)),
            (port.address.to_string(), None),
            (process_label(port), None),
            (sessions.job(port).map(one_line).unwrap_or_default(), Some(OutputStyle::Dim)),
            (session.unwrap_or_default(), None),
            (published.unwrap_or_default(), Some(OutputStyle::Green)),
        ]);
    }
    app.terminal.print_line(&table.render(&app.terminal))?;
    Ok(CliExitCode::Ok)
}

fn publish(
    app: &AppContext,
    sessions: &SessionsByProcess,
    meant: Option<&str>,
    request: &PublishRequest,
) -> CommandResult {
    let (space, listening) = find_listening(sessions, meant, request.port)?;
    let whose = sessions.session(&listening).map(|it| format!(" of session {}", one_line(it)));
    let what = format!(
        "port {}{} ({})",
        request.port,
        whose.unwrap_or_default(),
        process_label(&listening)
    );
    if !request.is_agreed {
        let place = match request.host_port {
            Some(number) => loopback_url(number),
            None => "this machine's loopback".to_owned(),
        };
        let question = format!("Publish {what} on {place}?");
        let answer = confirm(app, &question).ok_or_else(|| {
            let message =
                format!("Publishing {what} requires a confirmation, and no terminal is available");
            CommandError::failed(ErrorKind::ApprovalRequired, message).hint("Use --yes to confirm.")
        })?;
        if !answer {
            app.terminal.note("Nothing was published.");
            return Ok(CliExitCode::Failed);
        }
    }
    let opened = PublishedPort::open(&Arc::new(space), request.port, request.host_port)
        .map_err(|error| publish_failure(request, &error))?;
    let number = opened.host_port();
    if app.json {
        let mut row = sessions.row(&ListeningPort { published: Some(number), ..listening });
        row["schema_version"] = 1.into();
        row["url"] = loopback_url(number).into();
        app.terminal.print_line(&row.to_string())?;
    } else {
        app.terminal.print_line(&loopback_url(number))?;
        app.terminal.note(&format!("Forwarding to {what}. Press Ctrl-C to stop."));
    }
    let cancel = CancellationToken::new();
    runtime::with_tools(&cancel, cancel.clone().cancelled_owned())?;
    drop(opened);
    Ok(CliExitCode::Ok)
}

/// Returns the only namespace with a listener on the port.
fn find_listening(
    sessions: &SessionsByProcess,
    meant: Option<&str>,
    port: u16,
) -> Result<(NetworkNamespace, ListeningPort), CommandError> {
    let mut found = namespaces_with_port(port);
    found.retain(|(_, listening)| sessions.matches_session(listening, meant));
    if found.len() > 1 {
        let name = |(_, listening): &(NetworkNamespace, ListeningPort)| {
            sessions.session(listening).map_or_else(|| process_label(listening), one_line)
        };
        let names: Vec<String> = found.iter().map(name).collect();
        let message =
            format!("Port {port} is open in {} sessions: {}", names.len(), names.join(", "));
        return Err(CommandError::usage(message).hint("Select one with --session."));
    }
    found.pop().ok_or_else(|| {
        let whose = meant.map_or("a session".to_owned(), |it| format!("session {}", one_line(it)));
        CommandError::not_found(format!("No process of {whose} listens on port {port}"))
            .hint("`hermes ports` lists the available ports.")
    })
}

fn publish_failure(request: &PublishRequest, error: &io::Error) -> CommandError {
    let failed = |kind, hint| {
        let message = match request.host_port.filter(|_| kind != ErrorKind::NotFound) {
            Some(number) => format!("Cannot use port {number} of this machine: {error}"),
            None => format!("Cannot reach port {} of the session: {error}", request.port),
        };
        CommandError::failed(kind, message).hint(hint)
    };
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            failed(ErrorKind::Conflict, "Choose another port, or omit --on to use any free port.")
        }
        io::ErrorKind::PermissionDenied => {
            failed(ErrorKind::Denied, "Choose a port above 1023; lower ports require root.")
        }
        _ => failed(ErrorKind::NotFound, "`hermes ports` lists the available ports."),
    }
}

/// Formats the process of a port.
fn process_label(port: &ListeningPort) -> String {
    let program = port.program.as_deref().map_or_else(|| "unknown".to_owned(), one_line);
    match port.pid {
        Some(pid) => format!("{program}, pid {pid}"),
        None => program,
    }
}

fn loopback_url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}
