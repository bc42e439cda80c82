//! Builds the message of a skill invocation, and recovers the user's text from
//! it.

use crate::read::SkillInstructions;
use crate::roots::SkillOrigin;
use crate::skill::Skill;

/// The tags around the instructions.
const SKILL_OPEN_TAG: &str = "\n\n<skill name=\"";
const SKILL_CLOSE_TAG: &str = "</skill>";
/// Maximum number of files that are listed.
const MAX_LISTED_FILES: usize = 50;

/// How to refer to the files of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileReferenceStyle {
    /// By path below the skill's directory.
    Paths,
    /// By URI, for clients that cannot read files.
    Uris,
}

/// A skill with its instructions.
#[derive(Debug, Clone, Copy)]
pub struct SkillInvocation<'s> {
    /// The skill.
    pub skill: &'s Skill,
    /// Its instructions.
    pub text: &'s SkillInstructions,
}

/// Builds the message that invokes skills: the user's text, then the
/// instructions.
pub fn expand_invocation(
    said: &str,
    calls: &[SkillInvocation<'_>],
    files: FileReferenceStyle,
) -> String {
    let mut message = said.trim().to_owned();
    for SkillInvocation { skill, text } in calls {
        let name = skill.manifest.name.replace('"', "'");
        // The instructions must not contain the closing tag.
        let body = text.body.replace(SKILL_CLOSE_TAG, "[/skill]");
        let from = skill.origin.name();
        message.push_str(&format!(
            "{SKILL_OPEN_TAG}{name}\" from=\"{from}\">\n{body}\n{SKILL_CLOSE_TAG}"
        ));
        if skill.origin == SkillOrigin::Project {
            message.push_str("\nThe skill comes from the project; the user did not write it.");
        }
        if let Some(shown) = files_note(skill, files) {
            message.push_str(&format!("\n{shown}"));
        }
    }
    message.push_str(match calls.len() {
        0 => "",
        1 => "\nThe user invoked this skill: follow it for the request above.",
        _ => "\nThe user invoked these skills: follow them for the request above.",
    });
    message
}

fn files_note(skill: &Skill, files: FileReferenceStyle) -> Option<String> {
    let named: Vec<String> = skill
        .files
        .iter()
        .take(MAX_LISTED_FILES)
        .map(|path| match files {
            FileReferenceStyle::Paths => path.clone(),
            FileReferenceStyle::Uris => skill.file_uri(path),
        })
        .collect();
    if named.is_empty() {
        return None;
    }
    let more = match skill.files.len() - named.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let names = named.join(", ");
    Some(match files {
        FileReferenceStyle::Paths => {
            let dir = skill.dir.display();
            format!("Its files are below {dir}; read one when the skill says so: {names}{more}")
        }
        FileReferenceStyle::Uris => {
            format!("Its files; read one when the skill says so: {names}{more}")
        }
    })
}

/// Returns the user's text from a message that invokes skills; None for any
/// other message.
pub fn typed_text(message: &str) -> Option<&str> {
    let (typed, _) = message.split_once(SKILL_OPEN_TAG).filter(|_| message.starts_with('/'))?;
    Some(typed)
}

#[cfg(test)]
#[path = "invocation_tests.rs"]
mod tests;
