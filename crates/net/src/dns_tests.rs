use std::net::Ipv4Addr;
use std::str::FromStr;
use std::sync::Arc;

use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{DNSClass, Name, RData, RecordType};
use proptest::prelude::*;

use super::{ANSWER_TTL_SECONDS, DnsStub};
use crate::names::NameTable;

fn stub() -> DnsStub {
    DnsStub::new(Arc::new(NameTable::new()))
}

/// A name of any bytes; `|` stands for a dot inside a label.
fn parse_name(text: &str) -> Name {
    let labels = text.split('.').filter(|label| !label.is_empty());
    Name::from_labels(labels.map(|label| label.replace('|', ".").into_bytes())).unwrap()
}

fn query(name: &str, kind: RecordType) -> Message {
    let mut message = Message::new(77, MessageType::Query, OpCode::Query);
    message.add_query(Query::query(parse_name(name), kind));
    message
}

fn answered(stub: &DnsStub, message: &Message) -> Message {
    let answer = stub.answer(&message.to_vec().unwrap()).unwrap();
    let answer = Message::from_vec(&answer).unwrap();
    assert_eq!(answer.metadata.id, 77);
    assert_eq!(answer.metadata.message_type, MessageType::Response);
    answer
}

fn address(stub: &DnsStub, name: &str) -> Ipv4Addr {
    let answer = answered(stub, &query(name, RecordType::A));
    let [record] = answer.answers.as_slice() else { panic!("{answer:?}") };
    assert_eq!(record.ttl, ANSWER_TTL_SECONDS);
    let RData::A(address) = &record.data else { panic!("{record:?}") };
    address.0
}

fn code(stub: &DnsStub, message: &Message) -> ResponseCode {
    answered(stub, message).metadata.response_code
}

#[test]
fn a_name_has_one_address_in_any_case() {
    let stub = stub();
    let first = address(&stub, "example.com.");
    assert_eq!(address(&stub, "eXample.COM."), first);
    assert_ne!(address(&stub, "www.example.com."), first);
    assert_eq!(stub.names.name(first.into()).as_deref(), Some("example.com"));
}

#[test]
fn an_address_has_its_name() {
    let stub = stub();
    let reverse = Name::from(address(&stub, "example.com."));
    let answer = answered(&stub, &query(&reverse.to_ascii(), RecordType::PTR));
    let [record] = answer.answers.as_slice() else { panic!("{answer:?}") };
    let RData::PTR(name) = &record.data else { panic!("{record:?}") };
    assert_eq!(name.0, Name::from_str("example.com.").unwrap());
}

#[test]
fn addresses_without_a_name_do_not_exist() {
    let stub = stub();
    for name in ["9.9.18.198.in-addr.arpa.", "8.8.8.8.in-addr.arpa.", "8.8.in-addr.arpa.", "x."] {
        let code = code(&stub, &query(name, RecordType::PTR));
        assert_eq!(code, ResponseCode::NXDomain, "{name}");
    }
}

#[test]
fn localhost_is_loopback() {
    let stub = stub();
    for name in ["localhost.", "api.LOCALHOST."] {
        assert_eq!(address(&stub, name), Ipv4Addr::LOCALHOST, "{name}");
    }
    assert_ne!(address(&stub, "notlocalhost."), Ipv4Addr::LOCALHOST);
    assert_ne!(address(&stub, "localhost.example.com."), Ipv4Addr::LOCALHOST);
}

#[test]
fn other_types_have_no_answer_and_take_no_place() {
    let stub = stub();
    for kind in [
        RecordType::AAAA,
        RecordType::HTTPS,
        RecordType::SVCB,
        RecordType::MX,
        RecordType::TXT,
        RecordType::Unknown(4711),
    ] {
        let answer = answered(&stub, &query("example.com.", kind));
        assert_eq!(answer.metadata.response_code, ResponseCode::NoError, "{kind}");
        assert!(answer.answers.is_empty(), "{kind}");
        assert_eq!(answer.queries.len(), 1);
    }
    assert_eq!(address(&stub, "other.example."), Ipv4Addr::new(198, 18, 0, 1));
}

#[test]
fn what_is_no_host_name_does_not_exist() {
    let stub = stub();
    for name in ["exa mple.com.", "a@b.com.", "ä.com.", "\0.com.", "a|b.com.", "10.0.0.1.", "."] {
        let code = code(&stub, &query(name, RecordType::A));
        assert_eq!(code, ResponseCode::NXDomain, "{name}");
    }
}

#[test]
fn a_query_with_edns_is_answered_with_edns() {
    let mut message = query("example.com.", RecordType::A);
    message.set_edns(Edns::new());
    assert!(answered(&stub(), &message).edns.is_some());
    assert!(answered(&stub(), &query("example.com.", RecordType::A)).edns.is_none());
}

#[test]
fn what_is_not_one_query_is_an_error() {
    let stub = stub();
    let none = Message::new(77, MessageType::Query, OpCode::Query);
    assert_eq!(code(&stub, &none), ResponseCode::FormErr);
    let mut two = query("a.example.", RecordType::A);
    two.add_query(Query::query(parse_name("b.example."), RecordType::A));
    assert_eq!(code(&stub, &two), ResponseCode::FormErr);
    let status = Message::new(77, MessageType::Query, OpCode::Status);
    assert_eq!(code(&stub, &status), ResponseCode::NotImp);
    let mut chaos = query("version.bind.", RecordType::TXT);
    chaos.queries[0].set_query_class(DNSClass::CH);
    assert_eq!(code(&stub, &chaos), ResponseCode::Refused);
}

#[test]
fn malformed_queries_are_answered_and_other_messages_are_not() {
    let stub = stub();
    let mut cut = query("example.com.", RecordType::A).to_vec().unwrap();
    cut.truncate(20);
    let answer = Message::from_vec(&stub.answer(&cut).unwrap()).unwrap();
    assert_eq!(answer.metadata.response_code, ResponseCode::FormErr);
    assert_eq!(answer.metadata.id, 77);
    assert_eq!(stub.answer(&cut[..11]), None);
    assert_eq!(stub.answer(&[]), None);
    let response = Message::response(77, OpCode::Query).to_vec().unwrap();
    assert_eq!(stub.answer(&response), None);
}

proptest! {
    #[test]
    fn no_message_breaks_the_stub(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        is_after_header in any::<bool>(),
    ) {
        let mut message = bytes;
        if is_after_header {
            message.splice(0..0, [0, 77, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        }
        if let Some(answer) = stub().answer(&message) {
            let answer = Message::from_vec(&answer).unwrap();
            prop_assert_eq!(answer.metadata.message_type, MessageType::Response);
        }
    }

    #[test]
    fn every_host_name_is_answered(labels in prop::collection::vec("[g-w][a-z0-9_-]{0,20}", 1..8)) {
        let stub = stub();
        let name = labels.join(".");
        let found = address(&stub, &name);
        prop_assert_eq!(stub.names.name(found.into()), Some(name.clone()));
        let reverse = query(&Name::from(found).to_ascii(), RecordType::PTR);
        let RData::PTR(reversed) = &answered(&stub, &reverse).answers[0].data else { panic!() };
        prop_assert_eq!(&reversed.0, &parse_name(&name));
    }
}
