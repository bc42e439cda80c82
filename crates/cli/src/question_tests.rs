use super::*;

#[test]
fn a_number_stands_for_its_choice_and_words_for_themselves() {
    let choices = ["one".to_owned(), "two".to_owned()];
    assert_eq!(meant("2\n", &choices).as_deref(), Some("two"));
    assert_eq!(meant(" 1) ", &choices).as_deref(), Some("one"));
    assert_eq!(meant("3", &choices).as_deref(), Some("3"));
    assert_eq!(meant("0", &choices).as_deref(), Some("0"));
    assert_eq!(meant("neither\n", &choices).as_deref(), Some("neither"));
    assert_eq!(meant("2", &[]).as_deref(), Some("2"));
    assert_eq!(meant(" \n", &choices), None);
}

#[test]
fn a_question_cannot_steer_the_terminal() {
    let text = written("Really?\u{1b}[2J\nSure?", &["a\nb".to_owned()]);
    assert_eq!(
        text,
        "\n? Really?\\u{1b}[2J\n? Sure?\n  1) a\\u{a}b\nA number, or an answer of your own: "
    );
}
