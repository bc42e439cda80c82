//! Output of jobs and their runs, as text and JSON.

use hermes_cron::{CronJob, JobRun, JobStore, RunStatus};
use serde_json::json;

use crate::app::AppContext;
use crate::command_error::CommandError;
use crate::table::TextTable;
use crate::terminal::{OutputStyle, one_line, show_control_chars};

pub(super) fn list(app: &AppContext, jobs: &JobStore) -> Result<(), CommandError> {
    let (all, others) = jobs.list()?;
    let running = jobs.has_daemon();
    if app.json {
        let shown = json!({
            "schema_version": 1, "jobs": all, "not_understood": others, "daemon_running": running,
        });
        app.terminal.print_line(&shown.to_string())?;
        return Ok(());
    }
    let mut table = TextTable::default();
    for job in &all {
        let next = job.next_run_at.filter(|_| job.enabled).map(|at| jobs.format_time_for(job, at));
        let state = if job.held.is_some() { "running" } else { job.state.name() };
        let last = job.last_status.clone().unwrap_or_else(|| "-".into());
        table.push_row([
            (job.id.clone(), Some(OutputStyle::Bold)),
            (one_line(&job.name), None),
            (one_line(&job.schedule_display), Some(OutputStyle::Cyan)),
            (state.to_owned(), None),
            (last, None),
            (next.unwrap_or_else(|| "-".into()), Some(OutputStyle::Dim)),
        ]);
    }
    if all.is_empty() {
        app.terminal.note("No jobs yet. Add one: hermes cron add '0 9 * * *' \"TASK\"");
    } else {
        app.terminal.print_line(&table.render(&app.terminal))?;
    }
    if others > 0 {
        app.terminal.warn(&format!("{others} entries of jobs.json cannot be parsed."));
    }
    if !running && all.iter().any(|job| job.enabled) {
        app.terminal.note("The daemon is not running; start it with `hermes cron daemon`.");
    }
    Ok(())
}

pub(super) fn show_job(
    app: &AppContext,
    jobs: &JobStore,
    job: &CronJob,
) -> Result<(), CommandError> {
    if app.json {
        let shown = json!({ "schema_version": 1, "job": job, "daemon_running": jobs.has_daemon() });
        app.terminal.print_line(&shown.to_string())?;
        return Ok(());
    }
    let heading = app.terminal.paint(OutputStyle::Bold, &one_line(&job.name));
    app.terminal.print_line(&format!("{heading}  {}", job.id))?;
    let number = |n: Option<u32>| n.map(|n| n.to_string());
    let at = |at: Option<hermes_cron::Timestamp>| at.map(|at| jobs.format_time_for(job, at));
    let times = job.repeat.times.map(|n| format!("{} of {n} runs", job.repeat.completed));
    let rows = [
        ("schedule", Some(job.schedule_display.clone())),
        ("state", Some(job.state.name().to_owned())),
        ("reason", job.paused_reason.clone()),
        ("running", job.held.as_ref().map(|held| format!("{} (process {})", held.run, held.pid))),
        ("next", at(job.next_run_at.filter(|_| job.enabled))),
        ("repeat", times),
        ("last run", at(job.last_run_at)),
        ("last status", job.last_status.clone()),
        ("last error", job.last_error.clone()),
        ("delivery", job.last_delivery_error.clone()),
        ("deliver", Some(job.deliver.clone())),
        ("missed", Some(job.missed.to_string())),
        ("retry", job.retry.then(|| "yes".to_owned())),
        ("directory", job.workdir.clone()),
        ("toolsets", job.enabled_toolsets.as_ref().map(|names| names.join(", "))),
        ("context", Some(job.context_from.join(", ")).filter(|names| !names.is_empty())),
        ("model", job.model.clone()),
        ("profile", job.profile.clone()),
        ("max turns", number(job.max_turns)),
        ("budget", job.budget.map(|usd| format!("${usd}"))),
        ("time limit", job.timeout_seconds.map(|seconds| format!("{seconds} s"))),
        ("unsupported", job.unsupported_field().map(|what| format!("field '{what}'"))),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            app.terminal.print_line(&format!("{name:12} {}", one_line(&value)))?;
        }
    }
    app.terminal.print_line(&format!("\n{}", show_control_chars(&job.prompt)))?;
    Ok(())
}

pub(super) fn history(
    app: &AppContext,
    jobs: &JobStore,
    wanted: &str,
    limit: usize,
) -> Result<(), CommandError> {
    let runs = jobs.history(wanted, limit)?;
    if app.json {
        app.terminal.print_line(&json!({ "schema_version": 1, "runs": runs }).to_string())?;
        return Ok(());
    }
    if runs.is_empty() {
        app.terminal.note("This job has not run yet.");
        return Ok(());
    }
    let mut table = TextTable::default();
    for run in runs {
        let seconds = run.ended.as_second() - run.started.as_second();
        let style = if run.status == RunStatus::Ok { OutputStyle::Green } else { OutputStyle::Red };
        table.push_row([
            (jobs.format_time(run.started), Some(OutputStyle::Dim)),
            (run.status.name().to_owned(), Some(style)),
            (format!("{seconds} s"), None),
            (run.session.clone().unwrap_or_else(|| "-".into()), None),
            (one_line(&describe_run(&run)), None),
        ]);
    }
    app.terminal.print_line(&table.render(&app.terminal))?;
    Ok(())
}

/// Describes a run in one line.
pub(super) fn describe_run(run: &JobRun) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(run.error.clone());
    if run.missed > 0 {
        let more = if run.missed >= hermes_cron::JobRun::MAX_MISSED { " or more" } else { "" };
        parts.push(format!("{}{more} missed before", run.missed));
    }
    let lost = run.delivered.iter().filter_map(|delivery| {
        Some(format!("delivery to {} failed: {}", delivery.target, delivery.error.as_ref()?))
    });
    parts.extend(lost);
    parts.extend(run.output.clone());
    parts.join("; ")
}

#[cfg(test)]
#[path = "show_tests.rs"]
mod tests;
