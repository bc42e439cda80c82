//! `hermes skills`: lists skills, shows their contents, and explains why one is
//! unusable.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use hermes::core::ErrorKind;
use hermes::engine::SecretSource as _;
use hermes_config::{HermesHome, ResolvedConfig};
use hermes_skills::{
    Skill, SkillError, SkillFileContent, SkillLibrary, SkillNote, SkillSettings, SkillStatus,
    skill_roots,
};
use serde_json::{Value, json};

use crate::app::{AppContext, working_dir};
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::table::TextTable;
use crate::terminal::{OutputStyle, one_line, show_control_chars};
use hermes::SecretsProvider;

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List available skills, with unusable ones and the reason
    List {
        /// Directory to look up project skills from
        #[arg(long, short = 'C', value_name = "DIR")]
        cwd: Option<PathBuf>,
    },
    /// Show a skill or one of its files
    Show {
        /// Name of the skill
        name: String,
        /// File of the skill, relative to the skill's directory
        file: Option<String>,
        /// Directory to look up project skills from
        #[arg(long, short = 'C', value_name = "DIR")]
        cwd: Option<PathBuf>,
    },
}

impl From<SkillError> for CommandError {
    fn from(error: SkillError) -> Self {
        let failure = match &error {
            SkillError::NotFound { .. } | SkillError::NoFile { .. } => {
                CommandError::not_found(error.to_string())
            }
            SkillError::Ambiguous { .. } | SkillError::Outside { .. } => {
                CommandError::failed(ErrorKind::InvalidArguments, error.to_string())
            }
            SkillError::Threat { .. } => CommandError::failed(ErrorKind::Denied, error.to_string()),
            _ => CommandError::failed(ErrorKind::Unavailable, error.to_string()),
        };
        let hint = match &error {
            SkillError::Threat { threat, .. } => Some(format!(
                "Review line {} (“{}”). If the skill is yours and this is intentional, add it \
                 to skills.trusted in config.yaml.",
                threat.line, threat.excerpt
            )),
            SkillError::NotFound { near, .. } if near.is_empty() => {
                Some("Run `hermes skills list` for the available skills.".to_owned())
            }
            SkillError::Unusable { .. } => {
                Some("Run `hermes skills show NAME` for details.".to_owned())
            }
            other => other.hint(),
        };
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// Returns the skills of the home directory and of the project that contains
/// `cwd`.
pub(crate) fn skill_library(
    home: &HermesHome,
    config: &ResolvedConfig,
    cwd: &Path,
) -> SkillLibrary {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let choices = SkillSettings::read(config.values(), home.root(), &variable);
    // With a remote backend, `cwd` may be on another machine.
    let is_here = config.settings.terminal.backend == "local";
    SkillLibrary::new(skill_roots(home.root(), &choices, is_here.then_some(cwd)), choices)
}

pub(crate) fn run(app: &AppContext, command: SkillsCommand) -> CommandResult {
    let home = app.home()?;
    let config = app.config(&home)?;
    let keeper = SecretsProvider::new(&home);
    keeper.check()?;
    match command {
        SkillsCommand::List { cwd } => {
            list(app, &skill_library(&home, &config, &working_dir(cwd.as_deref())?))
        }
        SkillsCommand::Show { name, file, cwd } => {
            let shelf = skill_library(&home, &config, &working_dir(cwd.as_deref())?);
            let shown = SkillPrinter { app, secrets: &keeper };
            match file {
                None => shown.print_skill(&shelf, &name),
                Some(file) => shown.print_file(&shelf, &name, &file),
            }
        }
    }
}

fn list(app: &AppContext, shelf: &SkillLibrary) -> CommandResult {
    let catalogue = shelf.refresh().with_texts_scanned();
    if app.json {
        let skills: Vec<Value> = catalogue.all().iter().map(skill_json).collect();
        let notes: Vec<String> = catalogue.notes().iter().map(ToString::to_string).collect();
        let shown = json!({ "schema_version": 1, "skills": skills, "notes": notes });
        app.terminal.print_line(&shown.to_string())?;
        return Ok(CliExitCode::Ok);
    }
    for note in catalogue.notes() {
        app.terminal.warn(&one_line(&note.to_string()));
    }
    if catalogue.all().is_empty() {
        let dirs: Vec<String> =
            shelf.roots().iter().take(1).map(|place| place.dir.display().to_string()).collect();
        app.terminal.note(&format!(
            "No skills yet. Add a directory with a SKILL.md in {}.",
            dirs.join(", ")
        ));
        return Ok(CliExitCode::Ok);
    }
    let mut table = TextTable::default();
    for skill in catalogue.all() {
        let style = if skill.is_ready() { OutputStyle::Bold } else { OutputStyle::Dim };
        table.push_row([
            (one_line(&skill.qualified_name), Some(style)),
            (origin(skill), Some(OutputStyle::Dim)),
            (skill_summary(skill), None),
        ]);
    }
    app.terminal.print_line(&table.render(&app.terminal))?;
    Ok(CliExitCode::Ok)
}

/// Returns a skill's origin, with its category if it has one.
pub(crate) fn origin(skill: &Skill) -> String {
    match &skill.category {
        Some(category) => format!("{} {}", skill.origin, one_line(category)),
        None => skill.origin.to_string(),
    }
}

/// Returns a skill's description, or why it is unusable.
pub(crate) fn skill_summary(skill: &Skill) -> String {
    match skill.unusable_reason() {
        None => one_line(&skill.manifest.description),
        Some(why) => format!("[{}] {}", skill.status.name(), one_line(&why)),
    }
}

fn skill_json(skill: &Skill) -> Value {
    let head = &skill.manifest;
    let shown = |note: &SkillNote| json!({ "line": note.line, "text": note.text });
    let line = match &skill.status {
        SkillStatus::Broken(note) => note.line,
        _ => None,
    };
    json!({
        "name": head.name,
        "address": skill.qualified_name,
        "description": head.description,
        "category": skill.category,
        "origin": skill.origin.name(),
        "path": skill.path().display().to_string(),
        "status": skill.status.name(),
        "reason": skill.unusable_reason(),
        "line": line,
        "version": head.version,
        "license": head.license,
        "author": head.author,
        "compatibility": head.compatibility,
        "platforms": head.platforms,
        "tags": head.tags,
        "related_skills": head.related,
        "required_environment_variables": head.variables,
        "allowed_tools": head.tools,
        "files": skill.files,
        "notes": skill.notes.iter().map(shown).collect::<Vec<_>>(),
    })
}

/// Returns the fields of a skill for display, one line each.
pub(crate) fn skill_fields(skill: &Skill) -> Vec<(&'static str, String)> {
    let head = &skill.manifest;
    let mut facts = vec![("name", head.name.clone())];
    facts.push(("from", format!("{} ({})", skill.path().display(), origin(skill))));
    facts.push(("for", head.description.clone()));
    let texts = [
        ("version", &head.version),
        ("author", &head.author),
        ("license", &head.license),
        ("works with", &head.compatibility),
    ];
    facts.extend(texts.into_iter().filter_map(|(name, text)| Some((name, text.clone()?))));
    let lists = [
        ("systems", &head.platforms),
        ("tags", &head.tags),
        ("see also", &head.related),
        ("needs", &head.variables),
        ("uses", &head.tools),
        ("files", &skill.files),
    ];
    let said = lists.into_iter().filter(|(_, list)| !list.is_empty());
    facts.extend(said.map(|(name, list)| (name, list.join(", "))));
    facts.extend(skill.notes.iter().map(|note| ("note", note.to_string())));
    if let Some(why) = skill.unusable_reason() {
        facts.push((skill.status.name(), why));
    }
    facts.retain(|(_, text)| !text.is_empty());
    facts.iter().map(|(name, text)| (*name, one_line(text))).collect()
}

/// Prints skills with secrets redacted.
struct SkillPrinter<'a> {
    app: &'a AppContext,
    secrets: &'a SecretsProvider,
}

impl SkillPrinter<'_> {
    fn print_skill(&self, shelf: &SkillLibrary, name: &str) -> CommandResult {
        let catalogue = shelf.refresh().with_texts_scanned();
        let skill = catalogue.find(name)?;
        let body = match skill.is_ready() {
            true => Some(self.redact(&skill.instructions(None)?.body)),
            false => None,
        };
        if self.app.json {
            let mut shown = skill_json(skill);
            shown["schema_version"] = 1.into();
            shown["content"] = body.into();
            self.app.terminal.print_line(&shown.to_string())?;
            return Ok(CliExitCode::Ok);
        }
        let mut table = TextTable::default();
        for (name, text) in skill_fields(skill) {
            table.push_row([(name.to_owned(), Some(OutputStyle::Dim)), (text, None)]);
        }
        self.app.terminal.print_line(&table.render(&self.app.terminal))?;
        if let Some(body) = body {
            self.print_text(&format!("\n{body}"))?;
        }
        Ok(CliExitCode::Ok)
    }

    fn print_file(&self, shelf: &SkillLibrary, name: &str, file: &str) -> CommandResult {
        let catalogue = shelf.refresh();
        let skill = catalogue.find_ready(name)?;
        let content = skill.read(file)?;
        let (text, bytes) = match content {
            SkillFileContent::Text(text) => (Some(self.redact(&text)), text.len()),
            SkillFileContent::Binary(bytes) => (None, bytes.len()),
        };
        if self.app.json {
            let shown = json!({
                "schema_version": 1, "name": skill.manifest.name, "file": file, "bytes": bytes,
                "is_binary": text.is_none(), "content": text,
            });
            self.app.terminal.print_line(&shown.to_string())?;
            return Ok(CliExitCode::Ok);
        }
        let Some(text) = text else {
            let what = format!("{file} is not a text file ({bytes} bytes)");
            return Err(CommandError::failed(ErrorKind::InvalidArguments, what)
                .hint(format!("It is {}.", skill.display_dir.join(file).display())));
        };
        self.print_text(&text)?;
        Ok(CliExitCode::Ok)
    }

    fn redact(&self, text: &str) -> String {
        self.secrets.redactor().redact(text).into_owned()
    }

    fn print_text(&self, text: &str) -> Result<(), CommandError> {
        let text = text.trim_end();
        match self.app.terminal.stdout_is_person {
            true => self.app.terminal.print_line(&show_control_chars(text))?,
            false => self.app.terminal.print_line(text)?,
        }
        Ok(())
    }
}
