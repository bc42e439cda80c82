//! The `hermes` command.

mod agent_session;
mod app;
mod args;
mod auxiliary_model;
mod call_arguments;
mod call_summary;
mod command_error;
mod commands;
mod confirmation;
mod exec_target;
mod held_calls;
mod limits;
mod mcp_servers;
#[cfg(feature = "agent")]
mod messaging;
mod mode;
mod models;
mod progress;
mod prompter;
mod question;
mod reduced_sandbox;
mod security;
mod stderr_approver;
mod subagent_services;
mod table;
mod terminal;
mod tokens;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::app::AppContext;
use crate::args::{CliArgs, CliCommand};
use crate::command_error::{CliExitCode, CommandResult};

/// Calls make many short-lived allocations. mimalloc keeps freed memory between
/// calls instead of returning it to the system and faulting it in again.
#[global_allocator]
static GLOBAL_ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if wants_version() {
        // Same output as clap; a closed pipe is ignored.
        let _ = writeln!(io::stdout(), concat!("hermes ", env!("CARGO_PKG_VERSION")));
        return ExitCode::SUCCESS;
    }
    let cli = match CliArgs::try_parse().or_else(or_chat) {
        Ok(cli) => cli,
        Err(error) => return report_usage(&error),
    };
    let app = AppContext::new(&cli.global);
    let command = match cli.command.map_or_else(|| chat_command(app.json), Ok) {
        Ok(command) => command,
        Err(error) => return report_usage(&error),
    };
    let answers_json =
        app.json || (matches!(command, CliCommand::Call(_)) && !app.terminal.stdout_is_person);
    let outcome = run_command(&app, command);
    let exit = outcome.unwrap_or_else(|failure| {
        let failure = app.without_secrets(failure);
        // Programs expect the error on standard output, in place of the result.
        let shown = answers_json && app.terminal.print_line(&failure.to_json()).is_ok();
        if !(shown && app.json) {
            app.terminal.error(&failure.message, failure.hint.as_deref());
        }
        failure.exit
    });
    ExitCode::from(exit.code())
}

/// Whether only the version is requested. Scripts use it to detect the program,
/// so it skips building the whole clap command.
fn wants_version() -> bool {
    let mut words = std::env::args_os().skip(1);
    let is_version = words.next().is_some_and(|word| word == "--version" || word == "-V");
    is_version && words.next().is_none()
}

/// Parses the arguments as `hermes chat` options if no command was given.
fn or_chat(error: clap::Error) -> Result<CliArgs, clap::Error> {
    if error.kind() != clap::error::ErrorKind::UnknownArgument {
        return Err(error);
    }
    let mut words: Vec<_> = std::env::args_os().collect();
    // Chat has no JSON output, so `--json` is an error.
    if words.iter().any(|word| word == "--json") {
        return Err(error);
    }
    words.insert(1.min(words.len()), "chat".into());
    CliArgs::try_parse_from(words).map_err(|of_chat| match of_chat.kind() {
        clap::error::ErrorKind::UnknownArgument => error,
        _ => of_chat,
    })
}

/// Returns the default command, `chat`.
fn chat_command(for_programs: bool) -> Result<CliCommand, clap::Error> {
    if for_programs {
        return Err(CliArgs::command().error(
            clap::error::ErrorKind::MissingSubcommand,
            "a chat has no JSON output; use `hermes run --json TASK`",
        ));
    }
    let cli = CliArgs::try_parse_from(["hermes", "chat"])?;
    cli.command.ok_or_else(|| clap::Error::new(clap::error::ErrorKind::MissingSubcommand))
}

fn run_command(app: &AppContext, command: CliCommand) -> CommandResult {
    match command {
        CliCommand::Chat(args) => commands::chat::run(app, &args),
        CliCommand::Run(args) => commands::run::run(app, &args),
        CliCommand::Call(args) => commands::call::run(app, &args),
        CliCommand::Exec(args) => commands::exec::run(app, &args),
        CliCommand::Tools(args) => commands::tools::run(app, args),
        CliCommand::Toolsets(args) => commands::toolsets::run(app, args),
        CliCommand::Config(args) => commands::config::run(app, args),
        CliCommand::Permissions(args) => commands::permissions::run(app, args),
        CliCommand::Secrets(args) => commands::secrets::run(app, args),
        CliCommand::Audit(args) => commands::audit::run(app, args),
        CliCommand::Undo(args) => commands::undo::undo(app, &args),
        CliCommand::Redo(args) => commands::undo::redo(app, &args),
        CliCommand::Checkpoints(args) => commands::checkpoints::run(app, args),
        CliCommand::Sessions(args) => commands::sessions::run(app, args),
        CliCommand::Memory(args) => commands::memory::run(app, args),
        CliCommand::Skills(args) => commands::skills::run(app, args),
        CliCommand::Mcp(args) => commands::mcp::run(app, args),
        CliCommand::Cron(args) => commands::cron::run(app, args),
        CliCommand::Batch(args) => commands::batch::run(app, args),
        CliCommand::Processes(args) => commands::processes::run(app, &args),
        CliCommand::Ports(args) => commands::ports::run(app, &args),
        CliCommand::Sandbox(args) => commands::sandbox::run(app, args),
        CliCommand::Doctor(asked) => commands::doctor::run(app, &asked),
        CliCommand::Hands => commands::hands::run(),
        CliCommand::Completions { shell } => {
            let mut script = Vec::new();
            let mut command = CliArgs::command();
            clap_complete::generate(shell, &mut command, "hermes", &mut script);
            app.terminal.print_line(String::from_utf8_lossy(&script).trim_end())?;
            Ok(CliExitCode::Ok)
        }
    }
}

/// Prints help, version or a usage error, and returns the exit code.
fn report_usage(error: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind as Kind;
    let wants_json = std::env::args_os().any(|arg| arg == "--json");
    let is_answer = matches!(error.kind(), Kind::DisplayHelp | Kind::DisplayVersion);
    if wants_json && !is_answer {
        let failure = command_error::CommandError::from(error);
        let _ = terminal::TerminalOutput::new(false).print_line(&failure.to_json());
        return ExitCode::from(CliExitCode::Usage.code());
    }
    let _ = error.print();
    ExitCode::from(if is_answer { 0 } else { CliExitCode::Usage.code() })
}
