//! Notes that persist across sessions.

use std::sync::Arc;

use hermes_core::{
    Effect, ErrorKind, JsonSchema, Resource, Scope, Tool, ToolContext, ToolError, ToolExample,
    ToolSpec, WorkingDir,
};
use hermes_memory::{
    MemoryEntries, MemoryError, MemoryHit, MemoryOperation, MemoryStore as Lists, MemoryTarget,
    MemoryWriteReport,
};
use serde::{Deserialize, Serialize};

/// Maximum number of search hits.
const MAX_HITS: usize = 10;

/// Maximum length of each hit, if there are several.
const MAX_HIT_CHARS: usize = 1_000;

#[derive(Debug, Default)]
pub(crate) struct Memory;

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TargetArg {
    #[default]
    Memory,
    User,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MemoryAction {
    Add,
    Replace,
    Remove,
    Archive,
    Read,
    Search,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// memory: notes on the work; user: who the user is and what they prefer
    #[serde(default)]
    target: TargetArg,
    /// One action; omit with operations
    #[serde(default)]
    action: Option<MemoryAction>,
    /// The new text, for add and replace
    #[serde(default)]
    content: Option<String>,
    /// A unique part of the entry; for replace, remove and archive
    #[serde(default)]
    old_text: Option<String>,
    /// Words to find, with search
    #[serde(default)]
    query: Option<String>,
    /// Several changes, all or none
    #[serde(default)]
    operations: Option<Vec<OperationArgs>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OperationArgs {
    action: MemoryAction,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    old_text: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum MemoryAnswer {
    Changed {
        success: bool,
        done: bool,
        target: MemoryTarget,
        usage: String,
        entry_count: usize,
        archived_count: usize,
        message: String,
        /// The beginnings of the entries that no longer fit.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        moved_to_archive: Vec<String>,
        note: &'static str,
    },
    List {
        target: MemoryTarget,
        #[serde(flatten)]
        list: MemoryEntries,
    },
    Found {
        target: MemoryTarget,
        query: String,
        count: usize,
        results: Vec<MemoryHit>,
    },
}

impl Args {
    fn target(&self) -> MemoryTarget {
        match self.target {
            TargetArg::Memory => MemoryTarget::Memory,
            TargetArg::User => MemoryTarget::User,
        }
    }

    fn scope(&self) -> Scope {
        match (&self.operations, self.action) {
            (None, Some(MemoryAction::Read | MemoryAction::Search)) => Scope::MEMORY_READ,
            _ => Scope::MEMORY_WRITE,
        }
    }

    /// Returns the requested changes.
    fn into_operations(self) -> Result<Vec<MemoryOperation>, ToolError> {
        match (self.operations, self.action) {
            (Some(steps), None) if !steps.is_empty() => {
                let count = steps.len();
                let numbered = steps.into_iter().enumerate();
                let read = numbered.map(|(at, step)| {
                    let place =
                        if count > 1 { format!("Operation {}: ", at + 1) } else { String::new() };
                    build_operation(step.action, step.content, step.old_text, &place)
                });
                read.collect()
            }
            (Some(_), Some(_)) => {
                Err(ToolError::invalid("Give either action or operations, not both"))
            }
            (None, Some(action)) => {
                Ok(vec![build_operation(action, self.content, self.old_text, "")?])
            }
            (_, None) => Err(ToolError::invalid(
                "No operation given: set action (add, replace, remove, archive, read, search) \
                 or operations",
            )),
        }
    }
}

fn build_operation(
    action: MemoryAction,
    content: Option<String>,
    old_text: Option<String>,
    place: &str,
) -> Result<MemoryOperation, ToolError> {
    let need = |value: Option<String>, name: &str| {
        value.filter(|text| !text.trim().is_empty()).ok_or_else(|| {
            let action = format!("{action:?}").to_lowercase();
            ToolError::invalid(format!("{place}{action} needs {name}"))
                .with_hint("content is the new text; old_text is a part of the entry to change.")
        })
    };
    Ok(match action {
        MemoryAction::Add => MemoryOperation::Add { content: need(content, "content")? },
        MemoryAction::Replace => MemoryOperation::Replace {
            old_text: need(old_text, "old_text")?,
            content: need(content, "content")?,
        },
        MemoryAction::Remove => MemoryOperation::Remove { old_text: need(old_text, "old_text")? },
        MemoryAction::Archive => MemoryOperation::Archive { old_text: need(old_text, "old_text")? },
        MemoryAction::Read | MemoryAction::Search => {
            return Err(ToolError::invalid(format!(
                "{place}Operations must be changes; call read and search on their own"
            )));
        }
    })
}

impl Tool for Memory {
    type Args = Args;
    type Output = MemoryAnswer;

    fn spec() -> ToolSpec {
        ToolSpec::new("memory", "memory")
            .emoji("🧠")
            .description(
                "Notes kept across sessions, shown to you at the start of each. Save what will \
                 matter again: preferences, corrections, facts of the environment, \
                 conventions; not progress or what is easily looked up. Short entries, one \
                 fact each. When a list is full, its oldest entries move to an archive that \
                 search finds.",
            )
            .preset_alias("save_memory", r#"{"action":"add"}"#)
            .parameter_alias("fact", "content")
            .parameter_alias("text", "content")
            .parameter_alias("old", "old_text")
            .keyword("remember")
            .keyword("note")
            .keyword("preference")
            .keyword("forget")
            .example(
                ToolExample::new(
                    "Remember a preference",
                    r#"{"target":"user","action":"add","content":"Prefers tabs over spaces."}"#,
                )
                .expects(r#"{"success":true,"entry_count":1}"#),
            )
            .example(
                ToolExample::new(
                    "Several changes at once",
                    r#"{"operations":[{"action":"add","content":"CI runs on Alpine."},{"action":"add","content":"Tests need a database."}]}"#,
                )
                .expects(r#"{"success":true,"entry_count":2,"target":"memory"}"#),
            )
            .example(
                ToolExample::new("Search entries that are not shown", r#"{"action":"search","query":"database"}"#)
                    .expects(r#"{"query":"database"}"#),
            )
    }

    fn effects(&self, args: &Args, _at: &WorkingDir) -> Vec<Effect> {
        vec![Effect::name(args.scope(), args.target().name())]
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<MemoryAnswer, ToolError> {
        cx.check_grant(&args.scope(), &Resource::Name(args.target().name().into()))?;
        let Some(lists) = cx.ports.get::<Lists>() else {
            return Err(ToolError::unavailable("No memory store is available"));
        };
        // Another process may hold the lock.
        let work = tokio::task::spawn_blocking(move || serve(&lists, args));
        work.await.map_err(|e| ToolError::internal(format!("The memory worker failed: {e}")))?
    }
}

fn serve(lists: &Arc<Lists>, args: Args) -> Result<MemoryAnswer, ToolError> {
    let target = args.target();
    if args.operations.is_none() {
        match args.action {
            Some(MemoryAction::Read) => {
                let list = lists.read(target).map_err(|e| memory_error(e, lists, target))?;
                return Ok(MemoryAnswer::List { target, list });
            }
            Some(MemoryAction::Search) => {
                let query = args.query.or(args.content).or(args.old_text).unwrap_or_default();
                let hits =
                    lists.search(target, &query).map_err(|e| memory_error(e, lists, target))?;
                return Ok(MemoryAnswer::Found {
                    target,
                    query,
                    count: hits.len(),
                    results: clip_hits(hits),
                });
            }
            _ => {}
        }
    }
    let operations = args.into_operations()?;
    let written = lists.apply(target, &operations).map_err(|e| memory_error(e, lists, target))?;
    Ok(changed_answer(target, written))
}

fn changed_answer(target: MemoryTarget, written: MemoryWriteReport) -> MemoryAnswer {
    let mut message = written.notes.join(" ");
    if !written.moved.is_empty() {
        message.push_str(" Entries that no longer fit moved to the archive; search finds them.");
    }
    MemoryAnswer::Changed {
        success: true,
        done: true,
        target,
        usage: written.usage,
        entry_count: written.entry_count,
        archived_count: written.archived_count,
        message,
        moved_to_archive: written.moved,
        note: "Saved. The notes in your prompt stay unchanged until the next session.",
    }
}

/// Shows a single hit in full and truncates several.
fn clip_hits(mut hits: Vec<MemoryHit>) -> Vec<MemoryHit> {
    hits.truncate(MAX_HITS);
    if hits.len() > 1 {
        for hit in &mut hits {
            if let Some((at, _)) = hit.text.char_indices().nth(MAX_HIT_CHARS) {
                hit.text.truncate(at);
                hit.text.push_str("… [search for more specific words to see the full entry]");
            }
        }
    }
    hits
}

/// Converts the error, with a hint on what to do next.
fn memory_error(error: MemoryError, lists: &Lists, target: MemoryTarget) -> ToolError {
    let text = error.to_string();
    let with_list = |failed: ToolError| match lists.read(target) {
        Ok(list) => failed.with("current_entries", list.entries).with("usage", list.usage),
        Err(_) => failed,
    };
    match error.cause() {
        MemoryError::Disabled(_) => ToolError::unavailable(text),
        MemoryError::Invalid(_) => with_list(ToolError::invalid(text)),
        MemoryError::NoMatch(_) => with_list(ToolError::not_found(text))
            .with_hint("old_text must match a part of one entry exactly."),
        MemoryError::Ambiguous { matches, .. } => ToolError::invalid(text)
            .with("matches", matches.clone())
            .with_hint("Give a longer part that matches only one entry."),
        MemoryError::Threat { rule, .. } => ToolError::denied(text).with("rule", *rule).with_hint(
            "Notes become part of later prompts. State the fact without commands, \
                secrets or instructions.",
        ),
        MemoryError::TooLong { .. } => {
            ToolError::limit(text).with_hint("Put it into a file, and note the file's path.")
        }
        MemoryError::Drift { backup, .. } => {
            ToolError::conflict(text).with("drift_backup", backup.display().to_string()).with(
                "remediation",
                "Ask the user to repair the file (`hermes memory edit`); additions still work.",
            )
        }
        MemoryError::Busy { .. } => {
            ToolError::new(ErrorKind::Timeout, text).with_hint("Nothing was written. Retry.")
        }
        MemoryError::Io { source, .. } => {
            let kind = match ToolError::io("", source).kind() {
                // The file was changed outside the program, so this is not an
                // internal error.
                ErrorKind::Internal => ErrorKind::Unavailable,
                kind => kind,
            };
            ToolError::new(kind, text).with_hint(
                "Nothing was written. Inform the user, who must repair the file; continue \
                 without it.",
            )
        }
        _ => ToolError::internal(text),
    }
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
