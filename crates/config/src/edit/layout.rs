//! Positions in the text: lines, columns, colons, dashes, the end of a node.

use std::ops::Range;

use granit_parser::ScalarStyle;
use serde_json::Value;

use super::position::{ValueMarker, ValuePosition};
use super::render::YamlStyle;
use crate::tree::{NodeId, YamlNode, YamlNodeKind, YamlTree};

pub(super) struct TextLayout<'t> {
    pub(super) text: &'t str,
    pub(super) tree: YamlTree,
    pub(super) style: YamlStyle,
}

impl<'t> TextLayout<'t> {
    pub(super) fn new(text: &'t str, tree: YamlTree) -> Self {
        let mut layout = Self { text, tree, style: YamlStyle::default() };
        layout.style = layout.detect_style();
        layout
    }

    /// Detects the file's newline and indentation, from the first of each kind.
    fn detect_style(&self) -> YamlStyle {
        let mut style = YamlStyle::default();
        if let Some(end) = self.text.find(['\n', '\r']) {
            style.newline = match self.text.get(end..end + 2) {
                Some("\r\n") => "\r\n",
                _ if self.text[end..].starts_with('\r') => "\r",
                _ => "\n",
            };
        }
        let (mut step, mut list) = (None, None);
        for node in &self.tree.nodes {
            let YamlNodeKind::Map { flow: false, entries } = &node.kind else {
                continue;
            };
            for entry in entries {
                let key = self.column(self.tree.node(entry.key).full_start());
                match &self.tree.node(entry.value).kind {
                    YamlNodeKind::Map { flow: false, entries } => {
                        let first = entries.first();
                        let column = first.map(|e| self.column(self.tree.node(e.key).full_start()));
                        step = step.or(column.and_then(|column| column.checked_sub(key)));
                    }
                    YamlNodeKind::List { flow: false, .. } => {
                        let spot = self.item_position(entry.value, 0).ok();
                        list = list.or(spot.and_then(|spot| spot.column.checked_sub(key)));
                    }
                    _ => {}
                }
            }
            if step.is_some() && list.is_some() {
                break;
            }
        }
        style.step = step.filter(|step| (1..=16).contains(step)).unwrap_or(2);
        style.list_step = list.filter(|step| *step <= 16).unwrap_or(style.step);
        style
    }

    pub(super) fn line_start(&self, offset: usize) -> usize {
        let before = self.text.get(..offset).unwrap_or("");
        let start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        // A byte order mark is not part of the first line.
        if start == 0 && self.text.starts_with('\u{feff}') {
            return '\u{feff}'.len_utf8().min(offset);
        }
        start
    }

    /// Returns the end of the line, without its line break.
    pub(super) fn line_end(&self, offset: usize) -> usize {
        let after = self.text.get(offset..).unwrap_or("");
        after.find(['\n', '\r']).map_or(self.text.len(), |at| offset + at)
    }

    /// Returns the start of the next line, or the end of the text.
    pub(super) fn next_line(&self, offset: usize) -> usize {
        let end = self.line_end(offset);
        let rest = self.text.get(end..).unwrap_or("");
        let width = match rest.as_bytes() {
            [b'\r', b'\n', ..] => 2,
            [_, ..] => 1,
            [] => 0,
        };
        end + width
    }

    pub(super) fn column(&self, offset: usize) -> usize {
        let start = self.line_start(offset);
        self.text.get(start..offset).unwrap_or("").chars().count()
    }

    /// Whether only blanks precede an offset on its line.
    pub(super) fn is_first_on_line(&self, offset: usize) -> bool {
        let before = self.text.get(self.line_start(offset)..offset);
        before.is_some_and(|before| before.chars().all(|c| c == ' ' || c == '\t'))
    }

    pub(super) fn comments_in(&self, range: Range<usize>) -> impl Iterator<Item = &Range<usize>> {
        let from = self.tree.comments.partition_point(|comment| comment.start < range.start);
        let rest = self.tree.comments.get(from..).unwrap_or_default();
        rest.iter().take_while(move |comment| comment.start < range.end)
    }

    /// Returns the line of an entry or item.
    pub(super) fn line_of(&self, names: &[String]) -> Option<usize> {
        let mut node = self.tree.root?;
        let mut start = 0;
        for name in names {
            match &self.tree.node(self.tree.target(node)).kind {
                YamlNodeKind::Map { entries, .. } => {
                    let entry = entries.iter().find(|e| !e.merge && e.name == *name)?;
                    start = self.tree.node(entry.key).start;
                    node = entry.value;
                }
                YamlNodeKind::List { items, .. } => {
                    node = *items.get(name.parse::<usize>().ok()?)?;
                    start = self.tree.node(node).start;
                }
                _ => return None,
            }
        }
        Some(self.text.get(..start)?.matches('\n').count() + 1)
    }

    /// Returns the position of an entry's value, which may be empty.
    pub(super) fn entry_position(
        &self,
        map: NodeId,
        index: usize,
    ) -> Result<ValuePosition, String> {
        let YamlNodeKind::Map { flow, entries } = &self.tree.node(map).kind else {
            return Err("the value is not a mapping".to_owned());
        };
        let entry = entries.get(index).ok_or("no such entry")?;
        let key = self.tree.node(entry.key);
        let start = key.full_start();
        let rest = self.text.get(key.end..).unwrap_or("");
        let gap = if *flow {
            rest.find(|c: char| !c.is_whitespace())
        } else {
            rest.find(|c: char| c != ' ' && c != '\t')
        };
        let colon = gap.filter(|gap| rest[*gap..].starts_with(':'));
        let (lead, end) = match (colon, flow) {
            (Some(gap), true) => (ValueMarker::FlowKey, key.end + gap + 1),
            (Some(gap), false) => (ValueMarker::Key, key.end + gap + 1),
            (None, true) => (ValueMarker::BareFlowKey, key.end),
            (None, false) => {
                return Err("the key uses the `? key` form".to_owned());
            }
        };
        Ok(ValuePosition { marker: lead, column: self.column(start), start, end })
    }

    /// Returns the position of a list item.
    pub(super) fn item_position(
        &self,
        list: NodeId,
        index: usize,
    ) -> Result<ValuePosition, String> {
        let YamlNodeKind::List { flow, items } = &self.tree.node(list).kind else {
            return Err("the value is not a list".to_owned());
        };
        let item = items.get(index).ok_or("the list has no such item")?;
        let start = self.tree.node(*item).full_start();
        if *flow {
            return Ok(ValuePosition {
                marker: ValueMarker::FlowItem,
                column: self.column(start),
                start,
                end: start,
            });
        }
        let dash = self.dash_before(start).ok_or("the dash of the list item was not found")?;
        Ok(ValuePosition {
            marker: ValueMarker::Dash,
            column: self.column(dash),
            start: dash,
            end: dash + 1,
        })
    }

    /// Finds the dash of an item. Only blanks, line breaks, comments and a
    /// block scalar header may be between them.
    fn dash_before(&self, start: usize) -> Option<usize> {
        let mut before = self.skip_back(start)?;
        let mark = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == '+' || c == '-');
        if let Some(rest) = mark.strip_suffix(['|', '>']) {
            before = self.skip_back(rest.len())?;
        }
        let rest = before.strip_suffix('-')?;
        Some(rest.len())
    }

    /// Returns the text before an offset without trailing blanks, line breaks
    /// and comments.
    fn skip_back(&self, mut offset: usize) -> Option<&'t str> {
        let comments = &self.tree.comments;
        loop {
            let before = self.text.get(..offset)?.trim_end();
            match comments.binary_search_by_key(&before.len(), |comment| comment.end) {
                Ok(index) => offset = comments.get(index)?.start,
                Err(_) => return Some(before),
            }
        }
    }

    /// Returns the end of a value with all its parts; `spot.end` if it is
    /// empty.
    pub(super) fn end_of(&self, spot: &ValuePosition, id: NodeId) -> Result<usize, String> {
        let node = self.tree.node(id);
        let end = match &node.kind {
            YamlNodeKind::Alias(_) => node.end,
            YamlNodeKind::Map { flow: true, .. } | YamlNodeKind::List { flow: true, .. } => {
                node.end
            }
            YamlNodeKind::Map { entries, .. } => match entries.len().checked_sub(1) {
                Some(last) => {
                    let spot = self.entry_position(id, last)?;
                    self.end_of(&spot, entries[last].value)?
                }
                None => spot.end,
            },
            YamlNodeKind::List { items, .. } => match items.len().checked_sub(1) {
                Some(last) => {
                    let spot = self.item_position(id, last)?;
                    self.end_of(&spot, items[last])?
                }
                None => spot.end,
            },
            YamlNodeKind::Scalar { value, style } => {
                self.scalar_end(node, value, *style).unwrap_or(spot.end)
            }
        };
        let properties = [&node.anchor, &node.tag];
        let ends = properties.into_iter().flatten().map(|range| range.end);
        Ok(ends.fold(end.max(spot.end), usize::max))
    }

    fn scalar_end(&self, node: &YamlNode, value: &Value, style: ScalarStyle) -> Option<usize> {
        if node.start == node.end {
            return None;
        }
        if !matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
            return Some(node.end);
        }
        let text = self.text.get(..node.end)?;
        // Trailing blank lines belong to the text only if it ends in more than
        // one line break.
        let text = match value.as_str() {
            Some(kept) if kept.ends_with("\n\n") || kept == "\n" => {
                let text = text.trim_end_matches([' ', '\t']);
                text.strip_suffix("\r\n")
                    .or_else(|| text.strip_suffix(['\n', '\r']))
                    .unwrap_or(text)
            }
            _ => text.trim_end(),
        };
        Some(text.len())
    }
}
