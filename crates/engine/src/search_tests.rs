use super::*;

#[test]
fn words_are_cut_from_names_and_sentences() {
    for (text, expected) in [
        ("read_file", vec!["read", "file"]),
        ("mcp__git-hub.list:Issues", vec!["mcp", "git", "hub", "list", "issue"]),
        ("camelCaseName", vec!["camel", "case", "name"]),
        ("class glass boss", vec!["class", "glass", "boss"]),
        ("天气", vec!["天气"]),
        ("天气预报", vec!["天气", "气预", "预报"]),
        ("Погода, МОСКВА!", vec!["погода", "москва"]),
        ("", vec![]),
    ] {
        assert_eq!(tokenize(text), expected, "{text}");
    }
}
