use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use super::*;
use crate::breakpoints::BreakpointTable;

const LONG: Duration = Duration::from_secs(20);

/// The other end of a connection.
struct Other {
    from: UnixStream,
    to: UnixStream,
    decoder: MessageDecoder,
}

impl Other {
    fn hear(&mut self) -> Value {
        let mut buffer = [0; 1024];
        loop {
            if let Some(message) = self.decoder.next().expect("a good stream") {
                return message;
            }
            let read = self.from.read(&mut buffer).expect("a message");
            assert!(read > 0, "it has hung up");
            self.decoder.feed(&buffer[..read]);
        }
    }

    fn say(&mut self, message: &Value) {
        self.to.write_all(&encode(message)).expect("a reader");
    }
}

fn pair() -> (Arc<DapClient>, Arc<SharedDebugState>, Other) {
    let (input, from) = UnixStream::pair().expect("a pair");
    let (to, output) = UnixStream::pair().expect("a pair");
    let shared = Arc::new(SharedDebugState::new(BreakpointTable::default()));
    let input = AdapterPipe::new(input.into()).expect("a stream");
    let output = AdapterPipe::new(output.into()).expect("a stream");
    let client = DapClient::new(input, vec![(OutputStream::Stdout, output)], Arc::clone(&shared));
    (client, shared, Other { from, to, decoder: MessageDecoder::default() })
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_find_their_questions_in_any_order() {
    let (client, _, mut other) = pair();
    let thread = std::thread::spawn(move || {
        let asked = [other.hear(), other.hear()];
        for one in asked.iter().rev() {
            let is_well = one["command"] == "good";
            let body = json!({ "said": one["arguments"] });
            other.say(&json!({
                "type": "response", "request_seq": one["seq"], "success": is_well,
                "body": body, "message": "no such thing",
            }));
        }
        other
    });
    let (good, bad) = tokio::join!(
        client.request("good", json!({ "n": 1 }), LONG),
        client.request("bad", json!({ "n": 2 }), LONG),
    );
    assert_eq!(good.expect("an answer"), json!({ "said": { "n": 1 } }));
    assert!(matches!(bad, Err(DapError::Refused(reason)) if reason == "no such thing"));
    drop(thread.join());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_the_adapter_is_answered() {
    let (_client, _, mut other) = pair();
    let thread = std::thread::spawn(move || {
        let request = json!({ "type": "request", "seq": 9, "command": "runInTerminal" });
        other.say(&request);
        other.hear()
    });
    let reply = tokio::task::spawn_blocking(move || thread.join().expect("a reply")).await;
    let reply = reply.expect("a reply");
    assert_eq!((&reply["type"], &reply["request_seq"]), (&json!("response"), &json!(9)));
    assert_eq!((&reply["command"], &reply["success"]), (&json!("runInTerminal"), &json!(false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_and_hanging_up_are_told_apart() {
    let (client, shared, other) = pair();
    let silent = client.request("threads", json!({}), Duration::from_millis(50)).await;
    assert!(matches!(silent, Err(DapError::TimedOut)), "{silent:?}");
    let waiting = client.send_request("threads", json!({})).await.expect("it is sent");
    drop(other);
    assert!(waiting.await.is_err(), "nobody will answer");
    shared.wait_until(|state| state.is_disconnected.then_some(())).await;
    let gone = client.request("threads", json!({}), LONG).await;
    assert!(matches!(gone, Err(DapError::Disconnected)), "{gone:?}");
    assert_eq!(shared.lock().phase, DebuggeePhase::Ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_does_not_speak_the_protocol_is_left() {
    let (_client, shared, mut other) = pair();
    other.to.write_all(&[b'x'; 10_000]).expect("a reader");
    shared.wait_until(|state| state.is_disconnected.then_some(())).await;
    assert!(
        shared.lock().adapter_stderr().contains("not a Debug Adapter Protocol message"),
        "{:?}",
        shared.lock()
    );
}
