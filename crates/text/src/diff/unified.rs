//! The unified diff.

use super::change::LineBlock;
use super::hunk::{HunkPart, hunks};
use super::{DiffLayout, DiffWriter, RenderedDiff, TextDiff};

pub(super) fn render(diff: &TextDiff<'_>, layout: &DiffLayout<'_>) -> RenderedDiff {
    if diff.is_empty() {
        return RenderedDiff::default();
    }
    let mut output = DiffWriter::new(layout);
    for hunk in hunks(diff, layout) {
        output.push(&hunk.header);
        for part in hunk.parts {
            match part {
                _ if output.is_full() => output.omit_lines(part.line_count()),
                HunkPart::Same(block, _) => push_block(&mut output, ' ', block),
                HunkPart::Change(old, new) => {
                    push_block(&mut output, '-', old);
                    push_block(&mut output, '+', new);
                }
            }
        }
    }
    output.finish()
}

fn push_block(output: &mut DiffWriter, sign: char, block: LineBlock<'_>) {
    let mut shown = String::new();
    for (seen, (line, is_ended)) in block.stripped_lines().enumerate() {
        if output.is_full() {
            return output.omit_lines(block.count() - seen);
        }
        shown.clear();
        shown.push(sign);
        shown.push_str(line);
        output.push_text(&shown);
        if !is_ended {
            output.push("\\ No newline at end of file");
        }
    }
}
