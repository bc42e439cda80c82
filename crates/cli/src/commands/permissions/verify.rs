//! `hermes permissions verify`: does the sandbox hold?

use hermes::core::ErrorKind;
use hermes::sandbox::{self, ProbeOutcome as Got, ProbeResult};
use serde_json::json;

use crate::app::{App, folder};
use crate::args::ProfileOptions;
use crate::failure::{Exit, Failure, Outcome};
use crate::sandbox_support::{self, trial_confinement};
use crate::table::Table;
use crate::terminal::Style;

pub(crate) fn run(app: &App, options: &ProfileOptions) -> Outcome {
    let ready = app.ready()?;
    let cwd = folder(None)?;
    let permissions = app.permissions(&ready, options, &cwd, None)?;
    let Some(confinement) = trial_confinement(&permissions, &cwd) else {
        return Err(Failure::failed(
            ErrorKind::Unavailable,
            "The profile switches the sandbox off, so there is nothing to verify",
        )
        .hint("Set sandbox: {enabled: true} in the profile."));
    };
    let scratch = tempfile::tempdir()
        .map_err(|e| Failure::usage(format!("No folder for the trial can be made: {e}")))?;
    let obstacle = sandbox_support::can_hold(&confinement).err();
    let mut probes = match &obstacle {
        Some(_) => Vec::new(),
        None => sandbox::probe(&confinement, scratch.path()),
    };
    // Where nothing may be written, that nothing can be written is right.
    let writes = !confinement.write.is_empty();
    probes.retain(|probe| writes || probe.wanted != Got::Permitted);
    let verdict = Verdict::new(&probes);
    if app.json {
        let all = json!({
            "schema_version": 1,
            "holds": matches!(verdict, Verdict::Holds | Verdict::HoldsWhereTried),
            "tried": probes.iter().filter(|probe| probe.got != Got::Untried).count(),
            "support": sandbox_support::support(),
            "probes": probes,
        });
        app.terminal.line(&all.to_string())?;
    } else {
        let summary = VerifySummary { verdict, obstacle, is_reduced: confinement.reduced };
        show(app, &probes, &summary)?;
    }
    Ok(match verdict {
        Verdict::Holds | Verdict::HoldsWhereTried => Exit::Ok,
        Verdict::Broken => Exit::Failed,
        Verdict::Untried => Exit::Kind(ErrorKind::Unavailable),
    })
}

/// What the probes come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Holds,
    HoldsWhereTried,
    Broken,
    /// Nothing could be tried, which says nothing of whether it holds.
    Untried,
}

impl Verdict {
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

/// What is printed after the probes.
struct VerifySummary {
    verdict: Verdict,
    /// Why nothing was tried.
    obstacle: Option<String>,
    /// Whether the sandbox makes do with what this system has.
    is_reduced: bool,
}

fn show(app: &App, probes: &[ProbeResult], summary: &VerifySummary) -> Result<(), Failure> {
    app.terminal.line(&format!("system: {}", sandbox_support::summary()))?;
    if summary.verdict == Verdict::Untried {
        // All of them were kept from being tried by the same.
        let first = || probes.first().map(|probe| probe.detail.as_str());
        let why = summary.obstacle.as_deref().or_else(first);
        app.terminal.line(&format!("Nothing could be tried: {}", why.unwrap_or_default()))?;
        return Ok(());
    }
    let mut table = Table::default();
    for probe in probes {
        let (word, style) = match (probe.got, probe.passed()) {
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
    app.terminal.line(match summary.verdict {
        Verdict::Holds => "The sandbox holds.",
        Verdict::HoldsWhereTried => "The sandbox holds, as far as it could be tried.",
        Verdict::Broken if summary.is_reduced => {
            "The sandbox is reduced, and does NOT hold where it says WRONG."
        }
        Verdict::Broken | Verdict::Untried => "The sandbox does NOT hold.",
    })?;
    Ok(())
}
