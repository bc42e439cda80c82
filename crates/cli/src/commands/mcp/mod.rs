//! `hermes mcp`: our tools for other programs, and theirs for us, by the Model
//! Context Protocol.

mod serve;

use clap::Subcommand;

use crate::app::App;
use crate::failure::Outcome;

#[derive(Debug, Subcommand)]
pub(crate) enum Mcp {
    /// Offer tools to another program, on standard input and output or over HTTP
    Serve(serve::Serve),
}

pub(crate) fn run(app: &App, command: Mcp) -> Outcome {
    match command {
        Mcp::Serve(args) => serve::run(app, &args),
    }
}
