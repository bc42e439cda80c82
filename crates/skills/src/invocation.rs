//! A skill that is called for: what is said to the model then, and what the person had typed.

use crate::place::Origin;
use crate::read::Text;
use crate::skill::Skill;

/// What stands around the instructions.
const OPENED: &str = "\n\n<skill name=\"";
const CLOSED: &str = "</skill>";
/// So many files are named.
const FILES: usize = 50;

/// How the files of a skill are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// By their paths below the skill's folder.
    Paths,
    /// By their addresses, for clients that cannot read files.
    Addresses,
}

/// A skill with its instructions.
#[derive(Debug, Clone, Copy)]
pub struct Call<'s> {
    /// The skill.
    pub skill: &'s Skill,
    /// Its instructions.
    pub text: &'s Text,
}

/// The message that calls for skills: what the person has said, then the instructions.
pub fn expand(said: &str, calls: &[Call<'_>], files: Files) -> String {
    let mut message = said.trim().to_owned();
    for Call { skill, text } in calls {
        let name = skill.head.name.replace('"', "'");
        // The instructions end where we say, not where they say themselves.
        let body = text.body.replace(CLOSED, "[/skill]");
        let from = skill.origin.name();
        message.push_str(&format!("{OPENED}{name}\" from=\"{from}\">\n{body}\n{CLOSED}"));
        if skill.origin == Origin::Project {
            message.push_str("\nIt came with the project; the user has not written it.");
        }
        if let Some(told) = told_files(skill, files) {
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

fn told_files(skill: &Skill, files: Files) -> Option<String> {
    let named: Vec<String> = skill
        .files
        .iter()
        .take(FILES)
        .map(|path| match files {
            Files::Paths => path.clone(),
            Files::Addresses => skill.address_of(path),
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
        Files::Paths => {
            let folder = skill.folder.display();
            format!("Its files are below {folder}; read one when it says so: {names}{more}")
        }
        Files::Addresses => format!("Its files; read one when it says so: {names}{more}"),
    })
}

/// What the person had typed of a message that calls for skills; none if it is another message.
pub fn typed(message: &str) -> Option<&str> {
    let (typed, _) = message.split_once(OPENED).filter(|_| message.starts_with('/'))?;
    Some(typed)
}

#[cfg(test)]
#[path = "invocation_tests.rs"]
mod tests;
