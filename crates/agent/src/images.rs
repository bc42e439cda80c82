//! Images attached to tool results, encoded for the model.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_core::{Attachment, ToolResult};
use hermes_llm::InlineImage;

/// Largest image that servers accept.
const MAX_IMAGE_BYTES: u64 = 5 * 1024 * 1024;

/// Returns the images of a result that a model can see.
pub(crate) fn result_images(result: &ToolResult) -> Vec<InlineImage> {
    result.attachments.iter().filter_map(attachment_image).collect()
}

/// Loads an image file for a model; the error says why it is rejected.
pub fn load_image(path: &Path) -> Result<InlineImage, String> {
    let size = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !size.is_file() {
        return Err("it is not a file".to_owned());
    }
    if size.len() > MAX_IMAGE_BYTES {
        return Err(format!("it is larger than {} MB", MAX_IMAGE_BYTES / 1024 / 1024));
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let media_type = match bytes.as_slice() {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        _ => return Err("it is not a PNG, JPEG, GIF or WebP image".to_owned()),
    };
    Ok(InlineImage { media_type: media_type.to_owned(), data: STANDARD.encode(bytes) })
}

fn attachment_image(attachment: &Attachment) -> Option<InlineImage> {
    let shown = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    if !shown.contains(&attachment.media_type.as_str()) {
        return None;
    }
    let size = std::fs::metadata(&attachment.path).ok()?.len();
    if size > MAX_IMAGE_BYTES {
        return None;
    }
    let bytes = std::fs::read(&attachment.path).ok()?;
    Some(InlineImage { media_type: attachment.media_type.clone(), data: STANDARD.encode(bytes) })
}
