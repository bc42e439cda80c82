//! Aligns a text with another that differs in look-alike characters only, to
//! keep the typography of a file where an edit does not change it.

use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::folding::{is_long_dash, plain_spelling};

/// Maximum number of characters compared one by one, old and new together.
const MAX_COMPARED_CHARS: usize = 8_000;

/// Characters of the old text and the characters of the file they stand for.
struct AlignedPiece<'t> {
    old: Range<usize>,
    file: &'t [char],
}

/// Whether a text matches that of a file except for look-alike characters.
pub(super) fn look_alike(old: &str, file: &str) -> bool {
    if old == file {
        return true;
    }
    if old.is_ascii() && file.is_ascii() {
        return false;
    }
    let (old, file): (Vec<char>, Vec<char>) = (old.chars().collect(), file.chars().collect());
    align(&old, &file, 0).is_some()
}

/// Returns the new lines, with the characters of the file lines where old and
/// new lines agree. None if there is nothing to keep.
pub(super) fn keep_typography(old: &[&str], new: &[&str], file: &[&str]) -> Option<Vec<String>> {
    let lines: Vec<Vec<char>> = file.iter().map(|line| line.trim_end().chars().collect()).collect();
    let mut pieces = Vec::new();
    let mut from: Vec<char> = Vec::new();
    for (line, file) in old.iter().zip(&lines) {
        let compared: Vec<char> = line.trim_end().chars().collect();
        pieces.extend(align(&compared, file, from.len())?);
        from.extend(line.chars().chain(['\n']));
    }
    pieces.retain(|piece| from.get(piece.old.clone()) != Some(piece.file));
    let to: Vec<char> = new.iter().flat_map(|line| line.chars().chain(['\n'])).collect();
    if pieces.is_empty() || from.len() + to.len() > MAX_COMPARED_CHARS {
        return None;
    }
    let mut made = String::new();
    for op in capture_diff_slices(Algorithm::Myers, &from, &to) {
        let (tag, same, added) = op.as_tag_tuple();
        if tag != DiffTag::Equal {
            made.extend(to.get(added).unwrap_or_default());
            continue;
        }
        let mut at = same.start;
        let is_kept =
            |piece: &&AlignedPiece<'_>| same.start <= piece.old.start && piece.old.end <= same.end;
        for piece in pieces.iter().filter(is_kept) {
            made.extend(from.get(at..piece.old.start).unwrap_or_default());
            made.extend(piece.file);
            at = piece.old.end;
        }
        made.extend(from.get(at..same.end).unwrap_or_default());
    }
    let lines: Vec<String> = made.strip_suffix('\n')?.split('\n').map(str::to_owned).collect();
    (lines.len() == new.len()).then_some(lines)
}

/// Aligns two texts character by character, or one look-alike character with
/// its ASCII spelling. `offset` is added to the positions in `old`.
fn align<'t>(old: &[char], file: &'t [char], offset: usize) -> Option<Vec<AlignedPiece<'t>>> {
    let mut pieces = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < file.len() {
        let (a, b) = (*old.get(i)?, *file.get(j)?);
        let (old_len, file_len) = if a == b || is_same_spelling(a, b) {
            (1, 1)
        } else if let Some(len) = spelled_len(b, old.get(i..)?) {
            (len, 1)
        } else {
            (1, spelled_len(a, file.get(j..)?)?)
        };
        let old = offset + i..offset + i + old_len;
        pieces.push(AlignedPiece { old, file: file.get(j..j + file_len)? });
        (i, j) = (i + old_len, j + file_len);
    }
    Some(pieces)
}

/// Whether both are look-alikes of the same ASCII characters.
fn is_same_spelling(a: char, b: char) -> bool {
    plain_spelling(a).is_some() && plain_spelling(a) == plain_spelling(b)
}

/// Returns the length of a look-alike's ASCII spelling at the start of a text.
fn spelled_len(look_alike: char, text: &[char]) -> Option<usize> {
    let double = is_long_dash(look_alike).then_some("--");
    let mut spellings = double.into_iter().chain(plain_spelling(look_alike));
    let is_spelled = |spelling: &&str| {
        text.len() >= spelling.len() && spelling.chars().zip(text).all(|(a, b)| a == *b)
    };
    spellings.find(is_spelled).map(str::len)
}
