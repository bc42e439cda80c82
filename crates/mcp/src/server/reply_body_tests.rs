use std::convert::Infallible;

use hyper::Response;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::*;

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(10);
const PRIMING: &str = "id: 0/1\nretry: 3000\ndata: \n\n";
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
const SIGN: &str = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;

fn event(data: &str) -> String {
    format!("id: 1/1\ndata: {data}\n\n")
}

/// A stream of these pieces; it stays open until the token is set.
fn streamed(pieces: &[String], end: &CancellationToken) -> HttpReply {
    let (send, mut receive) = mpsc::unbounded_channel();
    for piece in pieces {
        send.send(Bytes::from(piece.clone())).unwrap();
    }
    let end = end.clone();
    tokio::spawn(async move {
        end.cancelled().await;
        drop(send);
    });
    let frames = stream::poll_fn(move |cx| receive.poll_recv(cx));
    let frames = frames.map(|data| Ok::<_, Infallible>(Frame::data(data)));
    let mut reply = Response::new(BoxBody::new(StreamBody::new(frames)));
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    reply
}

fn kind(reply: &HttpReply) -> &str {
    reply.headers()[CONTENT_TYPE].to_str().unwrap()
}

async fn text(reply: HttpReply) -> String {
    String::from_utf8(reply.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn an_answer_that_is_there_is_sent_in_one_piece() {
    let end = CancellationToken::new();
    let whole = PRIMING.to_owned() + &event(ANSWER);
    let (one, other) = whole.split_at(40);
    for pieces in [
        vec![PRIMING.to_owned(), event(ANSWER)],
        vec![whole.clone()],
        vec![one.to_owned(), other.to_owned()],
        vec![event(ANSWER)],
    ] {
        let settled = inline_if_quick(streamed(&pieces, &end), LONG).await;
        assert_eq!(kind(&settled), "application/json");
        assert_eq!(text(settled).await, ANSWER);
    }
}

#[tokio::test]
async fn what_comes_before_the_answer_comes_before_it() {
    let end = CancellationToken::new();
    let pieces = [PRIMING.to_owned(), event(SIGN), event(ANSWER)];
    let settled = inline_if_quick(streamed(&pieces, &end), LONG).await;
    assert_eq!(kind(&settled), "text/event-stream");
    end.cancel();
    assert_eq!(text(settled).await, pieces.concat());
}

#[tokio::test]
async fn an_answer_that_takes_long_is_a_stream_from_the_start() {
    let end = CancellationToken::new();
    let settled = inline_if_quick(streamed(&[PRIMING.to_owned()], &end), SHORT).await;
    assert_eq!(kind(&settled), "text/event-stream");
    end.cancel();
    assert_eq!(text(settled).await, PRIMING);
    // A stream that ends without a word is passed on as it is.
    assert_eq!(text(inline_if_quick(streamed(&[], &end), LONG).await).await, "");
}

#[tokio::test]
async fn other_replies_are_not_touched() {
    let mut reply = super::super::request::text_reply(hyper::StatusCode::OK, ANSWER);
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    assert_eq!(text(inline_if_quick(reply, LONG).await).await, ANSWER);
}
