use hermes_core::ErrorKind;

use super::*;

#[test]
fn programs_that_are_being_started_have_their_places() {
    let sessions = DebugSessions::default();
    let place = |name| sessions.reserve("me", name);
    let mut places: Vec<SessionReservation> =
        (1..MAX_RUNNING_SESSIONS).map(|_| place(None).unwrap()).collect();
    places.push(place(Some("mine")).unwrap());
    assert_eq!(places[0].name, "debug_1");
    let full = place(None).unwrap_err();
    assert_eq!(full.kind(), ErrorKind::Limit);
    assert!(full.message().contains("mine"), "{full:?}");
    assert!(sessions.reserve("another", Some("mine")).is_ok());
    // One that did not come to be gives it back.
    places.remove(0);
    assert_eq!(place(Some("mine")).unwrap_err().kind(), ErrorKind::Conflict);
    assert!(place(None).is_ok());
}
