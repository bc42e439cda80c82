//! The two sides of a diff by words, `[-old-]{+new+}`: its marks may split a
//! secret, or separate it from its name.

use memchr::memmem;

/// The longest text between two marks.
const MAX_MARKED_BYTES: usize = 4096;

/// One side of the lines that have marks, and where its parts come from.
#[derive(Debug, Default)]
pub(crate) struct DiffSide {
    text: String,
    /// For each part: where it begins here, and in the source.
    parts: Vec<(usize, usize)>,
}

/// A marked part of a line, with its marks.
#[derive(Debug, Clone, Copy)]
struct MarkedPart {
    start: usize,
    end: usize,
    is_new: bool,
}

/// Returns the old and the new side; `None` if nothing is marked.
pub(crate) fn diff_sides(source: &str) -> Option<[DiffSide; 2]> {
    let mut sides: Option<[DiffSide; 2]> = None;
    let bytes = source.as_bytes();
    let (mut at, mut copied, mut line_end) = (0, 0, 0);
    let mut searched = [0, 0];
    while let Some(part) = next_marked(bytes, at, &mut searched) {
        let both = sides.get_or_insert_with(Default::default);
        if part.start >= line_end {
            both.iter_mut().for_each(|side| side.push(source, copied, line_end));
            let before = bytes.get(..part.start).unwrap_or_default();
            copied = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1).max(line_end);
            let after = bytes.get(part.end..).unwrap_or_default();
            line_end = memchr::memchr(b'\n', after).map_or(bytes.len(), |at| part.end + at + 1);
        }
        for (side, is_new) in both.iter_mut().zip([false, true]) {
            side.push(source, copied, part.start);
            if part.is_new == is_new {
                side.push(source, part.start + 2, part.end - 2);
            }
        }
        at = part.end;
        copied = at;
    }
    if let Some(both) = &mut sides {
        both.iter_mut().for_each(|side| side.push(source, copied, line_end));
    }
    sides
}

/// Returns the next `[-…-]` or `{+…+}` in one line. No closing mark of a kind
/// begins between an opening one and `searched`.
fn next_marked(bytes: &[u8], from: usize, searched: &mut [usize; 2]) -> Option<MarkedPart> {
    let mut at = from;
    loop {
        let open = at + memchr::memchr2(b'[', b'{', bytes.get(at..)?)?;
        at = open + 1;
        let is_new = bytes.get(open) == Some(&b'{');
        let [old_to, new_to] = searched;
        let (mark, close, searched_to) =
            if is_new { (b'+', b"+}", new_to) } else { (b'-', b"-]", old_to) };
        if bytes.get(at) != Some(&mark) {
            continue;
        }
        let limit = bytes.len().min(open + 2 + MAX_MARKED_BYTES);
        let begin = (*searched_to).clamp(open + 2, limit.max(open + 2));
        let inside = bytes.get(begin..limit).unwrap_or_default();
        let line = memchr::memchr(b'\n', inside).and_then(|end| inside.get(..end));
        if let Some(length) = memmem::find(line.unwrap_or(inside), close) {
            return Some(MarkedPart { start: open, end: begin + length + 2, is_new });
        }
        // A mark at the limit may be cut in two.
        *searched_to = if line.is_some() { open } else { limit.saturating_sub(1) };
        at = line.map_or(at, |line| begin + line.len());
    }
}

impl DiffSide {
    fn push(&mut self, source: &str, from: usize, to: usize) {
        if let Some(part) = source.get(from..to).filter(|part| !part.is_empty()) {
            self.parts.push((self.text.len(), from));
            self.text.push_str(part);
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the range in the source, with whole marks.
    pub(crate) fn source_range(
        &self,
        source: &str,
        start: usize,
        end: usize,
    ) -> Option<(usize, usize)> {
        let from = self.source_position(start)?;
        let to = self.source_position(end.checked_sub(1)?)? + 1;
        let inside = source.get(from..to)?;
        let count = |mark: &str| inside.matches(mark).count();
        let opened = count("[-") + count("{+");
        let closed = count("-]") + count("+}");
        let before = source.get(..from).unwrap_or_default();
        let after = source.get(to..).unwrap_or_default();
        let begins_inside = closed > opened && (before.ends_with("[-") || before.ends_with("{+"));
        let ends_inside = opened > closed && (after.starts_with("-]") || after.starts_with("+}"));
        Some((from - 2 * usize::from(begins_inside), to + 2 * usize::from(ends_inside)))
    }

    fn source_position(&self, at: usize) -> Option<usize> {
        let part = self.parts.partition_point(|(here, _)| *here <= at).checked_sub(1)?;
        let (here, source) = self.parts.get(part)?;
        Some(source + (at - here))
    }
}

#[cfg(test)]
#[path = "word_diffs_tests.rs"]
mod tests;
