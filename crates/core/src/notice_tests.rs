use super::{MAX_QUEUED_NOTICES, NoticeQueue, NoticeSink, ProcessEvent, ProcessNotice};

fn ended(id: &str) -> ProcessNotice {
    let event = ProcessEvent::Completed { reason: "exited", exit_code: 0, output: String::new() };
    ProcessNotice { session_id: id.to_owned(), command: "true".to_owned(), event }
}

fn matched(id: &str) -> ProcessNotice {
    let event =
        ProcessEvent::Matched { patterns: vec!["x".into()], lines: Vec::new(), suppressed: 0 };
    ProcessNotice { event, ..ended(id) }
}

#[test]
fn each_session_has_its_own() {
    let queue = NoticeQueue::new();
    assert!(!queue.has_listener("a"));
    queue.set_listening();
    assert!(queue.has_listener("a"));
    queue.notify("a", matched("1"));
    queue.notify("a", ended("1"));
    queue.notify("b", ended("2"));
    assert_eq!(queue.drain("a", 1), [matched("1")]);
    assert_eq!(queue.drain("a", 9), [ended("1")]);
    assert!(queue.drain("a", 9).is_empty());
    assert_eq!(queue.drain("b", 9), [ended("2")]);
}

#[test]
fn an_end_that_is_known_is_not_told() {
    let queue = NoticeQueue::new();
    queue.notify("a", matched("1"));
    queue.notify("a", ended("1"));
    queue.notify("a", ended("2"));
    queue.withdraw_completion("b", "1");
    queue.withdraw_completion("a", "1");
    assert_eq!(queue.drain("a", 9), [matched("1"), ended("2")]);
}

#[test]
fn the_oldest_go_when_nobody_looks() {
    let queue = NoticeQueue::new();
    for at in 0..=MAX_QUEUED_NOTICES {
        queue.notify("a", ended(&at.to_string()));
    }
    let all = queue.drain("a", usize::MAX);
    assert_eq!((all.len(), all[0].session_id.as_str()), (MAX_QUEUED_NOTICES, "1"));
}
