use hermes_core::ShellScript;
use proptest::prelude::*;

use super::*;

/// Effects, whether it must be alone, and what is certain of its command.
type Call = (Vec<Effect>, bool, SideEffects);

fn stand((_, call): &(usize, Call)) -> ConflictKey<'_> {
    ConflictKey { effects: &call.0, exclusive: call.1, unordered: false }
}

/// The whole plan, as numbers of the calls.
fn plan_with(batch: &[Call]) -> Vec<Vec<usize>> {
    let mut rest: VecDeque<(usize, Call)> = batch.iter().cloned().enumerate().collect();
    let mut groups = Vec::new();
    while !rest.is_empty() {
        let group = take_independent_group(&mut rest, stand, |(_, call)| call.2);
        groups.push(group.into_iter().map(|(at, _)| at).collect());
    }
    groups
}

fn plan_of(batch: &[Vec<Effect>]) -> Vec<Vec<usize>> {
    let open = batch.iter().map(|effects| (effects.clone(), false, SideEffects::Unknown));
    plan_with(&open.collect::<Vec<_>>())
}

fn read(path: &str) -> Vec<Effect> {
    vec![Effect::path(Scope::FILE_READ, path)]
}

fn write(path: &str) -> Vec<Effect> {
    vec![Effect::path(Scope::FILE_WRITE, path)]
}

fn shell() -> Vec<Effect> {
    vec![Effect { scope: Scope::TERMINAL_EXECUTE, resource: Resource::Command("x".into()) }]
}

#[test]
fn groups_are_as_large_as_they_can_be() {
    let search = vec![Effect::any(Scope::NETWORK_SEARCH)];
    for (batch, groups) in [
        (vec![read("/a"), read("/b"), search.clone()], vec![vec![0, 1, 2]]),
        (vec![read("/a"), read("/a")], vec![vec![0, 1]]),
        (vec![read("/a"), write("/a")], vec![vec![0], vec![1]]),
        (vec![read("/a"), shell(), read("/b")], vec![vec![0], vec![1], vec![2]]),
        (
            vec![read("/a"), read("/b"), shell(), read("/c"), read("/d")],
            vec![vec![0, 1], vec![2], vec![3, 4]],
        ),
        (vec![write("/x"), read("/x/y")], vec![vec![0], vec![1]]),
        (vec![read("/x/y"), write("/x")], vec![vec![0], vec![1]]),
        (vec![write("/x/y"), write("/x/z")], vec![vec![0, 1]]),
        (vec![write("/x"), write("/xy")], vec![vec![0, 1]]),
        (vec![vec![], shell(), vec![]], vec![vec![0, 1, 2]]),
        (vec![], vec![]),
    ] {
        assert_eq!(plan_of(&batch), groups, "{batch:?}");
    }
}

#[test]
fn what_must_be_alone_is_alone() {
    let call = |exclusive, effects| (effects, exclusive, SideEffects::Unknown);
    let batch = [
        call(false, read("/a")),
        call(true, vec![]),
        call(false, read("/a")),
        call(false, read("/b")),
    ];
    let sizes: Vec<usize> = plan_with(&batch).iter().map(Vec::len).collect();
    assert_eq!(sizes, [1, 1, 2]);
}

#[test]
fn commands_that_are_known_to_change_nothing_run_side_by_side() {
    let open = || (shell(), false, SideEffects::Unknown);
    let looks = || (shell(), false, SideEffects::ReadOnly);
    let waits = || (shell(), false, SideEffects::None);
    let call = |effects: Vec<Effect>| (effects, false, SideEffects::Unknown);
    let commit = || vec![Effect::path(Scope::GIT_WRITE, "/repo")];
    let fetch = || vec![Effect::any(Scope::NETWORK_FETCH)];
    for (batch, groups) in [
        (vec![looks(), looks(), looks()], vec![vec![0, 1, 2]]),
        (vec![waits(), waits(), waits()], vec![vec![0, 1, 2]]),
        (vec![looks(), open(), looks()], vec![vec![0], vec![1], vec![2]]),
        (vec![open(), looks(), looks(), open()], vec![vec![0], vec![1, 2], vec![3]]),
        (vec![looks(), call(read("/a")), call(fetch())], vec![vec![0, 1, 2]]),
        (vec![call(read("/a")), looks()], vec![vec![0, 1]]),
        (vec![looks(), call(write("/a"))], vec![vec![0], vec![1]]),
        (vec![call(write("/a")), looks()], vec![vec![0], vec![1]]),
        (vec![looks(), call(commit())], vec![vec![0], vec![1]]),
        (vec![call(commit()), looks()], vec![vec![0], vec![1]]),
        // Whoever waits before looking wants to see what is there by then.
        (vec![waits(), looks(), waits()], vec![vec![0], vec![1], vec![2]]),
        (vec![waits(), call(read("/a"))], vec![vec![0], vec![1]]),
        (vec![waits(), open(), waits()], vec![vec![0], vec![1], vec![2]]),
    ] {
        assert_eq!(plan_with(&batch), groups);
    }
}

#[test]
fn a_path_is_one_path_for_every_family() {
    let checkout = vec![Effect::path(Scope::GIT_WRITE, "/repo")];
    assert_eq!(plan_of(&[checkout, write("/repo/a")]).len(), 2);
    let server = |name: &str| vec![Effect::any(Scope::named(format!("mcp:{name}")))];
    assert_eq!(plan_of(&[server("a"), server("b")]).len(), 1);
    assert_eq!(plan_of(&[server("a"), server("a")]).len(), 2);
}

/// A call of a server's tool, and whether it may run beside others there.
fn at_server(server: &str, tool: &str, unordered: bool) -> (Vec<Effect>, bool) {
    (vec![Effect::name(Scope::named(format!("mcp:{server}")), tool)], unordered)
}

#[test]
fn calls_to_one_server_run_side_by_side_unless_one_must_keep_its_place() {
    let free = |tool: &str| at_server("read", tool, true);
    let ordered = |tool: &str| at_server("read", tool, false);
    let looks = || (shell(), true);
    for (batch, sizes) in [
        (vec![free("a"); 32], vec![32]),
        (vec![free("a"), free("b"), free("a")], vec![3]),
        // By whatever name: tools of one server may touch the same thing.
        (vec![ordered("a"), ordered("b")], vec![1, 1]),
        (vec![free("a"), ordered("b"), free("a"), free("c")], vec![1, 1, 2]),
        (vec![ordered("a"), at_server("other", "a", false)], vec![2]),
        // It may change what a command looks at.
        (vec![free("a"), looks(), free("a")], vec![1, 1, 1]),
        (vec![free("a"), (read("/a"), false), free("a")], vec![3]),
    ] {
        let mut rest: VecDeque<(Vec<Effect>, bool)> = batch.iter().cloned().collect();
        let mut planned = Vec::new();
        while !rest.is_empty() {
            planned.push(
                take_independent_group(&mut rest, stand_at_server, |_| SideEffects::ReadOnly).len(),
            );
        }
        assert_eq!(planned, sizes, "{batch:?}");
    }
}

fn stand_at_server((effects, unordered): &(Vec<Effect>, bool)) -> ConflictKey<'_> {
    ConflictKey { effects, exclusive: false, unordered: *unordered }
}

#[test]
fn a_link_to_nowhere_is_the_place_it_leads_to() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = |name: &str| dir.path().canonicalize().expect("real").join(name);
    std::os::unix::fs::symlink("target", at("link")).expect("a link");
    assert_eq!(resolve_links(&at("link")), at("target"));
    std::os::unix::fs::symlink("loop", at("loop")).expect("a link");
    resolve_links(&at("loop"));
}

#[test]
fn interpreters_run_beside_each_other_and_beside_nothing_else() {
    let code = |name: &str| {
        let effects = vec![
            Effect::path(Scope::CODE_EXECUTE, "/nowhere"),
            Effect::path(Scope::FILE_READ, "/nowhere"),
            Effect::name(Scope::PROCESS_MANAGE, name),
        ];
        (effects, false, SideEffects::Unknown)
    };
    let read = (vec![Effect::path(Scope::FILE_READ, "/nowhere/a")], false, SideEffects::Unknown);
    let batch = vec![code("a"), code("b"), code("a"), read.clone(), code("c"), read];
    assert_eq!(plan_with(&batch), [vec![0, 1], vec![2], vec![3], vec![4], vec![5]]);
}

fn any_effect() -> impl Strategy<Value = Effect> {
    let scope = prop::sample::select(vec![
        Scope::FILE_READ,
        Scope::FILE_WRITE,
        Scope::TERMINAL_EXECUTE,
        Scope::DATABASE_READ,
        Scope::DATABASE_WRITE,
        Scope::named("mcp:read"),
    ]);
    let resource = prop::sample::select(vec![
        Resource::Any,
        Resource::Path("/nowhere/a".into()),
        Resource::Path("/nowhere/a/b".into()),
        Resource::Path("/nowhere/ab".into()),
        Resource::Path("/nowhere".into()),
        Resource::Name("t".into()),
        Resource::Name("u".into()),
    ]);
    (scope, resource).prop_map(|(scope, resource)| Effect { scope, resource })
}

fn any_side_effects() -> impl Strategy<Value = SideEffects> {
    prop::sample::select(vec![SideEffects::Unknown, SideEffects::ReadOnly, SideEffects::None])
}

/// What a call comes to: its effects that count, and what is certain of it.
fn standing(call: &Call) -> (Vec<&Effect>, SideEffects) {
    let is_arbitrary = call.0.iter().any(is_arbitrary_execution);
    let side_effects = if is_arbitrary { call.2 } else { SideEffects::Unknown };
    (call.0.iter().filter(|effect| is_relevant(effect, side_effects)).collect(), side_effects)
}

/// Whether two calls must not run at once, one pair at a time.
fn meet(a: &Call, b: &Call) -> bool {
    let one_way = |a: &Call, b: &Call| {
        let ((_, a), (effects, b)) = (standing(a), standing(b));
        let changes = effects.iter().any(|e| e.scope.access() == AccessMode::Exclusive);
        match (a, b) {
            (SideEffects::None, SideEffects::ReadOnly) => true,
            (SideEffects::None, _) => !effects.is_empty(),
            (SideEffects::ReadOnly, _) => changes,
            (SideEffects::Unknown, _) => false,
        }
    };
    let (x, y) = (standing(a).0, standing(b).0);
    x.iter().any(|x| y.iter().any(|y| x.conflicts_with(y))) || one_way(a, b) || one_way(b, a)
}

proptest! {
    #[test]
    fn no_group_holds_a_conflict_and_order_is_kept(
        batch in prop::collection::vec(
            (prop::collection::vec(any_effect(), 0..3), Just(false), any_side_effects()),
            0..10,
        )
    ) {
        let groups = plan_with(&batch);
        let flat: Vec<usize> = groups.iter().flatten().copied().collect();
        prop_assert_eq!(&flat, &(0..batch.len()).collect::<Vec<_>>());
        for group in &groups {
            for (i, a) in group.iter().enumerate() {
                for b in &group[i + 1..] {
                    prop_assert!(!meet(&batch[*a], &batch[*b]), "{:?} and {:?}", batch[*a], batch[*b]);
                }
            }
        }
        for pair in groups.windows(2) {
            let next = &batch[pair[1][0]];
            prop_assert!(pair[0].iter().any(|a| meet(&batch[*a], next)), "a group ended without need");
        }
    }
}

#[test]
fn a_variable_is_set_before_it_is_read() {
    let assignment = |name: &str| hermes_core::EnvAssignment {
        name: name.to_owned(),
        value: "secret".to_owned(),
    };
    let set = |name: &str| Effect {
        scope: Scope::ENV_WRITE,
        resource: Resource::Variable(Box::new(assignment(name))),
    };
    let read = |name: &str| Effect::name(Scope::ENV_READ, name);
    for (first, second, conflicts) in [
        (set("A"), read("A"), true),
        (read("A"), set("A"), true),
        (set("A"), set("A"), true),
        (set("A"), read("B"), false),
    ] {
        assert_eq!(first.conflicts_with(&second), conflicts, "{first} {second}");
        let mut reserved = Reservations::default();
        reserved.reserve(&first, false);
        assert_eq!(reserved.conflicts(&second, false), conflicts, "{first} {second}");
    }
}

fn background() -> Vec<Effect> {
    let script = ShellScript { text: "x".into(), background: true, ..ShellScript::default() };
    vec![Effect { scope: Scope::TERMINAL_EXECUTE, resource: Resource::Script(Box::new(script)) }]
}

#[test]
fn background_starts_do_not_wait_for_each_other() {
    assert_eq!(plan_of(&vec![background(); 50]), [(0..50).collect::<Vec<_>>()]);
    let mixed = [background(), background(), shell(), background(), read("/a"), write("/a")];
    assert_eq!(plan_of(&mixed), [vec![0, 1], vec![2], vec![3], vec![4], vec![5]]);
}

#[test]
fn calls_with_the_same_key_run_in_call_order() {
    let group = vec![(0, "a"), (1, "b"), (2, "a"), (3, ""), (4, ""), (5, "b"), (6, "a")];
    let key = |(_, key): &(usize, &'static str)| Some(*key).filter(|key| !key.is_empty());
    let chains = ordered_chains(group, key);
    let numbers: Vec<Vec<usize>> =
        chains.iter().map(|chain| chain.iter().map(|(at, _)| *at).collect()).collect();
    assert_eq!(numbers, [vec![0, 2, 6], vec![1, 5], vec![3], vec![4]]);
}
