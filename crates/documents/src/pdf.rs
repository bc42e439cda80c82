//! Extracts the text of each page of a PDF.
//!
//! The PDF library trusts its input: it follows loops, interprets images as
//! content streams, and decompresses without limits. So a document is checked
//! and neutralized first.

use std::collections::HashMap;
use std::io::Read;

use flate2::read::ZlibDecoder;
use pdf_extract::{
    Dictionary, Document, MediaBox, Object, ObjectId, OutputDev, OutputError, PlainTextOutput,
    Transform, output_doc_page,
};

use crate::ExtractedText;
use crate::limits::{AbandonSignal, DocumentError, DocumentLimits, catch_panic, run_with_timeout};

/// Maximum depth of the page tree above a page.
const MAX_PARENTS: usize = 64;
/// Maximum number of nested form draws.
const MAX_DRAWS: u64 = 10_000;
/// Maximum nesting depth of forms.
const MAX_DRAW_DEPTH: usize = 32;
/// Maximum size of a stream whose filters cannot be measured.
const MAX_UNMEASURED_BYTES: usize = 128 * 1024;
/// Maximum nested compression layers; more indicate a decompression bomb.
const MAX_PACKING_LAYERS: usize = 3;

pub(crate) fn extract(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentError> {
    check_streams(bytes, limits)?;
    let (bytes, limits) = (bytes.to_vec(), *limits);
    run_with_timeout(limits.timeout, move |sign| read(&bytes, &limits, sign))
}

fn read(
    bytes: &[u8],
    limits: &DocumentLimits,
    sign: &AbandonSignal,
) -> Result<ExtractedText, DocumentError> {
    let mut document = Document::load_mem(bytes).map_err(DocumentError::damaged)?;
    if document.is_encrypted() {
        // Many are encrypted with an empty password, only to forbid printing.
        document.decrypt("").map_err(|_| DocumentError::Protected)?;
    }
    neutralize(&mut document, limits)?;
    let pages = document.get_pages();
    let mut extracted = ExtractedText::default();
    let mut unread = Vec::new();
    let mut is_blank = true;
    for (&number, &page) in &pages {
        if sign.is_abandoned() || extracted.text.len() > limits.text_bytes {
            break;
        }
        let mut text = String::new();
        let outcome = if has_finite_ancestry(&document, page) {
            catch_panic(|| {
                let mut output =
                    AbortableOutput { output: PlainTextOutput::new(&mut text), signal: sign };
                output_doc_page(&document, &mut output, number).map_err(DocumentError::damaged)
            })
        } else {
            Err(DocumentError::Damaged("a page is its own ancestor".to_owned()))
        };
        if outcome.is_err() {
            unread.push(number.to_string());
        }
        is_blank &= text.trim().is_empty();
        if !extracted.text.is_empty() {
            extracted.text.push_str("\n\n");
        }
        extracted.text.push_str(&format!("--- Page {number} of {} ---\n", pages.len()));
        extracted.text.push_str(&tidy_lines(&text));
    }
    if pages.is_empty() {
        return Err(DocumentError::Damaged("it has no pages".to_owned()));
    }
    if unread.len() == pages.len() {
        return Err(DocumentError::Damaged("none of its pages can be read".to_owned()));
    }
    if !unread.is_empty() {
        extracted.notes.push(format!("Unreadable pages: {}.", unread.join(", ")));
    }
    if is_blank {
        extracted.notes.push("It contains no text; its pages may be images.".to_owned());
    }
    Ok(extracted)
}

/// Removes trailing spaces and collapses blank lines.
fn tidy_lines(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    let mut empty = 1;
    for line in text.lines().map(str::trim_end) {
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty < 2 {
            tidy.push_str(line);
            tidy.push('\n');
        }
    }
    tidy.truncate(tidy.trim_end().len());
    tidy
}

/// Fails if the compressed streams, found by their keyword, exceed the limits
/// when decompressed.
fn check_streams(bytes: &[u8], limits: &DocumentLimits) -> Result<(), DocumentError> {
    let mut left = limits.unpacked_bytes;
    let mut at = 0;
    while let Some(found) = find_bytes(bytes.get(at..).unwrap_or_default(), b"stream") {
        at += found + b"stream".len();
        let body = bytes.get(at..).unwrap_or_default();
        let body = body.strip_prefix(b"\r\n").or_else(|| body.strip_prefix(b"\n")).unwrap_or(body);
        measure_stream(body, &mut left, limits)?;
    }
    Ok(())
}

fn find_bytes(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut from = 0;
    loop {
        from += bytes.get(from..)?.iter().position(|&byte| byte == first)?;
        if bytes.get(from..)?.starts_with(wanted) {
            return Some(from);
        }
        from += 1;
    }
}

/// Subtracts the decompressed size of a stream from `left`, through nested
/// compression.
fn measure_stream(
    packed: &[u8],
    left: &mut u64,
    limits: &DocumentLimits,
) -> Result<(), DocumentError> {
    let is_zlib = |bytes: &[u8]| matches!(bytes, [a, b, ..] if a & 0x0F == 8 && (u16::from(*a) << 8 | u16::from(*b)) % 31 == 0);
    if !is_zlib(packed) {
        return Ok(());
    }
    let mut layer: Box<dyn Read + '_> = Box::new(packed);
    for _ in 0..MAX_PACKING_LAYERS {
        let mut unpacked = ZlibDecoder::new(layer);
        let mut head = Vec::new();
        // Not a zlib stream after all.
        if unpacked.by_ref().take(2).read_to_end(&mut head).is_err() {
            return Ok(());
        }
        if is_zlib(&head) {
            layer = Box::new(std::io::Cursor::new(head).chain(unpacked));
            continue;
        }
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let Ok(read @ 1..) = unpacked.read(&mut buffer) else { return Ok(()) };
            *left = left.checked_sub(read as u64).ok_or_else(|| {
                DocumentError::TooLarge(format!(
                    "its streams decompress to more than {} bytes",
                    limits.unpacked_bytes
                ))
            })?;
        }
    }
    Err(DocumentError::TooLarge("a stream has too many nested compression layers".to_owned()))
}

/// Whether the chain of parents of a page ends.
fn has_finite_ancestry(document: &Document, page: ObjectId) -> bool {
    let mut next = document.get_dictionary(page).ok();
    for _ in 0..MAX_PARENTS {
        let Some(dictionary) = next else { return true };
        next = dictionary
            .get(b"Parent")
            .and_then(Object::as_reference)
            .and_then(|id| document.get_dictionary(id))
            .ok();
    }
    false
}

/// Empties images, which the library would interpret as drawing commands, large
/// streams with unusual filters, and forms that draw each other recursively or
/// too often.
fn neutralize(document: &mut Document, limits: &DocumentLimits) -> Result<(), DocumentError> {
    let mut parts: HashMap<ObjectId, FormXObject> = HashMap::new();
    let mut empty = Vec::new();
    // Measured again: in the file they may have been encrypted.
    let mut left = limits.unpacked_bytes;
    for (&id, object) in &document.objects {
        let Object::Stream(stream) = object else { continue };
        let is_kind = |kind: &[u8]| {
            stream.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == kind)
        };
        if is_kind(b"Image") {
            empty.push(id);
            continue;
        }
        let filters = stream.filters().unwrap_or_default();
        if !matches!(*filters, [] | [b"FlateDecode"]) && stream.content.len() > MAX_UNMEASURED_BYTES
        {
            empty.push(id);
            continue;
        }
        measure_stream(&stream.content, &mut left, limits)?;
        let resources = lookup_dictionary(document, &stream.dict, b"Resources");
        if resources.is_none() && !is_kind(b"Form") {
            continue;
        }
        let content = stream.get_plain_content().unwrap_or_default();
        let draws = count_draws(&content);
        let drawn = resources
            .and_then(|resources| lookup_dictionary(document, resources, b"XObject"))
            .map(|listed| listed.iter().filter_map(|(_, part)| part.as_reference().ok()).collect())
            .unwrap_or_default();
        if resources.is_none() && draws > 0 {
            // Without resources it would inherit those of the form that draws
            // it.
            empty.push(id);
        } else if draws > 0 {
            parts.insert(id, FormXObject { draws, drawn, cost: None });
        }
    }
    empty.extend(excessive_forms(&mut parts));
    for id in empty {
        if let Some(Object::Stream(stream)) = document.objects.get_mut(&id) {
            stream.dict.remove(b"Filter");
            stream.dict.remove(b"DecodeParms");
            stream.set_content(Vec::new());
        }
    }
    Ok(())
}

/// Counts draw operators; matching words in text are counted too.
fn count_draws(content: &[u8]) -> u64 {
    let words = content.split(|byte| byte.is_ascii_whitespace() || *byte == 0);
    words.filter(|word| word.starts_with(b"Do") || word.ends_with(b"Do")).count() as u64
}

/// Returns the dictionary at a key, following a reference.
fn lookup_dictionary<'d>(
    document: &'d Document,
    of: &'d Dictionary,
    key: &[u8],
) -> Option<&'d Dictionary> {
    let (_, object) = document.dereference(of.get(key).ok()?).ok()?;
    object.as_dict().ok()
}

/// A form that draws other forms.
struct FormXObject {
    /// Number of draw operators.
    draws: u64,
    drawn: Vec<ObjectId>,
    /// Total draws and depth caused by drawing it, once known.
    cost: Option<(u64, usize)>,
}

/// Returns the forms that are recursive, or draw too often or too deep.
fn excessive_forms(parts: &mut HashMap<ObjectId, FormXObject>) -> Vec<ObjectId> {
    let mut bad = Vec::new();
    let all: Vec<ObjectId> = parts.keys().copied().collect();
    for start in all {
        // The current path; a form met again on it is recursive.
        let mut way: Vec<(ObjectId, usize)> = vec![(start, 0)];
        while let Some(&(id, next)) = way.last() {
            let Some(part) = parts.get(&id).filter(|part| part.cost.is_none()) else {
                way.pop();
                continue;
            };
            let child = part.drawn.get(next).copied();
            if let Some(last) = way.last_mut() {
                last.1 += 1;
            }
            match child {
                Some(child)
                    if way.iter().any(|&(open, _)| open == child)
                        || way.len() > MAX_DRAW_DEPTH * 4 =>
                {
                    bad.push(id);
                    set_cost(parts, id, (1, 0));
                    way.pop();
                }
                Some(child) => way.push((child, 0)),
                None => {
                    let cost = draw_cost(parts, id);
                    let is_bad = cost.0 > MAX_DRAWS || cost.1 > MAX_DRAW_DEPTH;
                    if is_bad {
                        bad.push(id);
                    }
                    set_cost(parts, id, if is_bad { (1, 0) } else { cost });
                    way.pop();
                }
            }
        }
    }
    bad
}

fn set_cost(parts: &mut HashMap<ObjectId, FormXObject>, id: ObjectId, cost: (u64, usize)) {
    if let Some(part) = parts.get_mut(&id) {
        part.cost = Some(cost);
    }
}

fn draw_cost(parts: &HashMap<ObjectId, FormXObject>, id: ObjectId) -> (u64, usize) {
    let Some(part) = parts.get(&id) else { return (1, 0) };
    let inner = part.drawn.iter().filter_map(|child| parts.get(child)?.cost);
    let (most, deepest) = inner.fold((1, 0), |all, one| (all.0.max(one.0), all.1.max(one.1)));
    (part.draws.saturating_mul(most).saturating_add(1), deepest + 1)
}

/// Plain-text output that stops once it is abandoned.
struct AbortableOutput<'t, 's> {
    output: PlainTextOutput<&'t mut String>,
    signal: &'s AbandonSignal,
}

impl AbortableOutput<'_, '_> {
    fn check_abandoned(&self) -> Result<(), OutputError> {
        if self.signal.is_abandoned() {
            return Err(OutputError::IoError(std::io::ErrorKind::TimedOut.into()));
        }
        Ok(())
    }
}

impl OutputDev for AbortableOutput<'_, '_> {
    fn begin_page(
        &mut self,
        page: u32,
        media: &MediaBox,
        art: Option<(f64, f64, f64, f64)>,
    ) -> Result<(), OutputError> {
        self.check_abandoned()?;
        self.output.begin_page(page, media, art)
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        self.output.end_page()
    }

    fn output_character(
        &mut self,
        at: &Transform,
        width: f64,
        spacing: f64,
        size: f64,
        text: &str,
    ) -> Result<(), OutputError> {
        self.check_abandoned()?;
        self.output.output_character(at, width, spacing, size, text)
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        self.check_abandoned()?;
        self.output.begin_word()
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        self.output.end_word()
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        self.output.end_line()
    }
}

#[cfg(test)]
#[path = "pdf_tests.rs"]
mod tests;
