use super::*;

#[test]
fn slips_are_recognised() {
    let known = ["toolsets", "tool_output", "model"];
    assert_eq!(nearest("toolset", known), Some("toolsets"));
    assert_eq!(nearest("toolOutput", known), Some("tool_output"));
    assert_eq!(nearest("tool-output", known), Some("tool_output"));
    assert_eq!(nearest("modle", known), Some("model"));
}

#[test]
fn other_words_are_left_alone() {
    let known = ["toolsets", "tool_output", "model"];
    for word in ["web", "browser", "memory", "tts", ""] {
        assert_eq!(nearest(word, known), None, "{word}");
    }
    assert_eq!(nearest("model", known), None);
    assert_eq!(nearest(&"x".repeat(10_000), known), None);
}
