//! Converts limits from the settings to the types of the crates that enforce
//! them.

use std::time::Duration;

use hermes::core::OutputLimits;
use hermes::engine::{LoopGuardSettings, LoopThresholds, ResultSizeLimits, SearchLimits};
use hermes_config::HermesSettings;
use hermes_exec::{CommandTimeouts, RetentionPolicy};

pub(crate) fn guard_settings(settings: &HermesSettings) -> LoopGuardSettings {
    let rails = &settings.tool_loop_guardrails;
    let counts = |t: &hermes_config::LoopGuardThresholds| LoopThresholds {
        exact_failure: clamp_to_u32(t.exact_failure),
        same_tool_failure: clamp_to_u32(t.same_tool_failure),
        no_progress: clamp_to_u32(t.idempotent_no_progress),
    };
    LoopGuardSettings {
        warn: rails.warnings_enabled.then(|| counts(&rails.warn_after)),
        stop: rails.hard_stop_enabled.then(|| counts(&rails.hard_stop_after)),
    }
}

pub(crate) fn search_limits(settings: &HermesSettings) -> SearchLimits {
    let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    SearchLimits {
        default: size(settings.tool_search.search_default_limit),
        max: size(settings.tool_search.max_search_limit),
    }
}

pub(crate) fn output_bounds(settings: &HermesSettings) -> OutputLimits {
    OutputLimits {
        command_bytes: settings.tool_output.max_bytes,
        read_lines: settings.tool_output.max_lines,
        line_chars: settings.tool_output.max_line_length,
        read_chars: settings.file_read_max_chars,
        answer_chars: ResultSizeLimits::for_window(settings.model.context_length).per_result as u64,
    }
}

pub(crate) fn command_times(settings: &HermesSettings) -> CommandTimeouts {
    let seconds = Duration::from_secs;
    CommandTimeouts {
        default_timeout: seconds(settings.terminal.timeout),
        max_timeout: seconds(settings.terminal.max_foreground_timeout),
        idle_timeout: settings.terminal.inactivity_timeout.map(seconds),
    }
}

pub(crate) fn output_retention(settings: &HermesSettings) -> RetentionPolicy {
    const SECONDS_PER_DAY: u64 = 24 * 60 * 60;
    RetentionPolicy {
        max_age: settings
            .terminal
            .output_days
            .map(|days| Duration::from_secs(days * SECONDS_PER_DAY)),
        max_bytes: settings.terminal.output_mb.map(|megabytes| megabytes.saturating_mul(1 << 20)),
    }
}

#[cfg(feature = "code")]
pub(crate) fn script_limits(settings: &HermesSettings) -> hermes_scripts::ScriptLimits {
    let given = &settings.code_execution;
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    hermes_scripts::ScriptLimits {
        mode: match given.mode.as_str() {
            "strict" => hermes_scripts::ScriptMode::Strict,
            _ => hermes_scripts::ScriptMode::Project,
        },
        timeout: Duration::from_secs(given.timeout),
        tool_calls: given.max_tool_calls,
        stdout: size(given.max_stdout_bytes),
        stderr: size(given.max_stderr_bytes),
        extra_tools: given.tools.clone(),
    }
}

fn clamp_to_u32(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
