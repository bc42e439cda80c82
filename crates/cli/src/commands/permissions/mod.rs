//! `hermes permissions`: shows and tests the policy, and manages approvals.

mod check;
mod places;
mod profiles;
mod questions;
mod verify;

use clap::Subcommand;

use crate::app::AppContext;
use crate::args::ProfileOptions;
use crate::command_error::CommandResult;

#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// List the available profiles
    Profiles {
        #[command(flatten)]
        options: ProfileOptions,
    },
    /// Show what a profile allows, asks about and denies
    Show {
        /// Profile name [default: the selected one]
        name: Option<String>,
        #[command(flatten)]
        options: ProfileOptions,
    },
    /// Judge a call without making it; exit code 0 if allowed, 3 if not
    Check(PermissionCheckArgs),
    /// Judge a call and show the findings of every rule
    Explain(PermissionCheckArgs),
    /// Try to break out of the sandbox, and show what was blocked
    Verify {
        #[command(flatten)]
        options: ProfileOptions,
    },
    /// Approve a pending call once; without a token, list the pending calls
    Approve {
        /// Token from the result of the call
        token: Option<String>,
        /// Refuse the call instead
        #[arg(long)]
        refuse: bool,
    },
    /// List the rules saved by answering "always"
    Rules {
        /// Number of the rule to remove
        #[arg(long, value_name = "NUMBER")]
        forget: Option<usize>,
    },
    /// Print the reference of protected places
    #[command(hide = true)]
    Places,
    /// Suggest rules from the audit log
    Suggest {
        /// Start of the period to examine: 2h, 7d, or a date
        #[arg(long, value_name = "WHEN", default_value = "7d")]
        since: String,
        #[command(flatten)]
        options: ProfileOptions,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct PermissionCheckArgs {
    /// Tool name
    #[arg(required_unless_present_any = ["command", "effects"])]
    pub(crate) tool: Option<String>,
    /// Tool arguments, as for `hermes call`
    #[arg(value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<String>,
    /// Shell command to judge
    #[arg(long, value_name = "COMMAND", conflicts_with = "tool", allow_hyphen_values = true)]
    pub(crate) command: Option<String>,
    /// Effect to judge, such as file:write=/etc/hosts; may be repeated
    #[arg(long = "effect", value_name = "SCOPE[=RESOURCE]", conflicts_with = "tool")]
    pub(crate) effects: Vec<String>,
    /// Session whose approvals apply
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Working directory of the call
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
        PermissionsCommand::Places => places::print_reference(app),
        PermissionsCommand::Suggest { since, options } => questions::suggest(app, &since, &options),
    }
}
