//! Arguments that make sense together, and the files that they name.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use hermes_core::{ToolContext, ToolError};
use hermes_files::FileAccess;

use super::backend::MOST;
use super::{Action, Args, Format, Size, content};
use crate::afar;
use crate::blocking::blocking;

/// What to do.
#[derive(Debug)]
pub(super) enum Order {
    Show,
    Save(Format, PathBuf),
    Put(Format, Source),
    Clear,
}

/// What is to be written.
#[derive(Debug)]
pub(super) enum Source {
    Text(String),
    File(PathBuf),
}

impl Order {
    pub(super) fn of(args: &Args, cx: &ToolContext) -> Result<Self, ToolError> {
        let wrong = |what: &str, next: &str| Err(ToolError::invalid(what).with_hint(next));
        let path = args.path.as_deref().filter(|path| !path.is_empty());
        let guess = match path.map(Path::new).and_then(Path::extension) {
            Some(extension) if extension.eq_ignore_ascii_case("png") => Format::Image,
            _ => Format::Text,
        };
        let format = args.format.unwrap_or(guess);
        let path = path.map(|path| cx.working_dir.resolve(path));
        match (args.action, &args.text, path) {
            (Action::Read, None, None) if format == Format::Text => Ok(Self::Show),
            (Action::Read, None, Some(path)) => Ok(Self::Save(format, path)),
            (_, None, None) if format == Format::Image => {
                wrong("An image needs 'path'", "Give the PNG file to save to or to copy from.")
            }
            (Action::Write, Some(text), None) if format == Format::Text => {
                Ok(Self::Put(format, Source::Text(text.clone())))
            }
            (Action::Write, None, Some(path)) => Ok(Self::Put(format, Source::File(path))),
            (Action::Write, None, None) => {
                wrong("There is nothing to write", "Give 'text', or 'path' of a file.")
            }
            (Action::Write, Some(_), None) => {
                wrong("'text' is no image", "Give 'path' of a PNG file, or leave 'format' out.")
            }
            (Action::Write, Some(_), Some(_)) => {
                wrong("'text' and 'path' exclude each other", "Give one of them.")
            }
            (Action::Clear, None, None) => Ok(Self::Clear),
            (Action::Read, Some(_), _) => {
                wrong("'text' is for writing", "Use action write, or leave 'text' out.")
            }
            (Action::Read, None, None) => wrong("An image needs 'path'", "Give a PNG file's name."),
            (Action::Clear, ..) => wrong("clear takes no 'text' and no 'path'", "Leave them out."),
        }
    }
}

fn read_here(at: &Path, cx: &ToolContext) -> Result<Vec<u8>, ToolError> {
    let mut bytes = Vec::new();
    let file = FileAccess::new(cx).open(at)?;
    file.take(MOST as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| hermes_files::explain_error("read", at, &error))?;
    Ok(bytes)
}

impl Source {
    /// Its bytes, and the size if it is an image.
    pub(super) async fn bytes(
        self,
        format: Format,
        cx: &ToolContext,
    ) -> Result<(Vec<u8>, Option<Size>), ToolError> {
        let path = match self {
            Self::Text(text) => return Ok((text.into_bytes(), None)),
            Self::File(path) => path,
        };
        let bytes = match afar::jobs(cx) {
            Some(jobs) => afar::read(&jobs, &path, MOST + 1, cx).await?,
            None => {
                let (own, at) = (cx.clone(), path.clone());
                blocking(cx, move || read_here(&at, &own)).await??
            }
        };
        let name = path.display();
        if bytes.len() > MOST {
            return Err(ToolError::limit(format!("{name} has more than {} MiB", MOST >> 20)));
        }
        if format == Format::Image {
            let size = content::image_size(&bytes).ok_or_else(|| {
                ToolError::invalid(format!("{name} is not a PNG image"))
                    .with_hint("Convert it to PNG first, or give format text.")
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
