//! Definition of the command line. Help, completions and the reference in docs/
//! are generated from it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::mode::ModeFlags;

/// Describes what `hermes` does without a command.
const DEFAULT_COMMAND_HELP: &str = "\
Without a command, hermes starts a conversation and takes the options of `hermes chat`, such as
--model, --resume, and the modes --auto, --ask, --plan and --yolo.";

/// Tools for AI agents, behind one pipeline.
#[derive(Debug, Parser)]
#[command(name = "hermes", version, max_term_width = 100, after_help = DEFAULT_COMMAND_HELP)]
pub(crate) struct CliArgs {
    #[command(flatten)]
    pub(crate) global: GlobalOptions,
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct GlobalOptions {
    /// Print machine-readable JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print only errors on standard error
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Chat with the agent (default command)
    Chat(crate::commands::chat::ChatArgs),
    /// Run the agent on a single task
    Run(crate::commands::run::RunArgs),
    /// Call a tool
    Call(CallArgs),
    /// Answer tool calls in any known dialect, read from a file or standard
    /// input
    Exec(ExecArgs),
    /// List, inspect and check tools
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// List toolsets and create custom ones
    #[command(subcommand)]
    Toolsets(ToolsetsCommand),
    /// Show and change settings
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Show permissions, check calls against them, and answer pending approvals
    #[command(subcommand)]
    Permissions(crate::commands::permissions::PermissionsCommand),
    /// Manage secrets that tools can use without revealing them
    #[command(subcommand)]
    Secrets(crate::commands::secrets::SecretsCommand),
    /// Show and verify the audit log
    #[command(subcommand)]
    Audit(crate::commands::audit::AuditCommand),
    /// Undo the file changes of one or more turns
    Undo(crate::commands::undo::UndoArgs),
    /// Redo the changes that were last undone
    Redo(crate::commands::undo::RedoArgs),
    /// List checkpoints and restore files from them
    #[command(subcommand)]
    Checkpoints(crate::commands::checkpoints::CheckpointsCommand),
    /// List, search and delete saved sessions
    #[command(subcommand)]
    Sessions(crate::commands::sessions::SessionsCommand),
    /// Show and edit notes that persist across sessions, or restore earlier
    /// versions
    #[command(subcommand)]
    Memory(crate::commands::memory::MemoryCommand),
    /// List and show skills: instructions that the agent loads on demand
    #[command(subcommand)]
    Skills(crate::commands::skills::SkillsCommand),
    /// Serve tools over the Model Context Protocol, and manage MCP servers
    #[command(subcommand)]
    Mcp(crate::commands::mcp::McpCommand),
    /// Schedule tasks and run them
    #[command(subcommand)]
    Cron(crate::commands::cron::CronCommand),
    /// Run many prompts and record the conversations for training
    #[command(subcommand)]
    Batch(crate::commands::batch::BatchCommand),
    /// List and end processes left running by an earlier hermes
    #[command(subcommand)]
    Processes(crate::commands::processes::ProcessesCommand),
    /// List the ports that session processes listen on, or publish one on this
    /// machine
    Ports(crate::commands::ports::PortsArgs),
    /// Review changes to package caches, and apply or discard them
    #[command(subcommand)]
    Sandbox(crate::commands::sandbox::SandboxCommand),
    /// Check what works on this machine and what is missing
    Doctor(crate::commands::doctor::DoctorArgs),
    /// Serve file tools to another hermes over standard input and output
    #[command(hide = true)]
    Hands,
    /// Print a shell completion script
    Completions {
        /// Shell to generate the script for
        shell: clap_complete::Shell,
    },
}

/// Context and limits of tool calls.
#[derive(Debug, Clone, Args)]
pub(crate) struct CallOptions {
    /// ID of the session; its calls share working directory, environment and
    /// lists
    #[arg(long, value_name = "ID", env = "HERMES_SESSION")]
    pub(crate) session: Option<String>,
    /// Working directory
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Time limit of a request in seconds
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) timeout: Option<f64>,
    /// Run every stage except the call itself, and report what would happen
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) mode: ModeFlags,
    #[command(flatten)]
    pub(crate) profile: ProfileOptions,
}

/// Which permissions apply.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ProfileOptions {
    /// Permission profile to use
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// File to read permission profiles from, instead of
    /// HERMES_HOME/hermes_permissions.yaml
    #[arg(long, value_name = "FILE")]
    pub(crate) permissions: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// Name of the tool
    pub(crate) tool: String,
    /// A JSON object, `-` to read one from standard input, or key=value pairs
    /// (key=@FILE reads a file, key:=JSON is literal)
    #[arg(value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<String>,
    #[command(flatten)]
    pub(crate) options: CallOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// File with one JSON document or JSON lines; `-` or omitted for standard
    /// input
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Dialect of the calls, instead of detecting it
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<String>,
    /// Allow only tools from these toolsets
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) toolsets: Vec<String>,
    #[command(flatten)]
    pub(crate) options: CallOptions,
}

/// Selection of tools.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ToolsetFilter {
    /// Include only tools from these toolsets
    #[arg(
        long = "toolset",
        visible_alias = "toolsets",
        value_name = "NAMES",
        value_delimiter = ','
    )]
    pub(crate) toolsets: Vec<String>,
    /// Exclude tools from these toolsets
    #[arg(long = "without", value_name = "NAMES", value_delimiter = ',')]
    pub(crate) without: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools
    List {
        #[command(flatten)]
        choice: ToolsetFilter,
        /// Show the token cost of each definition
        #[arg(long)]
        cost: bool,
        /// Hide tools that are unavailable here
        #[arg(long)]
        available: bool,
    },
    /// Show what a tool does, its parameters and examples
    Show {
        /// Name or alias of the tool
        name: String,
    },
    /// Search tools by what they do
    Search {
        /// Search terms
        #[arg(required = true)]
        query: Vec<String>,
        /// Maximum number of tools to show
        #[arg(long, default_value_t = 10)]
        limit: usize,
    },
    /// Print tool definitions in the format of a model provider
    Export {
        /// Format of the provider
        #[arg(long, value_enum, default_value_t = ExportFormat::Openai)]
        format: ExportFormat,
        #[command(flatten)]
        choice: ToolsetFilter,
        /// Tools to export, instead of whole toolsets
        names: Vec<String>,
    },
    /// Show whether a tool is available here, and why not
    Why {
        /// Name or alias of the tool
        name: String,
    },
    /// Coerce arguments to a JSON Schema, and show what changed
    Coerce {
        /// File with the JSON Schema
        #[arg(long, value_name = "FILE")]
        schema: PathBuf,
        /// Arguments as JSON text; `-` for standard input
        arguments: String,
    },
    /// Check tools against the tool guidelines
    Check {
        /// Names of the tools; defaults to all
        names: Vec<String>,
    },
    /// Create the source file of a new tool
    New {
        /// Name of the tool
        name: String,
        /// Output directory
        #[arg(long, value_name = "DIR", default_value = ".")]
        out: PathBuf,
        /// Toolset that the tool belongs to
        #[arg(long, value_name = "NAME", default_value = "system")]
        toolset: String,
    },
    /// Print the reference of all tools as Markdown
    #[command(hide = true)]
    Reference,
    /// Print the compiled-in table of token counts
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
    /// Show the contents of a toolset
    Show {
        /// Name of the toolset
        name: String,
    },
    /// Create a custom toolset
    Create {
        /// Name of the toolset
        name: String,
        /// Purpose of the toolset
        #[arg(long, default_value = "")]
        description: String,
        /// Tools to include
        #[arg(long, value_delimiter = ',', value_name = "NAMES")]
        tools: Vec<String>,
        /// Toolsets to include
        #[arg(long, value_delimiter = ',', value_name = "NAMES")]
        includes: Vec<String>,
        /// Replace an existing toolset of the same name
        #[arg(long)]
        replace: bool,
    },
    /// Delete a custom toolset
    Delete {
        /// Name of the toolset
        name: String,
    },
    /// Draw random toolsets from a distribution
    Sample {
        /// Name of a distribution, or a custom one such as `web=50,file=20`;
        /// lists all if omitted
        distribution: Option<String>,
        /// Random seed; the same seed draws the same toolsets
        #[arg(long)]
        seed: Option<u64>,
        /// Number of draws
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        count: u32,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print a setting, or all settings
    Get {
        /// Setting, such as `tools.tool_search.enabled`
        key: Option<String>,
    },
    /// Change a setting in config.yaml, keeping comments and unknown keys
    Set {
        /// Name of the setting
        key: String,
        /// Value, in YAML syntax
        #[arg(allow_negative_numbers = true)]
        value: String,
        /// Write a name that is not a known setting
        #[arg(long)]
        force: bool,
    },
    /// Let cli-config.yaml of the current directory choose where commands run
    Trust,
    /// Remove a setting from config.yaml
    Unset {
        /// Name of the setting
        key: String,
    },
    /// Show what a setting does, its default, and where its value comes from
    Explain {
        /// Name of the setting; defaults to all
        key: Option<String>,
    },
    /// Print the path of the settings file
    Path,
    /// Print all settings as Markdown
    #[command(hide = true)]
    Reference,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(n) if n > 0.0 && n <= 86_400.0 => Ok(n),
        Ok(_) => Err("must be greater than 0 and at most 86400".into()),
        Err(_) => Err("not a number".into()),
    }
}
