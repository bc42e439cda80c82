#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn a_public_name_may_not_lead_home() {
    let fits = |name: &str, address: &str| is_allowed_target(name, address.parse().unwrap());
    for address in ["93.184.215.14", "2606:2800:21f:cb07::1", "64:ff9b::5db8:d70e"] {
        assert!(fits("example.com", address), "{address}");
    }
    for address in [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.1",
        "100.64.0.1",
        "0.0.0.0",
        "169.254.169.254",
        "::1",
        "fd00::1",
        "fe80::1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ] {
        assert!(!fits("example.com", address), "{address}");
        assert!(!fits("example.com.", address), "{address}");
    }
    assert!(fits("db", "10.1.2.3") && fits("db.internal", "fd00::1"));
    for name in ["db", "metadata.internal"] {
        assert!(!fits(name, "169.254.169.254") && !fits(name, "fd00:ec2::254"), "{name}");
    }
}

#[test]
fn addresses_are_read() {
    for (text, host, port) in [
        (" 8080 ", "localhost", 8080),
        ("[::1]:5432", "::1", 5432),
        ("http://example.com", "example.com", 80),
        ("wss://example.com:9/x", "example.com", 9),
        ("my_db-1:5432", "my_db-1", 5432),
        ("https://[2606:4700::1]/", "2606:4700::1", 443),
    ] {
        assert_eq!(PortAddress::parse(text).unwrap(), PortAddress { host: host.to_owned(), port });
    }
    for text in
        ["", "x", "a b:1", "user@host:22", "host:", "host:-1", "[x]:1", "[::1]", "::1:x", "a/b:1"]
    {
        assert!(PortAddress::parse(text).is_err(), "{text}");
    }
}
