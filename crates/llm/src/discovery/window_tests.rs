use super::*;

#[test]
fn families() {
    assert_eq!(known_window("anthropic/claude-sonnet-4.5"), Some(200_000));
    assert_eq!(known_window("gpt-4"), Some(8_192));
    assert_eq!(known_window("gpt-4o-mini"), Some(128_000));
    assert_eq!(known_window("my-own"), None);
}
