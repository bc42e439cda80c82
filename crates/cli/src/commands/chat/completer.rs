//! Completion in the chat: commands and skills after `/`, files after `@`.

use std::path::Path;

use hermes_chat::{CompletionCandidate, CompletionList, LineCompleter};
use hermes_skills::SkillLibrary;

use super::skills;
use super::slash_commands::SLASH_COMMANDS;

/// Maximum number of files that are offered.
const MAX_FILE_CANDIDATES: usize = 50;

/// Completes commands, skills and files.
#[derive(Debug)]
pub(crate) struct ChatCompleter {
    pub(crate) skills: SkillLibrary,
}

impl LineCompleter for ChatCompleter {
    fn complete(&self, line: &str, cursor: usize) -> CompletionList {
        let typed = line.get(..cursor).unwrap_or(line);
        if let Some(command) = typed.strip_prefix('/')
            && !command.contains(char::is_whitespace)
        {
            let fits = SLASH_COMMANDS.iter().filter(|order| order.name.starts_with(command));
            let orders = fits.map(|order| CompletionCandidate {
                text: format!(
                    "/{}{}",
                    order.name,
                    if order.arguments.is_empty() { "" } else { " " }
                ),
                note: order.about.to_owned(),
            });
            let called = skills::candidates(&self.skills, command, "/");
            return CompletionList { start: 0, candidates: orders.chain(called).collect() };
        }
        if let Some(rest) = typed.strip_prefix("/skills ") {
            let begun = rest.strip_prefix("show ").unwrap_or(rest);
            if !begun.contains(char::is_whitespace) {
                let mut candidates = skills::candidates(&self.skills, begun, "");
                if begun == rest && "show".starts_with(begun) {
                    let note = "show a skill".to_owned();
                    candidates.insert(0, CompletionCandidate { text: "show ".to_owned(), note });
                }
                return CompletionList { start: typed.len() - begun.len(), candidates };
            }
        }
        let start = typed.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        match typed.get(start..).and_then(|word| word.strip_prefix('@')) {
            Some(word) => CompletionList { start, candidates: matching_files(word) },
            None => CompletionList::default(),
        }
    }
}

/// Returns the files whose path starts with the typed text.
fn matching_files(typed: &str) -> Vec<CompletionCandidate> {
    let (dir, begun) = typed.rsplit_once('/').map_or(("", typed), |(f, b)| (f, b));
    let looked = if typed.starts_with('/') && dir.is_empty() { "/" } else { dir };
    let looked = if looked.is_empty() { Path::new(".") } else { Path::new(looked) };
    let Ok(entries) = std::fs::read_dir(looked) else { return Vec::new() };
    let mut found: Vec<(String, bool)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_hidden = name.starts_with('.') && !begun.starts_with('.');
            (name.starts_with(begun) && !is_hidden).then_some((name, is_folder))
        })
        .collect();
    found.sort();
    let prefix = if typed.contains('/') { format!("{dir}/") } else { String::new() };
    let candidate = |(name, is_folder): (String, bool)| CompletionCandidate {
        text: format!("@{prefix}{name}{}", if is_folder { "/" } else { " " }),
        note: String::new(),
    };
    found.into_iter().take(MAX_FILE_CANDIDATES).map(candidate).collect()
}
