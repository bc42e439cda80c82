use super::*;

fn choice(include: &[&str], exclude: &[&str]) -> Choice {
    let owned = |globs: &[&str]| globs.iter().map(|&glob| glob.to_owned()).collect::<Vec<_>>();
    Choice::new(&owned(include), &owned(exclude)).expect("globs")
}

#[test]
fn nothing_asked_means_everything() {
    assert!(Choice::all().takes(Path::new("a/b")));
    assert!(choice(&[], &[]).is_open());
}

#[test]
fn globs_match_names_or_paths_and_folders_stand_for_their_content() {
    let some = choice(&["*.rs", "docs/", "a/b"], &["secret*", "docs/draft"]);
    for path in ["x.rs", "deep/er/x.rs", "docs/a.md", "a/b/c"] {
        assert!(some.takes(Path::new(path)), "{path}");
    }
    for path in ["x.txt", "a/c", "secret.rs", "secrets/x.rs", "docs/draft/a.md"] {
        assert!(!some.takes(Path::new(path)), "{path}");
    }
}

#[test]
fn a_broken_glob_is_named() {
    let error = Choice::new(&["a[".to_owned()], &[]).expect_err("not a glob");
    assert!(error.message().contains("a["), "{error}");
}
