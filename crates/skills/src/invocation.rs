//! A skill that is called for: what is said to the model then, and what the person had typed.

use crate::read::SkillInstructions;
use crate::roots::SkillOrigin;
use crate::skill::Skill;

/// What stands around the instructions.
const SKILL_OPEN_TAG: &str = "\n\n<skill name=\"";
const SKILL_CLOSE_TAG: &str = "</skill>";
/// So many files are named.
const MAX_LISTED_FILES: usize = 50;

/// How the files of a skill are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileReferenceStyle {
    /// By their paths below the skill's folder.
    Paths,
    /// By their addresses, for clients that cannot read files.
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

/// The message that calls for skills: what the person has said, then the instructions.
pub fn expand_invocation(
    said: &str,
    calls: &[SkillInvocation<'_>],
    files: FileReferenceStyle,
) -> String {
    let mut message = said.trim().to_owned();
    for SkillInvocation { skill, text } in calls {
        let name = skill.manifest.name.replace('"', "'");
        // The instructions end where we say, not where they say themselves.
        let body = text.body.replace(SKILL_CLOSE_TAG, "[/skill]");
        let from = skill.origin.name();
        message.push_str(&format!(
            "{SKILL_OPEN_TAG}{name}\" from=\"{from}\">\n{body}\n{SKILL_CLOSE_TAG}"
        ));
        if skill.origin == SkillOrigin::Project {
            message.push_str("\nIt came with the project; the user has not written it.");
        }
        if let Some(told) = files_note(skill, files) {
            message.push_str(&format!("\n{told}"));
        }
    }
    message.push_str(match calls.len() {
        0 => "",
        1 => "\nThe user has called for this skill: follow it in what is said above.",
        _ => "\nThe user has called for these skills: follow them in what is said above.",
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
            let folder = skill.dir.display();
            format!("Its files are below {folder}; read one when it says so: {names}{more}")
        }
        FileReferenceStyle::Uris => format!("Its files; read one when it says so: {names}{more}"),
    })
}

/// What the person had typed of a message that calls for skills; none if it is another message.
pub fn typed_text(message: &str) -> Option<&str> {
    let (typed, _) = message.split_once(SKILL_OPEN_TAG).filter(|_| message.starts_with('/'))?;
    Some(typed)
}

#[cfg(test)]
#[path = "invocation_tests.rs"]
mod tests;
