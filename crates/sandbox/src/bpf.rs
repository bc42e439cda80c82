//! Assembles seccomp filters. When a filter is loaded, the kernel compiles it
//! and evaluates it for every system call number, so the time of a spawn
//! depends on its length and on the number of steps per call: rules are found
//! by binary search and share their return instructions.

use std::collections::BTreeMap;

use libc::sock_filter;

/// Rule for a system call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SyscallRule {
    /// Fails with this errno.
    Refuse(i32),
    /// Fails with `EPERM` if all checks of any alternative hold.
    RefuseWhen(Vec<Vec<ArgumentCheck>>),
}

/// A condition on an argument, given by its position. The kernel reads these
/// arguments as 32 bits, so their upper half is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentCheck {
    /// Equals this value.
    Equal(u32, u32),
    /// Differs from this value.
    Differs(u32, u32),
    /// Has any of these bits.
    AnyBit(u32, u32),
    /// The upper half is nonzero, for an argument that the kernel reads as 64
    /// bits.
    HasUpperHalf(u32),
    /// The bits under the mask have this value.
    MaskedEqual(u32, u32, u32),
}

const OP_LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const OP_AND: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
const OP_JUMP: u32 = libc::BPF_JMP | libc::BPF_JA;
const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const IF_ABOVE: u32 = libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K;
const IF_AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
const IF_ANY_BIT: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
const OP_RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// Offsets in `seccomp_data`.
const NUMBER_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;
const ARGUMENTS_OFFSET: u32 = 16;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// System calls of the x32 ABI carry this bit and would bypass every rule.
#[cfg(target_arch = "x86_64")]
const X32_SYSCALL_BIT: u32 = 0x4000_0000;

/// Up to this many ranges are checked linearly: splitting them would take one
/// more instruction each and hardly save a step.
const MAX_LINEAR_RANGES: usize = 3;

/// Maximum distance of a jump, with some room for instructions inserted in
/// between.
const MAX_JUMP_DISTANCE: usize = 240;

/// Assembles a filter that applies the rules and allows everything else. It
/// kills programs of another architecture, where the numbers mean other calls.
pub(crate) fn assemble(rules: &BTreeMap<u32, SyscallRule>) -> Vec<sock_filter> {
    let mut code = BpfAssembler::default();
    let judged = code.emit_binary_search(&syscall_ranges(rules));
    #[cfg(target_arch = "x86_64")]
    let judged = {
        let unknown = code.emit_return(errno_action(libc::ENOSYS));
        code.emit_branch(IF_AT_LEAST, X32_SYSCALL_BIT, unknown, judged)
    };
    let judged = code.emit_load(NUMBER_OFFSET, judged);
    let killed = code.emit_return(libc::SECCOMP_RET_KILL_PROCESS);
    let known = code.emit_branch(IF_EQUAL, ARCHITECTURE, judged, killed);
    code.emit_load(ARCHITECTURE_OFFSET, known);
    code.reversed.reverse();
    code.reversed
}

/// Adjacent numbers with the same rule.
#[derive(Debug)]
struct SyscallRange<'a> {
    first: u32,
    last: u32,
    rule: &'a SyscallRule,
}

fn syscall_ranges(rules: &BTreeMap<u32, SyscallRule>) -> Vec<SyscallRange<'_>> {
    let mut runs: Vec<SyscallRange<'_>> = Vec::new();
    for (&number, rule) in rules {
        match runs.last_mut() {
            Some(run) if run.last + 1 == number && run.rule == rule => run.last = number,
            _ => runs.push(SyscallRange { first: number, last: number, rule }),
        }
    }
    runs
}

/// A program assembled from its end, since BPF only jumps forward: the target
/// of a jump exists before the jump.
#[derive(Debug, Default)]
struct BpfAssembler {
    reversed: Vec<sock_filter>,
}

/// Index of an instruction, counted from the end.
type InstructionIndex = usize;

impl BpfAssembler {
    fn emit(&mut self, instruction: sock_filter) -> InstructionIndex {
        self.reversed.push(instruction);
        self.reversed.len() - 1
    }

    /// Returns the distance of a jump from the next instruction to `to`.
    fn distance(&self, to: InstructionIndex) -> usize {
        self.reversed.len() - 1 - to
    }

    /// Returns an instruction in reach that leads to `to`.
    fn ensure_in_reach(&mut self, to: InstructionIndex) -> InstructionIndex {
        let distance = self.distance(to);
        if distance <= MAX_JUMP_DISTANCE {
            to
        } else {
            self.emit(make_instruction(OP_JUMP, distance as u32))
        }
    }

    /// Emits a return of this value, or reuses one in reach.
    fn emit_return(&mut self, value: u32) -> InstructionIndex {
        let is_it = |it: &sock_filter| u32::from(it.code) == OP_RETURN && it.k == value;
        match self.reversed.iter().rposition(is_it) {
            Some(at) if self.distance(at) <= MAX_JUMP_DISTANCE => at,
            _ => self.emit(make_instruction(OP_RETURN, value)),
        }
    }

    fn emit_branch(
        &mut self,
        code: u32,
        k: u32,
        yes: InstructionIndex,
        no: InstructionIndex,
    ) -> InstructionIndex {
        let (yes, no) = (self.ensure_in_reach(yes), self.ensure_in_reach(no));
        let [jt, jf] = [yes, no].map(|to| self.distance(to) as u8);
        self.emit(sock_filter { code: code as u16, jt, jf, k })
    }

    /// Emits the load of a word, followed by `next`.
    fn emit_load(&mut self, offset: u32, next: InstructionIndex) -> InstructionIndex {
        self.emit_then(make_instruction(OP_LOAD, offset), next)
    }

    /// Emits an instruction that continues at `next`.
    fn emit_then(&mut self, instruction: sock_filter, next: InstructionIndex) -> InstructionIndex {
        let distance = self.distance(next);
        if distance > 0 {
            self.emit(make_instruction(OP_JUMP, distance as u32));
        }
        self.emit(instruction)
    }

    /// Emits the search for a rule. Expects the number in the accumulator. The
    /// depth is logarithmic in the number of runs.
    fn emit_binary_search(&mut self, runs: &[SyscallRange<'_>]) -> InstructionIndex {
        if runs.len() <= MAX_LINEAR_RANGES {
            let allowed = self.emit_return(libc::SECCOMP_RET_ALLOW);
            return runs.iter().rev().fold(allowed, |next, run| self.emit_range(run, next));
        }
        let (left, right) = runs.split_at(runs.len() / 2);
        let (above, below) = (self.emit_binary_search(right), self.emit_binary_search(left));
        match right.first() {
            Some(first) => self.emit_branch(IF_AT_LEAST, first.first, above, below),
            None => below,
        }
    }

    /// Emits the check of one range; other numbers continue at `otherwise`.
    fn emit_range(
        &mut self,
        run: &SyscallRange<'_>,
        otherwise: InstructionIndex,
    ) -> InstructionIndex {
        let judged = match run.rule {
            SyscallRule::Refuse(error) => self.emit_return(errno_action(*error)),
            SyscallRule::RefuseWhen(alternatives) => {
                let allowed = self.emit_return(libc::SECCOMP_RET_ALLOW);
                alternatives
                    .iter()
                    .rev()
                    .fold(allowed, |next, checks| self.emit_checks(checks, next))
            }
        };
        if run.first == run.last {
            return self.emit_branch(IF_EQUAL, run.first, judged, otherwise);
        }
        let within = self.emit_branch(IF_ABOVE, run.last, otherwise, judged);
        // A number below this range is also below the ranges that follow.
        let allowed = self.emit_return(libc::SECCOMP_RET_ALLOW);
        self.emit_branch(IF_AT_LEAST, run.first, within, allowed)
    }

    /// Emits a refusal if all checks hold; otherwise continues at `otherwise`.
    fn emit_checks(
        &mut self,
        checks: &[ArgumentCheck],
        otherwise: InstructionIndex,
    ) -> InstructionIndex {
        let mut then = self.emit_return(errno_action(libc::EPERM));
        for (at, check) in checks.iter().enumerate().rev() {
            let argument = match *check {
                ArgumentCheck::Equal(argument, value) => {
                    then = self.emit_branch(IF_EQUAL, value, then, otherwise);
                    argument
                }
                ArgumentCheck::Differs(argument, value) => {
                    then = self.emit_branch(IF_EQUAL, value, otherwise, then);
                    argument
                }
                ArgumentCheck::AnyBit(argument, bits) => {
                    then = self.emit_branch(IF_ANY_BIT, bits, then, otherwise);
                    argument
                }
                ArgumentCheck::HasUpperHalf(argument) => {
                    then = self.emit_branch(IF_EQUAL, 0, otherwise, then);
                    then = self.emit_load(ARGUMENTS_OFFSET + 8 * argument + 4, then);
                    continue;
                }
                ArgumentCheck::MaskedEqual(argument, mask, value) => {
                    then = self.emit_branch(IF_EQUAL, value, then, otherwise);
                    then = self.emit_then(make_instruction(OP_AND, mask), then);
                    argument
                }
            };
            let before = at.checked_sub(1).and_then(|before| checks.get(before));
            if before.and_then(ArgumentCheck::loaded_argument) != Some(argument) {
                // The low half comes first, on both architectures.
                then = self.emit_load(ARGUMENTS_OFFSET + 8 * argument, then);
            }
        }
        then
    }
}

impl ArgumentCheck {
    /// Returns the argument that is unmodified in the accumulator after this
    /// check.
    fn loaded_argument(&self) -> Option<u32> {
        match *self {
            Self::Equal(argument, _) | Self::Differs(argument, _) | Self::AnyBit(argument, _) => {
                Some(argument)
            }
            Self::MaskedEqual(..) | Self::HasUpperHalf(_) => None,
        }
    }
}

fn make_instruction(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

fn errno_action(error: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | error as u32
}
