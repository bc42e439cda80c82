use super::*;

fn base(dialect: Dialect, url: &str) -> String {
    Endpoint::new(dialect, url, "m").base().map(|url| url.to_string()).unwrap_or_default()
}

#[test]
fn addresses_are_completed() {
    let cases = [
        (Dialect::Chat, "http://127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        (Dialect::Chat, " https://api.z.ai/api/paas/v4/ ", "https://api.z.ai/api/paas/v4"),
        (Dialect::Anthropic, "https://api.anthropic.com", "https://api.anthropic.com/v1"),
        (
            Dialect::Anthropic,
            "https://api.minimax.io/anthropic/",
            "https://api.minimax.io/anthropic/v1",
        ),
        (Dialect::Gemini, "https://g.example", "https://g.example/v1beta"),
        (Dialect::Gemini, "https://g.example/v1beta/", "https://g.example/v1beta"),
        (Dialect::Chat, "localhost:11434", ""),
        (Dialect::Chat, "file:///etc", ""),
    ];
    for (dialect, url, expected) in cases {
        assert_eq!(base(dialect, url), expected, "{url}");
    }
}

#[test]
fn the_language_follows_from_the_address() {
    assert_eq!(Dialect::of("https://api.anthropic.com/v1"), Dialect::Anthropic);
    assert_eq!(Dialect::of("https://api.minimax.io/anthropic"), Dialect::Anthropic);
    assert_eq!(Dialect::of("https://generativelanguage.googleapis.com/v1beta"), Dialect::Gemini);
    assert_eq!(
        Dialect::of("https://generativelanguage.googleapis.com/v1beta/openai"),
        Dialect::Chat
    );
    assert_eq!(Dialect::of("http://127.0.0.1:1234/v1"), Dialect::Chat);
}

#[test]
fn keys_are_never_shown() {
    let mut endpoint = Endpoint::new(Dialect::Chat, "https://a.example", "m");
    endpoint.keys = vec![Key::new(" sk-hidden\n")];
    let headers = endpoint.headers(endpoint.keys.first()).expect("headers");
    assert_eq!(headers["authorization"], "Bearer sk-hidden");
    assert!(!format!("{endpoint:?} {headers:?}").contains("hidden"));
    assert_eq!(endpoint.headers(Some(&Key::new("a\nb"))).unwrap_err().kind, FaultKind::Key);
}

#[test]
fn what_a_request_cost() {
    let prices = Prices { input: 3.0, output: 15.0, cache_read: Some(0.3), cache_write: None };
    let usage =
        Usage { input: 1_000_000, output: 100_000, cache_read: 900_000, ..Usage::default() };
    assert!((prices.cost(&usage) - (0.3 + 0.27 + 1.5)).abs() < 1e-9);
}
