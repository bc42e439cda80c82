//! `hermes permissions verify`: does the sandbox hold?

use hermes::core::{Confinement, Effect, Proposal, Resource, Scope, Session, Workplace};
use hermes::sandbox::{self, Outcome as Got};
use serde_json::json;

use crate::app::{App, Ready, folder};
use crate::args::ProfileOptions;
use crate::failure::{Exit, Failure, Outcome};
use crate::table::Table;
use crate::terminal::Style;

pub(crate) fn run(app: &App, options: &ProfileOptions) -> Outcome {
    let ready = app.ready()?;
    let support = sandbox::support();
    let Some(confinement) = confinement(app, &ready, options)? else {
        return Err(Failure::failed(
            hermes::core::ErrorKind::Unavailable,
            "The profile switches the sandbox off, so there is nothing to verify",
        )
        .hint("Set sandbox: {enabled: true} in the profile."));
    };
    let scratch = tempfile::tempdir()
        .map_err(|e| Failure::usage(format!("No folder for the trial can be made: {e}")))?;
    let mut probes = sandbox::probe(&confinement, scratch.path());
    // Where nothing may be written, that nothing can be written is right.
    let writes = !confinement.write.is_empty();
    probes.retain(|probe| writes || probe.wanted != Got::Permitted);
    let holds = probes.iter().all(|probe| probe.is_held() || probe.got == Got::Untried);
    if app.json {
        let all = json!({
            "schema_version": 1,
            "holds": holds,
            "support": support,
            "probes": probes,
        });
        app.terminal.line(&all.to_string())?;
    } else {
        app.terminal.line(&format!("system: {support}"))?;
        let mut table = Table::default();
        for probe in &probes {
            let (word, style) = match (probe.got, probe.is_held()) {
                (Got::Untried, _) => ("untried", Style::Yellow),
                (_, false) => ("WRONG", Style::Red),
                (Got::Blocked, true) => ("blocked", Style::Green),
                (Got::Permitted, true) => ("permitted", Style::Green),
            };
            table.row([
                (word.to_owned(), Some(style)),
                (probe.what.clone(), None),
                (probe.detail.clone(), Some(Style::Dim)),
            ]);
        }
        app.terminal.line(&table.render(&app.terminal))?;
        let untried = probes.iter().any(|probe| probe.got == Got::Untried);
        let verdict = match (holds, untried) {
            (true, false) => "The sandbox holds.",
            (true, true) => "The sandbox holds, as far as it could be tried.",
            (false, _) => "The sandbox does NOT hold.",
        };
        app.terminal.line(verdict)?;
    }
    Ok(if holds { Exit::Ok } else { Exit::Failed })
}

/// What a command of this profile would be held to.
fn confinement(
    app: &App,
    ready: &Ready,
    options: &ProfileOptions,
) -> Result<Option<Confinement>, Failure> {
    let cwd = folder(None)?;
    let permissions = app.permissions(ready, options, &cwd, None)?;
    let at = Workplace::new(cwd, std::env::home_dir().filter(|h| h.is_absolute()));
    let session = Session::in_memory();
    let command =
        Effect { scope: Scope::TERMINAL_EXECUTE, resource: Resource::Command("true".to_owned()) };
    let (_, confinement) = permissions.consider(&Proposal {
        tool: "terminal",
        toolset: "terminal",
        arguments: &serde_json::Value::Null,
        effects: &[command],
        annotations: hermes::core::Annotations::default(),
        workplace: &at,
        call_id: "verify",
        session: &session,
        task_id: "verify",
        depth: 0,
    });
    Ok(confinement)
}
