//! `hermes permissions profiles` and `show`.

use hermes::policy::{PolicyLevel, PermissionProfile, ScopeRestriction, PolicyRule, ResourceSelectors};
use serde_json::{Value, json};

use crate::app::{App, folder};
use crate::args::ProfileOptions;
use crate::failure::{Exit, Outcome};
use crate::table::Table;
use crate::terminal::Style;

pub(crate) fn list(app: &App, options: &ProfileOptions) -> Outcome {
    let home = app.home()?;
    let config = app.config(&home)?;
    let sources = app.sources(&home, options, &folder(None)?)?;
    let chosen = app.profile_name(&config, options);
    let profiles = sources.profiles();
    if app.json {
        let profiles: Vec<Value> = profiles
            .iter()
            .map(|p| {
                let mut told = json!({
                    "name": p.name,
                    "description": p.description,
                    "file": p.file.as_ref().map(|file| file.display().to_string()),
                    "builtin": p.file.is_none(),
                    "chosen": p.name == chosen,
                });
                if let Err(problem) = sources.profile(&p.name) {
                    told["problem"] = problem.to_string().into();
                }
                told
            })
            .collect();
        let all = json!({ "schema_version": 1, "profiles": profiles });
        app.terminal.line(&all.to_string())?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::default();
    for profile in profiles {
        let mark = if profile.name == chosen { "*" } else { " " };
        let problem = sources.profile(&profile.name).err();
        let told = match &problem {
            Some(problem) => (format!("cannot be used: {problem}"), Some(Style::Red)),
            None => (profile.description.unwrap_or_default(), None),
        };
        let from = profile.file.map_or("built in".to_owned(), |file| file.display().to_string());
        table.row([
            (format!("{mark} {}", profile.name), Some(Style::Bold)),
            (from, Some(Style::Dim)),
            told,
        ]);
    }
    app.terminal.line(&table.render(&app.terminal))?;
    for idle in sources.ineffective_rules() {
        app.terminal.note(&idle);
    }
    Ok(Exit::Ok)
}

pub(crate) fn show(app: &App, name: Option<String>, options: ProfileOptions) -> Outcome {
    let ready = app.ready()?;
    let options = ProfileOptions { profile: name.or(options.profile), ..options };
    let permissions = app.permissions(&ready, &options, &folder(None)?, None)?;
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
        app.terminal.line(&all.to_string())?;
        return Ok(Exit::Ok);
    }
    for profile in permissions.layers() {
        app.terminal.line(&profile_text(app, profile))?;
    }
    let held = if permissions.sandbox().enabled { "on" } else { "off" };
    app.terminal.line(&format!("sandbox {held}"))?;
    for socket in &permissions.profile().sockets {
        app.terminal.line(&format!("socket  {socket}"))?;
    }
    let always = "always: private keys, credential stores, start-up files and hermes's own state \
                  are protected; hard blocks are denied (docs/permissions.md)";
    app.terminal.line(&app.terminal.paint(Style::Dim, always))?;
    Ok(Exit::Ok)
}

fn profile_text(app: &App, profile: &PermissionProfile) -> String {
    let title = app.terminal.paint(Style::Bold, &profile.level.name);
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
    let list = |rules: &[PolicyRule]| rules.iter().map(written).collect::<Vec<_>>().join(", ");
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
        parts.push(format!("only {}, {rest} elsewhere", selected(allowed)));
    }
    for (word, list) in [("never", &restriction.denied), ("ask for", &restriction.asked)] {
        if !list.is_empty() {
            parts.push(format!("{word} {}", selected(list)));
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

/// Resources as they were written.
fn selected(list: &ResourceSelectors) -> String {
    let paths = list.paths.iter().map(ToString::to_string);
    let commands = list.commands.iter().map(|command| format!("`{command}`"));
    let names = list.hosts.iter().chain(&list.names).map(ToString::to_string);
    paths.chain(commands).chain(names).collect::<Vec<_>>().join(", ")
}

/// A rule without the name of its level.
fn written(rule: &PolicyRule) -> String {
    let text = rule.to_string();
    let text = text.split_once(": ").map_or(text.as_str(), |(_, rest)| rest);
    text.split_once(' ').map_or(text, |(_, rest)| rest).to_owned()
}

fn profile_json(profile: &PermissionProfile) -> Value {
    let rules = |rules: &[PolicyRule]| -> Vec<Value> {
        let rule = |rule: &PolicyRule| {
            let place = rule.origin.place.as_ref();
            json!({
                "rule": written(rule),
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
