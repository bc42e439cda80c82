use super::*;

fn case(git_runs: bool, deleted: &[&str]) -> Case {
    Case {
        write: vec!["/w".into()],
        cwd: "/w".into(),
        deleted: deleted.iter().map(PathBuf::from).collect(),
        git_runs,
        settings: false,
        sweeps: false,
    }
}

#[test]
fn each_case_is_looked_at_for_itself() {
    let seen = Sightings::default();
    let kept = |path: &str| Kept { read_only: vec![path.into()], ..Kept::default() };
    assert_eq!(seen.kept(case(false, &[]), |_| kept("/w/.git")), kept("/w/.git"));
    assert_eq!(seen.kept(case(true, &[]), |_| kept("/w/.git/hooks")), kept("/w/.git/hooks"));
    let named = case(false, &["/w/.git/config"]);
    assert_eq!(seen.kept(named, |_| kept("/w/.git/info")), kept("/w/.git/info"));
}

#[test]
fn who_looks_for_a_case_may_look_at_files_meanwhile() {
    let seen = Sightings::default();
    let kept = seen.kept(case(false, &[]), |case| {
        let there = case.write.iter().filter(|path| seen.exists(path)).cloned().collect();
        Kept { nested: there, absent: vec!["/w/.hermes".into()], ..Kept::default() }
    });
    assert_eq!(kept.absent, [PathBuf::from("/w/.hermes")]);
}
