//! Position of a value in the text, and the text around it.

use std::ops::Range;

use granit_parser::ScalarStyle;

use super::layout::TextLayout;
use crate::tree::{NodeId, YamlNodeKind};

/// Position of a value after its key or dash.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValuePosition {
    pub(super) marker: ValueMarker,
    /// Column of the key or dash.
    pub(super) column: usize,
    /// Start of the key, dash or item.
    pub(super) start: usize,
    /// End of the colon or dash; a value can start here.
    pub(super) end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueMarker {
    /// `key:` on its own lines.
    Key,
    /// `-`.
    Dash,
    /// `key:` in brackets.
    FlowKey,
    /// `key` in brackets, without a colon.
    BareFlowKey,
    /// An item in brackets.
    FlowItem,
}

impl ValuePosition {
    pub(super) fn in_flow(&self) -> bool {
        !matches!(self.marker, ValueMarker::Key | ValueMarker::Dash)
    }
}

/// The value after a key or dash, split into parts.
pub(super) struct ExistingValue<'t> {
    /// The range to replace: from after the colon to the end of the last line.
    pub(super) range: Range<usize>,
    /// Blanks between the colon and the value.
    pub(super) leading_blanks: &'t str,
    /// Comment at the end of the first line, with the blanks before it.
    pub(super) trailing_comment: String,
    /// Comment-only lines, above the first child and below it.
    pub(super) comments_before: Vec<&'t str>,
    pub(super) comments_after: Vec<&'t str>,
    /// Column of the children if they are on their own lines, and whether they
    /// are items.
    pub(super) child_column: Option<(usize, bool)>,
}

impl<'t> ExistingValue<'t> {
    pub(super) fn read(
        layout: &TextLayout<'t>,
        spot: &ValuePosition,
        id: NodeId,
    ) -> Result<Self, String> {
        let node = layout.tree.node(id);
        let end = layout.end_of(spot, id)?;
        let stop = layout.line_end(end);
        let start = node.full_start();
        let slice = |range: Range<usize>| layout.text.get(range).unwrap_or("");
        let (spread, column) = match &node.kind {
            YamlNodeKind::Map { flow: false, entries } => {
                let first = entries.first().map(|entry| layout.tree.node(entry.key));
                let column = first.map(|key| (layout.column(key.full_start()), false));
                (true, column)
            }
            YamlNodeKind::List { flow: false, .. } => {
                (true, Some((layout.item_position(id, 0)?.column, true)))
            }
            YamlNodeKind::Scalar { style, .. } => {
                let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                (block, None)
            }
            _ => (false, None),
        };
        let first_line = layout.line_end(spot.end);
        let comments: Vec<Range<usize>> = layout.comments_in(spot.end..stop).cloned().collect();
        let mut tail = String::new();
        let header = comments.iter().find(|comment| comment.start < first_line);
        if let Some(comment) = header.filter(|_| spread || start > first_line) {
            let before = slice(spot.end..comment.start);
            let blanks = before.len() - before.trim_end().len();
            tail.push_str(slice(comment.start - blanks..comment.end));
        }
        if !spread {
            tail.push_str(slice(end..stop));
        }
        let own = comments
            .iter()
            .filter(|comment| comment.start > first_line && layout.is_first_on_line(comment.start));
        let (before, after): (Vec<_>, Vec<_>) = own.partition(|comment| comment.start < node.start);
        let line = |comment: &Range<usize>| slice(layout.line_start(comment.start)..comment.end);
        let gap = if start < first_line && end > spot.end { slice(spot.end..start) } else { " " };
        let gap = if gap.is_empty() || !gap.trim().is_empty() { " " } else { gap };
        Ok(Self {
            range: spot.end..stop,
            leading_blanks: gap,
            trailing_comment: tail,
            comments_before: before.into_iter().map(line).collect(),
            comments_after: after.into_iter().map(line).collect(),
            child_column: column,
        })
    }
}
