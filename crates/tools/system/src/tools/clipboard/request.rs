//! Validates the arguments and reads the files that they name.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use hermes_core::{ToolContext, ToolError};
use hermes_files::FileAccess;

use super::backend::MAX_CLIPBOARD_BYTES;
use super::{Args, ClipboardAction, ClipboardFormat, ImageSize, content};
use crate::blocking::blocking;
use crate::remote;

/// The requested operation.
#[derive(Debug)]
pub(super) enum ClipboardRequest {
    Show,
    Save(ClipboardFormat, PathBuf),
    Write(ClipboardFormat, ClipboardInput),
    Clear,
}

/// Content to write.
#[derive(Debug)]
pub(super) enum ClipboardInput {
    Text(String),
    File(PathBuf),
}

impl ClipboardRequest {
    pub(super) fn from_args(args: &Args, cx: &ToolContext) -> Result<Self, ToolError> {
        let wrong = |what: &str, next: &str| Err(ToolError::invalid(what).with_hint(next));
        let path = args.path.as_deref().filter(|path| !path.is_empty());
        let guess = match path.map(Path::new).and_then(Path::extension) {
            Some(extension) if extension.eq_ignore_ascii_case("png") => ClipboardFormat::Image,
            _ => ClipboardFormat::Text,
        };
        let format = args.format.unwrap_or(guess);
        let path = path.map(|path| cx.working_dir.resolve(path));
        match (args.action, &args.text, path) {
            (ClipboardAction::Read, None, None) if format == ClipboardFormat::Text => {
                Ok(Self::Show)
            }
            (ClipboardAction::Read, None, Some(path)) => Ok(Self::Save(format, path)),
            (_, None, None) if format == ClipboardFormat::Image => {
                wrong("An image needs 'path'", "Give the PNG file to save to or to copy from.")
            }
            (ClipboardAction::Write, Some(text), None) if format == ClipboardFormat::Text => {
                Ok(Self::Write(format, ClipboardInput::Text(text.clone())))
            }
            (ClipboardAction::Write, None, Some(path)) => {
                Ok(Self::Write(format, ClipboardInput::File(path)))
            }
            (ClipboardAction::Write, None, None) => {
                wrong("Nothing to write", "Give 'text', or 'path' of a file.")
            }
            (ClipboardAction::Write, Some(_), None) => {
                wrong("'text' is not an image", "Give 'path' of a PNG file, or omit 'format'.")
            }
            (ClipboardAction::Write, Some(_), Some(_)) => {
                wrong("'text' and 'path' are mutually exclusive", "Give one of them.")
            }
            (ClipboardAction::Clear, None, None) => Ok(Self::Clear),
            (ClipboardAction::Read, Some(_), _) => {
                wrong("'text' is for writing", "Use action write, or omit 'text'.")
            }
            (ClipboardAction::Read, None, None) => {
                wrong("An image needs 'path'", "Give the path of a PNG file.")
            }
            (ClipboardAction::Clear, ..) => {
                wrong("clear takes no 'text' and no 'path'", "Omit them.")
            }
        }
    }
}

fn read_local(at: &Path, cx: &ToolContext) -> Result<Vec<u8>, ToolError> {
    let mut bytes = Vec::new();
    let file = FileAccess::new(cx).open(at)?;
    file.take(MAX_CLIPBOARD_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| hermes_files::explain_error("read", at, &error))?;
    Ok(bytes)
}

impl ClipboardInput {
    /// The bytes, and the size of an image.
    pub(super) async fn bytes(
        self,
        format: ClipboardFormat,
        cx: &ToolContext,
    ) -> Result<(Vec<u8>, Option<ImageSize>), ToolError> {
        let path = match self {
            Self::Text(text) => return Ok((text.into_bytes(), None)),
            Self::File(path) => path,
        };
        let bytes = match remote::remote_jobs(cx) {
            Some(jobs) => remote::read(&jobs, &path, MAX_CLIPBOARD_BYTES + 1, cx).await?,
            None => {
                let (own, at) = (cx.clone(), path.clone());
                blocking(cx, move || read_local(&at, &own)).await??
            }
        };
        let name = path.display();
        if bytes.len() > MAX_CLIPBOARD_BYTES {
            return Err(ToolError::limit(format!(
                "{name} is larger than {} MiB",
                MAX_CLIPBOARD_BYTES >> 20
            )));
        }
        if format == ClipboardFormat::Image {
            let size = content::image_size(&bytes).ok_or_else(|| {
                ToolError::invalid(format!("{name} is not a PNG image"))
                    .with_hint("Convert it to PNG first, or set format to text.")
            })?;
            return Ok((bytes, Some(size)));
        }
        if std::str::from_utf8(&bytes).is_err() {
            return Err(ToolError::invalid(format!("{name} is not UTF-8 text"))
                .with_hint("Only text and PNG images can be copied."));
        }
        Ok((bytes, None))
    }
}
