//! Finds blocks of whole lines by their rarest line.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use super::MatchStrategy;
use super::folding::plain_line;
use super::hints::{HintRegion, line_regions};
use super::indent::IndentShift;
use super::line_table::LineTable;
use super::typography::look_alike;

/// Maximum number of comparisons of average-length lines per text. Typical
/// patches stay far below; beyond it the text is so repetitive that no place is
/// unambiguous.
const MAX_COMPARISONS: usize = 40_000_000;

/// The text is so repetitive that searching further would take too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooRepetitive;

type LineHashIndex = HashMap<u64, Vec<usize>, BuildHasherDefault<DefaultHasher>>;

/// The strategies that compare whole lines.
pub(crate) const LINE_STRATEGIES: [MatchStrategy; 4] = [
    MatchStrategy::Exact,
    MatchStrategy::TrailingWhitespace,
    MatchStrategy::LookAlikes,
    MatchStrategy::IndentShift,
];

/// An index of a text for searching blocks of lines.
#[derive(Debug)]
pub(crate) struct SearchIndex<'t> {
    pub(crate) rows: LineTable<'t>,
    indexes: [OnceCell<LineHashIndex>; LINE_STRATEGIES.len()],
    regions: OnceCell<Vec<HintRegion>>,
    comparisons_left: Cell<usize>,
}

/// Returns a form that is the same for lines that match.
fn comparison_key(rung: MatchStrategy, line: &str) -> Cow<'_, str> {
    match rung {
        MatchStrategy::TrailingWhitespace => line.trim_end().into(),
        MatchStrategy::LookAlikes => {
            let mut key = plain_line(line.trim_end());
            // An em dash is written as one dash or two.
            if key.contains("--") {
                let mut chars: Vec<char> = key.chars().collect();
                chars.dedup_by(|a, b| *a == '-' && *b == '-');
                key = chars.into_iter().collect();
            }
            key
        }
        MatchStrategy::IndentShift => line.trim().into(),
        _ => line.into(),
    }
}

/// Whether a line of the file matches a line of the block.
fn lines_match(rung: MatchStrategy, old: &str, line: &str) -> bool {
    match rung {
        MatchStrategy::LookAlikes => look_alike(old.trim_end(), line.trim_end()),
        _ => comparison_key(rung, old) == comparison_key(rung, line),
    }
}

fn line_hash(rung: MatchStrategy, line: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(&*comparison_key(rung, line))
}

/// Returns the cost of comparing lines; long lines cost more.
fn comparison_cost(lines: &[&str]) -> usize {
    1 + lines.iter().map(|line| 1 + line.len() / 64).sum::<usize>()
}

impl<'t> SearchIndex<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            rows: LineTable::new(text),
            indexes: Default::default(),
            regions: OnceCell::new(),
            comparisons_left: Cell::new(MAX_COMPARISONS),
        }
    }

    /// Returns the region of a hint that names this line.
    pub(crate) fn region(&self, row: usize) -> Option<HintRegion> {
        self.regions.get_or_init(|| line_regions(&self.rows)).get(row).copied()
    }

    fn index(&self, rung: MatchStrategy) -> Option<&LineHashIndex> {
        let at = LINE_STRATEGIES.iter().position(|known| *known == rung)?;
        let made = || {
            let mut index = LineHashIndex::default();
            for (row, line) in self.rows.lines().enumerate() {
                index.entry(line_hash(rung, line)).or_default().push(row);
            }
            index
        };
        Some(self.indexes.get(at)?.get_or_init(made))
    }

    /// Deducts the cost of comparing this many lines from the budget.
    pub(crate) fn charge(&self, lines: usize) -> Result<(), TooRepetitive> {
        self.comparisons_left
            .set(self.comparisons_left.get().checked_sub(lines).ok_or(TooRepetitive)?);
        Ok(())
    }

    /// Returns the lines that equal a hint, or else those that contain it.
    pub(crate) fn rows_matching_hint(&self, hint: &str) -> Result<Vec<usize>, TooRepetitive> {
        let rung = MatchStrategy::IndentShift;
        let known = self.index(rung).and_then(|index| index.get(&line_hash(rung, hint)));
        let same = |row: &usize| self.rows.line(*row).trim() == hint;
        let rows: Vec<usize> = known.into_iter().flatten().copied().filter(same).collect();
        self.charge(rows.len())?;
        if !rows.is_empty() {
            return Ok(rows);
        }
        self.charge(self.rows.len())?;
        let finder = memchr::memmem::Finder::new(hint);
        let holds = |row: &usize| finder.find(self.rows.line(*row).as_bytes()).is_some();
        Ok((0..self.rows.len()).filter(holds).collect())
    }

    /// Whether the block matches at this line.
    pub(crate) fn block_matches(&self, rung: MatchStrategy, block: &[&str], row: usize) -> bool {
        self.count_matching(rung, block, row) == block.len()
            && (rung != MatchStrategy::IndentShift || self.indent_shift(block, row).is_some())
    }

    /// Returns how many leading lines of the block match from `row` on.
    fn count_matching(&self, rung: MatchStrategy, block: &[&str], row: usize) -> usize {
        if row + block.len() > self.rows.len() {
            return 0;
        }
        let agrees = |(old, row): &(&&str, usize)| lines_match(rung, old, self.rows.line(*row));
        block.iter().zip(row..).take_while(agrees).count()
    }

    /// Returns the indentation shift between the block and the lines at this
    /// row.
    pub(crate) fn indent_shift(&self, block: &[&str], row: usize) -> Option<IndentShift> {
        let file = (row..row + block.len()).map(|row| self.rows.line(row));
        IndentShift::between(block.iter().copied(), file)
    }

    /// Returns the first lines of the places where the block matches, at most
    /// `most`; places may overlap unless `apart`.
    pub(crate) fn find_block(
        &self,
        rung: MatchStrategy,
        block: &[&str],
        apart: bool,
        most: usize,
    ) -> Result<Vec<usize>, TooRepetitive> {
        // Brackets alone are too common to identify a block at another depth.
        let letters = |line: &&str| line.contains(char::is_alphanumeric);
        let tells = match rung {
            MatchStrategy::Exact => !block.is_empty(),
            MatchStrategy::IndentShift => block.iter().any(letters),
            _ => block.iter().any(|line| !line.trim().is_empty()),
        };
        if !tells {
            return Ok(Vec::new());
        }
        let Some((offset, candidates)) = self.rarest_line(rung, block) else {
            return Ok(Vec::new());
        };
        let mut found: Vec<usize> = Vec::new();
        for start in candidates.iter().filter_map(|row| row.checked_sub(offset)) {
            let near = found.last().is_some_and(|last| start < last + block.len());
            if apart && near {
                continue;
            }
            let agreeing = self.count_matching(rung, block, start);
            self.charge(comparison_cost(block.get(..agreeing).unwrap_or_default()))?;
            let agrees = agreeing == block.len();
            if agrees
                && (rung != MatchStrategy::IndentShift || self.indent_shift(block, start).is_some())
            {
                found.push(start);
            }
            if found.len() >= most {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the line of the block that is rarest in the text: its index in
    /// the block, and its rows.
    fn rarest_line(&self, rung: MatchStrategy, block: &[&str]) -> Option<(usize, &[usize])> {
        let index = self.index(rung)?;
        let mut rarest: Option<(usize, &[usize])> = None;
        for (offset, line) in block.iter().enumerate() {
            let rows = index.get(&line_hash(rung, line))?.as_slice();
            if rarest.is_none_or(|(_, fewest)| rows.len() < fewest.len()) {
                rarest = Some((offset, rows));
            }
        }
        rarest
    }
}
