//! `hermes permissions verify`: tests the sandbox.

use hermes::core::ErrorKind;
use hermes::sandbox::{self, ProbeOutcome as Got, ProbeResult};
use serde_json::json;

use crate::app::{AppContext, working_dir};
use crate::args::ProfileOptions;
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::table::TextTable;
use crate::terminal::OutputStyle;
use hermes::sandbox_support::{self, trial_confinement};

pub(crate) fn run(app: &AppContext, options: &ProfileOptions) -> CommandResult {
    let ready = app.services()?;
    let cwd = working_dir(None)?;
    let permissions = app.permissions(&ready, options, &cwd, None)?;
    let Some(confinement) = trial_confinement(&permissions, &cwd) else {
        return Err(CommandError::failed(
            ErrorKind::Unavailable,
            "The profile disables the sandbox; there is nothing to verify",
        )
        .hint("Set sandbox: {enabled: true} in the profile."));
    };
    let scratch = tempfile::tempdir()
        .map_err(|e| CommandError::usage(format!("Cannot create a temporary directory: {e}")))?;
    let obstacle = sandbox_support::can_enforce(&confinement).err();
    let mut probes = match &obstacle {
        Some(_) => Vec::new(),
        None => sandbox::probe(&confinement, scratch.path()),
    };
    // If nothing is writable, a blocked write is correct.
    let writes = !confinement.write.is_empty();
    probes.retain(|probe| writes || probe.wanted != Got::Permitted);
    let verdict = SandboxVerdict::new(&probes);
    if app.json {
        let all = json!({
            "schema_version": 1,
            "holds": matches!(verdict, SandboxVerdict::Holds | SandboxVerdict::HoldsWhereTried),
            "tried": probes.iter().filter(|probe| probe.got != Got::Untried).count(),
            "support": sandbox_support::support(),
            "probes": probes,
        });
        app.terminal.print_line(&all.to_string())?;
    } else {
        let summary = VerifySummary { verdict, obstacle, is_reduced: confinement.reduced };
        show(app, &probes, &summary)?;
    }
    Ok(match verdict {
        SandboxVerdict::Holds | SandboxVerdict::HoldsWhereTried => CliExitCode::Ok,
        SandboxVerdict::Broken => CliExitCode::Failed,
        SandboxVerdict::Untried => CliExitCode::Kind(ErrorKind::Unavailable),
    })
}

/// Overall result of the probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SandboxVerdict {
    Holds,
    HoldsWhereTried,
    Broken,
    /// No probe could run, so the result is unknown.
    Untried,
}

impl SandboxVerdict {
    fn new(probes: &[ProbeResult]) -> Self {
        let is_tried = |probe: &ProbeResult| probe.got != Got::Untried;
        if !probes.iter().any(is_tried) {
            Self::Untried
        } else if !probes.iter().all(|probe| probe.passed() || !is_tried(probe)) {
            Self::Broken
        } else if probes.iter().all(is_tried) {
            Self::Holds
        } else {
            Self::HoldsWhereTried
        }
    }
}

/// Summary printed after the probes.
struct VerifySummary {
    verdict: SandboxVerdict,
    /// Why no probe ran.
    obstacle: Option<String>,
    /// Whether the sandbox is reduced to what this system supports.
    is_reduced: bool,
}

fn show(
    app: &AppContext,
    probes: &[ProbeResult],
    summary: &VerifySummary,
) -> Result<(), CommandError> {
    app.terminal.print_line(&format!("system: {}", sandbox_support::summary()))?;
    if summary.verdict == SandboxVerdict::Untried {
        // All probes failed to run for the same reason.
        let first = || probes.first().map(|probe| probe.detail.as_str());
        let why = summary.obstacle.as_deref().or_else(first);
        app.terminal.print_line(&format!("No probe could run: {}", why.unwrap_or_default()))?;
        return Ok(());
    }
    let mut table = TextTable::default();
    for probe in probes {
        let (word, style) = match (probe.got, probe.passed()) {
            (Got::Untried, _) => ("untried", OutputStyle::Yellow),
            (_, false) => ("WRONG", OutputStyle::Red),
            (Got::Blocked, true) => ("blocked", OutputStyle::Green),
            (Got::Permitted, true) => ("permitted", OutputStyle::Green),
        };
        table.push_row([
            (word.to_owned(), Some(style)),
            (probe.what.clone(), None),
            (probe.detail.clone(), Some(OutputStyle::Dim)),
        ]);
    }
    app.terminal.print_line(&table.render(&app.terminal))?;
    app.terminal.print_line(match summary.verdict {
        SandboxVerdict::Holds => "The sandbox holds.",
        SandboxVerdict::HoldsWhereTried => "The sandbox holds, as far as it could be tested.",
        SandboxVerdict::Broken if summary.is_reduced => {
            "The sandbox is reduced and does NOT hold where marked WRONG."
        }
        SandboxVerdict::Broken | SandboxVerdict::Untried => "The sandbox does NOT hold.",
    })?;
    Ok(())
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
