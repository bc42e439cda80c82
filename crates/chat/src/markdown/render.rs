//! Renders Markdown blocks as rows.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::MarkdownBlock;
use super::table::MarkdownTable;
use crate::row::{
    AnsiColour, BOLD_STYLE, DIM_STYLE, PLAIN_STYLE, StyledRow, StyledSpan, TextStyle,
};
use crate::sanitize::sanitize;
use crate::wrap::{RowIndent, hard_wrap, wrap};

/// Maximum width of text, for readability.
const MAX_TEXT_COLUMNS: usize = 100;
const CODE_STYLE: TextStyle = AnsiColour::Cyan.style();
const CODE_INDENT: &str = "  ";

/// Renders a block as rows of at most `columns`. Lines of code are left to the
/// terminal to wrap, so they can be copied whole.
pub(crate) fn render(block: &MarkdownBlock, columns: usize) -> Vec<StyledRow> {
    match block {
        MarkdownBlock::Markdown { text, number, .. } => {
            MarkdownRenderer::new(columns, *number).run(text)
        }
        MarkdownBlock::Code { language, .. } => {
            if language.is_empty() {
                return Vec::new();
            }
            vec![StyledRow::new(&format!("{CODE_INDENT}─── {language}"), DIM_STYLE)]
        }
        MarkdownBlock::Line(line) => {
            vec![StyledRow::new(CODE_INDENT, PLAIN_STYLE).with(&expand_tabs(line), CODE_STYLE)]
        }
        MarkdownBlock::CodeEnd => Vec::new(),
    }
}

fn expand_tabs(line: &str) -> String {
    line.replace('\t', "    ")
}

struct MarkdownRenderer {
    columns: usize,
    rows: Vec<StyledRow>,
    /// Prefixes of the open blocks; the marker of an item is used only once.
    indents: Vec<(Option<StyledRow>, StyledRow)>,
    spans: Vec<StyledSpan>,
    styles: Vec<TextStyle>,
    lists: Vec<Option<u64>>,
    /// Number of the first item, if the caller knows it.
    number: Option<u64>,
    links: Vec<(String, usize)>,
    code: Option<String>,
    table: Option<MarkdownTable>,
    /// Whether a blank row precedes the next block.
    wants_gap: bool,
    /// Whether a nested list has just ended.
    is_after_list: bool,
}

impl MarkdownRenderer {
    fn new(columns: usize, number: Option<u64>) -> Self {
        Self {
            columns: columns.min(MAX_TEXT_COLUMNS),
            rows: Vec::new(),
            indents: Vec::new(),
            spans: Vec::new(),
            styles: vec![PLAIN_STYLE],
            lists: Vec::new(),
            number,
            links: Vec::new(),
            code: None,
            table: None,
            wants_gap: false,
            is_after_list: false,
        }
    }

    fn run(mut self, text: &str) -> Vec<StyledRow> {
        let options =
            Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        for event in Parser::new_ext(text, options) {
            self.on_event(event);
        }
        self.end_text();
        self.rows
    }

    fn on_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(code) => self.push_styled(&code, CODE_STYLE),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text),
            Event::Html(html) | Event::InlineHtml(html) => self.html(&html),
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.text("\n"),
            Event::Rule => {
                let rule = "─".repeat(self.columns.min(40));
                self.push_block(&[StyledSpan { text: rule, style: DIM_STYLE }]);
            }
            Event::TaskListMarker(done) => self.text(if done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]")),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => self.styles.push(heading_style(level)),
            Tag::BlockQuote(_) => {
                self.end_text();
                self.indents.push((None, StyledRow::new("│ ", DIM_STYLE)));
            }
            Tag::List(first) => {
                self.end_text();
                // No blank row between an item and its nested list.
                self.wants_gap &= self.lists.is_empty();
                let first = first.map(|first| self.number.take().unwrap_or(first));
                self.lists.push(first);
            }
            Tag::Paragraph => self.wants_gap |= std::mem::take(&mut self.is_after_list),
            Tag::Item => self.start_item(),
            Tag::CodeBlock(kind) => {
                self.end_text();
                if let CodeBlockKind::Fenced(language) = kind {
                    let language = language.split([' ', ',']).next().unwrap_or_default();
                    if !language.is_empty() {
                        self.push_block(&[StyledSpan {
                            text: sanitize(language),
                            style: DIM_STYLE,
                        }]);
                    }
                }
                self.code = Some(String::new());
            }
            Tag::Emphasis => self.restyle(|style| style.italic = true),
            Tag::Strong => self.restyle(|style| style.bold = true),
            Tag::Strikethrough => self.restyle(|style| style.struck = true),
            Tag::Link { dest_url, .. } => {
                self.links.push((sanitize(&dest_url), self.spans.len()));
                self.restyle(|style| style.underlined = true);
            }
            Tag::Image { dest_url, .. } => {
                self.text("🖼 ");
                self.links.push((sanitize(&dest_url), self.spans.len()));
                self.restyle(|style| style.italic = true);
            }
            Tag::Table(alignments) => {
                self.end_text();
                self.table = Some(MarkdownTable::new(alignments));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
            }
            _ => {}
        }
    }

    fn start_item(&mut self) {
        self.end_text();
        self.is_after_list = false;
        let depth = self.lists.len();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number += 1;
                StyledRow::new(&mark, PLAIN_STYLE)
            }
            _ if depth % 2 == 1 => StyledRow::new("• ", PLAIN_STYLE),
            _ => StyledRow::new("◦ ", PLAIN_STYLE),
        };
        let rest = StyledRow::new(&" ".repeat(mark.width()), PLAIN_STYLE);
        self.indents.push((Some(mark), rest));
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => {
                self.end_text();
                self.wants_gap = true;
            }
            TagEnd::Heading(_) => {
                self.end_text();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) | TagEnd::Item => {
                self.end_text();
                if let Some((Some(_), _)) = self.indents.last() {
                    // An empty item.
                    self.push_block(&[]);
                }
                self.indents.pop();
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.is_after_list = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.spans);
                if let Some(table) = &mut self.table {
                    table.push_cell(cell);
                }
            }
            TagEnd::Table => self.end_table(),
            _ => {}
        }
    }

    fn restyle(&mut self, change: impl FnOnce(&mut TextStyle)) {
        let mut style = self.style();
        change(&mut style);
        self.styles.push(style);
    }

    fn style(&self) -> TextStyle {
        self.styles.last().copied().unwrap_or(PLAIN_STYLE)
    }

    fn text(&mut self, text: &str) {
        if let Some(code) = &mut self.code {
            code.push_str(text);
            return;
        }
        self.push_styled(text, self.style());
    }

    /// Sanitizes again, because parsing decodes entities: `&#27;` is an escape
    /// character.
    fn push_styled(&mut self, text: &str, style: TextStyle) {
        self.spans.push(StyledSpan { text: sanitize(text), style });
    }

    fn html(&mut self, html: &str) {
        match html.trim().to_ascii_lowercase().as_str() {
            "<br>" | "<br/>" | "<br />" => self.text("\n"),
            _ => self.push_styled(html, DIM_STYLE),
        }
    }

    fn end_link(&mut self) {
        self.styles.pop();
        let Some((address, from)) = self.links.pop() else { return };
        let text: String = self.spans.iter().skip(from).map(|span| span.text.as_str()).collect();
        let bare =
            |address: &str| address.trim_start_matches("mailto:").trim_end_matches('/').to_owned();
        if !address.is_empty() && bare(&address) != bare(&text) {
            self.push_styled(&format!(" ({address})"), DIM_STYLE);
        }
    }

    fn end_text(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        if spans.iter().any(|span| !span.text.trim().is_empty()) {
            self.push_block(&spans);
        }
    }

    fn end_code(&mut self) {
        let code = sanitize(&self.code.take().unwrap_or_default());
        self.push_gap();
        for line in code.trim_end_matches('\n').split('\n') {
            let indent = self.take_indent();
            let mut prefix = indent.first.clone();
            prefix.push(CODE_INDENT, PLAIN_STYLE);
            self.rows.extend(hard_wrap(line, self.columns, CODE_STYLE, &prefix));
        }
        self.wants_gap = true;
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        self.push_gap();
        let indent = self.take_indent();
        let room = self.columns.saturating_sub(indent.first.width());
        for (at, row) in table.rows(room).into_iter().enumerate() {
            let mut whole = if at == 0 { indent.first.clone() } else { indent.rest.clone() };
            whole.append(&row);
            self.rows.push(whole);
        }
        self.wants_gap = true;
    }

    fn push_block(&mut self, spans: &[StyledSpan]) {
        self.push_gap();
        let indent = self.take_indent();
        self.rows.extend(wrap(spans, self.columns, &indent));
    }

    fn push_gap(&mut self) {
        if std::mem::take(&mut self.wants_gap) && !self.rows.is_empty() {
            // The marker of an item that is about to start belongs on the
            // item's own row.
            let mut row = StyledRow::default();
            for (mark, rest) in &self.indents {
                if mark.is_none() && row.width() <= self.columns / 2 {
                    row.append(rest);
                }
            }
            self.rows.push(row);
        }
    }

    /// Returns the prefix of the next rows and consumes item markers.
    fn take_indent(&mut self) -> RowIndent {
        let mut indent = RowIndent::default();
        for (mark, rest) in &mut self.indents {
            // Deep nesting would leave no room for text.
            if indent.rest.width() > self.columns / 2 {
                break;
            }
            indent.first.append(&mark.take().unwrap_or_else(|| rest.clone()));
            indent.rest.append(rest);
        }
        indent
    }
}

fn heading_style(level: HeadingLevel) -> TextStyle {
    match level {
        HeadingLevel::H1 => TextStyle { underlined: true, ..AnsiColour::Magenta.bold() },
        HeadingLevel::H2 => AnsiColour::Magenta.bold(),
        _ => BOLD_STYLE,
    }
}
