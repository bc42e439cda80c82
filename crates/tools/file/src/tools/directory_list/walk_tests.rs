use super::*;

#[test]
fn trouble_below_is_told_once() {
    let mut survey = Survey::new(1);
    for path in ["a/secret", "a/secret", "b"] {
        survey.skip(Path::new(path));
    }
    assert_eq!(survey.unreadable, ["a/secret", "b"].map(PathBuf::from));
}

#[test]
fn no_more_names_than_anyone_reads() {
    let mut survey = Survey::new(1);
    for number in 0..100 {
        survey.skip(Path::new(&number.to_string()));
    }
    assert_eq!(survey.unreadable.len(), UNREADABLE);
}
