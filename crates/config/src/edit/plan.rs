//! Plans which bytes of the text to replace.

use std::ops::Range;

use serde_json::Value;

use super::layout::TextLayout;
use super::position::{ExistingValue, ValueMarker, ValuePosition};
use super::render::{
    YamlStyle, block_lines, entry_lines, indent, inline, inline_in_flow, is_block, item_lines,
    key_in_flow,
};
use crate::tree::{MapEntry, NodeId, YamlNode, YamlNodeKind};

/// Maximum length of a bracketed value; longer ones are written below their
/// key.
const MAX_INLINE_CHARS: usize = 100;

/// A byte range and its replacement.
pub(super) type TextSplice = (Range<usize>, String);

pub(super) fn apply_splices(text: &str, mut splices: Vec<TextSplice>) -> Result<String, String> {
    splices.sort_by_key(|(range, _)| (range.start, range.end));
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for (range, new) in splices {
        // `None` if two changes overlap.
        let kept = text.get(done..range.start);
        result.push_str(kept.ok_or("two changes overlap")?);
        result.push_str(&new);
        done = range.end;
    }
    result.push_str(text.get(done..).unwrap_or(""));
    Ok(result)
}

pub(super) struct SplicePlanner<'l, 't> {
    layout: &'l TextLayout<'t>,
    style: YamlStyle,
}

impl<'l, 't> SplicePlanner<'l, 't> {
    pub(super) fn new(layout: &'l TextLayout<'t>) -> Self {
        Self { layout, style: layout.style }
    }

    /// Replaces only the differences between the old and the new value of a
    /// node.
    pub(super) fn diff(
        &self,
        spot: &ValuePosition,
        id: NodeId,
        old: &Value,
        new: &Value,
    ) -> Result<Vec<TextSplice>, String> {
        if old == new {
            return Ok(Vec::new());
        }
        match (&self.layout.tree.node(id).kind, old, new) {
            (
                YamlNodeKind::Map { flow: false, entries },
                Value::Object(before),
                Value::Object(after),
            ) if before.keys().any(|name| after.contains_key(name))
                && !entries.iter().any(|entry| entry.merge) =>
            {
                self.diff_map(id, entries, old, new)
            }
            (
                YamlNodeKind::List { flow: false, items },
                Value::Array(before),
                Value::Array(after),
            ) if !before.is_empty() && !after.is_empty() => {
                self.diff_list(id, items, before, after)
            }
            _ => self.replace(spot, id, new).map(|splice| vec![splice]),
        }
    }

    fn diff_map(
        &self,
        id: NodeId,
        entries: &[MapEntry],
        old: &Value,
        new: &Value,
    ) -> Result<Vec<TextSplice>, String> {
        let mut splices = Vec::new();
        let mut last_kept = None;
        for (index, entry) in entries.iter().enumerate() {
            match (old.get(&entry.name), new.get(&entry.name)) {
                (Some(old), Some(new)) => {
                    last_kept = Some(index);
                    let spot = self.layout.entry_position(id, index)?;
                    splices.extend(self.diff(&spot, entry.value, old, new)?);
                }
                _ => splices.push(self.delete_entry(id, index)?),
            }
        }
        let added: Vec<(&str, &Value)> = new
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, _)| old.get(name.as_str()).is_none())
            .map(|(name, value)| (name.as_str(), value))
            .collect();
        if !added.is_empty() {
            splices.push(self.insert_entries(id, last_kept, &added)?);
        }
        Ok(splices)
    }

    fn diff_list(
        &self,
        id: NodeId,
        items: &[NodeId],
        old: &[Value],
        new: &[Value],
    ) -> Result<Vec<TextSplice>, String> {
        let same = |(left, right): &(&Value, &Value)| left == right;
        let head = old.iter().zip(new).take_while(same).count();
        let (old_rest, new_rest) = (&old[head..], &new[head..]);
        let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(same).count();
        let old_middle = &old_rest[..old_rest.len() - tail];
        let new_middle = &new_rest[..new_rest.len() - tail];

        let mut splices = Vec::new();
        for (index, (old, new)) in old_middle.iter().zip(new_middle).enumerate() {
            let spot = self.layout.item_position(id, head + index)?;
            splices.extend(self.diff(&spot, items[head + index], old, new)?);
        }
        let paired = old_middle.len().min(new_middle.len());
        for index in paired..old_middle.len() {
            splices.push(self.delete_item(id, head + index, items[head + index])?);
        }
        if let Some(added) = new_middle.get(paired..).filter(|added| !added.is_empty()) {
            splices.push(self.insert_items(id, head + paired, items, added)?);
        }
        Ok(splices)
    }

    /// Replaces a whole value. Keeps its anchor and comments on their own
    /// lines, drops its tag.
    pub(super) fn replace(
        &self,
        spot: &ValuePosition,
        id: NodeId,
        new: &Value,
    ) -> Result<TextSplice, String> {
        let node = self.layout.tree.node(id);
        let anchor = node.anchor.clone().and_then(|range| self.layout.text.get(range));
        if spot.in_flow() {
            return self.replace_in_flow(spot, id, anchor, new);
        }
        let old = ExistingValue::read(self.layout, spot, id)?;
        let brackets = is_block(new) && keeps_brackets(node, new);
        let flowed = if brackets { Some(inline(new)?) } else { None };
        let flowed = flowed.filter(|flowed| flowed.len() <= MAX_INLINE_CHARS);
        let text = if is_block(new) && flowed.is_none() {
            self.render_block(spot, &old, anchor, new)?
        } else {
            let anchor = anchor.map(|anchor| format!("{anchor} ")).unwrap_or_default();
            let value = match flowed {
                Some(flowed) => flowed,
                None => inline(new)?,
            };
            let mut text = format!("{}{anchor}{value}{}", old.leading_blanks, old.trailing_comment);
            for comment in old.comments_before.iter().chain(&old.comments_after) {
                text.push_str(self.style.newline);
                text.push_str(comment);
            }
            text
        };
        Ok((old.range, text))
    }

    /// Renders a collection in block style.
    fn render_block(
        &self,
        spot: &ValuePosition,
        old: &ExistingValue<'_>,
        anchor: Option<&str>,
        new: &Value,
    ) -> Result<String, String> {
        let column = match (old.child_column, spot.marker, new) {
            (Some((column, is_list)), ..) if is_list == new.is_array() => column,
            (_, ValueMarker::Dash, _) => spot.column + 2,
            (_, _, Value::Array(_)) => spot.column + self.style.list_step,
            _ => spot.column + self.style.step,
        };
        let mut lines = block_lines(new, self.style)?.into_iter();
        let mut text = String::new();
        if let Some(anchor) = anchor {
            text.push(' ');
            text.push_str(anchor);
        }
        text.push_str(&old.trailing_comment);
        let compact = spot.marker == ValueMarker::Dash
            && text.trim().is_empty()
            && old.comments_before.is_empty();
        let column = if compact { spot.column + 2 } else { column };
        if compact && let Some(first) = lines.next() {
            text = format!(" {first}");
        }
        let own_lines = old.comments_before.iter().map(|line| (*line).to_owned());
        let own_lines = own_lines.chain(lines.map(|line| indent(&line, column)));
        for line in own_lines.chain(old.comments_after.iter().map(|line| (*line).to_owned())) {
            text.push_str(self.style.newline);
            text.push_str(&line);
        }
        Ok(text)
    }

    fn replace_in_flow(
        &self,
        spot: &ValuePosition,
        id: NodeId,
        anchor: Option<&str>,
        new: &Value,
    ) -> Result<TextSplice, String> {
        let node = self.layout.tree.node(id);
        let end = self.layout.end_of(spot, id)?;
        let empty = end == spot.end && spot.marker != ValueMarker::FlowItem;
        let start = if empty { end } else { node.full_start() };
        let lead = match spot.marker {
            ValueMarker::BareFlowKey => ": ",
            _ if empty => " ",
            _ => "",
        };
        let anchor = anchor.map(|anchor| format!("{anchor} ")).unwrap_or_default();
        let text = format!("{lead}{anchor}{}", inline_in_flow(new)?);
        Ok((start..end, text))
    }

    /// Adds entries to a mapping, after the given one or else the last.
    pub(super) fn insert_entries(
        &self,
        map: NodeId,
        behind: Option<usize>,
        added: &[(&str, &Value)],
    ) -> Result<TextSplice, String> {
        let node = self.layout.tree.node(map);
        let YamlNodeKind::Map { flow, entries } = &node.kind else {
            return Err("the value is not a mapping".to_owned());
        };
        let last = match behind.or(entries.len().checked_sub(1)) {
            Some(last) => {
                let spot = self.layout.entry_position(map, last)?;
                Some(self.layout.end_of(&spot, entries[last].value)?)
            }
            None => None,
        };
        if *flow {
            let mut parts = Vec::new();
            for (name, value) in added {
                parts.push(format!("{}: {}", key_in_flow(name)?, inline_in_flow(value)?));
            }
            let parts = parts.join(", ");
            return Ok(match last {
                Some(end) => (end..end, format!(", {parts}")),
                None => (node.start + 1..node.start + 1, parts),
            });
        }
        let end = self.layout.line_end(last.ok_or("the mapping is empty")?);
        let first = entries.first().ok_or("the mapping is empty")?;
        let column = self.layout.column(self.layout.tree.node(first.key).full_start());
        let mut text = String::new();
        for (name, value) in added {
            for line in entry_lines(name, value, self.style)? {
                text.push_str(self.style.newline);
                text.push_str(&indent(&line, column));
            }
        }
        Ok((end..end, text))
    }

    /// Returns the first entry of an empty document.
    pub(super) fn append(&self, name: &str, value: &Value) -> Result<TextSplice, String> {
        let at = self.layout.tree.end;
        let before = self.layout.text.get(..at).unwrap_or("");
        let mut text = String::new();
        let fresh = before.trim_start_matches('\u{feff}').is_empty();
        if !fresh && !before.ends_with(['\n', '\r']) {
            text.push_str(self.style.newline);
        }
        for line in entry_lines(name, value, self.style)? {
            text.push_str(&line);
            text.push_str(self.style.newline);
        }
        Ok((at..at, text))
    }

    fn insert_items(
        &self,
        list: NodeId,
        index: usize,
        items: &[NodeId],
        added: &[Value],
    ) -> Result<TextSplice, String> {
        let column = self.layout.item_position(list, 0)?.column;
        let mut lines = Vec::new();
        for value in added {
            let item = item_lines(value, self.style)?;
            lines.extend(item.iter().map(|line| indent(line, column)));
        }
        let newline = self.style.newline;
        let Some(previous) = index.checked_sub(1) else {
            let first = self.layout.item_position(list, 0)?.start;
            if !self.layout.is_first_on_line(first) {
                return Err("the list starts in the middle of a line".to_owned());
            }
            let at = self.layout.line_start(first);
            return Ok((at..at, format!("{}{newline}", lines.join(newline))));
        };
        let spot = self.layout.item_position(list, previous)?;
        let end = self.layout.line_end(self.layout.end_of(&spot, items[previous])?);
        Ok((end..end, format!("{newline}{}", lines.join(newline))))
    }

    fn delete_item(&self, list: NodeId, index: usize, item: NodeId) -> Result<TextSplice, String> {
        let spot = self.layout.item_position(list, index)?;
        let end = self.layout.end_of(&spot, item)?;
        self.delete_lines(spot.start, end)
    }

    /// Removes an entry with its lines, or in brackets with its comma.
    pub(super) fn delete_entry(&self, map: NodeId, index: usize) -> Result<TextSplice, String> {
        let YamlNodeKind::Map { flow, entries } = &self.layout.tree.node(map).kind else {
            return Err("the value is not a mapping".to_owned());
        };
        let entry = entries.get(index).ok_or("no such entry")?;
        let spot = self.layout.entry_position(map, index)?;
        let end = self.layout.end_of(&spot, entry.value)?;
        let next = entries.get(index + 1);
        let next = next.map(|next| self.layout.tree.node(next.key).full_start());
        if *flow {
            let previous = match index.checked_sub(1) {
                Some(previous) => {
                    let spot = self.layout.entry_position(map, previous)?;
                    Some(self.layout.end_of(&spot, entries[previous].value)?)
                }
                None => None,
            };
            let range = match (previous, next) {
                (_, Some(next)) => spot.start..next,
                (Some(previous), None) => previous..end,
                (None, None) => spot.start..end,
            };
            return Ok((range, String::new()));
        }
        if self.layout.is_first_on_line(spot.start) {
            return self.delete_lines(spot.start, end);
        }
        // After a dash: the next entry moves up, unless a comment is in
        // between.
        let next = next.ok_or("it is the only entry")?;
        let stop = self.layout.line_end(end);
        let range = match self.layout.comments_in(stop..next).next() {
            Some(_) => spot.start..stop,
            None => spot.start..next,
        };
        Ok((range, String::new()))
    }

    fn delete_lines(&self, start: usize, end: usize) -> Result<TextSplice, String> {
        if !self.layout.is_first_on_line(start) {
            return Err("it starts in the middle of a line".to_owned());
        }
        let range = self.layout.line_start(start)..self.layout.next_line(end);
        Ok((range, String::new()))
    }
}

/// Whether a bracketed list or mapping is replaced by one of the same kind.
fn keeps_brackets(node: &YamlNode, new: &Value) -> bool {
    match &node.kind {
        YamlNodeKind::List { flow, items } => *flow && !items.is_empty() && new.is_array(),
        YamlNodeKind::Map { flow, entries } => *flow && !entries.is_empty() && new.is_object(),
        _ => false,
    }
}
