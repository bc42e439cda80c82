use super::*;
use crate::QuestionChoice;

#[test]
fn a_line_answers_by_key_by_label_or_in_words() {
    let yes = QuestionChoice::new('y', "Yes, once").with_aliases(&["once", "o"]);
    let choices = vec![yes, QuestionChoice::new('n', "No")];
    let closed = UserQuestion { choices, ..UserQuestion::default() };
    let open = UserQuestion { free_text: true, ..closed.clone() };
    for (question, line, want) in [
        (&closed, "y", Some(QuestionAnswer::Key('y'))),
        (&closed, " N ", Some(QuestionAnswer::Key('n'))),
        (&closed, "yes, once", Some(QuestionAnswer::Key('y'))),
        (&closed, "Once", Some(QuestionAnswer::Key('y'))),
        (&closed, "o", Some(QuestionAnswer::Key('y'))),
        (&closed, "no, not", None),
        (&closed, "perhaps", None),
        (&closed, "", None),
        (&open, "perhaps", Some(QuestionAnswer::Text("perhaps".into()))),
        (&open, "", None),
        (&UserQuestion::default(), "words", Some(QuestionAnswer::Text("words".into()))),
    ] {
        assert_eq!(parse_answer(question, line), want, "{line:?}");
    }
}
