use super::*;
use crate::QuestionChoice;

fn asking(question: UserQuestion) -> (QuestionPrompt, Instant) {
    let (answer, _) = oneshot::channel();
    let mut asking = QuestionPrompt::new(0, question, answer);
    let shown = Instant::now();
    asking.show(shown, 60, 10);
    (asking, shown + Duration::from_secs(1))
}

fn approval() -> UserQuestion {
    UserQuestion {
        title: "Run it?".into(),
        body: vec!["$ ls".into()],
        choices: vec![
            QuestionChoice::new('y', "Yes").with_aliases(&["o", "once"]),
            QuestionChoice::new('a', "Always"),
            QuestionChoice::new('A', "All"),
            QuestionChoice::new('n', "No"),
        ],
        ..UserQuestion::default()
    }
}

fn key(code: KeyCode) -> KeyPress {
    KeyPress::plain(code)
}

#[test]
fn a_key_that_nothing_follows_answers() {
    for (pressed, want) in [
        ('y', Some(QuestionAnswer::Key('y'))),
        ('Y', Some(QuestionAnswer::Key('y'))),
        ('o', Some(QuestionAnswer::Key('y'))),
        ('A', Some(QuestionAnswer::Key('A'))),
        ('x', None),
    ] {
        let (mut asking, now) = asking(approval());
        assert_eq!(asking.on_key(key(KeyCode::Char(pressed)), now, None), KeyResult::Consumed);
        assert_eq!(asking.confirmed_answer(now), None);
        assert_eq!(asking.confirmed_answer(now + KEY_CONFIRM_DELAY), want, "{pressed:?}");
    }
    for (pressed, want) in [
        (KeyCode::Enter, KeyResult::Answered(QuestionAnswer::Key('y'))),
        (KeyCode::Escape, KeyResult::Refused),
    ] {
        let (mut asking, now) = asking(approval());
        assert_eq!(asking.on_key(key(pressed), now, None), want, "{pressed:?}");
    }
    let (mut asking, now) = asking(approval());
    assert_eq!(asking.on_key(KeyPress::ctrl('c'), now, None), KeyResult::Interrupted);
}

/// Types a line key by key and returns the result.
fn typed(line: &str) -> (KeyResult, QuestionPrompt) {
    let (mut asking, mut now) = asking(approval());
    for c in line.chars() {
        now += Duration::from_millis(150);
        assert_eq!(asking.confirmed_answer(now), None, "{line:?}");
        assert_eq!(
            asking.on_key(key(KeyCode::Char(c)), now, None),
            KeyResult::Consumed,
            "{line:?}"
        );
    }
    let alone = line.chars().count() == 1;
    assert_eq!(asking.confirmed_answer(now + KEY_CONFIRM_DELAY).is_some(), alone, "{line:?}");
    (asking.on_key(key(KeyCode::Enter), now, None), asking)
}

#[test]
fn no_letter_of_a_word_answers() {
    for (line, want) in
        [("n", 'n'), ("no", 'n'), ("NO", 'n'), ("once", 'y'), ("yes", 'y'), ("always", 'a')]
    {
        assert_eq!(typed(line).0, KeyResult::Answered(QuestionAnswer::Key(want)), "{line:?}");
    }
    for line in ["stop it", "oh no, do not", "hello there", "again please", "yes but", "nay"] {
        let (reply, mut asking) = typed(line);
        assert_eq!(reply, KeyResult::Consumed, "{line:?}");
        let rows: String = asking.live_area(80).rows.iter().map(StyledRow::text).collect();
        assert!(rows.contains(&format!("“{line}” is not a valid answer")), "{rows}");
        // Another Enter does not answer either.
        let later = Instant::now() + Duration::from_secs(60);
        assert_eq!(
            asking.on_key(key(KeyCode::Enter), later, None),
            KeyResult::Consumed,
            "{line:?}"
        );
        assert_eq!(asking.confirmed_answer(later), None);
    }
}

#[test]
fn arrows_choose() {
    let (mut asking, now) = asking(approval());
    assert_eq!(asking.on_key(key(KeyCode::Up), now, None), KeyResult::Consumed);
    assert_eq!(
        asking.on_key(key(KeyCode::Enter), now, None),
        KeyResult::Answered(QuestionAnswer::Key('n'))
    );
}

#[test]
fn whoever_is_typing_does_not_answer() {
    let (mut asking, later) = asking(approval());
    let just_before = later - Duration::from_millis(100);
    assert_eq!(
        asking.on_key(key(KeyCode::Char('y')), later, Some(just_before)),
        KeyResult::Unhandled
    );
    // The question has only just appeared.
    let shown = asking.shown_since.unwrap();
    assert_eq!(asking.on_key(key(KeyCode::Char('y')), shown, None), KeyResult::Unhandled);
    let paused = later + Duration::from_secs(1);
    assert_eq!(asking.on_key(key(KeyCode::Char('y')), paused, Some(later)), KeyResult::Consumed);
    assert_eq!(asking.confirmed_answer(paused + KEY_CONFIRM_DELAY), Some(QuestionAnswer::Key('y')));
}

#[test]
fn words_are_an_answer_where_they_may_be() {
    let question = UserQuestion { free_text: true, ..approval() };
    let (mut asking, now) = asking(question);
    for c in "maybe".chars() {
        assert_eq!(asking.on_key(key(KeyCode::Char(c)), now, None), KeyResult::Consumed);
    }
    assert_eq!(
        asking.on_key(key(KeyCode::Enter), now, None),
        KeyResult::Answered(QuestionAnswer::Text("maybe".into()))
    );
    assert_eq!(asking.on_key(key(KeyCode::Escape), now, None), KeyResult::Consumed);
    assert_eq!(asking.on_key(key(KeyCode::Escape), now, None), KeyResult::Refused);
}

#[test]
fn a_word_is_not_its_first_letter() {
    let question = UserQuestion { free_text: true, ..approval() };
    let (mut first, now) = asking(question.clone());
    assert_eq!(first.on_key(key(KeyCode::Char('a')), now, None), KeyResult::Consumed);
    assert_eq!(first.confirmed_answer(now), None);
    for c in "ny".chars() {
        assert_eq!(first.on_key(key(KeyCode::Char(c)), now, None), KeyResult::Consumed);
    }
    assert_eq!(first.confirmed_answer(now + KEY_CONFIRM_DELAY), None);
    let any = KeyResult::Answered(QuestionAnswer::Text("any".into()));
    assert_eq!(first.on_key(key(KeyCode::Enter), now, None), any);

    let (mut alone, now) = asking(question.clone());
    assert_eq!(alone.on_key(key(KeyCode::Char('a')), now, None), KeyResult::Consumed);
    assert_eq!(alone.confirm_at(), Some(now + KEY_CONFIRM_DELAY));
    assert_eq!(alone.confirmed_answer(now + KEY_CONFIRM_DELAY), Some(QuestionAnswer::Key('a')));

    // Enter need not wait.
    let (mut sure, now) = asking(question);
    sure.on_key(key(KeyCode::Char('n')), now, None);
    assert_eq!(
        sure.on_key(key(KeyCode::Enter), now, None),
        KeyResult::Answered(QuestionAnswer::Key('n'))
    );
}

#[test]
fn a_secret_is_never_shown() {
    let question =
        UserQuestion { title: "Password".into(), secret: true, ..UserQuestion::default() };
    let (mut asking, now) = asking(question);
    for c in "hunter2".chars() {
        asking.on_key(key(KeyCode::Char(c)), now, None);
    }
    let rows: String = asking.live_area(60).rows.iter().map(StyledRow::text).collect();
    assert!(rows.contains("•••••••") && !rows.contains("hunter2"));
    let answer = QuestionAnswer::Text("hunter2".into());
    assert_eq!(asking.describe_answer(Some(&answer)), "•••");
    assert_eq!(asking.on_key(key(KeyCode::Enter), now, None), KeyResult::Answered(answer));
}

#[test]
fn a_body_that_is_too_long_is_printed_instead() {
    let body = (0..100).map(|line| format!("line {line}")).collect();
    let (answer, _) = oneshot::channel();
    let mut asking = QuestionPrompt::new(0, UserQuestion { body, ..approval() }, answer);
    assert!(asking.show(Instant::now(), 60, 10));
    assert!(!asking.show(Instant::now(), 60, 10));
    assert!(asking.live_area(60).rows.len() < 10);
}
