use super::{Reach, canonical, reach};

#[test]
fn hosts_are_told_apart() {
    let cases = [
        (Reach::Public, "example.com"),
        (Reach::Public, "8.8.8.8"),
        (Reach::Public, "2606:4700::1111"),
        (Reach::Public, "EXAMPLE.com."),
        (Reach::Loopback, "localhost"),
        (Reach::Loopback, "api.localhost"),
        (Reach::Loopback, "127.0.0.1"),
        (Reach::Loopback, "127.9.9.9"),
        (Reach::Loopback, "2130706433"),
        (Reach::Loopback, "0x7f.1"),
        (Reach::Loopback, "0177.0.0.1"),
        (Reach::Loopback, "127.1"),
        (Reach::Loopback, "0"),
        (Reach::Loopback, "[::1]"),
        (Reach::Loopback, "::ffff:127.0.0.1"),
        (Reach::Loopback, "2002:7f00:1::"),
        (Reach::Loopback, "64:ff9b::7f00:1"),
        (Reach::Private, "10.1.2.3"),
        (Reach::Private, "192.168.0.1"),
        (Reach::Private, "172.31.255.255"),
        (Reach::Private, "100.64.0.1"),
        (Reach::Private, "fd12::1"),
        (Reach::Private, "printer"),
        (Reach::Private, "nas.local"),
        (Reach::Private, "224.0.0.1"),
        (Reach::Loopback, "localhost.localdomain"),
        (Reach::Loopback, "localhost6.localdomain6"),
        (Reach::Loopback, "ip6-loopback"),
        (Reach::Private, "web.localdomain"),
        (Reach::Private, "kubernetes.default.svc"),
        (Reach::Private, "kubernetes.default.svc.cluster.local"),
        (Reach::Private, "x.fritz.box"),
        (Reach::Private, "fritz.box"),
        (Reach::Public, "localhost.example.com"),
        (Reach::Public, "svc.example.com"),
        (Reach::Metadata, "169.254.169.254"),
        (Reach::Metadata, "2852039166"),
        (Reach::Metadata, "0xa9fea9fe"),
        (Reach::Metadata, "[::ffff:169.254.169.254]"),
        (Reach::Metadata, "fd00:ec2::254"),
        (Reach::Metadata, "100.100.100.200"),
        (Reach::Metadata, "metadata.google.internal"),
        (Reach::Metadata, "METADATA.google.internal."),
    ];
    for (wanted, host) in cases {
        assert_eq!(reach(host), wanted, "{host}");
    }
    assert_eq!(reach("fe80::1%eth0"), Reach::Private);
    assert_eq!(reach("172.32.0.1"), Reach::Public);
    assert_eq!(reach("1.2.3.4.5"), Reach::Public);
}

#[test]
fn a_port_or_a_user_hides_nothing() {
    for host in [
        "169.254.169.254:80",
        "[::ffff:169.254.169.254]:80",
        "me@169.254.169.254",
        "169.254.169.254.:80",
    ] {
        assert_eq!(reach(host), Reach::Metadata, "{host}");
    }
    assert_eq!(reach("localhost:8080"), Reach::Loopback);
    assert_eq!(reach("[::1]:8080"), Reach::Loopback);
    assert_eq!(reach("10.0.0.1:22"), Reach::Private);
    assert_eq!(reach("example.com:443"), Reach::Public);
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
        assert_eq!(canonical(written), host, "{written}");
    }
}
