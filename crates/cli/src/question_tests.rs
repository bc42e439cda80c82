use super::*;

#[test]
fn a_number_stands_for_its_choice_and_words_for_themselves() {
    let choices = ["one".to_owned(), "two".to_owned()];
    assert_eq!(parse_choice("2\n", &choices), "two");
    assert_eq!(parse_choice(" 1) ", &choices), "one");
    assert_eq!(parse_choice("3", &choices), "3");
    assert_eq!(parse_choice("0", &choices), "0");
    assert_eq!(parse_choice("neither\n", &choices), "neither");
    assert_eq!(parse_choice("2", &[]), "2");
    // An empty line is an answer, too.
    assert_eq!(parse_choice(" \n", &choices), "");
}

#[test]
fn a_question_cannot_steer_the_terminal() {
    let text = question_text("Really?\u{1b}[2J\nSure?", &["a\nb".to_owned()]);
    assert_eq!(text, "\n? Really?\\u{1b}[2J\n? Sure?\n  1) a\\u{a}b\nNumber, or your own answer: ");
}
