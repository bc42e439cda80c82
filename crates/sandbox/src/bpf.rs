//! Assembles seccomp filters. The kernel runs a filter for every system call
//! that there is whenever it is loaded, so the time of a spawn depends on how
//! many steps each takes: the rules are found by bisection, not one by one.

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

/// The filter that applies the rules and allows everything else. Programs of
/// another architecture, whose numbers mean other calls, are killed.
pub(crate) fn assemble(rules: &BTreeMap<u32, Rule>) -> Vec<sock_filter> {
    let mut program = vec![
        step(LOAD, ARCHITECTURE_OFFSET),
        branch(IF_EQUAL, ARCHITECTURE, 1, 0),
        step(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
        step(LOAD, NUMBER_OFFSET),
    ];
    #[cfg(target_arch = "x86_64")]
    program.extend([branch(IF_AT_LEAST, SHORT_POINTERS, 0, 1), refuse(libc::ENOSYS)]);
    program.extend(bisect(&runs(rules)));
    program
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

/// Expects the number in the accumulator, and always returns. The depth is the
/// logarithm of the number of runs.
fn bisect(runs: &[Run<'_>]) -> Vec<sock_filter> {
    let (left, right) = runs.split_at(runs.len() / 2);
    let (Some(_), Some(first)) = (left.first(), right.first()) else {
        return runs.first().map_or_else(|| vec![allow()], judge_run);
    };
    let (below, above) = (bisect(left), bisect(right));
    let mut program = match u8::try_from(below.len()) {
        Ok(length) => vec![branch(IF_AT_LEAST, first.first, length, 0)],
        Err(_) => {
            vec![branch(IF_AT_LEAST, first.first, 0, 1), step(JUMP, below.len() as u32)]
        }
    };
    program.extend(below);
    program.extend(above);
    program
}

fn judge_run(run: &Run<'_>) -> Vec<sock_filter> {
    let mut program = if run.first == run.last {
        vec![branch(IF_EQUAL, run.first, 1, 0), allow()]
    } else {
        vec![branch(IF_AT_LEAST, run.first, 0, 1), branch(IF_ABOVE, run.last, 0, 1), allow()]
    };
    match run.rule {
        Rule::Refuse(error) => program.push(refuse(*error)),
        Rule::RefuseWhen(alternatives) => {
            for checks in alternatives {
                program.extend(judge(checks));
            }
            program.push(allow());
        }
    }
    program
}

/// Refuses if all checks hold, else goes on behind. Built from the end, so
/// that each check knows how far it is from there.
fn judge(checks: &[Check]) -> Vec<sock_filter> {
    let mut backwards = vec![refuse(libc::EPERM)];
    for check in checks.iter().rev() {
        let out = backwards.len() as u8;
        let argument = match *check {
            Check::Equal(argument, value) => {
                backwards.push(branch(IF_EQUAL, value, 0, out));
                argument
            }
            Check::Differs(argument, value) => {
                backwards.push(branch(IF_EQUAL, value, out, 0));
                argument
            }
            Check::AnyBit(argument, bits) => {
                backwards.push(branch(IF_ANY_BIT, bits, 0, out));
                argument
            }
            Check::Masked(argument, mask, value) => {
                backwards.push(branch(IF_EQUAL, value, 0, out));
                backwards.push(step(AND, mask));
                argument
            }
        };
        // The low half comes first, on both architectures.
        backwards.push(step(LOAD, ARGUMENTS_OFFSET + 8 * argument));
    }
    backwards.reverse();
    backwards
}

fn step(code: u32, k: u32) -> sock_filter {
    branch(code, k, 0, 0)
}

fn branch(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}

fn allow() -> sock_filter {
    step(RETURN, libc::SECCOMP_RET_ALLOW)
}

fn refuse(error: i32) -> sock_filter {
    step(RETURN, libc::SECCOMP_RET_ERRNO | error as u32)
}
