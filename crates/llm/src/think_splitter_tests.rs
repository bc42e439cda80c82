use super::*;

/// What was thought and what was said, in pieces of this many characters.
fn heard(text: &str, size: usize) -> (String, String) {
    let mut musing = ThinkSplitter::default();
    let mut events = Vec::new();
    let chars: Vec<char> = text.chars().collect();
    for piece in chars.chunks(size) {
        musing.push(&piece.iter().collect::<String>(), &mut events);
    }
    musing.finish(&mut events);
    let (mut thought, mut said) = (String::new(), String::new());
    for event in events {
        match event {
            ReplyEvent::Thought(text) => thought.push_str(&text),
            ReplyEvent::Text(text) => said.push_str(&text),
            other => panic!("{other:?}"),
        }
    }
    (thought, said)
}

#[test]
fn thoughts_are_told_from_what_is_said_however_they_are_cut() {
    for (text, thought, said) in [
        ("<think>a plan</think>\n\nHello", "a plan", "Hello"),
        ("\n<think>größer </thin> als</think>Ja", "größer </thin> als", "Ja"),
        ("Hello <think>no</think>", "", "Hello <think>no</think>"),
        ("<thing>", "", "<thing>"),
        ("<thi", "", "<thi"),
        ("  indented", "", "  indented"),
        ("<think>never closed </th", "never closed </th", ""),
        ("<think></think>x<think>", "", "x<think>"),
    ] {
        for size in 1..=text.chars().count() {
            assert_eq!(heard(text, size), (thought.to_owned(), said.to_owned()), "{text} {size}");
        }
    }
}
