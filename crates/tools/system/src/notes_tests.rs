use super::*;

#[test]
fn sentences_are_told_apart_and_said_once() {
    let mut said = String::new();
    for sentence in ["its processes have ended", "See the log.", "See the log.", "Again?"] {
        append_sentence(&mut said, sentence);
    }
    assert_eq!(said, "its processes have ended. See the log. Again?");
}
