use super::*;

#[test]
fn versions_in_names() {
    let cases = [
        ("claude-opus-4-6", Some((4, 6))),
        ("claude-sonnet-4-5-20250929", Some((4, 5))),
        ("claude-sonnet-4-20250514", Some((4, 0))),
        ("claude-3-5-sonnet-20241022", Some((3, 5))),
        ("claude-3-opus-20240229", Some((3, 0))),
        ("anthropic/claude-opus-4.7", Some((4, 7))),
        ("claude-sonnet-5", Some((5, 0))),
        ("minimax-m2", None),
    ];
    for (name, expected) in cases {
        assert_eq!(model_version(name), expected, "{name}");
    }
}
