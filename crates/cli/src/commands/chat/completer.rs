//! What can be typed: commands after `/`, files after `@`.

use std::path::Path;

use hermes_chat::{Candidate, Completer, Completions};

use super::orders::ORDERS;

/// Most files that are offered.
const MOST: usize = 50;

/// Completes commands and files.
#[derive(Debug)]
pub(crate) struct Words;

impl Completer for Words {
    fn complete(&self, line: &str, cursor: usize) -> Completions {
        let typed = line.get(..cursor).unwrap_or(line);
        if let Some(command) = typed.strip_prefix('/')
            && !command.contains(char::is_whitespace)
        {
            let fits = ORDERS.iter().filter(|order| order.name.starts_with(command));
            let candidates = fits.map(|order| Candidate {
                text: format!("/{}{}", order.name, if order.takes.is_empty() { "" } else { " " }),
                note: order.about.to_owned(),
            });
            return Completions { start: 0, candidates: candidates.collect() };
        }
        let start = typed.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        match typed.get(start..).and_then(|word| word.strip_prefix('@')) {
            Some(word) => Completions { start, candidates: files(word) },
            None => Completions::default(),
        }
    }
}

/// Files whose path begins so.
fn files(typed: &str) -> Vec<Candidate> {
    let (folder, begun) = typed.rsplit_once('/').map_or(("", typed), |(f, b)| (f, b));
    let looked = if typed.starts_with('/') && folder.is_empty() { "/" } else { folder };
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
    let prefix = if typed.contains('/') { format!("{folder}/") } else { String::new() };
    let candidate = |(name, is_folder): (String, bool)| Candidate {
        text: format!("@{prefix}{name}{}", if is_folder { "/" } else { " " }),
        note: String::new(),
    };
    found.into_iter().take(MOST).map(candidate).collect()
}
