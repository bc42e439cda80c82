use hermes::core::{Decision, Lasting};

use super::meant;

#[test]
fn only_a_whole_line_agrees() {
    let once = Some(Decision::Approved(Lasting::Once));
    for (line, want) in [
        ("o\n", once.clone()),
        (" Yes \n", once),
        ("s", Some(Decision::Approved(Lasting::Session))),
        ("always", Some(Decision::Approved(Lasting::Always))),
        ("", Some(Decision::Refused(None))),
        ("n", Some(Decision::Refused(None))),
        ("no, use git rm", Some(Decision::Refused(Some("The user refused: use git rm".into())))),
        ("yes, but not there", None),
        ("once I have looked", None),
        ("always ask me", None),
        ("session is over", None),
        ("stop", None),
        ("nothing", None),
    ] {
        assert_eq!(meant(line, true, true), want, "{line:?}");
    }
    assert_eq!(meant("s", false, true), None);
    assert_eq!(meant("a", true, false), None);
}
