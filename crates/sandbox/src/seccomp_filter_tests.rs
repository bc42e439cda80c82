use super::*;

/// The machine that a filter runs on, as far as these filters use it.
fn run(program: &[sock_filter], number: u32, arguments: [u64; 6]) -> u32 {
    let architecture: u32 = if cfg!(target_arch = "x86_64") { 0xc000_003e } else { 0xc000_00b7 };
    let word = |offset: u32| match offset {
        0 => number,
        4 => architecture,
        _ => {
            let argument = arguments[(offset as usize - 16) / 8];
            if offset.is_multiple_of(8) { argument as u32 } else { (argument >> 32) as u32 }
        }
    };
    let (mut at, mut value) = (0, 0_u32);
    loop {
        let it = program[at];
        at += 1;
        let go = |yes: bool| at + usize::from(if yes { it.jt } else { it.jf });
        match it.code {
            0x20 => value = word(it.k),
            0x54 => value &= it.k,
            0x05 => at += it.k as usize,
            0x15 => at = go(value == it.k),
            0x25 => at = go(value > it.k),
            0x35 => at = go(value >= it.k),
            0x45 => at = go(value & it.k != 0),
            0x06 => return it.k,
            other => panic!("unknown instruction {other:#x}"),
        }
    }
}

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const EPERM: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
const ENOSYS: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

fn all_shapes() -> impl Iterator<Item = FilterOptions> {
    [false, true].into_iter().flat_map(|network| {
        [(false, false), (true, false), (true, true)].into_iter().map(
            move |(guard_truncate, shared_memory)| FilterOptions {
                network,
                guard_truncate,
                shares_ipc: shared_memory,
            },
        )
    })
}

#[test]
fn every_number_gets_its_rule_and_no_other_does() {
    for shape in all_shapes() {
        let (program, rules) = (build(shape), rules(shape));
        for number in 0..1000 {
            let got = run(&program, number, [u64::MAX; 6]);
            match rules.get(&number) {
                None => assert_eq!(got, ALLOW, "{number}"),
                Some(SyscallRule::Refuse(error)) => {
                    assert_eq!(got, libc::SECCOMP_RET_ERRNO | *error as u32, "{number}");
                }
                Some(SyscallRule::RefuseWhen(_)) => {}
            }
        }
    }
}

#[test]
fn arguments_are_judged() {
    let program = build(FilterOptions { network: false, guard_truncate: true, shares_ipc: true });
    let judge = |call: c_long, arguments: &[u64]| {
        let mut all = [0; 6];
        all[..arguments.len()].copy_from_slice(arguments);
        run(&program, call as u32, all)
    };
    let flags = libc::CLONE_VM as u64 | libc::SIGCHLD as u64;
    assert_eq!(judge(libc::SYS_clone, &[flags]), ALLOW);
    for bit in [0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000]
    {
        assert_eq!(judge(libc::SYS_clone, &[flags | bit]), EPERM);
        assert_eq!(judge(libc::SYS_unshare, &[bit]), EPERM);
    }
    assert_eq!(judge(libc::SYS_unshare, &[libc::CLONE_FILES as u64]), ALLOW);
    assert_eq!(judge(libc::SYS_ioctl, &[0, 0x5412]), EPERM);
    assert_eq!(judge(libc::SYS_ioctl, &[0, 0xdead_0000_5412]), EPERM);
    assert_eq!(judge(libc::SYS_ioctl, &[0, 0x5413]), ALLOW);
    assert_eq!(judge(libc::SYS_personality, &[0xffff_ffff]), ALLOW);
    assert_eq!(judge(libc::SYS_personality, &[0x40_0000]), EPERM);
    assert_eq!(judge(libc::SYS_clone3, &[]), ENOSYS);
    assert_eq!(judge(libc::SYS_openat2, &[]), ENOSYS);
    let (read, cut, write) = (0, libc::O_TRUNC as u64, libc::O_WRONLY as u64);
    assert_eq!(judge(libc::SYS_openat, &[0, 0, read | cut]), EPERM);
    assert_eq!(judge(libc::SYS_openat, &[0, 0, write | cut]), ALLOW);
    assert_eq!(judge(libc::SYS_openat, &[0, 0, read]), ALLOW);
}

#[test]
fn other_processes_are_left_alone() {
    let program = build(FilterOptions { network: true, guard_truncate: false, shares_ipc: false });
    let judge = |call: c_long, arguments: [u64; 3]| {
        let [a, b, c] = arguments;
        run(&program, call as u32, [a, b, c, 0, 0, 0])
    };
    let cases = [
        (libc::SYS_prlimit64, [0, 7, 0x7fff_1234_5678], ALLOW),
        (libc::SYS_prlimit64, [4711, 7, 0], ALLOW),
        (libc::SYS_prlimit64, [4711, 7, 0x7fff_1234_5678], EPERM),
        // An address of which the kernel's filter sees no lower half.
        (libc::SYS_prlimit64, [4711, 7, 0x1_0000_0000], EPERM),
        (libc::SYS_prlimit64, [4711, 7, 0x1000], EPERM),
        (libc::SYS_setpriority, [0, 0, 5], ALLOW),
        (libc::SYS_setpriority, [0, 4711, 5], EPERM),
        (libc::SYS_setpriority, [1, 0, 5], EPERM),
        (libc::SYS_setpriority, [2, 0, 5], EPERM),
        (libc::SYS_ioprio_set, [1, 0, 5], ALLOW),
        (libc::SYS_ioprio_set, [1, 4711, 5], EPERM),
        (libc::SYS_ioprio_set, [3, 0, 5], EPERM),
        (libc::SYS_sched_setattr, [0, 1, 0], ALLOW),
        (libc::SYS_sched_setattr, [4711, 1, 0], EPERM),
        (libc::SYS_sched_setscheduler, [0, 5, 0], ALLOW),
        (libc::SYS_sched_setscheduler, [4711, 0, 0], ALLOW),
        (libc::SYS_sched_setscheduler, [4711, 5, 0], EPERM),
        (libc::SYS_sched_setscheduler, [4711, 3, 0], EPERM),
    ];
    for (call, arguments, wanted) in cases {
        assert_eq!(judge(call, arguments), wanted, "{call} {arguments:?}");
    }
}

#[test]
fn sockets_are_judged_by_family_type_and_protocol() {
    let socket = |network: bool, family: i32, kind: i32, protocol: i32| {
        let program = build(FilterOptions { network, guard_truncate: false, shares_ipc: false });
        let arguments = [family as u64, kind as u64, protocol as u64, 0, 0, 0];
        run(&program, libc::SYS_socket as u32, arguments) == ALLOW
    };
    let (stream, flags) = (libc::SOCK_STREAM, libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK);
    for network in [false, true] {
        assert!(socket(network, libc::AF_UNIX, stream | flags, 0));
        assert!(socket(network, libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE));
        assert!(!socket(network, libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_AUDIT));
        for family in [libc::AF_INET, libc::AF_INET6] {
            assert_eq!(socket(network, family, stream | flags, 0), network);
            assert_eq!(socket(network, family, libc::SOCK_DGRAM, 0), network);
            assert!(!socket(network, family, libc::SOCK_RAW | flags, 1));
        }
        for family in [libc::AF_PACKET, libc::AF_VSOCK, libc::AF_ALG, libc::AF_BLUETOOTH, 3, 45] {
            assert!(!socket(network, family, stream, 0), "{family}");
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn numbers_of_the_variant_with_short_pointers_do_not_exist() {
    let program = build(FilterOptions { network: true, guard_truncate: false, shares_ipc: false });
    for number in [0, 39, 101, 521] {
        assert_eq!(run(&program, 0x4000_0000 + number, [0; 6]), ENOSYS);
    }
}

#[test]
fn a_filter_of_many_rules_reaches_all_of_its_ends() {
    let checks =
        || vec![vec![ArgumentCheck::Equal(0, 7), ArgumentCheck::MaskedEqual(1, 0xf0, 0x30)]];
    let rules: BTreeMap<u32, SyscallRule> = (0..900)
        .step_by(2)
        .map(|number| match number % 6 {
            0 => (number, SyscallRule::Refuse(libc::EPERM)),
            2 => (number, SyscallRule::Refuse(libc::ENOSYS)),
            _ => (number, SyscallRule::RefuseWhen(checks())),
        })
        .collect();
    let program = bpf::assemble(&rules);
    assert!(program.len() > 600, "{}", program.len());
    for number in 0..1000 {
        let (plain, caught) =
            (run(&program, number, [0; 6]), run(&program, number, [7, 0x3f, 0, 0, 0, 0]));
        match rules.get(&number) {
            None => assert_eq!((plain, caught), (ALLOW, ALLOW), "{number}"),
            Some(SyscallRule::Refuse(error)) => {
                let refused = libc::SECCOMP_RET_ERRNO | *error as u32;
                assert_eq!((plain, caught), (refused, refused), "{number}");
            }
            Some(SyscallRule::RefuseWhen(_)) => {
                assert_eq!((plain, caught), (ALLOW, EPERM), "{number}")
            }
        }
    }
}

#[test]
fn a_filter_is_short() {
    // Each instruction costs every spawn.
    for shape in all_shapes() {
        assert!(build(shape).len() < 180, "{}", build(shape).len());
    }
}
