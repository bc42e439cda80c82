//! A number by which the processes of a job are known, whatever they do to
//! their environment and wherever they go.
//!
//! A process may clear its environment, leave its session and lose its
//! parents. What it keeps through all of that are its resource limits. Linux
//! hands down the limit on file locks and has held nobody to it since version
//! 2.4, so that one can carry a number.

/// The upper bits of a stamp. One within another has smaller ones: without
/// privileges a limit can only be lowered.
const OUTERMOST_PREFIX: u64 = 0x4a4f;
const INNERMOST_PREFIX: u64 = OUTERMOST_PREFIX - 0xff;
/// How many bits are left for the job.
const TAG_BITS: u32 = 48;
/// A limit that is none.
const NO_LIMIT: u64 = u64::MAX;

/// The number of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProcessTag(u64);

impl ProcessTag {
    /// That of a job, by its id.
    pub fn for_job(job: &str) -> Self {
        let mix = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let sum = job.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
        Self((sum ^ (sum >> TAG_BITS)) & ((1 << TAG_BITS) - 1))
    }

    /// That which a limit on file locks carries, if it does.
    pub fn from_limit(limit: u64) -> Option<Self> {
        tag_prefix(limit).map(|_| Self(limit & ((1 << TAG_BITS) - 1)))
    }

    /// The lower 48 bits of such a limit.
    pub fn number(self) -> u64 {
        self.0
    }
}

fn tag_prefix(limit: u64) -> Option<u64> {
    let upper = limit >> TAG_BITS;
    (INNERMOST_PREFIX..=OUTERMOST_PREFIX).contains(&upper).then_some(upper)
}

/// The limits of a child that bears the stamp of a job, where ours are these:
/// what is in force, and the most that it may be. The outermost job stays in
/// the second. None where the administrator has set a limit.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub(crate) fn tag_limits(job: &str, (current, most): (u64, u64)) -> Option<(u64, u64)> {
    let upper = tag_prefix(current)
        .map_or(OUTERMOST_PREFIX, |upper| upper.saturating_sub(1).max(INNERMOST_PREFIX));
    let limit = upper << TAG_BITS | ProcessTag::for_job(job).0;
    let most = if most == NO_LIMIT { limit } else { most };
    (limit <= most).then_some((limit, most))
}

#[cfg(test)]
#[path = "process_tag_tests.rs"]
mod tests;
