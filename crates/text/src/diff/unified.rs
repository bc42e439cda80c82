//! The diff that `patch` and people read.

use super::change::Block;
use super::hunk::{Part, hunks};
use super::{Diff, Layout, Output, Rendered};

pub(super) fn render(diff: &Diff<'_>, layout: &Layout<'_>) -> Rendered {
    if diff.is_empty() {
        return Rendered::default();
    }
    let mut output = Output::new(layout);
    for hunk in hunks(diff, layout) {
        output.push(&hunk.header);
        for part in hunk.parts {
            match part {
                _ if output.is_full() => output.leave_out(part.lines()),
                Part::Same(block, _) => push(&mut output, ' ', block),
                Part::Change(old, new) => {
                    push(&mut output, '-', old);
                    push(&mut output, '+', new);
                }
            }
        }
    }
    output.finish()
}

fn push(output: &mut Output, sign: char, block: Block<'_>) {
    let mut shown = String::new();
    for (seen, (line, is_ended)) in block.stripped().enumerate() {
        if output.is_full() {
            return output.leave_out(block.count() - seen);
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
