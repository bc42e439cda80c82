//! `hermes doctor`: checks the installation and suggests fixes.

use std::io::{ErrorKind, Write};
use std::path::Path;

use hermes::core::{Availability, Confinement};
use hermes::policy::{ApprovalMode, EnforcementMode, PermissionPolicy};
use serde_json::{Value, json};

mod backend;

use super::runtime;
use crate::app::{AppContext, AppServices, working_dir};
use crate::args::ProfileOptions;
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::mode::runs_programs;
use crate::table::display_width;
use crate::terminal::OutputStyle;
use hermes::sandbox_support::{
    self, NamespaceObstacle, REDUCED_COMMAND, REDUCED_GAPS, trial_confinement,
};

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckHealth {
    Good,
    /// Something is unavailable, which is not an error.
    Missing,
    /// Something is broken.
    Bad,
}

/// One check and its result.
struct HealthFinding {
    what: String,
    health: CheckHealth,
    detail: String,
    fix: Option<String>,
}

impl HealthFinding {
    fn good(what: &str, detail: impl Into<String>) -> Self {
        Self { what: what.into(), health: CheckHealth::Good, detail: detail.into(), fix: None }
    }

    fn bad(what: &str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            health: CheckHealth::Bad,
            detail: detail.into(),
            fix: Some(fix.into()),
        }
    }
}

/// Arguments of `hermes doctor`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Test a backend: `local`, `docker`, `ssh` or `singularity` [default: the
    /// configured one]
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    backend: Option<String>,
}

pub(crate) fn run(app: &AppContext, asked: &DoctorArgs) -> CommandResult {
    let mut findings = vec![HealthFinding::good("version", env!("CARGO_PKG_VERSION"))];
    match (&asked.backend, app.services_without_warnings()) {
        (Some(name), Ok(ready)) => backend::examine(&ready, name, &mut findings)?,
        (None, Ok(ready)) => examine(app, &ready, &mut findings)?,
        (_, Err(failure)) => {
            let fix = failure.hint.unwrap_or_default();
            findings.push(HealthFinding::bad("settings", failure.message, fix));
        }
    }
    let exit = if findings.iter().any(|f| f.health == CheckHealth::Bad) {
        CliExitCode::Failed
    } else {
        CliExitCode::Ok
    };
    show(app, &findings)?;
    Ok(exit)
}

fn examine(
    app: &AppContext,
    ready: &AppServices,
    findings: &mut Vec<HealthFinding>,
) -> Result<(), CommandError> {
    findings.push(check_home(ready));
    let file = ready.home().config_file();
    let state = if file.exists() { "read" } else { "no file; all settings have their defaults" };
    findings.push(HealthFinding::good("settings", format!("{}: {state}", file.display())));
    for warning in &ready.config.warnings {
        let fault = &warning.0;
        let place = fault.position.as_ref().map_or(String::new(), |p| format!("{p}: "));
        let fix = fault.hint.as_deref().unwrap_or("Correct the key's name or remove it.");
        findings.push(HealthFinding::bad("settings", format!("{place}{}", fault.message), fix));
    }
    let (found, can_run) = check_permissions(app, ready);
    findings.extend(found);
    let snapshot = ready.engine().snapshot();
    let lookup = |name: &str| snapshot.find(name).map(|e| e.name().to_owned());
    for problem in ready.engine().toolsets().problems(&*snapshot, &lookup) {
        let failure = CommandError::usage(problem.to_string()).lift_suggestion();
        let fix = failure
            .hint
            .unwrap_or_else(|| "Change it with `hermes toolsets create --replace`.".into());
        findings.push(HealthFinding::bad("toolsets", failure.message, fix));
    }
    let entries = snapshot.entries();
    let mut states = runtime::block_on_current_thread(ready.engine().availability(&entries))?;
    for (entry, state) in entries.iter().zip(&mut states) {
        if !can_run && state.is_ready() && runs_programs(entry.spec()) {
            let fix = "See `sandbox` above.";
            *state =
                Availability::missing("its child processes cannot be confined on this system", fix);
        }
    }
    let usable = states.iter().filter(|s| s.is_ready()).count();
    findings.push(HealthFinding::good("tools", format!("{usable} of {} available", entries.len())));
    for (entry, state) in entries.iter().zip(states) {
        if let Availability::Missing { reason, fix } = state {
            findings.push(HealthFinding {
                what: entry.name().to_owned(),
                health: CheckHealth::Missing,
                detail: reason,
                fix: Some(fix),
            });
        }
        if let Err(error) = entry.schema().compile() {
            findings.push(HealthFinding::bad(
                entry.name(),
                format!("invalid schema: {error}"),
                "This is a bug in the tool.",
            ));
        }
    }
    Ok(())
}

/// Checks whether the permissions load and the system can enforce them. The
/// second value is false if child processes cannot be started.
fn check_permissions(app: &AppContext, ready: &AppServices) -> (Vec<HealthFinding>, bool) {
    let options = ProfileOptions::default();
    let loaded = working_dir(None).and_then(|cwd| {
        let permissions = app.permissions(ready, &options, &cwd, None)?;
        Ok((permissions, cwd))
    });
    let (permissions, cwd) = match loaded {
        Ok(loaded) => loaded,
        Err(failure) => {
            let fix = failure.hint.unwrap_or_default();
            return (vec![HealthFinding::bad("permissions", failure.message, fix)], true);
        }
    };
    let profile = &permissions.profile().name;
    let (sandbox, can_run) = check_sandbox(&permissions, &cwd);
    let mut findings =
        vec![HealthFinding::good("permissions", format!("profile {profile}")), sandbox];
    let mut notice = |detail: &str, fix: &str| {
        findings.push(HealthFinding {
            what: "permissions".to_owned(),
            health: CheckHealth::Missing,
            detail: detail.to_owned(),
            fix: Some(fix.to_owned()),
        });
    };
    if permissions.settings().mode == EnforcementMode::Audit {
        notice(
            "audit mode: calls that the profile denies are recorded and still run",
            "Run `hermes config set permissions.mode enforce` to enforce the profile.",
        );
    }
    if permissions.settings().approvals == ApprovalMode::Off {
        notice(
            "every question is approved automatically",
            "Unset HERMES_YOLO, or run `hermes config set approvals.mode manual`.",
        );
    }
    (findings, can_run)
}

/// Checks whether the system can enforce the profile's sandbox, and whether
/// child processes can be started.
fn check_sandbox(permissions: &PermissionPolicy, cwd: &Path) -> (HealthFinding, bool) {
    let (support, summary) = (sandbox_support::support(), sandbox_support::summary());
    let profile = &permissions.profile().name;
    let Some(wanted) = trial_confinement(permissions, cwd) else {
        let detail = format!("disabled in profile {profile}");
        let fix = "Commands run with all permissions of your user; remove `enabled: false` \
                   from the profile.";
        return (HealthFinding::bad("sandbox", detail, fix), true);
    };
    let is_reduced = permissions.sandbox().is_reduced;
    let needed = Confinement { reduced: false, ..wanted };
    let Err(lacking) = sandbox_support::can_enforce(&needed) else {
        return (HealthFinding::good("sandbox", summary), true);
    };
    let Some(obstacle) = NamespaceObstacle::find().filter(|_| support.landlock.is_some()) else {
        let detail = format!("{summary}: {lacking}");
        let fix = "Use a kernel that supports it, or disable the sandbox in the profile.";
        return (HealthFinding::bad("sandbox", detail, fix), false);
    };
    let mut lines = match obstacle.remedies.as_slice() {
        [only] => vec![format!("Run: {only}")],
        several => {
            let lines = several.iter().map(|line| format!("  {line}"));
            std::iter::once("Run one of these:".to_owned()).chain(lines).collect()
        }
    };
    if is_reduced {
        let finding = HealthFinding {
            what: "sandbox".to_owned(),
            health: CheckHealth::Missing,
            detail: format!("reduced: {summary}\n{REDUCED_GAPS}"),
            fix: Some(lines.join("\n")),
        };
        return (finding, true);
    }
    lines.push(format!("Or run commands in a reduced sandbox: {REDUCED_COMMAND}\n{REDUCED_GAPS}"));
    let detail = format!("{summary}\nCommands and code cannot be run.");
    (HealthFinding::bad("sandbox", detail, lines.join("\n")), false)
}

/// Checks whether the home directory is writable. Leaves no file behind.
fn check_home(ready: &AppServices) -> HealthFinding {
    let root = ready.home().root();
    let shown = root.display();
    if !root.exists() {
        return HealthFinding::good("home", format!("{shown} (created on first use)"));
    }
    let probe = root.join(format!(".doctor-{}", std::process::id()));
    // A full disk refuses only the content.
    let tried = std::fs::OpenOptions::new().write(true).create_new(true).open(&probe).and_then(
        |mut file| {
            file.write_all(&[b'x'; 4096])?;
            file.sync_all()
        },
    );
    let _ = std::fs::remove_file(&probe);
    match tried {
        Ok(_) => HealthFinding::good("home", format!("{shown} is writable")),
        Err(e) => HealthFinding::bad(
            "home",
            format!("{shown} is not writable: {e}"),
            match e.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                    "Free space on its disk, or set HERMES_HOME."
                }
                _ => "Make it writable for your user, or set HERMES_HOME.",
            },
        ),
    }
}

fn show(app: &AppContext, findings: &[HealthFinding]) -> Result<(), CommandError> {
    if app.json {
        let rows: Vec<Value> = findings
            .iter()
            .map(|f| {
                let state = match f.health {
                    CheckHealth::Good => "good",
                    CheckHealth::Missing => "missing",
                    CheckHealth::Bad => "bad",
                };
                json!({ "check": f.what, "state": state, "detail": f.detail, "fix": f.fix })
            })
            .collect();
        return Ok(app
            .terminal
            .print_line(&json!({ "schema_version": 1, "checks": rows }).to_string())?);
    }
    let column = findings.iter().map(|f| display_width(&f.what)).max().unwrap_or(0);
    let mut lines = Vec::new();
    for finding in findings {
        let (mark, style) = match finding.health {
            CheckHealth::Good => ("✓", OutputStyle::Green),
            CheckHealth::Missing => ("·", OutputStyle::Yellow),
            CheckHealth::Bad => ("✗", OutputStyle::Red),
        };
        let mark = app.terminal.paint(style, mark);
        let what = app.terminal.paint(OutputStyle::Bold, &finding.what);
        let gap = " ".repeat(column - display_width(&finding.what));
        let below = format!("\n{}", " ".repeat(column + 5));
        lines.push(format!("{mark}  {what}{gap}  {}", finding.detail.replace('\n', &below)));
        if let Some(fix) = finding.fix.as_deref().filter(|fix| !fix.is_empty()) {
            lines.push(format!("{}fix: {}", &below[1..], fix.replace('\n', &below)));
        }
    }
    Ok(app.terminal.print_line(&lines.join("\n"))?)
}
