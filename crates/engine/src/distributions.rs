//! Toolset distributions: how likely each toolset is in a sampled run, and
//! reproducible sampling from them.

use std::collections::HashSet;

use serde::Serialize;

use crate::toolsets::{ToolIndex, ToolsetCatalog, ToolsetError, did_you_mean, nearest, quote};

/// Independent probabilities of toolsets; they need not add up to 100.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolsetDistribution {
    pub name: String,
    pub description: String,
    /// In sampling order.
    pub shares: Vec<ToolsetChance>,
}

/// Probability of one toolset, from 0 (never) to 100 (always).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolsetChance {
    pub toolset: String,
    pub percent: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DistributionError {
    #[error("unknown distribution {}{}", quote(name), did_you_mean(suggestions))]
    Unknown { name: String, suggestions: Vec<String> },
    /// `column` counts characters from 1.
    #[error("distribution, column {column}, at {}: {problem}", quote(entry))]
    Syntax { column: usize, entry: String, problem: &'static str },
    #[error("distribution {}: no toolset can be drawn", quote(name))]
    Empty { name: String },
}

struct DistributionRow {
    name: &'static str,
    description: &'static str,
    shares: &'static [(&'static str, u8)],
}

const fn distribution_row(
    name: &'static str,
    description: &'static str,
    shares: &'static [(&'static str, u8)],
) -> DistributionRow {
    DistributionRow { name, description, shares }
}

#[rustfmt::skip]
const BUILTIN_DISTRIBUTIONS: &[DistributionRow] = &[
    distribution_row("default", "Everything, always",
        &[("web", 100), ("vision", 100), ("image_gen", 100), ("terminal", 100), ("file", 100), ("browser", 100)]),
    distribution_row("image_gen", "Image generation, mostly one toolset at a time",
        &[("image_gen", 40), ("web", 30), ("terminal", 30)]),
    distribution_row("image_gen_full", "Image generation, with vision to judge the images",
        &[("image_gen", 90), ("vision", 90), ("web", 55), ("terminal", 45)]),
    distribution_row("research", "Web research, mostly one toolset at a time",
        &[("web", 50), ("browser", 30), ("file", 20)]),
    distribution_row("research_full", "Web research",
        &[("web", 90), ("browser", 70), ("vision", 50), ("terminal", 10)]),
    distribution_row("science", "Scientific work: web, computing and files",
        &[("web", 94), ("terminal", 94), ("file", 94), ("vision", 65), ("browser", 50), ("image_gen", 15)]),
    distribution_row("development", "Writing software",
        &[("terminal", 80), ("file", 80), ("web", 30), ("vision", 10)]),
    distribution_row("safe", "No commands and no files",
        &[("web", 80), ("browser", 70), ("vision", 60), ("image_gen", 60)]),
    distribution_row("balanced", "Each toolset in half of the runs",
        &[("web", 50), ("vision", 50), ("image_gen", 50), ("terminal", 50), ("file", 50), ("browser", 50)]),
    distribution_row("minimal", "Web only",
        &[("web", 100)]),
    distribution_row("terminal_only", "Commands and files",
        &[("terminal", 100), ("file", 100)]),
    distribution_row("terminal_web", "Commands, files and the web",
        &[("terminal", 100), ("file", 100), ("web", 100)]),
    distribution_row("creative", "Images first, the web for ideas",
        &[("image_gen", 90), ("vision", 90), ("web", 30)]),
    distribution_row("reasoning", "Reasoning with web lookups",
        &[("web", 90), ("file", 60), ("terminal", 20)]),
    distribution_row("browser_use", "The browser, with search and vision",
        &[("browser", 100), ("web", 80), ("vision", 70)]),
    distribution_row("browser_only", "Browser only",
        &[("browser", 100)]),
    distribution_row("browser_tasks", "Browser tasks, rarely anything else",
        &[("browser", 97), ("vision", 12), ("terminal", 15)]),
    distribution_row("terminal_tasks", "Command-line tasks, mostly one toolset at a time",
        &[("terminal", 60), ("file", 30), ("web", 10)]),
    distribution_row("terminal_tasks_full", "Command-line tasks, with web access",
        &[("terminal", 97), ("file", 97), ("web", 97), ("browser", 75), ("vision", 50), ("image_gen", 10)]),
    distribution_row("mixed_tasks", "Four toolsets, equally likely, mostly one at a time",
        &[("terminal", 25), ("file", 25), ("web", 25), ("browser", 25)]),
    distribution_row("mixed_tasks_full", "Browser, commands and files together",
        &[("browser", 92), ("terminal", 92), ("file", 92), ("web", 35), ("vision", 15), ("image_gen", 15)]),
];

/// Returns the built-in distributions in listing order.
pub fn all() -> impl Iterator<Item = ToolsetDistribution> {
    BUILTIN_DISTRIBUTIONS.iter().map(ToolsetDistribution::from)
}

/// # Errors
/// When there is no built-in distribution of that name.
pub fn find(name: &str) -> Result<ToolsetDistribution, DistributionError> {
    BUILTIN_DISTRIBUTIONS
        .iter()
        .find(|row| row.name == name)
        .map(ToolsetDistribution::from)
        .ok_or_else(|| DistributionError::Unknown {
            name: name.to_owned(),
            suggestions: nearest(name, BUILTIN_DISTRIBUTIONS.iter().map(|row| row.name)),
        })
}

/// Samples a built-in distribution; see [`ToolsetDistribution::sample`].
///
/// # Errors
/// When the distribution does not exist, or no toolset in it can be drawn.
pub fn sample(
    name: &str,
    seed: u64,
    valid: impl Fn(&str) -> bool,
) -> Result<Vec<String>, DistributionError> {
    find(name)?.sample(seed, valid)
}

impl ToolsetDistribution {
    /// Parses percentages such as `web=50, file=20%`, whole numbers from 0 to
    /// 100.
    ///
    /// # Errors
    /// When an entry is malformed or duplicated, naming its column, or when
    /// every percentage is 0.
    pub fn parse(text: &str) -> Result<Self, DistributionError> {
        let mut shares = Vec::new();
        let mut seen = HashSet::new();
        let mut offset = 0;
        for part in text.split(',') {
            let entry = part.trim();
            let fail = |problem| {
                let start = offset + (part.len() - part.trim_start().len());
                Err(DistributionError::Syntax {
                    column: text.get(..start).map_or(0, |before| before.chars().count()) + 1,
                    entry: entry.to_owned(),
                    problem,
                })
            };
            let Some((toolset, percent)) = entry.split_once('=') else {
                return fail("expected TOOLSET=PERCENT");
            };
            let toolset = toolset.trim_end();
            if toolset.is_empty() {
                return fail("the toolset is missing");
            }
            let Some(percent) = parse_percent(percent.trim_start()) else {
                return fail("the percentage must be a whole number from 0 to 100");
            };
            if !seen.insert(toolset) {
                return fail("this toolset is given twice");
            }
            shares.push(ToolsetChance { toolset: toolset.to_owned(), percent });
            offset += part.len() + 1;
        }
        let distribution =
            Self { name: "custom".to_owned(), description: text.trim().to_owned(), shares };
        if distribution.shares.iter().all(|share| share.percent == 0) {
            return Err(DistributionError::Empty { name: distribution.name });
        }
        Ok(distribution)
    }

    /// # Errors
    /// When a share names a toolset that does not exist.
    pub fn check(
        &self,
        toolsets: &ToolsetCatalog,
        index: &dyn ToolIndex,
    ) -> Result<(), ToolsetError> {
        self.shares.iter().try_for_each(|share| toolsets.check(&share.toolset, index))
    }

    /// Draws each toolset independently, in order. When none is drawn, returns
    /// the likeliest (the first of equals), so the result is never empty.
    /// Toolsets that are not `valid` are skipped without shifting the draws of
    /// the others. The same seed gives the same result on every machine and in
    /// every release.
    ///
    /// # Errors
    /// When no valid toolset has a probability above 0.
    pub fn sample(
        &self,
        seed: u64,
        valid: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, DistributionError> {
        let mut draws = SplitMix64(seed);
        let mut drawn = Vec::new();
        let mut likeliest: Option<&ToolsetChance> = None;
        for share in &self.shares {
            let draw = draws.next_percent();
            if !valid(&share.toolset) {
                continue;
            }
            if draw < share.percent {
                drawn.push(share.toolset.clone());
            }
            if share.percent > likeliest.map_or(0, |best| best.percent) {
                likeliest = Some(share);
            }
        }
        match likeliest {
            None => Err(DistributionError::Empty { name: self.name.clone() }),
            Some(best) if drawn.is_empty() => Ok(vec![best.toolset.clone()]),
            Some(_) => Ok(drawn),
        }
    }
}

impl From<&DistributionRow> for ToolsetDistribution {
    fn from(row: &DistributionRow) -> Self {
        let share = |&(toolset, percent): &(&str, u8)| ToolsetChance {
            toolset: toolset.to_owned(),
            percent,
        };
        Self {
            name: row.name.to_owned(),
            description: row.description.to_owned(),
            shares: row.shares.iter().map(share).collect(),
        }
    }
}

fn parse_percent(text: &str) -> Option<u8> {
    let digits = text.strip_suffix('%').map_or(text, str::trim_end);
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(|percent| *percent <= 100)
}

/// SplitMix64 by Steele, Lea and Flood (2014). Library generators may change
/// between releases, which would change the meaning of stored seeds.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a uniform number from 0 to 99, using integers only.
    fn next_percent(&mut self) -> u8 {
        u8::try_from((u128::from(self.next()) * 100) >> 64).unwrap_or(99)
    }
}

#[cfg(test)]
#[path = "distributions_tests.rs"]
mod tests;
