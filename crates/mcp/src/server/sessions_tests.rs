use rmcp::model::{ErrorCode, ServerResult};
use serde_json::json;

use super::*;

fn client(message: serde_json::Value) -> ClientJsonRpcMessage {
    serde_json::from_value(message).unwrap()
}

fn call(id: u64) -> ClientJsonRpcMessage {
    client(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                  "params": {"name": "x", "arguments": {}, "_meta": {"progressToken": "p"}}}))
}

fn answer(id: i64) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::response(ServerResult::empty(()), RequestId::Number(id))
}

fn progress() -> ServerJsonRpcMessage {
    serde_json::from_value(json!({"jsonrpc": "2.0", "method": "notifications/progress",
                                  "params": {"progressToken": "p", "progress": 1}}))
    .unwrap()
}

async fn begun() -> (ResumableSessions, SessionId, RecordingTransport) {
    let sessions = ResumableSessions::new(Duration::from_secs(60), 8);
    let (id, mut transport) = sessions.create_session().await.unwrap();
    let hello = client(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "x", "version": "0"}}}));
    let greet = async {
        transport.receive().await.unwrap();
        transport.send(answer(0)).await.unwrap();
    };
    let (greeted, ()) = tokio::join!(sessions.initialize_session(&id, hello), greet);
    greeted.unwrap();
    (sessions, id, transport)
}

/// The next message of a stream, past what only says where it begins.
async fn next(events: &mut (impl Stream<Item = ServerSseMessage> + Unpin)) -> ServerSseMessage {
    loop {
        let event = events.next().await.expect("another event");
        if event.message.is_some() {
            return event;
        }
    }
}

#[tokio::test]
async fn a_request_of_an_id_that_is_not_answered_yet_is_refused_and_the_first_is_answered() {
    let (sessions, id, mut transport) = begun().await;
    let mut first = Box::pin(sessions.create_stream(&id, call(32)).await.unwrap());
    let mut second = Box::pin(sessions.create_stream(&id, call(32)).await.unwrap());
    let refused = next(&mut second).await.message.unwrap();
    let ServerJsonRpcMessage::Error(refused) = &*refused else { panic!("{refused:?}") };
    assert_eq!(refused.error.code, ErrorCode::INVALID_REQUEST);
    assert!(second.next().await.is_none());
    transport.receive().await.unwrap();
    transport.send(answer(32)).await.unwrap();
    assert!(response_id(next(&mut first).await.message.as_ref().unwrap()).is_some());
    // Now it is free again, also for one that is given up.
    let _third = sessions.create_stream(&id, call(32)).await.unwrap();
    let given_up = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                          "params": {"requestId": 32}});
    sessions.accept_message(&id, client(given_up)).await.unwrap();
    assert!(sessions.session_requests(&id).unwrap().open.lock().is_empty());
}

#[tokio::test]
async fn an_answer_that_was_given_while_its_client_was_away_is_there_when_it_comes_back() {
    let (sessions, id, mut transport) = begun().await;
    let mut events = Box::pin(sessions.create_stream(&id, call(7)).await.unwrap());
    transport.receive().await.unwrap();
    transport.send(progress()).await.unwrap();
    let last = next(&mut events).await.event_id.unwrap();
    drop(events);
    transport.send(answer(7)).await.unwrap();
    for _ in 0..2 {
        let mut rest = Box::pin(sessions.resume(&id, last.clone()).await.unwrap());
        let event = next(&mut rest).await;
        assert_eq!(response_id(event.message.as_ref().unwrap()), Some(&RequestId::Number(7)));
        assert!(event.event_id.is_some_and(|event| event != last));
        assert!(rest.next().await.is_none());
    }
    // Another session has no part in it.
    let (other, _transport) = sessions.create_session().await.unwrap();
    let mine = parse_event_id(&last).unwrap().1;
    assert!(sessions.replies.lock().find(&other, mine).is_none());
    sessions.close_session(&id).await.unwrap();
    assert_eq!(sessions.replies.lock().size, 0);
}

#[test]
fn what_waits_is_bounded() {
    let mut shelf = ReplyCache::default();
    let session: SessionId = "s".into();
    for number in 0..100 {
        shelf.insert(&session, &number.to_string(), &answer(number));
    }
    assert_eq!(shelf.kept.len(), MAX_CACHED_REPLIES);
    assert!(shelf.find(&session, "0").is_none() && shelf.find(&session, "99").is_some());
    let large: ServerJsonRpcMessage = serde_json::from_value(json!({"jsonrpc": "2.0", "id": 1,
        "error": {"code": 1, "message": "x".repeat(MAX_CACHED_BYTES)}}))
    .unwrap();
    shelf.insert(&session, "large", &large);
    assert!(shelf.find(&session, "large").is_none() && shelf.find(&session, "99").is_some());
}

#[tokio::test]
async fn a_new_session_replaces_the_one_that_is_idle_for_longest() {
    let sessions = ResumableSessions::new(Duration::from_secs(60), 3);
    let mut transports = Vec::new();
    let mut ids = Vec::new();
    for _ in 0..3 {
        let (id, transport) = sessions.create_session().await.unwrap();
        ids.push(id);
        transports.push(transport);
    }
    // The first has a pending request, and the second was used after the third.
    assert!(
        sessions
            .session_requests(&ids[0])
            .unwrap()
            .add(&RequestId::Number(1), &Arc::new(OpenRequest::new()))
    );
    sessions.session_requests(&ids[1]).unwrap();
    let (fourth, _transport) = sessions.create_session().await.unwrap();
    let mut known = Vec::new();
    for id in ids.iter().chain([&fourth]) {
        known.push(sessions.has_session(id).await.unwrap());
    }
    assert_eq!(known, [true, true, false, true]);
    assert_eq!(sessions.requests.lock().len(), 3);
    assert_eq!(sessions.local.sessions.read().await.len(), 3);
}

#[tokio::test]
async fn sessions_in_use_are_not_replaced() {
    let sessions = ResumableSessions::new(Duration::from_secs(60), 1);
    let (first, _transport) = sessions.create_session().await.unwrap();
    let in_use = Arc::clone(&sessions.session_requests(&first).unwrap().streams);
    let refused = sessions.create_session().await.err().unwrap();
    assert!(matches!(refused, HttpSessionError::Full(1)), "{refused}");
    assert!(sessions.has_session(&first).await.unwrap());
    assert_eq!(sessions.local.sessions.read().await.len(), 1, "the refused one is closed");
    drop(in_use);
    let (second, _transport) = sessions.create_session().await.unwrap();
    assert!(!sessions.has_session(&first).await.unwrap());
    assert!(sessions.has_session(&second).await.unwrap());
}
