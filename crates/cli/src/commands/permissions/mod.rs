//! `hermes permissions`: what is allowed here, why, and what was answered.

mod check;
mod profiles;
mod questions;
mod verify;

use clap::Subcommand;

use crate::app::AppContext;
use crate::args::ProfileOptions;
use crate::command_error::CommandResult;

#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// List the profiles that can be chosen
    Profiles {
        #[command(flatten)]
        options: ProfileOptions,
    },
    /// Show what a profile allows, asks about and denies
    Show {
        /// Its name; the chosen one if none is given
        name: Option<String>,
        #[command(flatten)]
        options: ProfileOptions,
    },
    /// Judge a call without making it; exit code 0 if it is allowed, 3 if not
    Check(PermissionCheckArgs),
    /// Like check, with what every rule says of every part
    Explain(PermissionCheckArgs),
    /// Try to break out of the sandbox, and print what was really blocked
    Verify {
        #[command(flatten)]
        options: ProfileOptions,
    },
    /// Approve a call that was held back, once; without a token, list those that wait
    Approve {
        /// The token that the call was answered with
        token: Option<String>,
        /// Take the question away instead
        #[arg(long)]
        refuse: bool,
    },
    /// List the rules that were saved by answering "always"
    Rules {
        /// Forget the rule of that number
        #[arg(long, value_name = "NUMBER")]
        forget: Option<usize>,
    },
    /// Propose rules from what was recorded
    Suggest {
        /// Look at calls since then: 2h, 7d, or a date
        #[arg(long, value_name = "WHEN", default_value = "7d")]
        since: String,
        #[command(flatten)]
        options: ProfileOptions,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct PermissionCheckArgs {
    /// The tool's name
    #[arg(required_unless_present_any = ["command", "effects"])]
    pub(crate) tool: Option<String>,
    /// Its arguments, as for `hermes call`
    #[arg(value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<String>,
    /// Judge a shell command
    #[arg(long, value_name = "COMMAND", conflicts_with = "tool", allow_hyphen_values = true)]
    pub(crate) command: Option<String>,
    /// Judge an effect, such as file:write=/etc/hosts; may be repeated
    #[arg(long = "effect", value_name = "SCOPE[=RESOURCE]", conflicts_with = "tool")]
    pub(crate) effects: Vec<String>,
    /// Judge it as a call of this session, with what was answered there
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Judge it as if in this folder
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) cwd: Option<std::path::PathBuf>,
    #[command(flatten)]
    pub(crate) options: ProfileOptions,
}

pub(crate) fn run(app: &AppContext, command: PermissionsCommand) -> CommandResult {
    match command {
        PermissionsCommand::Profiles { options } => profiles::list(app, &options),
        PermissionsCommand::Show { name, options } => profiles::show(app, name, options),
        PermissionsCommand::Check(args) => check::run(app, &args, false),
        PermissionsCommand::Explain(args) => check::run(app, &args, true),
        PermissionsCommand::Verify { options } => verify::run(app, &options),
        PermissionsCommand::Approve { token, refuse } => questions::approve(app, token, refuse),
        PermissionsCommand::Rules { forget } => questions::list_rules(app, forget),
        PermissionsCommand::Suggest { since, options } => questions::suggest(app, &since, &options),
    }
}
