use hermes_core::Scope;
use proptest::prelude::*;

use super::*;

fn plan_of(batch: &[Vec<Effect>]) -> Vec<Vec<usize>> {
    let numbered: Vec<(usize, Vec<Effect>)> = batch.iter().cloned().enumerate().collect();
    plan(numbered, |(_, effects)| (effects.as_slice(), false))
        .into_iter()
        .map(|group| group.into_iter().map(|(at, _)| at).collect())
        .collect()
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
    let batch = vec![(false, read("/a")), (true, vec![]), (false, read("/a")), (false, read("/b"))];
    let groups = plan(batch, |(alone, effects)| (effects.as_slice(), *alone));
    let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
    assert_eq!(sizes, [1, 1, 2]);
}

#[test]
fn a_path_is_one_path_for_every_family() {
    let checkout = vec![Effect::path(Scope::GIT_WRITE, "/repo")];
    assert_eq!(plan_of(&[checkout, write("/repo/a")]).len(), 2);
    let server = |name: &str| vec![Effect::any(Scope::named(format!("mcp:{name}")))];
    assert_eq!(plan_of(&[server("a"), server("b")]).len(), 1);
    assert_eq!(plan_of(&[server("a"), server("a")]).len(), 2);
}

#[test]
fn a_link_to_nowhere_is_the_place_it_leads_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().canonicalize().expect("real").join(name);
    std::os::unix::fs::symlink("target", at("link")).expect("a link");
    assert_eq!(real(&at("link")), at("target"));
    std::os::unix::fs::symlink("loop", at("loop")).expect("a link");
    real(&at("loop"));
}

fn any_effect() -> impl Strategy<Value = Effect> {
    let scope = prop::sample::select(vec![
        Scope::FILE_READ,
        Scope::FILE_WRITE,
        Scope::TERMINAL_EXECUTE,
        Scope::DATABASE_READ,
        Scope::DATABASE_WRITE,
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

proptest! {
    #[test]
    fn no_group_holds_a_conflict_and_order_is_kept(
        batch in prop::collection::vec(prop::collection::vec(any_effect(), 0..3), 0..10)
    ) {
        let groups = plan_of(&batch);
        let flat: Vec<usize> = groups.iter().flatten().copied().collect();
        prop_assert_eq!(&flat, &(0..batch.len()).collect::<Vec<_>>());
        let meet = |a: usize, b: usize| batch[a].iter().any(|x| batch[b].iter().any(|y| x.conflicts(y)));
        for group in &groups {
            for (i, a) in group.iter().enumerate() {
                for b in &group[i + 1..] {
                    prop_assert!(!meet(*a, *b), "{:?} and {:?}", batch[*a], batch[*b]);
                }
            }
        }
        for pair in groups.windows(2) {
            let next = pair[1][0];
            prop_assert!(pair[0].iter().any(|a| meet(*a, next)), "a group ended without need");
        }
    }
}
