use super::*;

fn case(git_runs: bool, deleted: &[&str]) -> FrozenPathsKey {
    FrozenPathsKey {
        write: vec!["/w".into()],
        cwd: "/w".into(),
        deleted: deleted.iter().map(PathBuf::from).collect(),
        git_runs,
        may_change_settings: false,
        only_git_clean: false,
    }
}

#[test]
fn each_case_is_looked_at_for_itself() {
    let seen = FsScanCache::default();
    let kept = |path: &str| FrozenPaths { read_only: vec![path.into()], ..FrozenPaths::default() };
    assert_eq!(seen.frozen_paths(case(false, &[]), |_| kept("/w/.git")), kept("/w/.git"));
    assert_eq!(
        seen.frozen_paths(case(true, &[]), |_| kept("/w/.git/hooks")),
        kept("/w/.git/hooks")
    );
    let named = case(false, &["/w/.git/config"]);
    assert_eq!(seen.frozen_paths(named, |_| kept("/w/.git/info")), kept("/w/.git/info"));
}

#[test]
fn who_looks_for_a_case_may_look_at_files_meanwhile() {
    let seen = FsScanCache::default();
    let kept = seen.frozen_paths(case(false, &[]), |case| {
        let there = case.write.iter().filter(|path| seen.exists(path)).cloned().collect();
        FrozenPaths {
            frozen_nested: there,
            masked_missing: vec!["/w/.hermes".into()],
            ..FrozenPaths::default()
        }
    });
    assert_eq!(kept.masked_missing, [PathBuf::from("/w/.hermes")]);
}
