use super::*;

#[test]
fn a_call_that_takes_too_long_is_not_said_to_be_silent() {
    let seconds = Duration::from_secs;
    let patience = Patience { idle: seconds(2), total: seconds(5) };
    assert!(matches!(patience.judge(Fault::Late(seconds(5))), Fault::Long(_)));
    assert!(matches!(patience.judge(Fault::Late(seconds(2))), Fault::Late(_)));
    // With one limit for both it is the silence that counts.
    let patience = Patience { idle: seconds(5), total: seconds(5) };
    assert!(matches!(patience.judge(Fault::Late(seconds(5))), Fault::Late(_)));
}
