//! Assembles seccomp filters. Whenever one is loaded, the kernel translates it
//! and runs it for every system call that there is, so the time of a spawn
//! depends on its length and on how many steps each call takes: the rules are
//! found by bisection down to a few, and share their ends.

use std::collections::BTreeMap;

use libc::sock_filter;

/// What happens to a system call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rule {
    /// It fails with this error number.
    Refuse(i32),
    /// It is not permitted if all checks of any alternative hold.
    RefuseWhen(Vec<Vec<Check>>),
}

/// A condition on an argument, given by its position. The kernel reads the
/// arguments in question as 32 bits, so the upper half is noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// It has this value.
    Equal(u32, u32),
    /// It has another value.
    Differs(u32, u32),
    /// It has any of these bits.
    AnyBit(u32, u32),
    /// Its upper half, of an argument that the kernel reads as a whole, is not
    /// zero.
    IsLong(u32),
    /// Its bits under the mask have this value.
    Masked(u32, u32, u32),
}

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const AND: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
const JUMP: u32 = libc::BPF_JMP | libc::BPF_JA;
const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const IF_ABOVE: u32 = libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K;
const IF_AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
const IF_ANY_BIT: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// Where a filter finds what it judges.
const NUMBER_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;
const ARGUMENTS_OFFSET: u32 = 16;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// System calls of the variant of x86-64 with short pointers carry this bit
/// and would pass by every rule.
#[cfg(target_arch = "x86_64")]
const SHORT_POINTERS: u32 = 0x4000_0000;

/// So many rules are tried one after the other: to part them as well would take
/// one more instruction for each and save hardly a step.
const TOGETHER: usize = 3;

/// An instruction jumps over so many at most, with some room for those that
/// come in between.
const REACH: usize = 240;

/// The filter that applies the rules and allows everything else. Programs of
/// another architecture, whose numbers mean other calls, are killed.
pub(crate) fn assemble(rules: &BTreeMap<u32, Rule>) -> Vec<sock_filter> {
    let mut code = Code::default();
    let judged = code.bisect(&runs(rules));
    #[cfg(target_arch = "x86_64")]
    let judged = {
        let unknown = code.end(refusal(libc::ENOSYS));
        code.branch(IF_AT_LEAST, SHORT_POINTERS, unknown, judged)
    };
    let judged = code.load(NUMBER_OFFSET, judged);
    let killed = code.end(libc::SECCOMP_RET_KILL_PROCESS);
    let known = code.branch(IF_EQUAL, ARCHITECTURE, judged, killed);
    code.load(ARCHITECTURE_OFFSET, known);
    code.backwards.reverse();
    code.backwards
}

/// Neighbouring numbers with the same rule.
#[derive(Debug)]
struct Run<'a> {
    first: u32,
    last: u32,
    rule: &'a Rule,
}

fn runs(rules: &BTreeMap<u32, Rule>) -> Vec<Run<'_>> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    for (&number, rule) in rules {
        match runs.last_mut() {
            Some(run) if run.last + 1 == number && run.rule == rule => run.last = number,
            _ => runs.push(Run { first: number, last: number, rule }),
        }
    }
    runs
}

/// A program that is written from its end, since jumps only lead forward: what
/// an instruction leads to is there before it.
#[derive(Debug, Default)]
struct Code {
    backwards: Vec<sock_filter>,
}

/// The place of an instruction, counted from the end.
type At = usize;

impl Code {
    fn put(&mut self, instruction: sock_filter) -> At {
        self.backwards.push(instruction);
        self.backwards.len() - 1
    }

    /// How far a jump from the next instruction to that place is.
    fn distance(&self, to: At) -> usize {
        self.backwards.len() - 1 - to
    }

    /// A place in reach that leads there.
    fn near(&mut self, to: At) -> At {
        let distance = self.distance(to);
        if distance <= REACH { to } else { self.put(step(JUMP, distance as u32)) }
    }

    /// Answers with this value.
    fn end(&mut self, value: u32) -> At {
        let is_it = |it: &sock_filter| u32::from(it.code) == RETURN && it.k == value;
        match self.backwards.iter().rposition(is_it) {
            Some(at) if self.distance(at) <= REACH => at,
            _ => self.put(step(RETURN, value)),
        }
    }

    fn branch(&mut self, code: u32, k: u32, yes: At, no: At) -> At {
        let (yes, no) = (self.near(yes), self.near(no));
        let [jt, jf] = [yes, no].map(|to| self.distance(to) as u8);
        self.put(sock_filter { code: code as u16, jt, jf, k })
    }

    /// Loads a word for what comes next.
    fn load(&mut self, offset: u32, next: At) -> At {
        self.follow(step(LOAD, offset), next)
    }

    /// An instruction with only one way on.
    fn follow(&mut self, instruction: sock_filter, next: At) -> At {
        let distance = self.distance(next);
        if distance > 0 {
            self.put(step(JUMP, distance as u32));
        }
        self.put(instruction)
    }

    /// Expects the number in the accumulator. The depth is the logarithm of
    /// the number of runs.
    fn bisect(&mut self, runs: &[Run<'_>]) -> At {
        if runs.len() <= TOGETHER {
            let allowed = self.end(libc::SECCOMP_RET_ALLOW);
            return runs.iter().rev().fold(allowed, |next, run| self.judge_run(run, next));
        }
        let (left, right) = runs.split_at(runs.len() / 2);
        let (above, below) = (self.bisect(right), self.bisect(left));
        match right.first() {
            Some(first) => self.branch(IF_AT_LEAST, first.first, above, below),
            None => below,
        }
    }

    /// What is not in the run goes on.
    fn judge_run(&mut self, run: &Run<'_>, otherwise: At) -> At {
        let judged = match run.rule {
            Rule::Refuse(error) => self.end(refusal(*error)),
            Rule::RefuseWhen(alternatives) => {
                let allowed = self.end(libc::SECCOMP_RET_ALLOW);
                alternatives.iter().rev().fold(allowed, |next, checks| self.judge(checks, next))
            }
        };
        if run.first == run.last {
            return self.branch(IF_EQUAL, run.first, judged, otherwise);
        }
        let within = self.branch(IF_ABOVE, run.last, otherwise, judged);
        // What is below it is below those that come after it.
        let allowed = self.end(libc::SECCOMP_RET_ALLOW);
        self.branch(IF_AT_LEAST, run.first, within, allowed)
    }

    /// Refuses if all checks hold, else goes on.
    fn judge(&mut self, checks: &[Check], otherwise: At) -> At {
        let mut then = self.end(refusal(libc::EPERM));
        for (at, check) in checks.iter().enumerate().rev() {
            let argument = match *check {
                Check::Equal(argument, value) => {
                    then = self.branch(IF_EQUAL, value, then, otherwise);
                    argument
                }
                Check::Differs(argument, value) => {
                    then = self.branch(IF_EQUAL, value, otherwise, then);
                    argument
                }
                Check::AnyBit(argument, bits) => {
                    then = self.branch(IF_ANY_BIT, bits, then, otherwise);
                    argument
                }
                Check::IsLong(argument) => {
                    then = self.branch(IF_EQUAL, 0, otherwise, then);
                    then = self.load(ARGUMENTS_OFFSET + 8 * argument + 4, then);
                    continue;
                }
                Check::Masked(argument, mask, value) => {
                    then = self.branch(IF_EQUAL, value, then, otherwise);
                    then = self.follow(step(AND, mask), then);
                    argument
                }
            };
            let before = at.checked_sub(1).and_then(|before| checks.get(before));
            if before.and_then(Check::leaves) != Some(argument) {
                // The low half comes first, on both architectures.
                then = self.load(ARGUMENTS_OFFSET + 8 * argument, then);
            }
        }
        then
    }
}

impl Check {
    /// The argument that is in the accumulator after it, as it was given.
    fn leaves(&self) -> Option<u32> {
        match *self {
            Self::Equal(argument, _) | Self::Differs(argument, _) | Self::AnyBit(argument, _) => {
                Some(argument)
            }
            Self::Masked(..) | Self::IsLong(_) => None,
        }
    }
}

fn step(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

fn refusal(error: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | error as u32
}
