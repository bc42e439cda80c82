//! `clipboard`: reads and writes text and images on the desktop's clipboard.

mod backend;
mod content;
mod png;
mod request;

use std::path::PathBuf;

use hermes_core::{
    Attachment, Availability, Effect, JsonSchema, Resource, Scope, Tool, ToolContext, ToolError,
    ToolExample, ToolSpec, WorkingDir,
};
use hermes_files::{FileAccess, WriteOptions};
use serde::{Deserialize, Serialize};

use crate::blocking::blocking;
use crate::desktop::DesktopEnv;
use crate::remote;
use backend::{BackendChoice, ClipboardBackend, ClipboardHandle};
use request::ClipboardRequest;

/// Default number of characters per read.
const DEFAULT_PAGE_CHARS: usize = 20_000;

#[derive(Debug, Default)]
pub(crate) struct Clipboard {
    desktop: DesktopEnv,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// What to do.
    action: ClipboardAction,
    /// For write; copied verbatim.
    text: Option<String>,
    /// File: read saves to it, write copies from it. Required for images.
    path: Option<String>,
    /// Default: image if path ends in .png, else text. Images are PNG.
    format: Option<ClipboardFormat>,
    /// primary is the mouse selection (X11, Wayland).
    #[serde(default)]
    selection: ClipboardSelection,
    /// For read: first character.
    #[serde(default)]
    offset: usize,
    /// For read: max characters.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100_000))]
    limit: usize,
}

fn default_limit() -> usize {
    DEFAULT_PAGE_CHARS
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ClipboardAction {
    Read,
    Write,
    Clear,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ClipboardFormat {
    Text,
    Image,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ClipboardSelection {
    #[default]
    Clipboard,
    Primary,
}

#[derive(Debug, Serialize)]
pub(crate) struct ClipboardAnswer {
    #[serde(flatten)]
    done: ClipboardResult,
    backend: ClipboardBackend,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Whether the files are on this machine.
    #[serde(skip)]
    is_here: bool,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ClipboardResult {
    Text {
        text: String,
        /// Length of the whole text.
        characters: usize,
        /// Offset of the next page, if any.
        #[serde(skip_serializing_if = "Option::is_none")]
        next_offset: Option<usize>,
        /// Invalid bytes were replaced.
        #[serde(skip_serializing_if = "is_false")]
        damaged: bool,
    },
    Saved {
        path: PathBuf,
        format: ClipboardFormat,
        bytes: usize,
        #[serde(flatten)]
        size: Option<ImageSize>,
    },
    Written {
        format: ClipboardFormat,
        bytes_written: usize,
        #[serde(flatten)]
        size: Option<ImageSize>,
    },
    Cleared {
        cleared: bool,
    },
}

/// Image size in pixels.
#[derive(Debug, Serialize)]
struct ImageSize {
    width: u32,
    height: u32,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl Tool for Clipboard {
    type Args = Args;
    type Output = ClipboardAnswer;

    fn spec() -> ToolSpec {
        ToolSpec::new("clipboard", "system")
            .emoji("📋")
            .description(
                "Read, write or clear the user's clipboard: text, or an image via a PNG file.",
            )
            .preset_alias("clipboard_read", r#"{"action":"read"}"#)
            .preset_alias("clipboard_write", r#"{"action":"write"}"#)
            .parameter_alias("content", "text")
            .parameter_alias("operation", "action")
            .parameter_alias("file", "path")
            .parameter_alias("file_path", "path")
            .keyword("copy")
            .keyword("paste")
            .keyword("pasteboard")
            .keyword("screenshot")
            .keyword("xclip")
            .example(
                ToolExample::new(
                    "Copy text",
                    r#"{"action":"write","text":"git push origin main"}"#,
                )
                .expects(r#"{"bytes_written":20}"#),
            )
            .example(
                ToolExample::new(
                    "Copy the text of a file",
                    r#"{"action":"write","path":"notes.txt"}"#,
                )
                .file("notes.txt", "bread\nmilk\n")
                .expects(r#"{"format":"text","bytes_written":11}"#),
            )
            .example(
                ToolExample::new("Clear it", r#"{"action":"clear"}"#)
                    .expects(r#"{"cleared":true}"#),
            )
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        let path = args.path.as_deref().filter(|path| !path.is_empty());
        let file = path.and_then(|path| {
            let scope = match args.action {
                ClipboardAction::Read => Scope::FILE_WRITE,
                ClipboardAction::Write => Scope::FILE_READ,
                ClipboardAction::Clear => return None,
            };
            Some(Effect::path(scope, at.resolve(path)))
        });
        [clipboard_effect(args.action)].into_iter().chain(file).collect()
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<ClipboardAnswer, ToolError> {
        let effect = clipboard_effect(args.action);
        cx.check_grant(&effect.scope, &effect.resource)?;
        let order = ClipboardRequest::from_args(&args, cx)?;
        let way = BackendChoice::detect(&self.desktop).map_err(|missing| {
            ToolError::unavailable(format!("No clipboard is available. {}", missing.reason))
                .with_hint(missing.fix)
        })?;
        let board = ClipboardHandle {
            desktop: &self.desktop,
            backend: way.backend,
            selection: args.selection,
            cx,
        };
        let done = match order {
            ClipboardRequest::Show => {
                board.check_format(ClipboardFormat::Text)?;
                content::page(&content::read_text(&board).await?, args.offset, args.limit)
            }
            ClipboardRequest::Save(format, path) => {
                board.check_format(format)?;
                save_to_file(&board, format, path).await?
            }
            ClipboardRequest::Write(format, source) => {
                board.check_format(format)?;
                let (bytes, size) = source.bytes(format, cx).await?;
                let bytes_written = bytes.len();
                content::write(&board, format, bytes).await?;
                ClipboardResult::Written { format, bytes_written, size }
            }
            ClipboardRequest::Clear => {
                board.check_format(ClipboardFormat::Text)?;
                content::write(&board, ClipboardFormat::Text, Vec::new()).await?;
                ClipboardResult::Cleared { cleared: true }
            }
        };
        let note = note(&way, &done);
        Ok(ClipboardAnswer {
            done,
            backend: way.backend,
            note,
            is_here: remote::remote_jobs(cx).is_none(),
        })
    }

    async fn check(&self) -> Availability {
        match BackendChoice::detect(&self.desktop) {
            Ok(_) => Availability::Ready,
            Err(missing) => Availability::missing(missing.reason, missing.fix),
        }
    }

    fn attachments(output: &ClipboardAnswer) -> Vec<Attachment> {
        match &output.done {
            ClipboardResult::Saved { format: ClipboardFormat::Image, path, .. }
                if output.is_here =>
            {
                vec![Attachment { media_type: png::MEDIA_TYPE.to_owned(), path: path.clone() }]
            }
            _ => Vec::new(),
        }
    }
}

/// The effect on the desktop. Reads and writes use the same resource, so a
/// batch reads what it wrote before.
fn clipboard_effect(action: ClipboardAction) -> Effect {
    let scope = match action {
        ClipboardAction::Read => Scope::CLIPBOARD_READ,
        ClipboardAction::Write | ClipboardAction::Clear => Scope::CLIPBOARD_WRITE,
    };
    Effect { scope, resource: Resource::Name("clipboard".to_owned()) }
}

async fn save_to_file(
    board: &ClipboardHandle<'_>,
    format: ClipboardFormat,
    path: PathBuf,
) -> Result<ClipboardResult, ToolError> {
    let (bytes, size) = match format {
        ClipboardFormat::Text => (content::read_text(board).await?.bytes, None),
        ClipboardFormat::Image => {
            let (bytes, size) = content::read_image(board).await?;
            (bytes, Some(size))
        }
    };
    let (own, at, count) = (board.cx.clone(), path.clone(), bytes.len());
    match remote::remote_jobs(board.cx) {
        Some(jobs) => remote::write(&jobs, &path, bytes, board.cx).await?,
        None => {
            let mode = WriteOptions { make_parents: true, ..WriteOptions::default() };
            blocking(board.cx, move || FileAccess::new(&own).write(&at, &bytes, mode)).await??;
        }
    }
    Ok(ClipboardResult::Saved { path, format, bytes: count, size })
}

/// A note about the backend that was used.
fn note(way: &BackendChoice, done: &ClipboardResult) -> Option<String> {
    match (way.backend, done) {
        (ClipboardBackend::Tmux, done) => {
            let what = match done {
                ClipboardResult::Text { .. } | ClipboardResult::Saved { .. } => {
                    "This is the latest tmux buffer"
                }
                ClipboardResult::Written { .. } => {
                    "It is in the tmux buffer, and in the terminal's clipboard only if the \
                     terminal allows it"
                }
                ClipboardResult::Cleared { .. } => {
                    "The latest tmux buffer was deleted; the previous one is now current"
                }
            };
            Some(format!("{what}: {}", way.drawback.as_deref().unwrap_or("no display")))
        }
        (
            ClipboardBackend::Xclip | ClipboardBackend::Xsel | ClipboardBackend::WlClipboard,
            ClipboardResult::Written { .. },
        ) => Some(
            "The clipboard program stays in the background until something else is copied"
                .to_owned(),
        ),
        _ => None,
    }
}

#[cfg(test)]
#[path = "clipboard_tests.rs"]
mod tests;
