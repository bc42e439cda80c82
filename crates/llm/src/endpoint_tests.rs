use super::*;

fn base(dialect: ApiDialect, url: &str) -> String {
    ModelEndpoint::new(dialect, url, "m")
        .parsed_base_url()
        .map(|url| url.to_string())
        .unwrap_or_default()
}

#[test]
fn addresses_are_completed() {
    let cases = [
        (ApiDialect::Chat, "http://127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        (ApiDialect::Chat, " https://api.z.ai/api/paas/v4/ ", "https://api.z.ai/api/paas/v4"),
        (ApiDialect::Anthropic, "https://api.anthropic.com", "https://api.anthropic.com/v1"),
        (
            ApiDialect::Anthropic,
            "https://api.minimax.io/anthropic/",
            "https://api.minimax.io/anthropic/v1",
        ),
        (ApiDialect::Gemini, "https://g.example", "https://g.example/v1beta"),
        (ApiDialect::Gemini, "https://g.example/v1beta/", "https://g.example/v1beta"),
        (ApiDialect::Chat, "localhost:11434", ""),
        (ApiDialect::Chat, "file:///etc", ""),
    ];
    for (dialect, url, expected) in cases {
        assert_eq!(base(dialect, url), expected, "{url}");
    }
}

#[test]
fn the_language_follows_from_the_address() {
    assert_eq!(ApiDialect::from_url("https://api.anthropic.com/v1"), ApiDialect::Anthropic);
    assert_eq!(ApiDialect::from_url("https://api.minimax.io/anthropic"), ApiDialect::Anthropic);
    assert_eq!(
        ApiDialect::from_url("https://generativelanguage.googleapis.com/v1beta"),
        ApiDialect::Gemini
    );
    assert_eq!(
        ApiDialect::from_url("https://generativelanguage.googleapis.com/v1beta/openai"),
        ApiDialect::Chat
    );
    assert_eq!(ApiDialect::from_url("http://127.0.0.1:1234/v1"), ApiDialect::Chat);
}

#[test]
fn keys_are_never_shown() {
    let mut endpoint = ModelEndpoint::new(ApiDialect::Chat, "https://a.example", "m");
    endpoint.keys = vec![ApiKey::new(" sk-hidden\n")];
    let headers = endpoint.headers(endpoint.keys.first()).expect("headers");
    assert_eq!(headers["authorization"], "Bearer sk-hidden");
    assert!(!format!("{endpoint:?} {headers:?}").contains("hidden"));
    assert_eq!(
        endpoint.headers(Some(&ApiKey::new("a\nb"))).unwrap_err().kind,
        ModelErrorKind::Authentication
    );
}

#[test]
fn what_a_request_cost() {
    let prices = TokenPrices { input: 3.0, output: 15.0, cache_read: Some(0.3), cache_write: None };
    let usage = TokenUsage {
        input: 1_000_000,
        output: 100_000,
        cache_read: 900_000,
        ..TokenUsage::default()
    };
    assert!((prices.cost(&usage) - (0.3 + 0.27 + 1.5)).abs() < 1e-9);
}
