//! Splits a stream of Markdown into blocks, each emitted as soon as it is
//! complete.
//!
//! Lists are split into items and code into lines, to keep the incomplete part
//! small.

/// Larger blocks are shown in parts.
const MAX_BLOCK_BYTES: usize = 64 * 1024;

/// A part of a text that can be rendered separately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MarkdownBlock {
    /// One Markdown block, or one list item.
    Markdown {
        text: String,
        /// Whether a blank row precedes the block.
        gap: bool,
        /// The number of a list item, which depends on the items before it.
        number: Option<u64>,
    },
    /// Start of a code block in this language.
    Code { language: String, gap: bool },
    /// A line of code.
    Line(String),
    /// End of the code block.
    CodeEnd,
}

/// Splits Markdown text; holds the part that is not complete.
#[derive(Debug, Default)]
pub(crate) struct BlockSplitter {
    /// The current line, not terminated yet.
    line: String,
    /// Complete lines of the current block.
    block: String,
    kind: BlockKind,
    fence: Option<CodeFence>,
    /// Open code fence inside a list item.
    inner_fence: Option<CodeFence>,
    /// Whether the last line was blank.
    was_blank: bool,
    /// Whether a blank row precedes the current block.
    gap: bool,
    number: Option<u64>,
    /// Number and delimiter of the previous item, while its list continues.
    last_number: Option<(u64, char)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum BlockKind {
    #[default]
    Paragraph,
    Item,
    Quote,
}

#[derive(Clone, Copy, Debug)]
struct CodeFence {
    mark: char,
    length: usize,
    indent: usize,
}

impl BlockSplitter {
    /// Takes sanitized text and appends complete blocks to `done`.
    pub(crate) fn push(&mut self, text: &str, done: &mut Vec<MarkdownBlock>) {
        for piece in text.split_inclusive('\n') {
            match piece.strip_suffix('\n') {
                Some(rest) => {
                    self.line.push_str(rest);
                    let line = std::mem::take(&mut self.line);
                    self.push_line(&line, done);
                }
                None => self.line.push_str(piece),
            }
            self.flush_oversized(done);
        }
    }

    /// Ends the text and emits the rest.
    pub(crate) fn finish(&mut self, done: &mut Vec<MarkdownBlock>) {
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            self.push_line(&line, done);
        }
        self.end_block(done);
        if self.fence.take().is_some() {
            done.push(MarkdownBlock::CodeEnd);
        }
        *self = Self::default();
    }

    /// Returns the incomplete block as it would look now.
    pub(crate) fn unfinished(&self) -> Option<MarkdownBlock> {
        if self.fence.is_some() {
            return Some(MarkdownBlock::Line(self.line.clone())).filter(|_| !self.line.is_empty());
        }
        if self.block.is_empty() && self.line.trim().is_empty() {
            return None;
        }
        let text = format!("{}{}", self.block, self.line);
        if !self.block.is_empty() {
            return Some(MarkdownBlock::Markdown { text, gap: self.gap, number: self.number });
        }
        let number = parse_item_marker(&self.line).flatten().map(|number| self.item_number(number));
        Some(MarkdownBlock::Markdown { text, gap: self.was_blank, number })
    }

    /// Numbers items consecutively, even if the source counts 1, 1, 1.
    fn item_number(&self, (number, mark): (u64, char)) -> u64 {
        match self.last_number {
            Some((last, same)) if same == mark => last.saturating_add(1),
            _ => number,
        }
    }

    fn flush_oversized(&mut self, done: &mut Vec<MarkdownBlock>) {
        if self.block.len() + self.line.len() <= MAX_BLOCK_BYTES {
            return;
        }
        if self.fence.is_none() && !self.block.is_empty() {
            self.end_block(done);
        }
        // A very long line; a megabyte of it may arrive at once.
        while self.line.len() > MAX_BLOCK_BYTES {
            let mut at = MAX_BLOCK_BYTES;
            while !self.line.is_char_boundary(at) {
                at -= 1;
            }
            let space = self.line.get(..at).and_then(|head| head.rfind(' '));
            let rest = self.line.split_off(space.map_or(at, |space| space + 1));
            let line = std::mem::replace(&mut self.line, rest);
            self.push_line(&line, done);
            self.end_block(done);
        }
    }

    fn push_line(&mut self, line: &str, done: &mut Vec<MarkdownBlock>) {
        if let Some(fence) = self.fence {
            if fence.is_closed_by(line) {
                self.fence = None;
                done.push(MarkdownBlock::CodeEnd);
            } else {
                done.push(MarkdownBlock::Line(fence.strip(line).to_owned()));
            }
            return;
        }
        if self.kind == BlockKind::Item && !self.block.is_empty() && self.continues_item(line) {
            self.append(line);
            return;
        }
        if line.trim().is_empty() {
            self.end_block(done);
            self.was_blank = true;
            return;
        }
        self.begin_or_continue(line, done);
    }

    /// Whether a line belongs to the current list item.
    fn continues_item(&mut self, line: &str) -> bool {
        if let Some(fence) = self.inner_fence {
            if fence.is_closed_by(line) {
                self.inner_fence = None;
            }
            return true;
        }
        if line.trim().is_empty() {
            self.was_blank = true;
            return true;
        }
        if indent(line) >= 2 {
            self.inner_fence = CodeFence::open(line).map(|(fence, _)| fence);
            self.was_blank = false;
            return true;
        }
        // A paragraph may continue without indentation, but not after a blank
        // line.
        !self.was_blank && !starts_block(line)
    }

    fn begin_or_continue(&mut self, line: &str, done: &mut Vec<MarkdownBlock>) {
        if let Some((fence, language)) = CodeFence::open(line).filter(|(fence, _)| fence.indent < 4)
        {
            self.end_block(done);
            self.last_number = None;
            let gap = std::mem::take(&mut self.was_blank);
            done.push(MarkdownBlock::Code { language, gap });
            self.fence = Some(fence);
            return;
        }
        let quotes = line.trim_start().starts_with('>');
        let goes_on = match self.kind {
            _ if self.block.is_empty() => false,
            BlockKind::Paragraph => is_underline(line) || !starts_block(line),
            BlockKind::Quote => quotes || !starts_block(line),
            BlockKind::Item => false,
        };
        if !goes_on {
            self.end_block(done);
            self.begin(line, quotes);
        }
        self.append(line);
        let is_done = is_heading(line) || (goes_on && is_underline(line)) || is_rule(line);
        if self.kind == BlockKind::Paragraph && is_done {
            self.end_block(done);
        }
    }

    fn begin(&mut self, line: &str, quotes: bool) {
        self.gap = std::mem::take(&mut self.was_blank) || is_heading(line);
        self.number = None;
        self.inner_fence = None;
        self.kind = match parse_item_marker(line) {
            Some(number) if !is_rule(line) => {
                self.number = number.map(|number| self.item_number(number));
                self.last_number = self.number.zip(number.map(|(_, mark)| mark));
                BlockKind::Item
            }
            _ => {
                self.last_number = None;
                if quotes { BlockKind::Quote } else { BlockKind::Paragraph }
            }
        };
    }

    fn append(&mut self, line: &str) {
        self.block.push_str(line);
        self.block.push('\n');
    }

    fn end_block(&mut self, done: &mut Vec<MarkdownBlock>) {
        let text = std::mem::take(&mut self.block);
        self.inner_fence = None;
        if !text.trim().is_empty() {
            let number = self.number.take();
            done.push(MarkdownBlock::Markdown { text, gap: self.gap, number });
        }
        self.kind = BlockKind::Paragraph;
    }
}

impl CodeFence {
    fn open(line: &str) -> Option<(Self, String)> {
        let text = line.trim_start();
        let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = text.chars().take_while(|c| *c == mark).count();
        let language = text.get(length..)?.trim();
        if length < 3 || (mark == '`' && language.contains('`')) {
            return None;
        }
        let language = language.split([' ', ',', '{']).next().unwrap_or_default();
        Some((Self { mark, length, indent: indent(line) }, language.to_owned()))
    }

    fn is_closed_by(self, line: &str) -> bool {
        let text = line.trim();
        text.len() >= self.length && text.chars().all(|c| c == self.mark)
    }

    /// Removes up to as much indentation as the fence has.
    fn strip(self, line: &str) -> &str {
        let spaces = line.bytes().take_while(|byte| *byte == b' ').count();
        line.get(spaces.min(self.indent)..).unwrap_or_default()
    }
}

fn indent(line: &str) -> usize {
    line.chars()
        .map_while(|c| match c {
            ' ' => Some(1),
            '\t' => Some(4),
            _ => None,
        })
        .sum()
}

/// Whether a line starts a block and so cannot continue a paragraph.
fn starts_block(line: &str) -> bool {
    is_heading(line)
        || is_rule(line)
        || parse_item_marker(line).is_some()
        || line.trim_start().starts_with('>')
        || CodeFence::open(line).is_some()
}

fn is_heading(line: &str) -> bool {
    let text = line.trim_start();
    let level = text.bytes().take_while(|byte| *byte == b'#').count();
    let follows = text.as_bytes().get(level);
    indent(line) < 4 && (1..=6).contains(&level) && matches!(follows, None | Some(b' ' | b'\t'))
}

fn is_rule(line: &str) -> bool {
    let mut marks = line.chars().filter(|c| !c.is_whitespace());
    let Some(mark) = marks.next().filter(|c| matches!(c, '-' | '*' | '_')) else { return false };
    indent(line) < 4 && marks.clone().count() >= 2 && marks.all(|c| c == mark)
}

/// Whether a line is a setext heading underline.
fn is_underline(line: &str) -> bool {
    let text = line.trim();
    let is_made_of = |mark| !text.is_empty() && text.chars().all(|c| c == mark);
    is_made_of('=') || is_made_of('-')
}

/// Returns number and delimiter if a line starts a list item; the inner `None`
/// means a bullet.
fn parse_item_marker(line: &str) -> Option<Option<(u64, char)>> {
    if indent(line) >= 4 {
        return None;
    }
    let text = line.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = if digits == 0 {
        (None, text.strip_prefix(['-', '*', '+'])?)
    } else {
        let (digits, rest) = text.split_at_checked(digits).filter(|(head, _)| head.len() < 10)?;
        let mark = rest.chars().next().filter(|mark| matches!(mark, '.' | ')'))?;
        (digits.parse().ok().zip(Some(mark)), rest.get(1..)?)
    };
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(number)
}
