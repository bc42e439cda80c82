//! One page of a text: the requested lines, as many as fit, and how to
//! continue.

use std::fmt::Write as _;
use std::io::{self, Read, Seek, SeekFrom};

use encoding_rs::UTF_8;
use hermes_core::OutputLimits;
use hermes_text::codec::{TextFormat, detect_format};

use crate::clip::{ClippedLine, LineTerminator, LineTerminators, LineWindow};
use crate::lines::{LineIndex, LineReader, NewlineEncoding, fill_buffer};
use crate::source::SeekableFile;

/// Characters shown of a line that is read by column.
const MAX_COLUMN_CHARS: u64 = 20_000;
/// Bytes of a page examined to detect another encoding.
const PAGE_SAMPLE_BYTES: u64 = 1024 * 1024;
/// Lines of files up to this size are always counted; larger files are not, to
/// keep the first page fast.
const MAX_COUNTED_BYTES: u64 = 64 * 1024 * 1024;

/// The page that the caller asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageRequest {
    pub(super) offset: i64,
    pub(super) limit: u64,
    pub(super) column: Option<u64>,
    /// Limits on lines per page, characters per line and characters per page.
    pub(super) bounds: OutputLimits,
}

/// How the bytes of the text are decoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextDecoding {
    pub(super) format: TextFormat,
    pub(super) newline: NewlineEncoding,
    /// The caller set the encoding, or it was detected from the whole file.
    pub(super) is_settled: bool,
}

impl TextDecoding {
    /// Start of the text, after any byte order mark.
    pub(super) fn start(&self) -> u64 {
        self.format.bom().len() as u64
    }
}

/// One page of numbered lines.
#[derive(Debug)]
pub(super) struct LinePage {
    /// The numbered lines.
    pub(super) content: String,
    pub(super) text: TextDecoding,
    /// Line endings at the beginning of the file and in this page.
    pub(super) endings: LineTerminators,
    /// Lines in the file, if counted, and a lower bound.
    pub(super) total: Option<u64>,
    pub(super) at_least: u64,
    /// Whether the last line of the file is terminated, if known.
    pub(super) is_terminated: Option<bool>,
    pub(super) next_offset: Option<u64>,
    pub(super) next_column: Option<u64>,
    first: u64,
    /// The line after the last one shown.
    end: u64,
    /// Lines whose end is cut off.
    cut: Vec<u64>,
    /// Length of the last line.
    chars: u64,
    /// The last line is longer than the part that was read.
    endless: bool,
    damaged: bool,
    /// The page reached its character limit.
    full: bool,
    /// For a truncated line: characters skipped, and the column after the last
    /// one shown.
    skipped: u64,
    end_column: u64,
}

impl LinePage {
    /// Reads a page. `sample` is the beginning of the file.
    pub(super) fn read(
        source: &mut SeekableFile,
        index: &mut LineIndex,
        text: TextDecoding,
        sample: &[u8],
        request: &PageRequest,
    ) -> io::Result<Self> {
        if source.len() <= MAX_COUNTED_BYTES || request.offset < 0 {
            index.finish(source)?;
        }
        let first = match (u64::try_from(request.offset), index.total()) {
            (Ok(line), _) => line.max(1),
            (Err(_), total) => total.unwrap_or(0).saturating_sub(request.offset.unsigned_abs()) + 1,
        };
        let at = index.find(source, first)?;
        let mut page = LinePage {
            content: String::new(),
            text,
            endings: LineTerminators::from_text(&text.format.decode(sample).text),
            total: index.total(),
            at_least: index.at_least(),
            is_terminated: index.is_terminated(),
            next_offset: None,
            next_column: None,
            first,
            end: first,
            cut: Vec::new(),
            chars: 0,
            endless: false,
            damaged: false,
            full: false,
            skipped: 0,
            end_column: 0,
        };
        let Some(at) = at else {
            return Ok(page);
        };
        let size = page.fill(source, at, request)?;
        let is_guess =
            !text.is_settled && text.format == TextFormat::PLAIN_UTF8 && sample.is_ascii();
        if page.damaged && is_guess {
            page.redetect_encoding(source, at, size, request)?;
        }
        page.at_least = page.at_least.max(page.next_offset.unwrap_or(0)).max(page.end - 1);
        Ok(page)
    }

    /// Reads lines from byte `at` and returns the number of bytes consumed.
    fn fill<R: Read + Seek>(
        &mut self,
        source: &mut R,
        at: u64,
        request: &PageRequest,
    ) -> io::Result<u64> {
        let (clip, lines) = match request.column {
            Some(column) => {
                (LineWindow { skip: column.saturating_sub(1), take: MAX_COLUMN_CHARS }, 1)
            }
            None => (
                LineWindow { skip: 0, take: request.bounds.line_chars },
                request.limit.clamp(1, request.bounds.read_lines.max(1)),
            ),
        };
        self.skipped = clip.skip;
        self.end_column = clip.skip.saturating_add(clip.take).saturating_add(1);
        let last = self.first.saturating_add(lines - 1).min(self.total.unwrap_or(u64::MAX));
        source.seek(SeekFrom::Start(at))?;
        let encoding = self.text.format.encoding();
        let mut reader = LineReader::new(source, self.text.newline, LineReader::<R>::WINDOW_BYTES);
        let (mut used, mut ending) = (0, None);
        while self.end <= last && !self.endless {
            let Some(line) = clip.read(&mut reader, encoding)? else {
                break;
            };
            let shown = NumberedLine::new(self.end, &line, clip);
            used += shown.text.chars().count() as u64 + 1;
            if used > request.bounds.read_chars && self.end > self.first {
                self.full = true;
                break;
            }
            ending = Some(line.ending);
            self.push_line(&line, &shown);
        }
        let goes_on = self.full || self.endless || !reader.is_at_end()?;
        if !goes_on && self.total.is_none() {
            self.total = Some(self.end - 1);
            self.is_terminated = ending.map(|ending| ending != LineTerminator::None);
        }
        self.set_next(goes_on, request.column.is_some());
        Ok(reader.bytes_read())
    }

    fn set_next(&mut self, goes_on: bool, by_column: bool) {
        let is_last_cut = self.cut.last() == Some(&(self.end - 1)) && !self.full;
        if self.endless || by_column && is_last_cut {
            // The rest of a line comes before the next line.
            self.next_offset = Some(self.end - 1);
            self.next_column = Some(self.end_column);
        } else {
            self.next_offset = goes_on.then_some(self.end);
        }
    }

    fn push_line(&mut self, line: &ClippedLine, shown: &NumberedLine) {
        if !self.content.is_empty() {
            self.content.push('\n');
        }
        self.content.push_str(&shown.text);
        self.endings.add(line.ending);
        self.damaged |= line.damaged;
        self.chars = line.chars;
        self.endless = line.is_endless;
        if shown.is_cut {
            self.cut.push(self.end);
        }
        self.end += 1;
    }

    /// Detects the encoding from the page. A file that begins in ASCII may have
    /// its first non-ASCII character far after the sample.
    fn redetect_encoding<R: Read + Seek>(
        &mut self,
        source: &mut R,
        at: u64,
        size: u64,
        request: &PageRequest,
    ) -> io::Result<()> {
        source.seek(SeekFrom::Start(at))?;
        let mut bytes = vec![0; size.min(PAGE_SAMPLE_BYTES) as usize];
        let format = detect_format(fill_buffer(source, &mut bytes)?, size <= PAGE_SAMPLE_BYTES);
        let same_lines = !NewlineEncoding::for_encoding(format.encoding()).is_wide();
        if format == self.text.format || !same_lines || !format.bom().is_empty() {
            return Ok(());
        }
        self.text.format = format;
        self.content.clear();
        self.cut.clear();
        self.end = self.first;
        (self.damaged, self.full, self.endless) = (false, false, false);
        (self.next_offset, self.next_column) = (None, None);
        self.fill(source, at, request)?;
        Ok(())
    }

    /// Whether the text continues after the page.
    pub(super) fn is_cut(&self) -> bool {
        self.next_offset.is_some() || !self.cut.is_empty()
    }

    /// Whether the page shows the whole file.
    pub(super) fn is_whole(&self) -> bool {
        self.first == 1 && self.skipped == 0 && !self.is_cut()
    }

    /// The limit that ended the page before the end of the text.
    pub(super) fn cut_by(&self) -> Option<&'static str> {
        match (self.full, &self.next_offset) {
            (true, _) => Some("characters"),
            (false, Some(_)) if self.next_column.is_none() => Some("lines"),
            _ => self.is_cut().then_some("line_length"),
        }
    }

    /// A note on anything unusual about the text.
    pub(super) fn note(&self) -> Option<String> {
        if self.total == Some(0) {
            return Some("The file is empty.".to_owned());
        }
        let mut notes = Vec::new();
        if self.damaged {
            let name = self.text.format.encoding().name();
            notes.push(format!("Bytes that are not valid {name} are shown as U+FFFD."));
        }
        let encoding = self.text.format.encoding();
        if !self.text.is_settled && self.text.format.bom().is_empty() && encoding != UTF_8 {
            notes.push("The encoding was guessed from part of this large file.".to_owned());
        }
        if self.total.is_none() {
            notes.push(
                "Not all lines of this large file have been counted; a negative offset counts \
                 them."
                    .to_owned(),
            );
        }
        (!notes.is_empty()).then(|| notes.join(" "))
    }

    /// How to continue.
    pub(super) fn hint(&self, request: &PageRequest) -> Option<String> {
        let Self { first, total, .. } = *self;
        if total == Some(0) {
            return None;
        }
        if let Some(total) = total.filter(|&total| first > total) {
            return Some(format!("The last line is {total}; offset={first} is past the end."));
        }
        if let Some(column) = request.column {
            return self.column_hint(column);
        }
        let mut hint = String::new();
        if let (Some(next), None) = (self.next_offset, self.next_column) {
            let full = if self.full {
                format!(" (at most {} characters)", request.bounds.read_chars)
            } else {
                String::new()
            };
            let of = match total {
                Some(total) => total.to_string(),
                None => "many".to_owned(),
            };
            let _ = write!(
                hint,
                "Lines {first}-{} of {of}{full}; continue with offset={next}.",
                next - 1
            );
        }
        if let Some(line) = self.cut.first() {
            let more = match self.cut.len() - 1 {
                0 => String::new(),
                others => format!(" and {others} more"),
            };
            let space = if hint.is_empty() { "" } else { " " };
            let chars = request.bounds.line_chars;
            let _ = write!(
                hint,
                "{space}Line {line}{more} cut at {chars} characters; continue in a line with \
                 offset={line}, column={}.",
                chars + 1
            );
        }
        if self.endless {
            let _ = write!(
                hint,
                " Line {} is very long: byte_offset is faster, offset={} skips it.",
                self.end - 1,
                self.end
            );
        }
        (!hint.is_empty()).then_some(hint)
    }

    fn column_hint(&self, column: u64) -> Option<String> {
        let Self { first, chars, .. } = *self;
        if let Some(next) = self.next_column {
            let of = if self.endless { format!("more than {chars}") } else { chars.to_string() };
            return Some(format!(
                "Characters {column}-{} of {of}; continue with offset={first}, column={next}.",
                next - 1
            ));
        }
        (column > chars).then(|| format!("Line {first} has {chars} characters."))
    }
}

/// A line with its number and, if it is truncated, a marker.
struct NumberedLine {
    text: String,
    is_cut: bool,
}

impl NumberedLine {
    fn new(number: u64, line: &ClippedLine, clip: LineWindow) -> Self {
        let left = line.chars.saturating_sub(clip.skip.saturating_add(clip.take));
        let mut text = format!("{number}|{}", line.text);
        let more = if line.is_endless { "more than " } else { "" };
        if left > 0 {
            let _ = write!(text, "… [+{more}{left} chars]");
        }
        Self { text, is_cut: left > 0 }
    }
}
