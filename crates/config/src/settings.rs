//! The settings as the rest of the program uses them: typed, with every default
//! filled in.

use serde_json::Value;

use crate::keys::{self, TypedKey};

/// All settings that the program reads from the configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct HermesSettings {
    /// Toolsets to enable if none are named.
    pub toolsets: Vec<String>,
    /// Maximum characters that one read of a file returns.
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
    /// `messaging.targets`, unparsed; null if not set.
    pub message_targets: Value,
    /// `cron`.
    pub cron: CronConfig,
    /// The default time zone of schedules, if set.
    pub timezone: Option<String>,
    /// `delegation`, unparsed; read by the delegation crate.
    pub delegation: Value,
    /// `moa`, unparsed; read by the delegation crate.
    pub moa: Value,
}

/// `agent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentConfig {
    /// Toolsets that are never enabled.
    pub disabled_toolsets: Vec<String>,
    /// Maximum number of model requests per task.
    pub max_turns: u64,
}

/// `memory`: notes that outlive a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryConfig {
    /// Whether to keep notes about the work.
    pub memory_enabled: bool,
    /// Whether to keep notes about the user.
    pub user_profile_enabled: bool,
    /// Maximum characters of the notes about the work.
    pub memory_char_limit: u64,
    /// Maximum characters of the notes about the user.
    pub user_char_limit: u64,
}

/// `cron`: limits of scheduled jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CronConfig {
    /// Maximum number of concurrent jobs.
    pub max_parallel_jobs: u64,
    /// Outputs to keep per job.
    pub output_retention: u64,
    /// Default timeout of a job in seconds.
    pub timeout_seconds: u64,
}

/// `tool_output`: limits of what a result shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolOutputConfig {
    /// Maximum bytes of a command's output.
    pub max_bytes: u64,
    /// Maximum lines of one read.
    pub max_lines: u64,
    /// Maximum characters of one line.
    pub max_line_length: u64,
}

/// `tools.tool_search`: when the model finds tools by search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToolSearchConfig {
    /// Whether search is enabled.
    pub enabled: ToolSearchMode,
    /// For `auto`: the share of the context window above which definitions are
    /// deferred.
    pub threshold_pct: f64,
    /// Number of results if a search sets no limit.
    pub search_default_limit: u64,
    /// Maximum number of results that a search can request.
    pub max_search_limit: u64,
}

/// Whether the model finds tools by search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolSearchMode {
    /// If the definitions are large.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// `tool_loop_guardrails`: what to do when the model repeats itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopGuardConfig {
    /// Whether to warn the model.
    pub warnings_enabled: bool,
    /// Whether to refuse calls.
    pub hard_stop_enabled: bool,
    /// When to warn.
    pub warn_after: LoopGuardThresholds,
    /// When to refuse calls.
    pub hard_stop_after: LoopGuardThresholds,
}

/// Number of repetitions that trigger an action.
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
    /// The model, if set.
    pub default: Option<String>,
    /// The model provider, if set.
    pub provider: Option<String>,
    /// The base URL of the server, if set.
    pub base_url: Option<String>,
    /// The API of the server, if set.
    pub api_mode: Option<String>,
    /// Maximum tokens per reply, if limited.
    pub max_tokens: Option<u64>,
    /// Seconds without data before a retry, if set.
    pub patience: Option<u64>,
    /// `auto`, `native` or `text`.
    pub tool_calls: String,
    /// The context window in tokens, if set.
    pub context_length: Option<u64>,
}

/// `permissions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionConfig {
    /// The profile, if set.
    pub profile: Option<String>,
    /// `enforce` or `audit`.
    pub mode: String,
}

/// `approvals`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalConfig {
    /// `manual`, `smart` or `off`.
    pub mode: String,
    /// Commands that are always refused.
    pub deny: Vec<String>,
    /// Seconds to wait for an approval.
    pub timeout: u64,
}

/// `sandbox`: defaults for what a permission profile does not set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxConfig {
    /// `refuse`, `ask` or `reduced`, if set.
    pub missing: Option<String>,
    /// `isolated`, `host` or `off`, if set.
    pub network: Option<String>,
    /// Loopback ports of this machine that commands can use, if set.
    pub host_ports: Option<Vec<u16>>,
}

/// `checkpoints`: what to save of files before they change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointConfig {
    /// Whether checkpoints are enabled.
    pub enabled: bool,
    /// Maximum number of checkpoints per workspace.
    pub max_snapshots: u64,
    /// Maximum megabytes of all checkpoints.
    pub max_total_size_mb: u64,
    /// Maximum megabytes of one file.
    pub max_file_size_mb: u64,
    /// Days to keep a checkpoint.
    pub retention_days: u64,
}

/// `code_execution`: limits of scripts that call tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeExecutionConfig {
    /// `project` or `strict`.
    pub mode: String,
    /// Seconds.
    pub timeout: u64,
    /// Maximum number of tool calls.
    pub max_tool_calls: u64,
    /// Maximum bytes of stdout in the result.
    pub max_stdout_bytes: u64,
    /// Maximum bytes of stderr in the result.
    pub max_stderr_bytes: u64,
    /// Tools in addition to the default ones.
    pub tools: Vec<String>,
}

/// `terminal`: where commands run and files are.
#[derive(Debug, Clone, PartialEq)]
pub struct TerminalConfig {
    /// `local`, `docker`, `ssh` or `singularity`.
    pub backend: String,
    /// Default timeout of a command in seconds.
    pub timeout: u64,
    /// Maximum timeout in seconds that a call can request.
    pub max_foreground_timeout: u64,
    /// Seconds without output before a command is terminated, if limited.
    pub inactivity_timeout: Option<u64>,
    /// Days to keep spilled output, if limited.
    pub output_days: Option<u64>,
    /// Maximum megabytes of spilled output, if limited.
    pub output_mb: Option<u64>,
    /// Initial working directory of a session on a remote backend.
    pub cwd: Option<String>,
    /// Container settings.
    pub container: ContainerConfig,
    /// `terminal.docker_*`.
    pub docker: DockerConfig,
    /// `terminal.ssh_*` and `terminal.sync*`.
    pub ssh: SshConfig,
    /// `terminal.singularity_*`.
    pub singularity: SingularityConfig,
}

/// Container settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContainerConfig {
    /// Processors.
    pub cpu: f64,
    /// Megabytes of memory.
    pub memory_mb: u64,
    /// Megabytes of disk.
    pub disk_mb: u64,
    /// Whether its home and workspace persist between sessions.
    pub persistent: bool,
}

/// `terminal.docker_*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DockerConfig {
    /// The image.
    pub image: String,
    /// The container program, if set.
    pub program: Option<String>,
    /// Mounts from this machine.
    pub volumes: Vec<String>,
    /// Whether to mount the directory in which hermes was started.
    pub mounts_cwd: bool,
    /// Environment variables.
    pub env: Vec<String>,
    /// Names of environment variables to pass from hermes.
    pub forward_env: Vec<String>,
    /// Whether it has network access.
    pub network: bool,
    /// Whether commands run with the user id of hermes.
    pub as_host_user: bool,
    /// Additional arguments for `run`.
    pub extra_args: Vec<String>,
    /// Arguments before every subcommand.
    pub global_args: Vec<String>,
}

/// `terminal.ssh_*` and `terminal.sync*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshConfig {
    /// The host.
    pub host: Option<String>,
    /// The remote user.
    pub user: Option<String>,
    /// The remote port.
    pub port: Option<u64>,
    /// Path of the private key.
    pub key: Option<String>,
    /// `accept-new`, `strict` or `off`.
    pub host_key: String,
    /// A configuration file to use instead of the user's.
    pub config: Option<String>,
    /// Files to copy to the host.
    pub sync: Vec<String>,
    /// Files to copy back.
    pub sync_back: Vec<String>,
}

/// `terminal.singularity_*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingularityConfig {
    /// The image.
    pub image: Option<String>,
    /// Mounts from this machine.
    pub binds: Vec<String>,
    /// The program, if set.
    pub program: Option<String>,
}

/// A source of values for every key of the table.
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

/// Returns the settings of a section, keyed by the last part of their names;
/// unset ones are omitted.
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
        // The older name is a fallback of the newer one.
        let _ = from.read(keys::TERMINAL_ENV_TYPE);
        Self {
            backend: backend.unwrap_or_else(|| "local".to_owned()),
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
