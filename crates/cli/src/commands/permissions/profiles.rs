//! `hermes permissions profiles` and `show`.

use hermes::policy::{
    PermissionProfile, PolicyLevel, PolicyRule, ResourceSelectors, ScopeRestriction,
};
use serde_json::{Value, json};

use crate::app::{AppContext, working_dir};
use crate::args::ProfileOptions;
use crate::command_error::{CliExitCode, CommandResult};
use crate::table::TextTable;
use crate::terminal::OutputStyle;

pub(crate) fn list(app: &AppContext, options: &ProfileOptions) -> CommandResult {
    let home = app.home()?;
    let config = app.config(&home)?;
    let sources = app.policy_sources(&home, options, &working_dir(None)?)?;
    let chosen = app.profile_name(&config, options);
    let profiles = sources.profiles();
    if app.json {
        let profiles: Vec<Value> = profiles
            .iter()
            .map(|p| {
                let mut shown = json!({
                    "name": p.name,
                    "description": p.description,
                    "file": p.file.as_ref().map(|file| file.display().to_string()),
                    "builtin": p.file.is_none(),
                    "chosen": p.name == chosen,
                });
                if let Err(problem) = sources.profile(&p.name) {
                    shown["problem"] = problem.to_string().into();
                }
                shown
            })
            .collect();
        let all = json!({ "schema_version": 1, "profiles": profiles });
        app.terminal.print_line(&all.to_string())?;
        return Ok(CliExitCode::Ok);
    }
    let mut table = TextTable::default();
    for profile in profiles {
        let mark = if profile.name == chosen { "*" } else { " " };
        let problem = sources.profile(&profile.name).err();
        let shown = match &problem {
            Some(problem) => (format!("invalid: {problem}"), Some(OutputStyle::Red)),
            None => (profile.description.unwrap_or_default(), None),
        };
        let from = profile.file.map_or("built in".to_owned(), |file| file.display().to_string());
        table.push_row([
            (format!("{mark} {}", profile.name), Some(OutputStyle::Bold)),
            (from, Some(OutputStyle::Dim)),
            shown,
        ]);
    }
    app.terminal.print_line(&table.render(&app.terminal))?;
    for idle in sources.ineffective_rules() {
        app.terminal.note(&idle);
    }
    Ok(CliExitCode::Ok)
}

pub(crate) fn show(
    app: &AppContext,
    name: Option<String>,
    options: ProfileOptions,
) -> CommandResult {
    let ready = app.services()?;
    let options = ProfileOptions { profile: name.or(options.profile), ..options };
    let permissions = app.permissions(&ready, &options, &working_dir(None)?, None)?;
    if app.json {
        let layers: Vec<Value> = permissions.layers().map(profile_json).collect();
        let saved = permissions.saved().list();
        let all = json!({
            "schema_version": 1,
            "name": permissions.profile().name,
            "description": permissions.profile().description,
            "levels": layers,
            "saved_rules": saved.iter().map(|rule| rule.unit.to_string()).collect::<Vec<_>>(),
        });
        app.terminal.print_line(&all.to_string())?;
        return Ok(CliExitCode::Ok);
    }
    for profile in permissions.layers() {
        app.terminal.print_line(&profile_text(app, profile))?;
    }
    let held = if permissions.sandbox().enabled { "on" } else { "off" };
    app.terminal.print_line(&format!("sandbox {held}"))?;
    for socket in &permissions.profile().sockets {
        app.terminal.print_line(&format!("socket  {socket}"))?;
    }
    let always = "always: private keys, credential stores, start-up files and the state of \
                  hermes are protected; hard blocks are denied (docs/permissions.md)";
    app.terminal.print_line(&app.terminal.paint(OutputStyle::Dim, always))?;
    Ok(CliExitCode::Ok)
}

fn profile_text(app: &AppContext, profile: &PermissionProfile) -> String {
    let title = app.terminal.paint(OutputStyle::Bold, &profile.level.name);
    let mut lines = vec![match &profile.description {
        Some(description) => format!("{title}: {description}"),
        None => title,
    }];
    lines.extend(level_lines(&profile.level, "  "));
    for tool in &profile.tools {
        lines.push(format!("  tool {}", tool.tool));
        lines.extend(level_lines(&tool.level, "    "));
        for parameter in &tool.parameters {
            lines.push(format!("    parameter {} is restricted", parameter.name));
        }
        if tool.ask.is_some() {
            lines.push("    every call needs an approval".to_owned());
        }
    }
    if let Some(after) = &profile.after_untrusted {
        lines.push("  after untrusted content".to_owned());
        lines.extend(level_lines(&after.level, "    "));
        if let Some(answer) = after.new_hosts {
            lines.push(format!("    new hosts: {}", answer.name()));
        }
    }
    lines.join("\n")
}

fn level_lines(level: &PolicyLevel, indent: &str) -> Vec<String> {
    let list = |rules: &[PolicyRule]| rules.iter().map(rule_text).collect::<Vec<_>>().join(", ");
    let mut lines = Vec::new();
    if let Some(allow) = &level.allow {
        lines.push(format!("{indent}allow    {}", list(allow)));
    }
    if !level.ask.is_empty() {
        lines.push(format!("{indent}ask      {}", list(&level.ask)));
    }
    if !level.deny.is_empty() {
        lines.push(format!("{indent}deny     {}", list(&level.deny)));
    }
    if !level.approved.is_empty() {
        lines.push(format!("{indent}approved {}", list(&level.approved)));
    }
    for restriction in &level.restrictions {
        lines.push(format!("{indent}{}", restriction_text(restriction)));
    }
    lines
}

fn restriction_text(restriction: &ScopeRestriction) -> String {
    let mut parts = Vec::new();
    if let Some(allowed) = &restriction.allowed {
        let rest = restriction.default_answer.name();
        parts.push(format!("only {}, {rest} elsewhere", selector_text(allowed)));
    }
    for (word, list) in [("never", &restriction.denied), ("ask for", &restriction.asked)] {
        if !list.is_empty() {
            parts.push(format!("{word} {}", selector_text(list)));
        }
    }
    if let Some(answer) = restriction.private_hosts {
        parts.push(format!("private hosts: {}", answer.name()));
    }
    if let Some(answer) = restriction.dangerous {
        parts.push(format!("dangerous commands: {}", answer.name()));
    }
    format!("{}: {}", restriction.scope.as_str(), parts.join("; "))
}

/// Formats resource selectors as written in the profile.
fn selector_text(list: &ResourceSelectors) -> String {
    let paths = list.paths.iter().map(ToString::to_string);
    let commands = list.commands.iter().map(|command| format!("`{command}`"));
    let names = list.hosts.iter().chain(&list.names).map(ToString::to_string);
    paths.chain(commands).chain(names).collect::<Vec<_>>().join(", ")
}

/// Formats a rule without the name of its level.
fn rule_text(rule: &PolicyRule) -> String {
    let text = rule.to_string();
    let text = text.split_once(": ").map_or(text.as_str(), |(_, rest)| rest);
    text.split_once(' ').map_or(text, |(_, rest)| rest).to_owned()
}

fn profile_json(profile: &PermissionProfile) -> Value {
    let rules = |rules: &[PolicyRule]| -> Vec<Value> {
        let rule = |rule: &PolicyRule| {
            let place = rule.origin.place.as_ref();
            json!({
                "rule": rule_text(rule),
                "file": place.map(|place| place.file.display().to_string()),
                "line": place.map(|place| place.line),
            })
        };
        rules.iter().map(rule).collect()
    };
    let level = &profile.level;
    json!({
        "name": level.name,
        "description": profile.description,
        "allow": level.allow.as_deref().map(rules),
        "deny": rules(&level.deny),
        "approval_required": rules(&level.ask),
        "approved": rules(&level.approved),
        "restrictions": level.restrictions.iter().map(restriction_text).collect::<Vec<_>>(),
        "tools": profile.tools.iter().map(|tool| tool.tool.to_string()).collect::<Vec<_>>(),
        "sandbox": { "enabled": profile.sandbox.enabled, "bubblewrap": profile.sandbox.bubblewrap },
    })
}
