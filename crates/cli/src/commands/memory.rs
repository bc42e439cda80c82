//! `hermes memory`: notes that persist across sessions.

use std::io::{IsTerminal as _, Read as _};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::{Subcommand, ValueEnum};
use hermes::SecretsProvider;
use hermes::core::ErrorKind;
use hermes::engine::SecretSource as _;
use hermes_config::{HermesHome, ResolvedConfig};
use hermes_memory::{
    MemoryError, MemoryLimits, MemoryStore as Lists, MemoryTarget, MemoryTier, MemoryWriteReport,
};
use serde_json::{Value, json};

use crate::app::AppContext;
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::table::TextTable;
use crate::terminal::{OutputStyle, one_line, show_control_chars};

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// Show the entries
    #[command(alias = "list")]
    Show {
        /// List to show [default: all]
        list: Option<MemoryListName>,
        /// Include archived entries
        #[arg(long)]
        archive: bool,
    },
    /// Search the entries, including archived ones
    Search {
        /// Words to search for
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Edit a list in your editor, or replace it with standard input
    Edit {
        /// List to edit
        #[arg(default_value = "memory")]
        list: MemoryListName,
    },
    /// List the versions of a list, or show one
    History {
        /// List whose versions to show
        #[arg(default_value = "memory")]
        list: MemoryListName,
        /// Number of the version to show
        #[arg(long, value_name = "N")]
        version: Option<u64>,
    },
    /// Restore a list from an earlier version
    Rollback {
        /// Version number from `history`
        version: u64,
        /// List to restore
        #[arg(default_value = "memory")]
        list: MemoryListName,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum MemoryListName {
    /// Notes on the work
    Memory,
    /// Facts about the user
    User,
}

impl From<MemoryListName> for MemoryTarget {
    fn from(list: MemoryListName) -> Self {
        match list {
            MemoryListName::Memory => Self::Memory,
            MemoryListName::User => Self::User,
        }
    }
}

impl From<MemoryError> for CommandError {
    fn from(error: MemoryError) -> Self {
        let text = error.to_string();
        match error {
            MemoryError::NoVersion(_) => {
                CommandError::not_found(text).hint("`hermes memory history` lists the versions.")
            }
            MemoryError::Disabled(_) => CommandError::failed(ErrorKind::Unavailable, text).hint(
                "Set memory.memory_enabled or memory.user_profile_enabled in config.yaml \
                    to enable it.",
            ),
            MemoryError::Busy { .. } => CommandError::failed(ErrorKind::Timeout, text),
            MemoryError::Io { .. } => CommandError::failed(ErrorKind::Unavailable, text)
                .hint("Check the files in HERMES_HOME/memories."),
            _ => CommandError::failed(ErrorKind::Internal, text)
                .hint("Check the files in HERMES_HOME/memories."),
        }
    }
}

/// Opens the lists of a home with the configured limits.
pub(crate) fn open_lists(
    home: &HermesHome,
    config: &ResolvedConfig,
) -> Result<Lists, CommandError> {
    let said = &config.settings.memory;
    let limit =
        |is_kept: bool, limit: u64| is_kept.then(|| usize::try_from(limit).unwrap_or(usize::MAX));
    let limits = MemoryLimits {
        memory: limit(said.memory_enabled, said.memory_char_limit),
        user: limit(said.user_profile_enabled, said.user_char_limit),
    };
    let secrets = SecretsProvider::new(home);
    let check = move |text: &str| secrets.redactor().contains_secret(text);
    Ok(Lists::new(home.root().join("memories"), limits).with_secret_check(Arc::new(check)))
}

pub(crate) fn run(app: &AppContext, command: MemoryCommand) -> CommandResult {
    let home = app.home()?;
    let lists = open_lists(&home, &app.config(&home)?)?;
    match command {
        MemoryCommand::Show { list, archive } => {
            show(app, &lists, list.map(MemoryTarget::from), archive)?
        }
        MemoryCommand::Search { words } => search(app, &lists, &words.join(" "))?,
        MemoryCommand::Edit { list } => {
            let target = MemoryTarget::from(list);
            let text = match std::io::stdin().is_terminal() {
                true => edit_in_editor(&lists, target)?,
                false => read_piped_list()?,
            };
            if text.trim().is_empty() && !std::io::stdin().is_terminal() {
                return Err(CommandError::usage("Standard input is empty; nothing was changed")
                    .hint("To empty the list, edit it at a terminal."));
            }
            report_write(app, target, &lists.edit(target, &text)?)?;
            for (at, rule) in lists.read(target)?.suspicious {
                let at = at + 1;
                app.terminal
                    .warn(&format!("Entry {at} looks like {rule}; it is hidden from models."));
            }
        }
        MemoryCommand::History { list, version } => history(app, &lists, list.into(), version)?,
        MemoryCommand::Rollback { version, list } => {
            let target = MemoryTarget::from(list);
            report_write(app, target, &lists.roll_back(target, version)?)?;
        }
    }
    Ok(CliExitCode::Ok)
}

fn show(
    app: &AppContext,
    lists: &Lists,
    only: Option<MemoryTarget>,
    archive: bool,
) -> Result<(), CommandError> {
    let mut all = serde_json::Map::new();
    for target in MemoryTarget::ALL {
        let is_meant = only.is_none_or(|only| only == target);
        if !is_meant || (only.is_none() && !lists.is_enabled(target)) {
            continue;
        }
        let list = lists.read(target)?;
        let mut archived = lists.search(target, "")?;
        archived.retain(|hit| hit.tier == MemoryTier::Archive);
        if app.json {
            let mut shown = json!(list);
            if archive {
                shown["archive"] = archived.iter().map(|hit| hit.text.clone()).collect();
            }
            shown["file"] = lists.file(target).display().to_string().into();
            all.insert(target.name().into(), shown);
            continue;
        }
        let count = archived.len();
        let heading = format!("{target}  {}  {count} archived", list.usage);
        app.terminal.print_line(&app.terminal.paint(OutputStyle::Bold, &heading))?;
        let archived = archived.into_iter().filter(|_| archive).map(|hit| ("~", hit.text));
        for (mark, entry) in list.entries.into_iter().map(|entry| ("-", entry)).chain(archived) {
            let text = show_control_chars(&entry).replace('\n', "\n  ");
            app.terminal.print_line(&format!("{mark} {text}"))?;
        }
    }
    if app.json {
        all.insert("schema_version".into(), 1.into());
        app.terminal.print_line(&Value::Object(all).to_string())?;
    }
    Ok(())
}

fn search(app: &AppContext, lists: &Lists, words: &str) -> Result<(), CommandError> {
    let mut found = Vec::new();
    for target in MemoryTarget::ALL.into_iter().filter(|target| lists.is_enabled(*target)) {
        found.extend(lists.search(target, words)?.into_iter().map(|hit| (target, hit)));
    }
    if app.json {
        let results: Vec<Value> = found
            .iter()
            .map(|(target, hit)| json!({ "target": target, "tier": hit.tier, "text": hit.text }))
            .collect();
        app.terminal.print_line(&json!({ "schema_version": 1, "results": results }).to_string())?;
        return Ok(());
    }
    for (target, hit) in found {
        let mark = if hit.tier == MemoryTier::Archive { " (archived)" } else { "" };
        let text = hit.text.lines().map(one_line).collect::<Vec<_>>().join(" ⏎ ");
        app.terminal.print_line(&format!("{target}{mark}: {text}"))?;
    }
    Ok(())
}

fn history(
    app: &AppContext,
    lists: &Lists,
    target: MemoryTarget,
    number: Option<u64>,
) -> Result<(), CommandError> {
    let versions = lists.history(target)?;
    if let Some(number) = number {
        let version = versions.into_iter().find(|version| version.number == number);
        let version = version.ok_or(MemoryError::NoVersion(number))?;
        let text = if app.json {
            json!(version).to_string()
        } else {
            show_control_chars(&version.text).into_owned()
        };
        app.terminal.print_line(&text)?;
        return Ok(());
    }
    if app.json {
        app.terminal
            .print_line(&json!({ "schema_version": 1, "versions": versions }).to_string())?;
        return Ok(());
    }
    if versions.is_empty() {
        app.terminal.note("No versions yet.");
        return Ok(());
    }
    let mut table = TextTable::default();
    for version in versions {
        let first = version.text.lines().next().unwrap_or_default();
        table.push_row([
            (version.number.to_string(), Some(OutputStyle::Bold)),
            (format_age(version.at_ms), Some(OutputStyle::Dim)),
            (one_line(&version.cause), None),
            (format!("{} characters", version.text.chars().count()), None),
            (one_line(first), Some(OutputStyle::Dim)),
        ]);
    }
    app.terminal.print_line(&table.render(&app.terminal))?;
    Ok(())
}

fn report_write(
    app: &AppContext,
    target: MemoryTarget,
    written: &MemoryWriteReport,
) -> Result<(), CommandError> {
    if app.json {
        let shown = json!({
            "target": target, "version": written.version, "entry_count": written.entry_count,
            "archived_count": written.archived_count, "usage": written.usage,
        });
        app.terminal.print_line(&shown.to_string())?;
        return Ok(());
    }
    let done = match written.version {
        Some(number) => format!("{} Version {number}, {}.", written.notes.join(" "), written.usage),
        None => "Nothing changed.".to_owned(),
    };
    app.terminal.note(&done);
    Ok(())
}

fn read_piped_list() -> Result<String, CommandError> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|e| CommandError::usage(format!("Cannot read standard input: {e}")))?;
    Ok(text)
}

/// Returns the list as edited by the user. The editor works on a copy, so other
/// writers do not wait for it.
fn edit_in_editor(lists: &Lists, target: MemoryTarget) -> Result<String, CommandError> {
    let cannot = |what: &str, e: std::io::Error| {
        CommandError::failed(ErrorKind::Internal, format!("{what}: {e}"))
    };
    let before = std::fs::read_to_string(lists.file(target)).unwrap_or_default();
    let dir = tempfile::tempdir().map_err(|e| cannot("Cannot create a temporary directory", e))?;
    let copy = dir.path().join(format!("{}.md", target.name()));
    std::fs::write(&copy, &before).map_err(|e| cannot("Cannot write the copy", e))?;
    let chosen = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok());
    let editor = chosen.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "vi".into());
    let status = Command::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(&copy)
        .status()
        .map_err(|e| cannot("Cannot start the editor", e))?;
    if !status.success() {
        return Err(CommandError::failed(
            ErrorKind::Cancelled,
            format!("'{editor}' failed; nothing was changed"),
        )
        .hint("Set EDITOR to the command of your editor."));
    }
    let now = std::fs::read_to_string(lists.file(target)).unwrap_or_default();
    let after = std::fs::read_to_string(&copy).map_err(|e| cannot("Cannot read the copy", e))?;
    if now != before && after != before {
        let kept = lists.dir().join(format!("{}.edited.md", target.name()));
        std::fs::write(&kept, after).map_err(|e| cannot("Cannot save your text", e))?;
        return Err(CommandError::failed(
            ErrorKind::Conflict,
            "The list was changed while you were editing",
        )
        .hint(format!("Your text was saved to {}.", kept.display())));
    }
    Ok(if after == before { now } else { after })
}

fn format_age(at_ms: u64) -> String {
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(at_ms);
    let since = SystemTime::now().duration_since(at).unwrap_or_default().as_secs();
    match since {
        0..60 => format!("{since} s ago"),
        60..3600 => format!("{} min ago", since / 60),
        3600..86_400 => format!("{} h ago", since / 3600),
        _ => format!("{} days ago", since / 86_400),
    }
}
