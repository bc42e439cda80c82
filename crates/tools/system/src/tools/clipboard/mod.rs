//! The desktop's clipboard: text and images, in and out.

mod backend;
mod content;
mod order;
mod png;

use std::path::PathBuf;

use hermes_core::{
    Attachment, Availability, Effect, ToolExample, JsonSchema, Resource, Scope, Tool, ToolContext,
    ToolError, ToolSpec, WorkingDir,
};
use hermes_files::{FileAccess, WriteOptions};
use serde::{Deserialize, Serialize};

use crate::afar;
use crate::blocking::blocking;
use crate::desktop::Desktop;
use backend::{Backend, Board, Way};
use order::Order;

/// How many characters a reading gives unless it is told.
const PAGE: usize = 20_000;

#[derive(Debug, Default)]
pub(crate) struct Clipboard {
    desktop: Desktop,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// What to do.
    action: Action,
    /// For write; kept to the byte.
    text: Option<String>,
    /// A file instead: read saves to it, write copies from it. Images need one.
    path: Option<String>,
    /// Default: image if path ends in .png, else text. Images are PNG.
    format: Option<Format>,
    /// primary is what was last marked with the mouse (X11, Wayland).
    #[serde(default)]
    selection: Selection,
    /// For read: the first character to give.
    #[serde(default)]
    offset: usize,
    /// For read: how many characters.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100_000))]
    limit: usize,
}

fn default_limit() -> usize {
    PAGE
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Read,
    Write,
    Clear,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    Text,
    Image,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Selection {
    #[default]
    Clipboard,
    Primary,
}

#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    #[serde(flatten)]
    done: Done,
    backend: Backend,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The files that it speaks of are on this machine.
    #[serde(skip)]
    is_here: bool,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Done {
    Text {
        text: String,
        /// Of the whole text.
        characters: usize,
        /// Where to go on, if there is more.
        #[serde(skip_serializing_if = "Option::is_none")]
        next_offset: Option<usize>,
        /// Bytes that are no text were replaced.
        #[serde(skip_serializing_if = "is_false")]
        damaged: bool,
    },
    Saved {
        path: PathBuf,
        format: Format,
        bytes: usize,
        #[serde(flatten)]
        size: Option<Size>,
    },
    Written {
        format: Format,
        bytes_written: usize,
        #[serde(flatten)]
        size: Option<Size>,
    },
    Cleared {
        cleared: bool,
    },
}

/// Of an image, in pixels.
#[derive(Debug, Serialize)]
struct Size {
    width: u32,
    height: u32,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl Tool for Clipboard {
    type Args = Args;
    type Output = Answer;

    fn spec() -> ToolSpec {
        ToolSpec::new("clipboard", "system")
            .emoji("📋")
            .description(
                "Read, write or clear the user's clipboard: text, or an image through a PNG file.",
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
                ToolExample::new("Copy text", r#"{"action":"write","text":"git push origin main"}"#)
                    .expects(r#"{"bytes_written":20}"#),
            )
            .example(
                ToolExample::new("Copy a file's text", r#"{"action":"write","path":"notes.txt"}"#)
                    .file("notes.txt", "bread\nmilk\n")
                    .expects(r#"{"format":"text","bytes_written":11}"#),
            )
            .example(ToolExample::new("Clear it", r#"{"action":"clear"}"#).expects(r#"{"cleared":true}"#))
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        let path = args.path.as_deref().filter(|path| !path.is_empty());
        let file = path.and_then(|path| {
            let scope = match args.action {
                Action::Read => Scope::FILE_WRITE,
                Action::Write => Scope::FILE_READ,
                Action::Clear => return None,
            };
            Some(Effect::path(scope, at.resolve(path)))
        });
        [touching(args.action)].into_iter().chain(file).collect()
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Answer, ToolError> {
        let effect = touching(args.action);
        cx.check_grant(&effect.scope, &effect.resource)?;
        let order = Order::of(&args, cx)?;
        let way = Way::of(&self.desktop).map_err(|missing| {
            ToolError::unavailable(format!("There is no clipboard here. {}", missing.reason))
                .with_hint(missing.fix)
        })?;
        let board =
            Board { desktop: &self.desktop, backend: way.backend, selection: args.selection, cx };
        let done = match order {
            Order::Show => {
                board.can(Format::Text)?;
                content::page(&content::read_text(&board).await?, args.offset, args.limit)
            }
            Order::Save(format, path) => {
                board.can(format)?;
                save(&board, format, path).await?
            }
            Order::Put(format, source) => {
                board.can(format)?;
                let (bytes, size) = source.bytes(format, cx).await?;
                let bytes_written = bytes.len();
                content::write(&board, format, bytes).await?;
                Done::Written { format, bytes_written, size }
            }
            Order::Clear => {
                board.can(Format::Text)?;
                content::write(&board, Format::Text, Vec::new()).await?;
                Done::Cleared { cleared: true }
            }
        };
        let note = note(&way, &done);
        Ok(Answer { done, backend: way.backend, note, is_here: afar::jobs(cx).is_none() })
    }

    async fn check(&self) -> Availability {
        match Way::of(&self.desktop) {
            Ok(_) => Availability::Ready,
            Err(missing) => Availability::missing(missing.reason, missing.fix),
        }
    }

    fn attachments(output: &Answer) -> Vec<Attachment> {
        match &output.done {
            Done::Saved { format: Format::Image, path, .. } if output.is_here => {
                vec![Attachment { media_type: png::TYPE.to_owned(), path: path.clone() }]
            }
            _ => Vec::new(),
        }
    }
}

/// The effect on the desktop. Reading and writing are of one family, so that a
/// batch reads what it wrote before.
fn touching(action: Action) -> Effect {
    let scope = match action {
        Action::Read => Scope::CLIPBOARD_READ,
        Action::Write | Action::Clear => Scope::CLIPBOARD_WRITE,
    };
    Effect { scope, resource: Resource::Name("clipboard".to_owned()) }
}

async fn save(board: &Board<'_>, format: Format, path: PathBuf) -> Result<Done, ToolError> {
    let (bytes, size) = match format {
        Format::Text => (content::read_text(board).await?.bytes, None),
        Format::Image => {
            let (bytes, size) = content::read_image(board).await?;
            (bytes, Some(size))
        }
    };
    let (own, at, count) = (board.cx.clone(), path.clone(), bytes.len());
    match afar::jobs(board.cx) {
        Some(jobs) => afar::write(&jobs, &path, bytes, board.cx).await?,
        None => {
            let mode = WriteOptions { make_parents: true, ..WriteOptions::default() };
            blocking(board.cx, move || FileAccess::new(&own).write(&at, &bytes, mode)).await??;
        }
    }
    Ok(Done::Saved { path, format, bytes: count, size })
}

/// What the user should know of the way that was taken.
fn note(way: &Way, done: &Done) -> Option<String> {
    match (way.backend, done) {
        (Backend::Tmux, done) => {
            let what = match done {
                Done::Text { .. } | Done::Saved { .. } => "This is tmux's newest buffer",
                Done::Written { .. } => {
                    "It is in tmux's buffer, and in the terminal's clipboard only if that allows it"
                }
                Done::Cleared { .. } => "tmux's newest buffer is gone; the one before it is next",
            };
            Some(format!("{what}: {}", way.drawback.as_deref().unwrap_or("there is no display")))
        }
        (Backend::Xclip | Backend::Xsel | Backend::WlClipboard, Done::Written { .. }) => {
            Some("Its program stays in the background until something else is copied".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "clipboard_tests.rs"]
mod tests;
