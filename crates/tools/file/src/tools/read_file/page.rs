//! One page of a text: which lines, as much of them as fits, and how to go on.

use std::fmt::Write as _;
use std::io::{self, Read, Seek, SeekFrom};

use hermes_core::OutputBounds;

use crate::clip::{Clip, Endings, Line};
use hermes_text::codec::{TextFormat, detect};
use crate::lines::{LineIndex, LineReader, Newline, fill};

/// Characters that are shown of a line that is read on its own.
const COLUMN_CHARS: u64 = 20_000;
/// Bytes of a page that are looked at to tell another encoding.
const PAGE_SAMPLE: u64 = 1024 * 1024;

/// What the caller wants to see.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) offset: i64,
    pub(super) limit: u64,
    pub(super) column: Option<u64>,
    /// Lines of a page, characters of a line and of a page at most.
    pub(super) bounds: OutputBounds,
}

/// What it sees.
#[derive(Debug)]
pub(super) struct Page {
    /// The numbered lines.
    pub(super) content: String,
    pub(super) format: TextFormat,
    /// Those met at the beginning of the file and in this page.
    pub(super) endings: Endings,
    /// Lines in the file.
    pub(super) total: u64,
    pub(super) is_terminated: bool,
    pub(super) next_offset: Option<u64>,
    pub(super) next_column: Option<u64>,
    first: u64,
    /// The line behind the last one shown.
    end: u64,
    /// Lines of which the end is missing.
    cut: Vec<u64>,
    /// The length of the one line that was asked for by column.
    chars: u64,
    damaged: bool,
    /// It was the size of the page that ended it.
    full: bool,
}

impl Page {
    /// Reads a page. `sample` is the beginning of the file.
    pub(super) fn read<R: Read + Seek>(
        source: &mut R,
        format: TextFormat,
        sample: &[u8],
        request: &Request,
    ) -> io::Result<Self> {
        let newline = Newline::of(format.encoding());
        let start = format.bom().len() as u64;
        let index = LineIndex::build(source, newline, start, LineIndex::CHUNK)?;
        let total = index.total();
        let first = match u64::try_from(request.offset) {
            Ok(line) => line.max(1),
            Err(_) => total.saturating_sub(request.offset.unsigned_abs()) + 1,
        };
        let mut page = Page {
            content: String::new(),
            format,
            endings: Endings::of(&format.decode(sample).text),
            total,
            is_terminated: index.is_terminated(),
            next_offset: None,
            next_column: None,
            first,
            end: first,
            cut: Vec::new(),
            chars: 0,
            damaged: false,
            full: false,
        };
        if first > total {
            return Ok(page);
        }
        let at = index.find(source, first)?;
        let size = page.fill(source, at, request)?;
        if page.damaged && format == TextFormat::PLAIN && sample.is_ascii() {
            page.reconsider(source, at, size, request)?;
        }
        Ok(page)
    }

    /// Takes lines from byte `at` on, and says how many bytes they had.
    fn fill<R: Read + Seek>(
        &mut self,
        source: &mut R,
        at: u64,
        request: &Request,
    ) -> io::Result<u64> {
        let (clip, lines) = match request.column {
            Some(column) => (Clip { skip: column.saturating_sub(1), take: COLUMN_CHARS }, 1),
            None => (
                Clip { skip: 0, take: request.bounds.line_chars },
                request.limit.clamp(1, request.bounds.read_lines.max(1)),
            ),
        };
        let last = self.total.min(self.first.saturating_add(lines - 1));
        source.seek(SeekFrom::Start(at))?;
        let encoding = self.format.encoding();
        let mut reader = LineReader::new(source, Newline::of(encoding), LineReader::<R>::WINDOW);
        let mut used = 0;
        while self.end <= last {
            let Some(line) = clip.read(&mut reader, encoding)? else {
                break;
            };
            let shown = Shown::new(self.end, &line, clip);
            used += shown.text.chars().count() as u64 + 1;
            if used > request.bounds.read_chars && self.end > self.first {
                self.full = true;
                break;
            }
            self.take(&line, &shown, request.column);
        }
        // The rest of a line comes before the line behind it.
        let next = if self.next_column.is_some() { self.first } else { self.end };
        self.next_offset = (next <= self.total).then_some(next);
        Ok(reader.taken())
    }

    fn take(&mut self, line: &Line, shown: &Shown, column: Option<u64>) {
        if !self.content.is_empty() {
            self.content.push('\n');
        }
        self.content.push_str(&shown.text);
        self.endings.add(line.ending);
        self.damaged |= line.damaged;
        self.chars = line.chars;
        if shown.left > 0 {
            self.cut.push(self.end);
            self.next_column = column.map(|_| line.chars - shown.left + 1);
        }
        self.end += 1;
    }

    /// A file that begins in ASCII may be in any encoding: its first letter
    /// beyond that may stand far behind the sample.
    fn reconsider<R: Read + Seek>(
        &mut self,
        source: &mut R,
        at: u64,
        size: u64,
        request: &Request,
    ) -> io::Result<()> {
        source.seek(SeekFrom::Start(at))?;
        let mut bytes = vec![0; size.min(PAGE_SAMPLE) as usize];
        let format = detect(fill(source, &mut bytes)?, size <= PAGE_SAMPLE);
        let same_lines = Newline::of(format.encoding()) == Newline::of(self.format.encoding());
        if format == self.format || !same_lines || !format.bom().is_empty() {
            return Ok(());
        }
        self.format = format;
        self.content.clear();
        self.cut.clear();
        self.end = self.first;
        (self.damaged, self.full, self.next_column) = (false, false, None);
        self.fill(source, at, request)?;
        Ok(())
    }

    /// Whether the text goes on behind what is shown.
    pub(super) fn is_cut(&self) -> bool {
        self.next_offset.is_some() || !self.cut.is_empty()
    }

    /// What is odd about the text.
    pub(super) fn note(&self) -> Option<String> {
        if self.total == 0 {
            return Some("The file is empty.".to_owned());
        }
        let name = self.format.encoding().name();
        self.damaged.then(|| format!("Bytes that are not valid {name} are shown as U+FFFD."))
    }

    /// How to go on.
    pub(super) fn hint(&self, request: &Request) -> Option<String> {
        let Self { first, total, .. } = *self;
        if total == 0 {
            return None;
        }
        if first > total {
            return Some(format!("The last line is {total}; offset={first} is behind it."));
        }
        if let Some(column) = request.column {
            return self.column_hint(column);
        }
        let mut hint = String::new();
        if let Some(next) = self.next_offset {
            let full = if self.full {
                format!(" (at most {} characters)", request.bounds.read_chars)
            } else {
                String::new()
            };
            let _ = write!(
                hint,
                "Lines {first}-{} of {total}{full}; go on with offset={next}.",
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
                "{space}Line {line}{more} cut at {chars} characters; read on in a line with \
                 offset={line}, column={}.",
                chars + 1
            );
        }
        (!hint.is_empty()).then_some(hint)
    }

    fn column_hint(&self, column: u64) -> Option<String> {
        let Self { first, chars, .. } = *self;
        if let Some(next) = self.next_column {
            return Some(format!(
                "Characters {column}-{} of {chars}; go on with offset={first}, column={next}.",
                next - 1
            ));
        }
        (column > chars).then(|| format!("Line {first} has {chars} characters."))
    }
}

/// A line with its number and, if its end is missing, a mark.
struct Shown {
    text: String,
    /// Characters behind those shown.
    left: u64,
}

impl Shown {
    fn new(number: u64, line: &Line, clip: Clip) -> Self {
        let left = line.chars.saturating_sub(clip.skip.saturating_add(clip.take));
        let mut text = format!("{number}|{}", line.text);
        if left > 0 {
            let _ = write!(text, "… [+{left} chars]");
        }
        Self { text, left }
    }
}
