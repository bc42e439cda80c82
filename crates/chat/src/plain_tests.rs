use super::*;
use crate::Choice;

#[test]
fn a_line_answers_by_key_by_label_or_in_words() {
    let yes = Choice::new('y', "Yes, once").or(&["once", "o"]);
    let choices = vec![yes, Choice::new('n', "No")];
    let closed = Question { choices, ..Question::default() };
    let open = Question { free_text: true, ..closed.clone() };
    for (question, line, want) in [
        (&closed, "y", Some(Answer::Key('y'))),
        (&closed, " N ", Some(Answer::Key('n'))),
        (&closed, "yes, once", Some(Answer::Key('y'))),
        (&closed, "Once", Some(Answer::Key('y'))),
        (&closed, "o", Some(Answer::Key('y'))),
        (&closed, "no, not", None),
        (&closed, "perhaps", None),
        (&closed, "", None),
        (&open, "perhaps", Some(Answer::Text("perhaps".into()))),
        (&open, "", None),
        (&Question::default(), "words", Some(Answer::Text("words".into()))),
    ] {
        assert_eq!(answer(question, line), want, "{line:?}");
    }
}
