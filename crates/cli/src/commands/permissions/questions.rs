//! `hermes permissions approve`, `rules` and `suggest`: answers given, and
//! answers that might be.

use hermes::audit::{AuditEntry, AuditQuery};
use hermes::policy::{ObservedCall, SavedRules, ApprovalTicket, TicketStore, suggest as propose};
use serde_json::json;

use crate::app::{App, folder};
use crate::args::ProfileOptions;
use crate::commands::audit;
use crate::failure::{Exit, Failure, Outcome};
use crate::table::Table;
use crate::terminal::{Style, one_line};

pub(crate) fn approve(app: &App, token: Option<String>, refuse: bool) -> Outcome {
    let tickets = TicketStore::new(app.home()?.tickets_dir());
    let Some(token) = token else { return pending(app, &tickets) };
    if refuse {
        if !tickets.discard(&token) {
            return Err(unknown(&token));
        }
        app.terminal.note("Refused: the question is gone.");
        return Ok(Exit::Ok);
    }
    let ticket = tickets.grant(&token).map_err(|error| match error {
        hermes::policy::TicketError::Unknown(token) => unknown(&token),
        hermes::policy::TicketError::Io(message) => Failure::usage(message),
    })?;
    if app.json {
        app.terminal.line(&json!({ "schema_version": 1, "approved": ticket }).to_string())?;
    } else {
        app.terminal.line(&describe(app, &ticket))?;
        app.terminal.note("Approved for one call, made within the next hour.");
    }
    Ok(Exit::Ok)
}

fn unknown(token: &str) -> Failure {
    Failure::not_found(format!("There is no open question '{token}'"))
        .hint("`hermes permissions approve` lists those that wait; they last a day.")
}

fn pending(app: &App, tickets: &TicketStore) -> Outcome {
    let waiting: Vec<ApprovalTicket> =
        tickets.list().into_iter().filter(|ticket| ticket.granted_ms.is_none()).collect();
    if app.json {
        app.terminal.line(&json!({ "schema_version": 1, "waiting": waiting }).to_string())?;
        return Ok(Exit::Ok);
    }
    if waiting.is_empty() {
        app.terminal.note("Nothing waits for an approval.");
    }
    for ticket in waiting {
        app.terminal.line(&describe(app, &ticket))?;
    }
    Ok(Exit::Ok)
}

fn describe(app: &App, ticket: &ApprovalTicket) -> String {
    let title = app.terminal.paint(Style::Bold, &ticket.token);
    let mut lines =
        vec![format!("{title}  {} in {}", one_line(&ticket.tool), one_line(&ticket.folder))];
    lines.extend(ticket.effects.iter().map(|effect| format!("  {}", one_line(effect))));
    lines.push(format!("  why: {}", one_line(&ticket.reason)));
    lines.join("\n")
}

pub(crate) fn rules(app: &App, forget: Option<usize>) -> Outcome {
    let saved = SavedRules::load(app.home()?.saved_rules_file())
        .map_err(|problem| Failure::usage(problem).hint("Mend the file or move it away."))?;
    if let Some(number) = forget {
        let removed = saved.remove(number.wrapping_sub(1)).map_err(Failure::usage)?;
        if !removed {
            return Err(Failure::not_found(format!("There is no rule {number}"))
                .hint("`hermes permissions rules` numbers them."));
        }
        app.terminal.note("Forgotten.");
        return Ok(Exit::Ok);
    }
    let rules = saved.list();
    if app.json {
        app.terminal.line(&json!({ "schema_version": 1, "rules": rules }).to_string())?;
        return Ok(Exit::Ok);
    }
    if rules.is_empty() {
        app.terminal.note("No rules were saved.");
        return Ok(Exit::Ok);
    }
    let mut table = Table::default();
    for (index, rule) in rules.iter().enumerate() {
        table.row([
            ((index + 1).to_string(), Some(Style::Bold)),
            (rule.profile.clone(), Some(Style::Dim)),
            (format!("allow {}", rule.unit), None),
        ]);
    }
    app.terminal.line(&table.render(&app.terminal))?;
    Ok(Exit::Ok)
}

pub(crate) fn suggest(app: &App, since: &str, options: &ProfileOptions) -> Outcome {
    let home = app.home()?;
    let config = app.config(&home)?;
    let profile = app.profile_name(&config, options);
    let since = hermes::audit::parse_time(since).map_err(|error| {
        Failure::usage(error.to_string()).hint("For example: --since 2h, 7d or 2030-01-31")
    })?;
    let query = AuditQuery { since: Some(since), ..AuditQuery::default() };
    let entries = hermes::audit::query(&audit::folder(&home), &query, 100_000)?;
    let of_profile = |entry: &&AuditEntry| entry.text_field("profile").is_none_or(|name| name == profile);
    let observed: Vec<ObservedCall> = entries.iter().filter(of_profile).filter_map(observe).collect();
    let is_own = app.sources(&home, options, &folder(None)?)?.is_user_defined(&profile);
    let name = if is_own { format!("{profile}_suggested") } else { profile.clone() };
    let proposal = propose(&observed, &profile, &name);
    if app.json {
        let all = json!({ "schema_version": 1, "calls": entries.len(), "yaml": proposal });
        app.terminal.line(&all.to_string())?;
        return Ok(Exit::Ok);
    }
    match proposal {
        Some(yaml) => {
            app.terminal.note(&format!(
                "From {} calls. Read it, then put what you want of it into {}:",
                entries.len(),
                home.permissions_file().display()
            ));
            app.terminal.line(yaml.trim_end())?;
        }
        None => app.terminal.note(&format!(
            "Nothing was asked about or refused often enough in {} calls.",
            entries.len()
        )),
    }
    Ok(Exit::Ok)
}

/// What one recorded call says about rules. A rehearsal says nothing, and what
/// a person refused is not proposed to them again.
fn observe(entry: &AuditEntry) -> Option<ObservedCall> {
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
