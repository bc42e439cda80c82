use super::*;

fn id(number: i64) -> RequestId {
    RequestId::Number(number)
}

fn said(text: &str) -> impl FnOnce() -> Option<String> + use<> {
    let text = text.to_owned();
    move || Some(text)
}

#[test]
fn an_id_is_taken_until_its_request_is_answered() {
    let mut open = Open::default();
    assert!(open.begin(&id(1)));
    assert!(!open.begin(&id(1)));
    assert!(open.begin(&RequestId::String("1".into())));
    assert_eq!(open.answer(&id(1), said("a")), Place::Alone);
    assert!(open.begin(&id(1)));
    assert_eq!(open.give_up(&id(1)), None);
    assert!(!open.is_empty());
    assert_eq!(open.answer(&RequestId::String("1".into()), said("b")), Place::Alone);
    assert!(open.is_empty());
}

#[test]
fn those_that_came_together_are_answered_together() {
    let mut open = Open::default();
    let batch = open.begin_batch();
    assert!(open.begin_in(batch, &id(1)) && open.begin_in(batch, &id(2)));
    assert!(!open.begin_in(batch, &id(2)));
    open.say_in(batch, "0".to_owned());
    assert_eq!(open.finish(batch), None);
    assert_eq!(open.answer(&id(2), said("2")), Place::Kept);
    assert_eq!(open.answer(&id(1), said("1")), Place::Together("[0,2,1]".to_owned()));
    // One that is given up does not hold up the others.
    let batch = open.begin_batch();
    assert!(open.begin_in(batch, &id(1)) && open.begin_in(batch, &id(2)));
    assert_eq!(open.answer(&id(2), said("2")), Place::Kept);
    assert_eq!(open.give_up(&id(1)), Some("[2]".to_owned()));
    // Nothing is said to what asks nothing.
    let batch = open.begin_batch();
    assert_eq!(open.finish(batch), None);
    assert!(open.is_empty());
}
