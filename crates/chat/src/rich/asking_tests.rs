use super::*;
use crate::Choice;

fn asking(question: Question) -> (Asking, Instant) {
    let (answer, _) = oneshot::channel();
    let mut asking = Asking::new(0, question, answer);
    let shown = Instant::now();
    asking.show(shown, 60, 10);
    (asking, shown + Duration::from_secs(1))
}

fn approval() -> Question {
    Question {
        title: "Run it?".into(),
        body: vec!["$ ls".into()],
        choices: vec![
            Choice::new('y', "Yes").or(&["o", "once"]),
            Choice::new('a', "Always"),
            Choice::new('A', "All"),
            Choice::new('n', "No"),
        ],
        ..Question::default()
    }
}

fn key(code: Code) -> Key {
    Key::plain(code)
}

#[test]
fn a_key_that_nothing_follows_answers() {
    for (pressed, want) in [
        ('y', Some(Answer::Key('y'))),
        ('Y', Some(Answer::Key('y'))),
        ('o', Some(Answer::Key('y'))),
        ('A', Some(Answer::Key('A'))),
        ('x', None),
    ] {
        let (mut asking, now) = asking(approval());
        assert_eq!(asking.key(key(Code::Char(pressed)), now, None), Reply::Open);
        assert_eq!(asking.settled(now), None);
        assert_eq!(asking.settled(now + WORD), want, "{pressed:?}");
    }
    for (pressed, want) in
        [(Code::Enter, Reply::Answered(Answer::Key('y'))), (Code::Escape, Reply::Refused)]
    {
        let (mut asking, now) = asking(approval());
        assert_eq!(asking.key(key(pressed), now, None), want, "{pressed:?}");
    }
    let (mut asking, now) = asking(approval());
    assert_eq!(asking.key(Key::ctrl('c'), now, None), Reply::Interrupted);
}

/// Types a line like a person, and says what became of it.
fn typed(line: &str) -> (Reply, Asking) {
    let (mut asking, mut now) = asking(approval());
    for c in line.chars() {
        now += Duration::from_millis(150);
        assert_eq!(asking.settled(now), None, "{line:?}");
        assert_eq!(asking.key(key(Code::Char(c)), now, None), Reply::Open, "{line:?}");
    }
    let alone = line.chars().count() == 1;
    assert_eq!(asking.settled(now + WORD).is_some(), alone, "{line:?}");
    (asking.key(key(Code::Enter), now, None), asking)
}

#[test]
fn no_letter_of_a_word_answers() {
    for (line, want) in
        [("n", 'n'), ("no", 'n'), ("NO", 'n'), ("once", 'y'), ("yes", 'y'), ("always", 'a')]
    {
        assert_eq!(typed(line).0, Reply::Answered(Answer::Key(want)), "{line:?}");
    }
    for line in ["stop it", "oh no, do not", "hello there", "again please", "yes but", "nay"] {
        let (reply, mut asking) = typed(line);
        assert_eq!(reply, Reply::Open, "{line:?}");
        let rows: String = asking.live(80).rows.iter().map(Row::text).collect();
        assert!(rows.contains(&format!("“{line}” is no answer here")), "{rows}");
        // Neither does one more Enter.
        let later = Instant::now() + Duration::from_secs(60);
        assert_eq!(asking.key(key(Code::Enter), later, None), Reply::Open, "{line:?}");
        assert_eq!(asking.settled(later), None);
    }
}

#[test]
fn arrows_choose() {
    let (mut asking, now) = asking(approval());
    assert_eq!(asking.key(key(Code::Up), now, None), Reply::Open);
    assert_eq!(asking.key(key(Code::Enter), now, None), Reply::Answered(Answer::Key('n')));
}

#[test]
fn whoever_is_typing_does_not_answer() {
    let (mut asking, later) = asking(approval());
    let just_before = later - Duration::from_millis(100);
    assert_eq!(asking.key(key(Code::Char('y')), later, Some(just_before)), Reply::NotMine);
    // It has only just appeared.
    let shown = asking.shown.unwrap();
    assert_eq!(asking.key(key(Code::Char('y')), shown, None), Reply::NotMine);
    let paused = later + Duration::from_secs(1);
    assert_eq!(asking.key(key(Code::Char('y')), paused, Some(later)), Reply::Open);
    assert_eq!(asking.settled(paused + WORD), Some(Answer::Key('y')));
}

#[test]
fn words_are_an_answer_where_they_may_be() {
    let question = Question { free_text: true, ..approval() };
    let (mut asking, now) = asking(question);
    for c in "maybe".chars() {
        assert_eq!(asking.key(key(Code::Char(c)), now, None), Reply::Open);
    }
    assert_eq!(
        asking.key(key(Code::Enter), now, None),
        Reply::Answered(Answer::Text("maybe".into()))
    );
    assert_eq!(asking.key(key(Code::Escape), now, None), Reply::Open);
    assert_eq!(asking.key(key(Code::Escape), now, None), Reply::Refused);
}

#[test]
fn a_word_is_not_its_first_letter() {
    let question = Question { free_text: true, ..approval() };
    let (mut first, now) = asking(question.clone());
    assert_eq!(first.key(key(Code::Char('a')), now, None), Reply::Open);
    assert_eq!(first.settled(now), None);
    for c in "ny".chars() {
        assert_eq!(first.key(key(Code::Char(c)), now, None), Reply::Open);
    }
    assert_eq!(first.settled(now + WORD), None);
    let any = Reply::Answered(Answer::Text("any".into()));
    assert_eq!(first.key(key(Code::Enter), now, None), any);

    let (mut alone, now) = asking(question.clone());
    assert_eq!(alone.key(key(Code::Char('a')), now, None), Reply::Open);
    assert_eq!(alone.due(), Some(now + WORD));
    assert_eq!(alone.settled(now + WORD), Some(Answer::Key('a')));

    // Enter need not wait.
    let (mut sure, now) = asking(question);
    sure.key(key(Code::Char('n')), now, None);
    assert_eq!(sure.key(key(Code::Enter), now, None), Reply::Answered(Answer::Key('n')));
}

#[test]
fn a_secret_is_never_shown() {
    let question = Question { title: "Password".into(), secret: true, ..Question::default() };
    let (mut asking, now) = asking(question);
    for c in "hunter2".chars() {
        asking.key(key(Code::Char(c)), now, None);
    }
    let rows: String = asking.live(60).rows.iter().map(Row::text).collect();
    assert!(rows.contains("•••••••") && !rows.contains("hunter2"));
    let answer = Answer::Text("hunter2".into());
    assert_eq!(asking.told(Some(&answer)), "•••");
    assert_eq!(asking.key(key(Code::Enter), now, None), Reply::Answered(answer));
}

#[test]
fn a_body_that_is_too_long_is_printed_instead() {
    let body = (0..100).map(|line| format!("line {line}")).collect();
    let (answer, _) = oneshot::channel();
    let mut asking = Asking::new(0, Question { body, ..approval() }, answer);
    assert!(asking.show(Instant::now(), 60, 10));
    assert!(!asking.show(Instant::now(), 60, 10));
    assert!(asking.live(60).rows.len() < 10);
}
