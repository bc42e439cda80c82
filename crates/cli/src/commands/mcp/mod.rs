//! `hermes mcp`: our tools for other programs, and theirs for us, by the Model
//! Context Protocol.

mod add;
mod reload;
mod serve;
mod servers;

use clap::Subcommand;

use crate::app::AppContext;
use crate::command_error::CommandResult;

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Offer tools to another program, on standard input and output or over HTTP
    Serve(serve::ServeArgs),
    /// List the servers whose tools are used
    List,
    /// Use the tools of another server
    Add(add::AddServerArgs),
    /// Use the tools of a server no longer, and forget its login
    Remove {
        /// Its name
        name: String,
    },
    /// Connect to a server, and tell how long it takes and what its tools cost
    Test {
        /// Its name
        name: String,
    },
    /// Log in to a server, in a browser
    Login {
        /// Its name
        name: String,
    },
    /// Take a server's tools as they are now, after they have changed
    Accept {
        /// The name of the server
        name: String,
        /// One of its tools, by the server's own name for it; all if none is named
        tool: Option<String>,
    },
}

pub(crate) fn run(app: &AppContext, command: McpCommand) -> CommandResult {
    match command {
        McpCommand::Serve(args) => serve::run(app, &args),
        McpCommand::List => servers::list(app),
        McpCommand::Add(args) => add::run(app, &args),
        McpCommand::Remove { name } => servers::remove(app, &name),
        McpCommand::Test { name } => servers::test(app, &name),
        McpCommand::Login { name } => servers::login(app, &name),
        McpCommand::Accept { name, tool } => servers::accept(app, &name, tool.as_deref()),
    }
}
