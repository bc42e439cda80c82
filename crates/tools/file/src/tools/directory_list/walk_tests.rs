use std::io;

use super::*;

fn denied(path: &str) -> ignore::Error {
    let cause = ignore::Error::Io(io::Error::from(io::ErrorKind::PermissionDenied));
    ignore::Error::WithDepth {
        depth: 1,
        err: Box::new(ignore::Error::WithPath { path: path.into(), err: Box::new(cause) }),
    }
}

#[test]
fn trouble_below_is_told_once_and_relative() {
    let mut survey = Survey::default();
    for path in ["/root/a/secret", "/root/a/secret", "/root/b"] {
        survey.skip(&denied(path), Path::new("/root"));
    }
    survey.skip(&ignore::Error::InvalidDefinition, Path::new("/root"));
    assert_eq!(survey.unreadable, ["a/secret", "b"]);
}

#[test]
fn no_more_names_than_anyone_reads() {
    let mut survey = Survey::default();
    for number in 0..100 {
        survey.skip(&denied(&format!("/root/{number}")), Path::new("/root"));
    }
    assert_eq!(survey.unreadable.len(), UNREADABLE);
}
