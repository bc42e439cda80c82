//! The table of known settings. Name, type, default and description are said here and nowhere else.

use std::fmt;
use std::marker::PhantomData;

use serde_json::{Number, Value};

use crate::settings::ToolSearchMode;
use crate::vars::{
    EnvVar, HERMES_CRON_MAX_PARALLEL, HERMES_INFERENCE_PROVIDER, HERMES_MODEL,
    HERMES_PERMISSION_PROFILE, TERMINAL_CWD, TERMINAL_DOCKER_IMAGE, TERMINAL_ENV,
    TERMINAL_MAX_FOREGROUND_TIMEOUT, TERMINAL_SINGULARITY_IMAGE, TERMINAL_SSH_HOST,
    TERMINAL_SSH_KEY, TERMINAL_SSH_PORT, TERMINAL_SSH_USER, TERMINAL_TIMEOUT,
};

/// A known setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SettingKey {
    /// Its dotted name.
    pub name: &'static str,
    /// What values it takes.
    pub kind: SettingKind,
    /// What holds when it is not set.
    pub default: DefaultValue,
    /// Environment variables that win over the file, the first one set.
    pub variables: &'static [EnvVar],
    /// What it does, in a sentence.
    pub about: &'static str,
}

/// What values a setting takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingKind {
    /// `true` or `false`.
    Flag,
    /// A whole number between two bounds, both included.
    Count {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// A number from 0 to 100.
    Percent,
    /// A number of at least 0.
    Number,
    /// `auto`, `on` or `off`; `true` and `false` are `on` and `off`.
    Switch,
    /// One of these words, of which the first is usual. `true` stands for the
    /// first and `false` for `off`, where that is one of them.
    Choice(&'static [&'static str]),
    /// A text.
    Text,
    /// A list of texts.
    TextList,
    /// A list of port numbers.
    PortList,
    /// A model: its name, or its name and its provider.
    Model,
    /// A list of those.
    Models,
    /// Names of the user's own, each with what it stands for.
    Map,
}

/// A default value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DefaultValue {
    /// None.
    Unset,
    /// A flag.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A number.
    Percent(f64),
    /// A text.
    Text(&'static str),
    /// Texts.
    TextList(&'static [&'static str]),
}

const POSITIVE_COUNT: SettingKind = SettingKind::Count { min: 1, max: u64::MAX };
const ANY_COUNT: SettingKind = SettingKind::Count { min: 0, max: u64::MAX };
const BACKEND_CHOICE: SettingKind = SettingKind::Choice(&["local", "docker", "ssh", "singularity"]);
const UP_TO_A_DAY: SettingKind = SettingKind::Count { min: 1, max: 86_400 };
const UP_TO_50: SettingKind = SettingKind::Count { min: 1, max: 50 };

/// A key together with the Rust type its value is read as.
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
        /// Every known setting, in the order in which they are documented.
        pub const KEYS: &[SettingKey] = &[$($id.key),+];
    };
}

keys! {
    TOOLSETS: Vec<String> = "toolsets", SettingKind::TextList, DefaultValue::TextList(&["hermes-cli"]);
        "The toolsets that are offered when none are named on the command line."
    DISABLED_TOOLSETS: Vec<String> = "agent.disabled_toolsets", SettingKind::TextList, DefaultValue::TextList(&[]);
        "Toolsets that are never offered, whoever asks for them."
    MAX_TURNS: u64 = "agent.max_turns", SettingKind::Count { min: 1, max: 100_000 }, DefaultValue::Count(90);
        "How often the model is asked in one task when the command does not say."
    MAX_BYTES: u64 = "tool_output.max_bytes", POSITIVE_COUNT, DefaultValue::Count(50_000);
        "The most bytes of a command's output that a result shows; the rest is spilled to a file."
    MAX_LINES: u64 = "tool_output.max_lines", POSITIVE_COUNT, DefaultValue::Count(2_000);
        "The most lines that one read returns."
    MAX_LINE_LENGTH: u64 = "tool_output.max_line_length", POSITIVE_COUNT, DefaultValue::Count(2_000);
        "The most characters of one line that are shown."
    FILE_READ_MAX_CHARS: u64 = "file_read_max_chars", POSITIVE_COUNT, DefaultValue::Count(100_000);
        "The most characters that one read of a file returns."
    SEARCH_ENABLED: ToolSearchMode = "tools.tool_search.enabled", SettingKind::Switch, DefaultValue::Text("auto");
        "Whether tools are found by search instead of all being shown to the model; auto decides by their size."
    SEARCH_THRESHOLD: f64 = "tools.tool_search.threshold_pct", SettingKind::Percent, DefaultValue::Percent(10.0);
        "With auto: the share of the context window, in percent, above which tool definitions are deferred."
    SEARCH_DEFAULT_LIMIT: u64 = "tools.tool_search.search_default_limit", UP_TO_50, DefaultValue::Count(5);
        "How many tools a search returns when it does not say."
    SEARCH_MAX_LIMIT: u64 = "tools.tool_search.max_search_limit", UP_TO_50, DefaultValue::Count(20);
        "The most tools that a search may ask for."
    LOOP_WARNINGS: bool = "tool_loop_guardrails.warnings_enabled", SettingKind::Flag, DefaultValue::Flag(true);
        "Whether the model is told when it repeats itself."
    LOOP_HARD_STOP: bool = "tool_loop_guardrails.hard_stop_enabled", SettingKind::Flag, DefaultValue::Flag(false);
        "Whether calls are refused when the model keeps repeating itself."
    WARN_EXACT: u64 = "tool_loop_guardrails.warn_after.exact_failure", POSITIVE_COUNT, DefaultValue::Count(2);
        "Warn after so many failures of one tool with the same arguments."
    WARN_SAME: u64 = "tool_loop_guardrails.warn_after.same_tool_failure", POSITIVE_COUNT, DefaultValue::Count(3);
        "Warn after so many failures of one tool with any arguments."
    WARN_IDEMPOTENT: u64 = "tool_loop_guardrails.warn_after.idempotent_no_progress", POSITIVE_COUNT, DefaultValue::Count(2);
        "Warn after so many identical results of one read-only call."
    STOP_EXACT: u64 = "tool_loop_guardrails.hard_stop_after.exact_failure", POSITIVE_COUNT, DefaultValue::Count(5);
        "Refuse after so many failures of one tool with the same arguments."
    STOP_SAME: u64 = "tool_loop_guardrails.hard_stop_after.same_tool_failure", POSITIVE_COUNT, DefaultValue::Count(8);
        "Refuse after so many failures of one tool with any arguments."
    STOP_IDEMPOTENT: u64 = "tool_loop_guardrails.hard_stop_after.idempotent_no_progress", POSITIVE_COUNT, DefaultValue::Count(5);
        "Refuse after so many identical results of one read-only call."
    MODEL_DEFAULT: Option<String> = "model.default", SettingKind::Text, DefaultValue::Unset, or HERMES_MODEL;
        "The model, as its server names it; unset means what the provider or the server on this machine has."
    MODEL_PROVIDER: Option<String> = "model.provider", SettingKind::Text, DefaultValue::Unset, or HERMES_INFERENCE_PROVIDER;
        "Who runs the model: openrouter, anthropic, openai, gemini, ollama, …, or a name from `providers`; unset or `auto` means whoever there is a key for."
    MODEL_BASE_URL: Option<String> = "model.base_url", SettingKind::Text, DefaultValue::Unset;
        "The address of the model's server, such as http://127.0.0.1:8080/v1; unset means the provider's own."
    MODEL_API_MODE: Option<String> = "model.api_mode", SettingKind::Choice(&["chat_completions", "codex_responses", "responses", "anthropic_messages", "gemini", "bedrock_converse", "codex_app_server"]), DefaultValue::Unset;
        "The language of the server: chat_completions, responses, anthropic_messages or gemini; unset means that the address decides."
    MODEL_MAX_TOKENS: Option<u64> = "model.max_tokens", POSITIVE_COUNT, DefaultValue::Unset;
        "The most tokens of one answer; unset means what the server allows."
    MODEL_PATIENCE: Option<u64> = "model.patience", POSITIVE_COUNT, DefaultValue::Unset;
        "How many seconds the model may be silent before it is asked again; unset means 600 before an answer begins (1800 on this machine) and 180 in it."
    MODEL_TOOL_CALLS: String = "model.tool_calls", SettingKind::Choice(&["auto", "native", "text"]), DefaultValue::Text("auto");
        "How the model asks for tools: `native`, in its `text`, or `auto` to use text if the server says that it cannot do otherwise."
    CONTEXT_LENGTH: Option<u64> = "model.context_length", POSITIVE_COUNT, DefaultValue::Unset;
        "The model's context window in tokens, by which budgets are scaled; unset means that the model is asked."
    PROFILE: Option<String> = "permissions.profile", SettingKind::Text, DefaultValue::Unset, or HERMES_PERMISSION_PROFILE;
        "The permission profile; unset means `default`."
    PERMISSION_MODE: String = "permissions.mode", SettingKind::Choice(&["enforce", "audit"]), DefaultValue::Text("enforce");
        "`enforce`, or `audit` to refuse nothing but hard blocks and record what would have been refused."
    APPROVAL_MODE: String = "approvals.mode", SettingKind::Choice(&["manual", "smart", "off"]), DefaultValue::Text("manual");
        "Who answers what must be asked: `manual` for you, `smart` for a model first, `off` to let it through."
    APPROVAL_DENY: Vec<String> = "approvals.deny", SettingKind::TextList, DefaultValue::TextList(&[]);
        "Commands that are never run, by program and subcommand, such as `git push`; nothing overrides it."
    APPROVAL_TIMEOUT: u64 = "approvals.timeout", SettingKind::Count { min: 1, max: 86_400 }, DefaultValue::Count(60);
        "How many seconds a question waits for an answer. Silence is no."
    SANDBOX_MISSING: Option<String> = "sandbox.missing", SettingKind::Choice(&["refuse", "ask", "reduced"]), DefaultValue::Unset;
        "What becomes of commands where the system cannot hold the whole sandbox: `refuse` them, `ask`, or run them in the `reduced` sandbox of what is there; a profile's own word wins, unset means `refuse`."
    SANDBOX_NETWORK: Option<String> = "sandbox.network", SettingKind::Choice(&["isolated", "host", "off"]), DefaultValue::Unset;
        "How commands reach the network: `isolated` (each host is judged), `host` (this machine's own network, unjudged) or `off`; a profile's own word wins, unset means `isolated`."
    SANDBOX_HOST_PORTS: Option<Vec<u16>> = "sandbox.host_ports", SettingKind::PortList, DefaultValue::Unset;
        "Ports of services on this machine's loopback that commands may use, such as 5432; a profile's own list wins, unset means none."
    CHECKPOINTS_ENABLED: bool = "checkpoints.enabled", SettingKind::Flag, DefaultValue::Flag(true);
        "Whether files are kept before a tool changes them, so that `hermes undo` can bring them back."
    CHECKPOINTS_MAX_SNAPSHOTS: u64 = "checkpoints.max_snapshots", POSITIVE_COUNT, DefaultValue::Count(20);
        "How many checkpoints of one workspace are kept; the oldest go."
    CHECKPOINTS_MAX_TOTAL: u64 = "checkpoints.max_total_size_mb", ANY_COUNT, DefaultValue::Count(500);
        "How many megabytes all checkpoints may take on the disk, 0 for any; the oldest go."
    CHECKPOINTS_MAX_FILE: u64 = "checkpoints.max_file_size_mb", ANY_COUNT, DefaultValue::Count(10);
        "A file of more megabytes than this is not kept, and so cannot be brought back; 0 for no bound."
    CHECKPOINTS_RETENTION: u64 = "checkpoints.retention_days", ANY_COUNT, DefaultValue::Count(7);
        "How many days a checkpoint is kept; 0 for no bound."
    SCRIPT_MODE: String = "code_execution.mode", SettingKind::Choice(&["project", "strict"]), DefaultValue::Text("project");
        "How execute_code runs a script: `project` in the session's folder with its virtualenv, `strict` in a folder of its own with a clean interpreter."
    SCRIPT_TIMEOUT: u64 = "code_execution.timeout", POSITIVE_COUNT, DefaultValue::Count(300);
        "How many seconds a script of execute_code may take."
    SCRIPT_CALLS: u64 = "code_execution.max_tool_calls", ANY_COUNT, DefaultValue::Count(50);
        "How many tools a script may call."
    SCRIPT_STDOUT: u64 = "code_execution.max_stdout_bytes", POSITIVE_COUNT, DefaultValue::Count(50_000);
        "How many bytes of a script's output are shown, head and tail."
    SCRIPT_STDERR: u64 = "code_execution.max_stderr_bytes", POSITIVE_COUNT, DefaultValue::Count(10_000);
        "How many bytes of a script's errors are shown: the end."
    SCRIPT_TOOLS: Vec<String> = "code_execution.tools", SettingKind::TextList, DefaultValue::TextList(&[]);
        "Tools that a script may call beside the usual ones for files, search, the terminal and the web."
    TERMINAL_BACKEND: Option<String> = "terminal.backend", BACKEND_CHOICE, DefaultValue::Unset, or TERMINAL_ENV;
        "Where commands run and files are: `local` (which unset means), `docker`, `ssh` or `singularity`. It is never replaced by another one."
    TERMINAL_ENV_TYPE: Option<String> = "terminal.env_type", BACKEND_CHOICE, DefaultValue::Unset;
        "The older name of terminal.backend, which counts when that is not set."
    COMMAND_TIMEOUT: u64 = "terminal.timeout", UP_TO_A_DAY, DefaultValue::Count(180), or TERMINAL_TIMEOUT;
        "How many seconds a command is waited for when the call does not say; then it is ended."
    COMMAND_LONGEST: u64 = "terminal.max_foreground_timeout", UP_TO_A_DAY, DefaultValue::Count(600), or TERMINAL_MAX_FOREGROUND_TIMEOUT;
        "The most seconds that a call may wait for a command; in the background there is no limit."
    COMMAND_SILENCE: u64 = "terminal.inactivity_timeout", SettingKind::Count { min: 0, max: 86_400 }, DefaultValue::Count(0);
        "After how many seconds without output a command is ended; 0 for never."
    OUTPUT_DAYS: u64 = "terminal.output_days", SettingKind::Count { min: 0, max: 36_500 }, DefaultValue::Count(7);
        "For how many days long outputs, pictures of repl and files of detached processes are kept; 0 for ever."
    OUTPUT_SIZE: u64 = "terminal.output_megabytes", ANY_COUNT, DefaultValue::Count(4096);
        "How many megabytes of long outputs and pictures are kept, the newest first; 0 for any number."
    TERMINAL_FOLDER: Option<String> = "terminal.cwd", SettingKind::Text, DefaultValue::Unset, or TERMINAL_CWD;
        "The folder that a session begins in when commands run elsewhere; unset means that the place decides."
    CONTAINER_CPU: f64 = "terminal.container_cpu", SettingKind::Percent, DefaultValue::Percent(1.0);
        "How many processors a container may use; 0 for all."
    CONTAINER_MEMORY: u64 = "terminal.container_memory", ANY_COUNT, DefaultValue::Count(5120);
        "How many megabytes of memory a container may use; 0 for all."
    CONTAINER_DISK: u64 = "terminal.container_disk", ANY_COUNT, DefaultValue::Count(51_200);
        "How many megabytes a container may write, where its engine can hold it to that; 0 for any."
    CONTAINER_PERSISTENT: bool = "terminal.container_persistent", SettingKind::Flag, DefaultValue::Flag(true);
        "Whether what is in a container's home and workspace is there again the next time."
    DOCKER_IMAGE: String = "terminal.docker_image", SettingKind::Text, DefaultValue::Text("nikolaik/python-nodejs:python3.11-nodejs20"), or TERMINAL_DOCKER_IMAGE;
        "The image of the container."
    DOCKER_PROGRAM: Option<String> = "terminal.docker_program", SettingKind::Text, DefaultValue::Unset;
        "The program that runs containers; unset means `docker`, or `podman` if only that is there."
    DOCKER_VOLUMES: Vec<String> = "terminal.docker_volumes", SettingKind::TextList, DefaultValue::TextList(&[]);
        "What of this machine a container sees, as HOST:CONTAINER or HOST:CONTAINER:ro; nothing else is."
    DOCKER_MOUNT_CWD: bool = "terminal.docker_mount_cwd_to_workspace", SettingKind::Flag, DefaultValue::Flag(false);
        "Whether the folder that hermes is started in is the container's /workspace."
    DOCKER_ENV: Vec<String> = "terminal.docker_env", SettingKind::TextList, DefaultValue::TextList(&[]);
        "Variables of the container, as NAME=VALUE."
    DOCKER_FORWARD_ENV: Vec<String> = "terminal.docker_forward_env", SettingKind::TextList, DefaultValue::TextList(&[]);
        "Names of variables that a container gets from the environment of hermes."
    DOCKER_NETWORK: bool = "terminal.docker_network", SettingKind::Flag, DefaultValue::Flag(true);
        "Whether a container reaches the network."
    DOCKER_HOST_USER: bool = "terminal.docker_run_as_host_user", SettingKind::Flag, DefaultValue::Flag(false);
        "Whether commands in a container run as the user of hermes, by number."
    DOCKER_EXTRA_ARGS: Vec<String> = "terminal.docker_extra_args", SettingKind::TextList, DefaultValue::TextList(&[]);
        "Arguments more for `docker run`."
    DOCKER_GLOBAL_ARGS: Vec<String> = "terminal.docker_global_args", SettingKind::TextList, DefaultValue::TextList(&[]);
        "Arguments in front of every subcommand of docker or podman, such as `--root DIR`."
    SSH_HOST: Option<String> = "terminal.ssh_host", SettingKind::Text, DefaultValue::Unset, or TERMINAL_SSH_HOST;
        "The host that commands run on, as ssh knows it."
    SSH_USER: Option<String> = "terminal.ssh_user", SettingKind::Text, DefaultValue::Unset, or TERMINAL_SSH_USER;
        "The user there; unset means what ssh decides."
    SSH_PORT: Option<u64> = "terminal.ssh_port", SettingKind::Count { min: 1, max: 65_535 }, DefaultValue::Unset, or TERMINAL_SSH_PORT;
        "The port there; unset means what ssh decides."
    SSH_KEY: Option<String> = "terminal.ssh_key", SettingKind::Text, DefaultValue::Unset, or TERMINAL_SSH_KEY;
        "The file of the private key; unset means the agent and what ssh decides."
    SSH_HOST_KEY: String = "terminal.ssh_host_key", SettingKind::Choice(&["accept-new", "strict", "off"]), DefaultValue::Text("accept-new");
        "Which hosts are trusted: new ones as well, only known ones, or any. A key that has changed is refused but with `off`."
    SSH_CONFIG: Option<String> = "terminal.ssh_config", SettingKind::Text, DefaultValue::Unset;
        "An ssh configuration file in place of your own."
    SYNC: Vec<String> = "terminal.sync", SettingKind::TextList, DefaultValue::TextList(&[]);
        "What is copied to the other host before commands run there and when it changes, as LOCAL:REMOTE; nothing else is."
    SYNC_BACK: Vec<String> = "terminal.sync_back", SettingKind::TextList, DefaultValue::TextList(&[]);
        "What is copied back from the other host at the end, as REMOTE:LOCAL."
    SINGULARITY_IMAGE: Option<String> = "terminal.singularity_image", SettingKind::Text, DefaultValue::Unset, or TERMINAL_SINGULARITY_IMAGE;
        "The image for Singularity or Apptainer: a .sif file, a folder, or docker://NAME."
    SINGULARITY_BINDS: Vec<String> = "terminal.singularity_binds", SettingKind::TextList, DefaultValue::TextList(&[]);
        "What of this machine it sees, as HOST:CONTAINER or HOST:CONTAINER:ro; nothing else is."
    SINGULARITY_PROGRAM: Option<String> = "terminal.singularity_program", SettingKind::Text, DefaultValue::Unset;
        "The program; unset means `apptainer`, or `singularity` if only that is there."
    MEMORY_ENABLED: bool = "memory.memory_enabled", SettingKind::Flag, DefaultValue::Flag(true);
        "Whether notes on the work are kept, and shown to the model."
    USER_ENABLED: bool = "memory.user_profile_enabled", SettingKind::Flag, DefaultValue::Flag(true);
        "Whether what is known of the user is kept, and shown to the model."
    MEMORY_LIMIT: u64 = "memory.memory_char_limit", POSITIVE_COUNT, DefaultValue::Count(2_200);
        "How many characters the notes may have; the oldest beyond them are archived."
    USER_LIMIT: u64 = "memory.user_char_limit", POSITIVE_COUNT, DefaultValue::Count(1_375);
        "How many characters the list about the user may have; the oldest beyond them are archived."
    MESSAGE_TARGETS: Value = "messaging.targets", SettingKind::Map, DefaultValue::Unset;
        "Where messages may go: a name each, with its kind (webhook, slack, discord, telegram, ntfy, email) and address."
    CRON_PARALLEL: u64 = "cron.max_parallel_jobs", SettingKind::Count { min: 1, max: 64 }, DefaultValue::Count(4), or HERMES_CRON_MAX_PARALLEL;
        "How many scheduled jobs run at once."
    CRON_KEPT: u64 = "cron.output_retention", POSITIVE_COUNT, DefaultValue::Count(50);
        "How many answers of a scheduled job are kept."
    CRON_TIME: u64 = "cron.timeout_seconds", POSITIVE_COUNT, DefaultValue::Count(3_600);
        "How many seconds a run of a scheduled job may take when the job does not say."
    TIMEZONE: Option<String> = "timezone", SettingKind::Text, DefaultValue::Unset;
        "The time zone of schedules that name none, such as Europe/Berlin; unset means the system's."
    CHILD_MODEL: Value = "delegation.model", SettingKind::Text, DefaultValue::Unset;
        "The model of sub-agents; unset means that of their parent."
    CHILD_PROVIDER: Value = "delegation.provider", SettingKind::Text, DefaultValue::Unset;
        "Who runs the model of sub-agents; unset means whoever runs that of their parent."
    CHILDREN: Value = "delegation.max_concurrent_children", POSITIVE_COUNT, DefaultValue::Count(3);
        "How many sub-agents one agent has at work at a time; more wait."
    CHILD_DEPTH: Value = "delegation.max_spawn_depth", SettingKind::Count { min: 0, max: 255 }, DefaultValue::Count(2);
        "How many agents may stand below the first one, one under the other; 0 for none."
    CHILD_ORCHESTRATORS: Value = "delegation.orchestrator_enabled", SettingKind::Flag, DefaultValue::Flag(true);
        "Whether a sub-agent may have sub-agents, where the depth allows it."
    CHILD_ROUNDS: Value = "delegation.max_iterations", SettingKind::Count { min: 1, max: 4_294_967_295 }, DefaultValue::Count(50);
        "How often a sub-agent asks its model at most."
    CHILD_TIME: Value = "delegation.child_timeout_seconds", SettingKind::Number, DefaultValue::Count(0);
        "How many seconds a sub-agent takes at most; 0 for as long as its parent has."
    CHILD_SUMMARY: Value = "delegation.max_summary_chars", POSITIVE_COUNT, DefaultValue::Count(24_000);
        "The most characters of the report of one sub-agent."
    CHILD_BACKGROUND: Value = "delegation.max_background", ANY_COUNT, DefaultValue::Count(8);
        "How many delegations may be at work in the background."
    CHILD_BLOCKED: Value = "delegation.blocked_tools", SettingKind::TextList, DefaultValue::TextList(&["delegate_task", "clarify", "memory", "send_message", "execute_code", "repl", "cronjob"]);
        "Tools that sub-agents do not get."
    MOA_REFERENCES: Value = "moa.reference_models", SettingKind::Models, DefaultValue::Unset;
        "The models that mixture_of_agents asks, each as MODEL, PROVIDER:MODEL or {provider, model}; unset means the session's own at several temperatures."
    MOA_AGGREGATOR: Value = "moa.aggregator", SettingKind::Model, DefaultValue::Unset;
        "The model that makes one answer of theirs; unset means the session's own."
    MOA_LAYERS: Value = "moa.layers", POSITIVE_COUNT, DefaultValue::Count(1);
        "How often the models are asked; from the second time on they see the answers of the time before."
    MOA_LEAST: Value = "moa.min_successful_references", POSITIVE_COUNT, DefaultValue::Count(1);
        "How many of the models must have answered."
    MOA_REFERENCE_TEMPERATURE: Value = "moa.reference_temperature", SettingKind::Number, DefaultValue::Percent(0.6);
        "How freely the models choose their words; written down as nothing, each decides."
    MOA_AGGREGATOR_TEMPERATURE: Value = "moa.aggregator_temperature", SettingKind::Number, DefaultValue::Percent(0.4);
        "The same for the model that makes one answer of theirs."
    MOA_MAX_TOKENS: Value = "moa.max_tokens", POSITIVE_COUNT, DefaultValue::Count(4_096);
        "The most tokens of each answer."
    MOA_TIME: Value = "moa.timeout_seconds", SettingKind::Number, DefaultValue::Count(180);
        "How many seconds one answer may take."
    MOA_PRESETS: Value = "moa.presets", SettingKind::Map, DefaultValue::Unset;
        "Several such mixtures, each under a name of its own."
    MOA_ACTIVE: Value = "moa.active_preset", SettingKind::Text, DefaultValue::Unset;
        "Which of the presets counts."
    MOA_DEFAULT: Value = "moa.default_preset", SettingKind::Text, DefaultValue::Unset;
        "Which of the presets counts where moa.active_preset names none."
}

/// What `delegation` holds, in the order of the table.
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
];

/// The same for `moa`.
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

/// Sections of a shared configuration that other programs read. They are no slips of known names.
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

impl SettingKey {
    /// The names from the top of the document down to the setting.
    pub fn names(&self) -> Vec<String> {
        self.name.split('.').map(str::to_owned).collect()
    }

    /// The setting of a dotted name.
    pub fn find(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }
}

impl SettingKind {
    /// The value in its normal form, or `None` if the setting cannot have it.
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
            Self::Model => is_model(value),
            Self::Models => value.as_array().is_some_and(|items| items.iter().all(is_model)),
            Self::Map => value.is_object(),
        };
        fits.then(|| value.clone())
    }
}

fn is_port(value: &Value) -> bool {
    value.as_u64().is_some_and(|port| (1..=u64::from(u16::MAX)).contains(&port))
}

fn is_model(value: &Value) -> bool {
    value.is_string() || value.get("model").is_some_and(Value::is_string)
}

/// An unquoted `on` is read as `true` before it gets here, so the two must mean the same.
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
            Self::Text => f.write_str("a text"),
            Self::TextList => f.write_str("a list of texts"),
            Self::PortList => f.write_str("a list of ports from 1 to 65535"),
            Self::Model => f.write_str("a model, or {provider, model}"),
            Self::Models => f.write_str("a list of models, each a name or {provider, model}"),
            Self::Map => f.write_str("a mapping of names"),
        }
    }
}

impl DefaultValue {
    /// The default as a value, null when there is none.
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
