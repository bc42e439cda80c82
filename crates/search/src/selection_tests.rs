#![allow(clippy::unwrap_used)]

use super::*;

fn filter(selection: Selection) -> Result<Filter, SearchError> {
    Filter::new(&selection, Path::new("/root"))
}

fn owned(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn globs_take_in_and_leave_out() {
    let globs = owned(&["*.{rs,toml}", "!target/**"]);
    let filter = filter(Selection { globs, ..Selection::default() }).unwrap();
    let by_glob = |path: &str| filter.by_glob(&Path::new("/root").join(path), false);
    assert_eq!(by_glob("a/b.rs"), Some(true));
    assert_eq!(by_glob("a/b.py"), Some(false));
    assert_eq!(by_glob("target/x/b.rs"), Some(false));
    assert_eq!(filter.by_glob(Path::new("/root/a"), true), None);
}

#[test]
fn types_have_their_usual_names() {
    for (name, path) in [("rust", "a.rs"), ("rs", "a.rs"), ("py", "a.py"), ("golang", "a.go")] {
        let filter = filter(Selection { types: owned(&[name]), ..Selection::default() }).unwrap();
        assert_eq!(filter.by_type(Path::new(path), false), Some(true), "{name}");
        assert_eq!(filter.by_type(Path::new("a.unknown"), false), Some(false), "{name}");
    }
    let not = filter(Selection { types: owned(&["!rust"]), ..Selection::default() }).unwrap();
    assert_eq!(not.by_type(Path::new("a.rs"), false), Some(false));
}

#[test]
fn what_is_not_known_is_told() {
    let error = filter(Selection { types: owned(&["pyton"]), ..Selection::default() }).unwrap_err();
    let told = hermes_core::ToolError::from(error);
    assert!(told.message().contains("pyton") && told.hint().contains("python"), "{told:?}");
    let error = filter(Selection { globs: owned(&["a[", "b"]), ..Selection::default() });
    assert!(matches!(error, Err(SearchError::Glob { glob, .. }) if glob == "a["));
}
