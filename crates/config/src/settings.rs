//! The settings as the rest of the program uses them: typed, complete, every default filled in.

use serde_json::Value;

use crate::keys::{self, TypedKey};

/// Everything that today's code reads from the configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct HermesSettings {
    /// Toolsets offered when none are named.
    pub toolsets: Vec<String>,
    /// Characters that one read of a file returns at most.
    pub file_read_max_chars: u64,
    /// `agent`.
    pub agent: AgentConfig,
    /// `tool_output`.
    pub tool_output: ToolOutputConfig,
    /// `tools.tool_search`.
    pub tool_search: ToolSearchConfig,
    /// `tool_loop_guardrails`.
    pub tool_loop_guardrails: LoopGuardConfig,
    /// `model`.
    pub model: ModelConfig,
    /// `permissions`.
    pub permissions: PermissionConfig,
    /// `approvals`.
    pub approvals: ApprovalConfig,
    /// `sandbox`.
    pub sandbox: SandboxConfig,
    /// `checkpoints`.
    pub checkpoints: CheckpointConfig,
    /// `code_execution`.
    pub code_execution: CodeExecutionConfig,
    /// `terminal`.
    pub terminal: TerminalConfig,
    /// `memory`.
    pub memory: MemoryConfig,
    /// `messaging.targets`, as it stands there; null if it does not.
    pub message_targets: Value,
    /// `cron`.
    pub cron: CronConfig,
    /// The time zone of schedules, if it was given.
    pub timezone: Option<String>,
    /// `delegation`, as whoever makes sub-agents reads it.
    pub delegation: Value,
    /// `moa`, as whoever asks several models reads it.
    pub moa: Value,
}

/// `agent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentConfig {
    /// Toolsets that are never offered.
    pub disabled_toolsets: Vec<String>,
    /// How often the model is asked in one task.
    pub max_turns: u64,
}

/// `memory`: what outlasts a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryConfig {
    /// Whether notes on the work are kept.
    pub memory_enabled: bool,
    /// Whether what is known of the user is kept.
    pub user_profile_enabled: bool,
    /// Characters of the notes.
    pub memory_char_limit: u64,
    /// Characters of what is known of the user.
    pub user_char_limit: u64,
}

/// `cron`: how scheduled jobs are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CronConfig {
    /// At once.
    pub max_parallel_jobs: u64,
    /// Answers of one job that are kept.
    pub output_retention: u64,
    /// Seconds of one run.
    pub timeout_seconds: u64,
}

/// `tool_output`: how much of a result is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolOutputConfig {
    /// Bytes of a command's output.
    pub max_bytes: u64,
    /// Lines of one read.
    pub max_lines: u64,
    /// Characters of one line.
    pub max_line_length: u64,
}

/// `tools.tool_search`: when tools are found by search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToolSearchConfig {
    /// Whether at all.
    pub enabled: ToolSearchMode,
    /// With `auto`: the share of the context window above which definitions are deferred.
    pub threshold_pct: f64,
    /// Results of a search that does not say how many.
    pub search_default_limit: u64,
    /// Results that a search may ask for.
    pub max_search_limit: u64,
}

/// Whether tools are found by search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolSearchMode {
    /// When their definitions are large.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// `tool_loop_guardrails`: what happens when the model repeats itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopGuardConfig {
    /// Whether the model is told.
    pub warnings_enabled: bool,
    /// Whether calls are refused.
    pub hard_stop_enabled: bool,
    /// When it is told.
    pub warn_after: LoopGuardThresholds,
    /// When calls are refused.
    pub hard_stop_after: LoopGuardThresholds,
}

/// How often is too often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopGuardThresholds {
    /// Failures of one tool with the same arguments.
    pub exact_failure: u64,
    /// Failures of one tool with any arguments.
    pub same_tool_failure: u64,
    /// Identical results of one read-only call.
    pub idempotent_no_progress: u64,
}

/// `model`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelConfig {
    /// The model, if it was named.
    pub default: Option<String>,
    /// Who runs it, if that was said.
    pub provider: Option<String>,
    /// The address of its server, if it was given.
    pub base_url: Option<String>,
    /// The language of its server, if it was given.
    pub api_mode: Option<String>,
    /// The most tokens of an answer, if that is bounded.
    pub max_tokens: Option<u64>,
    /// How many seconds it may be silent, if that was said.
    pub patience: Option<u64>,
    /// `auto`, `native` or `text`.
    pub tool_calls: String,
    /// The context window in tokens, if it was given.
    pub context_length: Option<u64>,
}

/// `permissions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionConfig {
    /// The profile, if one was chosen.
    pub profile: Option<String>,
    /// `enforce` or `audit`.
    pub mode: String,
}

/// `approvals`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalConfig {
    /// `manual`, `smart` or `off`.
    pub mode: String,
    /// Commands that are never run.
    pub deny: Vec<String>,
    /// How many seconds a question waits.
    pub timeout: u64,
}

/// `sandbox`: what holds where a permission profile says nothing of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxConfig {
    /// `refuse`, `ask` or `reduced`, if it was said.
    pub missing: Option<String>,
    /// `isolated`, `host` or `off`, if it was said.
    pub network: Option<String>,
    /// Ports of this machine's loopback that commands may use, if they were named.
    pub host_ports: Option<Vec<u16>>,
}

/// `checkpoints`: what is kept of files before they are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointConfig {
    /// Whether anything is.
    pub enabled: bool,
    /// Checkpoints of one workspace.
    pub max_snapshots: u64,
    /// Megabytes of all of them.
    pub max_total_size_mb: u64,
    /// Megabytes of one file.
    pub max_file_size_mb: u64,
    /// Days that they are kept.
    pub retention_days: u64,
}

/// `code_execution`: the bounds of scripts that call tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeExecutionConfig {
    /// `project` or `strict`.
    pub mode: String,
    /// Seconds.
    pub timeout: u64,
    /// Calls of tools.
    pub max_tool_calls: u64,
    /// Bytes of output that are shown.
    pub max_stdout_bytes: u64,
    /// Bytes of errors that are shown.
    pub max_stderr_bytes: u64,
    /// Tools beside the usual ones.
    pub tools: Vec<String>,
}

/// `terminal`: where commands run and files are.
#[derive(Debug, Clone, PartialEq)]
pub struct TerminalConfig {
    /// `local`, `docker`, `ssh` or `singularity`.
    pub backend: String,
    /// Seconds that a command is waited for.
    pub timeout: u64,
    /// Seconds that a call may ask for.
    pub max_foreground_timeout: u64,
    /// Seconds without output, if that is bounded.
    pub inactivity_timeout: Option<u64>,
    /// Days that long outputs are kept, if that is bounded.
    pub output_days: Option<u64>,
    /// Megabytes of them, if that is bounded.
    pub output_mb: Option<u64>,
    /// The folder that a session begins in elsewhere.
    pub cwd: Option<String>,
    /// Bounds of a container.
    pub container: ContainerConfig,
    /// `terminal.docker_*`.
    pub docker: DockerConfig,
    /// `terminal.ssh_*` and `terminal.sync*`.
    pub ssh: SshConfig,
    /// `terminal.singularity_*`.
    pub singularity: SingularityConfig,
}

/// Bounds of a container.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContainerConfig {
    /// Processors.
    pub cpu: f64,
    /// Megabytes of memory.
    pub memory_mb: u64,
    /// Megabytes on the disk.
    pub disk_mb: u64,
    /// Whether it is there again the next time.
    pub persistent: bool,
}

/// `terminal.docker_*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DockerConfig {
    /// The image.
    pub image: String,
    /// The program, if it was chosen.
    pub program: Option<String>,
    /// What it sees of this machine.
    pub volumes: Vec<String>,
    /// Whether it sees the folder that hermes was started in.
    pub mounts_cwd: bool,
    /// Its variables.
    pub env: Vec<String>,
    /// Names of variables that it gets from here.
    pub forward_env: Vec<String>,
    /// Whether it reaches the network.
    pub network: bool,
    /// Whether its commands run as the user of hermes.
    pub as_host_user: bool,
    /// Arguments more for `run`.
    pub extra_args: Vec<String>,
    /// Arguments in front of every subcommand.
    pub global_args: Vec<String>,
}

/// `terminal.ssh_*` and `terminal.sync*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshConfig {
    /// The host.
    pub host: Option<String>,
    /// The user there.
    pub user: Option<String>,
    /// The port there.
    pub port: Option<u64>,
    /// The private key.
    pub key: Option<String>,
    /// `accept-new`, `strict` or `off`.
    pub host_key: String,
    /// A configuration file in place of the user's own.
    pub config: Option<String>,
    /// What is copied there.
    pub sync: Vec<String>,
    /// What is copied back.
    pub sync_back: Vec<String>,
}

/// `terminal.singularity_*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingularityConfig {
    /// The image.
    pub image: Option<String>,
    /// What it sees of this machine.
    pub binds: Vec<String>,
    /// The program, if it was chosen.
    pub program: Option<String>,
}

/// Something that answers for every key of the table.
pub(crate) trait SettingSource {
    fn read<T: SettingValue>(&mut self, typed: TypedKey<T>) -> T;
}

impl HermesSettings {
    pub(crate) fn read(from: &mut impl SettingSource) -> Self {
        Self {
            toolsets: from.read(keys::TOOLSETS),
            agent: AgentConfig {
                disabled_toolsets: from.read(keys::DISABLED_TOOLSETS),
                max_turns: from.read(keys::MAX_TURNS),
            },
            tool_output: ToolOutputConfig {
                max_bytes: from.read(keys::MAX_BYTES),
                max_lines: from.read(keys::MAX_LINES),
                max_line_length: from.read(keys::MAX_LINE_LENGTH),
            },
            file_read_max_chars: from.read(keys::FILE_READ_MAX_CHARS),
            tool_search: ToolSearchConfig {
                enabled: from.read(keys::SEARCH_ENABLED),
                threshold_pct: from.read(keys::SEARCH_THRESHOLD),
                search_default_limit: from.read(keys::SEARCH_DEFAULT_LIMIT),
                max_search_limit: from.read(keys::SEARCH_MAX_LIMIT),
            },
            tool_loop_guardrails: LoopGuardConfig {
                warnings_enabled: from.read(keys::LOOP_WARNINGS),
                hard_stop_enabled: from.read(keys::LOOP_HARD_STOP),
                warn_after: LoopGuardThresholds {
                    exact_failure: from.read(keys::WARN_EXACT),
                    same_tool_failure: from.read(keys::WARN_SAME),
                    idempotent_no_progress: from.read(keys::WARN_IDEMPOTENT),
                },
                hard_stop_after: LoopGuardThresholds {
                    exact_failure: from.read(keys::STOP_EXACT),
                    same_tool_failure: from.read(keys::STOP_SAME),
                    idempotent_no_progress: from.read(keys::STOP_IDEMPOTENT),
                },
            },
            model: ModelConfig {
                default: from.read(keys::MODEL_DEFAULT),
                provider: from.read(keys::MODEL_PROVIDER),
                base_url: from.read(keys::MODEL_BASE_URL),
                api_mode: from.read(keys::MODEL_API_MODE),
                max_tokens: from.read(keys::MODEL_MAX_TOKENS),
                patience: from.read(keys::MODEL_PATIENCE),
                tool_calls: from.read(keys::MODEL_TOOL_CALLS),
                context_length: from.read(keys::CONTEXT_LENGTH),
            },
            permissions: PermissionConfig {
                profile: from.read(keys::PROFILE),
                mode: from.read(keys::PERMISSION_MODE),
            },
            approvals: ApprovalConfig {
                mode: from.read(keys::APPROVAL_MODE),
                deny: from.read(keys::APPROVAL_DENY),
                timeout: from.read(keys::APPROVAL_TIMEOUT),
            },
            sandbox: SandboxConfig {
                missing: from.read(keys::SANDBOX_MISSING),
                network: from.read(keys::SANDBOX_NETWORK),
                host_ports: from.read(keys::SANDBOX_HOST_PORTS),
            },
            checkpoints: CheckpointConfig {
                enabled: from.read(keys::CHECKPOINTS_ENABLED),
                max_snapshots: from.read(keys::CHECKPOINTS_MAX_SNAPSHOTS),
                max_total_size_mb: from.read(keys::CHECKPOINTS_MAX_TOTAL),
                max_file_size_mb: from.read(keys::CHECKPOINTS_MAX_FILE),
                retention_days: from.read(keys::CHECKPOINTS_RETENTION),
            },
            code_execution: CodeExecutionConfig {
                mode: from.read(keys::SCRIPT_MODE),
                timeout: from.read(keys::SCRIPT_TIMEOUT),
                max_tool_calls: from.read(keys::SCRIPT_CALLS),
                max_stdout_bytes: from.read(keys::SCRIPT_STDOUT),
                max_stderr_bytes: from.read(keys::SCRIPT_STDERR),
                tools: from.read(keys::SCRIPT_TOOLS),
            },
            terminal: TerminalConfig::read(from),
            memory: MemoryConfig {
                memory_enabled: from.read(keys::MEMORY_ENABLED),
                user_profile_enabled: from.read(keys::USER_ENABLED),
                memory_char_limit: from.read(keys::MEMORY_LIMIT),
                user_char_limit: from.read(keys::USER_LIMIT),
            },
            message_targets: from.read(keys::MESSAGE_TARGETS),
            cron: CronConfig {
                max_parallel_jobs: from.read(keys::CRON_PARALLEL),
                output_retention: from.read(keys::CRON_KEPT),
                timeout_seconds: from.read(keys::CRON_TIME),
            },
            timezone: from.read(keys::TIMEZONE),
            delegation: section(from, keys::DELEGATION_KEYS),
            moa: section(from, keys::MOA_KEYS),
        }
    }
}

/// The settings of a section by the last part of their names, without those
/// that are unset.
fn section(from: &mut impl SettingSource, keys: &[TypedKey<Value>]) -> Value {
    let mut fields = serde_json::Map::new();
    for typed in keys {
        let value = from.read(typed.clone());
        if let Some(name) = typed.key.names().pop().filter(|_| !value.is_null()) {
            fields.insert(name, value);
        }
    }
    fields.into()
}

impl TerminalConfig {
    fn read(from: &mut impl SettingSource) -> Self {
        let backend = from.read(keys::TERMINAL_BACKEND);
        let older = from.read(keys::TERMINAL_ENV_TYPE);
        Self {
            backend: backend.or(older).unwrap_or_else(|| "local".to_owned()),
            timeout: from.read(keys::COMMAND_TIMEOUT),
            max_foreground_timeout: from.read(keys::COMMAND_LONGEST),
            inactivity_timeout: Some(from.read(keys::COMMAND_SILENCE)).filter(|n| *n > 0),
            output_days: Some(from.read(keys::OUTPUT_DAYS)).filter(|n| *n > 0),
            output_mb: Some(from.read(keys::OUTPUT_SIZE)).filter(|n| *n > 0),
            cwd: from.read(keys::TERMINAL_FOLDER),
            container: ContainerConfig {
                cpu: from.read(keys::CONTAINER_CPU),
                memory_mb: from.read(keys::CONTAINER_MEMORY),
                disk_mb: from.read(keys::CONTAINER_DISK),
                persistent: from.read(keys::CONTAINER_PERSISTENT),
            },
            docker: DockerConfig {
                image: from.read(keys::DOCKER_IMAGE),
                program: from.read(keys::DOCKER_PROGRAM),
                volumes: from.read(keys::DOCKER_VOLUMES),
                mounts_cwd: from.read(keys::DOCKER_MOUNT_CWD),
                env: from.read(keys::DOCKER_ENV),
                forward_env: from.read(keys::DOCKER_FORWARD_ENV),
                network: from.read(keys::DOCKER_NETWORK),
                as_host_user: from.read(keys::DOCKER_HOST_USER),
                extra_args: from.read(keys::DOCKER_EXTRA_ARGS),
                global_args: from.read(keys::DOCKER_GLOBAL_ARGS),
            },
            ssh: SshConfig {
                host: from.read(keys::SSH_HOST),
                user: from.read(keys::SSH_USER),
                port: from.read(keys::SSH_PORT),
                key: from.read(keys::SSH_KEY),
                host_key: from.read(keys::SSH_HOST_KEY),
                config: from.read(keys::SSH_CONFIG),
                sync: from.read(keys::SYNC),
                sync_back: from.read(keys::SYNC_BACK),
            },
            singularity: SingularityConfig {
                image: from.read(keys::SINGULARITY_IMAGE),
                binds: from.read(keys::SINGULARITY_BINDS),
                program: from.read(keys::SINGULARITY_PROGRAM),
            },
        }
    }
}

impl Default for HermesSettings {
    fn default() -> Self {
        struct DefaultSource;
        impl SettingSource for DefaultSource {
            fn read<T: SettingValue>(&mut self, typed: TypedKey<T>) -> T {
                T::from_value(&typed.key.default.to_value()).unwrap_or_default()
            }
        }
        Self::read(&mut DefaultSource)
    }
}

/// A type that a checked value can be read as.
pub(crate) trait SettingValue: Sized + Default {
    fn from_value(value: &Value) -> Option<Self>;
}

impl SettingValue for Value {
    fn from_value(value: &Value) -> Option<Self> {
        Some(value.clone())
    }
}

impl SettingValue for bool {
    fn from_value(value: &Value) -> Option<Self> {
        value.as_bool()
    }
}

impl SettingValue for u64 {
    fn from_value(value: &Value) -> Option<Self> {
        value.as_u64()
    }
}

impl SettingValue for f64 {
    fn from_value(value: &Value) -> Option<Self> {
        value.as_f64()
    }
}

impl SettingValue for String {
    fn from_value(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl SettingValue for Vec<String> {
    fn from_value(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(String::from_value).collect()
    }
}

impl SettingValue for Vec<u16> {
    fn from_value(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(|port| u16::try_from(port.as_u64()?).ok()).collect()
    }
}

impl<T: SettingValue> SettingValue for Option<T> {
    fn from_value(value: &Value) -> Option<Self> {
        if value.is_null() {
            return Some(None);
        }
        T::from_value(value).map(Some)
    }
}

impl SettingValue for ToolSearchMode {
    fn from_value(value: &Value) -> Option<Self> {
        match value.as_str()? {
            "auto" => Some(Self::Auto),
            "on" => Some(Self::On),
            "off" => Some(Self::Off),
            _ => None,
        }
    }
}
