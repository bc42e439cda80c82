//! Blocks of whole lines, found by their rarest line.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use super::Strategy;
use super::folding::plain_line;
use super::hints::{Region, regions};
use super::indent::Shift;
use super::rows::Rows;

/// Lines of usual length that are compared at most in one text. Usual patches stay far below;
/// beyond it the text is so repetitive that no place in it is a clear one.
const WORK: usize = 40_000_000;

/// The text repeats itself so much that looking on would take too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooRepetitive;

type Index = HashMap<u64, Vec<usize>, BuildHasherDefault<DefaultHasher>>;

/// The rungs on which whole lines are compared.
pub(crate) const RUNGS: [Strategy; 4] =
    [Strategy::Exact, Strategy::TrailingWhitespace, Strategy::LookAlikes, Strategy::IndentShift];

/// A text, ready to be searched for blocks of lines.
#[derive(Debug)]
pub(crate) struct Table<'t> {
    pub(crate) rows: Rows<'t>,
    indexes: [OnceCell<Index>; RUNGS.len()],
    regions: OnceCell<Vec<Region>>,
    left: Cell<usize>,
}

/// A line as it is compared.
fn key(rung: Strategy, line: &str) -> Cow<'_, str> {
    match rung {
        Strategy::TrailingWhitespace => line.trim_end().into(),
        Strategy::LookAlikes => plain_line(line.trim_end()),
        Strategy::IndentShift => line.trim().into(),
        _ => line.into(),
    }
}

fn hash(rung: Strategy, line: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(&*key(rung, line))
}

/// The work of comparing lines: long ones count for more.
fn cost(lines: &[&str]) -> usize {
    1 + lines.iter().map(|line| 1 + line.len() / 64).sum::<usize>()
}

impl<'t> Table<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self {
            rows: Rows::of(text),
            indexes: Default::default(),
            regions: OnceCell::new(),
            left: Cell::new(WORK),
        }
    }

    /// What a hint that names this line speaks of.
    pub(crate) fn region(&self, row: usize) -> Option<Region> {
        self.regions.get_or_init(|| regions(&self.rows)).get(row).copied()
    }

    fn index(&self, rung: Strategy) -> Option<&Index> {
        let at = RUNGS.iter().position(|known| *known == rung)?;
        let made = || {
            let mut index = Index::default();
            for (row, line) in self.rows.lines().enumerate() {
                index.entry(hash(rung, line)).or_default().push(row);
            }
            index
        };
        Some(self.indexes.get(at)?.get_or_init(made))
    }

    /// Takes the work of looking at that many lines off what is allowed.
    pub(crate) fn charge(&self, lines: usize) -> Result<(), TooRepetitive> {
        self.left.set(self.left.get().checked_sub(lines).ok_or(TooRepetitive)?);
        Ok(())
    }

    /// The lines that say what a hint says, or at least hold it.
    pub(crate) fn naming(&self, hint: &str) -> Result<Vec<usize>, TooRepetitive> {
        let rung = Strategy::IndentShift;
        let known = self.index(rung).and_then(|index| index.get(&hash(rung, hint)));
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
    pub(crate) fn fits(&self, rung: Strategy, block: &[&str], row: usize) -> bool {
        self.agreeing(rung, block, row) == block.len()
            && (rung != Strategy::IndentShift || self.shift(block, row).is_some())
    }

    /// How many lines of the block agree with those from `row` on.
    fn agreeing(&self, rung: Strategy, block: &[&str], row: usize) -> usize {
        if row + block.len() > self.rows.len() {
            return 0;
        }
        let agrees =
            |(old, row): &(&&str, usize)| key(rung, old) == key(rung, self.rows.line(*row));
        block.iter().zip(row..).take_while(agrees).count()
    }

    /// How a block at this line is indented other than the old text.
    pub(crate) fn shift(&self, block: &[&str], row: usize) -> Option<Shift> {
        let file = (row..row + block.len()).map(|row| self.rows.line(row));
        Shift::between(block.iter().copied(), file)
    }

    /// The first lines of the places where the block fits, at most `most` of
    /// them; places may overlap unless `apart`.
    pub(crate) fn find(
        &self,
        rung: Strategy,
        block: &[&str],
        apart: bool,
        most: usize,
    ) -> Result<Vec<usize>, TooRepetitive> {
        // Brackets alone say too little to be known at another depth.
        let letters = |line: &&str| line.contains(char::is_alphanumeric);
        let tells = match rung {
            Strategy::Exact => !block.is_empty(),
            Strategy::IndentShift => block.iter().any(letters),
            _ => block.iter().any(|line| !line.trim().is_empty()),
        };
        if !tells {
            return Ok(Vec::new());
        }
        let Some((offset, candidates)) = self.rarest(rung, block) else { return Ok(Vec::new()) };
        let mut found: Vec<usize> = Vec::new();
        for start in candidates.iter().filter_map(|row| row.checked_sub(offset)) {
            let near = found.last().is_some_and(|last| start < last + block.len());
            if apart && near {
                continue;
            }
            let agreeing = self.agreeing(rung, block, start);
            self.charge(cost(block.get(..agreeing).unwrap_or_default()))?;
            let agrees = agreeing == block.len();
            if agrees && (rung != Strategy::IndentShift || self.shift(block, start).is_some()) {
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
    fn rarest(&self, rung: Strategy, block: &[&str]) -> Option<(usize, &[usize])> {
        let index = self.index(rung)?;
        let mut rarest: Option<(usize, &[usize])> = None;
        for (offset, line) in block.iter().enumerate() {
            let rows = index.get(&hash(rung, line))?.as_slice();
            if rarest.is_none_or(|(_, fewest)| rows.len() < fewest.len()) {
                rarest = Some((offset, rows));
            }
        }
        rarest
    }
}
