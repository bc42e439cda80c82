#![allow(clippy::unwrap_used)]

use super::*;

fn filter(selection: FileSelection) -> Result<PathFilter, SearchError> {
    PathFilter::new(&selection, Path::new("/root"))
}

fn owned(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn globs_take_in_and_leave_out() {
    let globs = owned(&["*.{rs,toml}", "!target/**"]);
    let filter = filter(FileSelection { globs, ..FileSelection::default() }).unwrap();
    let by_glob = |path: &str| filter.glob_verdict(&Path::new("/root").join(path), false);
    assert_eq!(by_glob("a/b.rs"), Some(true));
    assert_eq!(by_glob("a/b.py"), Some(false));
    assert_eq!(by_glob("target/x/b.rs"), Some(false));
    assert_eq!(filter.glob_verdict(Path::new("/root/a"), true), None);
}

#[test]
fn types_have_their_usual_names() {
    for (name, path) in [("rust", "a.rs"), ("rs", "a.rs"), ("py", "a.py"), ("golang", "a.go")] {
        let filter =
            filter(FileSelection { types: owned(&[name]), ..FileSelection::default() }).unwrap();
        assert_eq!(filter.type_verdict(Path::new(path), false), Some(true), "{name}");
        assert_eq!(filter.type_verdict(Path::new("a.unknown"), false), Some(false), "{name}");
    }
    let not =
        filter(FileSelection { types: owned(&["!rust"]), ..FileSelection::default() }).unwrap();
    assert_eq!(not.type_verdict(Path::new("a.rs"), false), Some(false));
}

#[test]
fn what_is_not_known_is_told() {
    let error =
        filter(FileSelection { types: owned(&["pyton"]), ..FileSelection::default() }).unwrap_err();
    let shown = hermes_core::ToolError::from(error);
    assert!(shown.message().contains("pyton") && shown.hint().contains("python"), "{shown:?}");
    let error = filter(FileSelection { globs: owned(&["a[", "b"]), ..FileSelection::default() });
    assert!(matches!(error, Err(SearchError::Glob { glob, .. }) if glob == "a["));
}
