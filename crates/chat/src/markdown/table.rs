//! Renders tables within the available width.

use pulldown_cmark::Alignment;

use crate::row::{DIM_STYLE, PLAIN_STYLE, StyledRow, StyledSpan};
use crate::wrap::{RowIndent, wrap};

const COLUMN_SEPARATOR: &str = " │ ";
const MIN_COLUMN_WIDTH: usize = 4;

/// Cells of a table; the first row is the header.
#[derive(Debug)]
pub(super) struct MarkdownTable {
    cells: Vec<Vec<Vec<StyledSpan>>>,
    alignments: Vec<Alignment>,
}

impl MarkdownTable {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self { cells: Vec::new(), alignments }
    }

    pub(super) fn begin_row(&mut self) {
        self.cells.push(Vec::new());
    }

    pub(super) fn push_cell(&mut self, spans: Vec<StyledSpan>) {
        if let Some(row) = self.cells.last_mut() {
            row.push(spans);
        }
    }

    /// Renders the table in at most `room` columns if possible.
    pub(super) fn rows(mut self, room: usize) -> Vec<StyledRow> {
        for span in self.cells.first_mut().into_iter().flatten().flatten() {
            span.style.bold = true;
        }
        let widths = self.widths(room);
        let mut rows = Vec::new();
        for (at, cells) in self.cells.iter().enumerate() {
            rows.extend(layout_row(cells, &widths, &self.alignments));
            if at == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                rows.push(StyledRow::new(&rule.join("─┼─"), DIM_STYLE));
            }
        }
        rows
    }

    /// Returns the column widths. The widest columns shrink first.
    fn widths(&self, room: usize) -> Vec<usize> {
        let count = self.cells.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![1; count];
        for cells in &self.cells {
            for (width, cell) in widths.iter_mut().zip(cells) {
                let cell = StyledRow { spans: cell.clone() };
                *width = (*width).max(cell.width());
            }
        }
        let room = room.saturating_sub(3 * count.saturating_sub(1)).max(count * MIN_COLUMN_WIDTH);
        let mut limit = widths.iter().copied().max().unwrap_or(0);
        if widths.iter().sum::<usize>() > room {
            limit = limit.min(room);
        }
        let taken = |limit: usize| widths.iter().map(|width| (*width).min(limit)).sum::<usize>();
        while limit > MIN_COLUMN_WIDTH && taken(limit) > room {
            limit -= 1;
        }
        widths.iter().map(|width| (*width).min(limit)).collect()
    }
}

fn layout_row(
    cells: &[Vec<StyledSpan>],
    widths: &[usize],
    alignments: &[Alignment],
) -> Vec<StyledRow> {
    let wrapped: Vec<Vec<StyledRow>> = widths
        .iter()
        .enumerate()
        .map(|(at, width)| {
            let cell = cells.get(at).map_or(&[][..], Vec::as_slice);
            wrap(cell, *width, &RowIndent::default())
        })
        .collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(1);
    (0..height)
        .map(|line| {
            let mut row = StyledRow::default();
            for (at, (cell, width)) in wrapped.iter().zip(widths).enumerate() {
                if at > 0 {
                    row.push(COLUMN_SEPARATOR, DIM_STYLE);
                }
                let part = cell.get(line).cloned().unwrap_or_default();
                let is_last = at + 1 == widths.len();
                let room = width.saturating_sub(part.width());
                let before = match alignments.get(at) {
                    Some(Alignment::Right) => room,
                    Some(Alignment::Center) => room / 2,
                    _ => 0,
                };
                row.push(&" ".repeat(before), PLAIN_STYLE);
                row.append(&part);
                if !is_last {
                    row.push(&" ".repeat(room - before), PLAIN_STYLE);
                }
            }
            row
        })
        .collect()
}
