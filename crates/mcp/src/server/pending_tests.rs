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
    let mut open = PendingReplies::default();
    assert!(open.add(&id(1)));
    assert!(!open.add(&id(1)));
    assert!(open.add(&RequestId::String("1".into())));
    assert_eq!(open.complete(&id(1), said("a")), ReplyRoute::Immediate);
    assert!(open.add(&id(1)));
    assert_eq!(open.cancel(&id(1)), None);
    assert!(!open.is_empty());
    assert_eq!(open.complete(&RequestId::String("1".into()), said("b")), ReplyRoute::Immediate);
    assert!(open.is_empty());
}

#[test]
fn those_that_came_together_are_answered_together() {
    let mut open = PendingReplies::default();
    let batch = open.begin_batch();
    assert!(open.add_to_batch(batch, &id(1)) && open.add_to_batch(batch, &id(2)));
    assert!(!open.add_to_batch(batch, &id(2)));
    open.add_reply(batch, "0".to_owned());
    assert_eq!(open.take_if_complete(batch), None);
    assert_eq!(open.complete(&id(2), said("2")), ReplyRoute::Held);
    assert_eq!(open.complete(&id(1), said("1")), ReplyRoute::BatchComplete("[0,2,1]".to_owned()));
    // One that is given up does not hold up the others.
    let batch = open.begin_batch();
    assert!(open.add_to_batch(batch, &id(1)) && open.add_to_batch(batch, &id(2)));
    assert_eq!(open.complete(&id(2), said("2")), ReplyRoute::Held);
    assert_eq!(open.cancel(&id(1)), Some("[2]".to_owned()));
    // Nothing is said to what asks nothing.
    let batch = open.begin_batch();
    assert_eq!(open.take_if_complete(batch), None);
    assert!(open.is_empty());
}
