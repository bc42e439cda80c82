use super::*;

#[test]
fn a_call_that_takes_too_long_is_not_said_to_be_silent() {
    let seconds = Duration::from_secs;
    let timeout = RequestTimeouts { idle: seconds(2), total: seconds(5) };
    assert!(matches!(
        timeout.classify(McpRequestError::IdleTimeout(seconds(5))),
        McpRequestError::TotalTimeout(_)
    ));
    assert!(matches!(
        timeout.classify(McpRequestError::IdleTimeout(seconds(2))),
        McpRequestError::IdleTimeout(_)
    ));
    // With one limit for both it is the silence that counts.
    let timeout = RequestTimeouts { idle: seconds(5), total: seconds(5) };
    assert!(matches!(
        timeout.classify(McpRequestError::IdleTimeout(seconds(5))),
        McpRequestError::IdleTimeout(_)
    ));
}
