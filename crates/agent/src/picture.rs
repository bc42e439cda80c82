//! Images that come with a result, as the model sees them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_core::{Attachment, ToolResult};
use hermes_llm::Image;

/// Servers take no larger ones.
const MOST: u64 = 5 * 1024 * 1024;

/// The images of a result that can be shown.
pub(crate) fn of(result: &ToolResult) -> Vec<Image> {
    result.attachments.iter().filter_map(read).collect()
}

fn read(attachment: &Attachment) -> Option<Image> {
    let shown = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    if !shown.contains(&attachment.media_type.as_str()) {
        return None;
    }
    let size = std::fs::metadata(&attachment.path).ok()?.len();
    if size > MOST {
        return None;
    }
    let bytes = std::fs::read(&attachment.path).ok()?;
    Some(Image { media_type: attachment.media_type.clone(), data: STANDARD.encode(bytes) })
}
