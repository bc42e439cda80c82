//! The one place of a hunk in a text.

use super::hints::Regions;
use super::hunk::{Hunk, HunkLine, Misfit};
use super::indent::is_shifted_already;
use super::script::{Place, Script};
use super::table::{RUNGS, Table};
use super::{LISTED, Lines, Rigour, Strategy};
use crate::document::Edit;
use crate::endings::Ending;

/// Where a hunk fits, and what it changes there.
#[derive(Debug)]
pub(crate) struct Fit {
    pub(crate) strategy: Strategy,
    /// The first row, and how many.
    pub(crate) row: usize,
    pub(crate) count: usize,
    pub(crate) edits: Vec<Edit>,
    pub(crate) warnings: Vec<String>,
}

/// A place that was chosen.
struct Found<'h> {
    strategy: Strategy,
    row: usize,
    script: Script<'h>,
}

/// Finds the place of a hunk. `drift` is by how many lines the hunk before was
/// away from where it said to be.
pub(crate) fn place(
    hunk: &Hunk,
    table: &Table<'_>,
    rigour: Rigour,
    drift: isize,
) -> Result<Fit, Misfit> {
    let script = hunk.script(0);
    let regions = Regions::of(table, &hunk.hints)?;
    if script.old.is_empty() {
        return insert(hunk, table, regions.as_ref());
    }
    if let Some(row) = stated(hunk, &script, table, drift) {
        return settle(hunk, table, Found { strategy: Strategy::Exact, row, script }, None);
    }
    let hinted = regions.as_ref().filter(|regions| !regions.list.is_empty());
    let warning = regions.is_some() && hinted.is_none();
    let warning = warning.then(|| {
        let hint = hunk.hints.join(" / ");
        format!(
            "The hint '{hint}' is not in the file; the hunk fits in one place only, and \
            was applied there."
        )
    });
    let found = search(hunk, table, rigour, hinted);
    let found = found.or_else(|misfit| below_heading(hunk, table, rigour, misfit))?;
    settle(hunk, table, found, warning)
}

/// The only one of several places that is where the heading says.
fn below_heading<'h>(
    hunk: &'h Hunk,
    table: &Table<'_>,
    rigour: Rigour,
    misfit: Misfit,
) -> Result<Found<'h>, Misfit> {
    let is_open = hunk.hints.is_empty() && matches!(misfit, Misfit::Ambiguous { .. });
    let Some(heading) = hunk.heading.as_ref().filter(|_| is_open) else { return Err(misfit) };
    match Regions::of(table, std::slice::from_ref(heading)) {
        Ok(Some(regions)) if !regions.list.is_empty() => {
            search(hunk, table, rigour, Some(&regions)).map_err(|_| misfit)
        }
        _ => Err(misfit),
    }
}

/// The row at which the hunk says to be, if it agrees exactly there.
fn stated(hunk: &Hunk, script: &Script<'_>, table: &Table<'_>, drift: isize) -> Option<usize> {
    let row = hunk.line?.checked_sub(1)?;
    let drifted = row.checked_add_signed(drift);
    let fits = |row: &usize| {
        table.fits(Strategy::Exact, &script.old, *row)
            && (!hunk.is_last() || row + script.old.len() == table.rows.len())
    };
    drifted.filter(fits).or(Some(row).filter(fits))
}

fn search<'h>(
    hunk: &'h Hunk,
    table: &Table<'_>,
    rigour: Rigour,
    regions: Option<&Regions>,
) -> Result<Found<'h>, Misfit> {
    let rungs = if rigour == Rigour::Strict { 1 } else { RUNGS.len() };
    for strategy in RUNGS.into_iter().take(rungs) {
        let mut ends = vec![0, hunk.loose];
        ends.dedup();
        for left_out in ends {
            let script = hunk.script(left_out);
            let tail = |row: &usize| row + script.old.len() == table.rows.len();
            let most = if regions.is_some() || hunk.at_end || hunk.is_last() {
                usize::MAX
            } else {
                LISTED + 1
            };
            let mut rows = table.find(strategy, &script.old, false, most)?;
            if hunk.is_last() {
                rows.retain(tail);
            }
            if hunk.at_end && rows.iter().any(tail) {
                rows.retain(tail);
            }
            if rows.is_empty() {
                continue;
            }
            let row = choose(hunk, table, strategy, &rows, script.old.len(), regions)?;
            return Ok(Found { strategy, row, script });
        }
    }
    Err(Misfit::Absent)
}

/// The only one of the rows, or the only one that the hints speak of.
fn choose(
    hunk: &Hunk,
    table: &Table<'_>,
    strategy: Strategy,
    rows: &[usize],
    count: usize,
    regions: Option<&Regions>,
) -> Result<usize, Misfit> {
    let lines = |rows: &[usize]| {
        rows.iter().take(LISTED).map(|row| numbered(*row, count)).collect::<Vec<Lines>>()
    };
    let chosen = regions.map(|regions| regions.choose(rows, count));
    let candidates = chosen.as_deref().unwrap_or(rows);
    match (candidates, regions) {
        ([row], _) => Ok(*row),
        ([], Some(regions)) => Err(Misfit::Elsewhere {
            hint: hunk.hints.join(" / "),
            hinted: hinted(table, regions),
            places: lines(rows),
        }),
        (several, _) => Err(Misfit::Ambiguous {
            strategy,
            places: lines(several),
            more: several.len() > LISTED,
        }),
    }
}

fn numbered(row: usize, count: usize) -> Lines {
    Lines { first: row + 1, last: row + count.max(1) }
}

/// The lines that hints speak of.
fn hinted(table: &Table<'_>, regions: &Regions) -> Vec<Lines> {
    let last = |end: usize| end.min(table.rows.len());
    let lines = regions.list.iter().take(LISTED);
    lines.map(|region| Lines { first: region.row + 1, last: last(region.end) }).collect()
}

/// The edits of a hunk at its place.
fn settle(
    hunk: &Hunk,
    table: &Table<'_>,
    found: Found<'_>,
    warning: Option<String>,
) -> Result<Fit, Misfit> {
    let Found { strategy, row, mut script } = found;
    script.heed(&table.rows);
    let count = script.old.len();
    let rows = &table.rows;
    let unclear =
        |reason: &str| Misfit::Unclear { lines: numbered(row, count), reason: reason.to_owned() };
    let shift = if strategy == Strategy::IndentShift {
        let file = (row..row + count).map(|row| rows.line(row));
        if is_shifted_already(script.old.iter().copied(), script.new.iter().copied(), file) {
            return Err(unclear(
                "The old lines are indented other than the file, but the new ones are indented \
                    as the file is: shifting them would indent them twice. Indent the old \
                    lines as the file is.",
            ));
        }
        table.shift(&script.old, row)
    } else {
        None
    };
    let place = Place {
        rows: &rows.slice(row..row + count),
        whole_lines: true,
        ending: rows.ending_near(row),
        shift: shift.as_ref(),
    };
    let edits = match hunk.final_newline {
        Some(newline) => script.whole(&place, rows, newline).map(|edit| vec![edit]),
        None => script.edits(&place),
    };
    let edits = edits.ok_or_else(|| {
        unclear(
            "The old lines are indented more than the file, \
        and a new line has less indentation than would have to be taken off. Indent both as \
        the file is.",
        )
    })?;
    let mut warnings: Vec<String> = warning.into_iter().chain(script.mixture(&place)).collect();
    let last = rows.get(row + count.saturating_sub(1));
    let ending = last.and_then(|row| rows.text().get(row.end..row.next)).unwrap_or_default();
    if hunk.open_end && ending.contains('\n') {
        warnings.push(
            "The patch takes the file to end without a line ending; it has one, which was kept."
                .to_owned(),
        );
    }
    warnings.extend(before_the_end(hunk, table, numbered(row, count)));
    if script.ends_unlike(&place, rows) {
        warnings.push(format!(
            "At {} the new lines end as they do in the patch (CRLF or LF), which is not how the \
                lines around them end.",
            numbered(row, count)
        ));
    }
    Ok(Fit { strategy, row, count, edits, warnings })
}

/// A warning if a hunk is said to be at the end of the file and is not.
fn before_the_end(hunk: &Hunk, table: &Table<'_>, lines: Lines) -> Option<String> {
    (hunk.at_end && lines.last < table.rows.len()).then(|| {
        format!(
            "The hunk is said to be at the end of the file (`*** End of File`), but its place is \
             at {lines} of {}; it was applied there.",
            table.rows.len()
        )
    })
}

/// A hunk that only adds: behind the hinted line, at the end of the file if it
/// says so, or in an empty file.
fn insert(hunk: &Hunk, table: &Table<'_>, regions: Option<&Regions>) -> Result<Fit, Misfit> {
    let rows = &table.rows;
    let kept = hunk.lines.len().saturating_sub(hunk.loose);
    let added = hunk.lines.get(..kept).unwrap_or_default();
    let is_told = |own: Ending| added.iter().any(|line| line.ending == Some(own));
    let mut heeded = vec![Ending::Lf, Ending::CrLf];
    heeded.retain(|own| is_told(*own) && rows.may_end(own.as_str()));
    // The lines, each with its ending.
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
        Some([]) => return Err(Misfit::HintAbsent { hint: hunk.hints.join(" / ") }),
        Some(_) => {
            let places = regions.map(|regions| hinted(table, regions)).unwrap_or_default();
            let places = places.iter().map(|lines| numbered(lines.first - 1, 1)).collect();
            return Err(Misfit::HintAmbiguous { hint: hunk.hints.join(" / "), places });
        }
        None if rows.is_empty() => None,
        None if hunk.at_end => rows.len().checked_sub(1),
        None => return Err(Misfit::NoPlace),
    };
    let edit = match behind.and_then(|row| Some((row, rows.get(row)?))) {
        Some((row, above)) => {
            let ending = rows.ending_near(row);
            if above.next > above.end {
                let text = terminated(ending).concat();
                Edit { range: above.next..above.next, text }
            } else {
                let mut text = terminated(ending);
                text.pop();
                text.insert(0, if added.is_empty() { String::new() } else { ending.to_owned() });
                Edit { range: above.end..above.end, text: text.concat() }
            }
        }
        None => {
            let mut text = terminated("\n");
            if hunk.final_newline == Some(false) {
                text.pop();
            }
            Edit { range: 0..rows.text().len(), text: text.concat() }
        }
    };
    let row = behind.unwrap_or_default();
    let warnings = before_the_end(hunk, table, numbered(row, 1)).into_iter().collect();
    Ok(Fit { strategy: Strategy::Exact, row, count: 0, edits: vec![edit], warnings })
}
