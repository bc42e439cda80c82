#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn dots_separate_and_quotes_protect() {
    let path: KeyPath = "mcp_servers.\"my.server\".command".parse().unwrap();
    assert_eq!(path.names(), ["mcp_servers", "my.server", "command"]);
    assert_eq!(path.to_string(), "mcp_servers.\"my.server\".command");
    assert_eq!("a".parse::<KeyPath>().unwrap().names(), ["a"]);
}

#[test]
fn malformed_paths_are_refused() {
    for text in ["", ".", "a.", ".a", "a..b"] {
        assert!(matches!(text.parse::<KeyPath>(), Err(KeyPathError::EmptyName(_))));
    }
    for text in ["\"a", "\"a\"b", "a.\"b"] {
        assert!(matches!(text.parse::<KeyPath>(), Err(KeyPathError::BadQuote(_))));
    }
}

#[test]
fn a_path_needs_a_name() {
    assert_eq!(KeyPath::from_names(Vec::<String>::new()), None);
    assert_eq!(KeyPath::from_names(["a.b"]).unwrap().to_string(), "\"a.b\"");
}
