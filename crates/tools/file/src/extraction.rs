//! Text extraction from documents, cached for the next page.

use std::collections::VecDeque;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use hermes_core::{ErrorKind, ToolContext, ToolError};
use hermes_documents::{DocumentError, DocumentKind, DocumentLimits, ExtractedText, extract};
use parking_lot::Mutex;

use crate::path_text::display_path;
use crate::source::{SeekableFile, VersionStamp};

/// Limits of the cache: number of texts and their total bytes.
const MAX_CACHED_TEXTS: usize = 4;
const MAX_CACHED_BYTES: usize = 64 * 1024 * 1024;
/// Documents larger than this report progress.
const LARGE_DOCUMENT_BYTES: u64 = 1024 * 1024;

static TEXT_CACHE: Mutex<VecDeque<(VersionStamp, Arc<ExtractedText>)>> =
    Mutex::new(VecDeque::new());

/// Returns the text of the document in `source`; `None` if the file can be read
/// as plain text instead.
pub(crate) fn extract_text(
    path: &Path,
    source: &mut SeekableFile,
    kind: DocumentKind,
    cx: &ToolContext,
) -> Result<Option<Arc<ExtractedText>>, ToolError> {
    let stamp = source.stamp();
    if let Some(known) = cached_text(stamp) {
        return Ok(Some(known));
    }
    let mut limits = DocumentLimits::default();
    limits.timeout = cx.remaining().map_or(limits.timeout, |left| left.min(limits.timeout));
    if source.len() > limits.file_bytes && kind == DocumentKind::Notebook {
        return Ok(None);
    }
    if source.len() > limits.file_bytes {
        let error = DocumentError::TooLarge(format!(
            "{} bytes, the limit is {}",
            source.len(),
            limits.file_bytes
        ));
        return Err(extraction_error(path, kind, &error));
    }
    if source.len() > LARGE_DOCUMENT_BYTES {
        cx.report_progress(None, format!("Extracting the text of {}", display_path(path)));
    }
    let failed = |error: std::io::Error| SeekableFile::read_error(path, cx, &error);
    let mut bytes = Vec::new();
    source.seek(SeekFrom::Start(0)).map_err(failed)?;
    source.read_to_end(&mut bytes).map_err(failed)?;
    match extract(kind, &bytes, &limits) {
        Ok(extracted) => {
            let extracted = Arc::new(extracted);
            if stamp.is_settled() {
                cache_text(stamp, &extracted);
            }
            Ok(Some(extracted))
        }
        // A broken notebook is still readable as text.
        Err(_) if kind == DocumentKind::Notebook => Ok(None),
        Err(error) => Err(extraction_error(path, kind, &error)),
    }
}

fn cached_text(stamp: VersionStamp) -> Option<Arc<ExtractedText>> {
    let texts = TEXT_CACHE.lock();
    texts.iter().find(|(known, _)| *known == stamp).map(|(_, text)| Arc::clone(text))
}

fn cache_text(stamp: VersionStamp, extracted: &Arc<ExtractedText>) {
    let mut texts = TEXT_CACHE.lock();
    texts.retain(|(known, _)| !known.is_same_file(&stamp));
    texts.push_front((stamp, Arc::clone(extracted)));
    texts.truncate(MAX_CACHED_TEXTS);
    while texts.len() > 1
        && texts.iter().map(|(_, kept)| kept.text.len()).sum::<usize>() > MAX_CACHED_BYTES
    {
        texts.pop_back();
    }
}

fn extraction_error(path: &Path, kind: DocumentKind, error: &DocumentError) -> ToolError {
    let (sort, hint) = match error {
        DocumentError::Damaged(_) => (
            ErrorKind::InvalidArguments,
            "Try another program; the raw bytes can be read with byte_offset=0.",
        ),
        DocumentError::TooLarge(_) => {
            (ErrorKind::Limit, "Split it or convert it to text with another program first.")
        }
        DocumentError::Protected => {
            (ErrorKind::InvalidArguments, "Ask the user for a copy without a password.")
        }
        DocumentError::TooSlow(_) => {
            (ErrorKind::Timeout, "Convert it to text with another program in the terminal.")
        }
        DocumentError::Busy => (ErrorKind::Unavailable, "Retry in a minute."),
    };
    let what = format!("{} is a document ({}), but {error}", display_path(path), kind.name());
    ToolError::new(sort, what).with_hint(hint)
}
