//! A number that identifies the processes of a job, even if they clear their
//! environment or leave their session.
//!
//! A process may clear its environment, leave its session and lose its parents,
//! but it keeps its resource limits. Linux inherits the limit on file locks and
//! has not enforced it since version 2.4, so it can carry a number.

/// The upper bits of a tagged limit. Nested jobs use smaller ones: without
/// privileges a limit can only be lowered.
const OUTERMOST_PREFIX: u64 = 0x4a4f;
const INNERMOST_PREFIX: u64 = OUTERMOST_PREFIX - 0xff;
/// Number of bits left for the job.
const TAG_BITS: u32 = 48;
/// The value of no limit.
const NO_LIMIT: u64 = u64::MAX;

/// The tag of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProcessTag(u64);

impl ProcessTag {
    /// Returns the tag of a job id.
    pub fn for_job(job: &str) -> Self {
        let mix = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let sum = job.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
        Self((sum ^ (sum >> TAG_BITS)) & ((1 << TAG_BITS) - 1))
    }

    /// Returns the tag in a limit on file locks, if it carries one.
    pub fn from_limit(limit: u64) -> Option<Self> {
        tag_prefix(limit).map(|_| Self(limit & ((1 << TAG_BITS) - 1)))
    }

    /// Returns the lower 48 bits of the limit.
    pub fn number(self) -> u64 {
        self.0
    }
}

fn tag_prefix(limit: u64) -> Option<u64> {
    let upper = limit >> TAG_BITS;
    (INNERMOST_PREFIX..=OUTERMOST_PREFIX).contains(&upper).then_some(upper)
}

/// Returns the soft and hard limit for a child of a job, given our own. The
/// hard limit keeps the outermost job. `None` if the administrator has set a
/// limit.
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
