use super::*;

fn choice(include: &[&str], exclude: &[&str]) -> GlobFilter {
    let owned = |globs: &[&str]| globs.iter().map(|&glob| glob.to_owned()).collect::<Vec<_>>();
    GlobFilter::new(&owned(include), &owned(exclude)).expect("globs")
}

#[test]
fn nothing_asked_means_everything() {
    assert!(GlobFilter::all().includes(Path::new("a/b")));
    assert!(choice(&[], &[]).includes_all());
}

#[test]
fn globs_match_names_or_paths_and_folders_stand_for_their_content() {
    let some = choice(&["*.rs", "docs/", "a/b"], &["secret*", "docs/draft"]);
    for path in ["x.rs", "deep/er/x.rs", "docs/a.md", "a/b/c"] {
        assert!(some.includes(Path::new(path)), "{path}");
    }
    for path in ["x.txt", "a/c", "secret.rs", "secrets/x.rs", "docs/draft/a.md"] {
        assert!(!some.includes(Path::new(path)), "{path}");
    }
}

#[test]
fn a_broken_glob_is_named() {
    let error = GlobFilter::new(&["a[".to_owned()], &[]).expect_err("not a glob");
    assert!(error.message().contains("a["), "{error}");
}
