use super::{is_host_name, parse_destination, split_authority};
use crate::names::NameTable;

fn parsed(host: &str) -> Option<String> {
    parse_destination(host, 443, &NameTable::new()).map(|destination| destination.host)
}

#[test]
fn a_destination_has_one_spelling() {
    for (written, host) in [
        ("Example.COM.", "example.com"),
        ("2130706433", "127.0.0.1"),
        ("0xa9fea9fe", "169.254.169.254"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("2606:4700:0::1111", "2606:4700::1111"),
        ("_service.example.com", "_service.example.com"),
    ] {
        assert_eq!(parsed(written).as_deref(), Some(host), "{written}");
    }
}

#[test]
fn what_no_host_is_called_is_no_destination() {
    for written in [
        "",
        ".",
        "a..b",
        "user@example.com",
        "example.com/x",
        "example.com:80",
        "exa mple.com",
        "example.com\0",
        "example.com\r\nx",
        "exämple.com",
        "fe80::1%eth0",
        "[::1]",
        &"a".repeat(64),
        &format!("{}.com", "a.".repeat(126)),
    ] {
        assert_eq!(parsed(written), None, "{written:?}");
    }
    assert_eq!(parse_destination("example.com", 0, &NameTable::new()), None);
}

#[test]
fn a_placeholder_means_its_name() {
    let names = NameTable::new();
    let address = names.address("Example.com").to_string();
    let destination = parse_destination(&address, 80, &names).unwrap();
    assert_eq!(destination.host, "example.com");
    let mapped = format!("::ffff:{address}");
    assert_eq!(parse_destination(&mapped, 80, &names).unwrap().host, "example.com");
    // Without a name it stays what it is, to be refused.
    assert_eq!(parse_destination("198.18.9.9", 80, &names).unwrap().host, "198.18.9.9");
}

#[test]
fn authorities_are_split() {
    for (text, expected) in [
        ("example.com:443", Some(("example.com", 443))),
        ("[::1]:443", Some(("::1", 443))),
        ("example.com", None),
        ("example.com:", None),
        ("example.com:0", None),
        ("example.com:+80", None),
        ("example.com:65536", None),
        (":443", None),
        ("::1:443", None),
        ("[::1]443", None),
        ("[::1", None),
        ("[fe80::1%eth0]:443", None),
        ("[example.com]:443", None),
        ("user:secret@example.com:443", None),
    ] {
        assert_eq!(split_authority(text, None), expected, "{text}");
    }
    assert_eq!(split_authority("example.com", Some(80)), Some(("example.com", 80)));
    assert_eq!(split_authority("[::1]", Some(80)), Some(("::1", 80)));
}

#[test]
fn the_longest_name_is_a_name() {
    let name =
        format!("{}.{}.{}.{}", "a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(61));
    assert_eq!(name.len(), 253);
    assert!(is_host_name(&name));
    assert!(!is_host_name(&format!("{name}d")));
}
