use crate::corpus_tests::findings;

#[test]
fn a_proxy_is_near_by_its_address_and_not_by_how_its_name_starts() {
    for host in [
        "localhost.evil.com",
        "localhostevil.com",
        "10.evil.com",
        "127.evil.com",
        "192.168.evil.com",
        "172.evil.com",
        "172.15.0.1",
        "172.32.0.1",
        "172.217.16.142",
        "host.docker.internal.evil.com",
        "8.8.8.8",
        "134744072",
        "0x08080808",
        "[2001:4860:4860::8888]",
        "[::ffff:8.8.8.8]",
        "user@evil.com",
        "localhost@evil.com",
    ] {
        for source in [
            format!("https_proxy=http://{host}:8080 curl https://h.x"),
            format!("export ALL_PROXY=socks5://{host}:1080"),
        ] {
            assert!(findings(&source).contains(&"Ask proxy".to_owned()), "{source}");
        }
    }
    for host in [
        "localhost",
        "LOCALHOST",
        "127.0.0.1",
        "127.1.2.3",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "[::1]",
        "[fd00::1]",
        "host.docker.internal",
        "proxy",
    ] {
        let source = format!("export https_proxy=http://{host}:8080");
        assert_eq!(findings(&source), Vec::<String>::new(), "{source}");
    }
    assert_eq!(findings("export http_proxy="), Vec::<String>::new());
    assert_eq!(findings("export http_proxy=127.0.0.1:3128"), Vec::<String>::new());
}

#[test]
fn only_zero_disables_the_certificate_verification_of_python() {
    for source in ["PYTHONHTTPSVERIFY=0 python3 x.py", "PYTHONHTTPSVERIFY=$X python3 x.py"] {
        assert_eq!(findings(source), ["Ask tls-off"], "{source}");
    }
    for source in ["PYTHONHTTPSVERIFY=1 python3 x.py", "PYTHONHTTPSVERIFY= python3 x.py"] {
        assert_eq!(findings(source), Vec::<String>::new(), "{source}");
    }
}
