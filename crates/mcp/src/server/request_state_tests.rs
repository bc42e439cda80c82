#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn a_seal_counts_once_and_for_its_own_call() {
    let replies = RequestStates::new().unwrap();
    let sealed = replies.seal(b"delete a").unwrap();
    assert_eq!(replies.redeem(&sealed, b"delete b").unwrap_err().code.0, -32602);
    assert!(replies.redeem(&sealed, b"delete a").unwrap());
    assert!(!replies.redeem(&sealed, b"delete a").unwrap(), "a second time");
}

#[test]
fn a_seal_that_was_changed_is_refused() {
    let replies = RequestStates::new().unwrap();
    let sealed = replies.seal(b"x").unwrap();
    for forged in [String::new(), "rs1.a.b".to_owned(), sealed.replace('.', ","), sealed + "A"] {
        assert!(replies.redeem(&forged, b"x").is_err(), "{forged}");
    }
    let outsider = RequestStates::new().unwrap().seal(b"x").unwrap();
    assert!(replies.redeem(&outsider, b"x").is_err());
}
