//! The `hermes` command.

mod app;
mod args;
mod commands;
mod confirmation;
mod engagement;
mod failure;
mod foreign;
mod guarding;
mod helper;
mod keyboard;
mod measures;
mod messaging;
mod mode;
mod models;
mod place;
mod progress;
mod prompt;
mod question;
mod reduced;
mod sandbox_support;
mod summary;
mod supply;
mod table;
mod terminal;
mod tokens;
mod values;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::app::App;
use crate::args::{Cli, Command};
use crate::failure::{Exit, Outcome};

/// A call allocates much and briefly, and a megabyte that is given back to the
/// system between two calls has to be had anew, page by page.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if wants_version() {
        // As clap has it; a reader that is gone wants nothing more.
        let _ = writeln!(io::stdout(), concat!("hermes ", env!("CARGO_PKG_VERSION")));
        return ExitCode::SUCCESS;
    }
    let cli = match Cli::try_parse().or_else(or_talk) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let app = App::new(&cli.global);
    let command = match cli.command.map_or_else(|| talk(app.json), Ok) {
        Ok(command) => command,
        Err(error) => return usage(&error),
    };
    let answers_json =
        app.json || (matches!(command, Command::Call(_)) && !app.terminal.stdout_is_person);
    let outcome = run(&app, command);
    let exit = outcome.unwrap_or_else(|failure| {
        let failure = app.without_secrets(failure);
        // Programs look for the answer where the answer would have been.
        let told = answers_json && app.terminal.line(&failure.to_json()).is_ok();
        if !(told && app.json) {
            app.terminal.error(&failure.message, failure.hint.as_deref());
        }
        failure.exit
    });
    ExitCode::from(exit.code())
}

/// Scripts ask for the version to see whether the program is there: all that
/// can be said to it need not be made ready for that.
fn wants_version() -> bool {
    let mut words = std::env::args_os().skip(1);
    let is_version = words.next().is_some_and(|word| word == "--version" || word == "-V");
    is_version && words.next().is_none()
}

/// Whoever names no command, but says how to talk, wants to talk.
fn or_talk(error: clap::Error) -> Result<Cli, clap::Error> {
    if error.kind() != clap::error::ErrorKind::UnknownArgument {
        return Err(error);
    }
    let mut words: Vec<_> = std::env::args_os().collect();
    // A conversation has no JSON form, which is told to who asks for it.
    if words.iter().any(|word| word == "--json") {
        return Err(error);
    }
    words.insert(1.min(words.len()), "chat".into());
    Cli::try_parse_from(words).map_err(|of_chat| match of_chat.kind() {
        clap::error::ErrorKind::UnknownArgument => error,
        _ => of_chat,
    })
}

/// Whoever says nothing wants to talk.
fn talk(for_programs: bool) -> Result<Command, clap::Error> {
    if for_programs {
        return Err(Cli::command().error(
            clap::error::ErrorKind::MissingSubcommand,
            "a conversation has no JSON form; `hermes run --json TASK` has",
        ));
    }
    let cli = Cli::try_parse_from(["hermes", "chat"])?;
    cli.command.ok_or_else(|| clap::Error::new(clap::error::ErrorKind::MissingSubcommand))
}

fn run(app: &App, command: Command) -> Outcome {
    match command {
        Command::Chat(args) => commands::chat::run(app, &args),
        Command::Run(args) => commands::run::run(app, &args),
        Command::Call(args) => commands::call::run(app, &args),
        Command::Exec(args) => commands::exec::run(app, &args),
        Command::Tools(args) => commands::tools::run(app, args),
        Command::Toolsets(args) => commands::toolsets::run(app, args),
        Command::Config(args) => commands::config::run(app, args),
        Command::Permissions(args) => commands::permissions::run(app, args),
        Command::Secrets(args) => commands::secrets::run(app, args),
        Command::Audit(args) => commands::audit::run(app, args),
        Command::Undo(args) => commands::undo::undo(app, &args),
        Command::Redo(args) => commands::undo::redo(app, &args),
        Command::Checkpoints(args) => commands::checkpoints::run(app, args),
        Command::Sessions(args) => commands::sessions::run(app, args),
        Command::Memory(args) => commands::memory::run(app, args),
        Command::Skills(args) => commands::skills::run(app, args),
        Command::Mcp(args) => commands::mcp::run(app, args),
        Command::Cron(args) => commands::cron::run(app, args),
        Command::Batch(args) => commands::batch::run(app, args),
        Command::Processes(args) => commands::processes::run(app, &args),
        Command::Ports(args) => commands::ports::run(app, &args),
        Command::Sandbox(args) => commands::sandbox::run(app, args),
        Command::Doctor(asked) => commands::doctor::run(app, &asked),
        Command::Hands => commands::hands::run(),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            let mut command = Cli::command();
            clap_complete::generate(shell, &mut command, "hermes", &mut script);
            app.terminal.line(String::from_utf8_lossy(&script).trim_end())?;
            Ok(Exit::Ok)
        }
    }
}

/// Help and version are answers; anything else is a mistake of the caller.
fn usage(error: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind as Kind;
    let wants_json = std::env::args_os().any(|arg| arg == "--json");
    let is_answer = matches!(error.kind(), Kind::DisplayHelp | Kind::DisplayVersion);
    if wants_json && !is_answer {
        let failure = failure::Failure::from(error);
        let _ = terminal::Terminal::new(false).line(&failure.to_json());
        return ExitCode::from(Exit::Usage.code());
    }
    let _ = error.print();
    ExitCode::from(if is_answer { 0 } else { Exit::Usage.code() })
}
