#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn only_the_token_itself_is_let_in() {
    let token = BearerToken::new("0123456789abcdef").unwrap();
    for shown in ["Bearer 0123456789abcdef", "bearer  0123456789abcdef "] {
        assert!(token.matches_header(shown.as_bytes()), "{shown}");
    }
    let wrong = [
        "",
        "Bearer",
        "Bearer ",
        "Bearer 0123456789abcde",
        "Bearer 0123456789abcdef0",
        "Bearer 0123456789abcdeF",
        "Basic 0123456789abcdef",
        "0123456789abcdef",
    ];
    for shown in wrong {
        assert!(!token.matches_header(shown.as_bytes()), "{shown}");
    }
}

#[test]
fn a_token_is_long_and_visible() {
    for text in ["", "short", "0123456789 abcdef", "0123456789abcdéf"] {
        assert_eq!(BearerToken::new(text).unwrap_err(), InvalidTokenError, "{text}");
    }
    assert_eq!(BearerToken::new("0123456789abcdef\n").unwrap().expose(), "0123456789abcdef");
}

#[test]
fn tokens_are_new_and_not_printed() {
    let (one, other) = (BearerToken::generate().unwrap(), BearerToken::generate().unwrap());
    assert_ne!(one.expose(), other.expose());
    assert_eq!(one.expose().len(), 64);
    assert_eq!(format!("{one:?}"), "BearerToken");
}
