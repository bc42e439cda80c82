use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use hermes_net::{DnsStub, NameTable};
use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, RecordType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;

struct TestStub {
    names: Arc<NameTable>,
    udp: SocketAddr,
    tcp: SocketAddr,
    _tasks: JoinSet<()>,
}

async fn start() -> TestStub {
    let names = Arc::new(NameTable::new());
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (udp, tcp) = (socket.local_addr().unwrap(), listener.local_addr().unwrap());
    let stub = DnsStub::new(Arc::clone(&names));
    let mut tasks = JoinSet::new();
    let other = stub.clone();
    tasks.spawn(async move { stub.serve_udp(socket).await });
    tasks.spawn(async move { other.serve_tcp(listener).await });
    TestStub { names, udp, tcp, _tasks: tasks }
}

fn query(name: &str, kind: RecordType) -> Vec<u8> {
    let mut message = Message::new(4711, MessageType::Query, OpCode::Query);
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
    message.to_vec().unwrap()
}

fn first_address(answer: &Message) -> Ipv4Addr {
    assert_eq!(answer.metadata.id, 4711);
    let RData::A(address) = &answer.answers[0].data else { panic!("{answer:?}") };
    address.0
}

impl TestStub {
    async fn ask_udp(&self, query: &[u8]) -> Message {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.send_to(query, self.udp).await.unwrap();
        let mut answer = [0; 512];
        let (length, _) = socket.recv_from(&mut answer).await.unwrap();
        Message::from_vec(&answer[..length]).unwrap()
    }
}

async fn ask_tcp(stream: &mut TcpStream, query: &[u8]) -> Message {
    stream.write_u16(u16::try_from(query.len()).unwrap()).await.unwrap();
    stream.write_all(query).await.unwrap();
    let mut answer = vec![0; usize::from(stream.read_u16().await.unwrap())];
    stream.read_exact(&mut answer).await.unwrap();
    Message::from_vec(&answer).unwrap()
}

#[tokio::test]
async fn names_and_addresses_are_answered_over_udp_and_tcp() {
    let stub = start().await;
    let answer = stub.ask_udp(&query("example.com.", RecordType::A)).await;
    let address = first_address(&answer);
    assert_eq!(stub.names.name(address.into()).as_deref(), Some("example.com"));

    let mut stream = TcpStream::connect(stub.tcp).await.unwrap();
    let answer = ask_tcp(&mut stream, &query("example.com.", RecordType::A)).await;
    assert_eq!(first_address(&answer), address);
    let reverse = Name::from(address).to_ascii();
    let answer = ask_tcp(&mut stream, &query(&reverse, RecordType::PTR)).await;
    let RData::PTR(name) = &answer.answers[0].data else { panic!("{answer:?}") };
    assert_eq!(name.0.to_ascii(), "example.com.");
    let answer = stub.ask_udp(&query("example.com.", RecordType::AAAA)).await;
    assert_eq!(answer.metadata.response_code, ResponseCode::NoError);
    assert!(answer.answers.is_empty());
}

#[tokio::test]
async fn garbage_does_not_stop_the_stub() {
    let stub = start().await;
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for garbage in [&[][..], &[0], &[0xff; 600], &[0; 5000]] {
        socket.send_to(garbage, stub.udp).await.unwrap();
    }
    let mut garbled = TcpStream::connect(stub.tcp).await.unwrap();
    garbled.write_all(&[0, 5, 1, 2, 3, 4, 5]).await.unwrap();
    assert_eq!(garbled.read(&mut [0]).await.unwrap(), 0);

    let answer = stub.ask_udp(&query("localhost.", RecordType::A)).await;
    assert_eq!(first_address(&answer), Ipv4Addr::LOCALHOST);
    let mut stream = TcpStream::connect(stub.tcp).await.unwrap();
    let answer = ask_tcp(&mut stream, &query("localhost.", RecordType::A)).await;
    assert_eq!(first_address(&answer), Ipv4Addr::LOCALHOST);
}
