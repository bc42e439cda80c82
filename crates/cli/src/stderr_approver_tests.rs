use hermes::core::{ApprovalDecision, ApprovalScope};

use super::parse_decision;

#[test]
fn only_a_whole_line_agrees() {
    let once = Some(ApprovalDecision::Approved(ApprovalScope::Once));
    for (line, want) in [
        ("o\n", once.clone()),
        (" Yes \n", once),
        ("s", Some(ApprovalDecision::Approved(ApprovalScope::Session))),
        ("always", Some(ApprovalDecision::Approved(ApprovalScope::Always))),
        ("", Some(ApprovalDecision::Refused(None))),
        ("n", Some(ApprovalDecision::Refused(None))),
        (
            "no, use git rm",
            Some(ApprovalDecision::Refused(Some("The user refused: use git rm".into()))),
        ),
        ("yes, but not there", None),
        ("once I have looked", None),
        ("always ask me", None),
        ("session is over", None),
        ("stop", None),
        ("nothing", None),
    ] {
        assert_eq!(parse_decision(line, true, true), want, "{line:?}");
    }
    assert_eq!(parse_decision("s", false, true), None);
    assert_eq!(parse_decision("a", true, false), None);
}
