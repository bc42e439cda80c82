//! Skills in chat: the `/skills` command and invocation by name.

use hermes::engine::SecretSource as _;
use hermes_chat::CompletionCandidate;
use hermes_skills::{
    FileReferenceStyle, Skill, SkillError, SkillInstructions, SkillInvocation, SkillLibrary,
    expand_invocation,
};

use super::session::ChatSession;
use super::slash_commands::SLASH_COMMANDS;
use crate::command_error::CommandError;
use crate::commands::skills::{origin, skill_fields, skill_summary};

/// Maximum number of skills invoked by one message.
const MAX_SKILLS_PER_MESSAGE: usize = 5;
/// Maximum column width of the skills table.
const MAX_COLUMN_WIDTH: usize = 32;
const MAX_DESCRIPTION_CHARS: usize = 200;
/// Maximum description length in the completion menu.
const MAX_NOTE_CHARS: usize = 70;

/// Returns the name to type. A `/` in it would look like a path.
fn slash_name(skill: &Skill) -> String {
    skill.qualified_name.replace('/', ":")
}

/// Runs `/skills …`: shows the table or one skill, or returns the message that
/// invokes a skill.
pub(crate) fn run_skills_command(
    sitting: &ChatSession<'_>,
    rest: &str,
) -> Result<Option<String>, CommandError> {
    let (first, more) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match first {
        "" | "list" => show_table(sitting),
        "show" if more.trim().is_empty() => {
            return Err(CommandError::usage("/skills show requires a name"));
        }
        "show" => show_skill(sitting, more.trim())?,
        _ => {
            let called = invocation_message(sitting, rest)?;
            // `/skills NAME` never falls back to another command.
            let missing =
                || {
                    CommandError::from(sitting.skills.refresh().find_ready(first).err().unwrap_or(
                        SkillError::NotFound { wanted: first.to_owned(), near: Vec::new() },
                    ))
                };
            return called.map(Some).ok_or_else(missing);
        }
    }
    Ok(None)
}

fn show_table(sitting: &ChatSession<'_>) {
    let catalogue = sitting.skills.refresh().with_texts_scanned();
    let mut text = String::new();
    let rows = catalogue
        .all()
        .iter()
        .map(|skill| (slash_name(skill), origin(skill), skill_summary(skill)));
    let rows: Vec<(String, String, String)> = rows.collect();
    let widest = |of: fn(&(String, String, String)) -> &String| {
        rows.iter().map(|row| of(row).chars().count()).max().unwrap_or(0).min(MAX_COLUMN_WIDTH)
    };
    let (names, origins) = (widest(|row| &row.0), widest(|row| &row.1));
    for (name, origin, about) in &rows {
        let about = hermes::core::text::excerpt(about, MAX_DESCRIPTION_CHARS);
        text.push_str(&format!("{name:<names$}  {origin:<origins$}  {about}\n"));
    }
    for note in catalogue.notes() {
        text.push_str(&format!("{note}\n"));
    }
    text.push_str(match catalogue.all().is_empty() {
        true => {
            "No skills yet. To add one, create a directory with a SKILL.md in \
            HERMES_HOME/skills."
        }
        false => "Type /NAME TASK to use a skill, /skills show NAME to view it.",
    });
    sitting.screen.note(&text);
}

fn show_skill(sitting: &ChatSession<'_>, name: &str) -> Result<(), CommandError> {
    let catalogue = sitting.skills.refresh().with_texts_scanned();
    let skill = catalogue.find(name)?;
    let mut text = String::new();
    for (name, fact) in skill_fields(skill) {
        text.push_str(&format!("{name:<12} {fact}\n"));
    }
    sitting.screen.note(text.trim_end());
    if skill.is_ready() {
        let body = skill.instructions(Some(&sitting.agent_session.session))?.body;
        sitting.screen.text(&sitting.ready.secrets().redactor().redact(&body));
        sitting.screen.end_text();
    }
    Ok(())
}

/// Returns the message of `/NAME TASK`, or of several names; `None` if the
/// first is not a skill.
pub(crate) fn invocation_message(
    sitting: &ChatSession<'_>,
    order: &str,
) -> Result<Option<String>, CommandError> {
    let catalogue = sitting.skills.refresh();
    let mut skills: Vec<&Skill> = Vec::new();
    let mut rest = order.trim();
    while skills.len() < MAX_SKILLS_PER_MESSAGE {
        let (word, more) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let name = match skills.is_empty() {
            true => Some(word),
            false => word.strip_prefix('/').filter(|name| !name.is_empty()),
        };
        let Some(name) = name else { break };
        match catalogue.find_ready(name) {
            Ok(skill)
                if skills.iter().any(|known| known.qualified_name == skill.qualified_name) => {}
            Ok(skill) => skills.push(skill),
            Err(SkillError::NotFound { .. }) => break,
            Err(error) => return Err(error.into()),
        }
        rest = more.trim_start();
    }
    if skills.is_empty() {
        return Ok(None);
    }
    let session = Some(&*sitting.agent_session.session);
    let texts: Vec<SkillInstructions> =
        skills.iter().map(|skill| skill.instructions(session)).collect::<Result<_, _>>()?;
    let calls: Vec<SkillInvocation<'_>> =
        skills.iter().zip(&texts).map(|(skill, text)| SkillInvocation { skill, text }).collect();
    let names: Vec<String> = skills.iter().map(|skill| format!("/{}", slash_name(skill))).collect();
    let said = format!("{} {rest}", names.join(" "));
    let message = expand_invocation(&said, &calls, FileReferenceStyle::Paths);
    for (skill, text) in skills.iter().zip(&texts) {
        let size = text.body.len() / 4;
        let from = skill.path().display().to_string();
        sitting
            .screen
            .note(&format!("Loaded skill {} (about {size} tokens): {from}", skill.manifest.name));
    }
    Ok(Some(sitting.ready.secrets().redactor().redact(&message).into_owned()))
}

/// Returns completions for skills that start with `begun`, each prefixed with
/// `before`.
pub(crate) fn candidates(
    shelf: &SkillLibrary,
    begun: &str,
    before: &str,
) -> Vec<CompletionCandidate> {
    let catalogue = shelf.recent();
    let fits = |name: &String| name.starts_with(begun);
    let is_hidden = |name: &String| before == "/" && SLASH_COMMANDS.iter().any(|o| o.name == name);
    let named = catalogue.ready().map(|skill| (slash_name(skill), skill));
    let named = named.filter(|(name, _)| fits(name) && !is_hidden(name));
    let candidate = |(name, skill): (String, &Skill)| CompletionCandidate {
        text: format!("{before}{name} "),
        note: hermes::core::text::excerpt(&skill.manifest.description, MAX_NOTE_CHARS).into_owned(),
    };
    named.map(candidate).collect()
}
