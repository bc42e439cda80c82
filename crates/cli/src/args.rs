//! The command line: what can be said, in one place. Help, completions and
//! the reference in docs/ all come from here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::mode::ModeFlags;

/// What `hermes` does when no command is named.
const DEFAULT_COMMAND_HELP: &str = "\
Without a command, hermes starts a conversation and takes the options of `hermes chat`, such as
--model, --resume, and the modes --auto, --ask, --plan and --yolo.";

/// Hands for an AI agent: tools behind one pipeline.
#[derive(Debug, Parser)]
#[command(name = "hermes", version, max_term_width = 100, after_help = DEFAULT_COMMAND_HELP)]
pub(crate) struct CliArgs {
    #[command(flatten)]
    pub(crate) global: GlobalOptions,
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
}

/// What every command understands.
#[derive(Debug, Clone, Args)]
pub(crate) struct GlobalOptions {
    /// Print JSON for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print nothing on standard error but errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Talk with the agent (the same as no command at all)
    Chat(crate::commands::chat::ChatArgs),
    /// Give the agent one task and see it through
    Run(crate::commands::run::RunArgs),
    /// Make one tool call
    Call(CallArgs),
    /// Answer tool calls in any of the known dialects, from a file or standard input
    Exec(ExecArgs),
    /// Look at the tools
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Look at groups of tools, and make your own
    #[command(subcommand)]
    Toolsets(ToolsetsCommand),
    /// Look at the settings, and change them
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Look at what is allowed, check calls against it, answer held-back calls
    #[command(subcommand)]
    Permissions(crate::commands::permissions::PermissionsCommand),
    /// Keep values that tools may use and nobody sees
    #[command(subcommand)]
    Secrets(crate::commands::secrets::SecretsCommand),
    /// Look at the record of every call
    #[command(subcommand)]
    Audit(crate::commands::audit::AuditCommand),
    /// Undo the file changes of the last turn, or of several
    Undo(crate::commands::undo::UndoArgs),
    /// Take the last undo back
    Redo(crate::commands::undo::RedoArgs),
    /// Look at what files were before tools changed them, and bring them back
    #[command(subcommand)]
    Checkpoints(crate::commands::checkpoints::CheckpointsCommand),
    /// Look at conversations that were kept, find what was said, delete them
    #[command(subcommand)]
    Sessions(crate::commands::sessions::SessionsCommand),
    /// Look at the notes that outlast a session, change them, bring earlier versions back
    #[command(subcommand)]
    Memory(crate::commands::memory::MemoryCommand),
    /// Look at the skills: instructions that the agent is given when they are called for
    #[command(subcommand)]
    Skills(crate::commands::skills::SkillsCommand),
    /// Offer tools to other programs by the Model Context Protocol
    #[command(subcommand)]
    Mcp(crate::commands::mcp::McpCommand),
    /// Plan tasks that run by themselves at set times, and run them
    #[command(subcommand)]
    Cron(crate::commands::cron::CronCommand),
    /// Have many conversations, and write them down for training
    #[command(subcommand)]
    Batch(crate::commands::batch::BatchCommand),
    /// Look at processes that an earlier hermes has left running, and end them
    #[command(subcommand)]
    Processes(crate::commands::processes::ProcessesCommand),
    /// List the ports that processes of sessions listen on, and publish one on this machine
    Ports(crate::commands::ports::PortsArgs),
    /// Look at what commands changed in package caches, and keep or discard it
    #[command(subcommand)]
    Sandbox(crate::commands::sandbox::SandboxCommand),
    /// Tell what works here and what is missing
    Doctor(crate::commands::doctor::DoctorArgs),
    /// Serve file tools to another hermes, on standard input and output
    #[command(hide = true)]
    Hands,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Where and for whom calls are made.
#[derive(Debug, Clone, Args)]
pub(crate) struct CallOptions {
    /// Share the working folder, environment and lists with other calls of this session
    #[arg(long, value_name = "ID", env = "HERMES_SESSION")]
    pub(crate) session: Option<String>,
    /// Work in this folder
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Give up on a request after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) timeout: Option<f64>,
    /// Go through every stage but the run, and tell what would happen
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) mode: ModeFlags,
    #[command(flatten)]
    pub(crate) profile: ProfileOptions,
}

/// Which permissions hold.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ProfileOptions {
    /// Use this permission profile
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Read permission profiles from this file instead of HERMES_HOME/hermes_permissions.yaml
    #[arg(long, value_name = "FILE")]
    pub(crate) permissions: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The tool's name
    pub(crate) tool: String,
    /// A JSON object, `-` for one on standard input, or key=value pairs (key=@FILE reads a file,
    /// key:=JSON is literal)
    #[arg(value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<String>,
    #[command(flatten)]
    pub(crate) options: CallOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// A file with one JSON document or JSON lines; `-` or nothing for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Read the calls as this dialect instead of recognising it
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<String>,
    /// Answer only calls to tools of these toolsets
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) toolsets: Vec<String>,
    #[command(flatten)]
    pub(crate) options: CallOptions,
}

/// Which tools are meant.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ToolsetFilter {
    /// Only the tools of these toolsets
    #[arg(
        long = "toolset",
        visible_alias = "toolsets",
        value_name = "NAMES",
        value_delimiter = ','
    )]
    pub(crate) toolsets: Vec<String>,
    /// Without the tools of these toolsets
    #[arg(long = "without", value_name = "NAMES", value_delimiter = ',')]
    pub(crate) without: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools
    List {
        #[command(flatten)]
        choice: ToolsetFilter,
        /// Show how many tokens each definition costs a model
        #[arg(long)]
        cost: bool,
        /// Leave out tools that cannot work here
        #[arg(long)]
        available: bool,
    },
    /// Show one tool: what it does, its parameters, examples
    Show {
        /// Its name or an alias
        name: String,
    },
    /// Find tools by what they do
    Search {
        /// A few words
        #[arg(required = true)]
        query: Vec<String>,
        /// How many to show
        #[arg(long, default_value_t = 10)]
        limit: usize,
    },
    /// Print the definitions for a model's provider
    Export {
        /// The provider's format
        #[arg(long, value_enum, default_value_t = ExportFormat::Openai)]
        format: ExportFormat,
        #[command(flatten)]
        choice: ToolsetFilter,
        /// Tools to export, instead of whole toolsets
        names: Vec<String>,
    },
    /// Tell whether a tool can work here, and why not
    Why {
        /// Its name or an alias
        name: String,
    },
    /// Fit arguments to any JSON Schema, and show what was changed
    Coerce {
        /// A file with a JSON Schema
        #[arg(long, value_name = "FILE")]
        schema: PathBuf,
        /// The arguments, as JSON text; `-` for standard input
        arguments: String,
    },
    /// Check tools against the rules for tools
    Check {
        /// Their names; all if none are given
        names: Vec<String>,
    },
    /// Write the source file of a new tool
    New {
        /// The tool's name
        name: String,
        /// The folder to write it to
        #[arg(long, value_name = "DIR", default_value = ".")]
        out: PathBuf,
        /// The toolset that owns it
        #[arg(long, value_name = "NAME", default_value = "system")]
        toolset: String,
    },
    /// Print the reference of all tools as Markdown
    #[command(hide = true)]
    Reference,
    /// Print the table of token counts that is compiled in
    #[command(hide = true)]
    Tokens,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// OpenAI chat completions (`type: function`)
    Openai,
    /// OpenAI with `strict: true`
    OpenaiStrict,
    /// OpenAI Responses
    Responses,
    /// Anthropic messages (`input_schema`)
    Anthropic,
    /// Gemini (`functionDeclarations`)
    Gemini,
    /// Plain JSON Schema, draft 7
    #[value(name = "draft-07", alias = "plain")]
    Draft07,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsetsCommand {
    /// List the toolsets
    List,
    /// Show what a toolset holds
    Show {
        /// Its name
        name: String,
    },
    /// Make a toolset of your own
    Create {
        /// Its name
        name: String,
        /// What it is for
        #[arg(long, default_value = "")]
        description: String,
        /// Tools in it
        #[arg(long, value_delimiter = ',', value_name = "NAMES")]
        tools: Vec<String>,
        /// Toolsets in it
        #[arg(long, value_delimiter = ',', value_name = "NAMES")]
        includes: Vec<String>,
        /// Replace one of the same name
        #[arg(long)]
        replace: bool,
    },
    /// Delete a toolset of your own
    Delete {
        /// Its name
        name: String,
    },
    /// Draw toolsets at random by a distribution
    Sample {
        /// A distribution's name, or your own such as `web=50,file=20`; none lists them
        distribution: Option<String>,
        /// The same seed draws the same toolsets
        #[arg(long)]
        seed: Option<u64>,
        /// How many times to draw
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        count: u32,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print a setting; all of them if none is named
    Get {
        /// The setting, such as `tools.tool_search.enabled`
        key: Option<String>,
    },
    /// Change a setting in config.yaml; comments and unknown keys stay
    Set {
        /// The setting
        key: String,
        /// Its value, as in YAML
        #[arg(allow_negative_numbers = true)]
        value: String,
    },
    /// Take a setting out of config.yaml
    Unset {
        /// The setting
        key: String,
    },
    /// Tell what a setting does, its default, and where its value comes from
    Explain {
        /// The setting; all of them if none is named
        key: Option<String>,
    },
    /// Print where the settings are
    Path,
    /// Print all settings as Markdown
    #[command(hide = true)]
    Reference,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(n) if n > 0.0 && n <= 86_400.0 => Ok(n),
        Ok(_) => Err("must be more than 0 and at most 86400".into()),
        Err(_) => Err("is not a number".into()),
    }
}
