//! `hermes permissions approve`, `rules` and `suggest`: pending approvals,
//! saved rules and suggested rules.

use hermes::audit::{AuditEntry, AuditQuery};
use hermes::policy::{ApprovalTicket, ObservedCall, SavedRules, TicketStore, suggest_profile};
use serde_json::json;

use crate::app::{AppContext, working_dir};
use crate::args::ProfileOptions;
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::table::TextTable;
use crate::terminal::{OutputStyle, one_line};

pub(crate) fn approve(app: &AppContext, token: Option<String>, refuse: bool) -> CommandResult {
    let tickets = TicketStore::new(app.home()?.tickets_dir());
    let Some(token) = token else { return list_pending(app, &tickets) };
    if refuse {
        if !tickets.discard(&token) {
            return Err(unknown_token_error(&token));
        }
        app.terminal.note("Refused; the call is no longer pending.");
        return Ok(CliExitCode::Ok);
    }
    let ticket = tickets.grant(&token).map_err(|error| match error {
        hermes::policy::TicketError::Unknown(token) => unknown_token_error(&token),
        hermes::policy::TicketError::Io(message) => CommandError::usage(message),
    })?;
    if app.json {
        app.terminal.print_line(&json!({ "schema_version": 1, "approved": ticket }).to_string())?;
    } else {
        app.terminal.print_line(&describe_ticket(app, &ticket))?;
        app.terminal.note("Approved for one call within the next hour.");
    }
    Ok(CliExitCode::Ok)
}

fn unknown_token_error(token: &str) -> CommandError {
    CommandError::not_found(format!("No pending call with token '{token}'"))
        .hint("`hermes permissions approve` lists the pending calls; they expire after a day.")
}

fn list_pending(app: &AppContext, tickets: &TicketStore) -> CommandResult {
    let waiting: Vec<ApprovalTicket> =
        tickets.list().into_iter().filter(|ticket| ticket.granted_ms.is_none()).collect();
    if app.json {
        app.terminal.print_line(&json!({ "schema_version": 1, "waiting": waiting }).to_string())?;
        return Ok(CliExitCode::Ok);
    }
    if waiting.is_empty() {
        app.terminal.note("No calls are pending.");
    }
    for ticket in waiting {
        app.terminal.print_line(&describe_ticket(app, &ticket))?;
    }
    Ok(CliExitCode::Ok)
}

fn describe_ticket(app: &AppContext, ticket: &ApprovalTicket) -> String {
    let title = app.terminal.paint(OutputStyle::Bold, &ticket.token);
    let mut lines =
        vec![format!("{title}  {} in {}", one_line(&ticket.tool), one_line(&ticket.folder))];
    lines.extend(ticket.effects.iter().map(|effect| format!("  {}", one_line(effect))));
    lines.push(format!("  why: {}", one_line(&ticket.reason)));
    lines.join("\n")
}

pub(crate) fn list_rules(app: &AppContext, forget: Option<usize>) -> CommandResult {
    let saved = SavedRules::load(app.home()?.saved_rules_file())
        .map_err(|problem| CommandError::usage(problem).hint("Repair the file or move it away."))?;
    if let Some(number) = forget {
        let removed = saved.remove(number.wrapping_sub(1)).map_err(CommandError::usage)?;
        if !removed {
            return Err(CommandError::not_found(format!("No rule {number}"))
                .hint("`hermes permissions rules` lists the rules with their numbers."));
        }
        app.terminal.note("Forgotten.");
        return Ok(CliExitCode::Ok);
    }
    let rules = saved.list();
    if app.json {
        app.terminal.print_line(&json!({ "schema_version": 1, "rules": rules }).to_string())?;
        return Ok(CliExitCode::Ok);
    }
    if rules.is_empty() {
        app.terminal.note("No saved rules.");
        return Ok(CliExitCode::Ok);
    }
    let mut table = TextTable::default();
    for (index, rule) in rules.iter().enumerate() {
        table.push_row([
            ((index + 1).to_string(), Some(OutputStyle::Bold)),
            (rule.profile.clone(), Some(OutputStyle::Dim)),
            (format!("allow {}", rule.unit), None),
        ]);
    }
    app.terminal.print_line(&table.render(&app.terminal))?;
    Ok(CliExitCode::Ok)
}

pub(crate) fn suggest(app: &AppContext, since: &str, options: &ProfileOptions) -> CommandResult {
    let home = app.home()?;
    let config = app.config(&home)?;
    let profile = app.profile_name(&config, options);
    let since = hermes::audit::parse_time(since).map_err(|error| {
        CommandError::usage(error.to_string()).hint("For example: --since 2h, 7d or 2030-01-31")
    })?;
    let query = AuditQuery { since: Some(since), ..AuditQuery::default() };
    let entries = hermes::audit::query(&home.audit_dir(), &query, 100_000)?;
    let of_profile =
        |entry: &&AuditEntry| entry.text_field("profile").is_none_or(|name| name == profile);
    let observed: Vec<ObservedCall> =
        entries.iter().filter(of_profile).filter_map(observed_call).collect();
    let is_own = app.policy_sources(&home, options, &working_dir(None)?)?.is_user_defined(&profile);
    let name = if is_own { format!("{profile}_suggested") } else { profile.clone() };
    let proposal = suggest_profile(&observed, &profile, &name);
    if app.json {
        let all = json!({ "schema_version": 1, "calls": entries.len(), "yaml": proposal });
        app.terminal.print_line(&all.to_string())?;
        return Ok(CliExitCode::Ok);
    }
    match proposal {
        Some(yaml) => {
            app.terminal.note(&format!(
                "Based on {} calls. Review it, then copy what you need to {}:",
                entries.len(),
                home.permissions_file().display()
            ));
            app.terminal.print_line(yaml.trim_end())?;
        }
        None => app.terminal.note(&format!(
            "Nothing to suggest: no question or denial recurs in {} calls.",
            entries.len()
        )),
    }
    Ok(CliExitCode::Ok)
}

/// Converts a recorded call to an observation. Dry runs are skipped, and calls
/// that the user refused are not suggested again.
fn observed_call(entry: &AuditEntry) -> Option<ObservedCall> {
    let approval = entry.text_field("approval");
    let is_rehearsal = entry.fields.get("dry_run").is_some_and(|flag| flag == true);
    if is_rehearsal || approval == Some("refused") {
        return None;
    }
    let (answer, rule) = match entry.text_field("would") {
        Some(would) => (would, entry.text_field("would_rule")),
        None => (entry.text_field("verdict")?, entry.text_field("rule")),
    };
    let effects = entry.effects();
    Some(ObservedCall {
        effects: effects.map(|(scope, resource)| (scope.to_owned(), resource.to_owned())).collect(),
        answer: answer.to_owned(),
        rule: rule.unwrap_or_default().to_owned(),
        approved: approval.is_some_and(|answer| answer != "nobody"),
    })
}
