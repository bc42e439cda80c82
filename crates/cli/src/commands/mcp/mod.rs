//! `hermes mcp`: serves tools to MCP clients and manages the MCP servers whose
//! tools are used.

mod add;
mod reload;
mod serve;
mod servers;

use clap::Subcommand;

use crate::app::AppContext;
use crate::command_error::CommandResult;

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Serve tools over stdio or HTTP
    Serve(serve::ServeArgs),
    /// List the configured servers
    List,
    /// Add a server
    Add(add::AddServerArgs),
    /// Remove a server and its login
    Remove {
        /// Server name
        name: String,
    },
    /// Connect to a server, and show its latency and the token cost of its
    /// tools
    Test {
        /// Server name
        name: String,
    },
    /// Log in to a server in a browser
    Login {
        /// Server name
        name: String,
    },
    /// Accept the current tools of a server after they changed
    Accept {
        /// Server name
        name: String,
        /// Tool to accept, by the server's name for it [default: all]
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
