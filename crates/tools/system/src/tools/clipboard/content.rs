//! Clipboard content: chooses a type, decodes it and splits it into pages.

use std::time::Duration;

use hermes_core::{ErrorKind, ToolError};

use super::backend::{ClipboardBackend, ClipboardHandle};
use super::{ClipboardFormat, ClipboardResult, ImageSize, png};

/// Text types, best first.
const TEXT_TYPES: &[&str] =
    &["text/plain;charset=utf-8", "UTF8_STRING", "text/plain", "STRING", "TEXT"];
/// Type that password managers offer along with a password.
const PASSWORD_HINT_TYPE: &str = "x-kde-passwordManagerHint";
/// Number of checks whether new content has arrived.
const ARRIVAL_CHECKS: u32 = 8;
const ARRIVAL_CHECK_TIMEOUT: Duration = Duration::from_secs(1);

/// Undecoded text.
#[derive(Debug)]
pub(super) struct ClipboardText {
    pub(super) bytes: Vec<u8>,
    is_latin1: bool,
}

/// Reads the text; empty if the clipboard is empty.
pub(super) async fn read_text(board: &ClipboardHandle<'_>) -> Result<ClipboardText, ToolError> {
    let Some(types) = board.types().await? else {
        let bytes = board.read(ClipboardFormat::Text, "").await?;
        return Ok(ClipboardText { bytes, is_latin1: false });
    };
    if types.is_empty() {
        return Ok(ClipboardText { bytes: Vec::new(), is_latin1: false });
    }
    refuse_secret(&types)?;
    let best = TEXT_TYPES.iter().find(|text| types.iter().any(|offered| offered == *text)).copied();
    let other = || types.iter().map(String::as_str).find(|offered| offered.starts_with("text/"));
    let Some(of) = best.or_else(other) else {
        return Err(ToolError::not_found(format!(
            "The clipboard has no text, but {}",
            media_type_list(&types)
        ))
        .with_hint("Read an image with format image and the path of a PNG file."));
    };
    Ok(ClipboardText {
        bytes: board.read(ClipboardFormat::Text, of).await?,
        is_latin1: of == "STRING",
    })
}

/// Reads the image and its size.
pub(super) async fn read_image(
    board: &ClipboardHandle<'_>,
) -> Result<(Vec<u8>, ImageSize), ToolError> {
    if let Some(types) = board.types().await? {
        refuse_secret(&types)?;
        if types.is_empty() {
            return Err(ToolError::not_found("The clipboard is empty")
                .with_hint("Ask the user to copy the image."));
        }
        if !types.iter().any(|offered| offered == png::MEDIA_TYPE) {
            return Err(ToolError::not_found(format!(
                "The clipboard has no PNG image, but {}",
                media_type_list(&types)
            ))
            .with_hint("Read it as text, or ask the user to copy the image again."));
        }
    }
    let bytes = board.read(ClipboardFormat::Image, png::MEDIA_TYPE).await?;
    let size = image_size(&bytes).ok_or_else(|| {
        ToolError::not_found("The clipboard's PNG image is not valid")
            .with_hint("Ask the user to copy the image again.")
    })?;
    Ok((bytes, size))
}

/// The size of an image; `None` if it is not one.
pub(super) fn image_size(bytes: &[u8]) -> Option<ImageSize> {
    png::size(bytes).map(|(width, height)| ImageSize { width, height })
}

fn refuse_secret(types: &[String]) -> Result<(), ToolError> {
    if types.iter().any(|offered| offered == PASSWORD_HINT_TYPE) {
        return Err(ToolError::denied("A password manager put a secret into the clipboard")
            .with_hint("It is not shown. Ask the user to copy something else."));
    }
    Ok(())
}

/// The offered media types; other entries concern the transfer protocol.
fn media_type_list(types: &[String]) -> String {
    let media: Vec<&str> = types.iter().map(String::as_str).filter(|t| t.contains('/')).collect();
    let list = if media.is_empty() { types.join(", ") } else { media.join(", ") };
    list.chars().take(200).collect()
}

/// Writes the content; empty content clears the clipboard.
pub(super) async fn write(
    board: &ClipboardHandle<'_>,
    format: ClipboardFormat,
    bytes: Vec<u8>,
) -> Result<(), ToolError> {
    let is_x = matches!(board.backend, ClipboardBackend::Xclip | ClipboardBackend::Xsel);
    let expected = is_x.then(|| bytes.clone());
    if bytes.is_empty() {
        board.clear().await?;
    } else {
        board.write(format, bytes).await?;
    }
    match expected {
        Some(expected) => wait_for_arrival(board, format, &expected).await,
        None => Ok(()),
    }
}

/// Waits until a read returns the new content. Under X the program returns
/// before the server has registered the new owner.
async fn wait_for_arrival(
    board: &ClipboardHandle<'_>,
    format: ClipboardFormat,
    expected: &[u8],
) -> Result<(), ToolError> {
    let of = if format == ClipboardFormat::Image { png::MEDIA_TYPE } else { "UTF8_STRING" };
    let mut pause = Duration::from_millis(5);
    for _ in 0..ARRIVAL_CHECKS {
        match tokio::time::timeout(ARRIVAL_CHECK_TIMEOUT, board.read(format, of)).await {
            Ok(Ok(found)) if found == expected => return Ok(()),
            // There is no owner yet, or the previous one exited without
            // responding.
            Ok(Ok(_)) | Err(_) => {}
            Ok(Err(error)) if error.kind() == ErrorKind::Unavailable => {}
            Ok(Err(error)) => return Err(error),
        }
        board.cx.run_until_cancelled(tokio::time::sleep(pause)).await?;
        pause *= 2;
    }
    Err(ToolError::conflict("The clipboard content is not what was written")
        .with_hint("Another program took it over, perhaps a clipboard manager; read it, or retry."))
}

/// A page of a text, counted in characters.
pub(super) fn page(found: &ClipboardText, offset: usize, limit: usize) -> ClipboardResult {
    let (text, damaged) = match std::str::from_utf8(&found.bytes) {
        Ok(text) => (text.into(), false),
        Err(_) if found.is_latin1 => {
            (found.bytes.iter().copied().map(char::from).collect::<String>().into(), false)
        }
        Err(_) => (String::from_utf8_lossy(&found.bytes), true),
    };
    let characters = text.chars().count();
    let shown: String = text.chars().skip(offset).take(limit).collect();
    let end = offset.saturating_add(limit);
    let next_offset = (end < characters).then_some(end);
    ClipboardResult::Text { text: shown, characters, next_offset, damaged }
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
