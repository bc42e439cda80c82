use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{ByteMeter, relay};

const LONG: Duration = Duration::from_secs(60);

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let connecting = TcpStream::connect(listener.local_addr().unwrap());
    let (connected, accepted) = tokio::join!(connecting, listener.accept());
    (connected.unwrap(), accepted.unwrap().0)
}

#[tokio::test]
async fn a_half_closed_connection_still_carries_the_answer() {
    let (mut client, mut inner) = pair().await;
    let (destination, mut server) = pair().await;
    let meter = ByteMeter::default();
    let relaying = relay(&mut inner, b"early ", destination, &meter, LONG);
    let talking = async {
        client.write_all(b"question").await.unwrap();
        client.shutdown().await.unwrap();
        let mut question = String::new();
        server.read_to_string(&mut question).await.unwrap();
        assert_eq!(question, "early question");
        server.write_all(b"answer").await.unwrap();
        drop(server);
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "answer");
    };
    let (relayed, ()) = tokio::join!(relaying, talking);
    relayed.unwrap();
    assert_eq!((meter.sent(), meter.received()), (14, 6));
}

#[tokio::test]
async fn a_half_closed_connection_that_is_silent_ends() {
    let (client, mut inner) = pair().await;
    let (destination, _server) = pair().await;
    drop(client);
    let meter = ByteMeter::default();
    let limit = Duration::from_millis(20);
    let error = relay(&mut inner, &[], destination, &meter, limit).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
}

#[tokio::test]
async fn an_open_connection_may_be_silent() {
    let meter = ByteMeter::default();
    let limit = Duration::from_millis(1);
    tokio::select! {
        biased;
        error = meter.stalled(limit) => panic!("{error}"),
        () = async { for _ in 0..50 { tokio::time::sleep(limit).await } } => {}
    }
}

#[tokio::test]
async fn what_passed_before_a_reset_is_counted() {
    let (mut client, mut inner) = pair().await;
    let (destination, mut server) = pair().await;
    let meter = ByteMeter::default();
    let relaying = relay(&mut inner, &[], destination, &meter, LONG);
    let talking = async {
        client.write_all(b"12345").await.unwrap();
        let mut bytes = [0; 5];
        server.read_exact(&mut bytes).await.unwrap();
        server.set_zero_linger().unwrap();
        drop(server);
    };
    let (relayed, ()) = tokio::join!(relaying, talking);
    assert_eq!(relayed.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    assert_eq!((meter.sent(), meter.received()), (5, 0));
}
