use std::io::Error;

use super::*;

#[test]
fn exhausted_resources_are_a_limit_and_not_a_bug() {
    for code in [11, 12, 23, 24] {
        let error = ToolError::io("Cannot start it", &Error::from_raw_os_error(code));
        assert_eq!(error.kind(), ErrorKind::Limit, "{code}");
        assert!(error.hint().contains("ulimit"), "{}", error.hint());
    }
    assert_eq!(ToolError::io("x", &Error::from_raw_os_error(5)).kind(), ErrorKind::Internal);
}
