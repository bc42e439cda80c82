use std::fs;

use super::*;

fn finding(scope: Scope, place: &Path, leaf: &str) -> PolicyFinding {
    PolicyFinding {
        effect: hermes_core::Effect::path(scope, place),
        real: Some(place.to_owned()),
        leaf: Some(leaf.into()),
        answer: PolicyAnswer::Ask,
        reason: String::new(),
        origin: None,
        hard: false,
        floor: false,
        unit: None,
        protected: None,
    }
}

fn opened(
    findings: Vec<PolicyFinding>,
    arrivals: Vec<Transfer>,
    trees: &[PathBuf],
) -> ApprovedWrites {
    let mut found = ApprovedWrites::for_call(
        &CallExamination { findings, transfers: arrivals, ..CallExamination::default() },
        trees,
    );
    found.frozen.sort();
    found
}

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("deep/inner")).unwrap();
    for name in ["old", "other", "deep/old"] {
        fs::write(dir.path().join(name), "x").unwrap();
    }
    dir
}

#[test]
fn a_file_that_is_there_is_opened_for_itself() {
    let dir = folder();
    let old = dir.path().join("old");
    let found = opened(vec![finding(Scope::FILE_WRITE, &old, "tee old")], Vec::new(), &[]);
    assert_eq!(found, ApprovedWrites { write: vec![old], frozen: Vec::new() });
}

#[test]
fn what_is_new_deleted_or_replaced_leaves_the_others_alone() {
    let dir = folder();
    let at = |name: &str| dir.path().join(name);
    for (finding, beside) in [
        (finding(Scope::FILE_WRITE, &at("new"), "tee new"), vec!["deep", "old", "other"]),
        (finding(Scope::FILE_WRITE, &at("new/a/b"), "mkdir -p"), vec!["deep", "old", "other"]),
        (finding(Scope::FILE_DELETE, &at("old"), "rm old"), vec!["deep", "other"]),
        (finding(Scope::FILE_WRITE, &at("old"), "mv a old"), vec!["deep", "other"]),
        (finding(Scope::FILE_DELETE, &at("deep"), "rm -r deep"), vec!["old", "other"]),
    ] {
        let found = opened(vec![finding], Vec::new(), &[]);
        let beside = beside.into_iter().map(at).collect();
        assert_eq!(found, ApprovedWrites { write: vec![dir.path().to_owned()], frozen: beside });
    }
}

#[test]
fn a_tree_that_is_open_anyway_stays_open() {
    let dir = folder();
    let at = |name: &str| dir.path().join(name);
    let new = finding(Scope::FILE_WRITE, &at("new"), "touch new");
    let found = opened(vec![new], Vec::new(), &[at("deep/inner")]);
    assert_eq!(found.frozen, ["deep/old", "old", "other"].map(at));
    let within = finding(Scope::FILE_WRITE, &at("deep/inner/new"), "touch new");
    assert_eq!(opened(vec![within], Vec::new(), &[at("deep/inner")]), ApprovedWrites::default());
}

#[test]
fn what_is_put_into_a_folder_opens_it_for_that_name() {
    let dir = folder();
    let at = |name: &str| dir.path().join(name);
    let arrival = |source: &str, landing| Transfer {
        source: Some(source.into()),
        target: dir.path().to_owned(),
        target_mode: landing,
    };
    let copied = |arrivals| {
        let copied = finding(Scope::FILE_WRITE, dir.path(), "cp a folder");
        opened(vec![copied], arrivals, &[])
    };
    let found = copied(vec![arrival("/w/old", TargetMode::IntoIfDir)]);
    assert_eq!(found.frozen, ["deep", "other"].map(at));
    // All of it may be meant.
    for arrivals in [
        vec![],
        vec![arrival("/w/*", TargetMode::IntoIfDir)],
        vec![arrival("/w", TargetMode::Replace)],
    ] {
        assert_eq!(copied(arrivals).frozen, Vec::<PathBuf>::new());
    }
}
