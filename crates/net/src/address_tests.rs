use super::{AddressReach, address_reach, canonical_host, host_reach, parse_address};

#[test]
fn hosts_are_classified() {
    let cases = [
        (AddressReach::Public, "example.com"),
        (AddressReach::Public, "8.8.8.8"),
        (AddressReach::Public, "2606:4700::1111"),
        (AddressReach::Public, "EXAMPLE.com."),
        (AddressReach::Loopback, "localhost"),
        (AddressReach::Loopback, "api.localhost"),
        (AddressReach::Loopback, "127.0.0.1"),
        (AddressReach::Loopback, "127.9.9.9"),
        (AddressReach::Loopback, "2130706433"),
        (AddressReach::Loopback, "0x7f.1"),
        (AddressReach::Loopback, "0177.0.0.1"),
        (AddressReach::Loopback, "127.1"),
        (AddressReach::Loopback, "0"),
        (AddressReach::Loopback, "[::1]"),
        (AddressReach::Loopback, "::ffff:127.0.0.1"),
        (AddressReach::Loopback, "2002:7f00:1::"),
        (AddressReach::Loopback, "64:ff9b::7f00:1"),
        (AddressReach::Private, "10.1.2.3"),
        (AddressReach::Private, "192.168.0.1"),
        (AddressReach::Private, "172.31.255.255"),
        (AddressReach::Private, "100.64.0.1"),
        (AddressReach::Private, "fd12::1"),
        (AddressReach::Private, "printer"),
        (AddressReach::Private, "nas.local"),
        (AddressReach::Private, "224.0.0.1"),
        (AddressReach::Loopback, "localhost.localdomain"),
        (AddressReach::Loopback, "localhost6.localdomain6"),
        (AddressReach::Loopback, "ip6-loopback"),
        (AddressReach::Private, "web.localdomain"),
        (AddressReach::Private, "kubernetes.default.svc"),
        (AddressReach::Private, "kubernetes.default.svc.cluster.local"),
        (AddressReach::Private, "x.fritz.box"),
        (AddressReach::Private, "fritz.box"),
        (AddressReach::Public, "localhost.example.com"),
        (AddressReach::Public, "svc.example.com"),
        (AddressReach::Metadata, "169.254.169.254"),
        (AddressReach::Metadata, "2852039166"),
        (AddressReach::Metadata, "0xa9fea9fe"),
        (AddressReach::Metadata, "[::ffff:169.254.169.254]"),
        (AddressReach::Metadata, "fd00:ec2::254"),
        (AddressReach::Metadata, "100.100.100.200"),
        (AddressReach::Metadata, "metadata.google.internal"),
        (AddressReach::Metadata, "METADATA.google.internal."),
    ];
    for (wanted, host) in cases {
        assert_eq!(host_reach(host), wanted, "{host}");
    }
    assert_eq!(host_reach("fe80::1%eth0"), AddressReach::Private);
    assert_eq!(host_reach("172.32.0.1"), AddressReach::Public);
    assert_eq!(host_reach("1.2.3.4.5"), AddressReach::Public);
}

#[test]
fn a_port_or_a_user_hides_nothing() {
    for host in [
        "169.254.169.254:80",
        "[::ffff:169.254.169.254]:80",
        "me@169.254.169.254",
        "169.254.169.254.:80",
    ] {
        assert_eq!(host_reach(host), AddressReach::Metadata, "{host}");
    }
    assert_eq!(host_reach("localhost:8080"), AddressReach::Loopback);
    assert_eq!(host_reach("[::1]:8080"), AddressReach::Loopback);
    assert_eq!(host_reach("10.0.0.1:22"), AddressReach::Private);
    assert_eq!(host_reach("example.com:443"), AddressReach::Public);
}

#[test]
fn a_host_has_one_spelling() {
    for (written, host) in [
        ("EXAMPLE.com.", "example.com"),
        ("example.com:443", "example.com"),
        ("2130706433", "127.0.0.1"),
        ("0x7f.1:80", "127.0.0.1"),
        ("[::ffff:10.0.0.7]:80", "10.0.0.7"),
        ("[2606:4700::1111]:443", "2606:4700::1111"),
        ("2606:4700::1111", "2606:4700::1111"),
    ] {
        assert_eq!(canonical_host(written), host, "{written}");
    }
}

#[test]
fn addresses_are_classified_like_their_text() {
    for text in
        ["8.8.8.8", "127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00:ec2::254", "fe80::1"]
    {
        let address = text.parse().unwrap();
        assert_eq!(address_reach(address), host_reach(text), "{text}");
    }
    assert_eq!(address_reach("::ffff:169.254.169.254".parse().unwrap()), AddressReach::Metadata);
}

#[test]
fn an_address_is_parsed_in_every_spelling() {
    for (text, address) in [
        ("2130706433", Some("127.0.0.1")),
        ("0x7f.1", Some("127.0.0.1")),
        ("::ffff:10.0.0.7", Some("10.0.0.7")),
        ("2606:4700::1111", Some("2606:4700::1111")),
        ("example.com", None),
        ("1.2.3.4.5", None),
        ("", None),
    ] {
        assert_eq!(parse_address(text), address.map(|text| text.parse().unwrap()), "{text}");
    }
}
