//! What a hint says about a place: behind this line, and in the block that it
//! opens.

use std::collections::BTreeSet;

use super::MAX_LISTED_PLACES;
use super::indent::indent;
use super::line_table::LineTable;
use super::search_index::{SearchIndex, TooRepetitive};

/// A line that a hint names, and how far its word counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HintRegion {
    /// The line.
    pub(crate) row: usize,
    /// The first line that it says nothing about.
    pub(crate) end: usize,
    /// Whether it opens a block: then the place must be inside.
    pub(crate) opens_block: bool,
}

/// Where a hunk's hints lead; nowhere if the list is empty.
#[derive(Debug)]
pub(crate) struct HintRegions {
    pub(crate) list: Vec<HintRegion>,
}

impl HintRegions {
    /// The lines that the last hint names inside of what the ones before name.
    /// None if there are no hints.
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

    /// Those of the places that the hint speaks of; enough of them to know that
    /// there are several. Places are the first rows, in order, of blocks of
    /// `count` lines. A block may hold the hinted line itself.
    pub(crate) fn choose(&self, places: &[usize], count: usize) -> Vec<usize> {
        let mut chosen = BTreeSet::new();
        for (index, region) in self.list.iter().enumerate() {
            let next = self.list.get(index + 1).map_or(usize::MAX, |next| next.row);
            let end = if region.opens_block { region.end } else { next };
            let from = places.partition_point(|place| place + count <= region.row);
            let to = places.partition_point(|place| *place < end).max(from);
            let inside = places.get(from..to).unwrap_or_default();
            // Right behind a line that opens no block: no other is meant.
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

/// Whether a row lies in one of the regions, which are in order.
fn contains_row(regions: &[HintRegion], row: usize) -> bool {
    let before = regions.partition_point(|region| region.row < row);
    // Blocks may hold blocks, so that not only the last one counts.
    regions.iter().take(before).rev().take(MAX_NESTED_REGIONS).any(|region| row < region.end)
}

/// How many regions before a line are looked at.
const MAX_NESTED_REGIONS: usize = 1000;

/// The region of every line of a text, by row.
pub(crate) fn line_regions(rows: &LineTable<'_>) -> Vec<HintRegion> {
    let shapes: Vec<LineShape> = rows.lines().map(LineShape::measure).collect();
    // Rows that end blocks, the next one last; the deeper ones are on top.
    let mut closers: Vec<(usize, usize)> = Vec::new();
    // The nearest rows below that are not empty, the next one last.
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

/// How many lines below a line are looked at to see whether it opens a block.
const BLOCK_OPENING_LINES: usize = 8;

/// What there is to know of a line about blocks.
struct LineShape {
    depth: usize,
    is_empty: bool,
    /// A bracket on a line of its own belongs to the block.
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
