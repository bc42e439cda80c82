//! Finds the unique place of a hunk in a text.

use super::edit_script::{EditScript, MatchPlace};
use super::hints::HintRegions;
use super::hunk::{HunkError, HunkLine, PatchHunk};
use super::indent::is_shifted_already;
use super::search_index::{LINE_STRATEGIES, SearchIndex};
use super::{LineSpan, MAX_LISTED_PLACES, MatchStrategy, MatchStrictness};
use crate::document::TextEdit;
use crate::line_endings::LineEnding;

/// Where a hunk fits, and its edits there.
#[derive(Debug)]
pub(crate) struct HunkFit {
    pub(crate) strategy: MatchStrategy,
    /// The first row, and the number of rows.
    pub(crate) row: usize,
    pub(crate) count: usize,
    pub(crate) edits: Vec<TextEdit>,
    pub(crate) warnings: Vec<String>,
}

/// The place chosen for a hunk.
struct ChosenPlace<'h> {
    strategy: MatchStrategy,
    row: usize,
    script: EditScript<'h>,
}

/// Finds the place of a hunk. `drift` is how many lines the previous hunk was
/// away from its stated line.
pub(crate) fn place_hunk(
    hunk: &PatchHunk,
    table: &SearchIndex<'_>,
    rigour: MatchStrictness,
    drift: isize,
) -> Result<HunkFit, HunkError> {
    let script = hunk.edit_script(0);
    let regions = HintRegions::find(table, &hunk.hints)?;
    // Blank lines at its end may be layout.
    let appends = || {
        hunk.at_end
            && regions.is_none()
            && hunk.edit_script(hunk.optional_blank_lines).old.is_empty()
    };
    if script.old.is_empty() || appends() {
        return place_insertion(hunk, table, regions.as_ref());
    }
    if let Some(row) = stated_row(hunk, &script, table, drift) {
        return build_edits(
            hunk,
            table,
            ChosenPlace { strategy: MatchStrategy::Exact, row, script },
            None,
        );
    }
    let hinted = regions.as_ref().filter(|regions| !regions.list.is_empty());
    let warning = regions.is_some() && hinted.is_none();
    let warning = warning.then(|| {
        let hint = hunk.hints.join(" / ");
        format!(
            "The hint '{hint}' is not in the file; the hunk fits in only one place and was \
            applied there."
        )
    });
    let found = find_place(hunk, table, rigour, hinted);
    let found = found.or_else(|misfit| below_heading(hunk, table, rigour, misfit))?;
    build_edits(hunk, table, found, warning)
}

/// Resolves an ambiguous place by the section heading, if only one is below it.
fn below_heading<'h>(
    hunk: &'h PatchHunk,
    table: &SearchIndex<'_>,
    rigour: MatchStrictness,
    misfit: HunkError,
) -> Result<ChosenPlace<'h>, HunkError> {
    let is_open = hunk.hints.is_empty() && matches!(misfit, HunkError::Ambiguous { .. });
    let Some(heading) = hunk.heading.as_ref().filter(|_| is_open) else { return Err(misfit) };
    match HintRegions::find(table, std::slice::from_ref(heading)) {
        Ok(Some(regions)) if !regions.list.is_empty() => {
            find_place(hunk, table, rigour, Some(&regions)).map_err(|_| misfit)
        }
        _ => Err(misfit),
    }
}

/// Returns the stated row of the hunk, if it matches exactly there.
fn stated_row(
    hunk: &PatchHunk,
    script: &EditScript<'_>,
    table: &SearchIndex<'_>,
    drift: isize,
) -> Option<usize> {
    let row = hunk.line?.checked_sub(1)?;
    let drifted = row.checked_add_signed(drift);
    let fits = |row: &usize| {
        table.block_matches(MatchStrategy::Exact, &script.old, *row)
            && (!hunk.is_at_file_end() || row + script.old.len() == table.rows.len())
    };
    drifted.filter(fits).or(Some(row).filter(fits))
}

fn find_place<'h>(
    hunk: &'h PatchHunk,
    table: &SearchIndex<'_>,
    rigour: MatchStrictness,
    regions: Option<&HintRegions>,
) -> Result<ChosenPlace<'h>, HunkError> {
    let rungs = if rigour == MatchStrictness::Strict { 1 } else { LINE_STRATEGIES.len() };
    for strategy in LINE_STRATEGIES.into_iter().take(rungs) {
        let mut ends = vec![0, hunk.optional_blank_lines];
        ends.dedup();
        for left_out in ends {
            let script = hunk.edit_script(left_out);
            let tail = |row: &usize| row + script.old.len() == table.rows.len();
            let most = if regions.is_some() || hunk.at_end || hunk.is_at_file_end() {
                usize::MAX
            } else {
                MAX_LISTED_PLACES + 1
            };
            let mut rows = table.find_block(strategy, &script.old, false, most)?;
            if hunk.is_at_file_end() {
                rows.retain(tail);
            }
            if hunk.at_end && rows.iter().any(tail) {
                rows.retain(tail);
            }
            if rows.is_empty() {
                continue;
            }
            let row = choose_row(hunk, table, strategy, &rows, script.old.len(), regions)?;
            return Ok(ChosenPlace { strategy, row, script });
        }
    }
    Err(HunkError::NotFound)
}

/// Returns the only row, or the only one that the hints select.
fn choose_row(
    hunk: &PatchHunk,
    table: &SearchIndex<'_>,
    strategy: MatchStrategy,
    rows: &[usize],
    count: usize,
    regions: Option<&HintRegions>,
) -> Result<usize, HunkError> {
    let lines = |rows: &[usize]| {
        rows.iter()
            .take(MAX_LISTED_PLACES)
            .map(|row| line_span(*row, count))
            .collect::<Vec<LineSpan>>()
    };
    let chosen = regions.map(|regions| regions.choose(rows, count));
    let candidates = chosen.as_deref().unwrap_or(rows);
    match (candidates, regions) {
        ([row], _) => Ok(*row),
        ([], Some(regions)) => Err(HunkError::NotAtHint {
            hint: hunk.hints.join(" / "),
            hinted: hinted_lines(table, regions),
            places: lines(rows),
        }),
        (several, _) => Err(HunkError::Ambiguous {
            strategy,
            places: lines(several),
            more: several.len() > MAX_LISTED_PLACES,
        }),
    }
}

fn line_span(row: usize, count: usize) -> LineSpan {
    LineSpan { first: row + 1, last: row + count.max(1) }
}

/// Returns the lines of the hinted regions.
fn hinted_lines(table: &SearchIndex<'_>, regions: &HintRegions) -> Vec<LineSpan> {
    let last = |end: usize| end.min(table.rows.len());
    let lines = regions.list.iter().take(MAX_LISTED_PLACES);
    lines.map(|region| LineSpan { first: region.row + 1, last: last(region.end) }).collect()
}

/// Builds the edits of a hunk at its place.
fn build_edits(
    hunk: &PatchHunk,
    table: &SearchIndex<'_>,
    found: ChosenPlace<'_>,
    warning: Option<String>,
) -> Result<HunkFit, HunkError> {
    let ChosenPlace { strategy, row, mut script } = found;
    script.drop_foreign_endings(&table.rows);
    let count = script.old.len();
    let rows = &table.rows;
    let unclear = |reason: &str| HunkError::Unclear {
        lines: line_span(row, count),
        reason: reason.to_owned(),
    };
    let shift = if strategy == MatchStrategy::IndentShift {
        let file = (row..row + count).map(|row| rows.line(row));
        if is_shifted_already(script.old.iter().copied(), script.new.iter().copied(), file) {
            return Err(unclear(
                "The old lines are indented differently from the file, but the new lines \
                    already have the file's indentation: shifting them would indent them \
                    twice. Indent the old lines like the file.",
            ));
        }
        table.indent_shift(&script.old, row)
    } else {
        None
    };
    let place = MatchPlace {
        rows: &rows.slice(row..row + count),
        whole_lines: true,
        ending: rows.ending_near(row),
        shift: shift.as_ref(),
        typography: (strategy == MatchStrategy::LookAlikes).then_some(rows.text()),
    };
    let edits = match hunk.final_newline {
        Some(newline) => script.new_text(&place, rows, newline).map(|edit| vec![edit]),
        None => script.edits(&place),
    };
    let edits = edits.ok_or_else(|| {
        unclear(
            "The old lines are indented more than the file, and a new line has less \
        indentation than must be removed. Indent both like the file.",
        )
    })?;
    let mut warnings: Vec<String> =
        warning.into_iter().chain(script.mixed_indent_warning(&place)).collect();
    let last = rows.get(row + count.saturating_sub(1));
    let ending = last.and_then(|row| rows.text().get(row.end..row.next)).unwrap_or_default();
    if hunk.no_newline_at_end && ending.contains('\n') {
        warnings.push(
            "The patch assumes that the file ends without a line ending; it has one, which was \
             kept."
                .to_owned(),
        );
    }
    warnings.extend(not_at_end_warning(hunk, table, line_span(row, count)));
    if script.has_foreign_ending(&place, rows) {
        warnings.push(format!(
            "At {} the new lines keep their line endings from the patch (CRLF or LF), which \
                differ from those of the surrounding lines.",
            line_span(row, count)
        ));
    }
    Ok(HunkFit { strategy, row, count, edits, warnings })
}

/// Warns about a hunk that is marked as being at the end of the file but is
/// not.
fn not_at_end_warning(
    hunk: &PatchHunk,
    table: &SearchIndex<'_>,
    lines: LineSpan,
) -> Option<String> {
    (hunk.at_end && lines.last < table.rows.len()).then(|| {
        format!(
            "The hunk is marked as being at the end of the file (`*** End of File`), but it \
             matches at {lines} of {}; it was applied there.",
            table.rows.len()
        )
    })
}

/// Places a hunk that only adds lines: after the hinted line, at the end of the
/// file if so marked, or in an empty file. A line number alone is no place,
/// since it may be outdated.
fn place_insertion(
    hunk: &PatchHunk,
    table: &SearchIndex<'_>,
    regions: Option<&HintRegions>,
) -> Result<HunkFit, HunkError> {
    let rows = &table.rows;
    let kept = hunk.lines.len().saturating_sub(hunk.optional_blank_lines);
    let added = hunk.lines.get(..kept).unwrap_or_default();
    let is_reported = |own: LineEnding| added.iter().any(|line| line.ending == Some(own));
    let mut heeded = vec![LineEnding::Lf, LineEnding::CrLf];
    heeded.retain(|own| is_reported(*own) && rows.may_end_with(own.as_str()));
    let terminated = |ending: &str| {
        let own = |line: &HunkLine| line.ending.filter(|own| heeded.contains(own));
        let ending = |line: &HunkLine| match own(line) {
            Some(own) => own.as_str().to_owned(),
            None => ending.to_owned(),
        };
        added.iter().flat_map(|line| [line.text.clone(), ending(line)]).collect::<Vec<String>>()
    };
    let behind = match regions.map(|regions| regions.list.as_slice()) {
        Some([region]) => Some(region.row),
        Some([]) => return Err(HunkError::HintNotFound { hint: hunk.hints.join(" / ") }),
        Some(_) => {
            let places = regions.map(|regions| hinted_lines(table, regions)).unwrap_or_default();
            let places = places.iter().map(|lines| line_span(lines.first - 1, 1)).collect();
            return Err(HunkError::HintAmbiguous { hint: hunk.hints.join(" / "), places });
        }
        None if rows.is_empty() => None,
        None if hunk.at_end => rows.len().checked_sub(1),
        None => return Err(HunkError::NoLocation),
    };
    let edit = match behind.and_then(|row| Some((row, rows.get(row)?))) {
        Some((row, above)) => {
            let ending = rows.ending_near(row);
            if above.next > above.end {
                let text = terminated(ending).concat();
                TextEdit { range: above.next..above.next, text }
            } else {
                let mut text = terminated(ending);
                text.pop();
                text.insert(0, if added.is_empty() { String::new() } else { ending.to_owned() });
                TextEdit { range: above.end..above.end, text: text.concat() }
            }
        }
        None => {
            let mut text = terminated("\n");
            if hunk.final_newline == Some(false) {
                text.pop();
            }
            TextEdit { range: 0..rows.text().len(), text: text.concat() }
        }
    };
    let row = behind.unwrap_or_default();
    let warnings = not_at_end_warning(hunk, table, line_span(row, 1)).into_iter().collect();
    Ok(HunkFit { strategy: MatchStrategy::Exact, row, count: 0, edits: vec![edit], warnings })
}
