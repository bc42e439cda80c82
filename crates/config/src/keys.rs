//! The table of known settings: the only definition of their names, types,
//! defaults and descriptions.

use std::fmt;
use std::marker::PhantomData;

use serde_json::{Number, Value};

use crate::document::parse_value;
use crate::settings::ToolSearchMode;
use crate::vars::{
    EnvVar, HERMES_CRON_MAX_PARALLEL, HERMES_INFERENCE_PROVIDER, HERMES_MODEL,
    HERMES_PERMISSION_PROFILE, TERMINAL_CONTAINER_CPU, TERMINAL_CONTAINER_DISK,
    TERMINAL_CONTAINER_MEMORY, TERMINAL_CONTAINER_PERSISTENT, TERMINAL_CWD, TERMINAL_DOCKER_ENV,
    TERMINAL_DOCKER_EXTRA_ARGS, TERMINAL_DOCKER_FORWARD_ENV, TERMINAL_DOCKER_GLOBAL_ARGS,
    TERMINAL_DOCKER_IMAGE, TERMINAL_DOCKER_MOUNT_CWD_TO_WORKSPACE, TERMINAL_DOCKER_NETWORK,
    TERMINAL_DOCKER_PROGRAM, TERMINAL_DOCKER_RUN_AS_HOST_USER, TERMINAL_DOCKER_VOLUMES,
    TERMINAL_ENV, TERMINAL_INACTIVITY_TIMEOUT, TERMINAL_MAX_FOREGROUND_TIMEOUT,
    TERMINAL_OUTPUT_DAYS, TERMINAL_OUTPUT_MEGABYTES, TERMINAL_SINGULARITY_BINDS,
    TERMINAL_SINGULARITY_IMAGE, TERMINAL_SINGULARITY_PROGRAM, TERMINAL_SSH_CONFIG,
    TERMINAL_SSH_HOST, TERMINAL_SSH_HOST_KEY, TERMINAL_SSH_KEY, TERMINAL_SSH_PORT,
    TERMINAL_SSH_USER, TERMINAL_SYNC, TERMINAL_SYNC_BACK, TERMINAL_TIMEOUT,
};

/// A known setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SettingKey {
    /// The dotted name.
    pub name: &'static str,
    /// The values it accepts.
    pub kind: SettingKind,
    /// The value if it is not set.
    pub default: DefaultValue,
    /// Environment variables that override the file; the first one set applies.
    pub variables: &'static [EnvVar],
    /// Description, in a sentence.
    pub about: &'static str,
}

/// The values that a setting accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingKind {
    /// `true` or `false`.
    Flag,
    /// An integer between two inclusive bounds.
    Count {
        /// The lower bound.
        min: u64,
        /// The upper bound.
        max: u64,
    },
    /// A number from 0 to 100.
    Percent,
    /// A number, 0 or greater.
    Number,
    /// `auto`, `on` or `off`; `true` and `false` mean `on` and `off`.
    Switch,
    /// One of these words, the usual one first. If `off` is among them, `true`
    /// means the first and `false` means `off`.
    Choice(&'static [&'static str]),
    /// A string.
    Text,
    /// A list of strings.
    TextList,
    /// A list of port numbers.
    PortList,
    /// Environment variables: a list of NAME=VALUE, or a mapping.
    VariableList,
    /// A model: a name, or a name and a provider.
    Model,
    /// A list of models.
    Models,
    /// A mapping with user-defined names.
    Map,
}

/// A default value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DefaultValue {
    /// None.
    Unset,
    /// A flag.
    Flag(bool),
    /// An integer.
    Count(u64),
    /// A number.
    Percent(f64),
    /// A string.
    Text(&'static str),
    /// Texts.
    TextList(&'static [&'static str]),
}

const POSITIVE_COUNT: SettingKind = SettingKind::Count { min: 1, max: u64::MAX };
const ANY_COUNT: SettingKind = SettingKind::Count { min: 0, max: u64::MAX };
const BACKEND_CHOICE: SettingKind = SettingKind::Choice(&["local", "docker", "ssh", "singularity"]);
const UP_TO_A_DAY: SettingKind = SettingKind::Count { min: 1, max: 86_400 };
const UP_TO_50: SettingKind = SettingKind::Count { min: 1, max: 50 };

/// A key and the Rust type that its value is read as.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TypedKey<T> {
    pub(crate) key: SettingKey,
    of: PhantomData<T>,
}

macro_rules! keys {
    ($($id:ident: $ty:ty = $name:literal, $kind:expr, $default:expr $(, or $var:expr)?; $about:literal)+) => {
        $(
            pub(crate) const $id: TypedKey<$ty> = TypedKey {
                key: SettingKey {
                    name: $name,
                    kind: $kind,
                    default: $default,
                    variables: &[$($var)?],
                    about: $about,
                },
                of: PhantomData,
            };
        )+
        /// Every known setting, in documentation order.
        pub const KEYS: &[SettingKey] = &[$($id.key),+];
    };
}

keys! {
    TOOLSETS: Vec<String> = "toolsets", SettingKind::TextList, DefaultValue::TextList(&["hermes-cli"]);
        "Toolsets to enable when the command line names none."
    DISABLED_TOOLSETS: Vec<String> = "agent.disabled_toolsets", SettingKind::TextList, DefaultValue::TextList(&[]);
        "Toolsets that are never enabled, even if requested."
    MAX_TURNS: u64 = "agent.max_turns", SettingKind::Count { min: 1, max: 100_000 }, DefaultValue::Count(90);
        "Maximum number of model requests per task, unless the command specifies one."
    MAX_BYTES: u64 = "tool_output.max_bytes", POSITIVE_COUNT, DefaultValue::Count(50_000);
        "Maximum bytes of command output in a result; longer output is spilled to a file."
    MAX_LINES: u64 = "tool_output.max_lines", POSITIVE_COUNT, DefaultValue::Count(2_000);
        "Maximum number of lines that one read returns."
    MAX_LINE_LENGTH: u64 = "tool_output.max_line_length", POSITIVE_COUNT, DefaultValue::Count(2_000);
        "Maximum characters of a line; longer lines are truncated."
    FILE_READ_MAX_CHARS: u64 = "file_read_max_chars", POSITIVE_COUNT, DefaultValue::Count(100_000);
        "Maximum characters that one read of a file returns."
    SEARCH_ENABLED: ToolSearchMode = "tools.tool_search.enabled", SettingKind::Switch, DefaultValue::Text("auto");
        "Whether the model finds tools by search instead of seeing all definitions; `auto` \
         decides by their total size."
    SEARCH_THRESHOLD: f64 = "tools.tool_search.threshold_pct", SettingKind::Percent, DefaultValue::Percent(10.0);
        "For `auto`: share of the context window, in percent, above which tool definitions are \
         deferred."
    SEARCH_DEFAULT_LIMIT: u64 = "tools.tool_search.search_default_limit", UP_TO_50, DefaultValue::Count(5);
        "Number of tools that a search returns if the call sets no limit."
    SEARCH_MAX_LIMIT: u64 = "tools.tool_search.max_search_limit", UP_TO_50, DefaultValue::Count(20);
        "Maximum number of tools that a search can request."
    LOOP_WARNINGS: bool = "tool_loop_guardrails.warnings_enabled", SettingKind::Flag, DefaultValue::Flag(true);
        "Whether to warn the model when it repeats calls without progress."
    LOOP_HARD_STOP: bool = "tool_loop_guardrails.hard_stop_enabled", SettingKind::Flag, DefaultValue::Flag(false);
        "Whether to refuse calls when the model keeps repeating them without progress."
    WARN_EXACT: u64 = "tool_loop_guardrails.warn_after.exact_failure", POSITIVE_COUNT, DefaultValue::Count(2);
        "Number of failures of one tool with the same arguments before a warning."
    WARN_SAME: u64 = "tool_loop_guardrails.warn_after.same_tool_failure", POSITIVE_COUNT, DefaultValue::Count(3);
        "Number of failures of one tool with any arguments before a warning."
    WARN_IDEMPOTENT: u64 = "tool_loop_guardrails.warn_after.idempotent_no_progress", POSITIVE_COUNT, DefaultValue::Count(2);
        "Number of identical results of one read-only call before a warning."
    STOP_EXACT: u64 = "tool_loop_guardrails.hard_stop_after.exact_failure", POSITIVE_COUNT, DefaultValue::Count(5);
        "Number of failures of one tool with the same arguments before calls are refused."
    STOP_SAME: u64 = "tool_loop_guardrails.hard_stop_after.same_tool_failure", POSITIVE_COUNT, DefaultValue::Count(8);
        "Number of failures of one tool with any arguments before calls are refused."
    STOP_IDEMPOTENT: u64 = "tool_loop_guardrails.hard_stop_after.idempotent_no_progress", POSITIVE_COUNT, DefaultValue::Count(5);
        "Number of identical results of one read-only call before calls are refused."
    MODEL_DEFAULT: Option<String> = "model.default", SettingKind::Text, DefaultValue::Unset, or HERMES_MODEL;
        "The model, by the name that its server uses. If unset, the default of the provider or \
         of the local server."
    MODEL_PROVIDER: Option<String> = "model.provider", SettingKind::Text, DefaultValue::Unset, or HERMES_INFERENCE_PROVIDER;
        "The model provider: openrouter, anthropic, openai, gemini, ollama, … or a name from \
         `providers`. If unset or `auto`, a provider for which an API key is set."
    MODEL_BASE_URL: Option<String> = "model.base_url", SettingKind::Text, DefaultValue::Unset;
        "Base URL of the model server, such as http://127.0.0.1:8080/v1. If unset, the \
         provider's URL."
    MODEL_API_MODE: Option<String> = "model.api_mode", SettingKind::Choice(&["chat_completions", "codex_responses", "responses", "anthropic_messages", "gemini"]), DefaultValue::Unset;
        "API of the model server: chat_completions, responses, anthropic_messages or gemini. \
         If unset, derived from the URL."
    MODEL_MAX_TOKENS: Option<u64> = "model.max_tokens", POSITIVE_COUNT, DefaultValue::Unset;
        "Maximum tokens per reply. If unset, the server's limit."
    MODEL_PATIENCE: Option<u64> = "model.patience", POSITIVE_COUNT, DefaultValue::Unset;
        "Seconds without data from the model before the request is retried. If unset, 600 \
         before the reply starts (1800 for a local server) and 180 within it."
    MODEL_TOOL_CALLS: String = "model.tool_calls", SettingKind::Choice(&["auto", "native", "text"]), DefaultValue::Text("auto");
        "How the model calls tools: `native` (the API's tool calls), `text` (calls written in \
         the reply), or `auto` (native, with text as the fallback if the server does not \
         support tools)."
    CONTEXT_LENGTH: Option<u64> = "model.context_length", POSITIVE_COUNT, DefaultValue::Unset;
        "Context window of the model in tokens; budgets scale with it. If unset, the server is \
         queried."
    PROFILE: Option<String> = "permissions.profile", SettingKind::Text, DefaultValue::Unset, or HERMES_PERMISSION_PROFILE;
        "The permission profile. If unset, `default`."
    PERMISSION_MODE: String = "permissions.mode", SettingKind::Choice(&["enforce", "audit"]), DefaultValue::Text("enforce");
        "`enforce`, or `audit` to refuse only hard blocks and record what would have been \
         refused."
    APPROVAL_MODE: String = "approvals.mode", SettingKind::Choice(&["manual", "smart", "off"]), DefaultValue::Text("manual");
        "Who answers approval requests: `manual` (the user), `smart` (a model first, then the \
         user) or `off` (approve everything)."
    APPROVAL_DENY: Vec<String> = "approvals.deny", SettingKind::TextList, DefaultValue::TextList(&[]);
        "Commands that are always refused, by program and subcommand, such as `git push`. \
         Nothing overrides this list."
    APPROVAL_TIMEOUT: u64 = "approvals.timeout", SettingKind::Count { min: 1, max: 86_400 }, DefaultValue::Count(60);
        "Seconds to wait for an answer to an approval request; no answer means no."
    SANDBOX_MISSING: Option<String> = "sandbox.missing", SettingKind::Choice(&["refuse", "ask", "reduced"]), DefaultValue::Unset;
        "What to do with commands if the system does not support the full sandbox: `refuse` \
         them, `ask`, or run them in a `reduced` sandbox with the available mechanisms. A \
         profile overrides it. If unset, `refuse`."
    SANDBOX_NETWORK: Option<String> = "sandbox.network", SettingKind::Choice(&["isolated", "host", "off"]), DefaultValue::Unset;
        "How commands reach the network: `isolated` (each host is checked), `host` (the host's \
         network, unchecked) or `off`. A profile overrides it. If unset, `isolated`."
    SANDBOX_HOST_PORTS: Option<Vec<u16>> = "sandbox.host_ports", SettingKind::PortList, DefaultValue::Unset;
        "Loopback ports of this machine that commands can use, such as 5432. A profile \
         overrides it. If unset, none."
    CHECKPOINTS_ENABLED: bool = "checkpoints.enabled", SettingKind::Flag, DefaultValue::Flag(true);
        "Whether to save files before a tool changes them, for `hermes undo`."
    CHECKPOINTS_MAX_SNAPSHOTS: u64 = "checkpoints.max_snapshots", POSITIVE_COUNT, DefaultValue::Count(20);
        "Maximum number of checkpoints per workspace; the oldest are removed."
    CHECKPOINTS_MAX_TOTAL: u64 = "checkpoints.max_total_size_mb", ANY_COUNT, DefaultValue::Count(500);
        "Maximum size of all checkpoints in megabytes; the oldest are removed. 0 means no limit."
    CHECKPOINTS_MAX_FILE: u64 = "checkpoints.max_file_size_mb", ANY_COUNT, DefaultValue::Count(10);
        "Maximum size of a saved file in megabytes; larger files cannot be restored. 0 means \
         no limit."
    CHECKPOINTS_RETENTION: u64 = "checkpoints.retention_days", ANY_COUNT, DefaultValue::Count(7);
        "Days before a checkpoint is removed. 0 means no limit."
    SCRIPT_MODE: String = "code_execution.mode", SettingKind::Choice(&["project", "strict"]), DefaultValue::Text("project");
        "How execute_code runs a script: `project` (in the session's directory, with its \
         virtualenv) or `strict` (in a temporary directory, with a clean interpreter)."
    SCRIPT_TIMEOUT: u64 = "code_execution.timeout", POSITIVE_COUNT, DefaultValue::Count(300);
        "Timeout of an execute_code script in seconds."
    SCRIPT_CALLS: u64 = "code_execution.max_tool_calls", ANY_COUNT, DefaultValue::Count(50);
        "Maximum number of tool calls per script."
    SCRIPT_STDOUT: u64 = "code_execution.max_stdout_bytes", POSITIVE_COUNT, DefaultValue::Count(50_000);
        "Maximum bytes of a script's stdout in the result; the middle of longer output is \
         omitted."
    SCRIPT_STDERR: u64 = "code_execution.max_stderr_bytes", POSITIVE_COUNT, DefaultValue::Count(10_000);
        "Maximum bytes of a script's stderr in the result; only the end of longer output is kept."
    SCRIPT_TOOLS: Vec<String> = "code_execution.tools", SettingKind::TextList, DefaultValue::TextList(&[]);
        "Additional tools that a script can call, besides those for files, search, the \
         terminal and the web."
    TERMINAL_BACKEND: Option<String> = "terminal.backend", BACKEND_CHOICE, DefaultValue::Unset, or TERMINAL_ENV;
        "Where commands run and files are: `local`, `docker`, `ssh` or `singularity`. If \
         unset, `local`. An unavailable backend is an error; there is no fallback."
    TERMINAL_ENV_TYPE: Option<String> = "terminal.env_type", BACKEND_CHOICE, DefaultValue::Unset;
        "Older name of terminal.backend, used if that is not set."
    COMMAND_TIMEOUT: u64 = "terminal.timeout", UP_TO_A_DAY, DefaultValue::Count(180), or TERMINAL_TIMEOUT;
        "Default timeout of a command in seconds, after which it is terminated."
    COMMAND_LONGEST: u64 = "terminal.max_foreground_timeout", UP_TO_A_DAY, DefaultValue::Count(600), or TERMINAL_MAX_FOREGROUND_TIMEOUT;
        "Maximum seconds that a call can wait for a command; background commands have no limit."
    COMMAND_SILENCE: u64 = "terminal.inactivity_timeout", SettingKind::Count { min: 0, max: 86_400 }, DefaultValue::Count(0), or TERMINAL_INACTIVITY_TIMEOUT;
        "Seconds without output after which a command is terminated. 0 means never."
    OUTPUT_DAYS: u64 = "terminal.output_days", SettingKind::Count { min: 0, max: 36_500 }, DefaultValue::Count(7), or TERMINAL_OUTPUT_DAYS;
        "Days to keep spilled output, repl images and files of detached processes. 0 means \
         forever."
    OUTPUT_SIZE: u64 = "terminal.output_megabytes", ANY_COUNT, DefaultValue::Count(4096), or TERMINAL_OUTPUT_MEGABYTES;
        "Maximum megabytes of spilled output and images; the oldest are removed. 0 means no \
         limit."
    TERMINAL_FOLDER: Option<String> = "terminal.cwd", SettingKind::Text, DefaultValue::Unset, or TERMINAL_CWD;
        "Initial working directory of a session on a backend other than `local`. If unset, the \
         backend's default."
    CONTAINER_CPU: f64 = "terminal.container_cpu", SettingKind::Percent, DefaultValue::Percent(1.0), or TERMINAL_CONTAINER_CPU;
        "Number of CPUs that a container can use. 0 means no limit."
    CONTAINER_MEMORY: u64 = "terminal.container_memory", ANY_COUNT, DefaultValue::Count(5120), or TERMINAL_CONTAINER_MEMORY;
        "Megabytes of memory that a container can use. 0 means no limit."
    CONTAINER_DISK: u64 = "terminal.container_disk", ANY_COUNT, DefaultValue::Count(51_200), or TERMINAL_CONTAINER_DISK;
        "Megabytes of disk that a container can use, if the container engine supports it. 0 \
         means no limit."
    CONTAINER_PERSISTENT: bool = "terminal.container_persistent", SettingKind::Flag, DefaultValue::Flag(true), or TERMINAL_CONTAINER_PERSISTENT;
        "Whether a container's home and workspace persist between sessions."
    DOCKER_IMAGE: String = "terminal.docker_image", SettingKind::Text, DefaultValue::Text("nikolaik/python-nodejs:python3.11-nodejs20"), or TERMINAL_DOCKER_IMAGE;
        "The container image."
    DOCKER_PROGRAM: Option<String> = "terminal.docker_program", SettingKind::Text, DefaultValue::Unset, or TERMINAL_DOCKER_PROGRAM;
        "The container program. If unset, `docker`, or `podman` if only that is installed."
    DOCKER_VOLUMES: Vec<String> = "terminal.docker_volumes", SettingKind::TextList, DefaultValue::TextList(&[]), or TERMINAL_DOCKER_VOLUMES;
        "Paths of this machine to mount in the container, as HOST:CONTAINER or \
         HOST:CONTAINER:ro. No others are mounted."
    DOCKER_MOUNT_CWD: bool = "terminal.docker_mount_cwd_to_workspace", SettingKind::Flag, DefaultValue::Flag(false), or TERMINAL_DOCKER_MOUNT_CWD_TO_WORKSPACE;
        "Whether to mount the directory in which hermes was started as the container's \
         /workspace."
    DOCKER_ENV: Vec<String> = "terminal.docker_env", SettingKind::VariableList, DefaultValue::TextList(&[]), or TERMINAL_DOCKER_ENV;
        "Environment variables of the container, as NAME=VALUE or as a mapping."
    DOCKER_FORWARD_ENV: Vec<String> = "terminal.docker_forward_env", SettingKind::TextList, DefaultValue::TextList(&[]), or TERMINAL_DOCKER_FORWARD_ENV;
        "Names of environment variables to pass from hermes to the container."
    DOCKER_NETWORK: bool = "terminal.docker_network", SettingKind::Flag, DefaultValue::Flag(true), or TERMINAL_DOCKER_NETWORK;
        "Whether a container has network access."
    DOCKER_HOST_USER: bool = "terminal.docker_run_as_host_user", SettingKind::Flag, DefaultValue::Flag(false), or TERMINAL_DOCKER_RUN_AS_HOST_USER;
        "Whether commands in a container run with the user and group id of hermes."
    DOCKER_EXTRA_ARGS: Vec<String> = "terminal.docker_extra_args", SettingKind::TextList, DefaultValue::TextList(&[]), or TERMINAL_DOCKER_EXTRA_ARGS;
        "Additional arguments for `docker run`."
    DOCKER_GLOBAL_ARGS: Vec<String> = "terminal.docker_global_args", SettingKind::TextList, DefaultValue::TextList(&[]), or TERMINAL_DOCKER_GLOBAL_ARGS;
        "Arguments before every docker or podman subcommand, such as `--root DIR`."
    SSH_HOST: Option<String> = "terminal.ssh_host", SettingKind::Text, DefaultValue::Unset, or TERMINAL_SSH_HOST;
        "The host on which commands run: a name, an address or an alias of the ssh configuration."
    SSH_USER: Option<String> = "terminal.ssh_user", SettingKind::Text, DefaultValue::Unset, or TERMINAL_SSH_USER;
        "The remote user. If unset, ssh decides."
    SSH_PORT: Option<u64> = "terminal.ssh_port", SettingKind::Count { min: 1, max: 65_535 }, DefaultValue::Unset, or TERMINAL_SSH_PORT;
        "The remote port. If unset, ssh decides."
    SSH_KEY: Option<String> = "terminal.ssh_key", SettingKind::Text, DefaultValue::Unset, or TERMINAL_SSH_KEY;
        "Path of the private key. If unset, ssh uses its agent and its default keys."
    SSH_HOST_KEY: String = "terminal.ssh_host_key", SettingKind::Choice(&["accept-new", "strict", "off"]), DefaultValue::Text("accept-new"), or TERMINAL_SSH_HOST_KEY;
        "Which host keys to accept: `accept-new` (known and new hosts), `strict` (known hosts \
         only) or `off` (any). A changed key is refused unless `off`."
    SSH_CONFIG: Option<String> = "terminal.ssh_config", SettingKind::Text, DefaultValue::Unset, or TERMINAL_SSH_CONFIG;
        "An ssh configuration file to use instead of the user's."
    SYNC: Vec<String> = "terminal.sync", SettingKind::TextList, DefaultValue::TextList(&[]), or TERMINAL_SYNC;
        "Files to copy to the remote host before commands run and when they change, as \
         LOCAL:REMOTE. No others are copied."
    SYNC_BACK: Vec<String> = "terminal.sync_back", SettingKind::TextList, DefaultValue::TextList(&[]), or TERMINAL_SYNC_BACK;
        "Files to copy back from the remote host when the session ends, as REMOTE:LOCAL."
    SINGULARITY_IMAGE: Option<String> = "terminal.singularity_image", SettingKind::Text, DefaultValue::Unset, or TERMINAL_SINGULARITY_IMAGE;
        "The Singularity or Apptainer image: a .sif file, a directory, or docker://NAME."
    SINGULARITY_BINDS: Vec<String> = "terminal.singularity_binds", SettingKind::TextList, DefaultValue::TextList(&[]), or TERMINAL_SINGULARITY_BINDS;
        "Paths of this machine to bind in the container, as HOST:CONTAINER or \
         HOST:CONTAINER:ro. No others are bound."
    SINGULARITY_PROGRAM: Option<String> = "terminal.singularity_program", SettingKind::Text, DefaultValue::Unset, or TERMINAL_SINGULARITY_PROGRAM;
        "The Singularity program. If unset, `apptainer`, or `singularity` if only that is \
         installed."
    MEMORY_ENABLED: bool = "memory.memory_enabled", SettingKind::Flag, DefaultValue::Flag(true);
        "Whether to keep notes about the work and show them to the model."
    USER_ENABLED: bool = "memory.user_profile_enabled", SettingKind::Flag, DefaultValue::Flag(true);
        "Whether to keep notes about the user and show them to the model."
    MEMORY_LIMIT: u64 = "memory.memory_char_limit", POSITIVE_COUNT, DefaultValue::Count(2_200);
        "Maximum characters of the notes about the work; the oldest are archived."
    USER_LIMIT: u64 = "memory.user_char_limit", POSITIVE_COUNT, DefaultValue::Count(1_375);
        "Maximum characters of the notes about the user; the oldest are archived."
    MESSAGE_TARGETS: Value = "messaging.targets", SettingKind::Map, DefaultValue::Unset;
        "Message targets by name, each with a kind (webhook, slack, discord, telegram, ntfy, \
         email) and an address."
    CRON_PARALLEL: u64 = "cron.max_parallel_jobs", SettingKind::Count { min: 1, max: 64 }, DefaultValue::Count(4), or HERMES_CRON_MAX_PARALLEL;
        "Maximum number of scheduled jobs that run at the same time."
    CRON_KEPT: u64 = "cron.output_retention", POSITIVE_COUNT, DefaultValue::Count(50);
        "Number of outputs to keep per scheduled job."
    CRON_TIME: u64 = "cron.timeout_seconds", POSITIVE_COUNT, DefaultValue::Count(3_600);
        "Default timeout of a scheduled job in seconds."
    TIMEZONE: Option<String> = "timezone", SettingKind::Text, DefaultValue::Unset;
        "Default time zone of schedules, such as Europe/Berlin. If unset, the system's time zone."
    CHILD_MODEL: Value = "delegation.model", SettingKind::Text, DefaultValue::Unset;
        "The model of sub-agents. If unset, the parent's model."
    CHILD_PROVIDER: Value = "delegation.provider", SettingKind::Text, DefaultValue::Unset;
        "The model provider of sub-agents. If unset, the parent's provider."
    CHILDREN: Value = "delegation.max_concurrent_children", POSITIVE_COUNT, DefaultValue::Count(3);
        "Maximum number of concurrent sub-agents per agent; more are queued."
    CHILD_DEPTH: Value = "delegation.max_spawn_depth", SettingKind::Count { min: 0, max: 255 }, DefaultValue::Count(2);
        "Maximum depth of nested sub-agents. 0 disables sub-agents."
    CHILD_ORCHESTRATORS: Value = "delegation.orchestrator_enabled", SettingKind::Flag, DefaultValue::Flag(true);
        "Whether a sub-agent can start sub-agents, within the maximum depth."
    CHILD_ROUNDS: Value = "delegation.max_iterations", SettingKind::Count { min: 1, max: 4_294_967_295 }, DefaultValue::Count(50);
        "Maximum number of model requests per sub-agent."
    CHILD_TIME: Value = "delegation.child_timeout_seconds", SettingKind::Number, DefaultValue::Count(0);
        "Timeout of a sub-agent in seconds. 0 means the parent's remaining time."
    CHILD_SUMMARY: Value = "delegation.max_summary_chars", POSITIVE_COUNT, DefaultValue::Count(24_000);
        "Maximum characters of a sub-agent's report."
    CHILD_BACKGROUND: Value = "delegation.max_background", ANY_COUNT, DefaultValue::Count(8);
        "Maximum number of background delegations."
    CHILD_BLOCKED: Value = "delegation.blocked_tools", SettingKind::TextList, DefaultValue::TextList(&["delegate_task", "clarify", "memory", "send_message", "execute_code", "repl", "cronjob"]);
        "Tools that sub-agents cannot use."
    CHILD_TOOLSETS: Value = "delegation.default_toolsets", SettingKind::TextList, DefaultValue::Unset;
        "Toolsets of a sub-agent whose call names none. If unset, those of its parent."
    MOA_REFERENCES: Value = "moa.reference_models", SettingKind::Models, DefaultValue::Unset;
        "The models that mixture_of_agents queries, each as MODEL, PROVIDER:MODEL or \
         {provider, model}. If unset, the session's model at several temperatures."
    MOA_AGGREGATOR: Value = "moa.aggregator", SettingKind::Model, DefaultValue::Unset;
        "The model that combines the replies into one. If unset, the session's model."
    MOA_LAYERS: Value = "moa.layers", POSITIVE_COUNT, DefaultValue::Count(1);
        "Number of rounds; from the second on, the models see the replies of the previous round."
    MOA_LEAST: Value = "moa.min_successful_references", POSITIVE_COUNT, DefaultValue::Count(1);
        "Minimum number of models that must reply."
    MOA_REFERENCE_TEMPERATURE: Value = "moa.reference_temperature", SettingKind::Number, DefaultValue::Percent(0.6);
        "Sampling temperature of the reference models; null means each model's default."
    MOA_AGGREGATOR_TEMPERATURE: Value = "moa.aggregator_temperature", SettingKind::Number, DefaultValue::Percent(0.4);
        "Sampling temperature of the aggregator; null means the model's default."
    MOA_MAX_TOKENS: Value = "moa.max_tokens", POSITIVE_COUNT, DefaultValue::Count(4_096);
        "Maximum tokens per reply."
    MOA_TIME: Value = "moa.timeout_seconds", SettingKind::Number, DefaultValue::Count(180);
        "Timeout of one reply in seconds."
    MOA_PRESETS: Value = "moa.presets", SettingKind::Map, DefaultValue::Unset;
        "Named mixtures, each with these settings."
    MOA_ACTIVE: Value = "moa.active_preset", SettingKind::Text, DefaultValue::Unset;
        "The preset to use."
    MOA_DEFAULT: Value = "moa.default_preset", SettingKind::Text, DefaultValue::Unset;
        "The preset to use if moa.active_preset is not set."
}

/// The settings of `delegation`, in table order.
pub(crate) const DELEGATION_KEYS: &[TypedKey<Value>] = &[
    CHILD_MODEL,
    CHILD_PROVIDER,
    CHILDREN,
    CHILD_DEPTH,
    CHILD_ORCHESTRATORS,
    CHILD_ROUNDS,
    CHILD_TIME,
    CHILD_SUMMARY,
    CHILD_BACKGROUND,
    CHILD_BLOCKED,
    CHILD_TOOLSETS,
];

/// The settings of `moa`, in table order.
pub(crate) const MOA_KEYS: &[TypedKey<Value>] = &[
    MOA_REFERENCES,
    MOA_AGGREGATOR,
    MOA_LAYERS,
    MOA_LEAST,
    MOA_REFERENCE_TEMPERATURE,
    MOA_AGGREGATOR_TEMPERATURE,
    MOA_MAX_TOKENS,
    MOA_TIME,
    MOA_PRESETS,
    MOA_ACTIVE,
    MOA_DEFAULT,
];

/// Sections that other programs read from the shared file, so they are not
/// reported as misspelled.
pub(crate) const OTHER_SECTIONS: &[&str] = &[
    "_config_version",
    "auxiliary",
    "browser",
    "command_allowlist",
    "computer_use",
    "credential_pool_strategies",
    "curator",
    "custom_providers",
    "display",
    "fallback_model",
    "fallback_providers",
    "gateway",
    "hooks",
    "hooks_auto_accept",
    "image_gen",
    "kanban",
    "mcp",
    "mcp_discovery_timeout",
    "mcp_servers",
    "models",
    "plugins",
    "providers",
    "quick_commands",
    "secrets",
    "security",
    "sessions",
    "skills",
    "stt",
    "tts",
    "video_gen",
    "voice",
    "web",
    "x_search",
];

/// Whether a dotted name is a setting, an entry of a structured section, or
/// belongs to another program that shares the file. A section is known if the
/// value sets only known names.
pub fn is_known_setting(name: &str, value: &Value) -> bool {
    let is_below = |section: &str| {
        name.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let is_map = |key: &SettingKey| key.kind == SettingKind::Map && is_below(key.name);
    if SettingKey::find(name).is_some()
        || KEYS.iter().any(is_map)
        || STRUCTURED_SETTINGS.iter().chain(OTHER_SECTIONS).any(|section| is_below(section))
    {
        return true;
    }
    let is_section = KEYS
        .iter()
        .any(|key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')));
    // These sections have a short form.
    if matches!((name, value), ("model", Value::String(_)) | ("tools.tool_search", Value::Bool(_)))
    {
        return true;
    }
    let Value::Object(map) = value else { return false };
    is_section
        && map.iter().all(|(child, value)| is_known_setting(&format!("{name}.{child}"), value))
}

impl SettingKey {
    /// Returns the parts of the dotted name.
    pub fn names(&self) -> Vec<String> {
        self.name.split('.').map(str::to_owned).collect()
    }

    /// Returns the setting with a dotted name.
    pub fn find(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }
}

/// Structured settings inside sections of this table.
const STRUCTURED_SETTINGS: &[&str] = &["model.prices"];

impl SettingKind {
    /// Parses the value of an environment variable or a command-line argument.
    /// A list can be written without brackets, its items separated by commas.
    pub fn parse_text(self, text: &str) -> Value {
        let is_flow = text.trim_start().starts_with(['[', '{']);
        let items = || text.split(',').map(str::trim).filter(|item| !item.is_empty());
        match self {
            // A string is taken literally: `12` may be a profile name.
            Self::Text => Value::String(text.to_owned()),
            Self::TextList | Self::Models | Self::VariableList if !is_flow => {
                items().map(Value::from).collect()
            }
            Self::PortList if !is_flow => items().map(parse_value).collect(),
            _ => parse_value(text),
        }
    }

    /// Returns the normalized value, or `None` if the setting does not accept
    /// it.
    pub(crate) fn normalize(self, value: &Value) -> Option<Value> {
        let fits = match self {
            Self::Flag => value.is_boolean(),
            Self::Count { min, max } => value.as_u64().is_some_and(|n| (min..=max).contains(&n)),
            Self::Percent => value.as_f64().is_some_and(|n| (0.0..=100.0).contains(&n)),
            Self::Number => value.as_f64().is_some_and(|n| n >= 0.0),
            Self::Switch => return normalize_switch(value),
            Self::Choice(words) => return normalize_choice(words, value),
            Self::Text => value.is_string(),
            Self::TextList => {
                value.as_array().is_some_and(|items| items.iter().all(Value::is_string))
            }
            Self::PortList => value.as_array().is_some_and(|items| items.iter().all(is_port)),
            Self::VariableList => return normalize_variables(value),
            Self::Model => is_model(value),
            Self::Models => value.as_array().is_some_and(|items| items.iter().all(is_model)),
            Self::Map => value.is_object(),
        };
        fits.then(|| value.clone())
    }
}

/// Returns the variables as a list of NAME=VALUE. Numbers and booleans in a
/// mapping count as their text, as in a shell.
fn normalize_variables(value: &Value) -> Option<Value> {
    let Value::Object(map) = value else {
        let is_pair = |item: &Value| {
            let text = item.as_str().and_then(|text| text.split_once('='));
            text.is_some_and(|(name, _)| !name.trim().is_empty())
        };
        return value.as_array()?.iter().all(is_pair).then(|| value.clone());
    };
    let pair = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Some(format!("{name}={text}").into()),
        Value::Number(_) | Value::Bool(_) => Some(format!("{name}={value}").into()),
        Value::Null => Some(format!("{name}=").into()),
        Value::Array(_) | Value::Object(_) => None,
    };
    map.iter().map(pair).collect::<Option<Vec<Value>>>().map(Value::Array)
}

fn is_port(value: &Value) -> bool {
    value.as_u64().is_some_and(|port| (1..=u64::from(u16::MAX)).contains(&port))
}

fn is_model(value: &Value) -> bool {
    value.is_string() || value.get("model").is_some_and(Value::is_string)
}

/// Unquoted `on` is parsed as `true` before it gets here, so the two must mean
/// the same.
fn normalize_switch(value: &Value) -> Option<Value> {
    let word = match value {
        Value::Bool(true) => "on",
        Value::Bool(false) => "off",
        Value::String(word) => word.as_str(),
        _ => return None,
    };
    matches!(word, "auto" | "on" | "off").then(|| Value::from(word))
}

fn normalize_choice(words: &[&'static str], value: &Value) -> Option<Value> {
    let has_off = words.contains(&"off");
    let word = match value {
        Value::Bool(true) if has_off => words.first()?,
        Value::Bool(false) if has_off => "off",
        Value::String(word) => word.as_str(),
        _ => return None,
    };
    words.contains(&word).then(|| Value::from(word))
}

impl fmt::Display for SettingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("true or false"),
            Self::Count { min, max: u64::MAX } => write!(f, "a whole number of at least {min}"),
            Self::Count { min, max } => write!(f, "a whole number from {min} to {max}"),
            Self::Percent => f.write_str("a number from 0 to 100"),
            Self::Number => f.write_str("a number of at least 0"),
            Self::Switch => f.write_str("auto, on or off"),
            Self::Choice(words) => f.write_str(&words.join(" or ")),
            Self::Text => f.write_str("a string"),
            Self::TextList => f.write_str("a list of strings"),
            Self::PortList => f.write_str("a list of ports from 1 to 65535"),
            Self::VariableList => {
                f.write_str("a list of NAME=VALUE, or a mapping of names to strings")
            }
            Self::Model => f.write_str("a model name, or {provider, model}"),
            Self::Models => f.write_str("a list of models, each a name or {provider, model}"),
            Self::Map => f.write_str("a mapping with names as keys"),
        }
    }
}

impl DefaultValue {
    /// Returns the default as a value; null if there is none.
    pub fn to_value(self) -> Value {
        match self {
            Self::Unset => Value::Null,
            Self::Flag(flag) => Value::Bool(flag),
            Self::Count(count) => Value::from(count),
            Self::Percent(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
            Self::Text(text) => Value::from(text),
            Self::TextList(texts) => texts.iter().copied().map(Value::from).collect(),
        }
    }
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
