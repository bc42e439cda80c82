//! Resolves hints: a place is after the hinted line, and inside the block it
//! opens.

use std::collections::BTreeSet;

use super::MAX_LISTED_PLACES;
use super::indent::indent;
use super::line_table::LineTable;
use super::search_index::{SearchIndex, TooRepetitive};

/// A hinted line and the range it applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HintRegion {
    /// The hinted line.
    pub(crate) row: usize,
    /// The first line after the range.
    pub(crate) end: usize,
    /// Whether the line opens a block; if so, the place must be inside it.
    pub(crate) opens_block: bool,
}

/// The regions that match a hunk's hints; empty if none match.
#[derive(Debug)]
pub(crate) struct HintRegions {
    pub(crate) list: Vec<HintRegion>,
}

impl HintRegions {
    /// Returns the lines that match the last hint inside the regions of the
    /// preceding hints. None if there are no hints.
    pub(crate) fn find(
        table: &SearchIndex<'_>,
        hints: &[String],
    ) -> Result<Option<Self>, TooRepetitive> {
        let mut inside: Option<Vec<HintRegion>> = None;
        for hint in hints.iter().map(|hint| hint.trim()).filter(|hint| !hint.is_empty()) {
            let mut found = Vec::new();
            for row in table.rows_matching_hint(hint)? {
                if inside.as_ref().is_none_or(|outer| contains_row(outer, row)) {
                    table.charge(1)?;
                    found.extend(table.region(row));
                }
            }
            inside = Some(found);
        }
        Ok(inside.map(|list| Self { list }))
    }

    /// Returns the places that match the hint, at most enough to show that they
    /// are ambiguous. Places are the sorted first rows of blocks of `count`
    /// lines. A block may include the hinted line itself.
    pub(crate) fn choose(&self, places: &[usize], count: usize) -> Vec<usize> {
        let mut chosen = BTreeSet::new();
        for (index, region) in self.list.iter().enumerate() {
            let next = self.list.get(index + 1).map_or(usize::MAX, |next| next.row);
            let end = if region.opens_block { region.end } else { next };
            let from = places.partition_point(|place| place + count <= region.row);
            let to = places.partition_point(|place| *place < end).max(from);
            let inside = places.get(from..to).unwrap_or_default();
            // Right after a line that opens no block: this place is
            // unambiguous.
            let adjacent = inside.first().filter(|place| **place <= region.row + 1);
            match adjacent {
                Some(place) if !region.opens_block => {
                    chosen.insert(*place);
                }
                _ => chosen.extend(inside.iter().take(MAX_LISTED_PLACES + 1)),
            }
            if chosen.len() > MAX_LISTED_PLACES {
                break;
            }
        }
        chosen.into_iter().collect()
    }
}

/// Whether a row is in one of the regions, which are sorted.
fn contains_row(regions: &[HintRegion], row: usize) -> bool {
    let before = regions.partition_point(|region| region.row < row);
    // Regions may be nested, so check more than the last one.
    regions.iter().take(before).rev().take(MAX_NESTED_REGIONS).any(|region| row < region.end)
}

/// Maximum number of regions checked before a line.
const MAX_NESTED_REGIONS: usize = 1000;

/// Returns the region of every line, by row.
pub(crate) fn line_regions(rows: &LineTable<'_>) -> Vec<HintRegion> {
    let shapes: Vec<LineShape> = rows.lines().map(LineShape::measure).collect();
    // Rows that end blocks, nearest last; deeper ones are on top.
    let mut closers: Vec<(usize, usize)> = Vec::new();
    // Non-empty rows below, nearest last.
    let mut below: Vec<(usize, usize)> = Vec::new();
    let mut regions = Vec::with_capacity(shapes.len());
    for (row, shape) in shapes.iter().enumerate().rev() {
        let shallower = closers.partition_point(|(_, depth)| *depth <= shape.depth);
        let end = shallower.checked_sub(1).and_then(|at| closers.get(at));
        let end = end.map_or(rows.len(), |(row, _)| *row);
        let near = below.iter().rev().take(BLOCK_OPENING_LINES);
        let block = near.clone().any(|(row, depth)| *row < end && *depth > shape.depth);
        regions.push(if block {
            HintRegion { row, end, opens_block: block }
        } else {
            HintRegion { row, end: rows.len(), opens_block: block }
        });
        if !shape.is_empty {
            below.push((row, shape.depth));
        }
        if !(shape.is_empty || shape.is_bracket) {
            closers.truncate(shallower);
            closers.push((row, shape.depth));
        }
    }
    regions.reverse();
    regions
}

/// How many lines below a line are checked to see whether it opens a block.
const BLOCK_OPENING_LINES: usize = 8;

/// Properties of a line that determine blocks.
struct LineShape {
    depth: usize,
    is_empty: bool,
    /// A line that starts with a bracket belongs to the block.
    is_bracket: bool,
}

impl LineShape {
    fn measure(line: &str) -> Self {
        let depth = indent(line).len();
        let words = line.get(depth..).unwrap_or_default();
        Self {
            depth,
            is_empty: words.trim_start().is_empty(),
            is_bracket: words.starts_with([')', ']', '}', '{']),
        }
    }
}
