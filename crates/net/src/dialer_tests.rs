use std::net::IpAddr;

use hermes_core::{BoxFuture, ConnectionRefusal, NetworkDestination};
use parking_lot::Mutex;
use tokio::net::TcpListener;

use super::{AddressCheck, DialError, Dialer};
use crate::refusal;

/// Answers every question alike, and notes them.
#[derive(Default)]
struct FixedCheck {
    refusal: Option<ConnectionRefusal>,
    asked: Mutex<Vec<IpAddr>>,
}

impl AddressCheck for FixedCheck {
    fn check(&self, address: IpAddr) -> BoxFuture<'_, Result<(), ConnectionRefusal>> {
        self.asked.lock().push(address);
        let answer = self.refusal.clone().map_or(Ok(()), Err);
        Box::pin(async move { answer })
    }
}

impl FixedCheck {
    fn refusing() -> Self {
        Self { refusal: Some(refusal::no_judge()), ..Self::default() }
    }

    fn asked(&self) -> Vec<IpAddr> {
        self.asked.lock().clone()
    }
}

#[tokio::test]
async fn an_approved_address_is_dialled() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let local = listener.local_addr().unwrap();
    let check = FixedCheck::default();
    for host in ["127.0.0.1", "localhost"] {
        let destination = NetworkDestination::new(host, local.port());
        let dialed = Dialer::new().connect(&destination, &check).await.unwrap();
        assert_eq!(dialed.address, local.ip());
        assert_eq!(dialed.stream.peer_addr().unwrap(), local);
        assert!(check.asked().contains(&local.ip()));
    }
}

#[tokio::test]
async fn a_refused_address_is_not_dialled_and_not_asked_about_twice() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let destination = NetworkDestination::new("localhost", listener.local_addr().unwrap().port());
    let check = FixedCheck::refusing();
    let error = Dialer::new().connect(&destination, &check).await.unwrap_err();
    let DialError::Refused { address, refusal, .. } = &error else { panic!("{error}") };
    assert!(address.is_loopback());
    assert_eq!(*refusal, refusal::no_judge());
    assert_eq!(check.asked().len(), 1);
}

#[tokio::test]
async fn metadata_addresses_are_refused_without_asking() {
    for host in ["169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254", "2852039166"] {
        let check = FixedCheck::default();
        let destination = NetworkDestination::new(host, 80);
        let error = Dialer::new().connect(&destination, &check).await.unwrap_err();
        assert!(matches!(error, DialError::Refused { .. }), "{host}: {error}");
        assert!(check.asked().is_empty());
    }
}

#[tokio::test]
async fn a_failure_names_host_address_and_cause() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let destination = NetworkDestination::new("localhost", port);
    let error = Dialer::new().connect(&destination, &FixedCheck::default()).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, DialError::Connect { .. }), "{text}");
    assert!(text.starts_with(&format!("cannot connect to localhost:{port} at ")), "{text}");
    assert!(text.contains("refused"), "{text}");
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_named() {
    // Reserved by RFC 6761: no resolver finds it.
    let destination = NetworkDestination::new("missing.invalid", 80);
    let error = Dialer::new().connect(&destination, &FixedCheck::default()).await.unwrap_err();
    let DialError::Lookup { host, .. } = error else { panic!("{error}") };
    assert_eq!(host, "missing.invalid");
}
