use super::*;

#[test]
fn trouble_below_is_told_once() {
    let mut survey = WalkResult::new(1);
    for path in ["a/secret", "a/secret", "b"] {
        survey.add_unreadable(Path::new(path));
    }
    assert_eq!(survey.unreadable, ["a/secret", "b"].map(PathBuf::from));
}

#[test]
fn no_more_names_than_anyone_reads() {
    let mut survey = WalkResult::new(1);
    for number in 0..100 {
        survey.add_unreadable(Path::new(&number.to_string()));
    }
    assert_eq!(survey.unreadable.len(), MAX_UNREADABLE_NAMES);
}
