//! Edits whose old text has placeholders of secrets: the file's values stay.

use std::iter;

use hermes_text::matching::{
    AppliedHunks, LineRole, MatchStrictness, PatchHunk, ReplaceRequest, TextReplacement,
    apply_hunks, replace_text,
};

use crate::placeholders::{count_placeholders, fill_placeholders, has_placeholder, hidden_values};

/// Makes a replacement with the values of the file in place of the
/// placeholders, if they are clear.
pub(super) fn replace(text: &str, request: &ReplaceRequest<'_>) -> Option<TextReplacement> {
    if request.strictness == MatchStrictness::Strict || !has_placeholder(request.old) {
        return None;
    }
    let values = hidden_values(text, request.old, request.new)?;
    let old = fill_placeholders(request.old, &values);
    let new = fill_placeholders(request.new, &values);
    replace_text(text, &ReplaceRequest { old: &old, new: &new, ..*request }).ok()
}

/// Applies hunks in the same way.
pub(super) fn apply(
    text: &str,
    hunks: &[PatchHunk],
    rigour: MatchStrictness,
) -> Option<AppliedHunks> {
    let is_hidden = |hunk: &PatchHunk| has_placeholder(&hunk.old_text());
    if rigour == MatchStrictness::Strict || !hunks.iter().any(is_hidden) {
        return None;
    }
    let filled = hunks.iter().map(|hunk| match is_hidden(hunk) {
        true => fill_hunk(text, hunk),
        false => Some(hunk.clone()),
    });
    apply_hunks(text, &filled.collect::<Option<Vec<_>>>()?, rigour).ok()
}

fn fill_hunk(text: &str, hunk: &PatchHunk) -> Option<PatchHunk> {
    // Its lines are whole ones.
    let line_feed = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let enclose = |text: &str, line_feed: &str| {
        iter::once(line_feed).chain([text, line_feed]).collect::<String>()
    };
    let [old, new] = [hunk.old_text(), hunk.new_text()].map(|text| enclose(&text, "\n"));
    let values = hidden_values(&enclose(text, line_feed), &old, &new)?;
    let mut filled = hunk.clone();
    let (mut next_old, mut next_new) = (0, 0);
    for line in &mut filled.lines {
        let count = count_placeholders(&line.text);
        let next = if line.role == LineRole::Add { next_new } else { next_old };
        // A context line has one value, before and after.
        if count > 0 && line.role == LineRole::Context && next_old != next_new {
            return None;
        }
        line.text = fill_placeholders(&line.text, values.get(next..next + count)?);
        next_old += if line.role == LineRole::Add { 0 } else { count };
        next_new += if line.role == LineRole::Remove { 0 } else { count };
    }
    Some(filled)
}
