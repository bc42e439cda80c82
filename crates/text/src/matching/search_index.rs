//! Blocks of whole lines, found by their rarest line.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use super::MatchStrategy;
use super::folding::plain_line;
use super::hints::{HintRegion, line_regions};
use super::indent::IndentShift;
use super::line_table::LineTable;

/// Lines of usual length that are compared at most in one text. Usual patches stay far below;
/// beyond it the text is so repetitive that no place in it is a clear one.
const MAX_COMPARISONS: usize = 40_000_000;

/// The text repeats itself so much that looking on would take too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooRepetitive;

type LineHashIndex = HashMap<u64, Vec<usize>, BuildHasherDefault<DefaultHasher>>;

/// The rungs on which whole lines are compared.
pub(crate) const LINE_STRATEGIES: [MatchStrategy; 4] = [
    MatchStrategy::Exact,
    MatchStrategy::TrailingWhitespace,
    MatchStrategy::LookAlikes,
    MatchStrategy::IndentShift,
];

/// A text, ready to be searched for blocks of lines.
#[derive(Debug)]
pub(crate) struct SearchIndex<'t> {
    pub(crate) rows: LineTable<'t>,
    indexes: [OnceCell<LineHashIndex>; LINE_STRATEGIES.len()],
    regions: OnceCell<Vec<HintRegion>>,
    comparisons_left: Cell<usize>,
}

/// A line as it is compared.
fn comparison_key(rung: MatchStrategy, line: &str) -> Cow<'_, str> {
    match rung {
        MatchStrategy::TrailingWhitespace => line.trim_end().into(),
        MatchStrategy::LookAlikes => plain_line(line.trim_end()),
        MatchStrategy::IndentShift => line.trim().into(),
        _ => line.into(),
    }
}

fn line_hash(rung: MatchStrategy, line: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(&*comparison_key(rung, line))
}

/// The work of comparing lines: long ones count for more.
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

    /// What a hint that names this line speaks of.
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

    /// Takes the work of looking at that many lines off what is allowed.
    pub(crate) fn charge(&self, lines: usize) -> Result<(), TooRepetitive> {
        self.comparisons_left
            .set(self.comparisons_left.get().checked_sub(lines).ok_or(TooRepetitive)?);
        Ok(())
    }

    /// The lines that say what a hint says, or at least hold it.
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

    /// Whether the block is at this line.
    pub(crate) fn block_matches(&self, rung: MatchStrategy, block: &[&str], row: usize) -> bool {
        self.count_matching(rung, block, row) == block.len()
            && (rung != MatchStrategy::IndentShift || self.indent_shift(block, row).is_some())
    }

    /// How many lines of the block agree with those from `row` on.
    fn count_matching(&self, rung: MatchStrategy, block: &[&str], row: usize) -> usize {
        if row + block.len() > self.rows.len() {
            return 0;
        }
        let agrees = |(old, row): &(&&str, usize)| {
            comparison_key(rung, old) == comparison_key(rung, self.rows.line(*row))
        };
        block.iter().zip(row..).take_while(agrees).count()
    }

    /// How a block at this line is indented other than the old text.
    pub(crate) fn indent_shift(&self, block: &[&str], row: usize) -> Option<IndentShift> {
        let file = (row..row + block.len()).map(|row| self.rows.line(row));
        IndentShift::between(block.iter().copied(), file)
    }

    /// The first lines of the places where the block fits, at most `most` of
    /// them; places may overlap unless `apart`.
    pub(crate) fn find_block(
        &self,
        rung: MatchStrategy,
        block: &[&str],
        apart: bool,
        most: usize,
    ) -> Result<Vec<usize>, TooRepetitive> {
        // Brackets alone say too little to be known at another depth.
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

    /// The line of the block that is rarest in the text: its number in the
    /// block, and where it is.
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
